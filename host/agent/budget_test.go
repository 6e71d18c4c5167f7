package agent

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
)

// limits gives every tenant the default limits with a change.
func limits(change func(*Limits)) func(host.TenantID) Limits {
	l := DefaultLimits()
	change(&l)
	return func(host.TenantID) Limits { return l }
}

// using gives an answer that uses tokens.
func using(tokens int, answer func() (model.Reply, error)) func() (model.Reply, error) {
	return func() (model.Reply, error) {
		reply, err := answer()
		reply.Usage = model.Usage{Input: 2 * tokens, Cached: tokens + tokens/2, Output: tokens / 2}
		return reply, err
	}
}

const look = `total {"item":"pen"}`

// TestABudgetThatIsUsedUpEndsTheTurn, whichever it is and whatever is counted.
func TestABudgetThatIsUsedUpEndsTheTurn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Limits)
		reason Reason
		asked  int
		says   string
	}{
		{"steps of the task", func(l *Limits) { l.Task.Steps = 2 }, TooLong, 2, "the task has a budget of 2 model steps"},
		{"no steps", func(l *Limits) { l.Task.Steps = 0 }, TooLong, 0, "the task has a budget of 0 model steps"},
		{"tokens of the task", func(l *Limits) { l.Task.Tokens = 250 }, Spent, 3, "the task has a budget of 250 tokens and has used 300"},
		{"no tokens", func(l *Limits) { l.Task.Tokens = 0 }, Spent, 0, "the task has a budget of 0 tokens"},
		{"tokens of the session", func(l *Limits) { l.Session.Tokens = 200 }, Spent, 2, "the session has a budget of 200 tokens"},
		{"tokens of the live", func(l *Limits) { l.Live.Tokens = 100 }, Spent, 1, "the live has a budget of 100 tokens"},
		{"steps of the session", func(l *Limits) { l.Session.Steps = 1 }, Spent, 1, "the session has a budget of 1 model steps"},
		{"money of the task", func(l *Limits) { l.Task.Money = 2 }, Spent, 2, "the task has a budget of 2 millionths of money and has used 2"},
		{"no money", func(l *Limits) { l.Task.Money = 0 }, Spent, 0, "the task has a budget of 0 millionths of money"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{}
			for i := range 10 {
				m.answers = append(m.answers, using(100, calls(strings.Replace(look, "pen", string(rune('a'+i)), 1))))
			}
			h := newHouse(t, m)
			h.agent.Limits, h.agent.Price = limits(tt.change), Price{Input: 10_000, Output: 5_000}
			var told []host.Trouble
			h.hook(host.Hook{Name: "told", Observer: true, OnProblem: func(_ context.Context, p host.Trouble) error { told = append(told, p); return nil }})
			s := session
			s.Live = "live-7"
			answer, err := h.agent.Turn(t.Context(), s, Input{ID: "1", Text: "count"}, h.listen)
			if err != nil || answer.Reason != tt.reason || len(m.asked) != tt.asked || answer.Text != abi.RowOf(abi.OverBudget).UserZH {
				t.Fatalf("the turn ends with %+v, %v after %d questions", answer, err, len(m.asked))
			}
			if len(told) != 1 || told[0].Problem.Code != abi.OverBudget || !strings.HasPrefix(told[0].Problem.Message, tt.says) {
				t.Errorf("the hooks are told %+v, want %q", told, tt.says)
			}
			if n := h.count(host.EventNotice); n != 1 {
				t.Errorf("the user is told %d times", n)
			}
			again, err := h.agent.Turn(t.Context(), s, Input{ID: "1", Text: "count"}, nil)
			if err != nil || !again.Repeated || again.Reason != tt.reason {
				t.Errorf("delivered again, the input gives %+v, %v", again, err)
			}
		})
	}
}

// TestCallsOfOneAnswerShareABudget: they run side by side, and no more of them
// than are left.
func TestCallsOfOneAnswerShareABudget(t *testing.T) {
	m := answers(calls(`total {"item":"a"}`, `total {"item":"b"}`, `total {"item":"c"}`, `total {"item":"d"}`), says("never asked"))
	h := newHouse(t, m)
	h.agent.Limits = limits(func(l *Limits) { l.Task.Calls = 2 })
	answer := h.mustTurn("1", "count")
	wantCodes(t, answer, 0, 0, abi.OverBudget, abi.OverBudget)
	if answer.Reason != Spent || len(m.asked) != 1 {
		t.Errorf("the turn ends with %+v after %d questions", answer, len(m.asked))
	}
	if used := h.input("1").Used; used.Calls != 2 {
		t.Errorf("the task has used %+v", used)
	}
}

