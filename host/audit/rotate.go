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
	key, err := q.Keys.Newest()
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

func (q *Sequencer) rotate(ctx context.Context, tenant host.TenantID, key *Key) (state.AuditLog, error) {
	log, found, err := q.Store.LastAuditLog(ctx, tenant)
	if err != nil {
		return state.AuditLog{}, err
	}
	if !found {
		return state.AuditLog{}, host.Fail("audit.Rotate", abi.NewProblem(abi.BadValue, "tenant %s has no audit log yet", tenant).
			WithHint("there is one after its first call"), nil)
	}
	old, err := q.goOn(ctx, tenant, log, true)
	if err != nil {
		return state.AuditLog{}, err
	}
	next, err := q.begin(ctx, state.AuditLog{Tenant: tenant, No: log.No + 1, LastSeq: log.LastSeq}, key)
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
