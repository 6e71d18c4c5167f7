package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// TestBrokenOffInputStaysBrokenOff: it comes again after another input, whose
// answer must not pass for its own.
func TestBrokenOffInputStaysBrokenOff(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`order {"item":"pen","count":2}`), says("what now?")}}
	h := newHouse(t, m)
	h.dieAfterThinking("1", "order 2 pens")
	h.mustTurn("2", "never mind")
	again := h.mustTurn("1", "order 2 pens")
	if again.Reason != Superseded || !again.Repeated || again.Text != abi.RowOf(abi.Cancelled).UserZH {
		t.Errorf("answer is %+v", again)
	}
	if len(m.asked) != 2 || h.stored("total/pen") != "" {
		t.Errorf("%d questions, stored %q; nothing may have run", len(m.asked), h.stored("total/pen"))
	}
}

func TestInputWithOtherWordsIsRefused(t *testing.T) {
	h := newHouse(t, &script{answers: []func() (model.Reply, error){says("hello")}})
	h.mustTurn("1", "hi")
	if _, err := h.turn("1", "sell everything"); err == nil || host.ProblemOf(err).Code != abi.Conflict {
		t.Errorf("error is %v, want a conflict", err)
	}
}

// TestInterruptedCallIsToldAsTheRecordsHaveIt (H38): the process died between
// a call and the storing of its result.
func TestInterruptedCallIsToldAsTheRecordsHaveIt(t *testing.T) {
	for _, tt := range []struct {
		name, call string
		before     func(t *turn, c openCall)
		want       string
		ok         bool
	}{
		{"not begun", `order {"item":"pen","count":2}`, func(*turn, openCall) {}, `interrupted before it began; it was not done`, false},
		{"done", `order {"item":"pen","count":2}`, func(t *turn, c openCall) { t.call(context.Background(), c) }, `{"item":"pen","total":2}`, true},
		{"a read", `total {"item":"pen"}`, func(t *turn, c openCall) { t.call(context.Background(), c) }, `{"item":"pen","total":0}`, true},
		{"failed", `order {"item":"sold out","count":2}`, func(t *turn, c openCall) { t.call(context.Background(), c) }, `"code":3001`, false},
		{"refused", `order {"item":"weapon","count":2}`, func(t *turn, c openCall) { t.call(context.Background(), c) }, `"code":4005`, false},
		{"in the middle", `order {"item":"pen","count":2}`, func(t *turn, c openCall) {
			intent := host.Record{Session: t.ref, Call: t.callID(c), Kind: host.RecordIntent, Tool: "order"}
			if err := t.Store.Record(context.Background(), intent); err != nil {
				panic(err)
			}
		}, `"code":1007`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{answers: []func() (model.Reply, error){calls(tt.call), says("what now?")}}
			h := newHouse(t, m)
			broken := h.think("1", "go")
			tt.before(broken, broken.open()[0])
			broken.lease.leave(t.Context())
			h.mustTurn("2", "never mind")
			if got := m.asked[1].Messages[2]; got.OK != tt.ok || !strings.Contains(got.Text, tt.want) {
				t.Errorf("the model saw %+v, want %s", got, tt.want)
			}
		})
	}
}

// TestStoppedCallsRunWhenTheTurnGoesOn: stopping a turn is no answer to the
// calls that it stopped, and those that had ended do not run again (H7).
func TestStoppedCallsRunWhenTheTurnGoesOn(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	m := &script{answers: []func() (model.Reply, error){
		calls(`order {"item":"pen","count":2}`, `misbehave {"how":"flaky"}`, `total {"item":"pen"}`), says("done"),
	}}
	h := newHouse(t, m)
	h.agent.Dispatch.Sleep = func(ctx context.Context, _ time.Duration) error { stop(); return ctx.Err() }
	answer, err := h.agent.Turn(ctx, session, Input{ID: "1", Text: "go"}, nil)
	if err == nil || host.ProblemOf(err).Code != abi.Cancelled || len(answer.Outcomes) != 1 {
		t.Fatalf("error is %v after %+v", err, answer)
	}
	h.agent.Dispatch.Sleep = noSleep
	answer = h.mustTurn("1", "go")
	if answer.Text != "done" || len(answer.Outcomes) != 2 || h.stored("total/pen") != "2" || len(m.asked) != 2 {
		t.Fatalf("answer is %+v after %d questions, stored %s", answer, len(m.asked), h.stored("total/pen"))
	}
	for i, want := range []string{`{"item":"pen","total":2}`, `3`, `{"item":"pen","total":2}`} {
		if got := m.asked[1].Messages[2+i]; !got.OK || got.Text != want {
			t.Errorf("result %d is %+v, want %s", i, got, want)
		}
	}
}

