package skilltest

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// StateOf reads a key of the session state into a pointer, as the last call
// that was OK left it: with its merge patch, or with what the reducer made of
// its action. It reports false where there is none.
func (h *Host) StateOf(key string, into any) bool {
	h.t.Helper()
	value, found := h.left[key]
	if !found {
		return false
	}
	if err := json.Unmarshal(value, into); err != nil {
		h.t.Fatalf("state key %s: %v", key, err)
	}
	return true
}

// Reduce runs the skill's reducer as the host does: on those keys of the state
// that the skill declares, with an action that is written as JSON. It gives the
// state as it is then, with the keys that the skill does not declare.
func (h *Host) Reduce(state map[string]any, action any) (map[string]json.RawMessage, *abi.Problem) {
	h.t.Helper()
	return h.reduce(h.encodeAll(state), h.encode(action))
}

func (h *Host) reduce(state map[string]json.RawMessage, action json.RawMessage) (map[string]json.RawMessage, *abi.Problem) {
	h.t.Helper()
	access := h.manifest.Capabilities.State
	seen := maps.Clone(state)
	maps.DeleteFunc(seen, func(key string, _ json.RawMessage) bool { return !access.MayRead(key) && !access.MayWrite(key) })
	output, err := sdk.ReduceJSON(h.encode(abi.Reduction{ABI: abi.Version, State: seen, Action: action}), &grants{t: h.t})
	if err != nil {
		return nil, err.(*abi.Problem)
	}
	var changed map[string]json.RawMessage
	if err := json.Unmarshal(output, &changed); err != nil || changed == nil {
		return nil, abi.NewProblem(abi.BrokenContract, "the reducer gave a state that is not an object")
	}
	for key := range changed {
		if !access.MayWrite(key) {
			return nil, abi.NewProblem(abi.NotGranted, "the reducer changes the state key %q, which the skill does not declare that it writes", key)
		}
	}
	return with(state, changed, func(_, value json.RawMessage) json.RawMessage { return value }), nil
}

// nextState gives the state after a reply that is OK, or what is wrong with
// how it changes it.
func (h *Host) nextState(tool string, reply abi.Reply) (map[string]json.RawMessage, *abi.Problem) {
	h.t.Helper()
	patched, acts := given(reply.State), given(reply.Action)
	switch {
	case !patched && !acts:
		return h.state, nil
	case patched && acts:
		return nil, abi.NewProblem(abi.BrokenContract, "%s gave both a state and an action", tool)
	case !h.writes(tool):
		return nil, abi.NewProblem(abi.NotGranted, "%s only reads and may not change the state", tool)
	case acts && !h.manifest.Reducer:
		return nil, abi.NewProblem(abi.BrokenContract, "%s gave an action, and the skill has no reducer", tool).WithHint("Declare one with sdk.Reduce.")
	case acts:
		return h.reduce(h.state, reply.Action)
	}
	var patch map[string]json.RawMessage
	if json.Unmarshal(reply.State, &patch) != nil {
		return nil, abi.NewProblem(abi.BrokenContract, "%s gave a state that is not an object", tool)
	}
	for key := range patch {
		if !h.manifest.Capabilities.State.MayWrite(key) {
			return nil, abi.NewProblem(abi.NotGranted, "%s writes the state key %q, which the skill does not declare", tool, key)
		}
	}
	return with(h.state, patch, mergePatch), nil
}

func given(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

// with gives a copy of the state with changes; what becomes null is gone.
func with(state, changes map[string]json.RawMessage, join func(old, change json.RawMessage) json.RawMessage) map[string]json.RawMessage {
	next := map[string]json.RawMessage{}
	maps.Copy(next, state)
	for key, change := range changes {
		if value := join(next[key], change); given(value) {
			next[key] = value
		} else {
			delete(next, key)
		}
	}
	return next
}

// mergePatch applies a JSON merge patch (RFC 7396).
func mergePatch(target, patch json.RawMessage) json.RawMessage {
	var changes, members map[string]json.RawMessage
	if json.Unmarshal(patch, &changes) != nil || changes == nil {
		return patch
	}
	if json.Unmarshal(target, &members) != nil {
		members = nil
	}
	merged, err := json.Marshal(with(members, changes, mergePatch))
	if err != nil {
		panic("BUG: values that were JSON do not marshal: " + err.Error())
	}
	return merged
}
