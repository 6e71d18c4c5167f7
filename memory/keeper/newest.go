package keeper

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/sluicehq/sluice/memory"
)

// MaxNewest bounds the memories that one Newest looks at: what a user said in years.
const MaxNewest = 1024

// newestOfKind reads the index memory_node_kind alone, backwards from its end.
const newestOfKind = "SELECT memory_id, said_at FROM memory_node" + ofOwner + " AND kind = ? AND status = ? AND layer = ? ORDER BY said_at DESC, memory_id DESC LIMIT ?"

// Newest gives the newest active memories of an owner that are of a layer and of kinds,
// and that hold now, by when they were said or seen, newest first. It looks at MaxNewest,
// however many there are.
func (k *Keeper) Newest(ctx context.Context, o Owner, layer memory.Layer, kinds ...memory.Kind) ([]memory.Node, error) {
	const op = "keeper.Newest"
	if err := o.check(); err != nil {
		return nil, fail(op, err)
	}
	ids, err := k.newestIDs(ctx, o, layer, kinds)
	if err != nil {
		return nil, fail(op, err)
	}
	found, err := findAll(ctx, k.db.Reads, o, ids)
	var all []memory.Node
	for _, s := range found {
		if s.Status == memory.Active && s.holds(Moment{}, k.now()) { // it may have changed meanwhile
			all = append(all, s.Node)
		}
	}
	slices.SortFunc(all, func(a, b memory.Node) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all, fail(op, err)
}

// newestIDs gives the ids of the newest of all kinds together.
func (k *Keeper) newestIDs(ctx context.Context, o Owner, layer memory.Layer, kinds []memory.Kind) (ids []memory.ID, err error) {
	type dated struct {
		id memory.ID
		at int64
	}
	var all []dated
	for _, kind := range kinds {
		args := append(ownerArgs(o), string(kind), string(memory.Active), int(layer), MaxNewest)
		err := each(ctx, k.db.Reads, newestOfKind, args, func(rows *sql.Rows) error {
			var d dated
			err := rows.Scan(&d.id, &d.at)
			all = append(all, d)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b dated) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.id, a.id)) })
	for _, d := range all[:min(len(all), MaxNewest)] {
		ids = append(ids, d.id)
	}
	return ids, nil
}
