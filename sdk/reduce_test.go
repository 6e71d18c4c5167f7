package sdk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// quiet are grants that only keep what is logged.
type quiet struct {
	sdk.Grants
	lines []string
}

func (q *quiet) Log(line string) { q.lines = append(q.lines, line) }

// A reduceCase is one reduction of the probe skill, which gives the same
// natively and as a module.
type reduceCase struct {
	name, input, output string
	code                abi.Code
	log                 string
}

func reduceCases() []reduceCase {
	in := func(state, action string) string {
		return fmt.Sprintf(`{"abi":1,"state":%s,"action":%s}`, state, action)
	}
	return []reduceCase{
		{"makes a key", in(`{}`, `{"put":"1"}`), `{"live.current":"1"}`, 0, ""},
		{"changes a key", in(`{"live.current":"0"}`, `{"put":"1"}`), `{"live.current":"1"}`, 0, ""},
		{"leaves out what is the same", in(`{"live.current":"1","live.title":"t"}`, `{"put":"1"}`), `{}`, 0, ""},
		{"leaves out what its type does not hold", in(`{"live.notes":{"b":"x","a":"y"},"live.other":[1]}`, `{"put":"1"}`), `{"live.current":"1"}`, 0, ""},
		{"removes what becomes empty", in(`{"live.current":"1"}`, `{}`), `{"live.current":null}`, 0, ""},
		{"removes what becomes nil", in(`{"live.title":"t"}`, `{"how":"untitle"}`), `{"live.title":null}`, 0, ""},
		{"sees a change behind a pointer", in(`{"live.title":"t"}`, `{"how":"retitle"}`), `{"live.title":"another"}`, 0, ""},
		{"sees a change in a map", in(`{"live.notes":{"b":"x"}}`, `{"how":"note","put":"a"}`), `{"live.notes":{"a":"noted","b":"x"}}`, 0, ""},
		{"passes a refusal on", in(`{}`, `{"how":"refuse","put":"x"}`), "", abi.OutOfBounds, ""},
		{"takes trying again for broken", in(`{}`, `{"how":"unavailable"}`), "", abi.Trap, "nobody there"},
		{"keeps the text of an error to the log", in(`{}`, `{"how":"plain error"}`), "", abi.Trap, "secret detail"},
		{"does not take a nil problem for success", in(`{}`, `{"how":"nil problem"}`), "", abi.Trap, "nil *abi.Problem"},
		{"catches a panic", in(`{}`, `{"how":"panic"}`), "", abi.Trap, "panic: secret detail"},
		{"catches a nil map", in(`{}`, `{"how":"note"}`), "", abi.Trap, "nil map"},
		{"refuses another state", in(`{"live.current":1}`, `{"put":"1"}`), "", abi.Conflict, ""},
		{"refuses another action", in(`{}`, `{"put":1}`), "", abi.Trap, ""},
		{"refuses an action with more", in(`{}`, `{"put":"1","more":1}`), "", abi.Trap, ""},
		{"refuses another version", `{"abi":2,"state":{},"action":{}}`, "", abi.BadArguments, ""},
		{"refuses no state", `{"abi":1,"action":{}}`, "", abi.NotJSON, ""},
		{"refuses no action", `{"abi":1,"state":{}}`, "", abi.NotJSON, ""},
		{"refuses what is no JSON", `{"abi":1,`, "", abi.NotJSON, ""},
		{"refuses nothing", ``, "", abi.NotJSON, ""},
	}
}

func TestAReducerGivesWhatChanges(t *testing.T) {
	for _, tt := range reduceCases() {
		t.Run(tt.name, func(t *testing.T) {
			q := &quiet{}
			for range 2 {
				output, err := sdk.ReduceJSON([]byte(tt.input), q)
				var p *abi.Problem
				if errors.As(err, &p); string(output) != tt.output || (p == nil) != (tt.code == 0) || p != nil && p.Code != tt.code {
					t.Errorf("it gives %s, %v; want %s, code %d", output, err, tt.output, tt.code)
				}
				if p != nil && strings.Contains(p.Message, "secret") {
					t.Errorf("the message is %q", p.Message)
				}
			}
			if log := strings.Join(q.lines, "\n"); !strings.Contains(log, tt.log) || tt.log == "" && log != "" {
				t.Errorf("log %q, want a part %q", log, tt.log)
			}
		})
	}
}
