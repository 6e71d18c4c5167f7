package keeper

import (
	"context"

	"github.com/sluicehq/sluice/memory"
)

// maxConstraints bounds the constraints that are read for one input: more than anybody has,
// though what a tool gives for a day stays active when the day is over.
const maxConstraints = 1024

// The index memory_node_kind has all that this reads.
const foremostOfThem = "SELECT memory_id FROM memory_node" + ofOwner + " AND kind = '" + string(memory.Constraint) + "' AND status = '" + string(memory.Active) +
	"' ORDER BY layer, said_at DESC, memory_id DESC LIMIT ?"

// Constraints gives the constraints of an owner that hold now and come first, up to limit
// and MaxPage: the user's own, and of them the newest, then those that tools and skills
// gave. All is how many hold, of the first 1024. It is asked for every input, so that
// it reads none of the owner's other memories.
func (k *Keeper) Constraints(ctx context.Context, o Owner, limit int) (first []memory.Node, all int, err error) {
	const op = "keeper.Constraints"
	if err := o.check(); err != nil {
		return nil, 0, fail(op, err)
	}
	ids, err := texts[memory.ID](ctx, k.db.Reads, foremostOfThem, append(ownerArgs(o), maxConstraints)...)
	if err != nil {
		return nil, 0, fail(op, err)
	}
	found, err := findAll(ctx, k.db.Reads, o, ids)
	if err != nil {
		return nil, 0, fail(op, err)
	}
	nodes := make(map[memory.ID]memory.Node, len(found))
	for _, s := range found {
		if s.Status == memory.Active && s.holds(Moment{}, k.now()) {
			nodes[s.ID] = s.Node
		}
	}
	for _, id := range ids {
		if n, holds := nodes[id]; holds && len(first) < min(limit, MaxPage) {
			first = append(first, n)
		}
	}
	return first, len(nodes), nil
}
