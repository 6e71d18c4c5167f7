package agent

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/audit"
)

// A purge or a rollback has the session for itself for so long, and ends a
// little before others may have it.
const (
	aloneTime   = 5 * time.Minute
	aloneMargin = 30 * time.Second
)

// alone does something to a session that no turn may run beside.
func (a *Agent) alone(ctx context.Context, ref host.SessionRef, what string, do func(context.Context, host.Fence) error) error {
	bounded, cancel := context.WithTimeout(ctx, aloneTime-aloneMargin) // counted from before the lease
	defer cancel()
	fence, err := a.Store.Lease(bounded, ref, host.NewID(what+"_"), aloneTime)
	if err != nil {
		return err
	}
	err = do(bounded, fence)
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return errors.Join(err, a.Store.Release(releasing, ref, fence))
}

// maxPurges bounds the rounds of one Purge; each removes thousands of rows.
const maxPurges = 100

// Purge ends a session and removes everything that it has: blobs, files and
// their checkpoints, and its rows in the store; skills' kv and the audit log,
// which are the tenant's, stay. The hooks that are told of it can still read it; one
// that could not drop what it keeps of the session has the purge fail. It fails with
// Busy while a turn of the session runs, or its end is told again, and no turn begins
// before it is over. What it has not removed when it fails, it
// removes when it is asked again.
func (a *Agent) Purge(ctx context.Context, ref host.SessionRef) error {
	return a.alone(ctx, ref, "purge", func(ctx context.Context, fence host.Fence) error {
		if err := a.tellPurge(ctx, ref, fence); err != nil {
			return err
		}
		if err := a.purgeStores(ctx, ref); err != nil {
			return err
		}
		for range maxPurges {
			if removed, err := a.Store.PurgeSession(ctx, ref, fence); err != nil || removed == 0 {
				return err
			}
		}
		return host.Fail("agent.Purge", abi.NewProblem(abi.SystemFailure, "session %s has more than is removed at once", ref).
			WithHint("purge it again"), nil)
	})
}

// tellPurge ends a session, and has the hooks drop what they keep of it. The log
// tells of the purge, so that who reads it later keeps nothing of the session either:
// also where the end is owed and told again, because the purge was broken off.
func (a *Agent) tellPurge(ctx context.Context, ref host.SessionRef, fence host.Fence) error {
	ends, err := a.endForPurge(ctx, ref, fence)
	if err != nil {
		return err
	}
	// The store has the end; who is told of it is not the caller's to break off.
	left, errs := a.Dispatch.Hooks.Purge(context.WithoutCancel(ctx), ref, ends)
	a.Dispatch.Complain(ref, errs)
	if len(left) > 0 {
		return host.Fail("agent.Purge", abi.NewProblem(abi.StoreFailure, "not all that was kept of session %s elsewhere could be removed", ref.Session).WithHint("purge it again"), errors.Join(left...))
	}
	return nil
}

// endForPurge puts a purge on record, with the session's end where it has not ended. It
// reports whether hooks are to be told of an end.
func (a *Agent) endForPurge(ctx context.Context, ref host.SessionRef, fence host.Fence) (ends bool, err error) {
	purge := sessionRecord(ref, host.EventPurge)
	end, _, err := a.endOf(ctx, ref)
	if err != nil {
		return false, err
	}
	if end == nil {
		_, owed, err := a.Store.OwedEnd(ctx, ref)
		if err != nil {
			return false, err
		}
		return owed, a.Store.Record(ctx, purge)
	}
	ending := endingOf(ref, *end)
	ending.Fence, ending.Records = fence, append(ending.Records, purge)
	_, err = a.Store.SaveEnd(ctx, ending)
	return err == nil, err
}

// PurgeWithRecords purges a session, and then takes the payload of its records
// out of the audit log, on the word of who wants it: see audit.Sequencer.Erase. It
// gives how many records were erased, and fails as both do; what it has not done
// then, it does when it is asked again.
func (a *Agent) PurgeWithRecords(ctx context.Context, log *audit.Sequencer, req audit.EraseRequest) (erased int, err error) {
	if err := req.Valid(); err != nil {
		return 0, err // before anything is gone
	}
	if err := a.Purge(ctx, req.Of); err != nil {
		return 0, err
	}
	return log.Erase(ctx, req)
}

// RollBack puts a session's files back to one of its checkpoints, exactly. It
// fails with Busy while a turn of the session runs.
func (a *Agent) RollBack(ctx context.Context, ref host.SessionRef, checkpoint string) error {
	return a.alone(ctx, ref, "rollback", func(ctx context.Context, _ host.Fence) error {
		return a.Dispatch.Files.Rollback(ctx, ref, checkpoint)
	})
}

// purgeStores comes first: the rows are how the session is found again.
func (a *Agent) purgeStores(ctx context.Context, ref host.SessionRef) error {
	if a.Dispatch.Blobs != nil {
		if err := a.Dispatch.Blobs.PurgeSession(ctx, ref); err != nil {
			return host.Fail("agent.Purge", abi.NewProblem(abi.StoreFailure, "the blobs of session %s cannot be removed", ref.Session).WithHint("try again"), err)
		}
	}
	if a.Dispatch.Files != nil {
		return a.Dispatch.Files.PurgeSession(ctx, ref)
	}
	return nil
}
