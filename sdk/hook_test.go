package sdk

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// logLines are grants that only keep what is logged.
type logLines struct {
	Grants
	lines []string
}

func (l *logLines) Log(line string) { l.lines = append(l.lines, line) }

// occasions are the vectors of the contract, which the host's side reads too, and
// what a host would never write.
func occasions(tb testing.TB) []string {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "abi", "testdata", "occasions.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var vectors []struct{ JSON json.RawMessage }
	if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) == 0 {
		tb.Fatal(err)
	}
	list := []string{
		`{}`, `{"call":null,"answer":null,"reply":null,"session":null,"now":null}`, `{"CALL":{"Tool":"a"},"Point":"x"}`, `{"abi":"1"}`, `{"point":1}`,
		`{"call":{"targets":"a"}}`, `{"call":{"targets":["a",null]}}`, `{"call":{"state":[]}}`, `{"answer":{"calls":[1]}}`, `{"answer":{"round":1.5}}`, `{"answer":{"outcomes":{}}}`,
		`{"answer":{"outcomes":[{"tool":"a","problem":3004},null,{}]}}`, `{"answer":{"outcomes":[1]}}`, `{"session":{"id":1}}`, `{"now":"soon"}`, `{"unknown":{"deep":[1]}}`, `{`, ``, `{}x`,
	}
	for _, v := range vectors {
		list = append(list, string(v.JSON))
	}
	return list
}

func TestAnOccasionIsReadAsEncodingJSONReadsIt(t *testing.T) {
	for _, text := range occasions(t) {
		compareOccasion(t, []byte(text))
	}
	for _, text := range []string{`null`, `[]`, `1`} {
		if _, ok := readOccasion([]byte(text)); ok {
			t.Errorf("%s is read", text)
		}
	}
}

func FuzzAnOccasionIsReadAsEncodingJSONReadsIt(f *testing.F) {
	for _, text := range occasions(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
			compareOccasion(t, text)
		}
	})
}

func compareOccasion(t *testing.T, text []byte) {
	t.Helper()
	var want abi.Occasion
	err := json.Unmarshal(text, &want)
	read, ok := readOccasion(text)
	if ok != (err == nil) {
		t.Fatalf("%q: read %v, want error %v", text, ok, err)
	}
	if !ok {
		return
	}
	o := Occasion{occasion: read}
	call, reply, answer := abi.OccasionCall{}, abi.OccasionReply{}, abi.OccasionAnswer{}
	if want.Call != nil {
		call = *want.Call
	}
	if want.Reply != nil {
		reply = *want.Reply
	}
	if want.Answer != nil {
		answer = *want.Answer
	}
	got := abi.Occasion{
		ABI: read.ABI, Point: o.Point(), Session: abi.OccasionSession{ID: o.Session(), User: o.User(), Tenant: o.Tenant(), Live: o.Live(), Locale: o.Locale()}, Input: o.Input(), Now: want.Now,
		Call:   &abi.OccasionCall{ID: o.Call(), Tool: o.Tool(), Skill: o.Skill(), Effect: read.Call.Effect, Tier: o.Tier(), Args: o.RawArgs(), State: read.Call.State, Targets: o.Targets()},
		Reply:  &abi.OccasionReply{Data: o.RawData(), Preview: reply.Preview},
		Answer: &abi.OccasionAnswer{Round: o.Round(), Text: o.Text(), Calls: o.Calls()},
	}
	for _, end := range o.Outcomes() {
		got.Answer.Outcomes = append(got.Answer.Outcomes, abi.OccasionOutcome{Tool: end.Tool, Status: end.Status, Problem: end.Problem, Preview: end.Preview})
	}
	if len(answer.Outcomes) == 0 {
		answer.Outcomes = nil
	}
	want.Call, want.Reply, want.Answer = &call, &reply, &answer
	if !timeOf(o.Now()).Equal(want.Now) || !reflect.DeepEqual(got, want) {
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		t.Fatalf("%q: read\n%s\nwant\n%s", text, a, b)
	}
}

// asked asks rules about a call of one writing tool.
func asked(t *testing.T, h *hooks, at abi.HookPoint) (abi.Opinion, bool, []string) {
	t.Helper()
	log := &logLines{}
	raw, ok := h.serve(h, []byte(`{"abi":1,"point":"`+string(at)+`","call":{"tool":"set_price","effect":"write","args":{"price":"x"},"state":{"a":1}}}`), log)
	var o abi.Opinion
	if ok {
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
	}
	return o, ok, log.lines
}

func gives(o abi.Opinion) func(Occasion) abi.Opinion { return func(Occasion) abi.Opinion { return o } }

