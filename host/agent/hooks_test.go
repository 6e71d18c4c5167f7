package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// hook gives the house hooks, in place of those that it had.
func (h *house) hook(list ...host.Hook) {
	h.t.Helper()
	for i := range list {
		if list[i].Time == 0 {
			list[i].Time = time.Minute // no test waits for it
		}
	}
	hooks, err := host.NewHooks(list...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.agent.Dispatch.Hooks = hooks
}

func (h *house) listen(e host.Event) { h.events = append(h.events, e) }

func (h *house) count(kind host.EventKind) (n int) {
	for _, e := range h.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (h *house) input(id host.InputID) inputValue {
	h.t.Helper()
	values, err := h.store.LoadState(h.t.Context(), session.Ref, inputKey(id))
	if err != nil {
		h.t.Fatal(err)
	}
	input, _, err := read(inputForm(), values, inputKey(id))
	if err != nil {
		h.t.Fatal(err)
	}
	return input
}

// notes gives what is on record of the hooks.
func (h *house) notes() string {
	h.t.Helper()
	records, err := h.store.Records(h.t.Context(), session.Ref.Tenant, state.RecordFilter{Session: session.Ref, Kinds: []host.RecordKind{host.RecordHook}})
	if err != nil {
		h.t.Fatal(err)
	}
	var all []string
	for _, r := range records {
		var detail struct {
			Point string
			Notes []string
		}
		if err := json.Unmarshal(r.Detail, &detail); err != nil {
			h.t.Fatal(err)
		}
		all = append(all, detail.Point+": "+strings.Join(detail.Notes, " | "))
	}
	return strings.Join(all, "\n")
}

type before = func(context.Context, host.Reasoning) (host.Injection, error)
type after = func(context.Context, host.Reasoning) (host.Opinion, error)

func refusing(problem *abi.Problem) host.Hook {
	return host.Hook{Name: "judge", PostReasoning: func(context.Context, host.Reasoning) (host.Opinion, error) {
		return host.Opinion{Problem: problem}, nil
	}}
}

func TestWhatHooksInjectStandsInTheRequest(t *testing.T) {
	m := answers(calls(look), says("none"))
	h := newHouse(t, m)
	h.hook(host.Hook{Name: "memory", PreReasoning: func(_ context.Context, r host.Reasoning) (host.Injection, error) {
		if r.Text != "how many?" || r.Round != len(m.asked)+1 || len(r.Outcomes) != len(m.asked) || r.Session != session.Ref || r.Input != 1 {
			t.Errorf("the hook is asked about %+v", r)
		}
		return host.Injection{Recalled: []abi.Memory{{Text: "likes blue pens"}}, Text: "stock is low\n\nask before noon", Note: "one memory"}, nil
	}})
	h.mustTurn("1", "how many?")
	for i, asked := range m.asked {
		for _, want := range []string{"\n- likes blue pens", "\n- stock is low\n- ask before noon"} {
			if !strings.Contains(asked.Hint, want) {
				t.Errorf("request %d has %q, want %q in it", i, asked.Hint, want)
			}
		}
	}
	if got, want := h.notes(), "before reasoning: hook memory: one memory\nbefore reasoning: hook memory: one memory"; got != want {
		t.Errorf("on record is %q", got)
	}
	if strings.Contains(h.said(), "stock") {
		t.Error("what was injected is stored with the conversation")
	}
}

// What a hook used of models is the session's to pay.
func TestWhatAHookUsedCountsInTheBudgets(t *testing.T) {
	h := newHouse(t, answers(calls(look), says("none")))
	h.hook(host.Hook{Name: "memory", Observer: true, PreReasoning: func(_ context.Context, r host.Reasoning) (host.Injection, error) {
		if r.Round > 1 {
			return host.Injection{}, nil
		}
		return host.Injection{Used: host.Amount{Tokens: 50_000, Steps: -3}}, nil
	}})
	h.mustTurn("1", "how many?")
	if used := h.input("1").Used; used.Tokens < 50_000 || used.Tokens > 60_000 || used.Steps != 2 {
		t.Errorf("the input used %+v", used)
	}
	seen, err := Show(t.Context(), h.store, session.Ref)
	if err != nil || seen.Used.Tokens < 50_000 {
		t.Errorf("the session used %+v, %v", seen.Used, err)
	}
}

// A question of the host's own is answered by a tool's arguments, or by words.
func TestAskGivesTheAnswerAndWhatItUsed(t *testing.T) {
	for _, tt := range []struct {
		reply model.Reply
		want  string
	}{
		{model.Reply{Calls: []model.Call{{ID: "1", Tool: askTool, Args: `{"a":1}`}}, Usage: model.Usage{Input: 100, Cached: 40, Output: 5}}, `{"a":1}`},
		{model.Reply{Text: `{"a":2}`, Usage: model.Usage{Input: 100, Cached: 40, Output: 5}}, `{"a":2}`},
		{model.Reply{Text: "no", Calls: []model.Call{{ID: "1", Tool: askTool, Args: `{"a"`, CutOff: true}}, Usage: model.Usage{Input: 60, Output: 5}}, "no"},
	} {
		m := answers(func() (model.Reply, error) { return tt.reply, nil })
		answer, used, err := Ask(t.Context(), m, Price{Output: 1_000_000}, "system", "user", json.RawMessage(`{"type":"object"}`))
		if err != nil || answer != tt.want || used != (host.Amount{Tokens: 65, Money: 5}) {
			t.Errorf("%q, %+v, %v", answer, used, err)
		}
		if asked := m.asked[0]; asked.System != "system" || asked.Messages[0].Text != "user" || string(asked.Tools[0].Parameters) != `{"type":"object"}` || asked.MaxTokens == 0 {
			t.Errorf("asked %+v", asked)
		}
	}
}

// TestBeforeReasoning: what a hook does before the model is asked, and what
// becomes of the turn.
func TestBeforeReasoning(t *testing.T) {
	for _, tt := range []struct {
		name     string
		do       before
		observer bool
		reason   Reason   // empty breaks the turn off
		code     abi.Code // that the user is told of; 0 for none
		asked    int
		note     string
	}{
		{"says nothing", func(context.Context, host.Reasoning) (host.Injection, error) { return host.Injection{}, nil }, false, Answered, 0, 1, ""},
		{"refuses", func(context.Context, host.Reasoning) (host.Injection, error) {
			return host.Injection{}, abi.NewProblem(abi.NotAllowed, "not here")
		}, false, Refused, abi.NotAllowed, 0, "refused with 3002: not here"},
		{"may allow it later", func(context.Context, host.Reasoning) (host.Injection, error) {
			return host.Injection{}, abi.NewProblem(abi.Unavailable, "the list is away")
		}, false, "", abi.Unavailable, 0, "refused with 5002: the list is away"},
		{"fails", func(context.Context, host.Reasoning) (host.Injection, error) {
			return host.Injection{}, errors.New("told to")
		}, false, "", abi.Unavailable, 0, "could not decide: told to"},
		{"panics", func(context.Context, host.Reasoning) (host.Injection, error) { panic("told to") }, false, "", abi.Unavailable, 0, "it panicked: told to"},
		{"is slow", func(ctx context.Context, _ host.Reasoning) (host.Injection, error) {
			<-ctx.Done()
			return host.Injection{}, nil
		}, false, "", abi.Unavailable, 0, "it did not answer within"},
		{"observes and refuses", func(context.Context, host.Reasoning) (host.Injection, error) {
			return host.Injection{}, abi.NewProblem(abi.NotAllowed, "not here")
		}, true, Answered, 0, 1, "hook it failed: 3002: not here"},
		{"observes and panics", func(context.Context, host.Reasoning) (host.Injection, error) { panic("told to") }, true, Answered, 0, 1, "it panicked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := answers(says("hello"))
			h := newHouse(t, m)
			hook := host.Hook{Name: "it", Observer: tt.observer, PreReasoning: tt.do}
			if tt.name == "is slow" {
				hook.Time = time.Millisecond
			}
			h.hook(hook)
			h.wantTurn(tt.reason, tt.code, tt.note)
			asked := tt.asked
			if tt.reason == "" {
				asked++ // when it was delivered again
			}
			if len(m.asked) != asked {
				t.Errorf("%d questions, want %d", len(m.asked), asked)
			}
		})
	}
}

// wantTurn runs a turn that ends for a reason, or is broken off, with the user
// told of a code, and a note on record. A turn that is broken off goes on when
// its hooks let it.
func (h *house) wantTurn(reason Reason, code abi.Code, note string) {
	h.t.Helper()
	answer, err := h.turn("1", "hi")
	if reason == "" && (err == nil || host.ProblemOf(err).Code != code) || reason != "" && (err != nil || answer.Reason != reason) {
		h.t.Fatalf("the turn ends with %+v, %v", answer, err)
	}
	var told abi.Code
	for _, e := range h.events {
		if e.Kind == host.EventNotice {
			told = e.Problem.Code
		}
	}
	if told != code {
		h.t.Errorf("the user is told of %d, want %d", told, code)
	}
	if reason == Refused && answer.Text != abi.RowOf(code).UserZH {
		h.t.Errorf("the user is left with %q", answer.Text)
	}
	if got := h.notes(); !strings.Contains(got, note) || note == "" && got != "" {
		h.t.Errorf("on record is %q, want %q", got, note)
	}
	h.hook()
	again := h.mustTurn("1", "hi")
	if want := reason != ""; again.Repeated != want || reason != "" && again.Reason != reason {
		h.t.Errorf("delivered again, the input gives %+v", again)
	}
}

// TestAfterReasoning: what a hook does with an answer, and what becomes of it.
func TestAfterReasoning(t *testing.T) {
	says := func(p *abi.Problem) after {
		return func(context.Context, host.Reasoning) (host.Opinion, error) { return host.Opinion{Problem: p}, nil }
	}
	for _, tt := range []struct {
		name     string
		do       after
		observer bool
		reason   Reason
		code     abi.Code
		asked    int
		shown    string
		note     string
	}{
		{"says nothing", says(nil), false, Answered, 0, 1, "the price is 1", ""},
		{"refuses", says(abi.NewProblem(abi.Refused, "the price is wrong")), false, Refused, abi.Refused, 2, "", "hook it: refused with 3000: the price is wrong"},
		{"finds it broken", says(abi.NewProblem(abi.Broken, "no more of this")), false, Refused, abi.Broken, 1, "", "hook it: refused with 9000: no more of this"},
		{"may allow it later", says(abi.NewProblem(abi.Unavailable, "the list is away")), false, "", abi.Unavailable, 1, "", "refused with 5002: the list is away"},
		{"panics", func(context.Context, host.Reasoning) (host.Opinion, error) { panic("told to") }, false, "", abi.Unavailable, 1, "", "it panicked: told to"},
		{"is slow", func(ctx context.Context, _ host.Reasoning) (host.Opinion, error) {
			<-ctx.Done()
			return host.Opinion{}, nil
		}, false, "", abi.Unavailable, 1, "", "it did not answer within"},
		{"observes and refuses", says(abi.NewProblem(abi.Refused, "the price is wrong")), true, Answered, 0, 1, "the price is 1", "hook it: would have refused: the price is wrong"},
		{"observes and panics", func(context.Context, host.Reasoning) (host.Opinion, error) { panic("told to") }, true, Answered, 0, 1, "the price is 1", "it panicked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := answers(func() (model.Reply, error) { return model.Reply{Text: "the price is 1", Finish: model.FinishStop}, nil })
			h := newHouse(t, m)
			hook := host.Hook{Name: "it", Observer: tt.observer, PostReasoning: tt.do}
			if tt.name == "is slow" {
				hook.Time = time.Millisecond
			}
			h.hook(hook)
			h.wantTurn(tt.reason, tt.code, tt.note)
			asked, shown := tt.asked, tt.shown
			if tt.reason == "" {
				asked, shown = asked+1, "the price is 1" // when it was delivered again
			}
			if len(m.asked) != asked || h.shown() != shown {
				t.Errorf("%d questions, want %d; the user saw %q, want %q", len(m.asked), asked, h.shown(), shown)
			}
		})
	}
}

