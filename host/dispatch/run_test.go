package dispatch

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// An answer with a member twice would be read as whichever stands last.
func TestAnEnvelopeHasEachMemberOnce(t *testing.T) {
	for output, want := range map[string]string{
		`{"ok":true,"data":{"a":1,"a":2}}`:                             "", // the output's schema is for that
		`{"ok":true,"data":"\"ok\":false","preview":"ok:"}`:            "",
		`{"ok":true,"data":["ok","ok"],"more":1}`:                      "",
		`{"ok":false,"data":1,"ok":true}`:                              "ok",
		`{"ok":true,"data":{"price":69},"data":{"price":1}}`:           "data",
		`{"ok":true,"data":1,"Data":2}`:                                "Data",
		`{"ok":true,"state":{}, "\u0073tate" :{"x":1}}`:                "state",
		`{"ok":true,"x":1,"x":2}`:                                      "x",
		`{"ok":false,"problem":{"code":3001},"problem":{"code":3002}}`: "problem",
	} {
		f := newFlight(New(Config{}), nil, host.Call{Tool: "order"})
		problem := f.readReply([]byte(output))
		if want == "" {
			if problem != nil {
				t.Errorf("%s: %v", output, problem)
			}
			continue
		}
		if problem == nil || problem.Code != abi.BrokenContract || !strings.Contains(problem.Message, `"`+want+`" twice`) {
			t.Errorf("%s: %v, want %s to stand twice", output, problem, want)
		}
	}
}
