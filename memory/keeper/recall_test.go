package keeper

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// recall gives the texts that a query finds.
func recall(t testing.TB, k *Keeper, q Query) (found []string) {
	t.Helper()
	k.testOnlySync(t)
	hits, err := k.Recall(t.Context(), q)
	must(t, err)
	for _, h := range hits {
		found = append(found, h.Node.Text)
	}
	return found
}

func of(o Owner) memory.Filter { return memory.Filter{Tenant: o.Tenant, User: o.User} }

func TestRecallGivesTheTruthWithWhatMadeItsScore(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		id := k.testOnlyRemember(t, ann, said("喜欢茉莉花茶"), said("likes trains"))[0]
		k.testOnlySync(t)
		hits, err := k.Recall(t.Context(), Query{Filter: of(ann), Text: "茉莉花"})
		must(t, err)
		if len(hits) != 1 || hits[0].Node.ID != id || hits[0].Node.Text != "喜欢茉莉花茶" || hits[0].Score <= 0 || len(hits[0].Parts) == 0 {
			t.Errorf("%+v", hits)
		}
	})
}

func TestRecallNeverGivesWhatTheTruthNoLongerHas(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open(func(c *Config) { c.Poll = time.Hour })
		ids := k.testOnlyRemember(t, ann, said("tea one"), said("tea two"), said("tea three"), said("tea four"), said("tea five"))
		k.testOnlySync(t)
		other := r.again().open(func(c *Config) { c.Store = nil }) // the keeper with the index hears nothing of this
		_, err := other.Archive(t.Context(), ann, ids[:1], "score")
		must(t, err)
		must(t, other.Falsify(t.Context(), ann, ids[1], ""))
		_, err = other.Supersede(t.Context(), ann, ids[2], said("coffee"))
		must(t, err)
		_, err = other.Forget(t.Context(), ann, Wish{IDs: ids[3:4]})
		must(t, err)
		hits, err := k.Recall(t.Context(), Query{Filter: of(ann), Text: "tea"})
		must(t, err)
		if len(hits) != 1 || hits[0].Node.ID != ids[4] {
			t.Errorf("%+v", hits)
		}
	})
}

func TestTenantsAndUsersDoNotSeeEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		owners := []Owner{{"shop", "ann"}, {"shop", "bob"}, {"other", "ann"}, {"sho", "pann"}}
		ids := map[Owner]memory.ID{}
		for _, o := range owners {
			ids[o] = k.testOnlyRemember(t, o, said(fmt.Sprintf("tea of %s %s", o.Tenant, o.User)))[0]
		}
		for _, o := range owners {
			if got := recall(t, k, Query{Filter: of(o), Text: "tea"}); len(got) != 1 || got[0] != fmt.Sprintf("tea of %s %s", o.Tenant, o.User) {
				t.Errorf("%v recalls %v", o, got)
			}
			for _, other := range owners {
				if other == o {
					continue
				}
				_, err := k.Get(t.Context(), o, ids[other])
				wantCode(t, err, abi.NotFound)
				_, err = k.Why(t.Context(), o, ids[other], memory.DefaultForget(), "en")
				wantCode(t, err, abi.NotFound)
				wantCode(t, k.Pin(t.Context(), o, ids[other], true), abi.NotFound)
				_, err = k.Supersede(t.Context(), o, ids[other], said("x"))
				wantCode(t, err, abi.NotFound)
				k.testOnlyAdopt(t, o, ids[other])
				changed, err := k.Archive(t.Context(), o, []memory.ID{ids[other]}, "")
				if err != nil || len(changed) != 0 {
					t.Errorf("%v archived a memory of %v, %v", o, other, err)
				}
				f, err := k.Forget(t.Context(), o, Wish{IDs: []memory.ID{ids[other]}})
				if err != nil || len(f.Receipts) != 0 {
					t.Errorf("%v forgot a memory of %v, %v", o, other, err)
				}
			}
		}
		for _, o := range owners {
			if n := k.testOnlyGet(t, o, ids[o]); n.Adopts != 0 || n.Status != memory.Active || n.Pinned {
				t.Errorf("the memory of %v became %+v", o, n)
			}
		}
		if got := recall(t, k, Query{Filter: memory.Filter{Tenant: "shop"}, AllUsers: true, Text: "tea"}); len(got) != 2 {
			t.Errorf("all users of a tenant: %v", got)
		}
	})
}

