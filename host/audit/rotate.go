package audit

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// Rotate seals what a tenant has, closes its log and begins the next one with
// the key file's newest key, in one transaction. It gives the new log. It fails
// with StoreConflict where somebody else sealed or rotated meanwhile, again and
// again, and with BadValue where there is no log.
func (q *Sequencer) Rotate(ctx context.Context, tenant host.TenantID) (state.AuditLog, error) {
	return q.rotateWith(ctx, tenant, q.Keys.Existing)
}

// RotateToNewKey does the same with a new key, which it puts in front of the key
// file's others when it has seen that it can close the log.
func (q *Sequencer) RotateToNewKey(ctx context.Context, tenant host.TenantID) (state.AuditLog, error) {
	return q.rotateWith(ctx, tenant, q.Keys.Add)
}

func (q *Sequencer) rotateWith(ctx context.Context, tenant host.TenantID, keyOf func() (*Key, error)) (state.AuditLog, error) {
	if _, err := q.Seal(ctx, tenant); err != nil {
		return state.AuditLog{}, err
	}
	if _, err := q.openLog(ctx, tenant); err != nil {
		return state.AuditLog{}, err
	}
	key, err := keyOf()
	if err != nil {
		return state.AuditLog{}, err
	}
	for late := 0; ; late++ {
		if _, err := q.Seal(ctx, tenant); err != nil {
			return state.AuditLog{}, err
		}
		next, err := q.rotate(ctx, tenant, key)
		if err == nil || host.ProblemOf(err).Code != abi.StoreConflict || late == maxLate {
			return next, err
		}
	}
}

// openLog takes up the log of a tenant that has one.
func (q *Sequencer) openLog(ctx context.Context, tenant host.TenantID) (*writing, error) {
	log, found, err := q.Store.LastAuditLog(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, host.Fail("audit.Rotate", abi.NewProblem(abi.BadValue, "tenant %s has no audit log yet", tenant).
			WithHint("there is one after its first call"), nil)
	}
	return q.goOn(ctx, tenant, log, true)
}

func (q *Sequencer) rotate(ctx context.Context, tenant host.TenantID, key *Key) (state.AuditLog, error) {
	old, err := q.openLog(ctx, tenant)
	if err != nil {
		return state.AuditLog{}, err
	}
	next, err := q.begin(ctx, state.AuditLog{Tenant: tenant, No: old.log.No + 1, LastSeq: old.log.LastSeq}, key)
	if err != nil {
		return state.AuditLog{}, err
	}
	old.log.Closed, old.log.Closing = true, closingSeam(next.origin(), key.public)
	tiles, err := q.extend(old, old.log.Closing)
	if err != nil {
		return state.AuditLog{}, err
	}
	next.log.Opening = openingSeam(old.origin(), old.log.Checkpoint)
	more, err := q.extend(next, next.log.Opening)
	if err != nil {
		return state.AuditLog{}, err
	}
	return next.log, q.Store.Seal(ctx, state.Sealing{Log: old.log, Was: old.was, Next: &next.log, Tiles: append(tiles, more...)})
}

// extend adds an entry that is no record, and signs.
func (q *Sequencer) extend(w *writing, text []byte) ([]state.AuditTile, error) {
	if err := w.growth.add(tlog.RecordHash(text)); err != nil {
		return nil, damaged("audit.Rotate", w.origin(), err)
	}
	return w.checkpoint(q.now())
}
