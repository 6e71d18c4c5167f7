package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// asksFor makes a gate whose order tool is hard-gate from a price on.
func asksFor(t *testing.T) *gate {
	return newGate(t, writes(func(tool *abi.Tool) {
		tool.Rules = []abi.Rule{{When: "args.count > 5", Tier: abi.HardGate, Say: "{{args.count}} are many."}, {When: "args.item == 'poison'", Tier: abi.Block}}
	}))
}

// pend makes a call that is to wait for a person, and gives the question.
func (g *gate) pend(c host.Call) state.Approval {
	g.t.Helper()
	o := g.d.Do(context.Background(), g.catalog, c)
	if o.Status != host.Pending || o.Problem.Code != abi.PendingApproval {
		g.t.Fatalf("it ended with %+v, %v; it should wait", o, o.Problem)
	}
	return g.question(o.Approval)
}

func (g *gate) question(id host.ApprovalID) state.Approval {
	g.t.Helper()
	a, found, err := g.store.Approval(context.Background(), session.Tenant, id)
	if err != nil || !found {
		g.t.Fatalf("question %q is not there: %v", id, err)
	}
	return a
}

func (g *gate) answer(a state.Approval, approve bool, words string) {
	g.t.Helper()
	_, err := g.store.AnswerApproval(context.Background(), state.ApprovalAnswer{Tenant: a.Session.Tenant, ID: a.ID, Digest: a.Digest, Approve: approve, By: "boss", Words: words})
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gate) run(c host.Call) host.Outcome { return g.d.Do(context.Background(), g.catalog, c) }

// again is a call that means the same as another, of a later message.
func again(c host.Call) host.Call {
	next := call(c.Tool, c.Args)
	next.Input, next.Serves = c.Input, c.Serves
	return next
}

func TestAHardGateAsksAPersonAboutExactlyThisCall(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"count":6.0, "item":"pen"}`)
	o := g.run(c)
	wantProblem(t, o, host.Pending, abi.PendingApproval)
	if !strings.Contains(o.Problem.Message, string(o.Approval)) || !strings.Contains(o.Problem.Hint, "Do not call it again") {
		t.Errorf("the model is told %v, %s", o.Problem, o.Problem.Hint)
	}
	a := g.question(o.Approval)
	asked, err := ReadAsked(a)
	if err != nil || asked.Name() != "test.guest.order" || asked.Release != "test.guest@1.0.0" || string(asked.Args) != `{"count":6,"item":"pen"}` || asked.Tier != abi.HardGate ||
		asked.Serves != c.Input || strings.Join(asked.Says, "") != "6 are many." {
		t.Errorf("it is asked %+v, %v", asked, err)
	}
	g.wantKinds(c.ID, host.RecordQuestion, host.RecordRefusal)
	if g.stored("total/pen") != "" {
		t.Error("it ran")
	}
	if same := g.pend(again(c)); same.ID != a.ID {
		t.Errorf("the same call is asked about twice: %s and %s", a.ID, same.ID)
	}
}

// H30.
func TestH30AnApprovalRunsOneCallOnceAndTheSameCallAgainAfterACrash(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"item":"pen","count":6}`)
	a := g.pend(c)
	g.answer(a, true, "")
	run := again(c)
	run.Approval = a.ID
	f := newFlight(g.d, g.catalog, run)
	for _, do := range []func(context.Context) *abi.Problem{f.resolve, f.check, f.gate} {
		if problem := do(context.Background()); problem != nil {
			t.Fatal(problem)
		}
	} // and here it dies
	if now := g.question(a.ID); now.Status != state.ApprovalUsed || now.UsedBy != run.ID {
		t.Fatalf("the approval is %+v", now)
	}
	for range 2 {
		if o := g.run(run); !o.OK() || o.Approval != a.ID || g.stored("total/pen") != "6" {
			t.Fatalf("it ended with %+v %v, %s stored", o, o.Problem, g.stored("total/pen"))
		}
	}
	other := again(c)
	other.Approval = a.ID
	wantProblem(t, g.run(other), host.Failed, abi.Conflict)
	if next := g.pend(again(c)); next.ID == a.ID {
		t.Error("the same once more is no new question")
	}
}