// A guard's words for the user take the place of those of the code, and are stored; the
// hooks and the operator are told of the problem all the same.
func TestAGuardsWordsStandInThePlaceOfARefusedAnswer(t *testing.T) {
	problem := abi.NewProblem(abi.Refused, "the price is wrong")
	for _, tt := range []struct {
		name    string
		instead []string // of each answer
		want    string
	}{
		{"words", []string{"Held back: ask for the figures.", "Held back: ask for the figures."}, "Held back: ask for the figures."},
		{"of the last answer alone", []string{"Held back.", ""}, abi.RowOf(abi.Refused).UserZH},
		{"none", []string{"", ""}, abi.RowOf(abi.Refused).UserZH},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, answers(func() (model.Reply, error) { return model.Reply{Text: "the price is 1", Finish: model.FinishStop}, nil }))
			judged, troubled := 0, 0
			h.hook(host.Hook{Name: "it", PostReasoning: func(_ context.Context, r host.Reasoning) (host.Opinion, error) {
				if r.Locale != session.Locale {
					t.Errorf("the hook is told of the locale %q", r.Locale)
				}
				judged++
				return host.Opinion{Problem: problem, Instead: tt.instead[judged-1]}, nil
			}}, host.Hook{Name: "alerted", Observer: true, OnProblem: func(context.Context, host.Trouble) error { troubled++; return nil }})
			answer := h.mustTurn("1", "hi")
			if answer.Text != tt.want || answer.Reason != Refused || judged != 2 || troubled != 1 || strings.Contains(h.shown(), "price") {
				t.Errorf("the turn ends with %+v; judged %d times, told of %d problems; the user saw %q", answer, judged, troubled, h.shown())
			}
			if tt.name == "words" && (h.shown() != tt.want || h.count(host.EventNotice) != 0) {
				t.Errorf("the user saw %q and %d notices", h.shown(), h.count(host.EventNotice))
			}
			if again := h.mustTurn("1", "hi"); !again.Repeated || again.Text != tt.want {
				t.Errorf("delivered again, the input gives %+v", again)
			}
		})
	}
}

