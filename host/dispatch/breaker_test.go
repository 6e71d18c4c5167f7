package dispatch

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// played gives the calls of a script, one round each: the tool, a write if it
// begins with w, its arguments,
// and what came of it: "=x" a result, "!" a failure, "?" a question to a
// person, "~" an end that nobody saw, "r=x" a result of a resume, "x" the breaker's own doing. "---" is the
// user's next message, "+" another model answer in between. The last call is
// the one that is judged.
func played(script ...string) (now host.Past, recent []host.Past) {
	input, round := 1, 0
	for _, line := range script {
		switch line {
		case "---":
			input++
			continue
		case "+":
			round++
			continue
		}
		round++
		part := strings.SplitN(line, " ", 3)
		p := host.Past{Tool: part[0], Effect: map[bool]abi.Effect{true: abi.Write, false: abi.Read}[strings.HasPrefix(part[0], "w")], Args: (*Dispatcher)(nil).Plain("", part[1]), Input: input, Round: round}
		end := ""
		if len(part) == 3 {
			end = part[2]
		}
		switch {
		case strings.HasPrefix(end, "="):
			p.Status, p.Result = host.Done, end
		case strings.HasPrefix(end, "r="):
			p.Status, p.Result, p.Resumed = host.Done, end[1:], true
		case end == "x":
			p.Status, p.Cut = host.Failed, true
		case end == "?":
			p.Status = host.Pending
		case end == "~":
			p.Status = host.Unknown
		default:
			p.Status = host.Failed
		}
		recent = append(recent, p)
	}
	return recent[len(recent)-1], recent[:len(recent)-1]
}

