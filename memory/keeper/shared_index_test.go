package keeper

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/memorytest"
	"github.com/sluicehq/sluice/memory/qdrant"
)

// A fleet is hosts that have one index on a server: each has a Store and connections of
// its own, as processes do.
type fleet struct {
	rig
	server *memorytest.Qdrant
}

func newFleet(t testing.TB, r rig) fleet {
	return fleet{r, memorytest.StartQdrant(t, memorytest.QdrantOptions{})}
}

// host opens one more host.
func (f fleet) host(alter ...func(*Config)) *Keeper {
	f.t.Helper()
	return f.again().open(append(slices.Clone(alter), func(c *Config) {
		options := qdrant.Options{URL: "qdrant://" + f.server.Address() + "/memory"}
		if c.Embedder != nil {
			options.Dimensions = c.Embedder.Dimensions()
		}
		store, err := qdrant.Open(context.Background(), options)
		must(f.t, err)
		f.t.Cleanup(func() { store.Close() })
		c.Store, c.Shared = store, true
	})...)
}

func (f fleet) fillings() int { return f.server.Calls("Collections/Create") }

// during does something while the server has the first request of a name in hand, which
// work is to lead to.
func (f fleet) during(name string, work, do func()) {
	f.t.Helper()
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var later atomic.Bool
	f.server.Interfere(func(_ context.Context, q memorytest.Request) (any, error) {
		if q.Name == name && !later.Swap(true) {
			close(reached)
			<-goOn
		}
		return q.Serve()
	})
	go func() {
		defer close(done)
		work()
	}()
	defer func() { close(goOn); <-done }()
	select {
	case <-reached:
		do()
	case <-done:
		f.t.Errorf("it ended without %s", name)
	}
}

func quick(c *Config) { c.Poll = 10 * time.Millisecond }

// idle is a host that never takes the index into its hands: it only serves.
func idle(c *Config) { c.Poll = time.Hour }

// another is a host whose index is of another version.
func another(c *Config) { c.Embedder = &fakeEmbedder{} }

func (k *Keeper) testOnlyRecall(t testing.TB, text string) ([]Hit, error) {
	t.Helper()
	return k.Recall(t.Context(), Query{Filter: memory.Filter{Tenant: ann.Tenant, User: ann.User}, Text: text, Limit: MaxRecall, Quiet: true})
}

func wantRecalls(t testing.TB, k *Keeper, text string, n int) {
	t.Helper()
	hits, err := k.testOnlyRecall(t, text)
	if err != nil || len(hits) != n {
		t.Fatalf("it recalls %d and says %v; want %d", len(hits), err, n)
	}
	must(t, k.Ready(t.Context()))
}

// wantUnavailable fails unless a host says that it cannot recall for now, and why.
func wantUnavailable(t testing.TB, k *Keeper, says string) {
	t.Helper()
	hits, err := k.testOnlyRecall(t, "common")
	for _, err := range []error{err, k.Ready(t.Context())} {
		if problem := wantCode(t, err, abi.Unavailable); !strings.Contains(problem.Message, says) || problem.Hint == "" {
			t.Fatalf("it says %v (%q)", problem, problem.Hint)
		}
	}
	if len(hits) != 0 {
		t.Fatalf("it recalls %d", len(hits))
	}
}

// untilItRecalls waits until a host recalls again, without a restart and before a look
// would come by itself. Whatever it gives before says that it failed.
func untilItRecalls(t testing.TB, k *Keeper, text string, n int) {
	t.Helper()
	for end := time.Now().Add(lookEvery * 2 / 3); ; time.Sleep(10 * time.Millisecond) {
		hits, err := k.testOnlyRecall(t, text)
		if err == nil && len(hits) == n {
			return
		}
		if err == nil {
			t.Fatalf("it recalls %d of %d, and says nothing of it", len(hits), n)
		}
		if wantCode(t, err, abi.Unavailable); time.Now().After(end) {
			t.Fatalf("it still says %v", err)
		}
	}
}

// testOnlyLook has a host look at the index now, if that is its duty.
func (k *Keeper) testOnlyLook(t testing.TB) {
	t.Helper()
	k.follow.applying.Lock()
	defer k.follow.applying.Unlock()
	k.follow.watch.looked = time.Time{}
	must(t, k.applyShared(t.Context()))
}

