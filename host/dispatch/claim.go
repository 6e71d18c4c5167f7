package dispatch

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// How long a claim outlasts the attempts that it covers, and how long a call
// waits for the same write elsewhere before it is refused.
const (
	claimMargin = 2 * time.Minute // retries' back-off, at most 4 attempts
	claimWait   = 5 * time.Second
	claimPoll   = 50 * time.Millisecond
)

// claim makes the key of a write. The store takes claim and intent together,
// in the next step.
func (f *flight) claim(context.Context) *abi.Problem {
	if f.entry.Tool.Effect != abi.Write {
		return nil
	}
	key, err := host.Intent{Session: f.call.Session, Input: f.call.Input, Ordinal: f.call.Ordinal, Tool: f.entry.Tool.Name, Args: f.args}.Key()
	if err != nil {
		return abi.NewProblem(abi.NotJSON, "the arguments of %s have no single meaning: %v", f.call.Tool, err)
	}
	f.key, f.outcome.Key = key, key
	return nil
}

// intent makes the intent durable before the effect of a write; a read's
// intent is recorded with its outcome. Where the key is taken, the write that
// holds it decides: its outcome is given again, or it is waited for, or its
// end was never seen.
func (f *flight) intent(ctx context.Context) *abi.Problem {
	if f.key == "" {
		return nil
	}
	request := f.claimRequest()
	for waited := time.Duration(0); ; waited += claimPoll {
		claim, err := f.Store.Claim(ctx, request)
		if err != nil {
			return host.ProblemOf(err)
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

func (f *flight) claimRequest() state.ClaimRequest {
	args, _ := host.Canonical(f.args) // claim has shown that it has a canonical form
	lease := 4*time.Duration(f.entry.Release.Module.Limits().Deadline) + claimMargin
	return state.ClaimRequest{
		Session: f.call.Session, Key: f.key, Digest: host.Digest(append([]byte(f.entry.Tool.Name+"\n"), args...)),
		Call: f.call.ID, Lease: lease, Intent: f.record(host.RecordIntent, f.intentDetail()),
	}
}

// reclaim takes over a write whose end was never seen. Only a tool that says
// that it is safe runs again, under the same key.
func (f *flight) reclaim(ctx context.Context, request state.ClaimRequest) *abi.Problem {
	if !f.entry.Tool.Idempotent {
		return abi.NewProblem(abi.OutcomeUnknown, "the same %s began before and its end was never seen; %s does not say that it may run again", f.call.Tool, f.call.Tool)
	}
	claim, err := f.Store.Reclaim(ctx, request)
	if err != nil {
		return host.ProblemOf(err)
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

// replay gives the stored outcome of the write that has the key.
func (f *flight) replay(ctx context.Context, claim state.Claim) *abi.Problem {
	var stored host.Outcome
	if err := json.Unmarshal(claim.Outcome, &stored); err != nil {
		return abi.NewProblem(abi.HostBug, "the stored outcome of %s cannot be read", claim.Call)
	}
	first := stored.Call
	stored.Call, stored.Replayed = f.call.ID, true
	detail, err := json.Marshal(map[string]any{"of": first})
	if err == nil {
		err = f.Store.Record(ctx, f.record(host.RecordDuplicate, detail))
	}
	if err != nil {
		return host.ProblemOf(err)
	}
	f.outcome, f.done = stored, true
	return nil
}

func (f *flight) intentDetail() json.RawMessage {
	detail, err := json.Marshal(struct {
		Args    json.RawMessage `json:"args"`
		Tier    abi.Tier        `json:"tier"`
		Input   int             `json:"input"`
		Ordinal int             `json:"ordinal"`
		Repairs []string        `json:"repairs,omitempty"`
	}{f.args, f.outcome.Tier, f.call.Input, f.call.Ordinal, f.outcome.Repairs})
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
