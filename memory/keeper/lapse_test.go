package keeper

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// testOnlyAsk has the only question that waits for an owner be asked, and gives it.
func (k *Keeper) testOnlyAsk(t testing.TB, o Owner) memory.Question {
	t.Helper()
	waiting, err := k.Waiting(t.Context(), o)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%+v wait, %v", waiting, err)
	}
	_, err = k.Asked(t.Context(), o, waiting[0].ID, "s9", 1)
	must(t, err)
	return waiting[0]
}

// testOnlyOpen gives the ids of the gaps that are open, and of those that are closed.
func (k *Keeper) testOnlyOpen(t testing.TB, o Owner) (open, closed []string) {
	t.Helper()
	gaps, err := k.Gaps(t.Context(), o) // by their ids where they are of the same time
	must(t, err)
	for _, g := range gaps {
		if g.Closed == "" {
			open = append(open, g.ID)
		} else {
			closed = append(closed, g.ID)
		}
	}
	return open, closed
}

func TestAQuestionThatNobodyAnsweredIsFollowedByAnotherOne(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		id := contradict(t, k, ann)
		c.move(time.Hour)
		first := k.testOnlyAsk(t, ann)
		for i := range 3 {
			c.move(24 * time.Hour)
			if observe(t, k, ann, 10+i, 30); i == 2 {
				break
			}
			if waiting, err := k.Waiting(t.Context(), ann); err != nil || len(waiting) != 1 || waiting[0].ID != first.ID {
				t.Errorf("after %d more gaps there wait %+v, %v", i+1, waiting, err)
			}
		}
		second := k.testOnlyAsk(t, ann)
		open, closed := k.testOnlyOpen(t, ann)
		slices.Sort(first.Gaps)
		if second.ID == first.ID || !second.Asked.IsZero() || second.Memory != id || !slices.Equal(second.Gaps, open) || !slices.Equal(first.Gaps, closed) {
			t.Errorf("then %+v waits; open are %v, closed %v", second, open, closed)
		}
		_, err := k.Answer(t.Context(), ann, first.ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Kept})
		wantCode(t, err, abi.BadArguments)
		c.move(300 * time.Hour) // long after it was asked
		_, err = k.Answer(t.Context(), ann, second.ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Kept})
		must(t, err)
		if open, _ := k.testOnlyOpen(t, ann); len(open) != 0 {
			t.Errorf("open are %v", open)
		}
	})
}

// testOnlyGap writes a gap of a memory as it was found at a time.
func (k *Keeper) testOnlyGap(t testing.TB, g memory.Gap) {
	t.Helper()
	must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error {
		_, err := t.addGap(ctx, g)
		return err
	}))
}

