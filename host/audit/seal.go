package audit

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// A Sequencer seals records. Any number of them may work on one store: the
// store takes each step of a log from one only. It is safe for concurrent use.
type Sequencer struct {
	Store *state.Store
	Keys  KeyFile
	Log   *slog.Logger     // of Run; nil for none
	Now   func() time.Time // for checkpoints; nil for the machine's clock

	// MakesKey lets the first log of a store begin with a new key where there is no
	// key file. It is for whoever alone seals the store: of two that make a key
	// each, the second could never seal what the first has begun.
	MakesKey bool

	testOnlyPage int // records of one step, or read at once; 0 means the most
}

// maxLate bounds how often one Seal finds that somebody else was first: both
// go on, so that the other one's steps are progress.
const maxLate = 100

// Seal seals what a tenant has kept by now, all of it, and gives how many
// records this call has sealed. It goes on from what is in the store, so that it
// is safe to call again after any failure. It fails with StoreFailure if the log
// in the store is not what was sealed, and with BadValue if the key is not there.
func (q *Sequencer) Seal(ctx context.Context, tenant host.TenantID) (sealed int, err error) {
	sealed, _, err = q.sealSteps(ctx, tenant, math.MaxInt)
	return sealed, err
}

// sealSteps does so in a number of steps at most, and says whether that was too
// few.
func (q *Sequencer) sealSteps(ctx context.Context, tenant host.TenantID, steps int) (sealed int, more bool, err error) {
	if fresh, err := q.anythingNew(ctx, tenant); err != nil || !fresh {
		return 0, false, err
	}
	upTo, err := q.Store.SettledSeq(ctx, tenant)
	if err != nil {
		return 0, false, err
	}
	for late := 0; steps > 0; {
		n, err := q.step(ctx, tenant, upTo)
		sealed += n
		switch {
		case err == nil && n == 0:
			return sealed, false, nil
		case err == nil:
			steps--
		case err != nil && host.ProblemOf(err).Code == abi.StoreConflict && late < maxLate:
			late++
		case err != nil:
			return sealed, false, err
		}
	}
	return sealed, true, nil
}

// anythingNew looks for a record that is not sealed, in two reads of one row: to
// ask what is settled takes dozens, and most tenants have nothing.
func (q *Sequencer) anythingNew(ctx context.Context, tenant host.TenantID) (bool, error) {
	log, _, err := q.Store.LastAuditLog(ctx, tenant)
	if err != nil {
		return false, err
	}
	_, found, err := q.Store.FirstRecordAfter(ctx, tenant, log.LastSeq)
	return found, err
}

// step seals the next page of records up to a seq.
func (q *Sequencer) step(ctx context.Context, tenant host.TenantID, upTo int64) (sealed int, err error) {
	log, found, err := q.Store.LastAuditLog(ctx, tenant)
	if err != nil || upTo == 0 || log.LastSeq >= upTo {
		return 0, err
	}
	records, err := q.Store.Records(ctx, tenant, state.RecordFilter{AfterSeq: log.LastSeq, UpToSeq: upTo, Limit: cmp.Or(q.testOnlyPage, state.MaxSealed)})
	if err != nil || len(records) == 0 {
		return 0, err
	}
	w, err := q.goOn(ctx, tenant, log, found)
	if err != nil {
		return 0, err
	}
	leaves := make([]state.AuditLeaf, 0, len(records))
	for _, r := range records {
		salt := newSalt()
		leaves = append(leaves, state.AuditLeaf{Seq: r.Seq, Log: w.log.No, Index: w.growth.size, Secret: salt})
		if err := w.growth.add(entryHash(r, privateDigest(salt, r))); err != nil {
			return 0, damaged("audit.Seal", w.origin(), err)
		}
	}
	w.log.LastSeq = records[len(records)-1].Seq
	tiles, err := w.checkpoint(q.now())
	if err != nil {
		return 0, err
	}
	if err := q.Store.Seal(ctx, state.Sealing{Log: w.log, Was: w.was, Leaves: leaves, Tiles: tiles}); err != nil {
		return 0, err
	}
	return len(records), nil
}

func (q *Sequencer) now() time.Time {
	if q.Now != nil {
		return q.Now()
	}
	return time.Now()
}

// A writing is a log that is about to grow by one step.
type writing struct {
	log    state.AuditLog
	was    int64 // its size before
	key    *Key
	growth *growth
}

func (w *writing) origin() string { return originOf(w.log.Tenant, w.log.No) }

// goOn takes up a tenant's log where it is, or begins the first one.
func (q *Sequencer) goOn(ctx context.Context, tenant host.TenantID, log state.AuditLog, found bool) (*writing, error) {
	if !found {
		newest := q.Keys.Existing
		if q.MakesKey {
			newest = q.Keys.Newest
		}
		key, err := newest()
		if err != nil {
			return nil, err
		}
		return q.begin(ctx, state.AuditLog{Tenant: tenant, No: 1}, key)
	}
	key, err := q.Keys.For(log.Key)
	if err != nil {
		return nil, err
	}
	w := &writing{log: log, was: log.Size, key: key}
	tree, err := openCheckpoint(log.Checkpoint, key.public, w.origin())
	if err == nil {
		w.growth, err = grow(tree, tilesOf(ctx, q.Store, tenant, log.No))
	}
	if err == nil && tree.N != log.Size {
		err = errSize
	}
	if err == nil && log.Closed { // the one that follows was kept with the closing
		err = errClosed
	}
	if err != nil {
		return nil, damaged("audit.Seal", w.origin(), err)
	}
	return w, nil
}

func (q *Sequencer) begin(ctx context.Context, log state.AuditLog, key *Key) (*writing, error) {
	log.Key = key.public
	growth, err := grow(tlog.Tree{}, tilesOf(ctx, q.Store, log.Tenant, log.No))
	return &writing{log: log, key: key, growth: growth}, err
}

// checkpoint signs the log as it has grown, and gives what its tree has more.
func (w *writing) checkpoint(at time.Time) ([]state.AuditTile, error) {
	tree, tiles, err := w.growth.end()
	if err != nil {
		return nil, damaged("audit.Seal", w.origin(), err)
	}
	w.log.Size, w.log.SealedAt = tree.N, at
	w.log.Checkpoint, err = sign(w.key.signer, w.origin(), tree, at)
	return tiles, err
}

// CheckKeys fails with BadValue where a log that is open is signed with a key
// that the key file has not, or there is no key file: nothing could be sealed then.
func (q *Sequencer) CheckKeys(ctx context.Context) error {
	if _, err := q.Keys.Existing(); err != nil {
		return err
	}
	inUse, err := q.Store.AuditKeys(ctx)
	for i := 0; err == nil && i < len(inUse); i++ {
		_, err = q.Keys.For(inUse[i])
	}
	return err
}
