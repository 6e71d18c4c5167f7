package keeper

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// chain makes n facts, each superseded by the next, and gives their ids.
func chain(t testing.TB, k *Keeper, n int) (ids []memory.ID) {
	t.Helper()
	day := newClock().now()
	for len(ids) < n {
		var nodes []memory.Node
		for i := range min(MaxRemember, n-len(ids)) {
			nodes = append(nodes, memory.Node{Text: fmt.Sprintf("price%d", len(ids)+i), Layer: memory.Fact, Kind: memory.FactOf, At: day})
		}
		ids = append(ids, k.testOnlyRemember(t, ann, nodes...)...)
	}
	must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error {
		for i := range ids[1:] {
			if err := t.link(ctx, ann, ids[i], roleNext, string(ids[i+1])); err != nil {
				return err
			}
		}
		return nil
	}))
	return ids
}

// What is left of a forgetting that was broken off is found by a repetition.
func TestABrokenOffForgettingIsRepeated(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		write, left := r.db.Write, -1
		r.db.Write = func(ctx context.Context, run func(context.Context, host.Statements) error) error {
			if left--; left == 0 {
				return fmt.Errorf("the machine is switched off")
			}
			return write(ctx, run)
		}
		k := r.open(func(c *Config) { c.Store = nil })
		ids := chain(t, k, 3*forgetBatch)
		left = 4
		if _, err := k.Forget(t.Context(), ann, Wish{IDs: ids[len(ids)-1:]}); err == nil {
			t.Fatal("it was not broken off")
		}
		_, err := k.Forget(t.Context(), ann, Wish{IDs: ids[len(ids)-1:]})
		must(t, err)
		if page, err := k.List(t.Context(), ann, Page{}); err != nil || len(page) != 0 {
			t.Errorf("%d are left, %v", len(page), err)
		}
	})
}

// The rows of memories are removed without going through all of their user's.
func TestRemovingReadsNotAllOfAUser(t *testing.T) {
	k := sqliteRig(t).open()
	list, args := inList([]memory.ID{"x"})
	by := &tx{keyed: k.keyed}
	for _, table := range tablesOfMemory() {
		for _, verb := range []string{"DELETE", "SELECT memory_id"} {
			query := verb + " FROM " + by.from(table) + ofOwner + " AND memory_id IN " + list
			if plan := planOf(t, k, query, append(ownerArgs(ann), args...)); len(plan) != 1 || strings.Count(plan[0], "=?") != 3 {
				t.Errorf("%s\nis done by %q", query, plan)
			}
		}
	}
}

// Links are looked up by both ends, claims by their matter, traces by their input: none
// of it reads all rows of a user.
func TestLookingUpReadsNotAllOfAUser(t *testing.T) {
	k := sqliteRig(t).open()
	list, args := inList([]memory.ID{"x"})
	for query, args := range map[string][]any{
		currentOf:  {"shop", "ann", "x", 1},
		withClaims: {"shop", "ann", 1, 1},

		latestOf:       {"shop", "ann", "x", 1},
		linksOf:        {"shop", "ann", "x", roleChoice, 1},
		foremostOfThem: {"shop", "ann", 1},
		idsAbout:       {"shop", "ann", "x", "active", 2, "x", 1},
		idsOfKind:      {"shop", "ann", "fact", "active", 2, "x", 1},
		idsOfLayer:     {"shop", "ann", "active", 2, "x", 1},
		sourceOf:       {"shop", "ann", "x", "y"},

		removeLink:            {"shop", "ann", "x", roleNext, "y"},
		linkedTo + list:       append([]any{"shop", "ann", roleNext}, args...),
		tracesOfInputs + list: append([]any{"shop", "ann", "s"}, args...),
		cameBefore + list:     append(ownerArgs(ann), args...),
		madeOfThese + list:    append(ownerArgs(ann), args...),
		choicesOfThese + list: append(ownerArgs(ann), args...),
		gapsOfThese + list:    append(ownerArgs(ann), args...),
	} {
		text := strings.Join(planOf(t, k, query, args), "; ")
		if !strings.Contains(text, "SEARCH") || strings.Count(text, "=?") < 4 {
			t.Errorf("%s\nis done by %s", query, text)
		}
	}
}

