package keeper

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// An asking is all that is open or closed about what an owner declared.
type asking struct {
	gaps      []memory.Gap
	questions []memory.Question
}

func (k *Keeper) testOnlyAsking(t testing.TB, o Owner) (a asking) {
	t.Helper()
	var err error
	a.gaps, err = k.Gaps(t.Context(), o)
	must(t, err)
	a.questions, err = k.Questions(t.Context(), o)
	must(t, err)
	return a
}

func (k *Keeper) testOnlyWaiting(t testing.TB, o Owner) []memory.Question {
	t.Helper()
	waiting, err := k.Waiting(t.Context(), o)
	must(t, err)
	return waiting
}

func (k *Keeper) testOnlyRestore(t testing.TB, o Owner, ids ...memory.ID) {
	t.Helper()
	back, err := k.Restore(t.Context(), o, ids)
	if must(t, err); len(back) != len(ids) {
		t.Fatalf("restored %v of %v", back, ids)
	}
}

func (k *Keeper) testOnlyAsked(t testing.TB, o Owner, question string) {
	t.Helper()
	first, err := k.Asked(t.Context(), o, question, "s9", 1)
	if must(t, err); !first {
		t.Fatalf("question %s was asked before", question)
	}
}

// endings are the ways in which a declaration ceases to count without an answer.
func endings() map[string]func(t *testing.T, k *Keeper, o Owner, id memory.ID) error {
	superseded := func(t *testing.T, k *Keeper, o Owner, id memory.ID) error {
		_, err := k.Supersede(t.Context(), o, id, said("something else than "+string(id)))
		return err
	}
	falsified := func(t *testing.T, k *Keeper, o Owner, id memory.ID) error { return k.Falsify(t.Context(), o, id, "") }
	return map[string]func(t *testing.T, k *Keeper, o Owner, id memory.ID) error{
		"superseded": superseded,
		"falsified":  falsified,
		"both": func(t *testing.T, k *Keeper, o Owner, id memory.ID) error {
			if err := superseded(t, k, o, id); err != nil {
				return err
			}
			return falsified(t, k, o, id)
		},
	}
}

func TestWhatIsRestoredCountsItsGapsAndAsksAsBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open(func(c *Config) { c.Store = nil })
		for name, end := range endings() {
			for _, asked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, asked %t", name, asked), func(t *testing.T) {
					o := Owner{"shop", host.UserID(fmt.Sprint(name, asked))}
					id := contradict(t, k, o)
					if asked {
						k.testOnlyAsked(t, o, k.testOnlyWaiting(t, o)[0].ID)
					}
					before := k.testOnlyAsking(t, o)
					must(t, end(t, k, o, id))
					if waiting := k.testOnlyWaiting(t, o); len(waiting) != 0 {
						t.Fatalf("what does not count is asked about: %+v", waiting)
					}
					k.testOnlyRestore(t, o, id)
					if after := k.testOnlyAsking(t, o); !reflect.DeepEqual(after, before) {
						t.Errorf("it became %+v, was %+v", after, before)
					}
					observe(t, k, o, 7, 45) // a fourth joins the question
					waiting, after := k.testOnlyWaiting(t, o), k.testOnlyAsking(t, o)
					if len(waiting) != 1 || len(after.gaps) != 4 || slices.ContainsFunc(after.gaps, func(g memory.Gap) bool { return g.Question != waiting[0].ID }) {
						t.Fatalf("at a fourth contradiction %+v waits; gaps %+v", waiting, after.gaps)
					}
					_, err := k.Answer(t.Context(), o, waiting[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Kept})
					must(t, err)
				})
			}
		}
	})
}

// What the user answered about words that they kept stays answered when those come back.
func TestARestoredMemoryAsksNothingThatWasAnswered(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open(func(c *Config) { c.Store = nil })
		id := contradict(t, k, ann)
		_, err := k.Answer(t.Context(), ann, k.testOnlyWaiting(t, ann)[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Kept})
		must(t, err)
		for i := range 4 { // three make one more question, and the last joins it
			before := k.testOnlyAsking(t, ann)
			must(t, k.Falsify(t.Context(), ann, id, ""))
			k.testOnlyRestore(t, ann, id)
			if after := k.testOnlyAsking(t, ann); !reflect.DeepEqual(after, before) {
				t.Errorf("with %d more gaps it became %+v, was %+v", i, after, before)
			}
			observe(t, k, ann, 10+i, 30)
		}
		if waiting := k.testOnlyWaiting(t, ann); len(waiting) != 1 || len(waiting[0].Gaps) != 3 {
			t.Errorf("%+v waits", waiting)
		}
	})
}

