package skilltest

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestGrantsAreClosedUnlessTheSkillDeclaresThem(t *testing.T) {
	open := abi.Manifest{Capabilities: abi.Capabilities{KV: &abi.KVAccess{Namespace: "n"}}}
	for _, tt := range []struct {
		name     string
		manifest abi.Manifest
		write    bool
		call     func(g *grants) error
		granted  bool
	}{
		{"no kv", abi.Manifest{}, true, func(g *grants) error { _, _, err := g.KVGet("k"); return err }, false},
		{"no kv, by a scan", abi.Manifest{}, true, func(g *grants) error { _, err := g.KVScan(abi.ScanQuery{}); return err }, false},
		{"a read by a tool that reads", open, false, func(g *grants) error { _, _, err := g.KVGet("k"); return err }, true},
		{"a write by a tool that reads", open, false, func(g *grants) error { return g.KVPut("k", []byte("v")) }, false},
		{"a delete by a tool that reads", open, false, func(g *grants) error { return g.KVDelete("k") }, false},
		{"a write by a tool that writes", open, true, func(g *grants) error { return g.KVPut("k", []byte("v")) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call(&grants{t: t, manifest: tt.manifest, write: tt.write, kv: map[string][]byte{}})
			var p *abi.Problem
			if tt.granted && err != nil || !tt.granted && (!errors.As(err, &p) || p.Code != abi.NotGranted) {
				t.Errorf("error %v, want granted %v", err, tt.granted)
			}
		})
	}
}

func TestACallMayDoSoMuchAndNoMore(t *testing.T) {
	value := make([]byte, abi.ValueBytes-1) // with its key a whole abi.ValueBytes
	get := func(key string) func(*grants, int) error {
		return func(g *grants, _ int) error { _, _, err := g.KVGet(key); return err }
	}
	for _, tt := range []struct {
		name string
		may  int
		call func(g *grants, i int) error
	}{
		{"host calls", abi.HostCalls, get("none")},
		{"bytes through host calls", int(abi.HostCallBytes / abi.ValueBytes), get("k")},
		{"keys to write", abi.CallWrites, func(g *grants, i int) error { return g.KVPut(strconv.Itoa(i), []byte("v")) }},
		{"keys to delete", abi.CallWrites, func(g *grants, i int) error { return g.KVDelete(strconv.Itoa(i)) }},
		{"bytes to write", int(abi.CallWriteBytes / abi.ValueBytes), func(g *grants, _ int) error { return g.KVPut("k", append(value, 'v')) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &grants{t: t, write: true, kv: map[string][]byte{"k": value}}
			g.manifest.Capabilities.KV = &abi.KVAccess{Namespace: "n"}
			for i := range tt.may {
				if err := tt.call(g, i); err != nil {
					t.Fatalf("%d of %d: %v", i+1, tt.may, err)
				}
			}
			var p *abi.Problem
			if err := tt.call(g, tt.may); !errors.As(err, &p) || p.Code != abi.QuotaReached {
				t.Errorf("one more than %d: error %v, want that the quota is reached", tt.may, err)
			}
		})
	}
}

func TestAWriteHasAKeyAndAReadHasNone(t *testing.T) {
	h := &Host{t: t, manifest: abi.Manifest{Tools: []abi.Tool{{Name: "ask", Effect: abi.Read}, {Name: "tell", Effect: abi.Write}}}}
	if key := h.invocation("ask", `{}`, settings{key: "k"}).Call.Key; key != "" {
		t.Errorf("the read has the key %q", key)
	}
	first, next := h.invocation("tell", `{}`, settings{}).Call, h.invocation("tell", `{}`, settings{}).Call
	if first.Key == "" || first.Key == next.Key || first.ID == next.ID {
		t.Errorf("two writes are %+v and %+v", first, next)
	}
	if key := h.invocation("tell", `{}`, settings{key: "k"}).Call.Key; key != "k" {
		t.Errorf("the write has the key %q, want k", key)
	}
}

func TestAnExampleIsJudgedByWhatItSays(t *testing.T) {
	returns := func(text string) abi.Example { return abi.Example{Returns: json.RawMessage(text)} }
	gave := func(text string) abi.Reply { return abi.Reply{OK: true, Data: json.RawMessage(text)} }
	ended := func(code abi.Code) abi.Reply { return abi.Reply{Problem: abi.NewProblem(code, "so")} }
	for _, tt := range []struct {
		name    string
		example abi.Example
		reply   abi.Reply
		fault   string
	}{
		{"the same", returns(`{"a":1,"b":[2]}`), gave(`{"b":[2],"a":1}`), ""},
		{"another value", returns(`{"a":1}`), gave(`{"a":2}`), `it returns {"a":2}`},
		{"one more member", returns(`{"a":1}`), gave(`{"a":1,"b":2}`), "it returns"},
		{"a large number that a float would round", returns(`9007199254740993`), gave(`9007199254740992`), "it returns"},
		{"success without a word on what", abi.Example{}, gave(`1`), ""},
		{"a problem instead", returns(`1`), ended(abi.NotFound), "it ends in 3004: so"},
		{"the problem", abi.Example{Problem: abi.NotFound}, ended(abi.NotFound), ""},
		{"another problem", abi.Example{Problem: abi.NotFound}, ended(abi.Refused), "the example says problem 3004"},
		{"success instead", abi.Example{Problem: abi.NotFound}, gave(`1`), "it succeeds with 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(tt.example, tt.reply); tt.fault == "" && got != "" || !strings.Contains(got, tt.fault) {
				t.Errorf("judged %q, want %q", got, tt.fault)
			}
		})
	}
}

func TestAReplyThatBreaksItsContractIsAProblem(t *testing.T) {
	m := abi.Manifest{
		Capabilities: abi.Capabilities{State: &abi.StateAccess{Writes: []string{"live.*"}}},
		Tools:        []abi.Tool{{Name: "ask", Effect: abi.Write, Input: json.RawMessage(`{}`), Output: json.RawMessage(`{"type":"integer","minimum":1}`)}},
	}
	compiled, err := compile(m)
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{t: t, manifest: m, schemas: compiled}
	for _, tt := range []struct {
		data, state string
		code        abi.Code
	}{
		{`1`, ``, 0},
		{`0`, ``, abi.BrokenOutput},
		{`null`, ``, abi.BrokenOutput},
		{`1`, `{"live.current":null}`, 0},
		{`1`, `{"secret":1}`, abi.NotGranted},
		{`1`, `[]`, abi.BrokenContract},
	} {
		_, p := h.verify("ask", abi.Reply{OK: true, Data: json.RawMessage(tt.data), State: json.RawMessage(tt.state)})
		if (p == nil) != (tt.code == 0) || p != nil && p.Code != tt.code {
			t.Errorf("data %s, state %s: problem %v, want code %d", tt.data, tt.state, p, tt.code)
		}
	}
}

func TestASchemaThatCannotBeUsedIsReported(t *testing.T) {
	bad := json.RawMessage(`{"type":"string","pattern":"("}`)
	for _, tool := range []abi.Tool{{Name: "ask", Input: bad, Output: json.RawMessage(`{}`)}, {Name: "ask", Input: json.RawMessage(`{}`), Output: bad}} {
		if _, err := compile(abi.Manifest{Tools: []abi.Tool{tool}}); err == nil || !strings.Contains(err.Error(), "schema ask/") {
			t.Errorf("error %v", err)
		}
	}
}
