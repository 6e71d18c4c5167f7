package keeper

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

func pricing(kind memory.Kind, c memory.Claim, at time.Time) memory.Node {
	return memory.Node{Text: fmt.Sprintf("the %s is %s", kind, c.Text("en")), Layer: memory.Declared, Kind: kind, Domain: "pricing", Claim: &c, At: at, Trust: 0.8}
}

func (k *Keeper) testOnlyDeclare(t testing.TB, o Owner, n memory.Node) Declaring {
	t.Helper()
	d, err := k.Declare(t.Context(), o, n, memory.LastWins)
	must(t, err)
	return d
}

// testOnlyOpposed declares two constraints that contradict each other.
func (k *Keeper) testOnlyOpposed(t testing.TB, o Owner, c *clock) (first, second memory.ID, q memory.Question) {
	t.Helper()
	first = k.testOnlyDeclare(t, o, pricing(memory.Constraint, memory.AtLeast("price", 59, "元"), c.now())).ID
	d := k.testOnlyDeclare(t, o, pricing(memory.Constraint, memory.AtMost("price", 50, "元"), c.move(time.Hour)))
	if len(d.Opposed) != 1 || d.Opposed[0].ID != first || len(d.Choices) != 1 || d.Choices[0].Memory != first || d.Choices[0].Other != d.ID {
		t.Fatalf("%+v", d)
	}
	return first, d.ID, d.Choices[0]
}

func TestAConflictOfTwoConstraintsIsAKeptQuestion(t *testing.T) {
	for _, tt := range []struct {
		answer      memory.Resolution
		first, last memory.Status
	}{{memory.First, memory.Active, memory.Superseded}, {memory.Second, memory.Superseded, memory.Active}, {memory.Both, memory.Active, memory.Active}} {
		t.Run(string(tt.answer), func(t *testing.T) {
			onBoth(t, func(t *testing.T, r rig) {
				c := newClock()
				k := r.open(withClock(c))
				first, second, q := k.testOnlyOpposed(t, ann, c)
				for _, id := range []memory.ID{first, second} { // both stand until it is answered
					if n := k.testOnlyGet(t, ann, id); n.Status != memory.Active {
						t.Errorf("%s is %s", id, n.Status)
					}
					life, err := k.Why(t.Context(), ann, id, memory.DefaultForget(), "en")
					if must(t, err); len(life.Questions) != 1 || life.Questions[0].ID != q.ID {
						t.Errorf("why %s: %+v", id, life.Questions)
					}
				}
				if waiting, err := r.again().open(withClock(c)).Waiting(t.Context(), ann); err != nil || len(waiting) != 1 || waiting[0].ID != q.ID {
					t.Errorf("another replica waits for %+v, %v", waiting, err)
				}
				_, err := k.Answer(t.Context(), ann, q.ID, memory.DefaultReconcile(), memory.Answer{Resolution: tt.answer, At: c.move(time.Hour)})
				must(t, err)
				a, b := k.testOnlyGet(t, ann, first), k.testOnlyGet(t, ann, second)
				if a.Status != tt.first || b.Status != tt.last {
					t.Errorf("%s left %s and %s", tt.answer, a.Status, b.Status)
				}
				if again, err := k.Answer(t.Context(), ann, q.ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.First}); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadArguments {
					t.Errorf("answered again: %+v, %v", again, err)
				}
				if waiting, err := k.Waiting(t.Context(), ann); err != nil || len(waiting) != 0 {
					t.Errorf("after the answer %+v, %v", waiting, err)
				}
				// What lost comes back, and then the pair is asked about anew; of both nothing is.
				_, err = k.Restore(t.Context(), ann, []memory.ID{first, second})
				must(t, err)
				d := k.testOnlyDeclare(t, ann, pricing(memory.Constraint, memory.AtMost("price", 50, "元"), c.move(time.Hour)))
				if asked := len(d.Choices); d.ID != second || (asked == 0) != (tt.answer == memory.Both) {
					t.Errorf("said again after %s: %+v", tt.answer, d)
				}
			})
		})
	}
}

