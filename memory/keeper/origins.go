package keeper

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Origins tell where memories came from, for who erases elsewhere what carries the
// same words.
type Origins struct {
	// Nodes are the memories, what was made of them, and what they superseded.
	Nodes []memory.Node
	// Keys are the SourceKeys of all that said one of them or bore it out: of the first
	// source and of every later one.
	Keys map[string]bool
}

// Origins gives what Forget would forget of some memories, and their sources. Ids that
// are not there count for nothing.
func (k *Keeper) Origins(ctx context.Context, o Owner, ids []memory.ID) (Origins, error) {
	const op = "keeper.Origins"
	if err := o.check(); err != nil {
		return Origins{}, fail(op, err)
	}
	all, err := madeOf(ctx, k.db.Reads, o, ids, func(memory.ID) bool { return false })
	if err != nil {
		return Origins{}, fail(op, err)
	}
	found, err := findAll(ctx, k.db.Reads, o, all)
	if err != nil {
		return Origins{}, fail(op, err)
	}
	from := Origins{Keys: map[string]bool{}}
	for _, s := range found {
		from.Nodes = append(from.Nodes, s.Node)
	}
	return from, fail(op, addKeys(ctx, k.db.Reads, o, all, from.Keys))
}

// Sources of a list of memories. Another replica may be of an older release, which keeps
// them in the life alone.
const (
	sourcesOf = "SELECT DISTINCT source FROM memory_source" + ofOwner + " AND memory_id IN "
	causesOf  = "SELECT DISTINCT cause FROM memory_life" + ofOwner + " AND event IN ('" + Remembered + "', '" + Verified + "') AND memory_id IN "
)

// addKeys adds the keys of the sources that said memories or bore them out.
func addKeys(ctx context.Context, on host.Statements, o Owner, ids []memory.ID, keys map[string]bool) error {
	for some := range slices.Chunk(ids, longList) {
		list, args := inList(some)
		for _, query := range []string{sourcesOf, causesOf} {
			sources, err := texts[string](ctx, on, query+list, append(ownerArgs(o), args...)...)
			if err != nil {
				return err
			}
			for _, source := range sources {
				if source != "" { // of one that names nothing
					keys[source] = true
				}
			}
		}
	}
	return nil
}

// Sessions that are to go with memories stand in a row beside the receipts until they are
// gone: when the memories are, nothing else tells which they were.
const (
	owedRow    = "sessions" // its id; those of receipts begin with a digit
	owedOf     = "SELECT detail FROM memory_receipt" + ofOwner + " AND receipt_id = '" + owedRow + "'"
	removeOwed = "DELETE FROM memory_receipt" + ofOwner + " AND receipt_id = '" + owedRow + "'"
	maxOwed    = 100_000 // sessions of one user: dozens for each day of years
)

// Owe notes sessions whose removal is part of a request to forget, beside those that
// were noted before, until Settle. It may be repeated, and fails with BadValue for too
// many.
func (k *Keeper) Owe(ctx context.Context, o Owner, sessions []host.SessionID) error {
	const op = "keeper.Owe"
	if err := o.check(); err != nil {
		return fail(op, err)
	}
	return fail(op, k.change(ctx, func(ctx context.Context, t *tx) error {
		all, err := owed(ctx, t.on, o)
		if err != nil {
			return err
		}
		all = slices.Compact(slices.Sorted(slices.Values(slices.Concat(all, sessions))))
		if len(all) > maxOwed {
			return badValue("more than %d sessions are to be removed with memories", maxOwed).WithHint("remove some with sluice session purge first")
		}
		return t.keepOwed(ctx, o, all)
	}))
}

// keepOwed has these sessions be owed, and no others.
func (t *tx) keepOwed(ctx context.Context, o Owner, all []host.SessionID) error {
	detail, err := json.Marshal(all)
	if err == nil {
		_, err = exec(ctx, t.on, removeOwed, ownerArgs(o)...)
	}
	if err == nil && len(all) > 0 {
		_, err = exec(ctx, t.on, makeReceipt, append(ownerArgs(o), owedRow, 0, 0, detail)...)
	}
	return err
}

// Owed gives the sessions that were noted and not settled, sorted.
func (k *Keeper) Owed(ctx context.Context, o Owner) ([]host.SessionID, error) {
	const op = "keeper.Owed"
	if err := o.check(); err != nil {
		return nil, fail(op, err)
	}
	all, err := owed(ctx, k.db.Reads, o)
	return all, fail(op, err)
}

func owed(ctx context.Context, on host.Statements, o Owner) ([]host.SessionID, error) {
	rows, err := documents[[]host.SessionID](ctx, on, owedOf, ownerArgs(o)...)
	return slices.Concat(rows...), err
}

// Settle takes sessions that are gone out of an owner's note. Others, which another
// request to forget noted meanwhile, stay in it.
func (k *Keeper) Settle(ctx context.Context, o Owner, gone []host.SessionID) error {
	const op = "keeper.Settle"
	if err := o.check(); err != nil {
		return fail(op, err)
	}
	return fail(op, k.change(ctx, func(ctx context.Context, t *tx) error {
		all, err := owed(ctx, t.on, o)
		if err != nil {
			return err
		}
		settled := make(map[host.SessionID]bool, len(gone)) // there may be many of both
		for _, session := range gone {
			settled[session] = true
		}
		return t.keepOwed(ctx, o, slices.DeleteFunc(all, func(session host.SessionID) bool { return settled[session] }))
	}))
}

// sorted gives the keys of a set.
func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