// TestAGuardKnowsWhatAnAnswerMayRestOn: the user's words and what calls gave, of this input
// and of those before it, and nothing that the model said, nor what a problem quotes of it.
func TestAGuardKnowsWhatAnAnswerMayRestOn(t *testing.T) {
	h := newHouse(t, answers(calls(look), calls(`nails {"it":"indeed"}`), says("pens are plenty"), says("take them")))
	var read []string
	h.hook(host.Hook{Name: "it", PreReasoning: func(_ context.Context, r host.Reasoning) (host.Injection, error) {
		if r.Read != nil {
			t.Errorf("before the answer it is told of %q", r.Read)
		}
		return host.Injection{}, nil
	}, PostReasoning: func(_ context.Context, r host.Reasoning) (host.Opinion, error) {
		read = r.Read
		return host.Opinion{}, nil
	}})
	for i, words := range []string{"how many pens?", "which ones?"} {
		h.mustTurn(fmt.Sprint(i), words)
		told := strings.Join(read, "\n")
		for _, want := range []string{"how many pens?", "total {", words} {
			if !strings.Contains(told, want) {
				t.Errorf("after %q it is told of %q; want %q in it", words, read, want)
			}
		}
		for _, not := range []string{"plenty", "nails", "indeed"} {
			if strings.Contains(told, not) {
				t.Errorf("after %q it is told of %q, which is the model's", words, read)
			}
		}
	}
}

