package keeper

import (
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// contradict has an owner say one thing and do another, three times, and gives the
// memory of what was said.
func contradict(t testing.TB, k *Keeper, o Owner) memory.ID {
	t.Helper()
	n := said("open with 10 minutes of talk")
	claim := memory.Between("opening.minutes", 10, 10, "min")
	n.Claim, n.Domain, n.Known.From = &claim, "pacing", k.now()
	n.At = k.now().Add(-time.Hour)
	id := k.testOnlyRemember(t, o, n)[0]
	for i := range 3 {
		observe(t, k, o, i, 30)
	}
	return id
}

func observe(t testing.TB, k *Keeper, o Owner, session int, minutes float64) memory.ID {
	t.Helper()
	claim := memory.Between("opening.minutes", minutes, minutes, "min")
	seen := memory.Node{Text: fmt.Sprintf("opened with %v minutes in session %d", minutes, session), Layer: memory.Behaviour, Kind: memory.Habit, Claim: &claim,
		Source: memory.Source{Session: host.SessionID(fmt.Sprint("live", session)), Order: 1}}
	id := k.testOnlyRemember(t, o, seen)[0]
	_, err := k.Reconcile(t.Context(), o, memory.DefaultReconcile())
	must(t, err)
	return id
}

func TestThreeContradictionsMakeOneQuestionAndNoWordIsChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		id := contradict(t, k, ann)
		before := k.testOnlyGet(t, ann, id)
		for range 2 { // a repetition adds nothing
			again, err := k.Reconcile(t.Context(), ann, memory.DefaultReconcile())
			must(t, err)
			if len(again.Gaps)+len(again.Questions)+len(again.Agreed) != 0 {
				t.Errorf("reconciled again: %+v", again)
			}
		}
		gaps, err := k.Gaps(t.Context(), ann)
		must(t, err)
		questions, err := k.Questions(t.Context(), ann)
		must(t, err)
		if len(gaps) != 3 || len(questions) != 1 || questions[0].Memory != id {
			t.Fatalf("%d gaps, questions %+v", len(gaps), questions)
		}
		for _, g := range gaps {
			if g.Question != questions[0].ID {
				t.Errorf("gap %s leads to question %q", g.ID, g.Question)
			}
		}
		observe(t, k, ann, 4, 45) // a fourth makes no second question
		if questions, err = k.Questions(t.Context(), ann); err != nil || len(questions) != 1 {
			t.Errorf("%d questions, %v", len(questions), err)
		}
		if after := k.testOnlyGet(t, ann, id); !reflect.DeepEqual(after, before) {
			t.Errorf("the memory became %+v, was %+v", after, before)
		}
	})
}

func TestOneGapOfAMemoryAndASession(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		id := k.testOnlyRemember(t, ann, said("x"))[0]
		add := func(gap string, session host.SessionID) (added bool) {
			g := memory.Gap{ID: gap, Tenant: ann.Tenant, User: ann.User, Memory: id, Session: session}
			must(t, k.change(t.Context(), func(ctx context.Context, t *tx) (err error) {
				added, err = t.addGap(ctx, g)
				return err
			}))
			return added
		}
		if !add("g1", "s1") || add("g2", "s1") || !add("g3", "s2") || !add("g4", "") || !add("g5", "") {
			t.Error("a session has other than one gap, or gaps without one count as one")
		}
	})
}

func TestAMemoryHasOneQuestionThatWaits(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		id := k.testOnlyRemember(t, ann, said("x"))[0]
		add := func(question string, answer memory.Resolution) (added bool) {
			q := memory.Question{ID: question, Tenant: ann.Tenant, User: ann.User, Memory: id, Answer: answer}
			must(t, k.change(t.Context(), func(ctx context.Context, t *tx) (err error) {
				added, err = t.addQuestion(ctx, q)
				return err
			}))
			return added
		}
		if !add("q1", memory.Kept) || !add("q2", "") || add("q3", "") || add("q1", "") {
			t.Error("a memory has two questions that wait, or one of them twice")
		}
	})
}

func TestAQuestionIsAskedOnceWhoeverAsks(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		keepers := []*Keeper{r.open(), r.again().open()}
		id := contradict(t, keepers[0], ann)
		var asked atomic.Int64
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				waiting, err := keepers[i%2].Waiting(t.Context(), ann)
				if err != nil || len(waiting) != 1 || waiting[0].Memory != id {
					t.Errorf("%+v wait, %v", waiting, err)
					return
				}
				first, err := keepers[i%2].Asked(t.Context(), ann, waiting[0].ID, "s9", 1)
				if err != nil {
					t.Error(err)
				}
				if first {
					asked.Add(1)
				}
			})
		}
		wg.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

