package memory

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
)

func (s *scene) begin(raw json.RawMessage) {
	var step struct {
		Do    string
		Trust float64
	}
	s.read(raw, &step)
	s.initial = step.Trust
}

func (s *scene) trace(raw json.RawMessage) {
	var step struct {
		Do, ID, Domain string
		Tenant         host.TenantID
		User           host.UserID
		Action         Decision
		Lift           *float64
		Right          *bool
		At             int
		Want           struct {
			Trust float64
			Form  Form
		}
	}
	s.read(raw, &step)
	t := Trace{ID: step.ID, Tenant: cmp.Or(step.Tenant, "acme"), User: cmp.Or(step.User, "mia"), Domain: cmp.Or(step.Domain, "pricing"),
		Action: step.Action, Lift: step.Lift, AgentRight: step.Right}
	trust := s.score(t.TrustKey())
	t, after, ok := Attribute(trust, t, onDay(0).Add(time.Duration(step.At)*time.Minute))
	if after != step.Want.Trust || FormOf(after) != step.Want.Form {
		s.errorf("the trust is %v and the form %s, want %v and %s", after, FormOf(after), step.Want.Trust, step.Want.Form)
	}
	if ok == t.Attributed.IsZero() {
		s.errorf("attributed is %v, and at %v", ok, t.Attributed)
	}
	if ok {
		s.scores[t.TrustKey()] = after
	}
	s.traces = append(s.traces, t)
}

func (s *scene) score(k TrustKey) float64 {
	if score, ok := s.scores[k]; ok {
		return score
	}
	return s.initial
}

// again attributes a trace that was attributed.
func (s *scene) again(raw json.RawMessage) {
	var step struct {
		Do, ID string
		Want   struct{ Trust float64 }
	}
	s.read(raw, &step)
	t := s.traces[slices.IndexFunc(s.traces, func(t Trace) bool { return t.ID == step.ID })]
	if _, after, ok := Attribute(s.score(t.TrustKey()), t, onDay(9)); ok || after != step.Want.Trust {
		s.errorf("attributed again: %v, %v", after, ok)
	}
	s.traces = append(s.traces, t) // a log may hold it twice
}

func (s *scene) forge(raw json.RawMessage) {
	var step struct {
		Do, ID string
		Delta  float64
	}
	s.read(raw, &step)
	for i := range s.traces {
		if s.traces[i].ID == step.ID {
			s.traces[i].TrustDelta = step.Delta
		}
	}
}

func (s *scene) replay(raw json.RawMessage) {
	var step struct {
		Do   string
		Want struct {
			Scores map[string]float64
			Differ []string
		}
	}
	s.read(raw, &step)
	back := slices.Clone(s.traces)
	slices.Reverse(back)
	for _, traces := range [][]Trace{s.traces, back} {
		r := Replay(s.initial, traces)
		if len(r.Scores) != len(step.Want.Scores) || !slices.Equal(r.Differ, step.Want.Differ) {
			s.errorf("replayed %+v, want %+v", r, step.Want)
		}
		for k, score := range r.Scores {
			want, ok := step.Want.Scores[strings.Join([]string{string(k.Tenant), string(k.User), k.Domain}, "/")]
			if !ok || score != want || score != s.score(k) {
				s.errorf("%+v is replayed as %v, want %v; it was %v", k, score, want, s.score(k))
			}
		}
	}
}

// form tells the form of a trust, or holds an answer to it.
func (s *scene) form(raw json.RawMessage) {
	var step struct {
		Do, Text string
		Trust    float64
		Want     struct {
			Form    Form
			Allowed bool
		}
	}
	s.read(raw, &step)
	form := FormOf(step.Trust)
	if step.Text == "" {
		if form != step.Want.Form {
			s.errorf("%v gives %s, want %s", step.Trust, form, step.Want.Form)
		}
		return
	}
	if found := CheckForm(form, step.Text, Given{}); (len(found) == 0) != step.Want.Allowed {
		s.errorf("%q as %s: %+v", step.Text, form, found)
	}
}