// Where the tier is milder by the time that the answer comes, the approval is
// used up all the same.
func TestAnApprovedCallThatNeedsNoYesAnyMoreUsesItUp(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"item":"pen","count":2}`)
	c.Mode = host.ModeSuggest
	a := g.pend(c)
	run := again(c)
	run.Approval = a.ID
	if o := g.run(run); o.OK() {
		t.Error("it ran without its answer")
	}
	g.answer(a, true, "")
	if o := g.run(run); !o.OK() || o.Tier != abi.SoftGate || g.question(a.ID).UsedBy != run.ID {
		t.Fatalf("it ended with %+v %v", o, o.Problem)
	}
	other := again(c)
	other.Approval = a.ID
	wantProblem(t, g.run(other), host.Failed, abi.Conflict)
}

// H19, P28: whatever changes about the call, the old approval is not for it.
func TestH19ChangedArgumentsUnderAnOldApprovalDoNotRun(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"item":"pen","count":6}`)
	a := g.pend(c)
	g.answer(a, true, "")
	for name, change := range map[string]func(*host.Call){
		"more of it":          func(c *host.Call) { c.Args = `{"item":"pen","count":7}` },
		"with the same id":    func(c *host.Call) { c.ID, c.Args = a.Call, `{"item":"pen","count":70}` },
		"another session":     func(c *host.Call) { c.Session.Session = "s-other" },
		"and by its name":     func(c *host.Call) { c.Approval, c.Args = a.ID, `{"item":"pen","count":8}` },
		"elsewhere by name":   func(c *host.Call) { c.Approval, c.Session.User = a.ID, "eve" },
		"with one thing more": func(c *host.Call) { c.Args = `{"item":"pen","count":6,"price":1}` },
	} {
		t.Run(name, func(t *testing.T) {
			changed := again(c)
			change(&changed)
			if asked := g.pend(changed); asked.ID == a.ID {
				t.Error("it is the old question")
			}
		})
	}
	if now := g.question(a.ID); now.Status != state.ApprovalApproved || g.stored("total/pen") != "" {
		t.Errorf("the approval is %s, and %s are stored", now.Status, g.stored("total/pen"))
	}
	// A soft-gate call that is named as the approved one is not that either.
	mild := call("order", `{"item":"pen","count":2}`)
	mild.Approval = a.ID
	wantProblem(t, g.run(mild), host.Failed, abi.NotAllowed)
}

func TestAnotherReleaseIsAnotherQuestion(t *testing.T) {
	asked := Asked{Skill: "s", Tool: "t", Release: "s@1.0.0", Args: json.RawMessage(`{}`), Tier: abi.HardGate}
	digests := []string{asked.digest("00"), asked.digest("01")}
	for _, change := range []func(*Asked){
		func(a *Asked) { a.Release = "s@1.0.1" }, func(a *Asked) { a.Tool = "u" }, func(a *Asked) { a.Skill = "z" },
		func(a *Asked) { a.Tier = abi.Block }, func(a *Asked) { a.Args = json.RawMessage(`{"a":1}`) },
	} {
		other := asked
		change(&other)
		digests = append(digests, other.digest("00"))
	}
	slices.Sort(digests)
	if distinct := slices.Compact(digests); len(distinct) != 7 {
		t.Errorf("7 different calls have %d digests", len(distinct))
	}
	asked.Says, asked.Serves = []string{"why"}, 9
	if !slices.Contains(digests, asked.digest("00")) {
		t.Error("the reasons, or who asks when, are part of the digest")
	}
}