func TestOfSeveralRulesTheStrictestCounts(t *testing.T) {
	no, never := Refuse(abi.NotAllowed, "no"), Refuse(abi.Refused, "never")
	h := &hooks{}
	h.add(gives(abi.Opinion{Tier: abi.HardGate, Say: "Ask.", Note: "one"}), []abi.HookPoint{abi.PreToolCall})
	h.add(gives(abi.Opinion{Tier: abi.Auto, Say: "Fine.", Note: "two"}), []abi.HookPoint{abi.PreToolCall, abi.PostReasoning})
	h.add(gives(abi.Opinion{}), []abi.HookPoint{abi.PreToolCall})
	if o, ok, _ := asked(t, h, abi.PreToolCall); !ok || !reflect.DeepEqual(o, abi.Opinion{Tier: abi.HardGate, Say: "Ask. Fine.", Note: "one; two"}) {
		t.Errorf("the opinion is %+v", o)
	}
	h.add(gives(abi.Opinion{Problem: no}), []abi.HookPoint{abi.PreToolCall})
	h.add(gives(abi.Opinion{Tier: "forbid", Problem: never}), []abi.HookPoint{abi.PreToolCall})
	if o, _, _ := asked(t, h, abi.PreToolCall); !reflect.DeepEqual(o.Problem, no) || o.Tier != "forbid" {
		t.Errorf("the opinion is %+v; the host has to learn of a tier that there is not", o)
	}
	if o, _, _ := asked(t, h, abi.PostReasoning); o.Tier != abi.Auto || o.Problem != nil {
		t.Errorf("rules of another point are asked: %+v", o)
	}
	if !reflect.DeepEqual(h.points, []abi.HookPoint{abi.PreToolCall, abi.PostReasoning}) {
		t.Errorf("the points are %v", h.points)
	}
}

func TestWhatCannotBeJudgedHasNoOpinion(t *testing.T) {
	h := &hooks{}
	h.add(func(Occasion) abi.Opinion { panic("secret detail") }, []abi.HookPoint{abi.PreToolCall})
	if _, ok, log := asked(t, h, abi.PreToolCall); ok || len(log) != 1 || !strings.Contains(log[0], "secret detail") {
		t.Errorf("a rule that panics gives an opinion: %v, %q", ok, log)
	}
	if _, ok, _ := asked(t, h, abi.PostToolCall); ok {
		t.Error("a point without a rule gives an opinion")
	}
	for _, text := range []string{``, `null`, `{"abi":2,"point":"pre_tool_call"}`, `{"abi":1}`} {
		if _, ok := h.answer([]byte(text), &logLines{}); ok {
			t.Errorf("%q gives an opinion", text)
		}
	}
}

func TestArgumentsOfAnotherFormAreAProblem(t *testing.T) {
	h := &hooks{}
	h.add(func(o Occasion) abi.Opinion {
		var in struct {
			Price float64 `json:"price"`
		}
		return abi.Opinion{Problem: o.Args(&in)}
	}, []abi.HookPoint{abi.PreToolCall})
	h.add(func(o Occasion) abi.Opinion {
		var text string
		found, problem := o.State("b", &text)
		if found || problem != nil {
			t.Errorf("there is no b: %v, %v", found, problem)
		}
		if found, problem = o.State("a", &text); found || problem == nil {
			t.Errorf("a is no text: %v, %v", found, problem)
		}
		if found, problem = o.Data(&text); found || problem != nil {
			t.Errorf("there are no data before the call: %v, %v", found, problem)
		}
		return abi.Opinion{}
	}, []abi.HookPoint{abi.PreToolCall})
	if o, ok, _ := asked(t, h, abi.PreToolCall); !ok || o.Problem == nil || o.Problem.Code != abi.Refused {
		t.Errorf("the opinion is %+v", o)
	}
}

func TestMistakesOfRulesAreListed(t *testing.T) {
	var s skill
	s.declare("acme.rules", "1.0.0", "Rules.", nil)
	s.hooks.add(nil, []abi.HookPoint{abi.PreToolCall})
	s.hooks.add(gives(abi.Opinion{}), nil)
	s.hooks.add(gives(abi.Opinion{}), []abi.HookPoint{"on_alert"})
	s.add(newTool("quote", func(Call, struct{}) (int, error) { return 0, nil }, []ToolOption{Summary("Quote.")}))
	_, err := s.describe()
	if err == nil {
		t.Fatal("it is described")
	}
	for _, want := range []string{"the rule of an sdk.Hook is nil", "names no point", `names the point "on_alert", which there is not`, "a policy module has no tools"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the mistakes are %v, want %q", err, want)
		}
	}
	var plain skill
	plain.declare("acme.rules", "1.0.0", "Rules.", nil)
	plain.hooks.add(gives(abi.Opinion{}), []abi.HookPoint{abi.PostReasoning, abi.PreToolCall})
	if raw, err := plain.describe(); err != nil || !strings.Contains(string(raw), `"hooks":["pre_tool_call","post_reasoning"]`) || strings.Contains(string(raw), `"tools"`) {
		t.Errorf("the manifest is %s, %v", raw, err)
	}
}