func (h *house) shown() string {
	text := ""
	for _, e := range h.events {
		text += map[host.EventKind]string{host.EventText: e.Text, host.EventRestart: "↺"}[e.Kind]
	}
	return text
}

// TestARefusedAnswerIsGivenAgainInOtherWords: the model learns what the guard
// has against it, and nobody else sees it.
func TestARefusedAnswerIsGivenAgainInOtherWords(t *testing.T) {
	var asked []model.Request
	h := newHouse(t, asked_(func(req model.Request, on func(model.Event)) string {
		asked = append(asked, req)
		text := []string{"I have ordered it.", "I have not ordered it."}[len(asked)-1]
		if on != nil {
			on(model.Event{Text: text})
		}
		return text
	}))
	h.hook(host.Hook{Name: "truth", PostReasoning: func(_ context.Context, r host.Reasoning) (host.Opinion, error) {
		if r.Text == "I have ordered it." && len(r.Outcomes) == 0 {
			return host.Opinion{Problem: abi.NewProblem(abi.Refused, "no tool was called").WithHint("call one, or say so")}, nil
		}
		return host.Opinion{}, nil
	}})
	answer := h.mustTurn("1", "order a pen")
	if answer.Text != "I have not ordered it." || answer.Reason != Answered || h.shown() != answer.Text {
		t.Errorf("answer is %+v; the user saw %q", answer, h.shown())
	}
	if want := "- Your last answer (I have ordered it.) was withheld from the user and nothing of it was done: no tool was called call one, or say so"; !strings.Contains(asked[1].Hint, want) || strings.Contains(asked[0].Hint, "withheld") {
		t.Errorf("the model was told %q", asked[1].Hint)
	}
	if got := h.said(); got != "user:order a pen assistant:I have not ordered it." {
		t.Errorf("stored is %s", got)
	}
}