// A user of years has more gaps than one reconciliation reads. None that is open is
// missed for those that were closed.
func TestOpenGapsAreFoundAmongAnyNumberOfClosedOnes(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open(func(c *Config) { c.Store = nil })
		must(t, k.change(t.Context(), func(ctx context.Context, t *tx) error {
			for i := range maxGaps + 10 { // their ids are before all others
				g := memory.Gap{ID: fmt.Sprintf("a%05d", i), Tenant: ann.Tenant, User: ann.User, Memory: "old", Closed: "kept"}
				detail, err := json.Marshal(g)
				if err == nil {
					_, err = exec(ctx, t.on, makeGap, append(memoryArgs(ann, g.Memory), g.ID, g.ID, i, "", g.Closed, detail)...)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
		id := contradict(t, k, ann)
		q := k.testOnlyAsk(t, ann)
		open, closed := k.testOnlyOpen(t, ann)
		if q.Memory != id || len(open) != 3 || len(closed) != maxGaps || closed[0] != "a00010" {
			t.Errorf("asked is %+v; %d gaps are open, %d closed", q, len(open), len(closed))
		}
	})
}

// Of more open gaps than are read those of the newest memories are, each with all.
func TestOpenGapsOfTheNewestMemoriesCome(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open(func(c *Config) { c.Store = nil })
		for i, of := range []memory.ID{"m3", "m1", "m2", "m3", "m1"} {
			k.testOnlyGap(t, memory.Gap{ID: fmt.Sprint("g", i), Tenant: ann.Tenant, User: ann.User, Memory: of, At: newClock().now().Add(time.Duration(i) * time.Hour)})
		}
		got, err := documents[memory.Gap](t.Context(), r.db.Reads, openGaps, append(ownerArgs(ann), 3)...)
		must(t, err)
		if len(got) != 3 || got[0].ID != "g3" || got[1].ID != "g0" || got[2].ID != "g2" {
			t.Errorf("%+v", got)
		}
	})
}

func TestClosedGapsGoWhenNoEvidenceNeedsThem(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		habit := func(text string) memory.ID {
			return k.testOnlyRemember(t, ann, memory.Node{Text: text, Layer: memory.Behaviour, Kind: memory.Habit})[0]
		}
		counts, sleeps, wrong := habit("opens early"), habit("talks long"), habit("sells wine")
		_, err := k.Archive(t.Context(), ann, []memory.ID{sleeps}, "age")
		must(t, err)
		must(t, k.Falsify(t.Context(), ann, wrong, ""))
		for i := range lapseBatch + 20 {
			k.testOnlyGap(t, memory.Gap{ID: fmt.Sprintf("old%03d", i), Tenant: ann.Tenant, User: ann.User, Memory: "m", Closed: "kept", At: c.now().Add(time.Duration(i%7) * time.Second), Habits: []memory.ID{wrong}})
		}
		for name, g := range map[string]memory.Gap{
			"counts": {Closed: "kept", Habits: []memory.ID{wrong, counts}}, "sleeps": {Closed: "unanswered", Evidence: []memory.ID{sleeps}},
			"open": {Habits: []memory.ID{wrong}}, "young": {Closed: "kept", At: c.now().Add(48 * time.Hour)}, "bare": {Closed: "updated"},
		} {
			g.ID, g.Tenant, g.User, g.Memory = name, ann.Tenant, ann.User, "m"
			if g.At.IsZero() {
				g.At = c.now()
			}
			k.testOnlyGap(t, g)
		}
		c.move(100 * 24 * time.Hour)
		for i, want := range []int{lapseBatch + 21, 0} {
			if n, err := k.TidyGaps(t.Context(), ann, 99*24*time.Hour); err != nil || n != want {
				t.Errorf("%d: %d gaps went, %v; want %d", i, n, err, want)
			}
		}
		open, closed := k.testOnlyOpen(t, ann)
		if !slices.Equal(open, []string{"open"}) || !slices.Equal(closed, []string{"counts", "sleeps", "young"}) {
			t.Errorf("left are %v and %v", open, closed)
		}
		if links, err := texts[string](t.Context(), r.db.Reads, linksOf, append(memoryArgs(ann, wrong), roleEvidence, 9)...); err != nil || !slices.Equal(links, []string{"counts", "open"}) {
			t.Errorf("links to %v, %v", links, err)
		}
		_, err = k.TidyGaps(t.Context(), ann, -1)
		wantCode(t, err, abi.BadValue)
	})
}

// A question that nobody answers keeps its memory from fading for a time, and not for ever.
func TestAQuestionThatWasAskedLongAgoIsClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		id := contradict(t, k, ann)
		tidy := func(want int) {
			t.Helper()
			if n, err := k.TidyQuestions(t.Context(), ann, 30*24*time.Hour); err != nil || n != want {
				t.Errorf("%d questions were closed, %v; want %d", n, err, want)
			}
		}
		faded := func() bool {
			t.Helper()
			set := memory.DefaultForget()
			set.MaxAge = map[memory.Freshness]time.Duration{memory.Slow: time.Hour}
			all, err := k.Tidy(t.Context(), ann, set, "en")
			must(t, err)
			return slices.ContainsFunc(all, func(f Fading) bool { return f.ID == id })
		}
		c.move(40 * 24 * time.Hour)
		tidy(0) // it was never asked
		q := k.testOnlyAsk(t, ann)
		c.move(29 * 24 * time.Hour)
		if tidy(0); faded() {
			t.Error("a memory fades while a question waits about it")
		}
		c.move(2 * 24 * time.Hour)
		if tidy(1); !faded() {
			t.Error("a memory does not fade, though no question waits about it")
		}
		tidy(0)
		if open, closed := k.testOnlyOpen(t, ann); len(open) != 0 || len(closed) != 3 {
			t.Errorf("open are %v, closed %v", open, closed)
		}
		c.move(100 * 24 * time.Hour)
		_, err := k.TidyGaps(t.Context(), ann, 99*24*time.Hour)
		must(t, err)
		if left, err := k.Questions(t.Context(), ann); err != nil || len(left) != 0 {
			t.Errorf("left of %s is %+v, %v", q.ID, left, err)
		}
	})
}