// A readings counts how often each memory is asked of the truth.
type readings struct {
	host.Statements
	mu    sync.Mutex
	asked map[any]int // guarded by mu
}

func (r *readings) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasPrefix(query, nodeColumns) {
		ids := args[len(ownerArgs(ann)):]
		for i, id := range ids {
			if i == 0 || id != ids[i-1] { // a list is filled up with its last one
				r.asked[id]++
			}
		}
	}
	return r.Statements.QueryContext(ctx, query, args...)
}

// taken gives what was counted since it was asked last.
func (r *readings) taken() map[any]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = map[any]int{}
	return asked
}

func TestAsOfTellsWhatWasTrueAndWhatWasKnown(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock()
		k := r.open(withClock(now))
		start := now.now()
		old := k.testOnlyRemember(t, ann, said("price is 99"))[0]
		wrong := k.testOnlyRemember(t, ann, said("price is told first"))[0]
		changed := now.move(24 * time.Hour) // the price changes, and is learnt a day later
		learnt := now.move(24 * time.Hour)
		next := said("price is 89")
		next.Valid.From = changed
		_, err := k.Supersede(t.Context(), ann, old, next)
		must(t, err)
		must(t, k.Falsify(t.Context(), ann, wrong, ""))
		now.move(24 * time.Hour)
		for _, tt := range []struct {
			name string
			asOf *Moment
			want []string
		}{
			{"now", nil, []string{"price is 89"}},
			{"what was true before the change, as is known now", &Moment{True: start.Add(time.Hour)}, []string{"price is 99"}},
			{"what is true since the change, as is known now", &Moment{True: changed.Add(time.Hour)}, []string{"price is 89"}},
			{"what was true after the change, as was known before it was learnt", &Moment{True: changed.Add(time.Hour), Known: learnt.Add(-time.Hour)}, []string{"price is 99", "price is told first"}},
			{"before anything was known", &Moment{Known: start.Add(-time.Hour)}, nil},
		} {
			q := Query{Filter: of(ann), Text: "price", AsOf: tt.asOf}
			got := recall(t, k, q)
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: recalled %q, want %q", tt.name, got, tt.want)
			}
			if tt.asOf == nil {
				continue
			}
			page, err := k.List(t.Context(), ann, Page{AsOf: tt.asOf})
			must(t, err)
			got = nil
			for _, n := range page {
				got = append(got, n.Text)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: listed %q, want %q", tt.name, got, tt.want)
			}
		}
	})
}

func TestWhatNoLongerHoldsIsNotRecalled(t *testing.T) {
	now := newClock()
	k := sqliteRig(t).open(withClock(now))
	n := said("coupon of today")
	n.Valid.Until = now.now().Add(time.Hour)
	k.testOnlyRemember(t, ann, n)
	if got := recall(t, k, Query{Filter: of(ann), Text: "coupon"}); len(got) != 1 {
		t.Errorf("while it holds: %v", got)
	}
	now.move(2 * time.Hour)
	if got := recall(t, k, Query{Filter: of(ann), Text: "coupon"}); len(got) != 0 {
		t.Errorf("when it is over: %v", got)
	}
}

func TestRecallsAreCountedLateAndAdoptsAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock()
		k := r.open(withClock(now))
		id := k.testOnlyRemember(t, ann, said("likes tea"))[0]
		for range 3 {
			recall(t, k, Query{Filter: of(ann), Text: "tea"})
		}
		recall(t, k, Query{Filter: of(ann), Text: "tea", Quiet: true})
		must(t, k.keepCounts(t.Context()))
		k.testOnlyAdopt(t, ann, id, "unknown")
		if n := k.testOnlyGet(t, ann, id); n.Recalls != 3 || n.Adopts != 1 || !n.LastUsed.Equal(now.now()) {
			t.Errorf("recalls %d, adopts %d, last used %v", n.Recalls, n.Adopts, n.LastUsed)
		}
		recall(t, k, Query{Filter: of(ann), Text: "tea"})
		must(t, k.Close())
		if n := k.testOnlyGet(t, ann, id); n.Recalls != 4 {
			t.Errorf("after Close: %d recalls", n.Recalls)
		}
	})
}

