package agent

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
)

// A script is a model that gives prepared answers, by how many answers the
// conversation holds already, and remembers what it was asked.
type script struct {
	answers []func() (model.Reply, error)

	mu    sync.Mutex
	asked []model.Request // guarded by mu
}

func (s *script) Complete(_ context.Context, req model.Request, on func(model.Event)) (model.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, req)
	given := 0
	for _, m := range req.Messages {
		if m.Role == model.RoleAssistant {
			given++
		}
	}
	if given >= len(s.answers) {
		return model.Reply{}, fmt.Errorf("the script has no answer %d", given)
	}
	reply, err := s.answers[given]()
	if err == nil && on != nil && reply.Text != "" {
		on(model.Event{Text: reply.Text})
	}
	return reply, err
}

func says(text string) func() (model.Reply, error) {
	return func() (model.Reply, error) { return model.Reply{Text: text, Finish: model.FinishStop}, nil }
}

func calls(list ...string) func() (model.Reply, error) {
	return func() (model.Reply, error) {
		reply := model.Reply{Finish: model.FinishCalls}
		for i, c := range list {
			tool, args, _ := strings.Cut(c, " ")
			reply.Calls = append(reply.Calls, model.Call{ID: fmt.Sprint("c", i), Tool: tool, Args: args})
		}
		return reply, nil
	}
}

func fails(code abi.Code) func() (model.Reply, error) {
	return func() (model.Reply, error) {
		return model.Reply{}, host.Fail("script", abi.NewProblem(code, "told to"), nil)
	}
}

// A house is an agent over a real store and the test guest.
type house struct {
	t      *testing.T
	store  *state.Store
	raw    *sql.DB // its SQLite file, past the store
	agent  *Agent
	events []host.Event
}

var session = Session{Ref: host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}, Locale: "zh-CN"}

func newHouse(t *testing.T, m model.Provider) *house {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store.db")
	store, err := state.Open(ctx, path, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	h := &house{t: t, store: store, raw: openRaw(t, path)}
	h.agent = New(Config{Store: store, Releases: newSet(t, nil), Dispatch: dispatch.New(dispatch.Config{
		Config: grant.Config{Store: store}, Sleep: noSleep,
	}), Model: m})
	return h
}

func openRaw(t *testing.T, path string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	raw.SetMaxOpenConns(1) // so that what is set holds for all that follows
	if _, err := raw.Exec("PRAGMA busy_timeout = 60000"); err != nil {
		t.Fatal(err)
	}
	return raw
}

// newSet gives the test guest as the only current release.
func newSet(t *testing.T, edit func(*abi.Manifest)) *release.Set {
	t.Helper()
	ctx := context.Background()
	wasm := sandboxtest.Build(t, "host/dispatch/testdata/guest")
	sandboxtest.Load(t, wasm, abi.Limits{})
	skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
	if edit != nil {
		m := sandboxtest.Manifest(t, sandboxtest.Shared(t), wasm)
		edit(&m)
		var err error
		if skill, err = manifest.Compile(m); err != nil {
			t.Fatal(err)
		}
	}
	set := release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { set.Close(ctx) })
	if _, err := set.Load(ctx, &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		t.Fatal(err)
	}
	return set
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func (h *house) turn(id, text string) (Answer, error) {
	return h.agent.Turn(context.Background(), session, Input{ID: host.InputID(id), Text: text}, func(e host.Event) { h.events = append(h.events, e) })
}

func (h *house) mustTurn(id, text string) Answer {
	h.t.Helper()
	answer, err := h.turn(id, text)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer
}

func (h *house) stored(key string) string {
	h.t.Helper()
	value, _, err := h.store.View("acme", "test").Get(context.Background(), key)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(value)
}

func (h *house) kinds() string {
	var kinds []string
	for _, e := range h.events {
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, " ")
}

func TestTurnThinksActsAndAnswers(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`order {"item":"pen","count":2}`), says("2 pens are ordered.")}}
	h := newHouse(t, m)
	answer := h.mustTurn("1", "order 2 pens")
	if answer.Text != "2 pens are ordered." || answer.Reason != Answered || answer.Steps != 2 || h.stored("total/pen") != "2" {
		t.Fatalf("answer is %+v", answer)
	}
	if got, want := h.kinds(), "turn.start call notice outcome text turn.end"; got != want {
		t.Errorf("events are %q, want %q", got, want)
	}
	last := m.asked[1].Messages[2]
	if last.Role != model.RoleTool || !last.OK || last.Text != `{"item":"pen","total":2}` || last.CallID != "c0" {
		t.Errorf("the model saw %+v", last)
	}
	if len(m.asked[0].Tools) == 0 || !strings.Contains(m.asked[0].System, "test.guest") || m.asked[0].System != m.asked[1].System {
		t.Error("the model was not told of the skill, or not the same twice")
	}
}

