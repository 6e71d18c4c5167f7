package keeper

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// A decision that is shown after its memory was forgotten, by a turn that still holds the
// words, is kept without any.
func TestADecisionAboutWhatIsForgottenIsKeptWithoutWords(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		ids := k.testOnlyRemember(t, ann, said("drinks Zinfandel"), said("likes trains"))
		_, err := k.Forget(t.Context(), ann, Wish{IDs: ids[:1]})
		must(t, err)
		for i, sources := range [][]memory.ID{ids, ids[1:], nil} {
			shown, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "gifts", Point: "gift", Question: "which Zinfandel", Output: "this one", Sources: sources, Session: "s1", Input: "1"})
			must(t, err)
			traces, err := k.Traces(t.Context(), ann, "")
			must(t, err)
			got, silent := traces[len(traces)-1], i == 0
			if got.ID != shown.ID || got.Domain != "gifts" || got.Shown.IsZero() || (got.Question+got.Output+got.Point+string(got.Session)+string(got.Input) == "") != silent || (len(got.Sources) == 0) != (len(sources) == 0 || silent) {
				t.Errorf("of %v is kept %+v", sources, got)
			}
			if silent && shown.Question != "" {
				t.Errorf("it gives %+v", shown)
			}
		}
	})
}

// What was restored counts in its own right: to forget what had taken its place leaves it.
func TestARestoredMemoryStaysWhenItsSuccessorIsForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		old := k.testOnlyRemember(t, ann, said("drinks red wine"))[0]
		next, err := k.Supersede(t.Context(), ann, old, said("drinks white wine"))
		must(t, err)
		_, err = k.Restore(t.Context(), ann, []memory.ID{old})
		must(t, err)
		_, err = k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{next}})
		must(t, err)
		if n := k.testOnlyGet(t, ann, old); n.Status != memory.Active {
			t.Errorf("it is %s", n.Status)
		}
	})
}

// Pinned memories and constraints stay, however long they are superseded or archived.
func TestNoAgeRemovesWhatIsPinnedOrAConstraint(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		var kept []memory.ID
		about := []string{"tea leaves", "silk scarves", "porcelain cups"}
		for i, kind := range []memory.Kind{memory.FactOf, memory.FactOf, memory.Constraint} {
			fact := memory.Node{Text: "the rule about " + about[i], Layer: memory.Fact, Kind: kind}
			ids := k.testOnlyRemember(t, ann, fact)
			fact.Text = "what is paid for " + about[i]
			ids = append(ids, k.testOnlyRemember(t, ann, fact)...)
			if kind == memory.FactOf {
				_, err := k.Archive(t.Context(), ann, ids[:1], "score")
				must(t, err)
			}
			fact.Text = "now another sum buys " + about[i]
			next, err := k.Supersede(t.Context(), ann, ids[1], fact)
			must(t, err)
			if kept = append(kept, next); i > 0 {
				kept = append(kept, ids...)
				must(t, k.Pin(t.Context(), ann, ids[0], kind == memory.FactOf))
				must(t, k.Pin(t.Context(), ann, ids[1], kind == memory.FactOf))
			}
		}
		c.move(1000 * 24 * time.Hour)
		_, err := k.Purge(t.Context(), ann, time.Hour)
		must(t, err)
		_, err = k.PurgeSuperseded(t.Context(), time.Hour)
		must(t, err)
		wantIDs(t, k, kept)
		for _, id := range kept {
			must(t, k.Pin(t.Context(), ann, id, false))
		}
		_, err = k.PurgeSuperseded(t.Context(), time.Hour)
		must(t, err)
		if n := len(mustList(t, k)); n != len(kept)-1 {
			t.Errorf("%d are left of %d once nothing is pinned: the superseded price goes then", n, len(kept))
		}
	})
}

func mustList(t *testing.T, k *Keeper) (ids []memory.ID) {
	t.Helper()
	nodes, err := k.List(t.Context(), ann, Page{})
	must(t, err)
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

func wantIDs(t *testing.T, k *Keeper, want []memory.ID) {
	t.Helper()
	got := mustList(t, k)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}

// testOnlyAdopt counts memories as a decision does that was made by them and accepted.
func (k *Keeper) testOnlyAdopt(t testing.TB, o Owner, ids ...memory.ID) {
	t.Helper()
	must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error { return adopt(ctx, t.on, o, ids, t.at) }))
}

