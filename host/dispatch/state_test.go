package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// between runs do after a call with a fact has loaded its state and before it
// runs: the second time that somebody asks for the time.
func (g *gate) between(do func()) {
	var mu sync.Mutex
	asked := 0
	g.d.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == 2 {
			do()
		}
		return time.Now()
	}
}

// TestStateThatChangedMeanwhileIsReadAgain: the second attempt must not make
// its change out of what the first one saw.
func TestStateThatChangedMeanwhileIsReadAgain(t *testing.T) {
	for _, tt := range []struct{ name, before, meanwhile, want string }{
		{"changed", `{"text":"sell more"}`, `{"text":"sell less"}`, `{"text":"sell less!"}`},
		{"made", ``, `{"text":"sell tea","by":"noon"}`, `{"by":"noon","text":"sell tea!"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			version := int64(0)
			if tt.before != "" {
				g.setGoal(0, tt.before)
				version = 1
			}
			g.between(func() { g.setGoal(version, tt.meanwhile) })
			o := g.do("emphasise", `{}`)
			if !o.OK() || o.Attempts != 2 || g.goal() != tt.want {
				t.Fatalf("outcome is %+v with %v, goal %s; want %s after 2 attempts", o, o.Problem, g.goal(), tt.want)
			}
			g.wantKinds(o.Call, host.RecordIntent, host.RecordRetry, host.RecordOutcome)
		})
	}
}

// TestRetryIsHeldAgainstWhatIsTrueThen: while a call waits for its second
// attempt, the fact that let it through changes.
func TestRetryIsHeldAgainstWhatIsTrueThen(t *testing.T) {
	g := newGate(t)
	c := call("order", `{"item":"pen","count":2}`)
	f := g.until(c, "claim")
	f.outcome.Attempts = 1
	if o := g.do("order", `{"item":"pen","count":49}`); !o.OK() {
		t.Fatal(o.Problem)
	}
	f.outcome.Attempts = 2
	problem := f.recheck(context.Background())
	if problem == nil || problem.Code != abi.PendingApproval {
		t.Fatalf("problem is %v, want a question", problem)
	}
	o := f.fail(context.Background(), "recheck", problem)
	wantProblem(t, o, host.Pending, abi.PendingApproval)
	if claim, err := g.store.Claim(context.Background(), f.claimRequest()); err != nil || claim.State != state.ClaimNew {
		t.Errorf("the claim is %+v %v; a question holds none", claim, err)
	}
}

func TestStateIsBounded(t *testing.T) {
	g := newGate(t, func(m *abi.Manifest) {
		m.Capabilities.State = &abi.StateAccess{Reads: []string{"goal", "live.*"}, Writes: []string{"goal", "live.*"}}
	})
	t.Run("keys that a call sees", func(t *testing.T) {
		for page := range 3 {
			var changes []state.Change
			for i := range 100 {
				changes = append(changes, state.Change{Key: fmt.Sprintf("live.k%d_%d", page, i), Data: json.RawMessage("1")})
			}
			if err := g.store.SaveState(context.Background(), session, changes...); err != nil {
				t.Fatal(err)
			}
			f := newFlight(g.d, g.catalog, call("total", `{"item":"pen"}`))
			f.outcome.Attempts = 1
			o := f.do(context.Background())
			if page < 2 && (!o.OK() || len(f.env.State) != 100*(page+1)) {
				t.Errorf("with %d keys the call sees %d and ends with %v", 100*(page+1), len(f.env.State), o.Problem)
			}
			if page == 2 {
				wantProblem(t, o, host.Failed, abi.QuotaReached)
			}
		}
	})
	t.Run("keys that a call changes", func(t *testing.T) {
		patch := map[string]int{}
		for i := range state.MaxKeys + 1 {
			patch[fmt.Sprintf("live.p%d", i)] = i
		}
		wantCode(t, g.verifyState(t, patch), abi.QuotaReached)
	})
	t.Run("a value", func(t *testing.T) {
		f := g.flightWith(t, map[string]string{"goal": string(make([]byte, abi.ValueBytes))})
		_, _, problem := f.applyPatch(context.Background())
		wantCode(t, problem, abi.QuotaReached)
	})
}

func (g *gate) flightWith(t *testing.T, patch any) *flight {
	t.Helper()
	f := newFlight(g.d, g.catalog, call("set_goal", `{"text":"x"}`))
	if problem := f.resolve(context.Background()); problem != nil {
		t.Fatal(problem)
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	f.reply = abi.Reply{OK: true, State: raw}
	return f
}

func (g *gate) verifyState(t *testing.T, patch any) *abi.Problem {
	t.Helper()
	return g.flightWith(t, patch).verifyState()
}

func wantCode(t *testing.T, p *abi.Problem, want abi.Code) {
	t.Helper()
	if p == nil || p.Code != want {
		t.Fatalf("problem is %v, want code %d", p, want)
	}
}

func TestMergePatch(t *testing.T) {
	// The examples of RFC 7396, as far as they are of one value.
	for _, tt := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`["a"]`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, ``},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{``, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"price":89.90}`, `{"stock":12345678901234567890}`, `{"price":89.90,"stock":12345678901234567890}`},
	} {
		if got := string(mergePatch(json.RawMessage(tt.target), json.RawMessage(tt.patch))); got != tt.want {
			t.Errorf("%s with %s gives %s, want %s", tt.target, tt.patch, got, tt.want)
		}
	}
}