// F88, H21.
func TestANoIsToldWithItsWordsAndHoldsForWhatItWasSaidTo(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(g *gate, a state.Approval)
		told   string
	}{
		"rejected": {func(g *gate, a state.Approval) { g.answer(a, false, "too many pens") }, `"too many pens"`},
		"H21 conflicting answers run neither": {func(g *gate, a state.Approval) {
			g.answer(a, true, "fine")
			g.answer(a, false, "not at all")
		}, "one person said yes and one said no"},
		"taken back": {func(g *gate, a state.Approval) {
			if _, err := g.store.CancelApproval(context.Background(), session.Tenant, a.ID, "boss", "never mind"); err != nil {
				g.t.Fatal(err)
			}
		}, `"never mind"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := asksFor(t)
			c := call("order", `{"item":"pen","count":6}`)
			a := g.pend(c)
			tt.answer(g, a)
			for _, byHost := range []bool{false, true} {
				same := again(c)
				if byHost {
					same.Approval, same.Serves, same.Input = a.ID, c.Input, c.Input+1
				}
				o := g.run(same)
				wantProblem(t, o, host.Failed, abi.Rejected)
				if !strings.Contains(o.Problem.Message, tt.told) || o.Approval != a.ID {
					t.Errorf("the model is told %v of %s", o.Problem, o.Approval)
				}
			}
			if next := g.pend(call(c.Tool, c.Args)); next.ID == a.ID { // the user asks once more
				t.Error("a new word of the user is no new question")
			}
			if g.stored("total/pen") != "" {
				t.Error("it ran")
			}
		})
	}
}

func grantOf(condition string, tier abi.Tier) state.StandingGrant {
	return state.StandingGrant{Tenant: session.Tenant, User: session.User, Session: session.Session, Tool: "test.guest.order", Condition: condition, MaxTier: tier, GrantedBy: "boss"}
}

func (g *gate) allow(grant state.StandingGrant) state.StandingGrant {
	g.t.Helper()
	lasts := time.Duration(0)
	if grant.Session == "" {
		lasts = time.Hour
	}
	kept, err := g.store.AddStandingGrant(context.Background(), grant, lasts)
	if err != nil {
		g.t.Fatal(err)
	}
	return kept
}

func TestAStandingGrantCoversBelowItsAmountAndNeverAHigherTier(t *testing.T) {
	g := asksFor(t)
	kept := g.allow(grantOf("args.count <= 20", abi.HardGate))
	c := call("order", `{"item":"pen","count":20}`)
	if o := g.run(c); !o.OK() || o.Tier != abi.HardGate {
		t.Fatalf("below the amount it ended with %+v %v", o, o.Problem)
	}
	if intent := g.records(c.ID, host.RecordIntent); len(intent) != 1 || !strings.Contains(string(intent[0].Detail), kept.ID) {
		t.Error("the grant is not on record")
	}
	g.pend(call("order", `{"item":"pen","count":21}`))
	wantProblem(t, g.run(call("order", `{"item":"poison","count":6}`)), host.Failed, abi.RedLine)
}

func TestAStandingGrantThatDoesNotFitCoversNothing(t *testing.T) {
	for name, grant := range map[string]state.StandingGrant{
		"of a lower tier":      grantOf("", abi.SoftGate),
		"of another tool":      func() state.StandingGrant { g := grantOf("", abi.HardGate); g.Tool = "test.guest.reorder"; return g }(),
		"without the skill":    func() state.StandingGrant { g := grantOf("", abi.HardGate); g.Tool = "order"; return g }(),
		"of another session":   func() state.StandingGrant { g := grantOf("", abi.HardGate); g.Session = "s-other"; return g }(),
		"of another user":      func() state.StandingGrant { g := grantOf("", abi.HardGate); g.User = "eve"; return g }(),
		"that does not hold":   grantOf("args.count < 6", abi.HardGate),
		"that is no CEL":       grantOf("args.count <", abi.HardGate),
		"that gives no bool":   grantOf("args.count", abi.HardGate),
		"that cannot be told":  grantOf("args.price <= 3", abi.HardGate),
		"that costs too much":  grantOf("[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, string(a+b).matches('(a+)+$') || "+strings.Repeat("string(a*b) != 'x' && ", 100)+"true))  && 1 / 0 == 1", abi.HardGate),
		"of an item elsewhere": grantOf("args.item == 'ink'", abi.HardGate),
	} {
		t.Run(name, func(t *testing.T) {
			g := asksFor(t)
			g.allow(grant)
			g.pend(call("order", `{"item":"pen","count":6}`))
			if g.stored("total/pen") != "" {
				t.Error("it ran")
			}
		})
	}
}

func TestAGrantForAllOfAUsersSessionsEndsWhenItIsRevoked(t *testing.T) {
	g := asksFor(t)
	all := grantOf("", abi.HardGate)
	all.Session = ""
	kept := g.allow(all)
	if o := g.run(call("order", `{"item":"pen","count":6}`)); !o.OK() {
		t.Fatal(o.Problem)
	}
	if revoked, err := g.store.RevokeStandingGrant(context.Background(), session.Tenant, session.User, kept.ID); err != nil || !revoked {
		t.Fatal(revoked, err)
	}
	g.pend(call("order", `{"item":"pen","count":6}`))
}

// A question that a grant has made needless must not run the call once more.
func TestAGrantTakesAnOpenQuestionBack(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"item":"pen","count":6}`)
	a := g.pend(c)
	g.allow(grantOf("", abi.HardGate))
	if o := g.run(again(c)); !o.OK() {
		t.Fatal(o.Problem)
	}
	if now := g.question(a.ID); now.Status != state.ApprovalCancelled {
		t.Errorf("the question is %s", now.Status)
	}
}

