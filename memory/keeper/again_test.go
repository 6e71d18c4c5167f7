package keeper

import (
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// saidPrice gives a declaration of a price, said in an input of a session.
func saidPrice(session, input string, price float64, at time.Time) memory.Node {
	n := pricing(memory.Preference, memory.Between("price", price, price, "元"), at)
	n.Source.Session, n.Source.Input = host.SessionID(session), host.InputID(input)
	return n
}

// A turn that is resumed has its words heard again, whenever that is: what was said since
// stands, and so does what the user made of it.
func TestWordsThatAreHeardAgainBeatNothingThatWasSaidSince(t *testing.T) {
	for name, since := range map[string]func(t *testing.T, k *Keeper, c *clock, first memory.ID){
		"said otherwise": func(t *testing.T, k *Keeper, c *clock, _ memory.ID) {
			k.testOnlyDeclare(t, ann, saidPrice("s2", "1", 20, c.now()))
		},
		"said otherwise, and again elsewhere": func(t *testing.T, k *Keeper, c *clock, _ memory.ID) {
			k.testOnlyDeclare(t, ann, saidPrice("s2", "1", 20, c.now()))
			k.testOnlyDeclare(t, ann, saidPrice("s3", "1", 5, c.move(time.Hour)))
			k.testOnlyDeclare(t, ann, saidPrice("s4", "1", 30, c.move(time.Hour)))
		},
		"taken back": func(t *testing.T, k *Keeper, c *clock, first memory.ID) {
			must(t, k.Falsify(t.Context(), ann, first, ""))
			k.testOnlyDeclare(t, ann, saidPrice("s2", "1", 20, c.now()))
		},
		"archived, and said otherwise": func(t *testing.T, k *Keeper, c *clock, first memory.ID) {
			_, err := k.Archive(t.Context(), ann, []memory.ID{first}, "")
			must(t, err)
			k.testOnlyDeclare(t, ann, saidPrice("s2", "1", 20, c.now()))
		},
		"said otherwise, and restored": func(t *testing.T, k *Keeper, c *clock, first memory.ID) {
			k.testOnlyDeclare(t, ann, saidPrice("s2", "1", 20, c.now()))
			_, err := k.Restore(t.Context(), ann, []memory.ID{first})
			must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r rig) {
				c := newClock()
				k := r.open(withClock(c))
				at := c.now()
				first := k.testOnlyDeclare(t, ann, saidPrice("s1", "1", 5, at)).ID
				c.move(time.Hour)
				since(t, k, c, first)
				before, waiting := k.testOnlyStates(t)
				for _, again := range []time.Time{at, c.move(time.Hour)} { // as it was said, and as of now
					d := k.testOnlyDeclare(t, ann, saidPrice("s1", "1", 5, again))
					after, asked := k.testOnlyStates(t)
					if d.ID != first || len(d.Replaced) != 0 || !slices.Equal(after, before) || asked != waiting {
						t.Errorf("heard again it gives %+v, and of\n%v\nit makes\n%v\nwith %d questions", d, before, after, asked)
					}
				}
			})
		})
	}
}

// testOnlyStates gives what was declared and what became of it, and how many questions wait.
func (k *Keeper) testOnlyStates(t *testing.T) (states []string, waiting int) {
	t.Helper()
	all, err := k.List(t.Context(), ann, Page{Layers: []memory.Layer{memory.Declared}})
	must(t, err)
	for _, n := range all {
		states = append(states, string(n.ID)+" "+n.Text+" "+string(n.Status)+" "+n.At.String())
	}
	questions, err := k.Waiting(t.Context(), ann)
	must(t, err)
	return states, len(questions)
}

// Whoever resumes a turn must know what waits for the user's choice.
func TestOfWordsThatAreHeardAgainTheOpenChoiceIsTold(t *testing.T) {
	c := newClock()
	k := sqliteRig(t).open(withClock(c))
	first := saidPrice("s1", "1", 5, c.now())
	k.testOnlyDeclare(t, ann, first)
	second := saidPrice("s2", "1", 20, c.move(time.Hour))
	asked, err := k.Declare(t.Context(), ann, second, memory.AskUser)
	must(t, err)
	again, err := k.Declare(t.Context(), ann, second, memory.AskUser)
	if must(t, err); len(again.Choices) != 1 || again.Choices[0].ID != asked.Choices[0].ID || len(again.Opposed) != 1 {
		t.Errorf("heard again: %+v, want %+v", again, asked)
	}
}

// One memory that was forgotten is enough for what was said before not to be heard.
func TestWhenSomethingWasForgottenLastIsKnown(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		last := func(o Owner) time.Time {
			t.Helper()
			at, err := r.again().open(withClock(c)).LastForgotten(t.Context(), o)
			must(t, err)
			return at
		}
		k.testOnlyRemember(t, ann, said("likes tea"))
		must(t, k.Owe(t.Context(), ann, []host.SessionID{"s1"}))
		if at := last(ann); !at.IsZero() {
			t.Errorf("before anything was, it was forgotten at %v", at)
		}
		whole := c.move(time.Hour)
		_, err := k.Forget(t.Context(), ann, Wish{All: true})
		must(t, err)
		if at := last(ann); !at.Equal(whole) {
			t.Errorf("after all was forgotten at %v: %v", whole, at)
		}
		ids := k.testOnlyRemember(t, ann, said("likes tea"))
		one := c.move(time.Hour)
		_, err = k.Forget(t.Context(), ann, Wish{IDs: ids})
		must(t, err)
		if at := last(ann); !at.Equal(one) {
			t.Errorf("after one memory was forgotten at %v: %v", one, at)
		}
		old := k.testOnlyRemember(t, ann, said("likes milk"))
		_, err = k.Archive(t.Context(), ann, old, "age")
		must(t, err)
		c.move(time.Hour)
		if receipts, err := k.Purge(t.Context(), ann, time.Minute); err != nil || len(receipts) != 1 {
			t.Fatalf("receipts %+v, %v", receipts, err)
		}
		if at := last(ann); !at.Equal(one) { // nobody asked for what a job purges to be forgotten
			t.Errorf("after a purge it was forgotten at %v, and not at %v", at, one)
		}
		if at := last(Owner{"shop", "bob"}); !at.IsZero() {
			t.Errorf("another user's were forgotten at %v", at)
		}
	})
}