func TestHostsThatStartTogetherOnAnEmptyServerAllRecall(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		f := newFleet(t, r)
		f.open(func(c *Config) { c.Store = nil }).testOnlyRemember(t, ann, said("common one"))
		var first, late *Keeper
		f.during("Collections/Create", func() { first = f.host(quick) }, func() {
			late = f.host(idle) // the first has the duty, and there is no collection yet
			wantUnavailable(t, late, "is being filled")
		})
		wantRecalls(t, first, "common", 1)
		wantRecalls(t, late, "common", 1)
		late.testOnlyRemember(t, ann, said("common two"))
		late.testOnlySync(t)
		wantRecalls(t, late, "common", 2)
		if n := f.fillings(); n != 1 {
			t.Errorf("the index was filled %d times", n)
		}
	})
}

// Hosts of another version neither search the index that there is, nor stay without one.
func TestARollingUpgradeMixesNothingAndNeedsNoRestart(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		f := newFleet(t, r)
		old, left := f.host(quick), f.host(idle)
		old.testOnlyRemember(t, ann, said("common one"))
		old.testOnlySync(t)
		wantRecalls(t, left, "common", 1)

		young, idling := f.host(quick, another), f.host(idle, another)
		searches := f.server.Calls("Points/Query")
		for _, k := range []*Keeper{young, idling} {
			wantUnavailable(t, k, "is of version")
			_, err := k.State(t.Context())
			wantCode(t, err, abi.Unavailable)
			k.testOnlySync(t) // the index that there is has it all
		}
		if n := f.server.Calls("Points/Query") - searches; n != 0 {
			t.Errorf("the other version's index was searched %d times", n)
		}
		wantRecalls(t, old, "common", 1) // which still has it

		must(t, old.Close())
		untilItRecalls(t, young, "common", 1)
		wantRecalls(t, idling, "common", 1)
		searches = f.server.Calls("Points/Query")
		wantUnavailable(t, left, "is of version")
		if n := f.server.Calls("Points/Query") - searches; n != 0 {
			t.Errorf("the old host searched the new index %d times", n)
		}
		young.testOnlyRemember(t, ann, said("common two"))
		young.testOnlySync(t)
		wantRecalls(t, idling, "common", 2)
		if names := f.server.Collections(); len(names) != 1 {
			t.Errorf("what is left is %q", names)
		}
	})
}

// The row may name the next filling by the time the search arrives.
func TestARecallGoesOnInTheNextFilling(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	holder, other := f.host(quick), f.host(idle)
	holder.testOnlyRemember(t, ann, said("common one"), said("common two"))
	holder.testOnlySync(t)
	var hits []Hit
	var err error
	f.during("Points/Query", func() { hits, err = other.testOnlyRecall(t, "common") }, func() { must(t, holder.Rebuild(t.Context(), nil)) })
	if err != nil || len(hits) != 2 {
		t.Errorf("it recalls %d and says %v", len(hits), err)
	}
}

// What is lost is seen by who searches, by who writes, or by a look.
func TestAnIndexThatIsDroppedWhileHostsServeIsFilledAnew(t *testing.T) {
	for name, seen := range map[string]func(t *testing.T, holder *Keeper) (more int){
		"by a search": func(t *testing.T, holder *Keeper) int {
			_, err := holder.testOnlyRecall(t, "common")
			wantCode(t, err, abi.Unavailable)
			return 0
		},
		"by a write": func(t *testing.T, holder *Keeper) int {
			holder.testOnlyRemember(t, ann, said("common written meanwhile"))
			return 1
		},
		"by a look": func(t *testing.T, holder *Keeper) int { holder.testOnlyLook(t); return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, sqliteRig(t))
			holder, other := f.host(quick), f.host(idle)
			holder.testOnlyRemember(t, ann, said("common one"), said("common two"))
			holder.testOnlySync(t)
			wantRecalls(t, other, "common", 2)
			f.server.DropCollections()
			wantUnavailable(t, other, "is not whole")
			more := seen(t, holder)
			untilItRecalls(t, other, "common", 2+more)
			untilItRecalls(t, holder, "common", 2+more)
			if n := f.fillings(); n != 2 {
				t.Errorf("the index was filled %d times", n)
			}
		})
	}
}

