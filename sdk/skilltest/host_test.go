package skilltest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk/skilltest"
	"github.com/sluicehq/sluice/sdk/testdata/probe"
)

func TestExamplesOfASoundSkillPass(t *testing.T) { skilltest.New(t).Examples() }

func TestArgumentsAreHeldAgainstTheSchemaFirst(t *testing.T) {
	h := skilltest.New(t)
	for _, tt := range []struct {
		tool, args string
		code       abi.Code
		field      string
	}{
		{"echo", `{"text":"a"}`, 0, ""},
		{"echo", `{"text":`, abi.NotJSON, ""},
		{"echo", `{"text":"a"} {}`, abi.NotJSON, ""},
		{"echo", ``, abi.NotJSON, ""},
		{"echo", `[]`, abi.WrongType, ""},
		{"echo", `{}`, abi.Missing, "text"},
		{"echo", `{"text":""}`, abi.BadValue, "text"},
		{"echo", `{"text":"a","mode":"LOUD"}`, abi.BadValue, "mode"},
		{"echo", `{"text":"a","colour":1}`, abi.UnknownField, "colour"},
		{"echo", `{"text":"a","nested":[{"name":"n","size":1},{"name":"n","size":-1}]}`, abi.BadValue, "nested[1].size"},
		{"echo", `{"text":"a","nested":[{"name":"n"}]}`, abi.Missing, "nested[0].size"},
		{"echoes", `{"text":"a"}`, abi.UnknownTool, ""},
	} {
		reply := h.CallJSON(tt.tool, tt.args)
		switch p := reply.Problem; {
		case tt.code == 0 && !reply.OK, tt.code != 0 && (p == nil || p.Code != tt.code || p.Field != tt.field):
			t.Errorf("%s %s: problem %v, want code %d at %q", tt.tool, tt.args, p, tt.code, tt.field)
		}
	}
}

func TestWritesAreKeptOnlyIfTheCallSucceeds(t *testing.T) {
	h := skilltest.New(t)
	h.Put("a", "old")
	steps := func(last string) probe.Store {
		return probe.Store{Steps: []probe.Step{{Do: "put", Key: "b", Value: "1"}, {Do: "delete", Key: "a"}, {Do: last, Key: "b"}}}
	}
	if reply := h.Call("store", steps("fail")); reply.OK || !slices.Equal(h.Keys(), []string{"a"}) {
		t.Errorf("after a failure: %+v, keys %v", reply, h.Keys())
	}
	if reply := h.Call("store", steps("get")); !reply.OK || !slices.Equal(h.Keys(), []string{"b"}) {
		t.Errorf("after a success: %+v, keys %v", reply, h.Keys())
	}
}

func TestACallThatAsksForTooMuchIsRefused(t *testing.T) {
	put := func(keys int) probe.Store {
		var in probe.Store
		for i := range keys {
			in.Steps = append(in.Steps, probe.Step{Do: "put", Key: fmt.Sprint(i), Value: "v"})
		}
		return in
	}
	h := skilltest.New(t)
	for _, tt := range []struct {
		name string
		in   probe.Store
		code abi.Code
		keys int // afterwards
	}{
		{"a key too many", put(abi.CallWrites + 1), abi.QuotaReached, 0},
		{"a value too long", probe.Store{Steps: []probe.Step{{Do: "put", Key: "k", Value: "v", Times: int(abi.ValueBytes)}}}, abi.BadHostCall, 0},
		{"a key too long", probe.Store{Steps: []probe.Step{{Do: "get", Key: strings.Repeat("k", abi.KeyBytes+1)}}}, abi.BadHostCall, 0},
		{"as many keys as it may", put(abi.CallWrites), 0, abi.CallWrites},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply := h.Call("store", tt.in)
			p := reply.Problem
			if tt.code == 0 && !reply.OK || tt.code != 0 && (p == nil || p.Code != tt.code) || len(h.Keys()) != tt.keys {
				t.Errorf("problem %v and %d keys, want code %d and %d", p, len(h.Keys()), tt.code, tt.keys)
			}
		})
	}
}

func TestAScanPageEndsBeforeItIsTooLarge(t *testing.T) {
	h := skilltest.New(t)
	for i := range 6 {
		h.Put(fmt.Sprint("k", i), []byte(strings.Repeat("v", int(abi.ValueBytes))))
	}
	reply := h.Call("store", probe.Store{Steps: []probe.Step{{Do: "each", Key: "k"}, {Do: "keys", Key: "k", Times: 2}, {Do: "keys", Key: "k", Value: "k4"}}})
	want := `["6 k5","[{k0 } {k1 }] after \"k1\"","[{k5 }] after \"\""]`
	if string(reply.Data) != want {
		t.Errorf("reply %.300s %v, want %s", reply.Data, reply.Problem, want)
	}
}

func TestACallIsToldWhatTheOptionsSay(t *testing.T) {
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	h := skilltest.New(t, skilltest.Now(now), skilltest.Tenant("shop-7"), skilltest.Live("live-1"), skilltest.Locale("en"))
	var a probe.About
	reply := h.Call("about", struct{}{}, skilltest.Facts(map[string]any{"price": 9.5}),
		skilltest.State(map[string]any{"live.current": "1001", "secret": 1}))
	if err := json.Unmarshal(reply.Data, &a); err != nil {
		t.Fatal(err, reply.Problem)
	}
	if a.Now != now || a.Tenant != "shop-7" || a.Live != "live-1" || a.Locale != "en" || a.Price != 9.5 || a.Current != "1001" || a.Key != "" || a.Attempt != 1 {
		t.Errorf("the handler saw %+v", a)
	}
	reply = h.Call("about", struct{}{})
	if err := json.Unmarshal(reply.Data, &a); err != nil || a.Found[0] || a.Found[1] || a.Tenant != "shop-7" {
		t.Errorf("options of a call outlive it: %+v, %v", a, err)
	}
}

func TestAReplyKeepsTheStateThatItWrites(t *testing.T) {
	h := skilltest.New(t)
	if reply := h.Call("patch", struct{}{}); !reply.OK || string(reply.State) != `{"live.current":"1002"}` {
		t.Errorf("reply %+v", reply)
	}
}

func TestTheNamespaceIsReadAsItIsWritten(t *testing.T) {
	h := skilltest.New(t)
	h.Put("json", map[string]int{"n": 1})
	h.Put("raw", []byte("not JSON"))
	var v map[string]int
	var raw []byte
	if !h.Get("json", &v) || v["n"] != 1 || !h.Get("raw", &raw) || string(raw) != "not JSON" || h.Get("none", &v) {
		t.Errorf("read %v and %q", v, raw)
	}
}
