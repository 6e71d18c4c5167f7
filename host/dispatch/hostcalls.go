package dispatch

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
)

// progressEvery is the least time between two reports that the user gets: a
// screen that changes more often tells nobody more.
const progressEvery = 200 * time.Millisecond

// progress tells the user how far the call has come, unless they were told a
// moment ago. A call that fetches a fact for another tells nothing.
func (f *flight) progress(p abi.ProgressReport) {
	if f.call.Progress == nil || f.depth > 0 {
		return
	}
	now := f.Now()
	if f.reported.IsZero() || now.Sub(f.reported) >= progressEvery {
		f.reported = now
		f.call.Progress(p)
	}
}

// recorded gives how many bytes of host calls are recorded. A write's are
// evidence, whatever it costs. A read can be run again, and most of what it
// reads is what the business has anyway: it records what costs nothing.
func (f *flight) recorded() int {
	if f.entry.Tool.Effect == abi.Write || f.RecordReads {
		return grant.RecordBlob
	}
	return grant.RecordInline
}

// outcomeDetail is what the record of an outcome says: the outcome, and the
// host calls that led to it. A write whose host calls cannot be kept does not
// settle.
func (f *flight) outcomeDetail(ctx context.Context) (json.RawMessage, *abi.Problem) {
	stored, err := f.grant.Store(ctx, f.input)
	if err != nil && f.key != "" {
		return nil, host.ProblemOf(err)
	}
	f.stored = stored
	detail, err := json.Marshal(outcomeDetail{f.row(), stored, f.lastRun(), f.moved, f.during, f.remarks.told()})
	if err != nil {
		return nil, abi.NewProblem(abi.HostBug, "the outcome of %s does not marshal", f.call.Tool)
	}
	return detail, nil
}

// lateDetail is outcomeDetail for a record that is kept later: of a read whose
// host calls are recorded as far as they fit beside the outcome. It rests on
// nothing that changes meanwhile.
func (f *flight) lateDetail() func() json.RawMessage {
	late, grant, input := outcomeDetail{f.row(), nil, f.lastRun(), f.moved, f.during, f.remarks.told()}, f.grant, f.input
	return func() json.RawMessage {
		late.HostCalls = grant.Inline(input)
		detail, err := json.Marshal(late)
		if err != nil {
			panic("BUG: an outcome that kept its schema does not marshal: " + err.Error())
		}
		return detail
	}
}

// An outcomeDetail is the detail of a RecordOutcome of a call that ended well;
// as a host.Outcome it reads as one.
type outcomeDetail struct {
	host.Outcome
	HostCalls  *grant.Stored `json:"host_calls,omitempty"`
	Run        *Ran          `json:"run,omitempty"`
	Transition *transition   `json:"transition,omitempty"`
	Verdicts   *Verdicts     `json:"verdicts,omitempty"` // on the last attempt
	Notes      []string      `json:"notes,omitempty"`    // of hooks after the call
}

// failedCalls gives the host calls of a failed attempt as far as they fit into
// its record: what went wrong must not wait for another store.
func (f *flight) failedCalls() *grant.Stored {
	if f.grant == nil || f.ranIn != f.outcome.Attempts {
		return nil
	}
	return f.grant.Inline(f.input)
}