// Whoever reads the counts after keepCounts finds them, though another call took them.
func TestCountsAreWrittenWhenKeepCountsReturnsWhoeverTookThem(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		begun, mayWrite := make(chan struct{}), make(chan struct{})
		var slow atomic.Bool
		write := r.db.Write
		r.db.Write = func(ctx context.Context, run func(context.Context, host.Statements) error) error {
			if slow.CompareAndSwap(true, false) {
				close(begun)
				<-mayWrite
			}
			return write(ctx, run)
		}
		k := r.open()
		id := k.testOnlyRemember(t, ann, said("likes tea"))[0]
		k.testOnlySync(t)
		slow.Store(true)
		recall(t, k, Query{Filter: of(ann), Text: "tea"})
		var first sync.WaitGroup
		first.Go(func() {
			if err := k.keepCounts(t.Context()); err != nil {
				t.Error(err)
			}
		})
		<-begun
		counted := make(chan int, 1)
		go func() {
			if err := k.keepCounts(t.Context()); err != nil {
				t.Error(err)
			}
			n, err := k.Get(t.Context(), ann, id)
			if err != nil {
				t.Error(err)
			}
			counted <- n.Recalls
		}()
		select {
		case n := <-counted:
			t.Errorf("it returns while the other one has written nothing: %d recalls", n)
			counted <- n
		case <-time.After(100 * time.Millisecond): // so long it waits for the other one
		}
		close(mayWrite)
		first.Wait()
		if n := <-counted; n != 1 {
			t.Errorf("it counted %d recalls", n)
		}
	})
}

func TestRecallRefusesWhatIsOutOfBounds(t *testing.T) {
	r := sqliteRig(t)
	k := r.open()
	for _, q := range []Query{{Text: "x"}, {Filter: of(ann), Limit: MaxRecall + 1}, {Filter: of(ann), Limit: -1}, {Filter: of(ann), Text: string(make([]byte, MaxQueryBytes+1))}, {Filter: memory.Filter{Tenant: host.HostTenant}},
		{Filter: memory.Filter{Tenant: "shop"}, Text: "x"}, {Filter: of(ann), AllUsers: true, Text: "x"}, {Filter: memory.Filter{}, AllUsers: true}} {
		_, err := k.Recall(t.Context(), q)
		wantCode(t, err, abi.BadValue)
	}
	bare := r.open(func(c *Config) { c.Store = nil })
	_, err := bare.Recall(t.Context(), Query{Filter: of(ann), Text: "x"})
	wantCode(t, err, abi.BadValue)
	_, err = bare.State(t.Context())
	wantCode(t, err, abi.BadValue)
	must(t, bare.Sync(t.Context()))
}

func TestADenseLegAddsWhatWordsDoNotFind(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Embedder, c.Unjudged = &fakeEmbedder{}, true })
	k.testOnlyRemember(t, ann, said("abcd"))
	waitForVectors(t, k, 1)
	hits, err := k.Recall(t.Context(), Query{Filter: of(ann), Text: "wxyz"})
	must(t, err)
	if len(hits) != 1 || !slices.ContainsFunc(hits[0].Parts, func(p memory.Part) bool { return p.Name == "meaning" }) {
		t.Errorf("%+v", hits)
	}
}

// A replica whose clock is behind recalls what another one has just kept.
func TestAClockThatIsBehindHidesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c, behind := newClock(), newClock()
		c.move(2 * time.Second)
		writer, reader := r.open(withClock(c)), r.again().open(withClock(behind))
		n := said("likes jasmine tea")
		n.Valid.From = c.now()
		writer.testOnlyRemember(t, ann, n)
		reader.testOnlySync(t)
		if got := recall(t, reader, Query{Filter: of(ann), Text: "jasmine"}); len(got) != 1 {
			t.Errorf("the replica recalls %v", got)
		}
		if page, err := reader.List(t.Context(), ann, Page{AsOf: &Moment{}}); err != nil || len(page) != 1 {
			t.Errorf("the replica lists %v, %v", page, err)
		}
		n = said("will like jasmine next year")
		n.Valid.From = c.now().Add(time.Minute)
		writer.testOnlyRemember(t, ann, n)
		reader.testOnlySync(t)
		if got := recall(t, reader, Query{Filter: of(ann), Text: "jasmine"}); len(got) != 1 {
			t.Errorf("what is to come is recalled: %v", got)
		}
	})
}
