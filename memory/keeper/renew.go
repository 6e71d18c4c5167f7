package keeper

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// MaxRenew bounds the memories of one Renew: the habits of a user of years. They are
// written MaxRemember at a time.
const MaxRenew = 4096

// matterOf names what a claim is about, so that memories of one matter are found
// without reading all others. It has all that memory.Renews compares but the times.
func matterOf(n memory.Node) string {
	topic := strings.ToLower(strings.TrimSpace(n.Claim.Topic))
	return host.Digest(fmt.Appendf(nil, "%d %q %q %q %t", n.Layer, n.Entity, n.Scene, topic, n.Lives == 1))
}

// Renew keeps facts and habits (L2, L3), each in the place of the owner's older one
// about the same matter (memory.Renews), and tells in the order of nodes what became
// of each. What has no claim is kept as by Remember. What the owner has already changes
// nothing: the very same one again, or one that is older than what is kept of its
// matter; a fact that only was seen again counts as verified. So of a matter one
// memory counts, also where several callers renew it at once, and Renew may be
// repeated.
//
// It fails with BadValue for a memory of L1, which only the user replaces, for more
// than MaxRenew memories, and as Remember does; nothing is kept then. After another
// failure some batches of MaxRemember may be kept.
func (k *Keeper) Renew(ctx context.Context, o Owner, nodes []memory.Node) ([]Remembering, error) {
	const op = "keeper.Renew"
	if err := checkRenewed(o, nodes); err != nil {
		return nil, fail(op, err)
	}
	var all []Remembering
	for batch := range slices.Chunk(nodes, MaxRemember) {
		var some []Remembering
		err := k.change(ctx, func(ctx context.Context, t *tx) error {
			some = nil
			for _, n := range batch {
				r, err := t.renew(ctx, t.fresh(o, n))
				if err != nil {
					return err
				}
				some = append(some, r)
			}
			return nil
		})
		if err != nil {
			return all, fail(op, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

func checkRenewed(o Owner, nodes []memory.Node) error {
	if len(nodes) > MaxRenew {
		return badValue("%d memories are to be renewed at once; give at most %d", len(nodes), MaxRenew)
	}
	for batch := range slices.Chunk(nodes, MaxRemember) {
		if err := checkNodes(o, batch); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(nodes, func(n memory.Node) bool { return n.Layer == memory.Declared }) {
		return badValue("what the user said is not renewed by what was seen").WithHint("let the user's own words supersede it")
	}
	return o.check()
}

const currentOf = "SELECT memory_id FROM memory_claim" + ofOwner + " AND matter = ? AND is_active = 1 ORDER BY memory_id LIMIT ?"

// renew keeps one memory in the place of those about its matter.
func (t *tx) renew(ctx context.Context, n memory.Node) (Remembering, error) {
	if n.Claim == nil || n.Status != memory.Active {
		return t.remember(ctx, n)
	}
	o := Owner{n.Tenant, n.User}
	ids, err := texts[memory.ID](ctx, t.on, currentOf, append(ownerArgs(o), matterOf(n), longList)...)
	if err != nil {
		return Remembering{}, err
	}
	older, err := findAll(ctx, t.on, o, ids)
	if err != nil {
		return Remembering{}, err
	}
	for _, old := range older {
		if is, err := t.isKnown(ctx, old, n); err != nil || is {
			return Remembering{ID: old.ID}, err
		}
	}
	if old, is, err := t.saidAtOnce(ctx, n); err != nil || is {
		return Remembering{ID: old}, err
	}
	return t.replace(ctx, older, n)
}

// saidAtOnce tells whether the same source said the very same at the same time already,
// and something else in its place since: one result that names several prices of one
// product. The last that differs counts, and stays where the result is renewed.
func (t *tx) saidAtOnce(ctx context.Context, n memory.Node) (memory.ID, bool, error) {
	old, found, err := t.findSame(ctx, n, bandsOf(n))
	return old.ID, found && !counts(old.Status) && old.At.Equal(n.At), err
}

// isKnown tells whether a memory has nothing to add to one of its matter, and has the
// source of a fact count.
func (t *tx) isKnown(ctx context.Context, old stored, n memory.Node) (bool, error) {
	same := reflect.DeepEqual(old.Claim, n.Claim) && old.until().Equal(n.Valid.Until)
	switch {
	case !memory.Renews(old.Node, n): // late: something newer is known
		return true, nil
	case same && old.At.Equal(n.At):
		return true, nil
	case same && n.Layer == memory.Fact && old.Text == n.Text:
		return true, t.verify(ctx, old, n)
	}
	return false, nil
}

// replace has a new memory supersede others, or one that says so already and counts: what
// does not count can take no other's place.
func (t *tx) replace(ctx context.Context, older []stored, n memory.Node) (Remembering, error) {
	until := orTime(n.Valid.From, n.At)
	if n.Layer == memory.Behaviour { // its Valid.From is the beginning of a window, which overlaps the one before
		until = n.At
	}
	for i := range older {
		older[i].end(memory.Superseded, until, t.at)
		if err := t.save(ctx, older[i]); err != nil { // first: else the new one would be taken for it
			return Remembering{}, err
		}
	}
	next, err := t.rememberUnless(ctx, n, stored.counts)
	for _, old := range older {
		if err == nil {
			old.SupersededBy = next.ID
			err = t.save(ctx, old)
		}
		if err == nil {
			err = t.link(ctx, Owner{n.Tenant, n.User}, old.ID, roleNext, string(next.ID))
		}
		if err == nil {
			err = t.lived(ctx, Owner{n.Tenant, n.User}, old.ID, Superseded, string(next.ID))
		}
	}
	return next, err
}
