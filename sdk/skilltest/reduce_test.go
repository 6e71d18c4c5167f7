package skilltest

import (
	"encoding/json"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk/testdata/probe"
)

func current(t *testing.T, h *Host) (sku string) {
	t.Helper()
	h.StateOf("live.current", &sku)
	return sku
}

func TestTheStateGoesFromCallToCall(t *testing.T) {
	h := New(t, State(map[string]any{"live.current": "1001"}))
	if current(t, h) != "1001" {
		t.Errorf("at first %q is current", current(t, h))
	}
	for _, step := range []struct {
		do   func() abi.Reply
		want string
	}{
		{func() abi.Reply { return h.Call("act", probe.Act{Put: "1003"}) }, "1003"},
		{func() abi.Reply { return h.Call("patch", struct{}{}) }, "1002"},
		{func() abi.Reply { return h.Call("act", probe.Act{}) }, ""},
		{func() abi.Reply {
			return h.Call("act", probe.Act{Put: "1004"}, State(map[string]any{"live.current": "own"}))
		}, "1004"},
	} {
		if reply := step.do(); !reply.OK || current(t, h) != step.want {
			t.Errorf("reply %+v, current is %q, want %q", reply, current(t, h), step.want)
		}
	}
	var a probe.About
	if reply := h.Call("about", struct{}{}); json.Unmarshal(reply.Data, &a) != nil || a.Current != "" {
		t.Errorf("a call finds %q; what another was given was for that one only", a.Current)
	}
}

func TestWhatTheReducerRefusesIsNotKept(t *testing.T) {
	h := New(t, State(map[string]any{"live.current": "1001", "live.title": "t"}))
	for how, code := range map[string]abi.Code{"refuse": abi.OutOfBounds, "panic": abi.Trap, "retitle": abi.NotGranted, "untitle": abi.NotGranted} {
		if reply := h.Call("act", probe.Act{How: how}); reply.OK || reply.Problem.Code != code || current(t, h) != "1001" {
			t.Errorf("%s: reply %+v %v, current is %q", how, reply, reply.Problem, current(t, h))
		}
	}
}

func TestReduceGivesTheWholeState(t *testing.T) {
	state, problem := New(t).Reduce(map[string]any{"live.current": "1", "other": 2}, probe.Act{Put: "3"})
	if problem != nil || string(state["live.current"]) != `"3"` || string(state["other"]) != "2" || len(state) != 2 {
		t.Errorf("it gives %s, %v", state, problem)
	}
}

func TestAReplyMayChangeTheStateInOneWay(t *testing.T) {
	h := New(t)
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for _, tt := range []struct {
		tool  string
		reply abi.Reply
		code  abi.Code
	}{
		{"patch", abi.Reply{}, 0},
		{"about", abi.Reply{State: raw("null"), Action: raw("null")}, 0},
		{"patch", abi.Reply{State: raw(`{}`), Action: raw("{}")}, abi.BrokenContract},
		{"about", abi.Reply{State: raw(`{"live.current":1}`)}, abi.NotGranted},
		{"about", abi.Reply{Action: raw(`{"put":"1"}`)}, abi.NotGranted},
		{"patch", abi.Reply{Action: raw(`{"put":1}`)}, abi.Trap},
	} {
		if _, p := h.nextState(tt.tool, tt.reply); (p == nil) != (tt.code == 0) || p != nil && p.Code != tt.code {
			t.Errorf("%+v of %s: %v, want code %d", tt.reply, tt.tool, p, tt.code)
		}
	}
	h.manifest.Reducer = false
	if _, p := h.nextState("patch", abi.Reply{Action: raw(`{"put":"1"}`)}); p == nil || p.Code != abi.BrokenContract {
		t.Errorf("an action without a reducer: %v", p)
	}
}

func TestMergePatch(t *testing.T) {
	for _, tt := range [][3]string{
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`["a"]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{"a":1}`, `[1]`, `[1]`},
		{``, `{"a":{"b":null}}`, `{"a":{}}`},
	} {
		if got := string(mergePatch(json.RawMessage(tt[0]), json.RawMessage(tt[1]))); got != tt[2] {
			t.Errorf("%s with %s gives %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}
