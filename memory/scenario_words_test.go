package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/host"
)

// A told step is a memory, in short.
type toldStep struct {
	Do       string      `json:"do"`
	ID       ID          `json:"id"`
	Text     string      `json:"text"`
	Claim    *Claim      `json:"claim"`
	Day      int         `json:"day"`
	Since    *int        `json:"since"`
	Kind     Kind        `json:"kind"`
	Layer    Layer       `json:"layer"`
	User     host.UserID `json:"user"`
	Session  string      `json:"session"`
	Entity   string      `json:"entity"`
	Domain   string      `json:"domain"`
	Scene    string      `json:"scene"`
	Status   Status      `json:"status"`
	Priority int         `json:"priority"`
	Pinned   bool        `json:"pinned"`
}

func (t toldStep) node(layer Layer, kind Kind) Node {
	n := Node{ID: t.ID, Tenant: "acme", User: cmp.Or(t.User, "mia"), Text: t.Text, Claim: t.Claim, At: onDay(t.Day), Kind: cmp.Or(t.Kind, kind),
		Layer: cmp.Or(t.Layer, layer), Entity: t.Entity, Domain: t.Domain, Scene: t.Scene, Status: cmp.Or(t.Status, Active), Priority: t.Priority, Pinned: t.Pinned,
		Freshness: Slow, Trust: 0.6, Source: Source{Session: host.SessionID(t.Session)}}
	if t.Since != nil {
		n.Valid.From = onDay(*t.Since)
	}
	return n
}

func (s *scene) say(raw json.RawMessage) {
	var step toldStep
	s.read(raw, &step)
	s.declared = append(s.declared, step.node(Declared, Preference))
}

func (s *scene) see(raw json.RawMessage) {
	var step toldStep
	s.read(raw, &step)
	s.seen = append(s.seen, step.node(Behaviour, Habit))
}

// lives makes a habit of a number in each of several lives, a day apart.
func (s *scene) lives(raw json.RawMessage) {
	var step struct {
		Do, Topic, Unit string
		Values          []float64
		Day             int
	}
	s.read(raw, &step)
	var events []Event
	for i, value := range step.Values {
		events = append(events, Event{ID: ID(fmt.Sprintf("e%d", i)), Tenant: "acme", User: "mia", Live: host.LiveID(fmt.Sprintf("l%d", i)),
			Session: host.SessionID(fmt.Sprintf("s%d", i)), Time: onDay(step.Day + i), Topic: step.Topic, Unit: step.Unit, Value: &value})
	}
	habits := Habits(DefaultHabits(), events, onDay(step.Day+len(events)))
	if len(habits) != 1 {
		s.Fatalf("step %d: %d habits", s.step, len(habits))
	}
	s.seen = append(s.seen, habits...)
}

func (s *scene) reconcile(raw json.RawMessage) {
	var step struct {
		Do   string
		Day  int
		Want struct {
			Agreed          map[ID]float64 // with the trust after it
			Gaps, Questions []ID
		}
	}
	s.read(raw, &step)
	before := texts(s.declared)
	r := Reconcile(DefaultReconcile(), s.declared, s.seen, s.gaps, s.questions, onDay(step.Day))
	agreed := map[ID]float64{}
	for _, a := range r.Agreed {
		agreed[a.Memory] = a.Trust
		at := s.at(a.Memory)
		s.declared[at] = a.Apply(s.declared[at])
		if len(a.Evidence) == 0 || a.Gain <= 0 {
			s.errorf("an agreement without evidence or gain: %+v", a)
		}
	}
	if !sameNumbers(agreed, step.Want.Agreed) {
		s.errorf("agreed %v, want %v", agreed, step.Want.Agreed)
	}
	if got := memoriesOf(r.Gaps, func(g Gap) ID { return g.Memory }); !slices.Equal(got, step.Want.Gaps) {
		s.errorf("gaps of %v, want of %v", got, step.Want.Gaps)
	}
	if got := memoriesOf(r.Questions, func(q Question) ID { return q.Memory }); !slices.Equal(got, step.Want.Questions) {
		s.errorf("questions about %v, want about %v", got, step.Want.Questions)
	}
	if after := texts(s.declared); !reflect.DeepEqual(before, after) {
		s.errorf("the user's words became %v", after)
	}
	for i := range s.gaps {
		s.gaps[i].Question = cmp.Or(s.gaps[i].Question, r.Asked[s.gaps[i].ID])
	}
	for _, closed := range r.Closed {
		for i := range s.gaps {
			if s.gaps[i].ID == closed.ID {
				s.gaps[i] = closed
			}
		}
	}
	for _, q := range r.Lapsed {
		s.keep(q)
	}
	s.gaps, s.questions = append(s.gaps, r.Gaps...), append(s.questions, r.Questions...)
}

