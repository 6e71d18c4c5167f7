package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// A past is a played history. It counts what it is asked.
type past struct {
	done  []doneCall
	fails bool
	asked int
}

type doneCall struct {
	tool, target string
	at           time.Time
}

var _ History = (*past)(nil)

func (p *past) LastDone(_ context.Context, s host.SessionRef, tool, target string) (*manifest.LastCall, error) {
	p.asked++
	if p.fails || s != session {
		return nil, errors.New("told to")
	}
	var last *manifest.LastCall
	for _, c := range p.done {
		if c.tool == tool && c.target == target {
			last = &manifest.LastCall{Time: c.at}
		}
	}
	return last, nil
}

func (p *past) CountDone(_ context.Context, s host.SessionRef, tool string, within time.Duration) (int, error) {
	p.asked++
	if p.fails || s != session {
		return 0, errors.New("told to")
	}
	n := 0
	for _, c := range p.done {
		if c.tool == tool && !c.at.Before(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(-within)) {
			n++
		}
	}
	return n, nil
}

func policy(t *testing.T, lines string) *manifest.Policy {
	t.Helper()
	p, err := manifest.ParsePolicy("policy.yaml", []byte("policy: 1\nred_lines:\n"+lines))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRedLinesOverTheHistory(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) doneCall { return doneCall{"order", "pen", now.Add(-d)} }
	for _, tt := range []struct {
		name string
		h    History
		want abi.Tier
		says string
	}{
		{"nothing yet", &past{}, abi.SoftGate, ""},
		{"two in ten minutes", &past{done: []doneCall{ago(9 * time.Minute), ago(time.Minute)}}, abi.Block, "Only 2 in 10 minutes."},
		{"one of two is older", &past{done: []doneCall{ago(11 * time.Minute), ago(time.Minute)}}, abi.SoftGate, ""},
		{"just now", &past{done: []doneCall{ago(time.Second)}}, abi.HardGate, "pen was ordered a moment ago."},
		{"another thing just now", &past{done: []doneCall{{"order", "ink", now}}}, abi.SoftGate, ""},
		{"a store that fails", &past{fails: true}, abi.Block, "could not be decided"},
		{"no history", nil, abi.Block, "could not be decided"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			g.d.Now, g.d.History = func() time.Time { return now }, tt.h
			g.d.Policy = policy(t, `
  - {name: few, tools: [test.guest.order], when: "count(tool, duration('10m')) >= 2", say: Only 2 in 10 minutes.}
  - {name: slow, tools: [order], when: "last('order', args.item) != null && now - last('order', args.item).time < duration('30s')", tier: hard-gate, say: "{{args.item}} was ordered a moment ago."}
`)
			o := wantTier(t, g, call("order", `{"item":"pen","count":2}`), tt.want)
			if tt.says != "" && !strings.Contains(o.Problem.Message, tt.says) {
				t.Errorf("it says %q", o.Problem.Message)
			}
			wantTier(t, g, call("total", `{"item":"pen"}`), abi.Auto) // not about this tool
		})
	}
}

// TestRedLinesKnowWhatTheSessionDid asks the store itself: what was settled
// counts at once, each target of it, and nothing else does.
func TestRedLinesKnowWhatTheSessionDid(t *testing.T) {
	g := newGate(t)
	g.d.Policy = policy(t, `
  - {name: few, tools: [order], when: "count(tool, duration('10m')) >= 2", say: Only 2 in 10 minutes.}
  - {name: same, tools: [order], when: "last('order', args.item) != null && last('order', args.item).args.count == args.count", tier: hard-gate}
`)
	wantTier(t, g, call("order", `{"item":"pen","count":2}`), abi.SoftGate)
	wantTier(t, g, call("order", `{"item":"pen","count":2}`), abi.HardGate)
	wantTier(t, g, call("total", `{"item":"pen"}`), abi.Auto)
	wantTier(t, g, call("order", `{"item":"ink","count":2}`), abi.SoftGate)
	o := wantTier(t, g, call("order", `{"item":"cap","count":1}`), abi.Block)
	if !strings.Contains(o.Problem.Message, "Only 2 in 10 minutes.") {
		t.Errorf("it says %q", o.Problem.Message)
	}
	other := call("order", `{"item":"cap","count":1}`)
	other.Session.Session = "another"
	wantTier(t, g, other, abi.SoftGate)
}

