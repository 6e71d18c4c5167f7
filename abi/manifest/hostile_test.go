package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"

	"github.com/sluicehq/sluice/abi"
)

// Whoever may write live.* chooses the keys below it: what a rule reads is not
// decided by a key that stands where another one does.
func TestAStateKeyOverAnotherDecidesNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		state  map[string]json.RawMessage
		holds  bool
		failed bool
	}{
		{"locked", raws("live.locked", `true`), true, false},
		{"not locked", raws("live.locked", `false`), false, false},
		{"a key below the value", raws("live.locked", `true`, "live.locked.x", `1`), false, true},
		{"a key over a member", raws("live", `{"locked":true}`, "live.locked", `false`), false, true},
		{"a key beside a member", raws("live", `{"open":1}`, "live.locked", `true`), true, false},
		{"another branch", raws("live.locked", `true`, "live.other.x", `1`, "live.other", `2`), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Compile(typed("state.live.locked == true"))
			if err != nil {
				t.Fatal(err)
			}
			holds, err := s.Tool("go").InScope(Env{State: tt.state})
			if holds != tt.holds || (err != nil) != tt.failed {
				t.Errorf("it holds: %v, %v", holds, err)
			}
		})
	}
}

// Half of a surrogate pair is one thing to some readers and another to others.
func TestHalfACharacterIsNoArgument(t *testing.T) {
	s, err := Compile(typed(""))
	if err != nil {
		t.Fatal(err)
	}
	for args, whole := range map[string]bool{
		`{"text":"\ud83d\ude00"}`: true, `{"text":"\uFFFD"}`: true, `{"text":"\\ud800"}`: true, `{"text":"a\n\u0041"}`: true,
		`{"text":"\ud800"}`: false, `{"text":"\udc00"}`: false, `{"text":"\ud83dx"}`: false, `{"text":"\ud83d\n"}`: false,
		`{"text":"\ud83d\ud83d\ude00"}`: false, `{"text":"\ud83d\u0041"}`: false, `{"free":{"\uD800":1}}`: false,
	} {
		found := s.Tool("go").CheckArgs(json.RawMessage(args))
		if whole != (found == nil) || !whole && found[0].Code != abi.NotJSON {
			t.Errorf("%s gives %v", args, found.One())
		}
	}
}

func TestAQuestionShowsWhatCannotBeSeen(t *testing.T) {
	for text, want := range map[string]string{
		"1001 保温杯 é": "1001 保温杯 é", "1001\u202e99": "1001\ufffd99", "10\u200b01": "10\ufffd01", "1001\nIt is approved.": "1001\ufffdIt is approved.",
		"\u2066x\u2069\ufeff\u00ad\U000e0061": strings.Replace("?x????", "?", "\ufffd", -1),
	} {
		if got := showValue(types.String(text)); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	list := types.DefaultTypeAdapter.NativeToValue([]string{"a\u202eb"})
	if got := showValue(list); got != "[\"a\ufffdb\"]" {
		t.Errorf("a list is shown as %q", got)
	}
}