func TestAnAnswerUpdatesKeepsOrRetires(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		for _, tt := range []struct {
			answer memory.Answer
			status memory.Status
		}{
			{memory.Answer{Resolution: memory.Kept}, memory.Active},
			{memory.Answer{Resolution: memory.Retired}, memory.Superseded},
			{memory.Answer{Resolution: memory.Updated, Text: "open with 30 minutes of talk"}, memory.Superseded},
		} {
			t.Run(string(tt.answer.Resolution), func(t *testing.T) {
				k, o := r.open(), Owner{"shop", host.UserID(tt.answer.Resolution)}
				id := contradict(t, k, o)
				before := k.testOnlyGet(t, o, id)
				questions, err := k.Questions(t.Context(), o)
				must(t, err)
				resolved, err := k.Answer(t.Context(), o, questions[0].ID, memory.DefaultReconcile(), tt.answer)
				must(t, err)
				after := k.testOnlyGet(t, o, id)
				if after.Status != tt.status || after.Text != before.Text {
					t.Errorf("the memory is %s: %q", after.Status, after.Text)
				}
				gaps, err := k.Gaps(t.Context(), o)
				must(t, err)
				for _, g := range gaps {
					if g.Closed != string(tt.answer.Resolution) || len(g.Evidence) == 0 {
						t.Errorf("gap %+v", g)
					}
				}
				if (resolved.New != nil) != (tt.answer.Resolution == memory.Updated) {
					t.Fatalf("new words: %+v", resolved.New)
				}
				if resolved.New != nil {
					if n := k.testOnlyGet(t, o, resolved.New.ID); n.Text != tt.answer.Text || after.SupersededBy != n.ID || n.Layer != memory.Declared {
						t.Errorf("the new words are %+v", n)
					}
				}
				_, err = k.Answer(t.Context(), o, questions[0].ID, memory.DefaultReconcile(), tt.answer)
				wantCode(t, err, abi.BadArguments)
			})
		}
	})
}

func TestAgreementRaisesTrust(t *testing.T) {
	k := sqliteRig(t).open()
	claim := memory.Between("opening.minutes", 10, 12, "min")
	n := said("open with 10 minutes of talk")
	n.Claim, n.At = &claim, k.now().Add(-time.Hour)
	id := k.testOnlyRemember(t, ann, n)[0]
	observe(t, k, ann, 1, 11)
	if got := k.testOnlyGet(t, ann, id); got.Trust <= n.Trust || got.Verified != 1 {
		t.Errorf("trust %v, verified %d", got.Trust, got.Verified)
	}
}

func TestTrustMovesOnceForEachTraceAndAReplayGivesTheSame(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock() // stands still: the order must not hang on it
		k := r.open(withClock(now))
		up, down, yes, no := 0.2, -0.1, true, false
		for i := range 60 {
			domain := []string{"pricing", "pacing"}[i%2]
			trace, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: domain, Point: "p", Question: "q", Output: "o"})
			must(t, err)
			action, lift, right := memory.Accept, &up, (*bool)(nil)
			switch i * 7 % 5 {
			case 1:
				lift = &down
			case 2:
				action, lift, right = memory.Reject, nil, &yes
			case 3:
				action, lift, right = memory.Modify, nil, &no
			}
			_, err = k.Act(t.Context(), ann, trace.ID, action, "")
			must(t, err)
			for range 2 { // the second changes nothing
				_, err = k.Attribute(t.Context(), ann, trace.ID, lift, right)
				must(t, err)
			}
		}
		kept, err := k.Trusts(t.Context(), ann)
		must(t, err)
		replayed, err := k.ReplayTrust(t.Context(), ann)
		must(t, err)
		again, err := k.Trusts(t.Context(), ann)
		must(t, err)
		if len(kept) != 2 || len(replayed.Differ) != 0 {
			t.Errorf("trusts %v, traces that differ %v", kept, replayed.Differ)
		}
		for domain, score := range kept {
			if math.Float64bits(again[domain]) != math.Float64bits(score) {
				t.Errorf("%s: kept %v, replayed %v", domain, score, again[domain])
			}
		}
	})
}