func TestBreakerRules(t *testing.T) {
	for _, tt := range []struct {
		name string
		want string
		play []string
	}{
		{"one call", "", []string{`a {}`}},

		{"the same after a failure", ruleIdentical, []string{`a {"x":1} !`, `a {"x":1}`}},
		{"the same after a success", ruleIdentical, []string{`a {"x":1} =1`, `a {"x":1}`}},
		{"the same, written otherwise", ruleIdentical, []string{`a {"x":1,"y":2} !`, `a {"y":2.0,"x":1}`}},
		{"the same, not JSON", ruleIdentical, []string{`a {"x":1 !`, `a {"x":1`}},
		{"the same in the third round", ruleIdentical, []string{`a {} !`, `b {} !`, `a {}`}},
		{"the same in the fourth round", "", []string{`a {} !`, `b {} !`, `c {} !`, `a {}`}},
		{"the same, rounds without calls between", "", []string{`a {} !`, "+", "+", `a {}`}},
		{"the same after something new", "", []string{`a {} =1`, `b {} =2`, `a {}`}},
		{"the same after a failure of another", ruleIdentical, []string{`a {} =1`, `b {} !`, `a {}`}},
		{"the same after what is known", ruleIdentical, []string{`b {} =2`, `a {} =1`, `b {"y":1} =2`, `a {}`}},
		{"another tool with the same", "", []string{`a {"x":1} !`, `b {"x":1}`}},
		{"the same after it succeeded for the last message", "", []string{`a {} =1`, "---", `a {}`}},
		{"the same after it failed for the last message", ruleIdentical, []string{`a {} !`, "---", `a {}`}},
		{"the same after a question", "", []string{`a {} ?`, `a {}`}},
		{"the same after an unseen end", "", []string{`a {} ~`, `a {}`}},
		{"the same after a resume", "", []string{`a {} r=1`, `a {}`}},
		{"the same after it was cut off", ruleIdentical, []string{`a {} x`, `a {}`}},
		{"the same after it was cut off for the last message", "", []string{`a {} x`, "---", `a {}`}},
		{"a question hides nothing", ruleIdentical, []string{`a {} !`, `b {} ?`, `a {}`}},

		{"a write after its success is for a person to decide", "", []string{`w {} =1`, `w {}`}},
		{"a write after its failure", ruleIdentical, []string{`w {} !`, `w {}`}},

		{"writes that answer alike and do other things", "", []string{`w {"x":1} =ok`, `w {"x":2} =ok`, `w {"x":3}`}},
		{"writes to and fro", rulePeriod, []string{`w {"x":1,"y":1} =ok`, `w {"x":2,"y":2} =ok`, `w {"x":1,"y":1} =ok`, `w {"x":2,"y":2}`}},
		{"three that differ in a leaf", ruleSimilar, []string{`a {"x":1,"y":1} !`, `a {"x":2,"y":1} !`, `a {"x":3,"y":1}`}},
		{"three that differ in case, white space and number form", ruleSimilar,
			[]string{`a {"x":"Pen","y":"1","z":"b"} !`, `a {"x":"pen","y":1,"z":"b"} !`, `a {"x":"PEN","y":"1.0","z":"B"}`}},
		{"three in a row that each change another leaf", ruleSimilar, []string{`a {"x":1,"y":1} !`, `a {"x":2,"y":1} !`, `a {"x":2,"y":2}`}},
		{"one leaf more", ruleSimilar, []string{`a {"x":1} !`, `a {"x":1,"y":1} !`, `a {"x":2,"y":1}`}},
		{"in a list", ruleSimilar, []string{`a {"x":[1,2]} !`, `a {"x":[1,3]} !`, `a {"x":[1,4]}`}},
		{"empty results are known after the first", ruleSimilar, []string{`a {"x":1} =[]`, `a {"x":2} =[]`, `a {"x":3}`}},
		{"two similar", "", []string{`a {"x":1} !`, `a {"x":2}`}},
		{"three that differ in two leaves", "", []string{`a {"x":1,"y":1} !`, `a {"x":2,"y":2} !`, `a {"x":3,"y":3}`}},
		{"a lookup that gives something new each time", "", []string{`a {"x":1} =1`, `a {"x":2} =2`, `a {"x":3}`}},
		{"not in a row", "", []string{`a {"x":1} !`, `b {} !`, `a {"x":2} !`, `a {"x":3}`}},
		{"three tools", "", []string{`a {"x":1} !`, `b {"x":1} !`, `c {"x":1}`}},
		{"similar orders for three messages", "", []string{`a {"x":1} =1`, "---", `a {"x":2} =1`, "---", `a {"x":3}`}},

		{"a period beyond the rounds", rulePeriod, []string{`a {} !`, "+", "+", `b {} !`, "+", "+", `a {} !`, "+", "+", `b {}`}},
		{"a period with results that are known", rulePeriod, []string{`a {} =1`, "+", "+", `b {} =2`, "+", "+", `a {} =1`, "+", "+", `b {}`}},
		{"a period that learns", "", []string{`a {} =1`, "+", "+", `b {} =2`, "+", "+", `a {} =3`, "+", "+", `b {}`}},
		{"half a period", "", []string{`b {} !`, "+", "+", `a {} !`, "+", "+", `b {}`}},
		{"a period across a message", "", []string{`a {} =1`, "+", `b {} =2`, "---", `a {} =1`, "+", "+", `b {}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now, recent := played(tt.play...)
			if got := circles(now, recent, false); got != tt.want {
				t.Errorf("circles gave %q, want %q", got, tt.want)
			}
		})
	}
}

func TestARepeatableToolMayPollButNotTakeTurns(t *testing.T) {
	for _, tt := range []struct {
		want string
		play []string
	}{
		{"", []string{`a {} =1`, `a {}`}},
		{"", []string{`a {"x":1} !`, `a {"x":2} !`, `a {"x":3}`}},
		{rulePeriod, []string{`a {} =1`, `b {} =2`, `a {} =1`, `b {}`}},
	} {
		now, recent := played(tt.play...)
		if got := circles(now, recent, true); got != tt.want {
			t.Errorf("after %v circles gave %q, want %q", tt.play, got, tt.want)
		}
	}
}

func TestTheBreakerLooksAtFiveCalls(t *testing.T) {
	now, recent := played(`a {} !`, `b {} !`, `c {} !`, `d {} !`, `e {} !`, `f {} !`, `a {}`)
	for i := range recent {
		recent[i].Round = now.Round - 1
	}
	if got := circles(now, recent, false); got != "" {
		t.Errorf("a call before the window counts: %s", got)
	}
	if got := circles(now, append(recent[1:], recent[0]), false); got != ruleIdentical {
		t.Errorf("a call in the window does not count: %q", got)
	}
}

func TestACircleIsCutOffAndThenTheTurnStops(t *testing.T) {
	g := newGate(t)
	c := call("order", `{"item":"pen","count":2}`)
	c.Round, c.Recent = 2, []host.Past{{Tool: "order", Args: `{"count":2,"item":"pen"}`, Status: host.Failed, Input: c.Input, Round: 1}}
	o := g.d.Do(context.Background(), g.catalog, c)
	wantProblem(t, o, host.Failed, abi.BreakerOpen)
	g.wantKinds(c.ID, host.RecordRefusal)
	if !strings.Contains(string(g.records(c.ID)[0].Detail), `"by":"breaker","code":1004,"words":"the very same call`) {
		t.Errorf("the record says %s", g.records(c.ID)[0].Detail)
	}
	c.Trips = 1
	wantProblem(t, g.d.Do(context.Background(), g.catalog, c), host.Failed, abi.Circling)
	if abi.RowOf(abi.Circling).Recovery != abi.Stop {
		t.Error("the second trip does not stop the turn")
	}
	if got := g.stored("total/pen"); got != "" {
		t.Errorf("a call that was cut off ordered %s", got)
	}
}

func TestAResumedCallIsNoCircle(t *testing.T) {
	g := newGate(t)
	c := call("total", `{"item":"pen"}`)
	c.Resumed, c.Round, c.Recent = true, 2, []host.Past{{Tool: "total", Args: `{"item":"pen"}`, Status: host.Failed, Input: c.Input, Round: 1}}
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
		t.Errorf("the call ended with %v", o.Problem)
	}
}

func TestABreakerThatReportsLetsTheCallRun(t *testing.T) {
	g := newGate(t)
	g.d.Breaker = BreakerReports
	c := call("total", `{"item":"pen"}`)
	c.Round, c.Recent = 2, []host.Past{{Tool: "total", Args: `{"item":"pen"}`, Status: host.Failed, Input: c.Input, Round: 1}}
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
		t.Fatalf("the call ended with %v", o.Problem)
	}
	if intent := g.records(c.ID, host.RecordIntent); len(intent) != 1 || !strings.Contains(string(intent[0].Detail), `"by":"breaker"`) {
		t.Errorf("the intent is recorded as %+v", intent)
	}
}

func TestACallWithoutRoomInABudgetIsRefused(t *testing.T) {
	g := newGate(t)
	c := call("total", `{"item":"pen"}`)
	turn := host.Budget{Of: "turn", Limit: host.NoBound()}
	turn.Limit.Calls = 1
	c.Budgets = []host.Budget{turn}
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
		t.Fatalf("the call ended with %v", o.Problem)
	}
	c.Budgets[0] = turn.Spend(host.Amount{Calls: 1})
	wantProblem(t, g.d.Do(context.Background(), g.catalog, c), host.Failed, abi.OverBudget)
	c.Budgets = []host.Budget{turn, {Of: "session"}} // zero means zero
	wantProblem(t, g.d.Do(context.Background(), g.catalog, c), host.Failed, abi.OverBudget)
}
