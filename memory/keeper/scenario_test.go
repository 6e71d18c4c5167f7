package keeper

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// scenarioMinima is how many scenarios each suite of memory/testdata/scenarios
// must have that needs the truth.
func scenarioMinima() map[string]int { return map[string]int{"asof": 12, "deletion": 14} }

func TestScenarios(t *testing.T) {
	for name, want := range scenarioMinima() {
		b, err := os.ReadFile(filepath.Join("..", "testdata", "scenarios", name+".json"))
		must(t, err)
		var suite struct {
			Suite     string
			Scenarios []struct {
				Name  string
				Steps []json.RawMessage
			}
		}
		must(t, json.Unmarshal(b, &suite))
		if len(suite.Scenarios) < want {
			t.Errorf("%s has %d scenarios, want %d at least", name, len(suite.Scenarios), want)
		}
		for _, sc := range suite.Scenarios {
			t.Run(name+"/"+sc.Name, func(t *testing.T) {
				r, c := sqliteRig(t), newClock()
				s := &scene{T: t, rig: r, clock: c, keeper: r.open(withClock(c)), ids: map[memory.ID]memory.ID{}}
				s.begun = c.now().AddDate(0, 0, -1)
				for i, step := range sc.Steps {
					s.step = i + 1
					s.do(step)
				}
			})
		}
	}
}

// A scene is one scenario while it runs.
type scene struct {
	*testing.T
	rig    rig
	clock  *clock
	keeper *Keeper
	begun  time.Time // day 0
	step   int
	ids    map[memory.ID]memory.ID // by the names of the scenario
	words  string                  // of all memories
}

// A sceneStep is a step of any kind; each uses its own members.
type sceneStep struct {
	Do      string
	ID, Old memory.ID
	IDs     []memory.ID
	Text    string
	Day     int
	Valid   *int // days, as the next three
	Until   *int
	True    *int
	Known   *int
	User    host.UserID
	Layer   memory.Layer
	Kind    memory.Kind
	Entity  string
	All     bool
	Pinned  bool
	Session host.SessionID
	Topic   string
	Words   []string
	Derived []memory.ID
	Sources []memory.ID
	Lift    *float64
	Want    json.RawMessage
}

func (s *scene) do(raw json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var step sceneStep
	must(s, d.Decode(&step))
	if step.Day > 0 {
		s.clock.move(s.on(step.Day).Sub(s.clock.now()))
	}
	steps := map[string]func(sceneStep){"remember": s.remember, "again": s.again, "see": s.remember, "supersede": s.supersede, "falsify": s.falsify, "archive": s.archive, "restore": s.restore,
		"asof": s.asOf, "forget": s.forget, "gone": s.gone, "left": s.left, "trace": s.trace, "trust": s.trust, "reconcile": s.reconcile, "open": s.open}
	act := steps[step.Do]
	if act == nil {
		s.Fatalf("step %d: there is no step %q", s.step, step.Do)
	}
	act(step)
}

func (s *scene) on(day int) time.Time { return s.begun.AddDate(0, 0, day) }

func (s *scene) owner(step sceneStep) Owner { return Owner{"shop", cmp.Or(step.User, "ann")} }

func (s *scene) wants(step sceneStep, into any) {
	s.Helper()
	must(s, json.Unmarshal(step.Want, into))
}

func (s *scene) node(step sceneStep) memory.Node {
	s.words += step.Text + " "
	n := memory.Node{Text: step.Text, Layer: cmp.Or(step.Layer, memory.Declared), Kind: cmp.Or(step.Kind, memory.Preference), Entity: step.Entity,
		At: s.clock.now(), Valid: memory.Span{From: s.clock.now()}, Trust: 0.6, Pinned: step.Pinned, Source: memory.Source{Session: step.Session, Input: "1"}}
	if step.Do == "see" {
		n.Layer, n.Kind = memory.Behaviour, memory.Habit
	}
	if step.Topic != "" {
		n.Claim = &memory.Claim{Topic: step.Topic, Words: step.Words}
	}
	if step.Valid != nil {
		n.Valid.From = s.on(*step.Valid)
	}
	if step.Until != nil {
		n.Valid.Until = s.on(*step.Until)
	}
	n.Source.Derived = s.named(step.Derived)
	return n
}