// A host that stalled in its Reset for longer than its duty lasts goes on with it when
// another one has filled the index long ago.
func TestALateResetNeverLeavesAnEmptyIndexThatCountsAsWhole(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	holder, other, stalled := f.host(quick), f.host(idle), f.host(idle)
	holder.testOnlyRemember(t, ann, said("common one"), said("common two"))
	holder.testOnlySync(t)
	filling := stalled.newFilling()
	must(t, stalled.indexOf(filling).Reset(t.Context(), filling))
	wantUnavailable(t, other, "is not whole")
	untilItRecalls(t, holder, "common", 2) // its search has it look
	untilItRecalls(t, other, "common", 2)
	if names := f.server.Collections(); len(names) != 1 {
		t.Errorf("what is left is %q", names)
	}
}

// It may also have dropped what there was before, and make its own collection late.
func TestWhatALateResetMakesBesideTheIndexIsRemoved(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	holder, other, stalled := f.host(quick), f.host(idle), f.host(idle)
	holder.testOnlyRemember(t, ann, said("common one"), said("common two"))
	holder.testOnlySync(t)
	filling := stalled.newFilling()
	late := stalled.indexOf(filling)
	var failed error
	f.during("Collections/Create", func() { failed = late.Reset(context.Background(), filling) }, func() { must(t, holder.Rebuild(t.Context(), nil)) })
	must(t, failed)
	entries, err := stalled.entriesOf(t.Context(), ann, map[memory.ID]bool{finds(t, holder.testOnlyIndex(t), ann, "common")[0]: true})
	must(t, err)
	must(t, late.Put(t.Context(), entries))
	if hits, err := other.testOnlyRecall(t, "common"); err != nil || len(hits) != 2 { // it is beside, and disturbs nobody
		t.Errorf("it recalls %d and says %v", len(hits), err)
	}
	holder.testOnlyLook(t)
	wantRecalls(t, other, "common", 2)
	if names := f.server.Collections(); len(names) != 1 {
		t.Errorf("what is left is %q", names)
	}
}

func (k *Keeper) testOnlyIndex(t testing.TB) memory.Store {
	t.Helper()
	filling, err := k.searched(t.Context())
	must(t, err)
	return k.indexOf(filling)
}

// A server that was set back to an older snapshot has the collection, and not all of it.
func TestAnIndexThatLostSomeOfItsMemoriesIsFilledAnew(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	holder, other := f.host(quick), f.host(idle)
	ids := holder.testOnlyRemember(t, ann, said("common one"), said("common two"), said("common three"))
	holder.testOnlySync(t)
	holder.testOnlyLook(t)
	if n := f.fillings(); n != 1 {
		t.Fatalf("an index that is whole was filled %d times", n)
	}
	must(t, holder.testOnlyIndex(t).Delete(t.Context(), ann.Tenant, ids[:1]))
	holder.testOnlyLook(t)
	wantRecalls(t, other, "common", 3)
	if n := f.fillings(); n != 2 {
		t.Errorf("the index was filled %d times", n)
	}
}

// What the index has not seen yet is no loss.
func TestALookAllowsForWhatTheIndexHasNotSeen(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	k := f.host(idle)
	k.follow.applying.Lock()
	defer k.follow.applying.Unlock()
	d, err := k.readDuty(t.Context(), k.db.Reads, dutyIndex)
	must(t, err)
	k.testOnlyRemember(t, ann, said("common one"), said("common two"))
	if whole, err := k.isWhole(t.Context(), d); err != nil || !whole {
		t.Errorf("whole: %v, %v", whole, err)
	}
}

// Whoever removes an index again and again does not have the hosts fill it all the time.
func TestAnIndexThatIsLostAgainAndAgainIsFilledMoreAndMoreSeldom(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	k := f.host(idle)
	k.follow.applying.Lock()
	defer k.follow.applying.Unlock()
	d, err := k.readDuty(t.Context(), k.db.Reads, dutyIndex)
	must(t, err)
	w := &k.follow.watch
	f.server.DropCollections()
	for _, rest := range []time.Duration{lookEvery, 2 * lookEvery, 4 * lookEvery} {
		w.looked = time.Time{}
		if lost, err := k.isLost(t.Context(), d); err != nil || !lost || w.rest != rest {
			t.Fatalf("lost: %v, %v; the next look is after %s, want %s", lost, err, w.rest, rest)
		}
		k.doubted.Store(true)
		if lost, err := k.isLost(t.Context(), d); err != nil || lost {
			t.Fatalf("it looked again at once: %v, %v", lost, err)
		}
	}
	w.rest, w.looked = longestRest, time.Time{}
	if _, err := k.isLost(t.Context(), d); err != nil || w.rest != longestRest {
		t.Errorf("%v; the next look is after %s", err, w.rest)
	}
	must(t, k.fillHeld(t.Context(), nil))
	d, err = k.readDuty(t.Context(), k.db.Reads, dutyIndex)
	must(t, err)
	w.looked = time.Time{}
	if lost, err := k.isLost(t.Context(), d); err != nil || lost || w.rest != 0 {
		t.Errorf("lost: %v, %v; the next look is after %s", lost, err, w.rest)
	}
}