func TestWhatWasUsedSurvivesAResumeElsewhere(t *testing.T) {
	onReplicas(t, nil, func(t *testing.T, first, second *house) {
		bound := limits(func(l *Limits) { l.Task.Tokens, l.Session.Tokens, l.Session.Calls = 250, 350, 2 })
		first.agent.Limits, second.agent.Limits = bound, bound
		first.agent.Model = answers(using(100, calls(`total {"item":"a"}`)), using(100, calls(`total {"item":"b"}`)), fails(abi.ModelUnavailable))
		if _, err := first.turn("1", "count"); err == nil {
			t.Fatal("the model answered")
		}
		m := answers(nil, nil, using(100, says("done")), using(100, calls(`total {"item":"c"}`)), says("never asked"))
		second.agent.Model = m
		if answer := second.mustTurn("1", "count"); answer.Text != "done" {
			t.Fatalf("the turn ends with %+v", answer)
		}
		if used := second.input("1").Used; used != (host.Amount{Steps: 3, Tokens: 300, Calls: 2}) {
			t.Errorf("the task has used %+v", used)
		}
		answer := second.mustTurn("2", "go on")
		wantCodes(t, answer, abi.OverBudget) // of the session's calls
		if answer.Reason != Spent || len(m.asked) != 2 {
			t.Errorf("the second turn ends with %+v after %d questions", answer, len(m.asked))
		}
		if got, err := Show(t.Context(), second.store, session.Ref); err != nil || got.Used != (host.Amount{Steps: 4, Tokens: 400, Calls: 2}) {
			t.Errorf("the session has used %+v, %v", got.Used, err)
		}
	})
}