func TestOfPreferencesThePriorityAndThenTheLaterWins(t *testing.T) {
	c := newClock()
	k := sqliteRig(t).open(withClock(c))
	ten := k.testOnlyDeclare(t, ann, pricing(memory.Preference, memory.Between("price", 10, 10, "元"), c.now()))
	twenty := k.testOnlyDeclare(t, ann, pricing(memory.Preference, memory.Between("price", 20, 20, "元"), c.move(time.Hour)))
	if !slices.Equal(twenty.Replaced, []memory.ID{ten.ID}) || len(twenty.Choices) != 0 {
		t.Errorf("%+v", twenty)
	}
	late := k.testOnlyDeclare(t, ann, pricing(memory.Preference, memory.Between("price", 30, 30, "元"), c.now().Add(-time.Minute))) // heard late
	if n := k.testOnlyGet(t, ann, late.ID); n.Status != memory.Superseded || n.SupersededBy != twenty.ID {
		t.Errorf("what came late is %+v", n)
	}
	high := pricing(memory.Preference, memory.Between("price", 40, 40, "元"), c.move(time.Hour))
	high.Priority = 5
	high.ID = k.testOnlyDeclare(t, ann, high).ID
	if low := k.testOnlyDeclare(t, ann, pricing(memory.Preference, memory.Between("price", 50, 50, "元"), c.move(time.Hour))); k.testOnlyGet(t, ann, low.ID).SupersededBy != high.ID {
		t.Errorf("a later one of lower priority: %+v", low)
	}
	asked, err := k.Declare(t.Context(), ann, pricing(memory.Preference, memory.Between("price", 60, 60, "元"), c.move(time.Hour)), memory.AskUser)
	if must(t, err); len(asked.Choices) != 1 || k.testOnlyGet(t, ann, high.ID).Status != memory.Active {
		t.Errorf("where the user is to be asked: %+v", asked)
	}
}

// A newer word of the user's own leaves nothing to choose.
func TestAChoiceEndsWithWhatItIsAbout(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, k *Keeper, id memory.ID) error{
		"superseded": func(t *testing.T, k *Keeper, id memory.ID) error {
			_, err := k.Supersede(t.Context(), ann, id, said("something else"))
			return err
		},
		"falsified": func(t *testing.T, k *Keeper, id memory.ID) error { return k.Falsify(t.Context(), ann, id, "") },
		"forgotten": func(t *testing.T, k *Keeper, id memory.ID) error {
			_, err := k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{id}})
			return err
		},
	} {
		for _, which := range []string{"first", "second"} {
			t.Run(name+" "+which, func(t *testing.T) {
				c := newClock()
				k := sqliteRig(t).open(withClock(c))
				first, second, q := k.testOnlyOpposed(t, ann, c)
				id, other := first, second
				if which == "second" {
					id, other = second, first
				}
				must(t, end(t, k, id))
				if waiting, err := k.Waiting(t.Context(), ann); err != nil || len(waiting) != 0 {
					t.Errorf("waits for %+v, %v", waiting, err)
				}
				if n := k.testOnlyGet(t, ann, other); n.Status != memory.Active {
					t.Errorf("the other one is %s", n.Status)
				}
				left, err := k.Questions(t.Context(), ann)
				if must(t, err); (len(left) == 0) != (name == "forgotten") {
					t.Errorf("left is %+v of %s", left, q.ID)
				}
			})
		}
	}
}

// A question about words that then stand behind others is settled with them.
func TestWhatStandsBehindLeavesNothingToAsk(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		early, late := pricing(memory.Preference, memory.Between("price", 10, 10, "元"), c.now()), pricing(memory.Preference, memory.Between("price", 20, 20, "元"), c.move(time.Hour))
		first := k.testOnlyDeclare(t, ann, early).ID
		asked, err := k.Declare(t.Context(), ann, late, memory.AskUser)
		if must(t, err); len(asked.Choices) != 1 {
			t.Fatalf("%+v", asked)
		}
		k.testOnlyDeclare(t, ann, early) // heard again, where the later word wins
		if n := k.testOnlyGet(t, ann, first); n.Status != memory.Superseded || n.SupersededBy != asked.ID {
			t.Errorf("the earlier one is %+v", n)
		}
		if waiting, err := k.Waiting(t.Context(), ann); err != nil || len(waiting) != 0 {
			t.Errorf("waits for %+v, %v", waiting, err)
		}
	})
}