// An answer that is taken back may be asked for once more, and once.
func TestAnAnswerThatIsUndoneIsAskedForOnceMore(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		for _, answer := range []memory.Answer{{Resolution: memory.Retired}, {Resolution: memory.Updated, Text: "open with 30 minutes of talk"}} {
			t.Run(string(answer.Resolution), func(t *testing.T) {
				k, o := r.open(func(c *Config) { c.Store = nil }), Owner{"shop", host.UserID(answer.Resolution)}
				id := contradict(t, k, o)
				q := k.testOnlyWaiting(t, o)[0]
				k.testOnlyAsked(t, o, q.ID)
				_, err := k.Answer(t.Context(), o, q.ID, memory.DefaultReconcile(), answer)
				must(t, err)
				k.testOnlyRestore(t, o, id)
				waiting := k.testOnlyWaiting(t, o)
				if len(waiting) != 1 || !reflect.DeepEqual(waiting[0], q) {
					t.Fatalf("%+v waits; want %+v", waiting, q)
				}
				k.testOnlyAsked(t, o, q.ID)
				must(t, k.Falsify(t.Context(), o, id, ""))
				k.testOnlyRestore(t, o, id)
				if first, err := k.Asked(t.Context(), o, q.ID, "s9", 3); err != nil || first {
					t.Errorf("it is asked again before the answer, %v", err)
				}
			})
		}
	})
}

// A choice waits again when both of what it is about count, whichever comes back first.
func TestAChoiceComesBackWithWhatItIsAbout(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		for name, end := range endings() {
			for _, together := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, together %t", name, together), func(t *testing.T) {
					c, o := newClock(), Owner{"shop", host.UserID(fmt.Sprint(name, together))}
					k := r.open(withClock(c), func(c *Config) { c.Store = nil })
					first, second, q := k.testOnlyOpposed(t, o, c)
					k.testOnlyAsked(t, o, q.ID)
					before := k.testOnlyAsking(t, o)
					for _, id := range []memory.ID{first, second} {
						must(t, end(t, k, o, id))
					}
					if together {
						k.testOnlyRestore(t, o, first, second)
					} else {
						k.testOnlyRestore(t, o, second)
						if waiting := k.testOnlyWaiting(t, o); len(waiting) != 0 {
							t.Errorf("one of the two counts, and %+v waits", waiting)
						}
						k.testOnlyRestore(t, o, first)
					}
					if after := k.testOnlyAsking(t, o); !reflect.DeepEqual(after, before) {
						t.Errorf("it became %+v, was %+v", after, before)
					}
				})
			}
		}
	})
}

// What had taken the place of a restored word still counts: the user is asked, and neither
// replaces the other.
func TestARestoredWordIsHeldAgainstWhatTookItsPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		ten := k.testOnlyDeclare(t, ann, pricing(memory.Preference, memory.Between("price", 10, 10, "元"), c.now())).ID
		twenty := k.testOnlyDeclare(t, ann, pricing(memory.Preference, memory.Between("price", 20, 20, "元"), c.move(time.Hour))).ID
		k.testOnlyRestore(t, ann, ten)
		for _, id := range []memory.ID{ten, twenty} {
			if n := k.testOnlyGet(t, ann, id); n.Status != memory.Active {
				t.Errorf("%s is %s", n.Text, n.Status)
			}
		}
		waiting := k.testOnlyWaiting(t, ann)
		if len(waiting) != 1 || waiting[0].Memory != ten || waiting[0].Other != twenty {
			t.Fatalf("%+v waits", waiting)
		}
		_, err := k.Answer(t.Context(), ann, waiting[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Both})
		must(t, err)
		must(t, k.Falsify(t.Context(), ann, ten, ""))
		k.testOnlyRestore(t, ann, ten)
		if waiting = k.testOnlyWaiting(t, ann); len(waiting) != 0 { // both stand by the user's word
			t.Errorf("%+v waits", waiting)
		}
	})
}

func linesOf(t *testing.T, nodes ...memory.Node) string {
	t.Helper()
	var file strings.Builder
	for _, n := range nodes {
		must(t, json.NewEncoder(&file).Encode(n))
	}
	return file.String()
}

func (k *Keeper) testOnlyImport(t *testing.T, o Owner, file string, policy memory.ConflictPolicy) Imported {
	t.Helper()
	done, err := k.Import(t.Context(), o, strings.NewReader(file), memory.DefaultReconcile(), policy)
	must(t, err)
	return done
}