// named gives the ids of names; what is no memory's is an event's, which is its id.
func (s *scene) named(names []memory.ID) (ids []memory.ID) {
	for _, name := range names {
		ids = append(ids, cmp.Or(s.ids[name], name))
	}
	return ids
}

func (s *scene) remember(step sceneStep) {
	all, err := s.keeper.Remember(s.Context(), s.owner(step), []memory.Node{s.node(step)})
	must(s, err)
	if !all[0].Kept {
		s.Fatalf("step %d: %q is taken for another", s.step, step.Text)
	}
	s.ids[step.ID] = all[0].ID
}

// again says what a memory says already.
func (s *scene) again(step sceneStep) {
	all, err := s.keeper.Remember(s.Context(), s.owner(step), []memory.Node{s.node(step)})
	must(s, err)
	if all[0].Kept || all[0].ID != s.ids[step.ID] {
		s.Fatalf("step %d: %q is not taken for %s", s.step, step.Text, step.ID)
	}
}

func (s *scene) supersede(step sceneStep) {
	old, err := s.keeper.Get(s.Context(), s.owner(step), s.ids[step.Old])
	must(s, err)
	step.Layer, step.Kind, step.Entity = old.Layer, old.Kind, old.Entity
	s.ids[step.ID], err = s.keeper.Supersede(s.Context(), s.owner(step), old.ID, s.node(step))
	must(s, err)
}

func (s *scene) falsify(step sceneStep) {
	must(s, s.keeper.Falsify(s.Context(), s.owner(step), s.ids[step.ID], "a count of the store"))
}

func (s *scene) archive(step sceneStep) {
	_, err := s.keeper.Archive(s.Context(), s.owner(step), []memory.ID{s.ids[step.ID]}, "score")
	must(s, err)
}

func (s *scene) restore(step sceneStep) {
	_, err := s.keeper.Restore(s.Context(), s.owner(step), []memory.ID{s.ids[step.ID]})
	must(s, err)
}

func (s *scene) asOf(step sceneStep) {
	at := Moment{}
	if step.True != nil {
		at.True = s.on(*step.True)
	}
	if step.Known != nil {
		at.Known = s.on(*step.Known)
	}
	s.compare(step, Page{AsOf: &at, Entity: step.Entity})
	s.recalls(step, at)
}

// recalls asks the index for the words of all memories, as of the same moment.
func (s *scene) recalls(step sceneStep, at Moment) {
	s.Helper()
	s.keeper.testOnlySync(s)
	o := s.owner(step)
	hits, err := s.keeper.Recall(s.Context(), Query{Filter: memory.Filter{Tenant: o.Tenant, User: o.User, Entity: step.Entity}, Text: s.words, AsOf: &at, Limit: MaxRecall})
	must(s, err)
	var got []memory.Node
	for _, h := range hits {
		got = append(got, h.Node)
	}
	s.are(step, got)
}

func (s *scene) left(step sceneStep) { s.compare(step, Page{}) }

// compare lists memories and compares them with the names that are wanted.
func (s *scene) compare(step sceneStep, p Page) {
	s.Helper()
	nodes, err := s.keeper.List(s.Context(), s.owner(step), p)
	must(s, err)
	s.are(step, nodes)
}

// are compares memories with the names that are wanted.
func (s *scene) are(step sceneStep, nodes []memory.Node) {
	s.Helper()
	var want []memory.ID
	s.wants(step, &want)
	var got []memory.ID
	for name, id := range s.ids {
		if slices.ContainsFunc(nodes, func(n memory.Node) bool { return n.ID == id }) {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(nodes) != len(want) {
		s.Errorf("step %d: got %v of %d, want %v", s.step, got, len(nodes), want)
	}
}

func (s *scene) forget(step sceneStep) {
	var want []memory.ID
	s.wants(step, &want)
	f, err := s.keeper.Forget(s.Context(), s.owner(step), Wish{IDs: s.named(step.IDs), Entity: step.Entity, All: step.All})
	must(s, err)
	for _, session := range step.Sources { // in whose first message it was said
		if key := SourceKey(memory.Source{Session: host.SessionID(session), Input: "1"}); !slices.Contains(f.Keys, key) {
			s.Errorf("step %d: session %s is not told as a source", s.step, session)
		}
	}
	var got []memory.ID
	for _, r := range f.Receipts {
		got = append(got, r.IDs...)
	}
	ids := s.named(want)
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		s.Errorf("step %d: forgotten are %v, want %v", s.step, got, ids)
	}
	for _, id := range ids {
		var failed *host.Error
		if _, err := s.keeper.Get(s.Context(), s.owner(step), id); !errors.As(err, &failed) || failed.Problem.Code != abi.NotFound {
			s.Errorf("step %d: %s is still there: %v", s.step, id, err)
		}
	}
}

// gone looks for words in every file beside the database's.
func (s *scene) gone(step sceneStep) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(s.rig.dsn), "*"))
	must(s, err)
	if len(files) == 0 {
		s.Fatal("there are no files to look into")
	}
	for _, name := range files {
		held, err := os.ReadFile(name)
		must(s, err)
		for _, word := range step.Words {
			if bytes.Contains(held, []byte(word)) {
				s.Errorf("step %d: %s has %q", s.step, filepath.Base(name), word)
			}
		}
	}
}

