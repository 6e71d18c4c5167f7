package agent

import (
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

func codesOf(outcomes []host.Outcome) []abi.Code {
	var codes []abi.Code
	for _, o := range outcomes {
		code := abi.Code(0)
		if o.Problem != nil {
			code = o.Problem.Code
		}
		codes = append(codes, code)
	}
	return codes
}

func wantCodes(t *testing.T, a Answer, want ...abi.Code) {
	t.Helper()
	got := codesOf(a.Outcomes)
	if len(got) != len(want) {
		t.Fatalf("the calls ended with %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("the calls ended with %v, want %v", got, want)
		}
	}
}

func TestAModelThatGoesRoundInCirclesIsWarnedAndThenStopped(t *testing.T) {
	const total = `total {"item":"pen"}`
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(total), calls(total), calls(`total {"item": "pen" }`), says("never asked")}})
	answer := h.mustTurn("i1", "how many?")
	wantCodes(t, answer, 0, abi.BreakerOpen, abi.Circling)
	if answer.Reason != Circled || answer.Text != abi.RowOf(abi.Circling).UserZH || answer.Steps != 3 {
		t.Errorf("the turn ended with %+v", answer)
	}
	told := 0
	for _, e := range h.events {
		if e.Kind == host.EventNotice && e.Problem.Code == abi.Circling {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the user was told %d times", told)
	}
	if again := h.mustTurn("i1", "how many?"); !again.Repeated || again.Reason != Circled {
		t.Errorf("delivered again, the input gives %+v", again)
	}
}

func TestTheUserMayOrderTheSameThingAgain(t *testing.T) {
	const order = `order {"item":"pen","count":2}`
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(order), says("done"), calls(order), says("done")}})
	wantCodes(t, h.mustTurn("i1", "two pens"), 0)
	wantCodes(t, h.mustTurn("i2", "two pens more"), 0)
}

func TestARefusalAtTheDoorIsACircleToo(t *testing.T) {
	const bad = `order {"item":"weapon","count":2}`
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(bad), calls(bad), says("I cannot")}})
	answer := h.mustTurn("i1", "a weapon")
	wantCodes(t, answer, abi.OutOfScope, abi.BreakerOpen)
	if answer.Reason != Answered {
		t.Errorf("the turn ended with %+v", answer)
	}
}

func TestCallsOfOneAnswerDoNotCountForEachOther(t *testing.T) {
	const total = `total {"item":"pen"}`
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(total, total), says("none")}})
	wantCodes(t, h.mustTurn("i1", "how many?"), 0, 0)
}

// TestWhatTheModeForbadeMayBeAskedForOnceItAllows: the user has changed it, and
// says so.
func TestWhatTheModeForbadeMayBeAskedForOnceItAllows(t *testing.T) {
	const order = `order {"item":"pen","count":2}`
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(order), calls(order), says("no"), calls(order), says("done")}})
	for i, step := range []struct {
		mode host.Mode
		want []abi.Code
	}{{host.ModeNever, []abi.Code{abi.RedLine, abi.BreakerOpen}}, {host.ModeAuto, []abi.Code{0}}} {
		if err := h.agent.SetMode(t.Context(), session, step.mode); err != nil {
			t.Fatal(err)
		}
		wantCodes(t, h.mustTurn(string(rune('a'+i)), "two pens"), step.want...)
	}
}

func TestTheWarningsOfAnEarlierTurnAreForgotten(t *testing.T) {
	const total = `total {"item":"pen"}`
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(total), calls(total), says("none"), calls(total), calls(total), says("none")}})
	wantCodes(t, h.mustTurn("i1", "how many?"), 0, abi.BreakerOpen)
	wantCodes(t, h.mustTurn("i2", "look again"), 0, abi.BreakerOpen)
}
