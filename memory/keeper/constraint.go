package keeper

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/memory"
)

// The index memory_node_kind has all that these read.
const (
	ofConstraints  = ofOwner + " AND kind = '" + string(memory.Constraint) + "' AND status = '" + string(memory.Active) + "'"
	countOfThem    = "SELECT COUNT(*) FROM memory_node" + ofConstraints
	foremostOfThem = "SELECT memory_id FROM memory_node" + ofConstraints + " ORDER BY layer, said_at DESC, memory_id DESC LIMIT ?"
)

// Constraints gives the active constraints of an owner that come first, up to limit and
// MaxPage: the user's own, and of them the newest, then those that tools and skills
// gave. All is how many there are. It is asked for every input, so that it reads none of
// the owner's other memories.
func (k *Keeper) Constraints(ctx context.Context, o Owner, limit int) (first []memory.Node, all int, err error) {
	const op = "keeper.Constraints"
	if err := o.check(); err != nil {
		return nil, 0, fail(op, err)
	}
	if _, err := row(ctx, k.db.Reads, countOfThem, ownerArgs(o), &all); err != nil || all == 0 {
		return nil, 0, fail(op, err)
	}
	ids, err := texts[memory.ID](ctx, k.db.Reads, foremostOfThem, append(ownerArgs(o), min(max(limit, 0), MaxPage))...)
	if err != nil {
		return nil, 0, fail(op, err)
	}
	found, err := findAll(ctx, k.db.Reads, o, ids)
	for _, s := range found {
		first = append(first, s.Node)
	}
	slices.SortFunc(first, func(a, b memory.Node) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return first, all, fail(op, err)
}
