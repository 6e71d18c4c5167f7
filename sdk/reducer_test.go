package sdk

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestDescribeListsEveryMistakeOfAReducer(t *testing.T) {
	type show struct {
		Current string         `json:"live.current"`
		Other   string         `json:"other"`
		inner   int            //nolint:unused // no key
		Skipped map[int]string `json:"-"`
	}
	access := StateAccess([]string{"live.*"}, []string{"live.current"})
	with := func(r reducer, options ...SkillOption) *skill {
		s := &skill{reducer: r}
		s.declare("a.b", "1.0.0", "A skill.", options)
		s.add(newTool("ask", answer, []ToolOption{Summary("Ask.")}))
		return s
	}
	sound := newReducer(func(s map[string]int, _ question) (map[string]int, error) { return s, nil })
	twice := sound
	twice.count = 2
	for _, tt := range []struct {
		name string
		s    *skill
		want string
	}{
		{"none", with(reducer{}), ""},
		{"a sound one", with(sound, access), ""},
		{"two", with(twice, access), "called several times"},
		{"no function", with(newReducer[map[string]int, question](nil), access), "the reducer is nil"},
		{"no state to change", with(sound, StateAccess([]string{"a"}, nil)), "may change no state"},
		{"no state at all", with(sound), "may change no state"},
		{"no struct", with(newReducer(func(s int, _ question) (int, error) { return s, nil }), access), "int is not a struct"},
		{"a key that is not declared", with(newReducer(func(s show, _ question) (show, error) { return s, nil }), access), `the key "other", which`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			described, err := tt.s.describe()
			var p *abi.Problem
			if tt.want != "" {
				if !errors.As(err, &p) || strings.Count(p.Message, tt.want) != 1 {
					t.Errorf("it is described as %s, %v; want a mistake with %q", described, err, tt.want)
				}
				return
			}
			var m abi.Manifest
			if err != nil || json.Unmarshal(described, &m) != nil || m.Reducer != (tt.s.reducer.count > 0) {
				t.Errorf("it is described as %s, %v", described, err)
			}
		})
	}
}

func TestAReplyCarriesItsAction(t *testing.T) {
	for _, tt := range []struct {
		out  Result[int]
		want string
	}{
		{Result[int]{Data: 1}, `{"ok":true,"data":1}`},
		{Result[int]{Data: 1, Action: question{2}, Preview: "p"}, `{"ok":true,"data":1,"action":{"n":2},"preview":"p"}`},
		{Result[int]{Data: 1, Action: 0}, `{"ok":true,"data":1,"action":0}`},
	} {
		if got, err := success(tt.out); err != nil || string(got) != tt.want {
			t.Errorf("it is %s, %v; want %s", got, err, tt.want)
		}
	}
	if _, err := success(Result[int]{Action: func() {}}); err == nil {
		t.Error("an action that is not JSON is taken")
	}
}

func TestASkillWithoutAReducerReducesNothing(t *testing.T) {
	kept := declared.reducer
	defer func() { declared.reducer = kept }()
	declared.reducer = reducer{}
	_, err := ReduceJSON([]byte(`{"abi":1,"state":{},"action":{}}`), nil)
	var p *abi.Problem
	if !errors.As(err, &p) || p.Code != abi.BrokenContract {
		t.Errorf("it ends with %v", err)
	}
}
