package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// previewText bounds a preview, in bytes: it is one line for the model.
const previewText = 2000

// rowBytes is the most data of a spilled outcome that its rows hold beside the
// blob's id: the claim and the record each have them, and rows of more than
// that make every scan and backup of the store slow. What is replayed is mostly
// shorter, and needs no blob.
const rowBytes = 64 << 10

// spilledType is the media type of spilled data: JSON, as every tool gives.
const spilledType = "application/json"

// spill moves data that a model does not see whole to a blob, under an id that
// the outcome names and its rows with it. What a gate asks for as a fact, no
// model sees.
func (f *flight) spill(ctx context.Context) *abi.Problem {
	f.outcome.Data, f.outcome.Preview = f.reply.Data, cut(f.reply.Preview, previewText)
	f.outcome.Blob, f.short, f.outcome.Status = nil, nil, host.Done
	switch {
	case f.Blobs == nil || f.depth > 0:
		return f.fitsRows()
	case !window.Shortens(f.outcome):
		return nil
	case len(f.outcome.Data) > rowBytes:
		f.short = window.Short(f.outcome.Data)
	}
	ref := &host.BlobRef{ID: blob.NewID(), Size: int64(len(f.outcome.Data)), BlobInfo: abi.BlobInfo{Type: spilledType, Name: f.entry.Tool.Name + ".json"}}
	f.spilled = ref.ID // known before it is written: what a failure leaves is removed, too
	if err := f.Blobs.PutAs(ctx, f.call.Session, ref.ID, ref.BlobInfo, f.outcome.Data); err != nil {
		return host.ProblemOf(err)
	}
	f.outcome.Blob = ref
	return nil
}

// rowRoom is kept of a row for what a record holds beside the outcome.
const rowRoom = 64 << 10

// fitsRows refuses data that the store's rows cannot hold, where they are the
// only place for it.
func (f *flight) fitsRows() *abi.Problem {
	const longestEscape = 6 // bytes of one byte in JSON
	if len(f.outcome.Data) <= (state.MaxDocumentBytes-rowRoom)/longestEscape {
		return nil
	}
	stored, err := json.Marshal(f.outcome)
	switch {
	case err != nil:
		return abi.NewProblem(abi.HostBug, "the outcome of %s does not marshal", f.call.Tool)
	case len(stored) > state.MaxDocumentBytes-rowRoom:
		return abi.NewProblem(abi.OutputLimit, "%s gave %d bytes of data, which is more than is kept of one call here", f.call.Tool, len(f.outcome.Data)).
			WithHint("Ask for less at once. Operators: so much is kept only where there is a store for blobs.")
	}
	return nil
}

// row gives the outcome as the store's rows have it: with the short form of
// data that is too long for them.
func (f *flight) row() host.Outcome {
	o := f.outcome
	if o.Blob != nil && f.short != nil {
		o.Data, o.Cut = f.short, true
	}
	return o
}

// whole fills in the data of a stored outcome that has only its short form.
// Where the blob cannot be read, because it was purged or its store fails, the
// short form stays: what was done is done, and that is what the call must tell.
func (f *flight) whole(ctx context.Context, o *host.Outcome) {
	if !o.Cut || o.Blob == nil || f.Blobs == nil {
		return
	}
	if data, err := f.load(ctx, o.Blob); err == nil && int64(len(data)) == o.Blob.Size && json.Valid(data) {
		o.Data, o.Cut = data, false
	}
}

func (f *flight) load(ctx context.Context, ref *host.BlobRef) ([]byte, error) {
	r, err := f.Blobs.Open(ctx, f.call.Session, ref.ID)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(abi.BlobBytes)))
	return data, errors.Join(err, r.Close())
}

// unspill ends the blob of an attempt that ended with a problem or none. It
// stays if the outcome that counts names it, or may, where nobody knows.
func (f *flight) unspill(ctx context.Context, problem *abi.Problem) error {
	id := f.spilled
	f.spilled = ""
	named := f.outcome.Blob != nil && f.outcome.Blob.ID == id
	if problem != nil && !f.done {
		f.outcome.Blob = nil
	}
	if id == "" || problem == nil && named || problem != nil && problem.Code == abi.OutcomeUnknown {
		return nil
	}
	return f.Blobs.Delete(ctx, f.call.Session, id)
}