func TestARedLineIsOnRecordByItsName(t *testing.T) {
	g := newGate(t)
	g.d.Policy = policy(t, `  - {name: no-ink, tools: ["*"], when: "args.item == 'ink' && user.id == 'mia' && tenant.id == 'acme'"}`)
	c := call("total", `{"item":"ink"}`)
	wantTier(t, g, c, abi.Block)
	if r := g.records(c.ID, host.RecordRefusal); len(r) != 1 || !strings.Contains(string(r[0].Detail), `"by":"red line no-ink","tier":"block"`) {
		t.Errorf("the record is %+v", r)
	}
}

// TestExpressionsSeeWhomTheCallIsFor: a red line that knew less would not hold.
func TestExpressionsSeeWhomTheCallIsFor(t *testing.T) {
	g := newGate(t)
	for _, that := range []string{"session.id == 's1'", "session.locale == 'en'", "user.id == 'mia'", "live.id == 'l7'", "tenant.id == 'acme'"} {
		g.d.Policy = policy(t, `  - {name: whom, tools: ["*"], when: "`+that+`"}`)
		c := call("total", `{"item":"pen"}`)
		c.Live = "l7"
		wantTier(t, g, c, abi.Block)
		g.d.Policy = policy(t, `  - {name: whom, tools: ["*"], when: "!(`+that+`)"}`)
		wantTier(t, g, c, abi.Auto)
	}
}

func TestARuleMayAskForTheLastCall(t *testing.T) {
	g := newGate(t, writes(func(tool *abi.Tool) {
		tool.Rules = []abi.Rule{{When: "last('order', args.item) != null", Tier: abi.HardGate}}
	}))
	h := &past{}
	g.d.History = h
	wantTier(t, g, call("order", `{"item":"pen","count":2}`), abi.SoftGate)
	h.done = []doneCall{{"order", "pen", time.Now()}}
	wantTier(t, g, call("order", `{"item":"pen","count":2}`), abi.HardGate)
}

func TestTheHistoryIsAskedOnceForEachQuestionAndNotForever(t *testing.T) {
	g := newGate(t)
	h := &past{}
	g.d.History = h
	g.d.Policy = policy(t, `
  - {name: once, tools: [total], when: "count('order', duration('1m')) > 0 || count('order', duration('1m')) > 1"}
  - {name: once-more, tools: [total], when: "count('order', duration('1m')) > 0"}
`)
	wantTier(t, g, call("total", `{"item":"pen"}`), abi.Auto)
	if h.asked != 1 {
		t.Errorf("the history was asked %d times", h.asked)
	}
	g.d.Policy = policy(t, `
  - {name: many, tools: [total], when: "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17].exists(i, last('order', string(i)) != null)"}
`)
	h.asked = 0
	wantTier(t, g, call("total", `{"item":"pen"}`), abi.Block)
	if h.asked != maxQuestions {
		t.Errorf("the history was asked %d times", h.asked)
	}
}

// What is more than is counted is not taken for the most that is counted: a red
// line with a high limit would never hold.
func TestMoreThanIsCountedCannotBeDecided(t *testing.T) {
	g := newGate(t)
	for i := range state.MaxCounted/state.MaxDoneTargets + 2 {
		f := g.until(call("order", fmt.Sprintf(`{"item":"i%d","count":2}`, i)), "spill")
		for n := range state.MaxDoneTargets {
			f.targets = append(f.targets[:n:n], fmt.Sprint(i, "/", n))
		}
		if problem := f.settle(context.Background()); problem != nil {
			t.Fatal(problem)
		}
	}
	if n, err := g.d.History.CountDone(context.Background(), session, "order", time.Hour); err == nil {
		t.Errorf("%d are counted, and no more is said", n)
	}
	g.d.Policy = policy(t, `
  - {name: many, tools: [order], when: "count(tool, duration('1h')) >= 5000"}
`)
	wantTier(t, g, call("order", `{"item":"pen","count":2}`), abi.Block)
}

// What a red line reads is not given to the skill, which may not read it.
func TestTheStateOfARedLineIsNotTheGuests(t *testing.T) {
	g := newGate(t)
	g.d.Policy = policy(t, "  - {name: a, tools: [order], when: has(state.secret) && state.secret == 2}")
	g.put("secret", "1")
	o := g.do("order", `{"item":"pen","count":2}`)
	if !o.OK() {
		t.Fatal(o.Problem)
	}
	f := g.until(call("order", `{"item":"ink","count":2}`), "run")
	if bytes.Contains(f.input, []byte("secret")) || f.env.State["secret"] != nil || f.ruled.State["secret"] == nil || f.toolCall().State["secret"] != nil {
		t.Errorf("the guest got %s", f.input)
	}
	for i := range maxStateKeys + 1 {
		g.put(fmt.Sprintf("secret.%d", i), "1")
	}
	wantProblem(t, g.do("order", `{"item":"pen","count":2}`), host.Failed, abi.QuotaReached)
}