func TestFailedCallIsAResultAndTheTurnGoesOn(t *testing.T) {
	for _, tt := range []struct{ name, call, want string }{
		{"business", `order {"item":"sold out","count":2}`, `"code":3001`},
		{"unknown tool", `oder {}`, `"candidates":["order"`},
		{"bad argument", `order {"item":"pen","count":"x"}`, `"field":"count"`},
		{"trap", `misbehave {"how":"panic"}`, `"code":9001`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{answers: []func() (model.Reply, error){calls(tt.call, `total {"item":"pen"}`), says("sorry")}}
			answer := newHouse(t, m).mustTurn("1", "go")
			if answer.Text != "sorry" || len(answer.Outcomes) != 2 || !answer.Outcomes[1].OK() {
				t.Fatalf("answer is %+v", answer)
			}
			if got := m.asked[1].Messages[2].Text; !strings.Contains(got, tt.want) {
				t.Errorf("the model saw %s, want %s in it", got, tt.want)
			}
		})
	}
}

func TestBrokenSkillIsToldToTheUserInTheirLanguage(t *testing.T) {
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(`misbehave {"how":"panic"}`), says("sorry")}})
	h.mustTurn("1", "go")
	for _, e := range h.events {
		if e.Kind == host.EventNotice && e.Text == abi.RowOf(abi.Trap).UserZH {
			return
		}
	}
	t.Errorf("no notice among %s", h.kinds())
}

// TestCutOffCallIsNeverExecuted (H37).
func TestCutOffCallIsNeverExecuted(t *testing.T) {
	cutOff := func() (model.Reply, error) {
		return model.Reply{Calls: []model.Call{{ID: "c", Tool: "order", Args: `{"item":"pen","count":2}`, CutOff: true}}, Finish: model.FinishLength}, nil
	}
	m := &script{answers: []func() (model.Reply, error){cutOff, says("again, please")}}
	h := newHouse(t, m)
	h.mustTurn("1", "order 2 pens")
	if h.stored("total/pen") != "" || !strings.Contains(m.asked[1].Messages[2].Text, `"code":4011`) {
		t.Fatalf("stored %q, the model saw %s", h.stored("total/pen"), m.asked[1].Messages[2].Text)
	}
}

func TestResultsKeepTheOrderOfTheCalls(t *testing.T) {
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`total {"item":"i%d"}`, i))
	}
	list[10] = `order {"item":"i11","count":3}` // a write between reads: i11 is read after it
	m := &script{answers: []func() (model.Reply, error){calls(list...), says("ok")}}
	newHouse(t, m).mustTurn("1", "count")
	for i := range 20 {
		if i == 10 {
			continue
		}
		n := 0
		if i == 11 {
			n = 3
		}
		if got, want := m.asked[1].Messages[2+i].Text, fmt.Sprintf(`{"item":"i%d","total":%d}`, i, n); got != want {
			t.Errorf("result %d is %s, want %s", i, got, want)
		}
	}
}

func TestSameWriteTwiceInOneAnswerRunsOnce(t *testing.T) {
	order := `order {"item":"pen","count":2}`
	h := newHouse(t, &script{answers: []func() (model.Reply, error){calls(order, order), says("ok")}})
	answer := h.mustTurn("1", "order 2 pens")
	if h.stored("total/pen") != "2" || !answer.Outcomes[1].Replayed {
		t.Fatalf("stored %s, outcomes %+v", h.stored("total/pen"), answer.Outcomes)
	}
}

// TestSameWriteAfterItsSuccessIsAnotherIntent: it must not be mistaken for a
// redelivery, and a person who says yes has it twice.
func TestSameWriteAfterItsSuccessIsAnotherIntent(t *testing.T) {
	order := calls(`order {"item":"pen","count":2}`)
	h := newHouse(t, &script{answers: []func() (model.Reply, error){order, order, says("ok")}})
	h.agent.Dispatch.Approver = func(_ context.Context, q dispatch.Question) bool {
		return strings.Contains(strings.Join(q.Says, " "), `was done for this request already. It gave: {"item":"pen","total":2}`)
	}
	answer := h.mustTurn("1", "order 2 pens, twice")
	if h.stored("total/pen") != "4" || answer.Outcomes[0].Key == answer.Outcomes[1].Key {
		t.Fatalf("stored %s, outcomes %+v", h.stored("total/pen"), answer.Outcomes)
	}
}

func TestRedeliveredInputIsAnsweredFromTheStore(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`order {"item":"pen","count":2}`), says("done")}}
	h := newHouse(t, m)
	h.mustTurn("1", "order 2 pens")
	again := h.mustTurn("1", "order 2 pens")
	if !again.Repeated || again.Text != "done" || len(m.asked) != 2 || h.stored("total/pen") != "2" {
		t.Fatalf("answer is %+v after %d questions", again, len(m.asked))
	}
}

