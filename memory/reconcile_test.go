package memory

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// told is a memory of what a user said a month before noon.
func told(id ID, kind Kind, claim Claim) Node {
	return Node{ID: id, Tenant: "acme", User: "mia", Text: "每次开场讲10分钟", Layer: Declared, Kind: kind, Claim: &claim,
		At: noon.Add(-30 * day), Freshness: Slow, Trust: 0.6, Status: Active}
}

// lived is a habit that was seen in a session some days before noon.
func lived(id ID, session string, daysAgo int, claim Claim) Node {
	return Node{ID: id, Tenant: "acme", User: "mia", Layer: Behaviour, Kind: Habit, Claim: &claim, Source: Source{Session: host.SessionID(session)},
		At: noon.Add(-time.Duration(daysAgo) * day), Freshness: Slow, Status: Active}
}

func minutes(low, high float64) Claim { return Between("opening.minutes", low, high, "min") }

func TestReconcileIsTheSameForTheSameValues(t *testing.T) {
	said := []Node{told("m1", Preference, minutes(10, 10))}
	seen := []Node{lived("h3", "s3", 1, minutes(3, 3)), lived("h1", "s1", 3, minutes(4, 4)), lived("h2", "s2", 2, minutes(5, 5))}
	first := Reconcile(DefaultReconcile(), said, seen, nil, nil, noon)
	seen[0], seen[2] = seen[2], seen[0]
	if second := Reconcile(DefaultReconcile(), said, seen, nil, nil, noon); !reflect.DeepEqual(first, second) {
		t.Errorf("another order gives\n%+v, not\n%+v", second, first)
	}
	if len(first.Gaps) != 3 || len(first.Questions) != 1 {
		t.Fatalf("%d gaps and %d questions, want 3 and 1", len(first.Gaps), len(first.Questions))
	}
	for _, g := range first.Gaps {
		if g.Question != first.Questions[0].ID {
			t.Errorf("gap %s names the question %q", g.ID, g.Question)
		}
	}
	again := Reconcile(DefaultReconcile(), said, seen, first.Gaps, first.Questions, noon)
	if len(again.Gaps)+len(again.Questions)+len(again.Agreed)+len(again.Asked)+len(again.Lapsed)+len(again.Closed) != 0 {
		t.Errorf("a second run over the same behaviour gives %+v", again)
	}
}

// The words that a user said are the same after whatever came of a comparison.
func TestReconcileNeverChangesWords(t *testing.T) {
	said := told("m1", Preference, minutes(10, 10))
	before := said
	claim := *said.Claim
	r := Reconcile(DefaultReconcile(), []Node{said}, []Node{lived("h1", "s1", 1, minutes(10, 12))}, nil, nil, noon)
	if len(r.Agreed) != 1 {
		t.Fatalf("%d agreements", len(r.Agreed))
	}
	after := r.Agreed[0].Apply(said)
	if after.Trust <= before.Trust || after.Verified != before.Verified+1 {
		t.Errorf("trust %v and verified %d after an agreement, %v and %d before", after.Trust, after.Verified, before.Trust, before.Verified)
	}
	after.Trust, after.Verified, after.Agreed = before.Trust, before.Verified, before.Agreed
	if !reflect.DeepEqual(after, before) || !reflect.DeepEqual(*said.Claim, claim) {
		t.Errorf("an agreement changed %+v to %+v", before, after)
	}
}