// A fill that takes longer than a duty is kept without a word stays in the same hands.
func TestALongFillOnAServerKeepsItsDuty(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	f.open(func(c *Config) { c.Store = nil }).testOnlyRemember(t, ann, said("common one"))
	const duty = 2 * time.Second
	with := func(c *Config) { c.dutyTime, c.Poll = duty, 10*time.Millisecond }
	var first, other *Keeper
	f.during("Points/Upsert", func() { first = f.host(with) }, func() {
		time.Sleep(duty + duty/2)
		other = f.host(with)
	})
	wantRecalls(t, first, "common", 1)
	wantRecalls(t, other, "common", 1)
	if n := f.fillings(); n != 1 {
		t.Errorf("the index was filled %d times", n)
	}
}

func TestAnotherHostFollowsTheSameFillingWhenOneDies(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	first, second := f.host(quick), f.host(idle)
	first.testOnlyRemember(t, ann, said("common one"))
	second.testOnlyRemember(t, ann, said("common two"))
	first.testOnlySync(t)
	wantRecalls(t, second, "common", 2)
	first.stop() // without a word
	first.ended.Wait()
	third := f.host(quick, func(c *Config) { c.Now = func() time.Time { return time.Now().Add(2 * dutyTime) } })
	third.testOnlyRemember(t, ann, said("common three"))
	third.testOnlySync(t)
	wantRecalls(t, second, "common", 3)
	if n := f.fillings(); n != 1 {
		t.Errorf("the index was filled %d times", n)
	}
}

func TestARebuildIsDoneByTheHostThatFollowsAndTheOthersFindIt(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	serving, asking := f.host(quick), f.host(quick)
	serving.testOnlyRemember(t, ann, said("common one"), said("common two"))
	serving.testOnlySync(t)
	for rebuilds := range 2 {
		must(t, asking.Rebuild(t.Context(), nil))
		wantRecalls(t, asking, "common", 2)
		wantRecalls(t, serving, "common", 2)
		if n := f.fillings(); n != 2+rebuilds {
			t.Errorf("after rebuild %d the index was filled %d times", rebuilds+1, n)
		}
	}
	if s, err := asking.State(t.Context()); err != nil || s.Index != (memory.StoreState{Version: s.Version, Entries: 2}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// What an earlier release filled, whose fillings had no names of their own, is followed as it is.
func TestAFillingWithoutAMarkIsOfItsVersion(t *testing.T) {
	f := newFleet(t, sqliteRig(t))
	k := f.host(idle)
	k.follow.applying.Lock()
	must(t, k.store.Reset(t.Context(), k.version()))
	must(t, k.advance(t.Context(), dutyIndex, 0, k.version()))
	k.follow.applying.Unlock()
	must(t, k.Close())
	next := f.host(quick)
	next.testOnlyRemember(t, ann, said("common one"))
	next.testOnlySync(t)
	wantRecalls(t, next, "common", 1)
	if n := f.fillings(); n != 2 {
		t.Errorf("the index was filled %d times", n)
	}
}

// An index of this process alone says that it cannot follow.
func TestAHostIsReadyWhenItsIndexFollows(t *testing.T) {
	r := sqliteRig(t)
	store := &failing{Store: index.New()}
	k := r.open(func(c *Config) { c.Store = store })
	must(t, k.Ready(t.Context()))
	wantCode(t, r.open(func(c *Config) { c.Store = nil }).Ready(t.Context()), abi.BadValue)
	broken := r.open(func(c *Config) { c.Store = &failing{Store: index.New(), broken: true} })
	broken.testOnlyRemember(t, ann, said("common one"))
	if err := broken.Sync(t.Context()); err == nil {
		t.Fatal("an index that cannot follow says nothing")
	}
	wantCode(t, broken.Ready(t.Context()), abi.StoreFailure)
}