// TestBrokenOffTurnGoesOn: the model fails in the middle; the same input goes
// on and asks nothing that was answered, and runs nothing that ran.
func TestBrokenOffTurnGoesOn(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`order {"item":"pen","count":2}`), fails(abi.ModelUnavailable)}}
	h := newHouse(t, m)
	if _, err := h.turn("1", "order 2 pens"); err == nil || host.ProblemOf(err).Code != abi.ModelUnavailable {
		t.Fatalf("error is %v", err)
	}
	m.answers[1] = says("done")
	answer := h.mustTurn("1", "order 2 pens")
	if answer.Text != "done" || len(m.asked) != 3 || h.stored("total/pen") != "2" || len(answer.Outcomes) != 0 {
		t.Fatalf("answer is %+v after %d questions, stored %s", answer, len(m.asked), h.stored("total/pen"))
	}
}

// TestCallsWithoutResultsRunWithoutAskingAgain is a process that died between
// the model's answer and its calls.
func TestCallsWithoutResultsRunWithoutAskingAgain(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`order {"item":"pen","count":2}`), says("done")}}
	h := newHouse(t, m)
	h.dieAfterThinking("1", "order 2 pens")
	answer := h.mustTurn("1", "order 2 pens")
	if answer.Text != "done" || h.stored("total/pen") != "2" || len(m.asked) != 2 {
		t.Fatalf("answer is %+v after %d questions, stored %s", answer, len(m.asked), h.stored("total/pen"))
	}
}

// TestDanglingCallsGetAResult (H38): another input comes instead.
func TestDanglingCallsGetAResult(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`order {"item":"pen","count":2}`, `total {"item":"pen"}`), says("what now?")}}
	h := newHouse(t, m)
	h.dieAfterThinking("1", "order 2 pens")
	h.mustTurn("2", "never mind")
	messages := m.asked[1].Messages
	if len(messages) != 5 || h.stored("total/pen") != "" {
		t.Fatalf("the model saw %+v", messages)
	}
	for _, i := range []int{2, 3} {
		if messages[i].Role != model.RoleTool || messages[i].OK || !strings.Contains(messages[i].Text, "interrupted") {
			t.Errorf("message %d is %+v", i, messages[i])
		}
	}
}

// dieAfterThinking leaves the store as a process does that dies right after
// the model's first answer was stored.
func (h *house) dieAfterThinking(id, text string) *turn {
	h.t.Helper()
	t := h.think(id, text)
	t.lease.leave(context.Background()) // or its time runs out
	return t
}

// think begins a turn by hand and asks the model once.
func (h *house) think(id, text string) *turn {
	h.t.Helper()
	t := h.begin(id, text)
	if err := t.think(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	return t
}

// begin begins a turn by hand. It has the session's lease.
func (h *house) begin(id, text string) *turn {
	h.t.Helper()
	t := h.agent.newTurn(session, nil, func(error) {})
	if err := t.begin(context.Background(), Input{ID: host.InputID(id), Text: text}); err != nil {
		h.t.Fatal(err)
	}
	return t
}

func TestEndlessTurnStopsAtItsCeiling(t *testing.T) {
	m := &script{}
	for i := range 100 {
		m.answers = append(m.answers, calls(fmt.Sprintf(`total {"item":"i%d"}`, i)))
	}
	h := newHouse(t, m)
	answer := h.mustTurn("1", "go on for ever")
	if answer.Reason != TooLong || len(m.asked) != DefaultSteps || answer.Text != abi.RowOf(abi.OverBudget).UserZH {
		t.Fatalf("answer is %+v after %d questions", answer, len(m.asked))
	}
	if again := h.mustTurn("1", "go on for ever"); !again.Repeated {
		t.Error("the turn did not end")
	}
}

func TestInvalidInputIsRefused(t *testing.T) {
	h := newHouse(t, &script{})
	for _, tt := range []struct {
		name string
		in   Input
	}{
		{"no text", Input{ID: "1"}}, {"no id", Input{Text: "x"}},
		{"a long text", Input{ID: "1", Text: strings.Repeat("x", MaxInputBytes+1)}}, {"a control character", Input{ID: "a\nb", Text: "x"}},
		{"bytes that are no text", Input{ID: "1", Text: "\xff"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := h.agent.Turn(context.Background(), session, tt.in, nil); err == nil || host.ProblemOf(err).Code.Class() != abi.ClassArguments {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestConversationGrowsByWhatWasSaid(t *testing.T) {
	m := &script{}
	for range 30 {
		m.answers = append(m.answers, says("ok"))
	}
	h := newHouse(t, m)
	size := func() int {
		values, err := h.store.ListState(context.Background(), session.Ref, "", "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, v := range values {
			b, _ := json.Marshal(v)
			total += len(b)
		}
		return total
	}
	var sizes []int
	for i := range 30 {
		h.mustTurn(fmt.Sprint(i), "hello")
		sizes = append(sizes, size())
	}
	early, late := sizes[9]-sizes[4], sizes[29]-sizes[24]
	if late > early*5/4 {
		t.Errorf("five turns added %d bytes early and %d late; a session must grow by what was said", early, late)
	}
}
