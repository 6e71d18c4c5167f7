package dispatch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// TestTheStrictestWinsAndNothingLoosens, for every combination and order of
// four opinions, with tiers that there are not among them.
func TestTheStrictestWinsAndNothingLoosens(t *testing.T) {
	tiers := []abi.Tier{"", abi.Auto, abi.SoftGate, abi.HardGate, abi.Block, "nonsense"}
	refusal := abi.NewProblem(abi.Refused, "no")
	var try func(opinions []opinion)
	try = func(opinions []opinion) {
		if len(opinions) == 4 {
			holdStrictest(t, opinions)
			return
		}
		for _, tier := range tiers {
			try(append(opinions[:len(opinions):len(opinions)], opinion{tier: tier}))
			try(append(opinions[:len(opinions):len(opinions)], opinion{tier: tier, problem: refusal}))
		}
	}
	try(nil)
}

func holdStrictest(t *testing.T, opinions []opinion) {
	t.Helper()
	all := strictest(opinions)
	refused, most := false, 0
	for _, o := range opinions {
		refused = refused || o.problem != nil
		if o.tier != "" {
			most = max(most, o.tier.Rank())
		}
	}
	if all.tier.Rank() != most || refused != (all.problem != nil) {
		t.Fatalf("%+v give %+v", opinions, all)
	}
	for n := range opinions { // who is asked later takes nothing back
		if some := strictest(opinions[:n]); some.tier.Rank() > all.tier.Rank() || some.problem != nil && all.problem == nil {
			t.Fatalf("%+v give %+v, and fewer of them %+v", opinions, all, some)
		}
	}
}

// writes changes the order tool of the guest.
func writes(change func(*abi.Tool)) func(*abi.Manifest) {
	return func(m *abi.Manifest) {
		for i := range m.Tools {
			if m.Tools[i].Name == "order" {
				change(&m.Tools[i])
			}
		}
	}
}

func TestWhatAnEffectImplies(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*abi.Tool)
		want   abi.Tier
	}{
		{"one target", func(*abi.Tool) {}, abi.SoftGate},
		{"with undo", func(tool *abi.Tool) { tool.Undo = "reorder" }, abi.SoftGate},
		{"a batch", func(tool *abi.Tool) { tool.Breadth = abi.Batch }, abi.HardGate},
		{"a category", func(tool *abi.Tool) { tool.Breadth = abi.Category }, abi.HardGate},
		{"two targets", func(tool *abi.Tool) { tool.Targets = "[args.item, 'shelf']" }, abi.HardGate},
		{"one target twice", func(tool *abi.Tool) { tool.Targets = "[args.item, args.item]" }, abi.SoftGate},
		{"no targets declared", func(tool *abi.Tool) { tool.Targets = "" }, abi.HardGate},
		{"no targets of this call", func(tool *abi.Tool) { tool.Targets = "args.count > 5 ? [args.item] : []" }, abi.HardGate},
		{"targets that cannot be told", func(tool *abi.Tool) { tool.Targets = "[args.item, string(1 / (args.count - 2))]" }, abi.HardGate},
		{"risk hard-gate", func(tool *abi.Tool) { tool.Risk = abi.HardGate; tool.Rules = nil }, abi.HardGate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, writes(tt.change))
			wantTier(t, g, call("order", `{"item":"pen","count":2}`), tt.want)
		})
	}
}

// wantTier takes a call through the gate.
func wantTier(t *testing.T, g *gate, c host.Call, want abi.Tier) host.Outcome {
	t.Helper()
	o := g.d.Do(context.Background(), g.catalog, c)
	if o.Tier != want {
		t.Fatalf("the tier is %q, want %q: %+v %v", o.Tier, want, o, o.Problem)
	}
	switch want {
	case abi.HardGate:
		wantProblem(t, o, host.Pending, abi.PendingApproval)
	case abi.Block:
		wantProblem(t, o, host.Failed, abi.RedLine)
	default:
		if !o.OK() {
			t.Fatalf("it did not run: %v", o.Problem)
		}
	}
	return o
}