func TestATraceIsWrittenAtThreeMoments(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock()
		k := r.open(withClock(now))
		shown, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "pricing", Point: "p", Question: "q", Output: "o", TrustAtMoment: 0.71, Action: memory.Accept, TrustDelta: 9})
		must(t, err)
		if shown.TrustAtMoment != 0.71 || shown.Action != "" || shown.TrustDelta != 0 || !shown.Shown.Equal(now.now()) {
			t.Errorf("shown: %+v", shown)
		}
		lift := 0.1
		_, err = k.Attribute(t.Context(), ann, shown.ID, &lift, nil)
		wantCode(t, err, abi.BadValue) // nobody acted yet
		acted := now.move(time.Minute)
		_, err = k.Act(t.Context(), ann, shown.ID, memory.Accept, "")
		must(t, err)
		_, err = k.Act(t.Context(), ann, shown.ID, memory.Accept, "")
		must(t, err)
		_, err = k.Act(t.Context(), ann, shown.ID, memory.Reject, "")
		wantCode(t, err, abi.BadValue)
		for _, endless := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			for _, right := range []*bool{nil, new(true)} {
				_, err = k.Attribute(t.Context(), ann, shown.ID, &endless, right)
				wantCode(t, err, abi.BadValue)
			}
		}
		now.move(time.Minute)
		done, err := k.Attribute(t.Context(), ann, shown.ID, &lift, nil)
		must(t, err)
		if !done.Acted.Equal(acted) || *done.Lift != lift || done.TrustDelta != memory.AdoptedGain || done.Attributed.IsZero() {
			t.Errorf("attributed: %+v", done)
		}
		if score, err := k.Trust(t.Context(), ann, "pricing"); err != nil || score != 0.55 {
			t.Errorf("trust %v, %v", score, err)
		}
		for _, o := range []Owner{{"shop", "bob"}, {"other", "ann"}} {
			_, err := k.Act(t.Context(), o, shown.ID, memory.Accept, "")
			wantCode(t, err, abi.NotFound)
			if score, err := k.Trust(t.Context(), o, "pricing"); err != nil || score != memory.InitialTrust {
				t.Errorf("%v has trust %v, %v", o, score, err)
			}
		}
	})
}

// What was forgotten while it was compared leaves no gap, and what leads to nothing
// keeps no writer waiting.
func TestAReconciliationComparesOutsideOfATransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		write, writes, before := r.db.Write, 0, func() {}
		r.db.Write = func(ctx context.Context, run func(context.Context, host.Statements) error) error {
			writes++
			first := before
			before = func() {}
			first()
			return write(ctx, run)
		}
		k := r.open(func(c *Config) { c.Store = nil })
		contradict(t, k, ann)
		n := memory.Node{Text: "opened with 30 minutes once more", Layer: memory.Behaviour, Kind: memory.Habit, Claim: new(memory.Between("opening.minutes", 30, 30, "min")),
			Source: memory.Source{Session: "live9", Order: 1}}
		late := k.testOnlyRemember(t, ann, n)
		before = func() {
			_, err := k.Forget(t.Context(), ann, Wish{IDs: late})
			must(t, err)
		}
		done, err := k.Reconcile(t.Context(), ann, memory.DefaultReconcile())
		if err != nil || len(done.Gaps) != 0 {
			t.Errorf("a gap of what was forgotten: %+v, %v", done.Gaps, err)
		}
		if gaps, err := k.Gaps(t.Context(), ann); err != nil || len(gaps) != 3 {
			t.Errorf("%d gaps, %v", len(gaps), err)
		}
		writes = 0
		_, err = k.Reconcile(t.Context(), ann, memory.DefaultReconcile())
		if must(t, err); writes != 0 {
			t.Errorf("%d transactions for nothing", writes)
		}
	})
}

// Attributions of the same moment are replayed in the order in which they moved the
// score, which matters at its bounds; and from where it began, whatever a host begins
// with today.
func TestAReplayBeginsAndGoesOnAsTheScoreDid(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock()
		k := r.open(withClock(now), func(c *Config) { c.InitialTrust = new(0.97) })
		var traces []string
		for range 8 {
			trace, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "pricing", Point: "p"})
			must(t, err)
			_, err = k.Act(t.Context(), ann, trace.ID, memory.Accept, "")
			must(t, err)
			traces = append(traces, trace.ID)
		}
		slices.Reverse(traces) // else the order of the ids is that of the attributions
		for i, id := range traces {
			_, err := k.Attribute(t.Context(), ann, id, new(0.5-float64(i%2)), nil)
			must(t, err)
		}
		want, err := k.Trust(t.Context(), ann, "pricing")
		must(t, err)
		again := r.again().open(withClock(now), func(c *Config) { c.InitialTrust = new(0.2) })
		replayed, err := again.ReplayTrust(t.Context(), ann)
		must(t, err)
		if got := replayed.Scores[memory.TrustKey{Tenant: ann.Tenant, User: ann.User, Domain: "pricing"}]; got != want || len(replayed.Differ) != 0 {
			t.Errorf("replayed %v, was %v; %v differ", got, want, replayed.Differ)
		}
		if got, err := again.Trust(t.Context(), ann, "pricing"); err != nil || got != want {
			t.Errorf("the score is %v after the replay, was %v, %v", got, want, err)
		}
	})
}