// TestCallThatRunsElsewhereIsNotAnswered: its process may have died a moment
// ago, and "it is running" would be the last that anybody hears of it.
func TestCallThatRunsElsewhereIsNotAnswered(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`total {"item":"pen"}`, `order_once {"item":"pen","count":2}`), says("done")}}
	h := newHouse(t, m)
	turn := h.think("1", "order 2 pens")
	c := turn.open()[1]
	key, err := host.Intent{Session: session.Ref, Input: 1, Tool: c.call.Tool, Args: json.RawMessage(c.call.Args)}.Key()
	if err != nil {
		t.Fatal(err)
	}
	request := state.ClaimRequest{Session: session.Ref, Key: key, Call: turn.callID(c), Fence: turn.lease.fence, Lease: time.Hour,
		Digest: host.Digest([]byte(h.agent.Dispatch.Meaning(turn.catalog, c.call.Tool, c.call.Args))),
		Intent: host.Record{Call: turn.callID(c), Kind: host.RecordIntent, Tool: c.call.Tool}}
	if claim, err := h.store.Claim(t.Context(), request); err != nil || claim.State != state.ClaimNew {
		t.Fatal(claim, err)
	}
	if _, err := turn.run(t.Context()); err == nil || host.ProblemOf(err).Code != abi.Busy {
		t.Fatalf("error is %v, want busy", err)
	}
	if err := h.store.ReleaseClaim(t.Context(), session.Ref, turn.lease.fence, key, turn.callID(c)); err != nil {
		t.Fatal(err)
	}
	turn.lease.leave(t.Context())
	if answer := h.mustTurn("1", "order 2 pens"); answer.Text != "done" || len(answer.Outcomes) != 1 || h.stored("total/pen") != "2" {
		t.Fatalf("answer is %+v, stored %s", answer, h.stored("total/pen"))
	}
}

// TestAStoreThatFailsIsNotTheResultOfACall: it is back before the model would
// hear of it, and the call that nobody ran is not to be told as one that failed.
func TestAStoreThatFailsIsNotTheResultOfACall(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`total {"item":"pen"}`, `order_once {"item":"pen","count":2}`), says("done")}}
	h := newHouse(t, m)
	works := h.agent.Dispatch
	h.agent.Dispatch = dispatch.New(dispatch.Config{Config: grant.Config{Store: closedStore(t)}, Sleep: noSleep})
	if answer, err := h.turn("1", "order 2 pens"); err == nil || host.ProblemOf(err).Code != abi.StoreFailure || len(answer.Outcomes) != 0 {
		t.Fatalf("error is %v after %+v, want a store failure", err, answer.Outcomes)
	}
	h.agent.Dispatch = works
	if answer := h.mustTurn("1", "order 2 pens"); answer.Text != "done" || len(answer.Outcomes) != 2 || h.stored("total/pen") != "2" || len(m.asked) != 2 {
		t.Fatalf("answer is %+v after %d questions, stored %s", answer, len(m.asked), h.stored("total/pen"))
	}
}

// closedStore gives a store that fails whatever it is asked.
func closedStore(t *testing.T) *state.Store {
	t.Helper()
	store, err := state.Open(context.Background(), filepath.Join(t.TempDir(), "closed.db"), state.Options{})
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestBatchThatTakesTooLongIsTold, and the turn goes on.
func TestBatchThatTakesTooLongIsTold(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){calls(`order {"item":"pen","count":2}`, `total {"item":"pen"}`), says("it took too long")}}
	h := newHouse(t, m)
	h.agent.Batch = time.Nanosecond
	answer := h.mustTurn("1", "order 2 pens")
	if answer.Text != "it took too long" || h.stored("total/pen") != "" {
		t.Fatalf("answer is %+v, stored %q", answer, h.stored("total/pen"))
	}
	for _, i := range []int{2, 3} {
		if got := m.asked[1].Messages[i].Text; !strings.Contains(got, `"code":5001`) || !strings.Contains(got, "have 1ns together") {
			t.Errorf("the model saw %s", got)
		}
	}
}

