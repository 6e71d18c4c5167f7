package keeper

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// testOnlyRows counts the rows of a table that are of an owner.
func (k *Keeper) testOnlyRows(t testing.TB, table string, o Owner) (n int) {
	t.Helper()
	_, err := row(t.Context(), k.db.Reads, "SELECT COUNT(*) FROM "+table+ofOwner, ownerArgs(o), &n)
	must(t, err)
	return n
}

// A price is quoted with every call of a tool. Its life has one row for all that bore it
// out, and the index is told no more of it than it has; who forgets it finds every call.
func TestAFactThatIsSeenAgainAndAgainLeavesOneRowAndAllItsSources(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const calls = 30
		c := newClock()
		k := r.open(withClock(c))
		var id memory.ID
		var want []string
		for i := range calls {
			n := priced("1001", 59, c.now())
			n.Source.Call = host.CallID(fmt.Sprint("call_", i))
			want = append(want, SourceKey(n.Source))
			for range 2 { // a repetition counts once
				all, err := k.Renew(t.Context(), ann, []memory.Node{n})
				must(t, err)
				id = all[0].ID
			}
			c.move(time.Minute)
		}
		if n := k.testOnlyGet(t, ann, id); n.Verified != calls-1 || !n.At.Equal(c.now().Add(-time.Minute)) {
			t.Errorf("verified %d times, last %v", n.Verified, n.At)
		}
		if rows, lines := k.testOnlyRows(t, "memory_life", ann), k.testOnlyRows(t, "memory_outbox", ann); rows != 2 || lines != 1 {
			t.Errorf("its life has %d rows, and the index was told %d times", rows, lines)
		}
		life, err := k.Why(t.Context(), ann, id, memory.DefaultForget(), "en")
		must(t, err)
		if last := life.Events[len(life.Events)-1]; last.What != Verified || !last.At.Equal(c.now().Add(-time.Minute)) {
			t.Errorf("its life is %+v", life.Events)
		}
		from, err := k.Origins(t.Context(), ann, []memory.ID{id})
		must(t, err)
		if slices.Sort(want); !slices.Equal(sorted(from.Keys), want) {
			t.Errorf("%d sources are known, want %d", len(from.Keys), len(want))
		}
		f, err := k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{id}})
		must(t, err)
		if left := k.testOnlyRows(t, "memory_source", ann); left != 0 || !slices.Equal(f.Keys, want) {
			t.Errorf("%d sources are left; %d are told", left, len(f.Keys))
		}
	})
}

// What an index has of a memory is told to it: that it counts again, and what day it is of.
func TestTheIndexIsToldOfAnotherHourAndOfWhatComesBack(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		see := func(call host.CallID) memory.ID {
			t.Helper()
			n := priced("1001", 59, c.now())
			n.Source.Call = call
			return k.testOnlyRemember(t, ann, n)[0]
		}
		id := see("a")
		for i, step := range []func(){
			func() { c.move(time.Minute) },
			func() { c.move(time.Hour) },
			func() {
				_, err := k.Archive(t.Context(), ann, []memory.ID{id}, "age")
				must(t, err)
			},
		} {
			step()
			before := k.testOnlyRows(t, "memory_outbox", ann)
			see(host.CallID(fmt.Sprint(i)))
			if told := k.testOnlyRows(t, "memory_outbox", ann) > before; told != (i > 0) {
				t.Errorf("step %d: the index was told: %v", i, told)
			}
		}
		if n := k.testOnlyGet(t, ann, id); n.Status != memory.Active {
			t.Errorf("it is %s", n.Status)
		}
	})
}

// What the user says again is told each time.
func TestEachTimeThatTheUserSaysItIsInItsLife(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Store = nil })
	for i := range 4 {
		n := said("drinks red wine")
		n.Source = memory.Source{Session: "s1", Input: host.InputID(fmt.Sprint(i))}
		k.testOnlyRemember(t, ann, n)
	}
	if rows := k.testOnlyRows(t, "memory_life", ann); rows != 4 {
		t.Errorf("its life has %d rows", rows)
	}
}