func texts(nodes []Node) (all []string) {
	for _, n := range nodes {
		all = append(all, fmt.Sprint(n.Text, *n.Claim.low(), n.Claim.Words))
	}
	return all
}

func (c *Claim) low() *float64 {
	if c.Low == nil {
		return new(0.0)
	}
	return c.Low
}

func memoriesOf[T any](all []T, of func(T) ID) (ids []ID) {
	for _, one := range all {
		ids = append(ids, of(one))
	}
	return ids
}

func sameNumbers(got, want map[ID]float64) bool {
	return maps.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
}

func (s *scene) at(id ID) int {
	at := slices.IndexFunc(s.declared, func(n Node) bool { return n.ID == id })
	if at < 0 {
		s.Fatalf("step %d: nobody said %s", s.step, id)
	}
	return at
}

func (s *scene) decide(raw json.RawMessage) {
	var step struct {
		Do, Topic, Domain, Scene, Locale string
		Day                              int
		Want                             struct {
			Asked ID
			Has   []string
		}
	}
	s.read(raw, &step)
	q, ok := NextQuestion(s.questions, Point{"acme", "mia", step.Topic, step.Domain, step.Scene}, onDay(step.Day))
	if q.Memory != step.Want.Asked || ok != (step.Want.Asked != "") {
		s.errorf("asked about %q, want %q", q.Memory, step.Want.Asked)
	}
	if !ok {
		return
	}
	s.keep(q)
	said, locale := s.declared[s.at(q.Memory)], cmp.Or(step.Locale, "zh-CN")
	text := q.Text(said, locale)
	if q.IsChoice() {
		text = q.ChoiceText(said, s.declared[s.at(q.Other)], locale)
	}
	for _, want := range step.Want.Has {
		if !strings.Contains(text, want) {
			s.errorf("the question lacks %q: %s", want, text)
		}
	}
}

func (s *scene) keep(q Question) {
	for i := range s.questions {
		if s.questions[i].ID == q.ID {
			s.questions[i] = q
		}
	}
}

// answer applies the user's words to the question that was asked last, or holds an
// answer of the agent's to the form of a trust.
func (s *scene) answer(raw json.RawMessage) {
	if len(s.questions) == 0 {
		s.form(raw)
		return
	}
	var step struct {
		Do, Text string
		Day      int
		Want     struct {
			Resolution Resolution
			Status     Status
			Open       int
			New        string
			Low        *float64
			Trust      float64
		}
	}
	s.read(raw, &step)
	q := s.questions[len(s.questions)-1]
	at := s.at(q.Memory)
	before := s.declared[at]
	if a, ok := ReadAnswer(Message{Text: step.Text, At: onDay(step.Day)}, before); ok {
		if a.Resolution != step.Want.Resolution {
			s.errorf("%q is read as %q, want %q", step.Text, a.Resolution, step.Want.Resolution)
		}
		s.resolve(q, at, a)
		if step.Want.Low != nil && (a.Claim == nil || *a.Claim.Low != *step.Want.Low) {
			s.errorf("the new claim is %+v", a.Claim)
		}
	} else if step.Want.Resolution != "" {
		s.errorf("%q is read as no answer", step.Text)
	}
	n := s.declared[at]
	if n.Text != before.Text || n.Status != step.Want.Status {
		s.errorf("the memory is %q and %s, want %q and %s", n.Text, n.Status, before.Text, step.Want.Status)
	}
	if step.Want.Trust != 0 && math.Abs(n.Trust-step.Want.Trust) > 1e-9 {
		s.errorf("the trust is %v, want %v", n.Trust, step.Want.Trust)
	}
	if step.Want.New != "" && s.declared[len(s.declared)-1].Text != step.Want.New {
		s.errorf("the new words are %q", s.declared[len(s.declared)-1].Text)
	}
	open := slices.DeleteFunc(slices.Clone(s.gaps), func(g Gap) bool { return g.Closed != "" })
	if len(open) != step.Want.Open {
		s.errorf("%d gaps are open, want %d", len(open), step.Want.Open)
	}
}

