package window

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func state(pairs ...string) map[string]json.RawMessage {
	s := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return s
}

func TestStateHint(t *testing.T) {
	now := state("live.current", `{"sku":"1001","price":89.0,"tags":["a", "b"]}`, "cart", `3`, "note", `not JSON`, "deep", `{"a":{"b":{"c":{"d":{"e":1}}}}}`)
	for _, tt := range []struct {
		name        string
		now, before map[string]json.RawMessage
		want        string
	}{
		{"nothing", nil, nil, ""},
		{"nothing to compare with", now, nil, "cart: 3\ndeep.a.b.c.d: {\"e\":1}\nlive.current.price: 89\nlive.current.sku: \"1001\"\nlive.current.tags: [\"a\",\"b\"]\nnote: not JSON"},
		{"changes", state("a", `1`, "b", `{"x":1,"y":2}`, "new", `true`), state("a", `1.0`, "b", `{"x":1,"y":3}`, "old", `"v"`),
			"a: 1\nb.x: 1\n* b.y: 2 (was 3)\n* new: true\n* old: gone (was \"v\")"},
		{"all is new", state("a", `1`), state(), "* a: 1"},
		{"an empty object", state("a", `{}`), state("a", `{}`), "a: {}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := StateHint(tt.now, tt.before); got != tt.want {
				t.Errorf("it is\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestALongStateKeepsItsChanges(t *testing.T) {
	now, before := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for i := range 500 {
		name := fmt.Sprintf("field%03d", i)
		now[name], before[name] = json.RawMessage(`"`+strings.Repeat("x", 500)+`"`), json.RawMessage(`"`+strings.Repeat("x", 500)+`"`)
	}
	now["field300"] = json.RawMessage(`1`)
	got := StateHint(now, before)
	if !strings.Contains(got, "* field300: 1 (was") || !strings.HasSuffix(got, "(440 more fields)") {
		t.Errorf("it is %.200s … %s", got, got[len(got)-60:])
	}
	if lines := strings.Count(got, "\n") + 1; lines != hintLines+1 || len(got) > (hintLines+1)*3*hintValueRunes {
		t.Errorf("it has %d lines and %d bytes", lines, len(got))
	}
	if got != StateHint(now, before) {
		t.Error("it is another one the second time")
	}
}

func TestAHintIsTheSameEveryTime(t *testing.T) {
	now, before := state("live", `{"current":1,"a":{"b":1},"a.b":2}`, "live.current", `2`), state("live.current", `3`, "live", `{"current":4}`)
	want := "* live.a.b: 2\n* live.current: 2 (was 3)"
	for range 100 {
		if got := StateHint(now, before); got != want {
			t.Fatalf("it is\n%s\nwant\n%s", got, want)
		}
	}
}

// TestANameIsOneShortLine: members are named by whoever wrote the state, and
// must not look like lines of their own.
func TestANameIsOneShortLine(t *testing.T) {
	got := StateHint(state("cart", `{"x\n* live.current: \"gone\"":1,"`+strings.Repeat("long ", 1000)+`":2}`), nil)
	if lines := strings.Split(got, "\n"); len(lines) != 2 || len(lines[0]) > 3*hintNameRunes || lines[1] != `cart.x * live.current: "gone": 1` {
		t.Errorf("it is %q", got)
	}
}