// TestModelThatWritesTheSameCallInAnotherWayMeansTheSame: the ordinal counts
// what the gate accepted, not what the model wrote.
func TestModelThatWritesTheSameCallInAnotherWayMeansTheSame(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){
		calls(`order {"item":"pen","count":"2"}`), calls("order ```json\n{\"item\":\"pen\",\"count\":2}\n```"), calls(`order {"count":2,"item":"pen"}`), says("ok"),
	}}
	h := newHouse(t, m)
	h.agent.Dispatch.Approver = func(context.Context, dispatch.Question) bool { return true }
	answer := h.mustTurn("1", "order 2 pens, three times")
	keys := map[host.Key]bool{}
	for _, o := range answer.Outcomes {
		keys[o.Key] = true
	}
	if h.stored("total/pen") != "6" || len(keys) != 3 {
		t.Fatalf("stored %s under %d keys, outcomes %+v", h.stored("total/pen"), len(keys), answer.Outcomes)
	}
}

func TestOnlyResultsOfTheCallItselfCount(t *testing.T) {
	ok := func(id string) model.Message { return model.Message{Role: model.RoleTool, CallID: id, OK: true} }
	c := conversation{first: 10, messages: []model.Message{
		{Role: model.RoleUser}, {Role: model.RoleAssistant, Calls: []model.Call{{ID: "a"}, {ID: "b"}, {ID: "c"}}}, ok("a"), {Role: model.RoleTool, CallID: "b"}, {Role: model.RoleUser},
		{Role: model.RoleAssistant, Calls: []model.Call{{ID: "a"}, {ID: "b"}}}, ok("b"),
	}}
	turn := &turn{conversation: c}
	for _, tt := range []struct {
		message, index int
		want           bool
	}{{11, 0, true}, {11, 1, false}, {11, 2, false}, {15, 0, false}} {
		if got := turn.succeeded(tt.message, tt.index); got != tt.want {
			t.Errorf("call %d of message %d succeeded: %v, want %v", tt.index, tt.message, got, tt.want)
		}
	}
}

// TestPinnedReleaseThatCannotBeHadIsTold, to the user and to the model, and
// the session goes on without it.
func TestPinnedReleaseThatCannotBeHadIsTold(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){says("hello"), calls(`order {"item":"pen","count":2}`), says("sorry")}}
	h := newHouse(t, m)
	h.mustTurn("1", "hi")
	h.events = nil
	h.agent.Releases = newSet(t, func(m *abi.Manifest) { m.Version = "2.0.0" })
	if answer := h.mustTurn("2", "order 2 pens"); answer.Text != "sorry" {
		t.Fatalf("answer is %+v", answer)
	}
	if got, want := h.kinds(), "turn.start notice call outcome text turn.end"; got != want {
		t.Errorf("events are %q, want %q", got, want)
	}
	if got := m.asked[2].Messages[4].Text; !strings.Contains(got, "test.guest@1.0.0 cannot be loaded now") {
		t.Errorf("the model saw %s", got)
	}
}

// TestSkillCannotNameTheConversationsState: it would rewrite what was said.
func TestSkillCannotNameTheConversationsState(t *testing.T) {
	for _, key := range []string{keySession, messageKey(0), keyInput + "1", "agent*", "*"} {
		m := abi.Manifest{Sluice: 1, Name: "test.spy", Version: "1.0.0", Summary: "Spies.", Module: "skill.wasm", ABI: 1,
			Capabilities: abi.Capabilities{State: &abi.StateAccess{Writes: []string{key}}},
			Tools: []abi.Tool{{Name: "spy", Summary: "Spy.", Effect: abi.Read, Input: json.RawMessage(`{"type":"object"}`),
				Examples: []abi.Example{{Say: "spy", Args: json.RawMessage(`{}`)}}}}}
		if _, err := manifest.Compile(m); err == nil {
			t.Errorf("a manifest may declare state key %s", key)
		}
		m.Capabilities.State.Writes = []string{"agent"}
		if _, err := manifest.Compile(m); err != nil {
			t.Fatalf("the manifest is refused for another reason: %v", err)
		}
	}
}

