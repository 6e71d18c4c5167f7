package keeper

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

func TestAPurgedLinkOfAChainIsTakenOutOfIt(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		supersede := func(old memory.ID, text string) memory.ID {
			t.Helper()
			id, err := k.Supersede(t.Context(), ann, old, said(text))
			must(t, err)
			return id
		}
		first := k.testOnlyRemember(t, ann, said("opens with ten minutes of talk"))[0]
		second := supersede(first, "begins by showing the scarf")
		third := supersede(second, "starts with a joke about winter")
		_, err := k.Restore(t.Context(), ann, []memory.ID{second})
		must(t, err)
		// The second counts again, and is archived: nothing superseded it any more.
		_, err = k.Archive(t.Context(), ann, []memory.ID{second}, "age")
		must(t, err)
		c.move(time.Hour)
		receipts, err := k.Purge(t.Context(), ann, time.Minute)
		must(t, err)
		if len(receipts) != 1 || !slices.Equal(receipts[0].IDs, []memory.ID{second}) {
			t.Fatalf("receipts %+v", receipts)
		}
		left := k.testOnlyGet(t, ann, first)
		if left.Status != memory.Superseded || left.SupersededBy != "" {
			t.Errorf("the first is %s by %q", left.Status, left.SupersededBy)
		}
		life, err := k.life(t.Context(), ann, first)
		must(t, err)
		if last := life.Events[len(life.Events)-1]; last.What != Relinked || last.Cause != "" {
			t.Errorf("its life ends with %+v", last)
		}
		k.wantNothingDangles(t, ann)
		// The third took the place of the second, which was restored: what came before that
		// is none of its own.
		_, err = k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{third}})
		must(t, err)
		wantIDs(t, k, []memory.ID{first})
	})
}

func TestAPurgedFactNamesItsSuccessorToItsPredecessor(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		var ids []memory.ID
		for i := range 3 {
			all, err := k.Renew(t.Context(), ann, []memory.Node{priced("1001", float64(80+i), c.now())})
			must(t, err)
			ids = append(ids, all[0].ID)
			c.move(time.Hour)
		}
		_, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "pricing", Sources: ids[:1]}) // keeps it
		must(t, err)
		n, err := k.PurgeSuperseded(t.Context(), 0)
		must(t, err)
		if first := k.testOnlyGet(t, ann, ids[0]); n != 1 || first.SupersededBy != ids[2] {
			t.Errorf("%d were purged, and the first is superseded by %q, want %q", n, first.SupersededBy, ids[2])
		}
		k.wantNothingDangles(t, ann)
	})
}

// wantNothingDangles fails if a memory is superseded by one that is not there, or if
// one is linked to another that is not there.
func (k *Keeper) wantNothingDangles(t *testing.T, o Owner) {
	t.Helper()
	there := map[memory.ID]bool{}
	all := k.all(t, o)
	for _, n := range all {
		there[n.ID] = true
	}
	for _, n := range all {
		if n.SupersededBy != "" && !there[n.SupersededBy] {
			t.Errorf("%s, %s, is superseded by %s, which is not there", n.ID, n.Text, n.SupersededBy)
		}
	}
	must(t, each(t.Context(), k.db.Reads, "SELECT memory_id, link_role, other_id FROM memory_link"+ofOwner, ownerArgs(o), func(rows *sql.Rows) error {
		var from, to memory.ID
		var role string
		err := rows.Scan(&from, &role, &to)
		if role != roleTrace && role != roleEvidence && (!there[from] || !there[to] || from == to) {
			t.Errorf("%s has a link %s to %s", from, role, to)
		}
		return err
	}))
}

func (k *Keeper) all(t *testing.T, o Owner) (all []memory.Node) {
	t.Helper()
	for page, err := k.List(t.Context(), o, Page{}); ; page, err = k.List(t.Context(), o, Page{After: page[len(page)-1].ID}) {
		must(t, err)
		if all = append(all, page...); len(page) < MaxPage {
			return all
		}
	}
}

// A play changes the memories of one owner at random.
type play struct {
	t      *testing.T
	k      *Keeper
	c      *clock
	o      Owner
	random *rand.Rand
	words  int
}

func newPlay(t *testing.T, r rig, seed uint64) *play {
	c := newClock()
	r.t = t
	return &play{t: t, c: c, k: r.open(withClock(c), func(c *Config) { c.Store = nil }), o: Owner{"shop", host.UserID(fmt.Sprint("user", seed))}, random: rand.New(rand.NewPCG(seed, 1))}
}

func (p *play) node() memory.Node {
	p.words++
	n := said(fmt.Sprintf("matter%d word%d thing%d", p.words, p.random.IntN(1_000_000), p.random.IntN(1_000_000)))
	if p.random.IntN(2) == 0 {
		n.Layer, n.Kind = memory.Fact, memory.FactOf
	}
	return n
}

// some gives up to three memories, whatever their status.
func (p *play) some() (ids []memory.ID) {
	all := p.k.all(p.t, p.o)
	for range min(len(all), 1+p.random.IntN(3)) {
		ids = append(ids, all[p.random.IntN(len(all))].ID)
	}
	return ids
}

// step makes one change, and says which.
func (p *play) step(ctx context.Context) (did string) {
	p.c.move(time.Hour)
	ids := p.some()
	if len(ids) == 0 {
		_, err := p.k.Remember(ctx, p.o, []memory.Node{p.node(), p.node()})
		must(p.t, err)
		return "remember"
	}
	var err error
	switch n := p.random.IntN(20); {
	case n < 2:
		did = "remember"
		_, err = p.k.Remember(ctx, p.o, []memory.Node{p.node()})
	case n < 9:
		did = p.supersede(ctx, ids)
	case n < 12:
		did = fmt.Sprint("archive ", ids)
		_, err = p.k.Archive(ctx, p.o, ids, "age")
	case n < 15:
		did = fmt.Sprint("restore ", ids)
		_, err = p.k.Restore(ctx, p.o, ids)
	case n < 16:
		did = "purge"
		_, err = p.k.Purge(ctx, p.o, time.Minute)
	case n < 18:
		did = "purge superseded"
		_, err = p.k.PurgeSuperseded(ctx, 2*time.Hour)
	case n < 19:
		did = fmt.Sprint("falsify ", ids[0])
		err = p.k.Falsify(ctx, p.o, ids[0], "")
	default:
		did = fmt.Sprint("forget ", ids[0])
		_, err = p.k.Forget(ctx, p.o, Wish{IDs: ids[:1]})
	}
	must(p.t, err)
	return did
}

// supersede has a memory's place taken by a new one, or by one that is there. That
// some of them do not count any more is refused.
func (p *play) supersede(ctx context.Context, ids []memory.ID) string {
	by := p.node()
	if len(ids) > 1 && p.random.IntN(2) == 0 {
		by = p.k.testOnlyGet(p.t, p.o, ids[1])
	}
	_, err := p.k.Supersede(ctx, p.o, ids[0], by)
	return fmt.Sprintf("supersede %s by %s: %v", ids[0], by.Text, err)
}

// relinked counts what was taken out of chains.
func (p *play) relinked(ctx context.Context) (n int) {
	_, err := row(ctx, p.k.db.Reads, "SELECT COUNT(*) FROM memory_life"+ofOwner+" AND event = '"+Relinked+"'", ownerArgs(p.o), &n)
	must(p.t, err)
	return n
}
