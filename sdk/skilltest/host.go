package skilltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// A Host runs the skill of this test binary. It is for one goroutine; make one
// for each test.
type Host struct {
	t        testing.TB
	manifest abi.Manifest
	schemas  map[string]schemas
	settings settings
	kv       map[string][]byte
	state    map[string]json.RawMessage // of the session, as the next call finds it
	left     map[string]json.RawMessage // as the last call left it
	room     *room
	reports  []abi.ProgressReport
	calls    int
}

// New makes a Host with an empty kv namespace. It fails the test when the
// skill's declarations have mistakes.
func New(t testing.TB, options ...Option) *Host {
	t.Helper()
	described, err := sdk.Describe()
	if err != nil {
		t.Fatalf("the skill cannot be described: %v", err)
	}
	h := &Host{t: t, kv: map[string][]byte{}, room: newRoom(), settings: defaults()}
	if err := json.Unmarshal(described, &h.manifest); err != nil {
		t.Fatalf("the skill's manifest cannot be read: %v", err)
	}
	if h.schemas, err = compile(h.manifest); err != nil {
		t.Fatal(err)
	}
	h.settings.apply(options)
	h.state = h.encodeAll(h.settings.state)
	h.settings.state, h.left = nil, h.state
	return h
}

// Manifest gives what sluice_describe gives.
func (h *Host) Manifest() abi.Manifest { return h.manifest }

// Put sets a key of the kv namespace to a value as JSON, or to the bytes
// themselves where v is []byte.
func (h *Host) Put(key string, v any) {
	h.t.Helper()
	h.kv[key] = h.encode(v)
}

// Get reads a key of the kv namespace, as JSON, or as it is where into is a
// *[]byte. It reports false where there is none.
func (h *Host) Get(key string, into any) bool {
	h.t.Helper()
	value, found := h.kv[key]
	if !found {
		return false
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = bytes.Clone(value)
	} else if err := json.Unmarshal(value, into); err != nil {
		h.t.Fatalf("key %s: %v", key, err)
	}
	return true
}

// Keys gives all keys of the kv namespace, in order.
func (h *Host) Keys() []string { return slices.Sorted(maps.Keys(h.kv)) }

// Call runs a tool with arguments that are written as JSON, and gives its
// reply. What it writes is kept only if the reply is OK. The options hold for
// this call only.
func (h *Host) Call(tool string, args any, options ...Option) abi.Reply {
	h.t.Helper()
	return h.CallJSON(tool, string(h.encode(args)), options...)
}

// CallJSON runs a tool with arguments as a model would write them.
func (h *Host) CallJSON(tool, args string, options ...Option) abi.Reply {
	h.t.Helper()
	if p := h.schemas[tool].checkArgs(args); p != nil {
		return abi.Reply{Problem: p}
	}
	s := h.settings
	s.apply(options)
	if s.state != nil {
		defer func(kept map[string]json.RawMessage) { h.state = kept }(h.state)
		h.state = h.encodeAll(s.state)
	}
	return h.invoke(h.invocation(tool, args, s))
}

func (h *Host) invocation(tool, args string, s settings) abi.Invocation {
	h.calls++
	in := abi.Invocation{ABI: abi.Version, Tool: tool, Args: json.RawMessage(args), State: h.readable(), Facts: h.encodeAll(s.facts)}
	in.Call = abi.CallInfo{ID: fmt.Sprintf("call_%d", h.calls), Attempt: 1, Now: s.now, Tenant: s.tenant, Live: s.live, Locale: s.locale}
	if h.writes(tool) {
		in.Call.Key = s.key
		if s.key == "" {
			in.Call.Key = fmt.Sprintf("00000000-0000-5000-8000-%012d", h.calls)
		}
	}
	return in
}

func (h *Host) invoke(in abi.Invocation) abi.Reply {
	h.t.Helper()
	g := &grants{manifest: h.manifest, write: h.writes(in.Tool), kv: maps.Clone(h.kv), room: h.room.clone(), recalled: h.room.memories, t: h.t}
	var reply abi.Reply
	if err := json.Unmarshal(sdk.Invoke(h.encode(in), g), &reply); err != nil {
		h.t.Fatalf("%s: the reply is not an envelope: %v", in.Tool, err)
	}
	h.reports = append(h.reports, g.reports...)
	if !reply.OK {
		return reply
	}
	next, p := h.verify(in.Tool, reply)
	if p != nil {
		return abi.Reply{Problem: p}
	}
	h.kv, h.room, h.state, h.left = g.kv, g.room, next, next
	return reply
}

// readable gives the state that the skill declares it reads.
func (h *Host) readable() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	maps.Copy(all, h.state)
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool { return !h.manifest.Capabilities.State.MayRead(key) })
	return all
}

// verify gives the state after a reply that is OK, or what is wrong with it.
func (h *Host) verify(tool string, reply abi.Reply) (map[string]json.RawMessage, *abi.Problem) {
	if err := h.schemas[tool].checkData(reply.Data); err != nil {
		return nil, abi.NewProblem(abi.BrokenOutput, "%s gave a result that breaks its output schema: %v", tool, err)
	}
	return h.nextState(tool, reply)
}

func (h *Host) writes(tool string) bool {
	return slices.ContainsFunc(h.manifest.Tools, func(t abi.Tool) bool { return t.Name == tool && t.Effect == abi.Write })
}

func (h *Host) encode(v any) []byte {
	h.t.Helper()
	if raw, ok := v.([]byte); ok {
		return bytes.Clone(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		h.t.Fatalf("%T cannot be written as JSON: %v", v, err)
	}
	return b
}

func (h *Host) encodeAll(values map[string]any) map[string]json.RawMessage {
	h.t.Helper()
	all := map[string]json.RawMessage{}
	for key, v := range values {
		all[key] = h.encode(v)
	}
	return all
}

// An Option says what a call finds. Given to New it holds for all calls.
type Option func(*settings)

type settings struct {
	now                       time.Time
	tenant, live, locale, key string
	state, facts              map[string]any
}

func defaults() settings {
	return settings{now: time.Date(2026, time.January, 15, 12, 0, 0, 0, time.UTC), tenant: "tenant", locale: "zh-CN"}
}

func (s *settings) apply(options []Option) {
	for _, o := range options {
		o(s)
	}
}

// Now sets the clock at the call's start. Without it, it is noon of
// 2026-01-15 UTC.
func Now(now time.Time) Option { return func(s *settings) { s.now = now.UTC() } }

// Tenant sets the tenant's id.
func Tenant(id string) Option { return func(s *settings) { s.tenant = id } }

// Live sets the id of the business occasion.
func Live(id string) Option { return func(s *settings) { s.live = id } }

// Locale sets the user's language as BCP 47. Without it, it is zh-CN.
func Locale(tag string) Option { return func(s *settings) { s.locale = tag } }

// Key sets the idempotency key of a write. Without it every call of a writing
// tool has a fresh one.
func Key(key string) Option { return func(s *settings) { s.key = key } }

// State sets the session state, key by key. Given to New it is what the first
// call finds; the next ones find what those before them left. Given to a call it
// takes the place of all that was there.
func State(values map[string]any) Option { return func(s *settings) { s.state = values } }

// Facts sets the facts that the host would have got, by name.
func Facts(values map[string]any) Option { return func(s *settings) { s.facts = values } }