func TestQuestionsAreAskedOnceUntilAnswered(t *testing.T) {
	said := told("m1", Preference, minutes(10, 10))
	said.Domain, said.Scene = "opening", "live"
	var seen []Node
	for i, s := range []string{"s1", "s2", "s3"} {
		h := lived(ID("h"+s), s, 3-i, minutes(4, 4))
		h.Scene = "live"
		seen = append(seen, h)
	}
	r := Reconcile(DefaultReconcile(), []Node{said}, seen, nil, nil, noon)
	at := Point{Tenant: "acme", User: "mia", Domain: "opening", Scene: "live"}
	q, ok := NextQuestion(r.Questions, at, noon)
	if !ok || q.Asked != noon {
		t.Fatalf("the question is %+v, %v", q, ok)
	}
	if _, twice := NextQuestion([]Question{q}, at, noon); twice {
		t.Error("it is asked twice")
	}
	resolved, err := Resolve(DefaultReconcile(), q, said, r.Gaps, Answer{Resolution: Updated, Text: "改成4分钟", Claim: new(minutes(4, 4)), At: noon})
	if err != nil {
		t.Fatal(err)
	}
	if resolved.Memory.Text != said.Text || resolved.Memory.Status != Superseded || resolved.Memory.Valid.Until != noon {
		t.Errorf("the old words are %+v", resolved.Memory)
	}
	if resolved.New == nil || resolved.New.Layer != Declared || resolved.New.Valid.From != noon || len(resolved.New.Source.Derived) != 4 {
		t.Errorf("the new words are %+v", resolved.New)
	}
	if len(resolved.Gaps) != 3 || resolved.Gaps[0].Closed != "updated" || len(resolved.Gaps[0].Evidence) != 1 {
		t.Errorf("the closed gaps are %+v", resolved.Gaps)
	}
	if _, err := Resolve(DefaultReconcile(), resolved.Question, said, r.Gaps, Answer{Resolution: Kept, At: noon}); err == nil {
		t.Error("it can be answered twice")
	}
}

// A user of years has thousands of each; it must not take what everything against
// everything would.
func BenchmarkReconcile(b *testing.B) {
	var said, seen []Node
	var gaps []Gap
	for i := range 4096 {
		topic := "topic." + strconv.Itoa(i%1000)
		said = append(said, told(ID("m"+strconv.Itoa(i)), Preference, Between(topic, 10, 10, "min")))
		seen = append(seen, lived(ID("h"+strconv.Itoa(i)), "s"+strconv.Itoa(i), i%29, Between(topic, float64(i%20), float64(i%20), "min")))
		gaps = append(gaps, Gap{ID: strconv.Itoa(i), Tenant: "acme", User: "mia", Memory: ID("m" + strconv.Itoa(i)), Session: "s0"})
	}
	for b.Loop() {
		Reconcile(DefaultReconcile(), said, seen, gaps, nil, noon)
	}
}

func TestTenantsWithTheSameIDsAreApart(t *testing.T) {
	mine, theirs := told("m1", Preference, minutes(10, 10)), told("m1", Preference, minutes(10, 10))
	theirs.Tenant = "other"
	seen := lived("h1", "s1", 1, minutes(4, 4))
	r := Reconcile(DefaultReconcile(), []Node{mine, theirs}, []Node{seen}, nil, nil, noon)
	if len(r.Gaps) != 1 || r.Gaps[0].Tenant != "acme" {
		t.Fatalf("the gaps are %+v", r.Gaps)
	}
	seen.Tenant = "other"
	again := Reconcile(DefaultReconcile(), []Node{mine, theirs}, []Node{seen}, r.Gaps, nil, noon)
	if len(again.Gaps) != 1 || again.Gaps[0].Tenant != "other" || again.Gaps[0].ID == r.Gaps[0].ID {
		t.Errorf("the gaps of another tenant are %+v", again.Gaps)
	}
	if closed := CloseGaps(append(r.Gaps, again.Gaps...), theirs, Kept); len(closed) != 1 || closed[0].Tenant != "other" {
		t.Errorf("closed are %+v", closed)
	}
}

// A habit of no session counts again only when there is new evidence.
func TestEvidenceCountsInOneGapOnly(t *testing.T) {
	said := []Node{told("m1", Preference, minutes(10, 10))}
	habit := func(id ID, daysAgo int, evidence ...ID) Node {
		n := lived(id, "", daysAgo, minutes(4, 4))
		n.Source.Derived = evidence
		return n
	}
	var gaps []Gap
	for i, step := range []struct {
		seen []Node
		want int
	}{
		{[]Node{habit("h1", 5, "e1", "e2")}, 1},
		{[]Node{habit("h2", 4, "e2", "e1")}, 0}, // the same events under another id
		{[]Node{habit("h3", 3, "e2", "e3")}, 1}, // the window moved
	} {
		r := Reconcile(DefaultReconcile(), said, step.seen, gaps, nil, noon)
		if len(r.Gaps) != step.want {
			t.Errorf("step %d: %d gaps, want %d", i, len(r.Gaps), step.want)
		}
		gaps = append(gaps, r.Gaps...)
	}
}

