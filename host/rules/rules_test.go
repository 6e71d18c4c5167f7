package rules

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

func TestAModuleJudgesCallsBeforeAndAfterThem(t *testing.T) {
	c := newCourt(t)
	c.enforce("  - skill: test.rules@1.0.0\n")
	for _, tt := range []struct {
		name, item string
		want       abi.Code
		words      string
	}{
		{"nothing to say", "pen", 0, ""},
		{"refuses", "rule:refuse", abi.NotAllowed, "the rule says no to order_once"},
		{"asks a person", "rule:ask", abi.PendingApproval, "The rule wants to be asked."},
		{"blocks", "rule:block", abi.RedLine, "The rule never allows this."},
		{"auto loosens nothing", "rule:auto", 0, ""},
		{"refuses the result", "rule:result", abi.NotAllowed, `not with the result {"item":"rule:result","total":2}`},
		{"a trap", "rule:panic", abi.RedLine, "could not decide"},
		{"out of fuel", "rule:spin", abi.RedLine, "could not decide"},
		{"out of memory", "rule:hoard", abi.RedLine, "could not decide"},
		{"a tier that there is not", "rule:forbid", abi.RedLine, "it asks for a tier that there is not"},
		{"a code of the host's", "rule:host code", abi.RedLine, "not a skill's to give"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := c.order("acme", tt.item)
			wantEnd(t, o, tt.want, tt.words)
			if o.OK() && o.Tier != abi.SoftGate {
				t.Errorf("the tier is %s; a write is at least soft-gate", o.Tier)
			}
			if o.Problem != nil && strings.Contains(o.Problem.Message+o.Problem.Hint, "secret") {
				t.Errorf("the model is told %v", o.Problem)
			}
		})
	}
}

func TestATierAfterTheCallIsNoOpinion(t *testing.T) {
	c := newCourt(t)
	c.enforce("  - {skill: test.rules@1.0.0, points: [post_tool_call]}\n")
	wantEnd(t, c.order("acme", "rule:late"), abi.RedLine, "asks for the tier block where there is none")
	wantEnd(t, c.order("acme", "rule:refuse"), abi.NotAllowed, "")
	wantEnd(t, c.order("acme", "rule:ask"), 0, "") // it is not asked before the call
}

func TestASlowModuleRefusesInItsTime(t *testing.T) {
	c := newCourt(t)
	c.publish(rulesGuest, func(m *abi.Manifest) {
		m.Version, m.Limits = "1.1.0", abi.Limits{Fuel: 5_000_000_000, Deadline: abi.Duration(20 * time.Second)}
	})
	c.enforce("  - {skill: test.rules@1.1.0, deadline: 50ms}\n")
	o := c.order("acme", "rule:spin")
	wantEnd(t, o, abi.Unavailable, "the rules test.rules@1.1.0 could not decide")
	if r := c.recorded(o, "acme"); !strings.Contains(r, "units of fuel") {
		t.Errorf("what it used is not on record: %s", r)
	}
}

func TestAModuleHasTheTimeOfAnyHookUnlessThePolicyGivesIt(t *testing.T) {
	if d := deadlineOf(manifest.PolicyHook{}); d != host.DefaultHookTime {
		t.Errorf("without a word it has %s", d)
	}
	if d := deadlineOf(manifest.PolicyHook{Deadline: time.Minute}); d != time.Minute {
		t.Errorf("it has %s of a minute", d)
	}
}

func TestAnObserverDecidesNothing(t *testing.T) {
	c := newCourt(t)
	c.enforce("  - {skill: test.rules@1.0.0, observer: true}\n")
	for item, note := range map[string]string{
		"rule:refuse": "would refuse with 3002", "rule:block": "would ask for block", "rule:panic": "could not decide", "rule:spin": "could not decide", "pen": "no objection",
	} {
		o := c.order("acme", item)
		wantEnd(t, o, 0, "")
		if r := c.recorded(o, "acme"); !strings.Contains(r, "hook test.rules@1.0.0: "+note) {
			t.Errorf("%s: on record is %s, want %q", item, r, note)
		}
	}
}