// asked_ makes a model of a function that says one thing.
type asked_ func(req model.Request, on func(model.Event)) string

func (f asked_) Complete(_ context.Context, req model.Request, on func(model.Event)) (model.Reply, error) {
	return model.Reply{Text: f(req, on), Finish: model.FinishStop}, nil
}

// TestHooksAreAskedAgainWhenTheTurnGoesOn, and know what was done before.
func TestHooksAreAskedAgainWhenTheTurnGoesOn(t *testing.T) {
	m := answers(calls(`order {"item":"pen","count":2}`, `order {"item":"sold out","count":1}`), fails(abi.ModelUnavailable))
	h := newHouse(t, m)
	var seen []host.Reasoning
	h.hook(host.Hook{Name: "memory", PreReasoning: func(_ context.Context, r host.Reasoning) (host.Injection, error) {
		seen = append(seen, r)
		return host.Injection{}, nil
	}})
	if _, err := h.turn("1", "order"); err == nil {
		t.Fatal("the model answered")
	}
	m.answers[1] = says("done")
	h.mustTurn("1", "order")
	if len(seen) != 3 || len(seen[2].Outcomes) != 2 || seen[2].Round != seen[1].Round {
		t.Fatalf("the hook was asked about %+v", seen)
	}
	for i, o := range seen[2].Outcomes {
		if was := seen[1].Outcomes[i]; o.Call != was.Call || o.Status != was.Status || o.Tool != was.Tool || (o.Problem == nil) != (was.Problem == nil) {
			t.Errorf("outcome %d is %+v, and was %+v", i, o, was)
		}
	}
}

