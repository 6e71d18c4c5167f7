package keeper

import (
	"context"
	"slices"
	"time"

	"github.com/sluicehq/sluice/memory"
)

// maxOpposed bounds the earlier declarations that one is held to contradict: more of
// them tell nobody more.
const maxOpposed = 8

// A Declaring tells what became of a declaration.
type Declaring struct {
	ID       memory.ID   // of the new memory, or of the one that said so already
	Replaced []memory.ID // earlier ones that it superseded
	// Opposed are earlier ones that it contradicts: all of it stands, and the user is to be
	// asked which counts. The Choices are these questions, also those that waited before.
	Opposed []memory.Node
	Choices []memory.Question
}

// Declare keeps what a user declares (L1), and settles it with what the same user
// declared of the same matter before, by memory.Settle: it takes the place of what it
// wins over, stands behind what it loses to, and where the user is to be asked both
// stay, and a question is kept, one for a pair. All of it or nothing, and on all
// replicas one after another, so that no pair is missed. It may be repeated: what its
// source has declared before is settled already, so that it takes nobody's place again,
// whatever time it comes with. It fails as Remember does, and with BadValue for another
// layer.
func (k *Keeper) Declare(ctx context.Context, o Owner, n memory.Node, policy memory.ConflictPolicy) (Declaring, error) {
	const op = "keeper.Declare"
	if err := checkNodes(o, []memory.Node{n}); err != nil {
		return Declaring{}, fail(op, err)
	}
	if n.Layer != memory.Declared {
		return Declaring{}, fail(op, badValue("what is of layer %d the user did not declare", n.Layer))
	}
	var d Declaring
	err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
		d, err = t.declare(ctx, t.fresh(o, n), policy)
		return err
	})
	if err != nil {
		return Declaring{}, fail(op, err)
	}
	return d, nil
}

func (t *tx) declare(ctx context.Context, n memory.Node, policy memory.ConflictPolicy) (d Declaring, err error) {
	o := Owner{n.Tenant, n.User}
	earlier, err := t.ofMatter(ctx, n)
	if err != nil {
		return d, err
	}
	alike, err := t.findAlike(ctx, n, bandsOf(n))
	if err != nil {
		return d, err
	}
	switch made, known, err := t.ofSource(ctx, alike, n.Source); {
	case err != nil:
		return d, err
	case known:
		n.ID, n.At = made.ID, made.At
		return t.declaredBefore(ctx, n, earlier, policy)
	}
	var winner memory.ID // an earlier one that this one loses to
	for _, old := range earlier {
		switch c := memory.Settle(policy, old, n); {
		case c.Outcome == memory.OneWins && c.Loser.ID == old.ID:
			d.Replaced = append(d.Replaced, old.ID)
		case c.Outcome == memory.OneWins:
			winner = old.ID
		case c.Outcome == memory.UserAsked && len(d.Opposed) < maxOpposed:
			d.Opposed = append(d.Opposed, old)
		}
	}
	if d.ID, err = t.inPlaceOf(ctx, o, d.Replaced, n); err != nil {
		return d, err
	}
	if winner != "" && winner != d.ID {
		return Declaring{ID: d.ID, Replaced: d.Replaced}, t.standBehind(ctx, o, d.ID, winner, orTime(n.Valid.From, n.At))
	}
	n.ID = d.ID
	return d, t.oppose(ctx, n, &d)
}

// declaredBefore gives what is still open about a declaration that its source has made
// already, and changes nothing else: what was said since, and what the user made of it,
// stands.
func (t *tx) declaredBefore(ctx context.Context, n memory.Node, earlier []memory.Node, policy memory.ConflictPolicy) (Declaring, error) {
	d := Declaring{ID: n.ID}
	for _, old := range earlier {
		if memory.Settle(policy, old, n).Outcome == memory.UserAsked && len(d.Opposed) < maxOpposed {
			d.Opposed = append(d.Opposed, old)
		}
	}
	return d, t.oppose(ctx, n, &d)
}

const latestOf = "SELECT memory_id FROM memory_claim" + ofOwner + " AND matter = ? AND is_active = 1 ORDER BY memory_id DESC LIMIT ?"

// ofMatter gives the newest active memories of a declaration's matter, in the order of
// their writing.
func (t *tx) ofMatter(ctx context.Context, n memory.Node) (nodes []memory.Node, err error) {
	if n.Claim == nil || n.Status != memory.Active {
		return nil, nil
	}
	o := Owner{n.Tenant, n.User}
	ids, err := texts[memory.ID](ctx, t.on, latestOf, append(ownerArgs(o), matterOf(n), longList)...)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	all, err := findAll(ctx, t.on, o, ids)
	for _, s := range all {
		nodes = append(nodes, s.Node)
	}
	slices.SortFunc(nodes, func(a, b memory.Node) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return nodes, err
}

// inPlaceOf keeps a declaration once, and has it supersede others.
func (t *tx) inPlaceOf(ctx context.Context, o Owner, beaten []memory.ID, n memory.Node) (id memory.ID, err error) {
	for _, old := range beaten {
		if id, err = t.supersede(ctx, o, old, n); err != nil {
			return "", err
		}
	}
	if len(beaten) > 0 {
		return id, nil
	}
	kept, err := t.remember(ctx, n)
	return kept.ID, err
}

// standBehind has a declaration be superseded by another one that is there, of a higher
// priority or said later: it was true until then.
func (t *tx) standBehind(ctx context.Context, o Owner, id, winner memory.ID, until time.Time) error {
	s, err := find(ctx, t.on, t.lock, o, id)
	if err != nil || s.Status != memory.Active {
		return err
	}
	s.end(memory.Superseded, until, t.at)
	s.SupersededBy = winner
	if err := t.save(ctx, s); err != nil {
		return err
	}
	if err := t.link(ctx, o, id, roleNext, string(winner)); err != nil {
		return err
	}
	if err := t.closeGaps(ctx, s.Node, memory.Updated); err != nil { // where it was known before, something may wait
		return err
	}
	return t.lived(ctx, o, id, Superseded, string(winner))
}

// oppose keeps the question of each pair which one counts. Of a pair that was told to
// stand nothing is asked, nor where the declaration is one that its source made before
// and that does not count any more: the user has chosen.
func (t *tx) oppose(ctx context.Context, n memory.Node, d *Declaring) error {
	if len(d.Opposed) == 0 {
		return nil
	}
	kept, err := find(ctx, t.on, t.lock, Owner{n.Tenant, n.User}, d.ID)
	if err != nil || kept.Status != memory.Active {
		d.Opposed = nil
		return err
	}
	var open []memory.Node
	for _, old := range d.Opposed {
		if old.ID == n.ID {
			continue
		}
		q, err := t.addChoice(ctx, memory.NewChoice(old, n, t.at))
		if err != nil {
			return err
		}
		if !q.Settled() {
			open, d.Choices = append(open, old), append(d.Choices, q)
		}
	}
	d.Opposed = open
	return nil
}