// How often a memory was adopted tells nothing of a user who never said that one was of
// use; of another one it does.
func TestTheRatioCountsForUsersWhoAdopt(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		fact := memory.Node{Text: "the platform wants a licence for wine", Layer: memory.Fact, Kind: memory.FactOf, Trust: 1}
		id := k.testOnlyRemember(t, ann, fact)[0]
		other := k.testOnlyRemember(t, ann, said("likes trains"))[0]
		for range memory.DefaultForget().MinRecall {
			k.Shown(ann, []memory.ID{id})
		}
		must(t, k.keepCounts(t.Context()))
		fate := func() string {
			t.Helper()
			life, err := k.Why(t.Context(), ann, id, memory.DefaultForget(), "")
			must(t, err)
			return life.Fate.Reason
		}
		faded, err := k.Tidy(t.Context(), ann, memory.DefaultForget(), "")
		must(t, err)
		if got := fate(); len(faded) != 0 || got != memory.FateKept {
			t.Errorf("archived are %v, and why tells %s", faded, got)
		}
		k.testOnlyAdopt(t, ann, other)
		if got := fate(); got != memory.FateRatio {
			t.Errorf("why tells %s", got)
		}
		if faded, err = k.Tidy(t.Context(), ann, memory.DefaultForget(), ""); err != nil || len(faded) != 1 || faded[0].ID != id {
			t.Errorf("archived are %v, %v", faded, err)
		}
	})
}

// What the user is to be asked about is not archived before the answer.
func TestAMemoryThatAQuestionWaitsAboutIsNotArchived(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		contradict(t, k, ann)
		waiting, err := k.Waiting(t.Context(), ann)
		must(t, err)
		if len(waiting) != 1 {
			t.Fatalf("%d questions wait", len(waiting))
		}
		about := waiting[0].Memory
		c.move(3000 * 24 * time.Hour)
		if gone, err := k.Archive(t.Context(), ann, []memory.ID{about}, "score"); err != nil || len(gone) != 0 {
			t.Errorf("archived are %v, %v", gone, err)
		}
		faded, err := k.Tidy(t.Context(), ann, memory.DefaultForget(), "")
		must(t, err)
		if slices.ContainsFunc(faded, func(f Fading) bool { return f.ID == about }) || k.testOnlyGet(t, ann, about).Status != memory.Active {
			t.Errorf("archived are %v", faded)
		}
		life, err := k.Why(t.Context(), ann, about, memory.DefaultForget(), "")
		must(t, err)
		if life.Fate.Archive || life.Fate.Reason != memory.FateAsked {
			t.Errorf("why tells %+v", life.Fate)
		}
		_, err = k.Answer(t.Context(), ann, waiting[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Kept})
		must(t, err)
		c.move(3000 * 24 * time.Hour)
		if faded, err = k.Tidy(t.Context(), ann, memory.DefaultForget(), ""); err != nil || !slices.ContainsFunc(faded, func(f Fading) bool { return f.ID == about }) {
			t.Errorf("after the answer archived are %v, %v", faded, err)
		}
	})
}

// Decisions of years, with what they point to, are removed some in each transaction.
func TestForgettingAUserHoldsNobodyUpForAllDecisionsAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		largest := int64(0)
		r.db = mostRemoved(r.db, &largest)
		k := r.open()
		ids := k.testOnlyRemember(t, ann, said("drinks red wine"), said("likes trains"))
		for range longList + 50 {
			_, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "gifts", Question: "which wine", Sources: ids})
			must(t, err)
		}
		largest = 0
		_, err := k.Forget(t.Context(), ann, Wish{All: true})
		must(t, err)
		if largest == 0 || largest > longList {
			t.Errorf("one transaction removes %d rows, more than %d", largest, longList)
		}
		if traces, err := k.Traces(t.Context(), ann, ""); err != nil || len(traces) != 0 {
			t.Errorf("%d traces are left, %v", len(traces), err)
		}
	})
}

// A log that says the same again and again has one memory in thousands of places.
func TestForgettingWhatADocumentRepeatsHoldsNobodyUpForAllPlacesAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		largest := int64(0)
		r.db = mostRemoved(r.db, &largest)
		k := r.open(func(c *Config) { c.Store = nil })
		k.testOnlyLearn(t, ann, rules(), strings.Repeat(paragraph(1), 3*longList))
		if n := len(k.testOnlyPieces(t, ann, "rules.md")); n <= 2*longList {
			t.Fatalf("it has %d places", n)
		}
		largest = 0
		_, err := k.Forget(t.Context(), ann, Wish{Document: "rules.md"})
		must(t, err)
		if largest == 0 || largest > 2*longList { // the last places go with all other rows of the memories
			t.Errorf("one transaction removes %d rows", largest)
		}
		if left := k.testOnlyPieces(t, ann, "rules.md"); len(left) != 0 || len(k.all(t, ann)) != 0 {
			t.Errorf("%d places are left", len(left))
		}
	})
}

// mostRemoved notes how many rows the largest transaction removes.
func mostRemoved(db host.Database, largest *int64) host.Database {
	write := db.Write
	db.Write = func(ctx context.Context, run func(context.Context, host.Statements) error) error {
		return write(ctx, func(ctx context.Context, on host.Statements) error {
			counted := &removals{Statements: on}
			err := run(ctx, counted)
			*largest = max(*largest, counted.removed)
			return err
		})
	}
	return db
}

// removals counts the rows that are removed.
type removals struct {
	host.Statements
	removed int64
}

func (c *removals) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := c.Statements.ExecContext(ctx, query, args...)
	if err == nil && strings.HasPrefix(query, "DELETE") {
		n, failed := result.RowsAffected()
		c.removed, err = c.removed+n, failed
	}
	return result, err
}