func TestAnswerThatIsNoneIsAskedForAgain(t *testing.T) {
	none := func() (model.Reply, error) { return model.Reply{Text: " \n", Finish: model.FinishStop}, nil }
	filtered := func() (model.Reply, error) { return model.Reply{Finish: model.FinishFilter}, nil }
	flood := make([]string, MaxCalls+1)
	for i := range flood {
		flood[i] = fmt.Sprintf(`total {"item":"i%d"}`, i)
	}
	for _, tt := range []struct {
		name   string
		answer func() (model.Reply, error)
		want   abi.Code
	}{{"empty", none, abi.ModelInterrupted}, {"filtered", filtered, abi.ModelRejected}, {"too many calls", calls(flood...), abi.ModelRejected}} {
		t.Run(tt.name, func(t *testing.T) {
			m := &script{answers: []func() (model.Reply, error){tt.answer}}
			h := newHouse(t, m)
			if _, err := h.turn("1", "hi"); err == nil || host.ProblemOf(err).Code != tt.want {
				t.Fatalf("error is %v, want code %d", err, tt.want)
			}
			m.answers[0] = says("hello")
			if answer := h.mustTurn("1", "hi"); answer.Text != "hello" {
				t.Errorf("answer is %+v", answer)
			}
		})
	}
}

func TestAsManyCallsAsAnAnswerMayHave(t *testing.T) {
	list := make([]string, MaxCalls)
	for i := range list {
		list[i] = fmt.Sprintf(`total {"item":"i%d"}`, i)
	}
	m := &script{answers: []func() (model.Reply, error){calls(list...), says("ok"), says("ok")}}
	h := newHouse(t, m)
	h.agent.Parallel = MaxCalls
	h.dieAfterThinking("1", "count")
	h.mustTurn("2", "never mind") // gives all of them a result at once
	if n := len(m.asked[1].Messages); n != MaxCalls+3 {
		t.Errorf("the model saw %d messages", n)
	}
}

// TestLongSessionIsBounded: 10,000 messages, of which a turn loads the end.
func TestLongSessionIsBounded(t *testing.T) {
	m := &script{}
	for range 6000 {
		m.answers = append(m.answers, says("ok"))
	}
	h := newHouse(t, m)
	h.mustTurn("1", "hello")
	h.say(3333, func(i int) []model.Message {
		return []model.Message{{Role: model.RoleUser, Text: fmt.Sprint("question ", i)},
			{Role: model.RoleAssistant, Calls: []model.Call{{ID: "c", Tool: "total", Args: `{}`}}}, {Role: model.RoleTool, CallID: "c", Text: "1"}}
	})
	h.mustTurn("2", "and now?")
	messages := m.asked[1].Messages
	if n := len(messages); n > maxMessages+1 || n < maxMessages-2 || messages[0].Role != model.RoleUser || messages[n-1].Text != "and now?" {
		t.Errorf("the model saw %d messages from %+v to %+v", n, messages[0], messages[n-1])
	}
}

// TestLongTurnHasAllOfItsOwn: it is resumed from its user's words on.
func TestLongTurnHasAllOfItsOwn(t *testing.T) {
	m := &script{answers: []func() (model.Reply, error){says("before"), fails(abi.ModelUnavailable)}}
	h := newHouse(t, m)
	h.agent.Limits = limits(func(l *Limits) { l.Task.Steps = 10_000 })
	h.mustTurn("1", "hello")
	if _, err := h.turn("2", "count everything"); err == nil {
		t.Fatal("the model answered")
	}
	h.say(1000, func(i int) []model.Message {
		return []model.Message{{Role: model.RoleAssistant, Calls: []model.Call{{ID: "c", Tool: "total", Args: `{}`}}}, {Role: model.RoleTool, CallID: "c", Text: "1"}}
	})
	for range 1000 {
		m.answers = append(m.answers, says("done"))
	}
	m.answers[1] = says("unused")
	answer := h.mustTurn("2", "count everything")
	messages := m.asked[len(m.asked)-1].Messages
	if answer.Text != "done" || len(messages) != 2001 || messages[0].Text != "count everything" {
		t.Errorf("answer is %+v; the model saw %d messages from %+v", answer, len(messages), messages[0])
	}
}

// say stores what is said n times.
func (h *house) say(n int, words func(i int) []model.Message) {
	h.t.Helper()
	c := conversation{ref: session.Ref}
	if err := c.find(h.t.Context(), h.store, ""); err != nil {
		h.t.Fatal(err)
	}
	c.first = c.meta.Messages
	for i := 0; i < n; {
		for said := 0; i < n && said < 90; i++ {
			messages := words(i)
			c.say(messages...)
			said += len(messages)
		}
		if err := h.store.SaveState(h.t.Context(), c.ref, c.changes()...); err != nil {
			h.t.Fatal(err)
		}
		c.saved()
	}
}
