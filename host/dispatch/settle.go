package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// settle commits everything that the call did, in one transaction, or nothing.
// From here on a cancelled caller does not undo it.
func (f *flight) settle(ctx context.Context) *abi.Problem {
	changes, problem := f.stateChanges(ctx)
	if problem != nil {
		return problem
	}
	stored, err := json.Marshal(f.row())
	if err != nil {
		return abi.NewProblem(abi.HostBug, "the outcome of %s does not marshal", f.call.Tool)
	}
	detail, problem := f.outcomeDetail(ctx)
	if problem != nil {
		return problem
	}
	settlement := state.Settlement{
		Session: f.call.Session, Call: f.call.ID, Fence: f.call.Fence, Key: f.key, State: changes,
		Records: append(f.readIntent(), f.record(host.RecordOutcome, detail)),
	}
	if f.key != "" {
		settlement.Outcome, settlement.Views = stored, f.grant.Views
		if f.kept, err = f.grant.Keep(ctx); err != nil {
			return host.ProblemOf(err)
		}
	}
	if err := f.Store.Settle(ctx, settlement); err != nil {
		return host.ProblemOf(err)
	}
	f.claimed = false
	return nil
}

// conclude ends what an attempt wrote outside of the store's transaction: it
// stays if the call was settled, or may have been, and is taken back else.
func (f *flight) conclude(ctx context.Context, problem *abi.Problem) {
	kept, stored := f.kept, f.stored
	f.kept, f.stored = nil, nil
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
	return []host.Record{f.record(host.RecordIntent, f.intentDetail())}
}

// stateChanges makes the new values from the reply's merge patch. A key that
// the call has read, or has found missing, must not have changed since.
func (f *flight) stateChanges(ctx context.Context) ([]state.Change, *abi.Problem) {
	if len(f.reply.State) == 0 {
		return nil, nil
	}
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(f.reply.State, &patch); err != nil {
		return nil, abi.NewProblem(abi.BrokenContract, "%s answered with a state patch that is not an object", f.call.Tool)
	}
	keys := slices.Sorted(maps.Keys(patch))
	current, err := f.Store.LoadState(ctx, f.call.Session, keys...)
	if err != nil {
		return nil, host.ProblemOf(err)
	}
	access := f.entry.Release.Skill.Capabilities.State
	changes := make([]state.Change, 0, len(keys))
	for _, key := range keys {
		if access.MayRead(key) && f.versions[key] != current[key].Version {
			return nil, abi.NewProblem(abi.StoreConflict, "state key %q was changed by another call", key)
		}
		merged := mergePatch(current[key].Data, patch[key])
		if abi.Size(len(merged)) > abi.ValueBytes {
			return nil, abi.NewProblem(abi.QuotaReached, "state key %q would have %d bytes; at most %s are kept", key, len(merged), abi.ValueBytes)
		}
		changes = append(changes, state.Change{Key: key, Version: current[key].Version, Data: merged})
	}
	return changes, nil
}

// mergePatch applies a JSON merge patch (RFC 7396) to a value. A patch of null
// gives nil: the value is removed.
func mergePatch(target, patch json.RawMessage) json.RawMessage {
	p := decode(patch)
	if p == nil {
		return nil
	}
	merged, err := json.Marshal(merge(decode(target), p))
	if err != nil {
		panic("BUG: values that were JSON do not marshal: " + err.Error())
	}
	return merged
}

func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(t, name)
		} else {
			t[name] = merge(t[name], value)
		}
	}
	return t
}
