package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

// TestTheUserRaisesAndLowersTheMode between turns; every turn goes by it, on
// any replica.
func TestTheUserRaisesAndLowersTheMode(t *testing.T) {
	onReplicas(t, nil, func(t *testing.T, first, second *house) {
		for i, step := range []struct {
			on   *house
			mode host.Mode
			code abi.Code
			says string
		}{
			{first, host.ModeNever, abi.RedLine, "Mode: never."},
			{second, "", 0, "Mode: auto."},
			{second, host.ModeSuggest, abi.PendingApproval, "Mode: suggest."},
			{first, host.ModeAuto, 0, "Mode: auto."},
			{second, host.ModeNever, abi.RedLine, "Mode: never."},
		} {
			if err := second.agent.SetMode(t.Context(), session, step.mode); err != nil {
				t.Fatal(err)
			}
			var asked []model.Request
			step.on.agent.Model = scripted(&asked, calls(fmt.Sprintf(`order {"item":"pen %d","count":2}`, i)), says("ok"))
			wantCodes(t, step.on.mustTurn(string(rune('a'+i)), "order"), step.code)
			if !strings.Contains(asked[0].System, step.says) {
				t.Errorf("step %d: the model is not told %q", i, step.says)
			}
			if got, err := Show(t.Context(), first.store, session.Ref); err != nil || got.Mode != step.mode || got.Locale != session.Locale {
				t.Errorf("step %d: the session is %+v, %v", i, got, err)
			}
		}
	})
}

// scripted answers in order, whatever the conversation holds.
func scripted(asked *[]model.Request, list ...func() (model.Reply, error)) model.Provider {
	return inOrder{asked, list}
}

type inOrder struct {
	asked *[]model.Request
	list  []func() (model.Reply, error)
}

func (m inOrder) Complete(_ context.Context, req model.Request, _ func(model.Event)) (model.Reply, error) {
	*m.asked = append(*m.asked, req)
	return m.list[len(*m.asked)-1]()
}

func TestANewSessionHasTheModeThatItIsGiven(t *testing.T) {
	h := newHouse(t, answers(calls(`order {"item":"pen","count":2}`), says("ok")))
	s := session
	s.Mode = host.ModeNever
	answer, err := h.agent.Turn(t.Context(), s, Input{ID: "1", Text: "order"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantCodes(t, answer, abi.RedLine)
}

func TestAWordThatIsNoModeIsRefused(t *testing.T) {
	h := newHouse(t, nil)
	s := session
	s.Mode = "yolo"
	_, err := h.agent.Turn(t.Context(), s, Input{ID: "1", Text: "hi"}, nil)
	for _, err := range []error{err, h.agent.SetMode(t.Context(), session, "yolo")} {
		if problem := host.ProblemOf(err); err == nil || problem.Code != abi.BadValue || len(problem.Candidates) != 3 {
			t.Errorf("error is %v", err)
		}
	}
	if _, err := Show(t.Context(), h.store, session.Ref); err == nil {
		t.Error("a session was made")
	}
}

func TestASessionInWhichNothingWasSaidIsNotShownForItsMode(t *testing.T) {
	h := newHouse(t, nil)
	if err := h.agent.SetMode(t.Context(), session, host.ModeNever); err != nil {
		t.Fatal(err)
	}
	if _, err := Show(t.Context(), h.store, session.Ref); err == nil || host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("error is %v", err)
	}
}

// TestALongWaitIsToldAndTheTurnGoesOn (F39): the reply for the meantime comes
// once, in the user's language, and the answer is stored.
func TestALongWaitIsToldAndTheTurnGoesOn(t *testing.T) {
	told := make(chan host.Event, 10)
	asks := 0
	h := newHouse(t, asked(func(ctx context.Context, _ model.Request) (model.Reply, error) {
		asks++
		if asks > 1 {
			time.Sleep(5 * time.Millisecond) // it is late again, and the user knows
			return says("here it is")()
		}
		select {
		case e := <-told:
			told <- e
		case <-ctx.Done():
		}
		return calls(look)()
	}))
	h.agent.Patience = time.Millisecond
	answer, err := h.agent.Turn(t.Context(), session, Input{ID: "1", Text: "hi"}, func(e host.Event) {
		if e.Kind == host.EventLater {
			told <- e
		}
	})
	if err != nil || answer.Text != "here it is" || len(told) != 1 {
		t.Fatalf("answer is %+v, %v; told %d times", answer, err, len(told))
	}
	if e := <-told; e.Text != later("zh-CN") || e.Text == later("en") || later("") != later("en-GB") {
		t.Errorf("the user is told %q", e.Text)
	}
	if again := h.mustTurn("1", "hi"); !again.Repeated || again.Text != "here it is" {
		t.Errorf("delivered again, the input gives %+v", again)
	}
}

func TestAQuickAnswerIsNoLongWait(t *testing.T) {
	for name, patience := range map[string]time.Duration{"in time": time.Hour, "endless patience": -1} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, answers(calls(look), says("none")))
			h.agent.Patience = patience
			h.mustTurn("1", "hi")
			if h.count(host.EventLater) != 0 {
				t.Errorf("events are %s", h.kinds())
			}
		})
	}
}

// TestTheSameWriteAgainIsAskedFor: end to end, with the earlier result in the
// question, and only for the same words of the user.
func TestTheSameWriteAgainIsAskedFor(t *testing.T) {
	const order = `order {"item":"pen","count":2}`
	h := newHouse(t, answers(calls(order), calls(`order {"count":2,"item":"pen"}`), says("asked"), calls(order), says("done")))
	answer := h.mustTurn("1", "order 2 pens")
	wantCodes(t, answer, 0, abi.PendingApproval)
	if o := answer.Outcomes[1]; o.Tier != abi.HardGate || !strings.Contains(o.Problem.Message, `The very same was done for this request already. It gave: {"item":"pen","total":2}`) {
		t.Errorf("the question is %+v", o)
	}
	wantCodes(t, h.mustTurn("2", "2 more"), 0)
	if got := h.stored("total/pen"); got != "4" {
		t.Errorf("stored are %s", got)
	}
}

// TestAFailedWriteIsNoSuspicion: it may be tried again.
func TestAFailedWriteIsNoSuspicion(t *testing.T) {
	const order = `order {"item":"sold out","count":2}`
	h := newHouse(t, answers(calls(order), calls(look), calls(order), says("sorry")))
	wantCodes(t, h.mustTurn("1", "order"), abi.OutOfBounds, 0, abi.OutOfBounds)
}