// Nobody answered it, and it was closed for that: it waits no more when its memory comes
// back, nor does it in the place of a later one that was answered.
func TestAQuestionThatLapsedStaysClosedWhenItsMemoryIsRestored(t *testing.T) {
	archived := func(t *testing.T, k *Keeper, o Owner, id memory.ID) error {
		_, err := k.Archive(t.Context(), o, []memory.ID{id}, "age")
		return err
	}
	falsified := func(t *testing.T, k *Keeper, o Owner, id memory.ID) error { return k.Falsify(t.Context(), o, id, "") }
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		for name, end := range map[string]func(t *testing.T, k *Keeper, o Owner, id memory.ID) error{"archived": archived, "falsified": falsified} {
			for _, kept := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, a later one kept %t", name, kept), func(t *testing.T) {
					o := Owner{"shop", host.UserID(fmt.Sprint(name, kept))}
					id := contradict(t, k, o)
					k.testOnlyLapse(t, o, c)
					if kept {
						for i := range 3 {
							observe(t, k, o, 10+i, 30)
						}
						_, err := k.Answer(t.Context(), o, k.testOnlyWaiting(t, o)[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Kept})
						must(t, err)
					}
					before := k.testOnlyAsking(t, o)
					must(t, end(t, k, o, id))
					k.testOnlyRestore(t, o, id)
					if after := k.testOnlyAsking(t, o); !reflect.DeepEqual(after, before) {
						t.Errorf("it became %+v, was %+v", after, before)
					}
				})
			}
		}
	})
}

// testOnlyLapse has the only question that waits for an owner be asked and never
// answered, until it is closed.
func (k *Keeper) testOnlyLapse(t testing.TB, o Owner, c *clock) {
	t.Helper()
	k.testOnlyAsk(t, o)
	c.move(200 * 24 * time.Hour)
	if n, err := k.TidyQuestions(t.Context(), o, 180*24*time.Hour); err != nil || n != 1 {
		t.Fatalf("%d questions were closed, %v", n, err)
	}
}

// A choice stays open: until it is made, both declarations stand.
func TestAChoiceIsNotClosedByItsAge(t *testing.T) {
	c := newClock()
	k := sqliteRig(t).open(withClock(c), func(c *Config) { c.Store = nil })
	k.testOnlyOpposed(t, ann, c)
	k.testOnlyAsk(t, ann)
	c.move(1000 * 24 * time.Hour)
	if n, err := k.TidyQuestions(t.Context(), ann, time.Hour); err != nil || n != 0 {
		t.Errorf("%d were closed, %v", n, err)
	}
}

// Whatever is asked under the lock of all writers, or for each turn of a user, is found
// by a key.
func TestWhatEveryTurnAsksIsFoundByAKey(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Store = nil })
	for query, equals := range map[string]int{sourceOf: 4, lastVerified: 3, openGaps: 3, gapsStand: 3, openOfOwner: 3, openOfOne: 4, closedGaps: 2, oldGaps: 2} {
		args := []any{"shop", "ann"}
		for len(args) < strings.Count(query, "?") {
			args = append(args, "x")
		}
		if strings.HasSuffix(query, "LIMIT ?") {
			args[len(args)-1] = 9
		}
		var plan []string
		must(t, each(t.Context(), k.db.Reads, "EXPLAIN QUERY PLAN "+query, args, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		}))
		if text := strings.Join(plan, "; "); len(plan) != 1 || !strings.HasPrefix(text, "SEARCH") || strings.Count(text, "=?") < equals {
			t.Errorf("%s\nis done by %s", query, text)
		}
	}
}