func TestAnImportedDeclarationIsSettledLikeOneThatWasHeard(t *testing.T) {
	at := newClock().now()
	preference := func(number float64, hours int) memory.Node {
		return pricing(memory.Preference, memory.Between("price", number, number, "元"), at.Add(time.Duration(hours)*time.Hour))
	}
	rule := func(claim memory.Claim, hours int) memory.Node {
		return pricing(memory.Constraint, claim, at.Add(time.Duration(hours)*time.Hour))
	}
	onBoth(t, func(t *testing.T, r rig) {
		for name, tt := range map[string]struct {
			there, comes memory.Node
			policy       memory.ConflictPolicy
			counts       []string // which of them
			until        int      // hours until which the other one held
		}{
			"the later one wins":            {preference(10, 0), preference(20, 5), memory.LastWins, []string{"comes"}, 5},
			"the earlier one stands behind": {preference(20, 5), preference(10, 0), memory.LastWins, []string{"there"}, 5},
			"the policy is to ask":          {preference(10, 0), preference(20, 5), memory.AskUser, []string{"there", "comes"}, 0},
			"two rules":                     {rule(memory.AtLeast("price", 59, "元"), 0), rule(memory.AtMost("price", 50, "元"), 5), memory.LastWins, []string{"there", "comes"}, 0},
			"they agree":                    {rule(memory.AtLeast("price", 59, "元"), 0), rule(memory.AtLeast("price", 59, "元"), 5), memory.LastWins, []string{"there"}, 0},
		} {
			for _, named := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, with an id %t", name, named), func(t *testing.T) {
					c, o := newClock(), Owner{"shop", host.UserID(fmt.Sprint(name, named))}
					c.move(24 * time.Hour)
					k := r.open(withClock(c), func(c *Config) { c.Store = nil })
					ids := map[string]memory.ID{"there": k.testOnlyDeclare(t, o, tt.there).ID}
					if tt.comes.Source.Session = "elsewhere"; named {
						tt.comes.ID = "0197"
					}
					if name == "they agree" && named {
						return // a line with an id is a memory of its own
					}
					for range 2 { // a repetition changes nothing
						k.testOnlyImport(t, o, linesOf(t, tt.comes), tt.policy)
						var counts []string
						for _, n := range k.all(t, o) {
							which := "comes"
							if n.ID == ids["there"] {
								which = "there"
							}
							ids[which] = n.ID
							if n.Status == memory.Active {
								counts = append(counts, which)
							} else if n.SupersededBy == "" || !n.Valid.Until.Equal(at.Add(time.Duration(tt.until)*time.Hour)) {
								t.Errorf("%s is superseded by %q, and held until %v", which, n.SupersededBy, n.Valid.Until)
							}
						}
						slices.Sort(counts)
						want := slices.Sorted(slices.Values(tt.counts))
						waiting := k.testOnlyWaiting(t, o)
						if !slices.Equal(counts, want) || (len(waiting) == 1) != (len(want) == 2) {
							t.Errorf("%v count, want %v; %d questions wait", counts, want, len(waiting))
						}
					}
				})
			}
		}
	})
}

// What was seen of the user before is held against an imported word, as against one that
// was heard.
func TestAnImportedDeclarationIsReconciledWithWhatWasSeen(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c, bob := newClock(), Owner{"shop", "bob"}
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		for i := range 3 {
			observe(t, k, bob, i, 30)
		}
		n, claim := said("open with 10 minutes of talk"), memory.Between("opening.minutes", 10, 10, "min")
		n.Claim, n.Domain, n.At = &claim, "pacing", c.now().Add(-time.Hour)
		k.testOnlyRemember(t, ann, n)
		var file strings.Builder
		_, err := k.Export(t.Context(), ann, &file, nil)
		must(t, err)
		for range 2 {
			k.testOnlyImport(t, bob, file.String(), memory.LastWins)
			if a := k.testOnlyAsking(t, bob); len(a.gaps) != 3 || len(a.questions) != 1 {
				t.Errorf("%d gaps, %d questions", len(a.gaps), len(a.questions))
			}
		}
	})
}

// Two words that both counted where they are from both count where they come, and the user
// is asked: an import replaces none of its own.
func TestOfTwoWordsOfOneImportNeitherReplacesTheOther(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c, bob := newClock(), Owner{"shop", "bob"}
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		for i, policy := range []memory.ConflictPolicy{memory.LastWins, memory.AskUser} {
			_, err := k.Declare(t.Context(), ann, pricing(memory.Preference, memory.Between("price", float64(10*i), float64(10*i), "元"), c.move(time.Hour)), policy)
			must(t, err)
		}
		var file strings.Builder
		_, err := k.Export(t.Context(), ann, &file, nil)
		must(t, err)
		k.testOnlyImport(t, bob, file.String(), memory.LastWins)
		for _, n := range k.all(t, bob) {
			if n.Status != memory.Active {
				t.Errorf("%s is %s", n.Text, n.Status)
			}
		}
		if waiting := k.testOnlyWaiting(t, bob); len(waiting) != 1 || !waiting[0].IsChoice() {
			t.Errorf("%+v waits", waiting)
		}
	})
}