// Gaps that were there when fewer became enough make the question in the next run.
func TestALowerThresholdAsksAboutOldGaps(t *testing.T) {
	said := []Node{told("m1", Preference, minutes(10, 10))}
	first := Reconcile(DefaultReconcile(), said, []Node{lived("h1", "s1", 2, minutes(4, 4)), lived("h2", "s2", 1, minutes(4, 4))}, nil, nil, noon)
	set := DefaultReconcile()
	set.GapsToAsk = 2
	r := Reconcile(set, said, nil, first.Gaps, nil, noon)
	if len(first.Questions) != 0 || len(r.Questions) != 1 || len(r.Asked) != 2 || r.Asked[first.Gaps[0].ID] != r.Questions[0].ID {
		t.Errorf("first %+v, then %+v", first.Questions, r)
	}
}

// A question that went with a forgotten piece of evidence does not silence the gaps that
// are left: enough of them ask anew, and all of them name the new question.
func TestGapsOfAQuestionThatIsGoneAskAgain(t *testing.T) {
	said := []Node{told("m1", Preference, minutes(10, 10))}
	var seen []Node
	for day, session := range []string{"s4", "s3", "s2", "s1"} {
		seen = append(seen, lived(ID("h-"+session), session, day+1, minutes(4, 4)))
	}
	first := Reconcile(DefaultReconcile(), said, seen, nil, nil, noon)
	left := first.Gaps[1:]
	for i := range left {
		left[i].Question = ""
	}
	r := Reconcile(DefaultReconcile(), said, nil, left, nil, noon)
	if len(r.Questions) != 1 || r.Questions[0].ID == first.Questions[0].ID || len(r.Asked) != len(left) {
		t.Fatalf("first %+v, then %+v", first.Questions, r)
	}
	for _, g := range left {
		if r.Asked[g.ID] != r.Questions[0].ID {
			t.Errorf("gap %s leads to %q", g.ID, r.Asked[g.ID])
		}
	}
	if r = Reconcile(DefaultReconcile(), said, nil, left[1:], nil, noon); len(r.Questions) != 0 {
		t.Errorf("two gaps ask %+v", r.Questions)
	}
}

// A course is a memory whose user goes on to do otherwise, one live a day.
type course struct {
	said      Node
	day       int
	gaps      []Gap
	questions []Question
}

// live is one more day, and what is made of it.
func (c *course) live() Reconciliation {
	c.day++
	at := noon.Add(time.Duration(c.day) * day)
	seen := lived(ID("h"+strconv.Itoa(c.day)), "s"+strconv.Itoa(c.day), -c.day, minutes(3, 3))
	r := Reconcile(DefaultReconcile(), []Node{c.said}, []Node{seen}, c.gaps, c.questions, at)
	for i, g := range c.gaps {
		if question, ok := r.Asked[g.ID]; ok {
			c.gaps[i].Question = question
		}
		for _, closed := range r.Closed {
			if closed.ID == g.ID {
				c.gaps[i] = closed
			}
		}
	}
	for _, q := range r.Lapsed {
		c.questions[slices.IndexFunc(c.questions, func(old Question) bool { return old.ID == q.ID })] = q
	}
	c.gaps, c.questions = append(c.gaps, r.Gaps...), append(c.questions, r.Questions...)
	return r
}