func TestAGrantDoesNotOverruleANo(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"item":"pen","count":6}`)
	g.answer(g.pend(c), false, "")
	g.allow(grantOf("", abi.HardGate))
	wantProblem(t, g.run(again(c)), host.Failed, abi.Rejected)
}

func TestAFactIsNoQuestionToAPerson(t *testing.T) {
	g := newGate(t, func(m *abi.Manifest) {
		for i := range m.Tools {
			if m.Tools[i].Name == "total" {
				m.Tools[i].Risk = abi.HardGate
			}
		}
	})
	a := g.pend(call("order", `{"item":"pen","count":2}`)) // an unknown fact
	if asked, err := ReadAsked(a); err != nil || asked.Tool != "order" {
		t.Errorf("asked %+v, %v", asked, err)
	}
	list, err := g.store.Approvals(context.Background(), session.Tenant, state.ApprovalFilter{})
	if err != nil || len(list) != 1 {
		t.Errorf("%d questions, %v", len(list), err)
	}
}

func TestArgumentsThatNobodyCanReadAreNotAskedAbout(t *testing.T) {
	f := &flight{Dispatcher: &Dispatcher{}, call: host.Call{Tool: "order"}}
	problem := f.question(context.Background(), Asked{Args: json.RawMessage(`"` + strings.Repeat("x", state.MaxQuestionBytes) + `"`)}, "digest")
	if problem == nil || problem.Code != abi.InputLimit {
		t.Errorf("it ended with %v", problem)
	}
}

func TestAStoreThatFailsRunsNothing(t *testing.T) {
	g := asksFor(t)
	g.damage("DROP TABLE agent_approval")
	if o := g.run(call("order", `{"item":"pen","count":6}`)); o.OK() || o.Status == host.Pending {
		t.Errorf("it ended with %+v", o)
	}
}

func TestConditionsSeeWhatRedLinesSee(t *testing.T) {
	for source, want := range map[string]string{
		"args.n <= 5": "true", "args.n > 5": "false", "tool == 't' && skill == 's'": "true",
		"args.n": "error", "args.": "error", "nothing": "error", "args.m == 1": "error", "state.a == 1": "error",
	} {
		got := "error"
		if c, err := manifest.CompileCondition(source); err == nil {
			if holds, err := c.Holds(manifest.Env{Args: json.RawMessage(`{"n":5}`), Tool: "t", Skill: "s"}); err == nil {
				got = fmt.Sprint(holds)
			}
		}
		if got != want {
			t.Errorf("%s gives %s, want %s", source, got, want)
		}
	}
}

// The person was faster than the grant that takes the question back.
func TestANoThatComesMeanwhileOutranksAGrant(t *testing.T) {
	g := asksFor(t)
	c := call("order", `{"item":"pen","count":6}`)
	open := g.pend(c)
	grant := g.allow(grantOf("", abi.HardGate))
	g.answer(open, false, "too many")
	f := newFlight(g.d, g.catalog, again(c))
	for _, do := range []func(context.Context) *abi.Problem{f.resolve, f.check} {
		if problem := do(context.Background()); problem != nil {
			t.Fatal(problem)
		}
	}
	wantCode(t, f.withGrant(context.Background(), grant, open), abi.Rejected)
}

// A condition is compiled once, and what is kept of them has a bound.
func TestCompiledConditionsAreKeptWithinABound(t *testing.T) {
	var c conditions
	first, err := c.find("true")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.find("true"); again != first {
		t.Error("the same text was compiled twice")
	}
	if _, err := c.find("args."); err == nil {
		t.Error("what is no expression was compiled")
	}
	c.compiled = map[string]*manifest.Condition{}
	for i := range maxConditions {
		c.compiled[fmt.Sprint(i)] = first
	}
	if _, err := c.find("1 < 2"); err != nil || len(c.compiled) != 1 {
		t.Errorf("%d conditions are kept, %v", len(c.compiled), err)
	}
}

// A yes is to what the person was told: where that has changed, they are asked
// once more, and the yes to that runs the call.
func TestAYesGoesByWhatWasTrueWhenItWasAskedFor(t *testing.T) {
	g := newGate(t)
	g.fill("total/pen", "10")
	c := call("order", `{"item":"pen","count":60}`)
	first := g.pend(c)
	g.answer(first, true, "")
	g.fill("total/pen", "20")
	run := again(c)
	run.Approval = first.ID
	o := g.run(run)
	wantProblem(t, o, host.Pending, abi.PendingApproval)
	if o.Approval == first.ID || !strings.Contains(o.Problem.Message, "has changed since. pen would go from 20 to") || g.stored("total/pen") != "20" {
		t.Fatalf("it ended with %v for %s", o.Problem, o.Approval)
	}
	second := g.question(o.Approval)
	if o = g.run(run); o.Approval != second.ID || o.OK() {
		t.Errorf("made again it asks %s, %v", o.Approval, o.Problem)
	}
	g.answer(second, true, "")
	last := again(c)
	last.Approval = second.ID
	if o = g.run(last); !o.OK() || g.stored("total/pen") != "80" || g.question(first.ID).Status != state.ApprovalApproved {
		t.Errorf("it ended with %+v %v, %s stored", o, o.Problem, g.stored("total/pen"))
	}
}

// What no rule goes by may change as it likes: nobody is asked twice for that.
func TestAYesHoldsWhateverElseHasChanged(t *testing.T) {
	g := newGate(t, writes(func(tool *abi.Tool) {
		tool.Rules = []abi.Rule{{When: "args.count > 50", Tier: abi.HardGate, Say: "{{args.count}} at {{now}}."}, {When: "facts.now > 90", Tier: abi.HardGate}}
	}))
	c := call("order", `{"item":"pen","count":60}`)
	a := g.pend(c)
	g.answer(a, true, "")
	g.fill("total/pen", "20")
	now := g.d.Now
	g.d.Now = func() time.Time { return now().Add(time.Hour) }
	run := again(c)
	run.Approval = a.ID
	if o := g.run(run); !o.OK() || o.Approval != a.ID || g.stored("total/pen") != "80" {
		t.Errorf("it ended with %+v %v", o, o.Problem)
	}
}

// A no is to what was asked: something else of the tool, or the same thing for
// other words of the user, is as it was.
func TestAfterANoTheLikeOfItIsAskedFor(t *testing.T) {
	g := newGate(t)
	c := call("order", `{"item":"pen","count":60}`)
	q := g.pend(c)
	less := again(c)
	less.Args, less.Asked = `{"item":"pen","count":1}`, []host.ApprovalID{q.ID}
	if o := g.run(less); !o.OK() {
		t.Errorf("while nobody has answered it ended with %v", o.Problem)
	}
	g.answer(q, false, "")
	for args, asked := range map[string]bool{`{"item":"ink","count":2}`: false, `{"item":"pen","count":2}`: true} {
		other := again(c)
		other.Args, other.Asked = args, less.Asked
		o := g.run(other)
		if o.OK() == asked || asked && !strings.Contains(o.Problem.Message, "Something like it was refused") {
			t.Errorf("%s ended with %v", args, o.Problem)
		}
		if asked {
			g.answer(g.question(o.Approval), true, "")
			run := again(other)
			run.Args, run.Approval, run.Asked = args, o.Approval, []host.ApprovalID{q.ID, o.Approval}
			if o = g.run(run); !o.OK() {
				t.Errorf("after a yes %s ended with %v", args, o.Problem)
			}
		}
	}
	if o := g.do("order", `{"item":"pen","count":3}`); !o.OK() {
		t.Errorf("for other words it ended with %v", o.Problem)
	}
	many := call("order", `{"item":"pen","count":4}`)
	for i := range maxAsked + 1 {
		many.Asked = append(many.Asked, host.ApprovalID(fmt.Sprint("ask_", i)))
	}
	g.pend(many)
}
