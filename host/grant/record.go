package grant

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
)

// Bounds of what is recorded of one attempt of a call, in bytes.
const (
	// RecordInline is kept where the outcome is kept, in the same transaction:
	// it costs no request to the store of blobs, and most calls of a business
	// have less.
	RecordInline = 4 << 10
	// RecordBlob is kept as a blob: what a call reads and writes of kv, by far.
	RecordBlob = 4 << 20
	// recordCall is what a call counts beside its arguments and its result.
	recordCall = 64
	// recordRead bounds what is read of a stored one, unpacked: a blob that was
	// damaged must not fill the memory. Base64 and JSON make bytes longer.
	recordRead = 4 * RecordBlob
)

// A Recording is an invocation with every host call that it made and what each
// gave: enough to run it again to the byte, where it has neither the clock nor
// random numbers of its own.
type Recording struct {
	Input   json.RawMessage `json:"input"`   // the envelope that the guest got
	Granted []string        `json:"granted"` // functions; others the sandbox refuses
	Calls   []HostCall      `json:"calls"`
	Cut     bool            `json:"cut,omitempty"` // there were more calls than are here
}

// A HostCall is one call of a host function. Of Result and Problem at most one
// is set; a nil Result is nothing, an empty one an empty block.
type HostCall struct {
	Function string       `json:"function"`
	Args     [][]byte     `json:"args"`
	Result   []byte       `json:"result"`
	Problem  *abi.Problem `json:"problem,omitempty"`
}

// A recorder notes host calls as they come.
type recorder struct {
	granted []string
	calls   []HostCall
	room    int // bytes that are left
	count   int // calls, recorded or not
	bytes   int // that they moved
}

// note keeps slices that nobody changes any more.
func (r *recorder) note(name string, args [][]byte, result []byte, problem *abi.Problem) {
	moved := len(result)
	for _, a := range args {
		moved += len(a)
	}
	r.count++
	r.bytes += moved
	if r.room -= moved + recordCall; r.room >= 0 {
		r.calls = append(r.calls, HostCall{name, args, result, problem})
	}
}

// A Stored is where a recording is: in itself or in a blob of the session.
type Stored struct {
	Count  int             `json:"count"`            // host calls that were made
	Bytes  int             `json:"bytes"`            // that they moved
	Cut    bool            `json:"cut,omitempty"`    // not all of it was recorded
	SHA256 string          `json:"sha256,omitempty"` // of the recording, uncompressed
	Inline json.RawMessage `json:"inline,omitempty"` // the recording
	Blob   string          `json:"blob,omitempty"`   // the id of the recording, compressed
}

// Store keeps the recording of the attempt with the input that the guest got.
// What is longer than RecordInline becomes a blob; where that cannot be written,
// it fails. A recording that was cut keeps its beginning.
func (g *Grant) Store(ctx context.Context, input []byte) (*Stored, error) {
	s := g.Inline(input)
	if s.Inline != nil || g.config.Blobs == nil || g.call.Record <= RecordInline {
		return s, nil
	}
	r := g.recording(input)
	raw := encode(r)
	s.Cut, s.SHA256 = r.Cut, host.Digest(raw)
	var err error
	if s.Blob, err = g.config.Blobs.Put(ctx, g.call.Session, abi.BlobInfo{Type: recordingType}, pack(raw)); err != nil {
		return nil, err
	}
	return s, nil
}

// Drop removes what Store has kept outside of the record, of a call that was
// not settled.
func (g *Grant) Drop(ctx context.Context, s *Stored) error {
	if s == nil || s.Blob == "" {
		return nil
	}
	return g.config.Blobs.Delete(ctx, g.call.Session, s.Blob)
}

// Inline keeps the recording if it is short, and else only what it counts.
func (g *Grant) Inline(input []byte) *Stored {
	const room = 2 * RecordInline // base64 and the input take room beside what was counted
	r := g.recording(input)
	s := &Stored{Count: g.recorder.count, Bytes: g.recorder.bytes, Cut: r.Cut}
	if !r.Cut && g.recorder.bytes+len(input) > room {
		s.Cut = true // seen before megabytes are encoded for nothing
		return s
	}
	if raw := encode(r); len(raw) <= room {
		s.Inline, s.SHA256 = raw, host.Digest(raw)
	} else {
		s.Cut = true
	}
	return s
}

func (g *Grant) recording(input []byte) Recording {
	return Recording{Input: input, Granted: g.recorder.granted, Calls: g.recorder.calls, Cut: g.recorder.room < 0}
}

// recordingType tells people what lies in the blob.
const recordingType = "application/vnd.sluice.recording+json"

// Load reads the recording of a session's call. One that was not kept, or whose
// blob is gone, is NotFound; one that is not what Store has kept is
// DigestMismatch, and one that cannot be read StoreFailure.
func (s *Stored) Load(ctx context.Context, blobs *blob.Store, session host.SessionRef) (Recording, error) {
	const op = "grant.Load"
	raw := []byte(s.Inline)
	switch {
	case s.Blob != "" && blobs != nil:
		packed, err := blobs.Read(ctx, session, s.Blob, 0, 0)
		if err != nil {
			return Recording{}, err
		}
		if raw, err = unpack(packed); err != nil {
			return Recording{}, host.Fail(op, damaged(), err)
		}
	case len(raw) == 0:
		return Recording{}, host.Fail(op, abi.NewProblem(abi.NotFound, "the host calls of this call were not kept: it made %d, of %d bytes", s.Count, s.Bytes), nil)
	}
	if s.SHA256 != "" && host.Digest(raw) != s.SHA256 {
		return Recording{}, host.Fail(op, abi.NewProblem(abi.DigestMismatch, "the recording of the call has sha256 %s, and %s is on record: it was changed", host.Digest(raw), s.SHA256), nil)
	}
	var r Recording
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Recording{}, host.Fail(op, damaged(), err)
	}
	return r, nil
}

func damaged() *abi.Problem {
	return abi.NewProblem(abi.StoreFailure, "the recording of the call cannot be read: it was damaged")
}

func pack(raw []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(raw)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic("BUG: memory cannot be written to: " + err.Error())
	}
	return b.Bytes()
}

func unpack(packed []byte) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), recordRead+1))
	if err == nil && len(raw) > recordRead {
		err = errors.New("it is longer than any recording")
	}
	return raw, err
}