// A question that was asked once and not answered is not asked again. It stays open until
// as many gaps follow as make one; then another takes its place, of those alone.
func TestAQuestionThatNobodyAnsweredGivesWayToAnother(t *testing.T) {
	c := &course{said: told("m1", Preference, minutes(10, 10))}
	c.said.Domain = "opening"
	at := Point{Tenant: "acme", User: "mia", Domain: "opening"}
	var asked []int
	for range 15 {
		c.live()
		if q, ok := NextQuestion(c.questions, at, noon.Add(time.Duration(c.day)*day+time.Hour)); ok {
			c.questions[len(c.questions)-1] = q.AskedBy("s", 1, q.Asked)
			asked = append(asked, c.day)
		}
		open := openOf(c.gaps)
		waits := asking(c.questions)[nameOf(c.said)]
		if c.day >= 3 && (waits == nil || len(open) != 3+c.day%3 || open[0].Question != waits.ID) {
			t.Errorf("day %d: %d gaps are open, and there waits %+v", c.day, len(open), waits)
		}
	}
	if want := []int{3, 6, 9, 12, 15}; !slices.Equal(asked, want) {
		t.Errorf("the user was asked on the days %v, want %v", asked, want)
	}
	first, second := c.questions[0], c.questions[1]
	if first.Answer != Unanswered || first.Answered.IsZero() || first.AnswerableBy("s", 2) || len(second.Gaps) != 3 || slices.Contains(second.Gaps, first.Gaps[0]) {
		t.Errorf("the first is %+v, the second %+v", first, second)
	}
	if _, err := Resolve(DefaultReconcile(), first, c.said, c.gaps, Answer{Resolution: Kept, At: noon}); host.ProblemOf(err) == nil || !strings.Contains(host.ProblemOf(err).Message, "nobody had answered it") {
		t.Errorf("answered late: %v", err)
	}
	if r, err := Resolve(DefaultReconcile(), c.questions[4], c.said, c.gaps, Answer{Resolution: Kept, At: noon}); err != nil || len(r.Gaps) != 3 {
		t.Errorf("the last one closes %d gaps, %v", len(r.Gaps), err)
	}
}

// While no decision comes at which to ask, gaps join the question; of very many the newest
// stay open.
func TestAQuestionThatIsNotAskedWaitsHoweverManyGapsJoinIt(t *testing.T) {
	c := &course{said: told("m1", Preference, minutes(10, 10))}
	for range maxOpenGaps + 10 {
		if r := c.live(); len(r.Lapsed) != 0 {
			t.Fatalf("day %d: it lapsed", c.day)
		}
	}
	open := openOf(c.gaps)
	if len(c.questions) != 1 || !c.questions[0].Answered.IsZero() || len(open) != maxOpenGaps || open[0].ID != c.gaps[10].ID || c.gaps[9].Closed != string(Unanswered) {
		t.Errorf("%d questions, %d open gaps", len(c.questions), len(open))
	}
}

func TestResolveRefuses(t *testing.T) {
	said := told("m1", Preference, minutes(10, 10))
	q := Question{ID: "q", Tenant: "acme", User: "mia", Memory: "m1"}
	for name, tt := range map[string]struct {
		q    Question
		said func(*Node)
		a    Answer
	}{
		"another memory":        {q, func(n *Node) { n.ID = "m2" }, Answer{Resolution: Kept}},
		"another user's":        {q, func(n *Node) { n.User = "bob" }, Answer{Resolution: Kept}},
		"another tenant's":      {q, func(n *Node) { n.Tenant = "other" }, Answer{Resolution: Kept}},
		"a habit":               {q, func(n *Node) { n.Layer = Behaviour }, Answer{Resolution: Kept}},
		"what is gone":          {q, func(n *Node) { n.Status = Superseded }, Answer{Resolution: Kept}},
		"an answered one":       {Question{ID: "q", Tenant: "acme", User: "mia", Memory: "m1", Answered: noon}, func(*Node) {}, Answer{Resolution: Kept}},
		"no resolution":         {q, func(*Node) {}, Answer{}},
		"new words without any": {q, func(*Node) {}, Answer{Resolution: Updated, Text: " "}},
		"too many new words":    {q, func(*Node) {}, Answer{Resolution: Updated, Text: strings.Repeat("长", MaxTextBytes)}},
	} {
		n := said
		tt.said(&n)
		if _, err := Resolve(DefaultReconcile(), tt.q, n, nil, tt.a); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.BadArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
}