// TestTheSessionsOfALiveShareABudget, on whichever replica they are.
func TestTheSessionsOfALiveShareABudget(t *testing.T) {
	onReplicas(t, nil, func(t *testing.T, first, second *house) {
		m := answers(using(100, says("ok")))
		bound := limits(func(l *Limits) { l.Live.Tokens = 150 })
		talk := func(h *house, name, live string) Answer {
			t.Helper()
			h.agent.Limits, h.agent.Model = bound, m
			s := Session{Ref: host.SessionRef{Tenant: "acme", User: host.UserID("u " + name), Session: host.SessionID(name)}, Live: host.LiveID(live), Locale: "en"}
			answer, err := h.agent.Turn(t.Context(), s, Input{ID: "1", Text: "hello"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		for _, step := range []struct {
			on         *house
			name, live string
			want       Reason
		}{
			{first, "a", "7", Answered}, {second, "b", "7", Answered}, {first, "c", "7", Spent}, {second, "d", "8", Answered}, {first, "e", "", Answered},
		} {
			if got := talk(step.on, step.name, step.live); got.Reason != step.want {
				t.Errorf("session %s of live %q ends with %+v, want %s", step.name, step.live, got, step.want)
			}
		}
	})
}

func TestATaskThatIsAPartHasNoMoreThanItWasGiven(t *testing.T) {
	parent := host.Budget{Of: "task", Limit: host.Amount{Steps: 10, Tokens: 1000, Calls: 10}, Used: host.Amount{Tokens: 850}}
	for _, tt := range []struct {
		name  string
		wants int64
		used  int64
	}{{"less than the parent has", 100, 100}, {"more than the parent has", 5000, 200}, {"nothing", 0, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			wants := host.NoBound()
			wants.Tokens = tt.wants
			given := parent.Child("part", wants).Limit
			m := answers(using(100, calls(`total {"item":"a"}`)), fails(abi.ModelUnavailable))
			h := newHouse(t, m)
			if _, err := h.agent.Turn(t.Context(), session, Input{ID: "1", Text: "count", Limit: &given}, nil); err != nil {
				m.answers[1] = using(100, calls(`total {"item":"b"}`))
				if _, err := h.agent.Resume(t.Context(), session, nil); err != nil { // what it was given is stored
					t.Fatal(err)
				}
			}
			if got := h.input("1"); got.Used.Tokens != tt.used || got.Answer == nil || got.Answer.Reason != Spent {
				t.Errorf("the task has used %+v and ends with %+v", got.Used, got.Answer)
			}
		})
	}
}

func TestWhatAnAnswerCosts(t *testing.T) {
	price := Price{Input: 3_000_000, Cached: 300_000, Output: 15_000_000}
	for _, tt := range []struct {
		usage model.Usage
		want  host.Amount
	}{
		{model.Usage{}, host.Amount{}},
		{model.Usage{Input: 1000, Cached: 400, Output: 10}, host.Amount{Tokens: 610, Money: 600*3 + 120 + 150}},
		{model.Usage{Input: 1, Cached: 1}, host.Amount{Money: 1}},
		{model.Usage{Input: 10, Cached: 99, Output: -5}, host.Amount{Money: 3}},
		{model.Usage{Input: -10, Cached: -1, Output: 1}, host.Amount{Tokens: 1, Money: 15}},
	} {
		if got := price.cost(tt.usage); got != tt.want {
			t.Errorf("%+v costs %+v, want %+v", tt.usage, got, tt.want)
		}
	}
	if got := price.cost(model.Usage{Input: math.MaxInt, Output: math.MaxInt}); got.Tokens <= 0 || got.Money <= 0 {
		t.Errorf("an absurd usage costs %+v", got)
	}
}

// TestAModelThatDoesNotCountIsEstimated: a budget holds for it, too.
func TestAModelThatDoesNotCountIsEstimated(t *testing.T) {
	h := newHouse(t, answers(says(strings.Repeat("many words ", 200))))
	h.mustTurn("1", "tell me "+strings.Repeat("everything ", 100))
	if used := h.input("1").Used; used.Tokens < 400 || used.Tokens > 800 {
		t.Errorf("the task has used %+v", used)
	}
}

// TestRefusedAnswersCount: a guard that refuses does not make the model free.
func TestRefusedAnswersCount(t *testing.T) {
	h := newHouse(t, answers(using(100, says("no good"))))
	h.hook(refusing(abi.NewProblem(abi.NotAllowed, "not so")))
	h.mustTurn("1", "hello")
	if used := h.input("1").Used; used != (host.Amount{Steps: 2, Tokens: 200}) {
		t.Errorf("the task has used %+v", used)
	}
}

func TestOverBudgetIsCountedForAlerts(t *testing.T) {
	h := newHouse(t, answers(says("never asked")))
	var alerts []host.Alert
	hooks, err := host.NewHooks(host.Hook{Name: "alerts", Observer: true, OnAlert: func(_ context.Context, a host.Alert) error { alerts = append(alerts, a); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	h.agent.Dispatch = dispatch.New(dispatch.Config{Config: grant.Config{Store: h.store}, Hooks: hooks,
		Rates: host.NewRates(map[host.AlertKind]host.Threshold{host.AlertRefusals: {Count: 1, Within: 1 << 40}})})
	h.agent.Limits = limits(func(l *Limits) { l.Session.Tokens = 0 })
	h.mustTurn("1", "hello")
	if len(alerts) != 1 || alerts[0].Kind != host.AlertRefusals || alerts[0].Session != session.Ref {
		t.Errorf("alerts are %+v", alerts)
	}
}

// TestSessionsOfALiveEndTogether: their totals are rows of their own, and none
// waits for another one.
func TestSessionsOfALiveEndTogether(t *testing.T) {
	h := newHouse(t, answers(using(100, says("ok"))))
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			s := Session{Ref: host.SessionRef{Tenant: "acme", User: "u", Session: host.SessionID(rune('a' + i))}, Live: "7"}
			if _, err := h.agent.Turn(t.Context(), s, Input{ID: "1", Text: "hello"}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	tn := h.agent.newTurn(Session{Ref: session.Ref, Live: "7"}, nil, func(error) {})
	tn.ref = session.Ref
	if err := tn.addUpLive(t.Context()); err != nil || tn.elsewhere != (host.Amount{Steps: 8, Tokens: 800}) {
		t.Errorf("together they have used %+v, %v", tn.elsewhere, err)
	}
}
