package keeper

import (
	"context"

	"github.com/sluicehq/sluice/host"
)

const tracesOfSession = "SELECT trace_id FROM memory_trace" + ofOwner + " AND session_id = ? ORDER BY trace_id LIMIT ?"

// Silence takes the words out of all traces of a session of an owner, for who has the
// session forgotten; their outcomes stay. The database's files are scrubbed then, as
// Forget does. It may be repeated.
func (k *Keeper) Silence(ctx context.Context, o Owner, session host.SessionID) error {
	const op = "keeper.Silence"
	if err := (host.SessionRef{Tenant: o.Tenant, User: o.User, Session: session}).Valid(); err != nil {
		return fail(op, badValue("%s", err))
	}
	silenced := false
	for more := true; more; {
		err := k.change(ctx, func(ctx context.Context, t *tx) error {
			traces, err := texts[string](ctx, t.on, tracesOfSession, append(ownerArgs(o), string(session), forgetBatch)...)
			more = len(traces) > 0 // a silent one is of no session any more
			if err = t.silence(ctx, o, traces, err); err == nil && more {
				silenced = true
				_, err = exec(ctx, t.on, setScrubTo, t.next())
			}
			return err
		})
		if err != nil {
			return fail(op, err)
		}
	}
	if !silenced {
		return nil
	}
	return fail(op, k.scrubLeft(ctx))
}