func (s *scene) resolve(q Question, at int, a Answer) {
	r, err := Resolve(DefaultReconcile(), q, s.declared[at], s.gaps, a)
	if err != nil {
		s.Fatalf("step %d: %v", s.step, err)
	}
	s.keep(r.Question)
	s.declared[at] = r.Memory
	for _, closed := range r.Gaps {
		i := slices.IndexFunc(s.gaps, func(g Gap) bool { return g.ID == closed.ID })
		if !reflect.DeepEqual(s.gaps[i].Evidence, closed.Evidence) {
			s.errorf("a closed gap lost its evidence: %+v", closed)
		}
		s.gaps[i] = closed
	}
	if r.New != nil {
		r.New.ID = "new"
		s.declared = append(s.declared, *r.New)
	}
}

func (s *scene) settle(raw json.RawMessage) {
	var step struct {
		Do     string
		A, B   ID
		Policy ConflictPolicy
		Want   struct {
			Outcome Outcome
			Winner  ID
		}
	}
	s.read(raw, &step)
	a, b := s.declared[s.at(step.A)], s.declared[s.at(step.B)]
	for _, pair := range [][2]Node{{a, b}, {b, a}} {
		c := Settle(cmp.Or(step.Policy, LastWins), pair[0], pair[1])
		if c.Outcome != step.Want.Outcome || c.Winner.ID != step.Want.Winner || c.Why == "" {
			s.errorf("%s, winner %q (%s), want %s, %q", c.Outcome, c.Winner.ID, c.Why, step.Want.Outcome, step.Want.Winner)
		}
		if c.Outcome == OneWins && (c.Loser.Status != Superseded || c.Loser.SupersededBy != c.Winner.ID || c.Loser.Text == "" || c.Loser.Valid.Until.IsZero()) {
			s.errorf("the loser becomes %+v", c.Loser)
		}
	}
}

// oppose has two declarations settled, which raises the question which one counts once.
func (s *scene) oppose(raw json.RawMessage) {
	var step struct {
		Do   string
		A, B ID
		Day  int
		Want bool
	}
	s.read(raw, &step)
	a, b := s.declared[s.at(step.A)], s.declared[s.at(step.B)]
	raised := Settle(LastWins, a, b).Outcome == UserAsked
	if raised {
		q := NewChoice(a, b, onDay(step.Day))
		raised = !slices.ContainsFunc(s.questions, func(old Question) bool { return old.ID == q.ID })
		if raised {
			s.questions = append(s.questions, q)
		}
	}
	if raised != step.Want {
		s.errorf("a question was raised: %v, want %v", raised, step.Want)
	}
}

// choose applies the user's words to the choice that was asked last.
func (s *scene) choose(raw json.RawMessage) {
	var step struct {
		Do, Text string
		Day      int
		Want     struct {
			Resolution       Resolution
			Kept, Superseded []ID
		}
	}
	s.read(raw, &step)
	q := s.questions[len(s.questions)-1]
	at, other := s.at(q.Memory), s.at(q.Other)
	before := texts(s.declared)
	a, ok := ReadChoice(Message{Text: step.Text, At: onDay(step.Day)}, s.declared[at], s.declared[other])
	if a.Resolution != step.Want.Resolution || ok != (step.Want.Resolution != "") {
		s.errorf("%q is read as %q, want %q", step.Text, a.Resolution, step.Want.Resolution)
	}
	if ok {
		r, err := Choose(DefaultReconcile(), q, s.declared[at], s.declared[other], s.gaps, a)
		if err != nil {
			s.Fatalf("step %d: %v", s.step, err)
		}
		s.keep(r.Question)
		s.declared[at], s.declared[other] = r.Memory, *r.Other
	}
	if !reflect.DeepEqual(before, texts(s.declared)) {
		s.errorf("the user's words became %v", texts(s.declared))
	}
	for _, id := range step.Want.Kept {
		if n := s.declared[s.at(id)]; n.Status != Active {
			s.errorf("%s is %s", id, n.Status)
		}
	}
	for _, id := range step.Want.Superseded {
		if n := s.declared[s.at(id)]; n.Status != Superseded || n.SupersededBy == "" || n.Valid.Until.IsZero() {
			s.errorf("%s became %+v", id, n)
		}
	}
}