// TestATurnsEndTellsWhatTheUserWasTold: also beside calls, and nothing of other inputs.
func TestATurnsEndTellsWhatTheUserWasTold(t *testing.T) {
	beside := func() (model.Reply, error) {
		reply, err := calls(`total {"item":"pen"}`)()
		reply.Text = "Is it ten still?"
		return reply, err
	}
	h := newHouse(t, answers(says("before"), beside, says("done"), says("after")))
	var told []string
	h.hook(host.Hook{Name: "ends", OnTurnEnd: func(_ context.Context, e host.TurnEnd) error {
		told = append(told, e.Text)
		return nil
	}})
	for _, id := range []string{"1", "2", "3"} {
		h.mustTurn(id, "hi "+id)
	}
	if want := []string{"before", "Is it ten still?\ndone", "after"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestEveryEndIsToldOnceAtFirst: of turns, of sessions and of lives, whatever a hook says.
func TestEveryEndIsToldOnceAtFirst(t *testing.T) {
	ctx := t.Context()
	h := newHouse(t, answers(says("one"), says("two"), says("three"), says("four"), says("five")))
	var told []string
	h.hook(host.Hook{
		Name: "ends", Observer: true,
		OnTurnEnd: func(_ context.Context, e host.TurnEnd) error {
			told = append(told, "turn "+e.Reason)
			if h.input("1").Answer == nil {
				t.Error("a turn's end is told before it is stored")
			}
			return nil
		},
		OnSessionEnd: func(_ context.Context, ref host.SessionRef) error {
			told = append(told, "session "+string(ref.Session))
			return errors.New("for the log")
		},
		OnEvent: func(_ context.Context, e host.BusinessEvent) error {
			told = append(told, e.Kind+" "+string(e.Live)+string(e.Data))
			return nil
		},
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	end := func() {
		t.Helper()
		_, err := h.agent.EndSession(ctx, session.Ref)
		must(err)
	}
	live := func(do func() (bool, error)) { t.Helper(); _, err := do(); must(err) }
	for range 2 {
		live(func() (bool, error) { return h.agent.StartLive(ctx, "acme", "7", json.RawMessage(`{"a":1}`)) })
	}
	end() // nothing was said
	h.mustTurn("1", "hi")
	h.mustTurn("1", "hi")
	end()
	end()
	h.mustTurn("2", "and")
	must(h.agent.Clear(ctx, session.Ref))
	must(h.agent.Clear(ctx, session.Ref))
	end()
	h.mustTurn("3", "more")
	for range 2 {
		must(h.agent.Purge(ctx, session.Ref))
		live(func() (bool, error) { return h.agent.EndLive(ctx, "acme", "7") })
	}
	want := `live.start 7{"a":1}, turn answered, session s1, turn answered, session s1, turn answered, session s1, live.end 7`
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("told is\n%s, want\n%s", got, want)
	}
	if _, err := Show(ctx, h.store, session.Ref); err == nil || host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("after the purge the session gives %v", err)
	}
}

func TestASessionWhoseTurnRunsDoesNotEnd(t *testing.T) {
	h := newHouse(t, nil)
	turn := h.hold("1", "wait")
	if _, err := h.agent.EndSession(t.Context(), session.Ref); err == nil || host.ProblemOf(err).Code != abi.Busy {
		t.Errorf("error is %v", err)
	}
	close(turn.release)
	if err := <-turn.ended; err != nil {
		t.Fatal(err)
	}
}

// TestTheUserAndTheHooksAreToldOfABrokenTurn (F19).
func TestTheUserAndTheHooksAreToldOfABrokenTurn(t *testing.T) {
	h := newHouse(t, answers(fails(abi.ModelUnavailable)))
	var told []host.Trouble
	h.hook(host.Hook{Name: "told", Observer: true, OnProblem: func(_ context.Context, p host.Trouble) error { told = append(told, p); return nil }})
	if _, err := h.turn("1", "hi"); err == nil {
		t.Fatal("the model answered")
	}
	if len(told) != 1 || told[0].Problem.Code != abi.ModelUnavailable || told[0].Session != session.Ref || h.count(host.EventNotice) != 1 {
		t.Errorf("the hooks are told %+v", told)
	}
}

// TestTheSecondTripIsToldToTheHooks (F38).
func TestTheSecondTripIsToldToTheHooks(t *testing.T) {
	h := newHouse(t, answers(calls(look), calls(look), calls(look), says("never asked")))
	var told []abi.Code
	h.hook(host.Hook{Name: "told", Observer: true, OnProblem: func(_ context.Context, p host.Trouble) error {
		told = append(told, p.Problem.Code)
		return nil
	}})
	if answer := h.mustTurn("1", "how many?"); answer.Reason != Circled || len(told) != 1 || told[0] != abi.Circling {
		t.Errorf("answer is %+v; the hooks are told %v", answer, told)
	}
}