func (s *scene) trace(step sceneStep) {
	o := s.owner(step)
	shown, err := s.keeper.Show(s.Context(), memory.Trace{ID: string(step.ID), Tenant: o.Tenant, User: o.User, Domain: "script", Point: "opening",
		Question: step.Text, Output: step.Text, Sources: s.named(step.Sources)})
	must(s, err)
	_, err = s.keeper.Act(s.Context(), o, shown.ID, memory.Accept, "")
	must(s, err)
	_, err = s.keeper.Attribute(s.Context(), o, shown.ID, step.Lift, nil)
	must(s, err)
}

func (s *scene) trust(step sceneStep) {
	var want float64
	s.wants(step, &want)
	got, err := s.keeper.Trust(s.Context(), s.owner(step), "script")
	must(s, err)
	if got != want {
		s.Errorf("step %d: the trust is %v, want %v", s.step, got, want)
	}
}

func (s *scene) reconcile(step sceneStep) {
	_, err := s.keeper.Reconcile(s.Context(), s.owner(step), memory.DefaultReconcile())
	must(s, err)
}

func (s *scene) open(step sceneStep) {
	var want struct{ Gaps, Questions int }
	s.wants(step, &want)
	gaps, err := s.keeper.Gaps(s.Context(), s.owner(step))
	must(s, err)
	questions, err := s.keeper.Questions(s.Context(), s.owner(step))
	must(s, err)
	if len(gaps) != want.Gaps || len(questions) != want.Questions {
		s.Errorf("step %d: %d gaps and %d questions, want %+v", s.step, len(gaps), len(questions), want)
	}
}

// The same habit in another session is not another memory: what finds it anew must
// put it in the place of the old one (memory.Renews), so that it counts again.
func TestARenewedHabitIsAGapOfItsOwnSession(t *testing.T) {
	c := newClock()
	k := sqliteRig(t).open(withClock(c))
	words := said("每次开场讲10分钟")
	words.Claim = new(memory.Between("opening.minutes", 10, 10, "分钟"))
	k.testOnlyRemember(t, ann, words)
	var habit memory.Node
	for i, session := range []host.SessionID{"s1", "s2", "s3"} {
		at := c.move(24 * time.Hour)
		next := memory.Node{Tenant: ann.Tenant, User: ann.User, Text: "opening.minutes：最近 1 场为 4 分钟", Layer: memory.Behaviour, Kind: memory.Habit,
			Claim: new(memory.Between("opening.minutes", 4, 4, "分钟")), Source: memory.Source{Session: session}, At: at, Valid: memory.Span{From: at}}
		if i == 0 {
			next.ID = k.testOnlyRemember(t, ann, next)[0]
		} else {
			if !memory.Renews(habit, next) {
				t.Fatal("it does not renew the one before")
			}
			id, err := k.Supersede(t.Context(), ann, habit.ID, next)
			must(t, err)
			next.ID = id
		}
		habit = next
		r, err := k.Reconcile(t.Context(), ann, memory.DefaultReconcile())
		must(t, err)
		if asked := len(r.Questions) == 1; len(r.Gaps) != 1 || asked != (i == 2) {
			t.Errorf("session %s: %d gaps and %d questions", session, len(r.Gaps), len(r.Questions))
		}
	}
}
