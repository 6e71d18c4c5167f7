package skilltest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

// Examples runs every example of every tool as a subtest, each on a namespace
// that holds what the example seeds and nothing else. A tool without an
// example fails.
func (h *Host) Examples() {
	h.t.Helper()
	t, ok := h.t.(*testing.T)
	if !ok {
		h.t.Fatal("Examples needs a *testing.T")
	}
	for _, tool := range h.manifest.Tools {
		if len(tool.Examples) == 0 {
			t.Errorf("tool %s has no example; every tool needs one", tool.Name)
		}
		for _, example := range tool.Examples {
			t.Run(tool.Name+"/"+example.Say, func(t *testing.T) { h.example(t, tool, example) })
		}
	}
}

func (h *Host) example(t *testing.T, tool abi.Tool, e abi.Example) {
	own := *h
	own.t, own.kv = t, map[string][]byte{}
	for key, value := range e.KV {
		own.kv[key] = value
	}
	state := map[string]any{}
	for key, value := range e.State {
		state[key] = value
	}
	if fault := judge(e, own.CallJSON(tool.Name, string(e.Args), State(state))); fault != "" {
		t.Error(fault)
	}
}

// judge says how a reply differs from what the example says, or nothing.
func judge(e abi.Example, reply abi.Reply) string {
	switch {
	case e.Problem != 0 && reply.OK:
		return fmt.Sprintf("it succeeds with %s; the example says problem %d", reply.Data, e.Problem)
	case e.Problem != 0 && reply.Problem.Code != e.Problem:
		return fmt.Sprintf("it ends in %v; the example says problem %d", reply.Problem, e.Problem)
	case e.Problem == 0 && !reply.OK:
		return fmt.Sprintf("it ends in %v; the example says that it succeeds", reply.Problem)
	case e.Problem == 0 && len(e.Returns) > 0 && !sameJSON(reply.Data, e.Returns):
		return fmt.Sprintf("it returns %s; the example says %s", reply.Data, e.Returns)
	}
	return ""
}

// sameJSON reports whether two values are equal, whatever the order of their
// members.
func sameJSON(a, b json.RawMessage) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
