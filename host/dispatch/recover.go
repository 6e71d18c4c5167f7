package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
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

// settled looks whether a settlement that failed took place all the same: a
// commit whose answer was lost, or one by the call that took the claim over.
// The stored outcome is the truth then, and the problem is none.
func (f *flight) settled(ctx context.Context, problem *abi.Problem) *abi.Problem {
	if problem == nil || f.key == "" || problem.Code != abi.StoreFailure && problem.Code != abi.InFlight {
		return problem
	}
	var claim state.Claim
	err := f.insist(ctx, func(ctx context.Context) (err error) {
		claim, err = f.Store.Claim(ctx, f.claimRequest())
		return err
	})
	switch {
	case err != nil && f.unseen:
		return abi.NewProblem(abi.OutcomeUnknown, "%s ran, and the store failed while its result was kept", f.call.Tool)
	case err != nil || claim.State != state.ClaimDone:
		return problem
	case claim.Call != f.call.ID:
		return f.replay(ctx, claim)
	}
	var stored host.Outcome
	if json.Unmarshal(claim.Outcome, &stored) != nil {
		return abi.NewProblem(abi.HostBug, "the stored outcome of %s cannot be read", f.call.Tool)
	}
	f.whole(ctx, &stored)
	f.outcome, f.done, f.claimed = stored, true, false
	return nil
}

// again decides by the problem's code whether the call is tried once more,
// records that, and waits; the key stays the same. Else it gives the problem
// that ends the call. A wait that the call's time does not have is not begun.
func (f *flight) again(ctx context.Context, failed string, problem *abi.Problem) *abi.Problem {
	if problem.Code == abi.Busy {
		return problem // the session is another replica's by now; no skill may say so
	}
	if failed == "hooks" {
		return problem // what a guard has against the result, it has against the next one
	}
	if abi.RowOf(problem.Code).Recovery != abi.Retry || f.outcome.Attempts > maxRetries || ctx.Err() != nil {
		return problem
	}
	wait := backoff(f.outcome.Attempts, f.Jitter())
	wait = max(wait, min(time.Duration(problem.RetryAfterMS)*time.Millisecond, maxRetryAfter))
	if deadline, bounded := ctx.Deadline(); bounded && time.Until(deadline) < wait {
		return problem
	}
	if f.write(ctx, f.record(host.RecordRetry, f.failure(failed, bounded(problem)))) != nil {
		return problem
	}
	if err := f.Sleep(ctx, wait); err != nil {
		return host.ProblemOf(cmp.Or(context.Cause(ctx), err))
	}
	return nil
}

// backoff gives the wait after so many attempts, between a half and the whole
// of what doubles every time.
func backoff(attempts int, jitter float64) time.Duration {
	wait := min(backoffBase<<(attempts-1), backoffCap)
	return wait/2 + time.Duration(jitter*float64(wait/2))
}

// refuse ends a call that never ran.
func (f *flight) refuse(ctx context.Context, failed string, problem *abi.Problem) host.Outcome {
	return f.end(ctx, host.RecordRefusal, failed, bounded(problem))
}

// fail ends a call that ran. Its key is not consumed: nothing was kept. But
// where the session was taken over, the claim stays as if this replica had
// died: with its key given back, a write that is not safe to repeat would run
// again.
func (f *flight) fail(ctx context.Context, failed string, problem *abi.Problem) host.Outcome {
	if problem.Code == abi.Busy || ctx.Err() != nil && stopped(ctx).Code == abi.Busy {
		f.claimed = false // whatever the step that was on made of it
	}
	return f.end(ctx, host.RecordOutcome, failed, bounded(problem))
}

func (f *flight) end(ctx context.Context, kind host.RecordKind, failed string, problem *abi.Problem) host.Outcome {
	f.outcome.Data, f.outcome.Preview, f.outcome.Findings = nil, "", nil
	f.outcome.Problem, f.outcome.Status = problem, host.Failed
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
	if err := f.write(ctx, records...); err != nil && f.outcome.Status != host.Unknown {
		// The store is the problem that counts now: what is not on record did
		// not end well, and no person can be asked about it.
		f.outcome.Problem, f.outcome.Status = bounded(host.ProblemOf(err)), host.Failed
	}
	return f.outcome
}

// write commits records, and with them the release of the claim if the call
// holds one and has ended.
func (f *flight) write(ctx context.Context, records ...host.Record) error {
	releases := f.claimed && records[len(records)-1].Kind != host.RecordRetry
	return f.insist(ctx, func(ctx context.Context) error {
		if err := f.flushed(ctx); err != nil {
			return err
		}
		if releases {
			err := f.Store.ReleaseClaim(ctx, f.call.Session, f.call.Fence, f.key, f.call.ID, records...)
			if err == nil || host.ProblemOf(err).Code != abi.InFlight {
				f.claimed = err != nil
				return err
			}
			// Somebody took the claim over, or it never became ours: what
			// happened here stays worth a record.
			f.claimed = false
		}
		return f.Store.Record(ctx, records...)
	})
}

// insist does what must be done in the store, also for a caller that has gone,
// and again where the store failed.
func (f *flight) insist(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	for attempts := 1; ; attempts++ {
		err := do(ctx)
		if err == nil || attempts > maxRetries || host.ProblemOf(err).Code != abi.StoreFailure {
			return err
		}
		if f.Sleep(ctx, backoff(attempts, f.Jitter())) != nil {
			return err
		}
	}
}