func TestAModeOnlyRaisesTheTierOfWrites(t *testing.T) {
	for _, tt := range []struct {
		mode        host.Mode
		read, write abi.Tier
		safe        abi.Tier // of a write that is hard-gate by itself
	}{
		{"", abi.Auto, abi.SoftGate, abi.HardGate},
		{host.ModeAuto, abi.Auto, abi.SoftGate, abi.HardGate},
		{host.ModeSuggest, abi.Auto, abi.HardGate, abi.HardGate},
		{host.ModeNever, abi.Auto, abi.Block, abi.Block},
		{"whatever", abi.Auto, abi.Block, abi.Block},
	} {
		t.Run(string(tt.mode), func(t *testing.T) {
			g := newGate(t)
			for args, want := range map[string]abi.Tier{"total pen": tt.read, "order pen": tt.write, "order safe": tt.safe} {
				tool, item, _ := strings.Cut(args, " ")
				c := call(tool, map[string]string{"total": `{"item":"` + item + `"}`, "order": `{"item":"` + item + `","count":2}`}[tool])
				c.Mode = tt.mode
				wantTier(t, g, c, want)
			}
		})
	}
}

func TestTheSkillsOwnCheckTightensAndRefuses(t *testing.T) {
	g := newGate(t)
	for _, tt := range []struct {
		item, tool string
		want       abi.Tier
		says       string
	}{
		{"pen", "order", abi.SoftGate, ""},
		{"lamp", "order", abi.SoftGate, ""},
		{"cat", "order", abi.SoftGate, ""}, // auto loosens nothing
		{"safe", "order", abi.HardGate, "A safe is heavy."},
		{"bomb", "order", abi.Block, "Never a bomb."},
		{"spell", "order", abi.HardGate, "a tier that there is not"},
		{"usurper", "order", abi.HardGate, "not a skill's to give"},
		{"grenade", "order", abi.HardGate, "could not check this"},
		{"spy", "order", abi.HardGate, "I could not look."}, // it has no host functions
		{"safe", "total", abi.Auto, ""},                     // a read is not checked
	} {
		t.Run(tt.item, func(t *testing.T) {
			args := `{"item":"` + tt.item + `","count":2}`
			if tt.tool == "total" {
				args = `{"item":"` + tt.item + `"}`
			}
			o := wantTier(t, g, call(tt.tool, args), tt.want)
			if tt.says != "" && !strings.Contains(o.Problem.Message, tt.says) {
				t.Errorf("it says %q, want %q", o.Problem.Message, tt.says)
			}
		})
	}
	o := g.do("order", `{"item":"tiger","count":2}`)
	wantProblem(t, o, host.Failed, abi.NotAllowed)
	if o.Problem.Hint != "order a cat" || g.stored("total/tiger") != "" {
		t.Errorf("it ended with %+v and %s tigers", o.Problem, g.stored("total/tiger"))
	}
}

func TestASlowCheckCountsAsTheStricterAnswer(t *testing.T) {
	g := newGate(t)
	o := wantTier(t, g, call("order", `{"item":"clock","count":2}`), abi.HardGate)
	if !strings.Contains(o.Problem.Message, "could not check this") {
		t.Errorf("it says %q", o.Problem.Message)
	}
}

func TestTheUserIsToldOfASoftGateBeforeItRuns(t *testing.T) {
	g := newGate(t)
	var told []string
	do := func(tool, args string) host.Call {
		told = nil
		c := call(tool, args)
		c.Notice = func(words string) {
			if len(g.records(c.ID, host.RecordOutcome)) > 0 {
				t.Error("the user was told afterwards")
			}
			told = append(told, words)
		}
		g.d.Do(context.Background(), g.catalog, c)
		return c
	}
	if do("total", `{"item":"lamp"}`); len(told) != 0 {
		t.Errorf("of a read the user was told %q", told)
	}
	if do("order", `{"item":"safe","count":2}`); len(told) != 0 {
		t.Errorf("of a call that did not run the user was told %q", told)
	}
	c := do("order", `{"item":"lamp","count":2}`)
	if len(told) != 1 || told[0] != "A lamp is worth a word." {
		t.Errorf("the user was told %q", told)
	}
	told = nil
	if o := g.d.Do(context.Background(), g.catalog, c); !o.Replayed || len(told) != 0 {
		t.Errorf("of a stored outcome the user was told %q: %+v", told, o)
	}
	if do("order", `{"item":"pen","count":2}`); len(told) != 1 || told[0] != "Order some." {
		t.Errorf("without a reason the user was told %q", told)
	}
}