func (s *scene) parts(raw json.RawMessage) {
	var step struct {
		Do, Text string
		Want     struct{ Missing []string }
	}
	s.read(raw, &step)
	if got := MissingParts(step.Text); !slices.Equal(got, step.Want.Missing) {
		s.errorf("%q lacks %v, want %v", step.Text, got, step.Want.Missing)
	}
}

func (s *scene) instruct(raw json.RawMessage) {
	var step struct {
		Do, Locale string
		Trust      float64
		Want       struct{ Has []string }
	}
	s.read(raw, &step)
	text := FormOf(step.Trust).Instruction(step.Locale)
	for _, want := range step.Want.Has {
		if !strings.Contains(text, want) {
			s.errorf("the instruction lacks %q: %s", want, text)
		}
	}
}

// judge weighs a memory at noon, in a scene, or decides what the job does with it.
func (s *scene) judge(raw json.RawMessage) {
	var step struct {
		Do, Scene, Locale string
		Node              agedNode
		Want              struct {
			Archive bool
			Reason  string
			Score   []float64
			Factors map[string]float64
			Has     []string
		}
	}
	s.read(raw, &step)
	set, n := DefaultForget(), step.Node.node()
	fate := set.Judge(n, noon, step.Locale)
	worth := fate.Worth
	if step.Do == "weigh" {
		worth = set.Weigh(n, step.Scene, noon, step.Locale)
	} else if fate.Archive != step.Want.Archive || fate.Reason != step.Want.Reason {
		s.errorf("archive %v for %s (%s), want %v for %s", fate.Archive, fate.Reason, fate.Why, step.Want.Archive, step.Want.Reason)
	}
	if w := step.Want.Score; len(w) == 2 && (worth.Score < w[0] || worth.Score > w[1]) {
		s.errorf("the score is %v, want %v: %+v", worth.Score, w, worth.Factors)
	}
	told, product := fate.Why, 1.0
	for _, f := range worth.Factors {
		told, product = told+"\n"+f.Why, product*f.Value
		if want, ok := step.Want.Factors[f.Name]; ok && math.Abs(f.Value-want) > 1e-9 {
			s.errorf("%s is %v (%s), want %v", f.Name, f.Value, f.Why, want)
		}
		if f.Why == "" || f.Value < 0 || f.Value > 1 {
			s.errorf("the factor %+v", f)
		}
	}
	if len(worth.Factors) != 4 || math.Abs(product-worth.Score) > 1e-12 {
		s.errorf("the score %v is not the product of %+v", worth.Score, worth.Factors)
	}
	for _, want := range step.Want.Has {
		if !strings.Contains(told, want) {
			s.errorf("it is told as %q, without %q", told, want)
		}
	}
}

// An agedNode is a memory with its times in days before noon.
type agedNode struct {
	Kind      Kind
	Layer     Layer
	Freshness Freshness
	Status    Status
	Scene     string
	Trust     float64
	Pinned    bool
	Verified  int
	Recalls   int
	Adopts    int
	Age       int
	Used      *int
	Agreed    *int
	Until     *int // days after noon
}

func (a agedNode) node() Node {
	before := func(days int) time.Time { return noon.AddDate(0, 0, -days) }
	n := Node{ID: "m1", Tenant: "acme", User: "mia", Kind: a.Kind, Layer: a.Layer, Freshness: a.Freshness, Status: cmp.Or(a.Status, Active), Scene: a.Scene,
		Trust: a.Trust, Pinned: a.Pinned, Verified: a.Verified, Recalls: a.Recalls, Adopts: a.Adopts, At: before(a.Age)}
	if a.Used != nil {
		n.LastUsed = before(*a.Used)
	}
	if a.Agreed != nil {
		n.Agreed = before(*a.Agreed)
	}
	if a.Until != nil {
		n.Valid.Until = before(-*a.Until)
	}
	return n
}