// A source that is heard again, as after a crash, says nothing new: the choice stays made.
func TestAChoiceIsNotReopenedByTheSourceOfWhatLost(t *testing.T) {
	for _, answer := range []memory.Resolution{memory.First, memory.Second} {
		t.Run(string(answer), func(t *testing.T) {
			onBoth(t, func(t *testing.T, r rig) {
				c := newClock()
				k := r.open(withClock(c))
				words := []memory.Node{pricing(memory.Constraint, memory.AtLeast("price", 59, "元"), c.now()), pricing(memory.Constraint, memory.AtMost("price", 50, "元"), c.move(time.Hour))}
				var d Declaring
				for i := range words {
					words[i].Source = memory.Source{Session: "s1", Input: host.InputID(fmt.Sprint(i + 1))}
					d = k.testOnlyDeclare(t, ann, words[i])
				}
				_, err := k.Answer(t.Context(), ann, d.Choices[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: answer, At: c.move(time.Hour)})
				must(t, err)
				for _, n := range words {
					if again := k.testOnlyDeclare(t, ann, n); len(again.Opposed)+len(again.Choices) != 0 {
						t.Errorf("heard again: %+v", again)
					}
				}
				if waiting, err := k.Waiting(t.Context(), ann); err != nil || len(waiting) != 0 {
					t.Errorf("waits for %+v, %v", waiting, err)
				}
			})
		})
	}
}

// A choice and the question of gaps do not stand in each other's way.
func TestAChoiceKeepsNoGapFromBeingAskedAbout(t *testing.T) {
	c := newClock()
	k := sqliteRig(t).open(withClock(c))
	_, second, _ := k.testOnlyOpposed(t, ann, c)
	n := k.testOnlyGet(t, ann, second)
	for i := range 3 {
		seen := memory.Between("price", 99, 99, "元")
		k.testOnlyRemember(t, ann, memory.Node{Text: fmt.Sprint("sold at 99, ", i), Layer: memory.Behaviour, Kind: memory.Habit, Trust: .5, Claim: &seen, At: c.move(time.Hour),
			Source: memory.Source{Session: host.SessionID(fmt.Sprint("s", i))}})
	}
	r, err := k.Reconcile(t.Context(), ann, memory.DefaultReconcile())
	if must(t, err); len(r.Questions) != 1 || r.Questions[0].Memory != n.ID {
		t.Fatalf("%+v", r)
	}
	if waiting, err := k.Waiting(t.Context(), ann); err != nil || len(waiting) != 2 {
		t.Fatalf("waits for %+v, %v", waiting, err)
	}
	_, err = k.Answer(t.Context(), ann, r.Questions[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Retired})
	must(t, err)
	if waiting, err := k.Waiting(t.Context(), ann); err != nil || len(waiting) != 0 {
		t.Errorf("after the words were retired it waits for %+v, %v", waiting, err)
	}
}

// However many replicas hear at once, no pair is missed.
func TestReplicasThatHearAtOnceMissNoPair(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		keepers := []*Keeper{r.open(withClock(c)), r.again().open(withClock(c))}
		var ended sync.WaitGroup
		for i, claim := range []memory.Claim{memory.AtLeast("price", 59, "元"), memory.AtMost("price", 50, "元"), memory.AtMost("price", 40, "元"), memory.AtLeast("price", 70, "元")} {
			ended.Go(func() { keepers[i%2].testOnlyDeclare(t, ann, pricing(memory.Constraint, claim, c.now())) })
		}
		ended.Wait()
		if waiting, err := keepers[0].Waiting(t.Context(), ann); err != nil || len(waiting) != 6 { // two ends of each kind, too: which of 50 and 40?
			t.Errorf("%d questions, %v", len(waiting), err)
		}
	})
}

func TestOnlyWhatAUserSaysIsDeclared(t *testing.T) {
	k := sqliteRig(t).open()
	n := said("a fact")
	n.Layer = memory.Fact
	if _, err := k.Declare(t.Context(), ann, n, memory.LastWins); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadValue {
		t.Errorf("%v", err)
	}
}

type pairing struct {
	*testing.T
	clock  *clock
	keeper *Keeper
	random *rand.Rand
	set    memory.ReconcileConfig
}

// A mayChange tells whether a step may have had a memory superseded.
type mayChange func(n memory.Node) bool