func TestAnApproverThatSaysYesLetsAHardGateRun(t *testing.T) {
	g := newGate(t)
	var asked []Question
	g.d.Approver = func(_ context.Context, q Question) bool { asked = append(asked, q); return len(asked) > 1 }
	wantProblem(t, g.do("order", `{"item":"safe","count":2}`), host.Pending, abi.PendingApproval)
	if o := g.do("order", `{"item":"safe","count":2}`); !o.OK() || o.Tier != abi.HardGate {
		t.Errorf("it ended with %+v", o)
	}
	if len(asked) != 2 || strings.Join(asked[1].Says, "") != "A safe is heavy." || asked[1].Release != "test.guest@1.0.0" {
		t.Errorf("it asked %+v", asked)
	}
	wantProblem(t, g.do("order", `{"item":"bomb","count":2}`), host.Failed, abi.RedLine)
}

func TestTheIntentSaysWhatAWriteTouches(t *testing.T) {
	g := newGate(t)
	c := call("order", `{"item":"pen","count":2}`)
	wantTier(t, g, c, abi.SoftGate)
	if intent := g.records(c.ID, host.RecordIntent); len(intent) != 1 || !strings.Contains(string(intent[0].Detail), `"targets":["pen"]`) {
		t.Errorf("the intent is %s", intent[0].Detail)
	}
}

// TestWhatCannotBeSettledIsNotBegun: more targets than the totals keep are
// refused before a person is asked, whatever the tool's breadth.
func TestWhatCannotBeSettledIsNotBegun(t *testing.T) {
	var names []string
	for n := range state.MaxDoneTargets + 1 {
		names = append(names, fmt.Sprintf("'%d'", n))
	}
	many := "[" + strings.Join(names, ",") + "]"
	for _, breadth := range []abi.Breadth{abi.One, abi.Batch, abi.Category} {
		g := newGate(t, writes(func(tool *abi.Tool) { tool.Breadth, tool.Targets = breadth, many }))
		g.d.Approver = func(context.Context, Question) bool { return true }
		o := g.do("order", `{"item":"pen","count":2}`)
		wantProblem(t, o, host.Failed, abi.QuotaReached)
		if o.Attempts != 0 || g.stored("total/pen") != "" {
			t.Errorf("%s: it ran %d times, %s stored", breadth, o.Attempts, g.stored("total/pen"))
		}
	}
}

func TestAnAnswerThatIsNoVerdictIsNone(t *testing.T) {
	for output, want := range map[string]abi.Tier{
		`{}`: "", `{"tier":"block","reason":"x"}`: abi.Block,
		`null`: abi.HardGate, ` null `: abi.HardGate, `[]`: abi.HardGate, `{"teir":"block"}`: abi.HardGate, `{} {}`: abi.HardGate, ``: abi.HardGate, `{"tier":"gate"}`: abi.HardGate,
		`{"tier":"block","tier":"auto"}`: abi.HardGate, `{"tier":"block","Tier":"auto"}`: abi.HardGate, `{"tier":"block","t\u0069er":"auto"}`: abi.HardGate, `{"TIER":"auto"}`: abi.HardGate,
	} {
		if o := readVerdict([]byte(output)); o.tier != want || o.problem != nil {
			t.Errorf("%q is the opinion %+v, want the tier %q", output, o, want)
		}
	}
}