// A score that moves while the traces are read is not overwritten.
func TestAReplayGivesWayToAnAttribution(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open(func(c *Config) { c.Store = nil })
		decide(t, k, ann, "wine", nil)
		write, other := r.db.Write, r.again().open(func(c *Config) { c.Store = nil })
		first := func() { decide(t, other, ann, "wine", nil) }
		r.db.Write = func(ctx context.Context, run func(context.Context, host.Statements) error) error {
			first()
			return write(ctx, run)
		}
		late := r.open(func(c *Config) { c.Store = nil })
		first = func() {}
		before, err := k.Trusts(t.Context(), ann)
		must(t, err)
		first = func() { first = func() {}; decide(t, other, ann, "wine", nil) }
		_, err = late.ReplayTrust(t.Context(), ann)
		wantCode(t, err, abi.StoreConflict)
		if after, err := k.Trusts(t.Context(), ann); err != nil || maps.Equal(after, before) {
			t.Errorf("the trust is %v, as before; %v", after, err)
		}
	})
}

func TestAReplayReadsAllTracesOrFails(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Store = nil })
	for range tracesPage + 10 {
		decide(t, k, ann, "wine", nil)
	}
	before, err := k.Trusts(t.Context(), ann)
	must(t, err)
	_, err = k.replayTrust(t.Context(), ann, tracesPage+9)
	wantCode(t, fail("keeper.ReplayTrust", err), abi.BadValue)
	for range 2 {
		after, err := k.Trusts(t.Context(), ann)
		if must(t, err); !maps.Equal(after, before) {
			t.Errorf("the trust is %v, was %v", after, before)
		}
		r, err := k.ReplayTrust(t.Context(), ann)
		if must(t, err); len(r.Differ) != 0 {
			t.Errorf("%v differ", r.Differ)
		}
	}
	outcomes, err := k.outcomes(t.Context(), ann, MaxTraces)
	if must(t, err); len(outcomes) != tracesPage+10 || outcomes[0].Question+outcomes[0].Output+outcomes[0].Alternative != "" {
		t.Errorf("%d outcomes, the first %+v", len(outcomes), outcomes[0])
	}
}

// What a memory is believed may change while its behaviour is compared. Then nothing is
// added to what was compared: the next reconciliation finds it again.
func TestAnAgreementGivesWayToWhatIsBelievedSince(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		write, before := r.db.Write, func() {}
		r.db.Write = func(ctx context.Context, run func(context.Context, host.Statements) error) error {
			first := before
			before = func() {}
			first()
			return write(ctx, run)
		}
		k := r.open(func(c *Config) { c.Store = nil })
		n, claim := said("open with 10 minutes of talk"), memory.Between("opening.minutes", 10, 10, "min")
		n.Claim, n.At = &claim, k.now().Add(-time.Hour)
		habit := memory.Node{Text: "opened with 10 minutes", Layer: memory.Behaviour, Kind: memory.Habit, Claim: &claim, Source: memory.Source{Session: "live1", Order: 1}}
		id := k.testOnlyRemember(t, ann, n, habit)[0]
		n.Trust, n.Source = 0.9, memory.Source{Session: "s1", Input: "2"}
		before = func() { k.testOnlyRemember(t, ann, n) } // said again
		for i, agreed := range []int{0, 1} {
			done, err := k.Reconcile(t.Context(), ann, memory.DefaultReconcile())
			must(t, err)
			got := k.testOnlyGet(t, ann, id)
			if len(done.Agreed) != agreed || got.Verified != 1+agreed || agreed == 0 && got.Trust != 0.9 {
				t.Errorf("reconciliation %d: %d agreed; trust %v, verified %d", i+1, len(done.Agreed), got.Trust, got.Verified)
			}
		}
	})
}

// What the user did not do as he was told was of no use to him.
func TestOnlyAnAcceptedOutputCountsAsAUse(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		ids := k.testOnlyRemember(t, ann, said("tea one"), said("cups two"), said("wine three"))
		for i, action := range []memory.Decision{memory.Accept, memory.Reject, memory.Modify} {
			trace, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "d", Sources: ids[i : i+1]})
			must(t, err)
			_, err = k.Act(t.Context(), ann, trace.ID, action, "")
			must(t, err)
			want := 0
			if action == memory.Accept {
				want = 1
			}
			if n := k.testOnlyGet(t, ann, ids[i]); n.Adopts != want || n.LastUsed.IsZero() != (want == 0) {
				t.Errorf("%s: adopted %d times, used last %v", action, n.Adopts, n.LastUsed)
			}
		}
	})
}