// A store of an older release has its sources in the lives. They are known as before.
func TestSourcesOfAnOlderReleaseAreKnown(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		older := fstest.MapFS{}
		names, err := fs.Glob(migrationFiles, "migrations/*.sql")
		must(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_sources.sql") {
				break
			}
			text, err := migrationFiles.ReadFile(name)
			must(t, err)
			older[name] = &fstest.MapFile{Data: text}
		}
		must(t, r.db.Migrate(t.Context(), host.Schema{Of: "the memories", Versions: "memory_schema", Files: older, Words: wordsOf(r.db.Dialect)}))
		must(t, r.db.Write(t.Context(), func(ctx context.Context, on host.Statements) error {
			for i, e := range []Event{{What: Remembered, Cause: "a"}, {What: Verified, Cause: "b"}, {What: Restored, Cause: "b"}, {What: Verified, Cause: "b"}, {What: Verified}, {What: Superseded, Cause: "c"}} {
				if _, err := exec(ctx, on, addLife, append(memoryArgs(ann, "m"), i, 1, e.What, e.Cause)...); err != nil {
					return err
				}
			}
			return nil
		}))
		k := r.open(func(c *Config) { c.Store = nil })
		sources, err := texts[string](t.Context(), k.db.Reads, "SELECT source FROM memory_source"+ofMemory+" ORDER BY source", memoryArgs(ann, "m")...)
		if err != nil || !slices.Equal(sources, []string{"a", "b"}) || k.testOnlyRows(t, "memory_life", ann) != 6 {
			t.Errorf("known are %v, %v", sources, err)
		}
	})
}

// While replicas are of two releases the older one keeps sources in the lives alone. A
// declaration is not borne out by its own, which is heard again.
func TestADeclarationOfAnOlderReplicaIsNotBorneOutByItsOwnSource(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open(func(c *Config) { c.Store = nil })
		n := said("drinks red wine")
		n.Source = memory.Source{Session: "s1", Input: "1"}
		id := k.testOnlyRemember(t, ann, n)[0]
		k.testOnlyOlder(t, ann, id)
		k.testOnlyRemember(t, ann, n)
		if got := k.testOnlyGet(t, ann, id); got.Verified != 0 {
			t.Errorf("its own source bore it out %d times", got.Verified)
		}
		if n.Source.Input = "2"; k.testOnlyRemember(t, ann, n)[0] != id || k.testOnlyGet(t, ann, id).Verified != 1 {
			t.Error("another source did not bear it out")
		}
	})
}

// testOnlyOlder has a memory be as a replica of an older release writes it.
func (k *Keeper) testOnlyOlder(t testing.TB, o Owner, id memory.ID) {
	t.Helper()
	must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error {
		_, err := exec(ctx, t.on, "DELETE FROM memory_source"+ofMemory, memoryArgs(o, id)...)
		return err
	}))
}

// The row of a fact's life that tells the last time tells what bore it out then. What an
// older replica wrote there is nowhere else, and stays for who forgets the fact.
func TestTheLifeOfAFactTellsWhatBoreItOutLast(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		var id memory.ID
		var keys []string
		see := func(call host.CallID) (last Event) {
			t.Helper()
			n := priced("1001", 59, c.move(time.Minute))
			n.Source.Call = call
			id, keys = k.testOnlyRemember(t, ann, n)[0], append(keys, SourceKey(n.Source))
			life, err := k.life(t.Context(), ann, id)
			must(t, err)
			return life.Events[len(life.Events)-1]
		}
		for _, call := range []host.CallID{"a", "b", "c"} {
			if last := see(call); last.Cause != keys[len(keys)-1] {
				t.Errorf("after %s its life ends with %+v", call, last)
			}
		}
		keys = slices.Delete(keys, 1, 2) // the row is of the third by now
		k.testOnlyOlder(t, ann, id)
		see("d")
		see("e")
		from, err := k.Origins(t.Context(), ann, []memory.ID{id})
		must(t, err)
		if slices.Sort(keys); !slices.Equal(sorted(from.Keys), keys) {
			t.Errorf("known are %v, want %v", sorted(from.Keys), keys)
		}
		if rows := k.testOnlyRows(t, "memory_life", ann); rows != 3 {
			t.Errorf("its life has %d rows", rows)
		}
	})
}
