package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

const suspicion = "The very same was done for this request already."

func TestAWriteThatWasDoneForTheSameWordsIsAskedFor(t *testing.T) {
	for _, tt := range []struct {
		name, tool, args string
		first            string // the arguments of the call before; the same if empty
		tier             abi.Tier
		says             string
	}{
		{"the same", "order", `{"item":"pen","count":2}`, "", abi.HardGate, suspicion + ` It gave: {"item":"pen","total":2}`},
		{"the same in other words", "order", `{"count":2,"item":"pen"}`, `{"item":"pen","count":2}`, abi.HardGate, suspicion + ` It gave: {"item":"pen","total":2}`},
		{"another one in between", "order", `{"item":"pen","count":2}`, `{"item":"pen","count":3}`, abi.HardGate, suspicion},
		{"a read", "total", `{"item":"pen"}`, "", abi.Auto, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			first := call(tt.tool, tt.args)
			if tt.first != "" {
				first.Args = tt.first
			}
			if o := g.d.Do(t.Context(), g.catalog, first); !o.OK() {
				t.Fatal(o.Problem)
			}
			again := first
			again.ID, again.Args, again.Ordinal = first.ID+"b", tt.args, 1
			o := wantTier(t, g, again, tt.tier)
			if tt.says != "" && !strings.HasSuffix(o.Problem.Message, tt.says) {
				t.Errorf("the question is %s, want %s at its end", o.Problem.Message, tt.says)
			}
		})
	}
}

// TestASuspicionNeedsNoHistory: without the earlier result it is asked all the
// same, and a long one is cut.
func TestASuspicionNeedsNoHistory(t *testing.T) {
	for name, h := range map[string]History{"none": nil, "broken": askedHistory{err: errors.New("told to")}, "long": askedHistory{data: strings.Repeat("x", 10_000)}} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			g.d.History = h
			c := call("order", `{"item":"pen","count":2}`)
			c.Ordinal = 1
			if o := wantTier(t, g, c, abi.HardGate); !strings.Contains(o.Problem.Message, suspicion) || len(o.Problem.Message) > 1000 {
				t.Errorf("the question is %s", o.Problem.Message)
			}
		})
	}
}

// An askedHistory says that the order was done.
type askedHistory struct {
	data string
	err  error
}

func (h askedHistory) LastDone(context.Context, host.SessionRef, string, string) (*manifest.LastCall, error) {
	return &manifest.LastCall{Args: json.RawMessage(`{"item":"pen","count":2}`), Data: json.RawMessage(`"` + h.data + `"`)}, h.err
}

func (h askedHistory) CountDone(context.Context, host.SessionRef, string, time.Duration) (int, error) {
	return 0, h.err
}

// TestWhatTheHostDoesByItselfIsTheTables: for each code there is, whether the
// call is tried again, whether the user is told, and how it ends.
func TestWhatTheHostDoesByItselfIsTheTables(t *testing.T) {
	for _, row := range abi.Codes() {
		t.Run(row.Name, func(t *testing.T) {
			g := newGate(t)
			told := 0
			hooks, err := host.NewHooks(host.Hook{Name: "told", Observer: true, Time: time.Minute, OnProblem: func(context.Context, host.Trouble) error { told++; return nil }})
			if err != nil {
				t.Fatal(err)
			}
			g.d.Hooks = hooks
			f := newFlight(g.d, g.catalog, call("order", `{"item":"pen","count":2}`))
			f.outcome.Attempts = 1
			problem := abi.NewProblem(row.Code, "told to")
			retried := f.again(t.Context(), "run", problem) == nil
			if want := row.Recovery == abi.Retry && row.Code != abi.Busy; retried != want { // a busy session is another replica's
				t.Errorf("tried again: %v, want %v", retried, want)
			}
			f.outcome.Attempts = maxRetries + 1
			if f.again(t.Context(), "run", problem) == nil {
				t.Errorf("it is tried for ever")
			}
			o := f.fail(t.Context(), "run", problem)
			f.watch(t.Context(), o)
			if want := row.Recovery == abi.Stop; told != map[bool]int{true: 1}[want] {
				t.Errorf("the user is told %d times, want %v", told, want)
			}
			if want := row.Recovery == abi.Wait; (o.Status == host.Pending) != want {
				t.Errorf("it ends as %s", o.Status)
			}
		})
	}
}
