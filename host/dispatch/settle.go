package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// settle commits everything that the call did, in one transaction, or nothing.
// From here on a cancelled caller does not undo it.
func (f *flight) settle(ctx context.Context) *abi.Problem {
	if f.key == "" && f.willBeKept() {
		return nil
	}
	stepped := f.takenBack(ctx)
	detail, problem := f.outcomeDetail(ctx)
	if problem != nil {
		return problem
	}
	records := append(f.readIntent(), f.record(host.RecordOutcome, detail))
	records = append(records, stepped...)
	if f.key == "" {
		return host.ProblemOf(f.settleRead(ctx, records))
	}
	return f.settleWrite(ctx, records)
}

func (f *flight) settleWrite(ctx context.Context, records []host.Record) *abi.Problem {
	stored, err := json.Marshal(f.row())
	if err != nil {
		return abi.NewProblem(abi.HostBug, "the outcome of %s does not marshal", f.call.Tool)
	}
	if err := f.flushed(ctx); err != nil {
		return host.ProblemOf(err) // facts that were fetched once more
	}
	if f.kept, err = f.grant.Keep(ctx); err != nil {
		return host.ProblemOf(err)
	}
	err = f.Store.Settle(ctx, state.Settlement{
		Session: f.call.Session, Call: f.call.ID, Fence: f.call.Fence, Key: f.key, State: f.changes,
		Outcome: stored, Views: slices.Concat(f.based, f.grant.Views), Records: records, // also of a tool that writes files alone: what the gate went by is as it was
		Done: &state.Done{Tool: f.entry.Tool.Name, Targets: f.targets, Args: f.args, Data: f.outcome.Data},
	})
	if err != nil {
		f.unseen = errors.Is(err, state.ErrUnknownEnd)
		return host.ProblemOf(err)
	}
	f.claimed = false
	return nil
}

// conclude ends what an attempt wrote outside of the store's transaction: it
// stays if the call was settled, or may have been, and is taken back else.
func (f *flight) conclude(ctx context.Context, problem *abi.Problem) {
	if f.Trace != nil {
		f.Trace(f.call.ID, "conclude")
	}
	kept, stored := f.kept, f.stored
	f.kept, f.stored = nil, nil
	if problem == nil && kept == nil && f.spilled == "" {
		return // as most reads end: there is nothing to take back
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	err := f.unspill(ctx, problem)
	if problem == nil || problem.Code == abi.OutcomeUnknown {
		if kept != nil {
			kept.Done()
		}
		return
	}
	if kept != nil {
		err = errors.Join(err, kept.Undo(ctx))
	}
	if stored != nil {
		err = errors.Join(err, f.grant.Drop(ctx, stored))
	}
	if err != nil {
		f.fault = err.Error() // on record with the attempt's failure
	}
}

// readIntent is the intent record of a read, which goes with its outcome.
func (f *flight) readIntent() []host.Record {
	if f.key != "" || f.args == nil {
		return nil
	}
	return []host.Record{f.record(host.RecordIntent, f.intentDetail().json())}
}