func TestTracesLoseTheWordsOfTheInputThatAForgottenMemoryCameFrom(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		n := said("my supplier is Zinfandel")
		n.Source = memory.Source{Session: "s1", Input: "i1"}
		id := k.testOnlyRemember(t, ann, n)[0]
		show := func(o Owner, session host.SessionID, input host.InputID) {
			_, err := k.Show(t.Context(), memory.Trace{Tenant: o.Tenant, User: o.User, Domain: "pricing", Question: "my supplier is Zinfandel; what price?", Output: "89", Session: session, Input: input})
			must(t, err)
		}
		show(ann, "s1", "i1")
		show(ann, "s1", "i2")
		show(ann, "s2", "i1")
		_, err := k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{id}})
		must(t, err)
		traces, err := k.Traces(t.Context(), ann, "")
		must(t, err)
		if len(traces) != 3 || traces[0].Question+traces[0].Output != "" || traces[1].Question == "" || traces[2].Question == "" {
			t.Errorf("the traces are %+v", traces)
		}
	})
}

func TestAllTracesOfAForgottenMemoryLoseTheirWords(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Store = nil })
	id := k.testOnlyRemember(t, ann, said("drinks wine"))[0]
	const shown = 2*longList + 1
	for range shown {
		_, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "gifts", Question: "which wine", Sources: []memory.ID{id}})
		must(t, err)
	}
	_, err := k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{id}})
	must(t, err)
	n := 0
	for after := ""; ; {
		traces, err := k.Traces(t.Context(), ann, after)
		must(t, err)
		if len(traces) == 0 {
			break
		}
		for _, trace := range traces {
			if n, after = n+1, trace.ID; trace.Question != "" || len(trace.Sources) > 0 {
				t.Fatalf("trace %d has words: %+v", n, trace)
			}
		}
	}
	if n != shown {
		t.Errorf("%d of %d traces are left", n, shown)
	}
}

func TestAForgottenPieceOfEvidenceDoesNotEndTheAsking(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		contradict(t, k, ann)
		gaps, err := k.Gaps(t.Context(), ann)
		must(t, err)
		_, err = k.Forget(t.Context(), ann, Wish{IDs: gaps[0].Evidence})
		must(t, err)
		questions, err := k.Questions(t.Context(), ann)
		must(t, err)
		if len(questions) != 0 {
			t.Fatalf("the question still tells what was seen: %+v", questions)
		}
		observe(t, k, ann, 7, 30)
		if questions, err = k.Questions(t.Context(), ann); err != nil || len(questions) != 1 {
			t.Errorf("%d questions at three open gaps, %v", len(questions), err)
		}
	})
}

func TestSupersededFactsArePurgedAfterAnAge(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		var ids []memory.ID
		for i := range 4 {
			all, err := k.Renew(t.Context(), ann, []memory.Node{priced("1001", float64(80+i), c.now())})
			must(t, err)
			ids = append(ids, all[0].ID)
			c.move(24 * time.Hour)
		}
		words := k.testOnlyRemember(t, ann, said("price is told last"))[0]
		_, err := k.Supersede(t.Context(), ann, words, said("price is told first"))
		must(t, err)
		_, err = k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "pricing", Sources: ids[:1]})
		must(t, err)
		c.move(40 * 24 * time.Hour)
		for i, tt := range []struct {
			age  time.Duration
			want int
		}{{41 * 24 * time.Hour, 2 - 1}, {0, 1}, {0, 0}} { // superseded 43, 42 and 41 days ago; a trace points to the first
			if n, err := k.PurgeSuperseded(t.Context(), tt.age); err != nil || n != tt.want {
				t.Errorf("purge %d removed %d, %v; want %d", i, n, err, tt.want)
			}
		}
		k.testOnlySync(t)
		for i, id := range ids {
			_, err := k.Get(t.Context(), ann, id)
			if i == 1 || i == 2 {
				wantCode(t, err, abi.NotFound)
				continue
			}
			must(t, err)
		}
		k.testOnlyGet(t, ann, words)
		s, err := k.State(t.Context())
		if must(t, err); s.Index.Entries != 4 {
			t.Errorf("the index has %d entries", s.Index.Entries)
		}
		// What is left still hangs together.
		f, err := k.Forget(t.Context(), ann, Wish{IDs: ids[3:]})
		if err != nil || len(f.Sources) != 2 {
			t.Errorf("forgotten: %+v, %v", f, err)
		}
	})
}