func (p *pairing) step() mayChange {
	never := func(memory.Node) bool { return false }
	switch p.random.IntN(6) {
	case 0, 1, 2:
		n := p.declaration()
		d := p.keeper.testOnlyDeclare(p, ann, n)
		return func(old memory.Node) bool {
			return slices.Contains(d.Replaced, old.ID) && old.Kind != memory.Constraint && old.At.Before(n.At)
		}
	case 3:
		waiting := p.questions(true)
		if len(waiting) == 0 {
			return never
		}
		q := waiting[p.random.IntN(len(waiting))]
		answer := []memory.Resolution{memory.First, memory.Second, memory.Both, memory.Kept, memory.Retired}[p.random.IntN(5)]
		_, err := p.keeper.Answer(p.Context(), ann, q.ID, p.set, memory.Answer{Resolution: answer, At: p.clock.now()})
		if err != nil && host.ProblemOf(err).Code != abi.BadArguments {
			p.Fatal(err)
		}
		return func(old memory.Node) bool { return err == nil && (old.ID == q.Memory || old.ID == q.Other) }
	case 4:
		seen := memory.Between("price", float64(30+20*p.random.IntN(4)), 90, "元")
		p.keeper.testOnlyRemember(p, ann, memory.Node{Text: fmt.Sprint("sold in ", p.clock.now()), Layer: memory.Behaviour, Kind: memory.Habit, Trust: .5, Claim: &seen, At: p.clock.now(),
			Source: memory.Source{Session: host.SessionID(fmt.Sprint("s", p.random.Uint32()))}})
		_, err := p.keeper.Reconcile(p.Context(), ann, p.set)
		must(p, err)
	case 5:
		if waiting := p.questions(true); len(waiting) > 0 {
			_, err := p.keeper.Asked(p.Context(), ann, waiting[0].ID, "s", 1)
			must(p, err)
		}
		_, err := p.keeper.Tidy(p.Context(), ann, memory.DefaultForget(), "en")
		must(p, err)
	}
	return never
}

func (p *pairing) declaration() memory.Node {
	number := float64(30 + 20*p.random.IntN(4))
	claim := []memory.Claim{memory.AtLeast("price", number, "元"), memory.AtMost("price", number, "元"), memory.Between("price", number, number, "元")}[p.random.IntN(3)]
	n := pricing([]memory.Kind{memory.Constraint, memory.Constraint, memory.Preference}[p.random.IntN(3)], claim, p.clock.now())
	n.Entity = []string{"", "", "1001"}[p.random.IntN(3)]
	return n
}

func (p *pairing) all() []memory.Node {
	all, err := p.keeper.List(p.Context(), ann, Page{Layers: []memory.Layer{memory.Declared}})
	must(p, err)
	return all
}

func (p *pairing) questions(open bool) []memory.Question {
	all, err := p.keeper.Questions(p.Context(), ann)
	must(p, err)
	return slices.DeleteFunc(all, func(q memory.Question) bool { return open && !q.Answered.IsZero() })
}

func (p *pairing) check(before []memory.Node, may mayChange) {
	p.Helper()
	now := p.all()
	for _, was := range before {
		at := slices.IndexFunc(now, func(n memory.Node) bool { return n.ID == was.ID })
		if at < 0 || now[at].Text != was.Text || now[at].Kind != was.Kind || now[at].Claim.Text("en") != was.Claim.Text("en") {
			p.Fatalf("%q was changed", was.Text)
		}
		if was.Status == memory.Active && now[at].Status != memory.Active && !may(was) {
			p.Fatalf("%q became %s by itself", was.Text, now[at].Status)
		}
	}
	open := map[[2]memory.ID]int{}
	stand := map[[2]memory.ID]bool{}
	for _, q := range p.questions(false) {
		pair := [2]memory.ID{min(q.Memory, q.Other), max(q.Memory, q.Other)}
		stand[pair] = stand[pair] || q.Settled()
		if q.Answered.IsZero() {
			open[pair]++
		}
	}
	for pair, n := range open {
		if n > 1 {
			p.Fatalf("%v has %d open questions", pair, n)
		}
	}
	for i, a := range now {
		for _, b := range now[:i] {
			pair := [2]memory.ID{min(a.ID, b.ID), max(a.ID, b.ID)}
			if a.Kind == memory.Constraint && b.Kind == memory.Constraint && memory.Settle(memory.LastWins, a, b).Outcome == memory.UserAsked && open[pair] == 0 && !stand[pair] {
				p.Fatalf("%q and %q contradict each other, and nobody asks", a.Text, b.Text)
			}
		}
	}
}
