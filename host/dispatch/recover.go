package dispatch

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// Retries of a system problem: three, waiting 0.5, 1 and 2 s with jitter, or
// as long as the problem asks for, so that a passing fault passes and a lasting
// one is told within the time that a user waits.
const (
	maxRetries  = 3
	backoffBase = 500 * time.Millisecond
	backoffCap  = 30 * time.Second
)

// recordTime bounds the writing of a record after the caller has gone.
const recordTime = 10 * time.Second

// again decides by the problem's code whether the call is tried once more,
// records that, and waits. The key stays the same.
func (f *flight) again(ctx context.Context, failed string, problem *abi.Problem) bool {
	if failed == "settle" && f.settled(ctx) {
		return false
	}
	if abi.RowOf(problem.Code).Recovery != abi.Retry || f.outcome.Attempts > maxRetries || ctx.Err() != nil {
		return false
	}
	if f.write(ctx, f.record(host.RecordRetry, f.failure(failed, problem))) != nil {
		return false
	}
	return f.Sleep(ctx, f.backoff(problem)) == nil
}

// settled looks whether a settlement that was reported as failed took place all
// the same: a commit whose answer was lost. Its stored outcome is the truth.
func (f *flight) settled(ctx context.Context) bool {
	if f.key == "" {
		return false
	}
	claim, err := f.Store.Claim(ctx, f.claimRequest())
	if err != nil || claim.State != state.ClaimDone || claim.Call != f.call.ID {
		return false
	}
	var stored host.Outcome
	if json.Unmarshal(claim.Outcome, &stored) != nil {
		return false
	}
	f.outcome, f.done, f.claimed = stored, true, false
	return true
}

func (f *flight) backoff(problem *abi.Problem) time.Duration {
	wait := min(backoffBase<<(f.outcome.Attempts-1), backoffCap)
	wait = wait/2 + time.Duration(f.Jitter()*float64(wait/2))
	return max(wait, time.Duration(problem.RetryAfterMS)*time.Millisecond)
}

// refuse ends a call that never ran.
func (f *flight) refuse(ctx context.Context, failed string, problem *abi.Problem) host.Outcome {
	return f.end(ctx, host.RecordRefusal, failed, problem)
}

// fail ends a call that ran. Its key is not consumed: nothing was kept.
func (f *flight) fail(ctx context.Context, failed string, problem *abi.Problem) host.Outcome {
	return f.end(ctx, host.RecordOutcome, failed, problem)
}

func (f *flight) end(ctx context.Context, kind host.RecordKind, failed string, problem *abi.Problem) host.Outcome {
	f.outcome.Data, f.outcome.Preview = nil, ""
	f.outcome.Problem, f.outcome.Status = told(problem), host.Failed
	switch problem.Code {
	case abi.PendingApproval:
		f.outcome.Status = host.Pending
	case abi.OutcomeUnknown:
		f.outcome.Status = host.Unknown
	}
	records := []host.Record{f.record(kind, f.failure(failed, problem))}
	if kind == host.RecordOutcome {
		records = append(f.readIntent(), records...)
	}
	if err := f.write(ctx, records...); err != nil {
		// The store is the problem that counts now: what is not on record did
		// not end well.
		f.outcome.Problem = told(host.ProblemOf(err))
	}
	return f.outcome
}

// told adds to a problem that has no hint what its code's row tells the model.
func told(p *abi.Problem) *abi.Problem {
	if p.Hint == "" {
		copied := *p
		copied.Hint = abi.RowOf(p.Code).Model
		return &copied
	}
	return p
}

// write commits records, and with them the release of the claim if the call
// holds one. It outlives a caller that has gone.
func (f *flight) write(ctx context.Context, records ...host.Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if f.claimed && records[len(records)-1].Kind != host.RecordRetry {
		f.claimed = false
		return f.Store.ReleaseClaim(ctx, f.call.Session, f.key, f.call.ID, records...)
	}
	return f.Store.Record(ctx, records...)
}

func (f *flight) failure(step string, problem *abi.Problem) json.RawMessage {
	detail, err := json.Marshal(struct {
		Step     string       `json:"step"`
		Problem  *abi.Problem `json:"problem"`
		Recovery string       `json:"recovery"`
		Attempt  int          `json:"attempt,omitempty"`
		Sent     string       `json:"sent,omitempty"` // the model's own text, where the call never ran
		Usage    host.Usage   `json:"usage"`
	}{step, problem, abi.RowOf(problem.Code).Recovery.String(), f.outcome.Attempts, f.sent(), f.outcome.Usage})
	if err != nil {
		panic("BUG: a failure's record does not marshal: " + err.Error())
	}
	return detail
}

// sentText is how many bytes of refused arguments a record keeps: enough to see
// what the model tried, little enough for what it may have sent.
const sentText = 4096

func (f *flight) sent() string {
	if f.outcome.Attempts > 0 {
		return "" // the intent's record has them
	}
	return cut(strings.ToValidUTF8(f.call.Args, "�"), sentText)
}
