package keeper

import (
	"context"
	"database/sql"
	"time"

	"github.com/sluicehq/sluice/memory"
)

const (
	archivedAfter = "SELECT memory_id FROM memory_node" + ofOwner + " AND memory_id > ? AND status = '" + string(memory.Archived) + "' ORDER BY memory_id LIMIT ?"
	archivedAt    = "SELECT MAX(happened_at) FROM memory_life" + ofMemory + " AND event = '" + Archived + "'"
)

// Purge removes for good the memories of an owner that were archived longer ago
// than that, with their own gaps and questions, and gives a receipt for each
// transaction; what is pinned or a constraint stays. Until then Restore brings them
// back, and afterwards another import of the documents that they are pieces of. What was
// made of them stays, and so do gaps that they are evidence of and traces that point to
// them: nobody asked for their words to be gone, see Forget for that. What they had
// superseded is superseded by what superseded them, if anything did.
func (k *Keeper) Purge(ctx context.Context, o Owner, olderThan time.Duration) ([]Receipt, error) {
	const op = "keeper.Purge"
	if err := o.check(); err != nil {
		return nil, fail(op, err)
	}
	if olderThan < 0 {
		return nil, fail(op, badValue("an age of %s; give 0 or more", olderThan))
	}
	var receipts []Receipt
	for after, more := memory.ID(""), true; more; {
		var r Receipt
		last := after
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			r, last, err = t.purge(ctx, o, after, t.at.Add(-olderThan))
			return err
		})
		if err != nil {
			return receipts, fail(op, err)
		}
		if len(r.IDs) > 0 {
			receipts = append(receipts, r)
		}
		more, after = last != after, last
	}
	return receipts, nil
}

// purge removes those of one page that were archived before a time.
func (t *tx) purge(ctx context.Context, o Owner, after memory.ID, before time.Time) (r Receipt, last memory.ID, err error) {
	page, err := texts[memory.ID](ctx, t.on, archivedAfter, append(ownerArgs(o), string(after), forgetBatch)...)
	if err != nil || len(page) == 0 {
		return r, after, err
	}
	for _, id := range page {
		var at sql.NullInt64
		if _, err := row(ctx, t.on, archivedAt, memoryArgs(o, id), &at); err != nil {
			return r, after, err
		}
		if !at.Valid || at.Int64 >= before.UnixMicro() {
			continue
		}
		s, err := find(ctx, t.on, "", o, id)
		if err != nil {
			return r, after, err
		}
		if !s.Stays() {
			r.IDs = append(r.IDs, id)
		}
	}
	last = page[len(page)-1]
	if len(r.IDs) == 0 {
		return r, last, nil
	}
	if err := t.removeLines(ctx, o, r.IDs); err != nil {
		return r, after, err
	}
	for _, id := range r.IDs {
		if err := t.unlearn(ctx, o, id); err != nil {
			return r, after, err
		}
		if err := t.purgeOne(ctx, o, id); err != nil {
			return r, after, err
		}
	}
	r.ID, r.Owner, r.At, r.Digest = string(newID()), o, t.at, digestOf(r.IDs)
	return r, last, t.keepReceipt(ctx, r, ofPurge)
}
