package agent

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// purgeLease is how long a purge may take before another replica may begin a
// turn of the session: what is left then is for the next purge.
const purgeLease = time.Minute

// maxPurges bounds the rounds of one Purge; each removes thousands of rows.
const maxPurges = 100

// Purge ends a session and removes everything that it has: blobs, files and
// their checkpoints, and its rows in the store; skills' kv and the audit log,
// which are the tenant's, stay. The hooks that are told of its end can still
// read it. It fails with Busy while a turn of the session runs. What it has not
// removed when it fails, it removes when it is asked again.
func (a *Agent) Purge(ctx context.Context, ref host.SessionRef) error {
	if _, err := a.EndSession(ctx, ref); err != nil {
		return err
	}
	fence, err := a.Store.Lease(ctx, ref, host.NewID("purge_"), purgeLease)
	if err != nil {
		return err
	}
	err = a.purgeStores(ctx, ref)
	if released := a.Store.Release(context.WithoutCancel(ctx), ref, fence); err == nil {
		err = released
	}
	if err != nil {
		return err
	}
	for range maxPurges {
		if removed, err := a.Store.PurgeSession(ctx, ref); err != nil || removed == 0 {
			return err
		}
	}
	return host.Fail("agent.Purge", abi.NewProblem(abi.SystemFailure, "session %s has more than is removed at once", ref).
		WithHint("purge it again"), nil)
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
