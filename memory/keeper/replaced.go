package keeper

import (
	"context"
	"database/sql"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// purgeBatch bounds the memories that one transaction purges.
const purgeBatch = 64

const (
	replacedBefore = "SELECT tenant_id, user_id, memory_id FROM memory_node WHERE replaced_at > 0 AND replaced_at < ? ORDER BY replaced_at, node_no LIMIT ?"
	pointedTo      = "SELECT other_id FROM memory_link" + ofMemory + " AND link_role IN ('" + roleDerived + "', '" + roleEvidence + "', '" + roleTrace + "') LIMIT 1"
	keepReplaced   = "UPDATE memory_node SET replaced_at = 0" + ofMemory
)

// PurgeSuperseded removes facts and habits (L2, L3), of all owners, that were
// superseded longer ago than an age, from every table and index, and gives how many: a
// tool that is asked for a price again and again leaves one for each. What the user
// said stays, and so does what is pinned or a constraint, and what a gap, a trace or
// another memory was made of. There is no receipt: nobody asked for it. It is safe to
// run from several replicas and to repeat.
func (k *Keeper) PurgeSuperseded(ctx context.Context, olderThan time.Duration) (purged int, err error) {
	const op = "keeper.PurgeSuperseded"
	if olderThan < 0 {
		return 0, fail(op, badValue("an age of %v; give 0 or more", olderThan))
	}
	for more := true; more; {
		n := 0
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			n, more, err = t.purgeReplaced(ctx, t.at.Add(-olderThan))
			return err
		})
		if err != nil {
			return purged, fail(op, err)
		}
		purged += n
	}
	return purged, nil
}

// purgeReplaced removes one batch. What something points to is looked at once.
func (t *tx) purgeReplaced(ctx context.Context, before time.Time) (purged int, more bool, err error) {
	all, err := keys(ctx, t.on, replacedBefore, micros(before), purgeBatch)
	if err != nil {
		return 0, false, err
	}
	of := map[Owner][]memory.ID{}
	for _, one := range all {
		kept, err := t.isSpared(ctx, one)
		if err == nil && kept {
			_, err = exec(ctx, t.on, keepReplaced, memoryArgs(one.owner, one.id)...)
		}
		if err != nil {
			return 0, false, err
		}
		if !kept {
			of[one.owner] = append(of[one.owner], one.id)
		}
	}
	for o, ids := range of {
		if err := t.removeLines(ctx, o, ids); err != nil {
			return 0, false, err
		}
		for _, id := range ids {
			if err := t.purgeOne(ctx, o, id); err != nil {
				return 0, false, err
			}
		}
		purged += len(ids)
	}
	return purged, len(all) == purgeBatch, nil
}

// isSpared reports whether a memory stays though it was superseded long ago. One that is
// no longer pinned is looked at again, since a change of it says anew since when it is.
func (t *tx) isSpared(ctx context.Context, one key) (bool, error) {
	s, err := find(ctx, t.on, "", one.owner, one.id)
	if err != nil || s.Stays() {
		return true, err
	}
	var other string
	return row(ctx, t.on, pointedTo, memoryArgs(one.owner, one.id), &other)
}

// purgeOne removes one memory, and takes it out of the chain that it is in.
func (t *tx) purgeOne(ctx context.Context, o Owner, id memory.ID) error {
	if err := t.takeOut(ctx, o, id); err != nil {
		return err
	}
	return t.removeRows(ctx, o, []memory.ID{id})
}

// takeOut has what a memory superseded be superseded by what superseded that memory,
// or by nothing that is known any more; and links it to the same, so that to forget
// this one still finds that.
func (t *tx) takeOut(ctx context.Context, o Owner, id memory.ID) error {
	list, args := inList([]memory.ID{id})
	ids, err := texts[memory.ID](ctx, t.on, cameBefore+list, append(ownerArgs(o), args...)...)
	if err != nil || len(ids) == 0 {
		return err
	}
	before, err := findAll(ctx, t.on, o, ids)
	if err != nil {
		return err
	}
	next, err := texts[memory.ID](ctx, t.on, linksOf, append(memoryArgs(o, id), roleNext, longList)...)
	if err != nil {
		return err
	}
	by, err := t.successor(ctx, o, id)
	if err != nil {
		return err
	}
	for _, s := range before {
		if err := t.linkAll(ctx, o, s.ID, next); err != nil {
			return err
		}
		if s.SupersededBy == id {
			if err := t.succeed(ctx, o, s, by); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) linkAll(ctx context.Context, o Owner, from memory.ID, to []memory.ID) error {
	for _, id := range to {
		if id == from { // it was restored, and took the place of what had taken its own
			continue
		}
		if err := t.link(ctx, o, from, roleNext, string(id)); err != nil {
			return err
		}
	}
	return nil
}

// successor gives the memory that superseded another one, if it is there.
func (t *tx) successor(ctx context.Context, o Owner, id memory.ID) (memory.ID, error) {
	all, err := findAll(ctx, t.on, o, []memory.ID{id})
	if err != nil || len(all) == 0 || all[0].SupersededBy == "" {
		return "", err
	}
	all, err = findAll(ctx, t.on, o, []memory.ID{all[0].SupersededBy})
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0].ID, nil
}

// succeed names another memory that one is superseded by; none where that is itself.
func (t *tx) succeed(ctx context.Context, o Owner, s stored, by memory.ID) error {
	if by == s.ID {
		by = ""
	}
	s.SupersededBy = by
	if err := t.save(ctx, s); err != nil {
		return err
	}
	return t.lived(ctx, o, s.ID, Relinked, string(by))
}

// keys gives the memories that a statement names.
func keys(ctx context.Context, on host.Statements, query string, args ...any) (all []key, err error) {
	err = each(ctx, on, query, args, func(rows *sql.Rows) error {
		var one key
		err := rows.Scan(&one.owner.Tenant, &one.owner.User, &one.id)
		all = append(all, one)
		return err
	})
	return all, err
}
