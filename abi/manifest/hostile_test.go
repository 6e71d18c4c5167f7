package manifest

import (
	"encoding/json"
	"testing"
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