// TestTheStrictestWinsInAnyOrder: who says auto, or nothing, takes nothing back of
// what another one decided, before or after it.
func TestTheStrictestWinsInAnyOrder(t *testing.T) {
	c := newCourt(t)
	auto := host.Hook{Name: "auto", PreToolCall: func(context.Context, host.ToolCall) (host.Opinion, error) {
		return host.Opinion{Tier: abi.Auto}, nil
	}}
	deny := host.Hook{Name: "deny", PreToolCall: func(context.Context, host.ToolCall) (host.Opinion, error) {
		return host.Opinion{Problem: abi.NewProblem(abi.Refused, "the other one says no")}, nil
	}}
	c.enforce("  - skill: test.rules@1.0.0\n", auto)
	wantEnd(t, c.order("acme", "rule:block"), abi.RedLine, "never allows")
	wantEnd(t, c.order("acme", "rule:refuse"), abi.NotAllowed, "")
	c.enforce("  - skill: test.rules@1.0.0\n", deny)
	wantEnd(t, c.order("acme", "rule:auto"), abi.Refused, "the other one says no")

	hooks, err := c.load("  - skill: test.rules@1.0.0\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.d.Hooks, err = host.NewHooks(deny, hooks[0]); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, c.order("acme", "rule:auto"), abi.Refused, "the other one says no")
	wantEnd(t, c.order("acme", "rule:refuse"), abi.Refused, "the other one says no") // the first refusal is told
}

func TestModulesAreAskedInTheOrderOfThePolicy(t *testing.T) {
	c := newCourt(t)
	for _, name := range []string{"b.rules", "a.rules"} {
		c.publish(rulesGuest, func(m *abi.Manifest) { m.Name = name })
	}
	c.enforce("  - skill: b.rules@1.0.0\n  - skill: test.rules@1.0.0\n  - skill: a.rules@1.0.0\n")
	o := c.order("acme", "pen")
	wantEnd(t, o, 0, "")
	r, at := c.recorded(o, "acme"), -1
	for _, name := range []string{"b.rules", "test.rules", "a.rules"} {
		next := strings.Index(r, "hook "+name+"@1.0.0: no objection")
		if next <= at {
			t.Errorf("%s is not asked after the one before it: %s", name, r)
		}
		at = next
	}
}

func TestAModuleOfOneTenantIsNotAskedForOthers(t *testing.T) {
	c := newCourt(t)
	c.publish(rulesGuest, func(m *abi.Manifest) { m.Name = "globex.rules" })
	c.enforce("  - {skill: test.rules@1.0.0, tenants: [acme]}\n  - {skill: globex.rules@1.0.0, tenants: [globex, initech], points: [post_tool_call]}\n")
	wantEnd(t, c.order("acme", "rule:refuse"), abi.NotAllowed, "")
	wantEnd(t, c.order("acme", "rule:result"), abi.NotAllowed, "")
	wantEnd(t, c.order("globex", "rule:result"), abi.NotAllowed, "")
	other := c.order("globex", "rule:block") // before the call only acme's would
	wantEnd(t, other, 0, "")
	if r := c.recorded(other, "globex"); strings.Contains(r, "hook test.rules") || !strings.Contains(r, "hook globex.rules@1.0.0: no objection") {
		t.Errorf("on record is %s", r)
	}
	nobodys := c.order("hooli", "rule:panic")
	wantEnd(t, nobodys, 0, "")
	if r := c.recorded(nobodys, "hooli"); strings.Contains(r, "rules@") {
		t.Errorf("on record is %s", r)
	}
	if c.d.Hooks.GuardsAnswers("globex") || !c.d.Hooks.GuardsAnswers("acme") {
		t.Error("answers are held back for whom nobody judges, or not for whom somebody does")
	}
}

func TestWhatAModuleDecidedIsOnRecord(t *testing.T) {
	c := newCourt(t)
	c.enforce("  - skill: test.rules@1.0.0\n")
	digest := host.Digest(sandboxtest.Build(t, rulesGuest))[:12]
	for item, want := range map[string][]string{
		"pen":         {"hook test.rules@1.0.0: no objection (sha256 " + digest, "units of fuel", "of memory"},
		"rule:ask":    {"hook test.rules@1.0.0: asks for hard-gate (sha256"},
		"rule:refuse": {"hook test.rules@1.0.0: refuses with 3002 (sha256", "of memory); the rule says no"},
		"rule:panic":  {"hook test.rules@1.0.0: could not decide (sha256 ", "panic: secret detail"},
		"rule:tell": {
			"pre_tool_call|s1|mia|acme|l1|en|1|test.guest@1.0.0|true|{\\\"count\\\":2,\\\"item\\\":\\\"rule:tell\\\"}||[]||0|[]|[]|", "seen pre_tool_call",
			"post_tool_call|s1|mia|acme|l1|en|1|test.guest@1.0.0|true|{\\\"count\\\":2,\\\"item\\\":\\\"rule:tell\\\"}|soft-gate|[rule:tell]|{\\\"item\\\":\\\"rule:tell\\\",\\\"total\\\":2}|0|[]|[]|",
		},
	} {
		r := c.recorded(c.order("acme", item), "acme")
		for _, part := range want {
			if !strings.Contains(r, part) {
				t.Errorf("%s: on record is\n%s\nwant %s", item, r, part)
			}
		}
	}
}

func TestTheWordsOfAModuleAreCut(t *testing.T) {
	c := newCourt(t)
	c.publish(rulesGuest, func(m *abi.Manifest) { m.Version, m.Limits = "1.1.0", abi.Limits{Fuel: 5_000_000_000} })
	hooks, err := c.load("  - {skill: test.rules@1.1.0, deadline: 10s}\n")
	if err != nil {
		t.Fatal(err)
	}
	o, _ := hooks[0].PreToolCall(t.Context(), host.ToolCall{Args: json.RawMessage(`{"item":"rule:long"}`)})
	if o.Problem == nil || o.Problem.Code != abi.NotAllowed {
		t.Fatalf("it decides %+v", o)
	}
	text, err := json.Marshal(o.Problem)
	if err != nil || len(text) > 6000 || len(o.Problem.Candidates) > maxNearWords || len(o.Note) > 2000 {
		t.Errorf("the problem has %d bytes, the note %d: %v", len(text), len(o.Note), err)
	}
	c.enforce("  - {skill: test.rules@1.1.0, deadline: 10s}\n")
	r := c.recorded(c.order("acme", "rule:long"), "acme") // where a call's notes are cut once more
	for _, want := range []string{"refuses with 3002 (sha256 ", "units of fuel", "of memory); 很"} {
		if !strings.Contains(r, want) {
			t.Errorf("on record is %s, want %q", r, want)
		}
	}
}

func TestAnswersAreJudged(t *testing.T) {
	c := newCourt(t)
	hooks, err := c.load("  - skill: test.rules@1.0.0\n")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) host.Opinion {
		o, err := hooks[0].PostReasoning(t.Context(), host.Reasoning{
			Session: host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}, Live: "l1", Input: 3, Round: 2, Text: text, Calls: []string{"order", "total"},
			Outcomes: []host.Outcome{
				{Tool: "total", Status: host.Failed, Problem: abi.NewProblem(abi.NotFound, "no such thing")},
				{Tool: "order", Status: host.Done, Data: json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := ask("it is done"); o.Problem != nil || o.Tier != "" || !strings.HasPrefix(o.Note, "no objection") {
		t.Errorf("the opinion is %+v", o)
	}
	if o := ask("rule:refuse"); o.Problem == nil || o.Problem.Code != abi.NotAllowed || o.Problem.Hint != "Take a pen." {
		t.Errorf("the opinion is %+v", o)
	}
	if o := ask("rule:ask"); o.Problem == nil || o.Problem.Code != abi.RedLine {
		t.Errorf("the opinion is %+v; there is no tier to raise", o)
	}
	told := ask("rule:tell").Note
	for _, part := range []string{"post_reasoning|s1|mia|acme|l1||3||", "|2|[order total]|[{total failed 3004 } {order done 0 \"xxx"} {
		if !strings.Contains(told, part) {
			t.Errorf("it is told %.300s, want %s", told, part)
		}
	}
	if strings.Contains(told, strings.Repeat("x", abi.OutcomePreviewBytes)) {
		t.Error("it is told all of a long result")
	}
}

// TestEveryQuestionMeetsTheModuleAsNew: the same question takes the same fuel and
// memory to the unit, whatever was asked in between.
func TestEveryQuestionMeetsTheModuleAsNew(t *testing.T) {
	c := newCourt(t)
	hooks, err := c.load("  - skill: test.rules@1.0.0\n")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(item string) string {
		o, err := hooks[0].PreToolCall(t.Context(), host.ToolCall{Args: json.RawMessage(`{"item":"` + item + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return o.Note
	}
	first := ask("rule:tell")
	for _, between := range []string{"rule:hoard", "rule:panic", "rule:long", "pen"} {
		ask(between)
		if again := ask("rule:tell"); again != first {
			t.Errorf("after %s it is\n%s\nand was\n%s", between, again, first)
		}
	}
}

func TestAHostWhoseRulesAreNotWholeHasNone(t *testing.T) {
	c := newCourt(t)
	c.publish("sdk/testdata/room/module", func(m *abi.Manifest) {
		m.Name, m.Version, m.Capabilities, m.Tools, m.Hooks = "bad.http", "1.0.0", abi.Capabilities{}, nil, abi.HookPoints()
	})
	c.publish(toolsGuest, nil)
	for _, tt := range []struct {
		name, policy string
		want         abi.Code
		words        string
	}{
		{"it is not there", "  - skill: test.rules@1.0.0\n  - skill: test.rules@9.9.9\n", abi.NotFound, "the policy module test.rules@9.9.9 cannot be loaded"},
		{"it imports http", "  - skill: bad.http@1.0.0\n", abi.NotGranted, "imports sluice_"},
		{"it is a skill with tools", "  - skill: test.guest@1.0.0\n", abi.InvalidManifest, "is no policy module"},
		{"other bytes than the policy pins", "  - {skill: test.rules@1.0.0, sha256: " + strings.Repeat("0a", 32) + "}\n", abi.DigestMismatch, "the policy says 0a0a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hooks, err := c.load(tt.policy)
			if hooks != nil || err == nil || host.ProblemOf(err).Code != tt.want || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%d hooks, %v; want %d with %q", len(hooks), err, tt.want, tt.words)
			}
		})
	}
	c.publish(rulesGuest, func(m *abi.Manifest) { m.Version, m.Hooks = "2.0.0", []abi.HookPoint{abi.PreToolCall} })
	if _, err := c.load("  - {skill: test.rules@2.0.0, points: [post_reasoning]}\n"); err == nil || !strings.Contains(err.Error(), "it judges only at") {
		t.Errorf("a point that the module does not declare: %v", err)
	}
	hooks, err := c.load("  - {skill: test.rules@2.0.0, sha256: " + host.Digest(sandboxtest.Build(t, rulesGuest)) + "}\n")
	if err != nil || len(hooks) != 1 || hooks[0].PreToolCall == nil || hooks[0].PostToolCall != nil || hooks[0].PostReasoning != nil {
		t.Errorf("the hooks are %+v, %v", hooks, err)
	}
}

func TestPolicyModulesAreNoSkillsOfASession(t *testing.T) {
	c := newCourt(t)
	if _, err := c.set.Newest(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.set.Current() {
		if r.Judges() {
			t.Errorf("%s is a current release", r)
		}
	}
	if _, pins := c.set.Catalog(t.Context(), nil); pins["test.rules"] != "" {
		t.Errorf("a session is pinned to %v", pins)
	}
}

func TestOpinionsMeanWhatTheVectorsSay(t *testing.T) {
	raw, err := os.ReadFile("../../abi/testdata/opinions.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Raw, Means string
		Point            abi.HookPoint
	}
	if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) == 0 {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if got := meaning(readOpinion([]byte(v.Raw), v.Point)); got != v.Means {
			t.Errorf("%s: means %s, want %s", v.Name, got, v.Means)
		}
	}
}

func meaning(o abi.Opinion, wrong string) string {
	switch {
	case wrong != "":
		return "broken"
	case o.Problem != nil:
		return "refused"
	case o.Tier != "" && o.Tier != abi.Auto:
		return string(o.Tier)
	}
	return "nothing"
}

// FuzzOpinion: whatever a module answers is read or refused, and what is read can
// be an opinion at its point.
func FuzzOpinion(f *testing.F) {
	for _, seed := range []string{`{}`, `{"tier":"block"}`, `{"problem":{"code":3002,"message":"no"}}`, `{"tier":1}`, `null`, `{}{}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, at := range abi.HookPoints() {
			o, wrong := readOpinion(raw, at)
			if wrong == "" && o.Check(at) != "" || wrong != "" && o != (abi.Opinion{}) {
				t.Errorf("%q at %s: %+v, %q", raw, at, o, wrong)
			}
		}
	})
}
