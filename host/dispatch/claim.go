package dispatch

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// How long a claim is leased beyond the run of its attempts, and how long a
// call waits for the same write elsewhere before it is refused.
const (
	claimMargin = 2 * time.Minute // for waits, facts and the store; what does not fit is not tried
	claimWait   = 5 * time.Second
	claimPoll   = 50 * time.Millisecond
)

// claim takes the key of a write and makes its intent durable before the
// effect, in one transaction; a read's intent is recorded with its outcome.
// Where the key is taken, the write that holds it decides: its outcome is given
// again, or it is waited for, or its end was never seen.
func (f *flight) claim(ctx context.Context) *abi.Problem {
	if f.key == "" {
		return nil
	}
	if err := f.flushed(ctx); err != nil {
		return host.ProblemOf(err)
	}
	request := f.claimRequest()
	for waited := time.Duration(0); ; waited += claimPoll {
		claim, err := f.Store.Claim(ctx, request)
		if err != nil {
			return f.unclaimed(err)
		}
		switch claim.State {
		case state.ClaimNew:
			f.claimed = true
			return nil
		case state.ClaimDone:
			return f.replay(ctx, claim)
		case state.ClaimUnknown:
			return f.reclaim(ctx, request)
		}
		if waited >= claimWait {
			return abi.NewProblem(abi.InFlight, "the same %s is already running as %s", f.call.Tool, claim.Call)
		}
		if err := f.Sleep(ctx, claimPoll); err != nil {
			return host.ProblemOf(err)
		}
	}
}

// unclaimed is the end of a claim that failed. Where the store failed, its
// answer may have been lost after the claim was kept, so that it is to be
// released.
func (f *flight) unclaimed(err error) *abi.Problem {
	problem := host.ProblemOf(err)
	f.claimed = problem.Code == abi.StoreFailure
	return problem
}

func (f *flight) claimRequest() state.ClaimRequest {
	return state.ClaimRequest{
		Session: f.call.Session, Key: f.key, Digest: host.Digest([]byte(f.meaning)),
		Call: f.call.ID, Fence: f.call.Fence, Lease: f.lease(), Intent: f.record(host.RecordIntent, f.intentDetail().json()),
	}
}

func (f *flight) lease() time.Duration {
	return (1+maxRetries)*time.Duration(f.entry.Release.Module.Limits().Deadline) + claimMargin
}

// withinLease ends a write in time to record its end before its lease runs
// out: from then on others may doubt it and run it themselves.
func (f *flight) withinLease(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.key == "" {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, f.lease()-recordTime,
		abi.NewProblem(abi.Deadline, "%s took longer than a write may take with all its retries; nothing of it was kept", f.call.Tool))
}

// reclaim takes over a write whose end was never seen. Only a tool that says
// that it is safe runs again, under the same key.
func (f *flight) reclaim(ctx context.Context, request state.ClaimRequest) *abi.Problem {
	if !f.entry.Tool.Idempotent {
		return abi.NewProblem(abi.OutcomeUnknown, "the same %s began before and its end was never seen; %s does not say that it may run again", f.call.Tool, f.call.Tool)
	}
	claim, err := f.Store.Reclaim(ctx, request)
	if err != nil {
		return f.unclaimed(err)
	}
	switch claim.State {
	case state.ClaimNew:
		f.claimed = true
		return nil
	case state.ClaimDone:
		return f.replay(ctx, claim)
	}
	return abi.NewProblem(abi.InFlight, "the same %s is already running as %s", f.call.Tool, claim.Call)
}

// undone looks, before a write is refused, whether this very call has done it
// already: its turn was resumed, or it was delivered again. What the gate says
// of it now, after its own effect, is no answer to it.
func (f *flight) undone(ctx context.Context, problem *abi.Problem) *abi.Problem {
	if f.key == "" {
		return problem
	}
	records, err := f.Store.Records(ctx, f.call.Session.Tenant, state.RecordFilter{
		Session: f.call.Session, Call: f.call.ID, Kinds: []host.RecordKind{host.RecordOutcome}, Limit: state.MaxPage,
	})
	if err != nil {
		return problem
	}
	for _, r := range records {
		var o host.Outcome
		if r.Key == f.key && json.Unmarshal(r.Detail, &o) == nil && o.OK() {
			return f.replay(ctx, state.Claim{State: state.ClaimDone, Outcome: r.Detail, Call: r.Call})
		}
	}
	return problem
}

// replay gives the stored outcome of the write that has the key.
func (f *flight) replay(ctx context.Context, claim state.Claim) *abi.Problem {
	var stored host.Outcome
	if err := json.Unmarshal(claim.Outcome, &stored); err != nil {
		return abi.NewProblem(abi.HostBug, "the stored outcome of %s cannot be read", claim.Call)
	}
	f.whole(ctx, &stored)
	first := stored.Call
	stored.Call, stored.Replayed = f.call.ID, true
	detail, err := json.Marshal(duplicateDetail{first, f.outcome.Repairs, f.unheard(), f.unread()})
	if err == nil {
		err = f.flushed(ctx)
	}
	if err == nil {
		err = f.Store.Record(ctx, f.record(host.RecordDuplicate, detail))
	}
	if err != nil {
		return host.ProblemOf(err)
	}
	f.outcome, f.done, f.claimed = stored, true, false
	return nil
}

// A duplicateDetail is the detail of a RecordDuplicate.
type duplicateDetail struct {
	Of       host.CallID `json:"of"` // whose outcome was given again
	Repairs  []string    `json:"repairs,omitempty"`
	Verdicts *Verdicts   `json:"verdicts,omitempty"`
	Notes    []string    `json:"notes,omitempty"` // of hooks
}

// An intentDetail is the detail of a RecordIntent.
type intentDetail struct {
	Args     json.RawMessage `json:"args"`
	Tier     abi.Tier        `json:"tier"`
	Input    int             `json:"input"`
	Ordinal  int             `json:"ordinal"`
	Targets  []string        `json:"targets,omitempty"`
	Repairs  []string        `json:"repairs,omitempty"` // of the arguments, by the host
	Verdicts *Verdicts       `json:"verdicts,omitempty"`
	Notes    []string        `json:"notes,omitempty"` // of hooks
	Live     host.LiveID     `json:"live,omitempty"`  // that the session belongs to
}

func (f *flight) intentDetail() intentDetail {
	return intentDetail{f.args, f.outcome.Tier, f.call.Input, f.call.Ordinal, f.targets, f.outcome.Repairs, f.before, f.notes.told(), f.call.Live}
}

func (d intentDetail) json() json.RawMessage {
	detail, err := json.Marshal(d)
	if err != nil {
		panic("BUG: arguments that passed their schema do not marshal: " + err.Error())
	}
	return detail
}

func (f *flight) record(kind host.RecordKind, detail json.RawMessage) host.Record {
	return host.Record{
		Session: f.call.Session, Call: f.call.ID, Kind: kind, Tool: f.call.Tool,
		Release: f.outcome.Release, Key: f.key, Detail: detail,
	}
}
