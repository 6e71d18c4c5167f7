package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func (g *gate) hook(list ...host.Hook) {
	g.t.Helper()
	for i := range list {
		list[i].Time = cmp.Or(list[i].Time, time.Minute) // no test waits for it
	}
	hooks, err := host.NewHooks(list...)
	if err != nil {
		g.t.Fatal(err)
	}
	g.d.Hooks = hooks
}

func TestAHookBeforeTheCallTightensOrRefusesAndNeverLoosens(t *testing.T) {
	for _, tt := range []struct {
		name, tool, item string
		opinion          host.Opinion
		err              error
		tier             abi.Tier // empty: it was refused before the gate
	}{
		{"nothing to say", "order", "pen", host.Opinion{}, nil, abi.SoftGate},
		{"loosens nothing", "order", "safe", host.Opinion{Tier: abi.Auto}, nil, abi.HardGate},
		{"asks", "order", "pen", host.Opinion{Tier: abi.HardGate, Say: "The hook asks."}, nil, abi.HardGate},
		{"asks of a read", "total", "pen", host.Opinion{Tier: abi.HardGate, Say: "The hook asks."}, nil, abi.HardGate},
		{"blocks", "order", "pen", host.Opinion{Tier: abi.Block, Say: "The hook blocks."}, nil, abi.Block},
		{"refuses", "order", "pen", host.Opinion{Problem: abi.NewProblem(abi.NotAllowed, "not on Sundays")}, nil, ""},
		{"fails", "order", "pen", host.Opinion{}, errors.New("told to"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, func(m *abi.Manifest) { // facts would be asked for, too
				for i := range m.Tools {
					m.Tools[i].Facts, m.Tools[i].Rules, m.Tools[i].Scope = nil, nil, ""
				}
			})
			asked := 0
			g.hook(host.Hook{Name: "guard", PreToolCall: func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
				if asked++; c.Call.Tool != tt.tool || !strings.Contains(string(c.Args), tt.item) || c.Skill != "test.guest@1.0.0" {
					t.Errorf("the hook was asked about %+v", c)
				}
				return tt.opinion, tt.err
			}})
			args := `{"item":"` + tt.item + `","count":2}`
			if tt.tool == "total" {
				args = `{"item":"` + tt.item + `"}`
			}
			c := call(tt.tool, args)
			if tt.tier == "" {
				o := g.d.Do(context.Background(), g.catalog, c)
				if o.OK() || o.Tier != "" || g.stored("total/"+tt.item) != "" {
					t.Errorf("it ended with %+v", o)
				}
				if r := g.records(c.ID); len(r) != 1 || !strings.Contains(string(r[0].Detail), `{"by":"hook guard","code":`) {
					t.Errorf("the record is %+v", r)
				}
			} else if o := wantTier(t, g, c, tt.tier); o.Problem != nil && !strings.Contains(o.Problem.Message, tt.opinion.Say) {
				t.Errorf("it says %q", o.Problem.Message)
			}
			if asked != 1 {
				t.Errorf("the hook was asked %d times", asked)
			}
		})
	}
}

func TestAHookAfterTheCallRefusesTheResultBeforeItIsKept(t *testing.T) {
	g := newGate(t)
	replies := 0
	g.hook(
		host.Hook{Name: "watch", Observer: true, PostToolCall: func(_ context.Context, c host.ToolCall, r host.Reply) (host.Opinion, error) {
			return host.Opinion{Note: "seen " + string(r.Data)}, nil
		}},
		host.Hook{Name: "guard", PostToolCall: func(_ context.Context, c host.ToolCall, r host.Reply) (host.Opinion, error) {
			if replies++; c.Call.Tool == "order" && c.Tier == abi.SoftGate && len(c.Targets) == 1 && c.Targets[0] == "ink" {
				return host.Opinion{Problem: abi.NewProblem(abi.Unavailable, "the shop says otherwise")}, nil
			}
			return host.Opinion{}, nil
		}})
	c := call("order_once", `{"item":"pen","count":2}`)
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
		t.Fatal(o.Problem)
	}
	if r := g.records(c.ID, host.RecordOutcome); !strings.Contains(string(r[0].Detail), "hook watch: seen ") {
		t.Errorf("the record is %s", r[0].Detail)
	}
	replies = 0
	c = call("order", `{"item":"ink","count":2}`)
	o := g.d.Do(context.Background(), g.catalog, c)
	wantProblem(t, o, host.Failed, abi.Unavailable)
	if replies != 2 || o.Attempts != 1 || g.stored("total/ink") != "" { // once for the fact
		t.Errorf("asked %d times, %d attempts, %q is kept", replies, o.Attempts, g.stored("total/ink"))
	}
	if r := g.records(c.ID, host.RecordOutcome); len(r) != 1 || !strings.Contains(string(r[0].Detail), `{"by":"hook guard","code":`) {
		t.Errorf("the record is %+v", r)
	}
}

func TestAlertsAndProblemsAreToldToObservers(t *testing.T) {
	g := newGate(t)
	var alerts []host.Alert
	var troubles []abi.Code
	g.hook(
		host.Hook{Name: "broken", Observer: true, OnAlert: func(context.Context, host.Alert) error { panic("told to") }},
		host.Hook{Name: "watch", Observer: true,
			OnAlert:   func(_ context.Context, a host.Alert) error { alerts = append(alerts, a); return nil },
			OnProblem: func(_ context.Context, p host.Trouble) error { troubles = append(troubles, p.Problem.Code); return nil },
		})
	var log bytes.Buffer
	g.d.Log = slog.New(slog.NewTextHandler(&log, nil))
	g.d.Rates = host.NewRates(map[host.AlertKind]host.Threshold{host.AlertFailures: {Count: 2, Within: time.Minute}})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	g.d.Now = func() time.Time { return now }
	wantTier(t, g, call("order", `{"item":"poison","count":2}`), abi.Block)
	if len(alerts) != 1 || alerts[0].Kind != host.AlertRedLine || alerts[0].Count != 1 || alerts[0].Tool != "order" {
		t.Errorf("alerts are %+v", alerts)
	}
	g.do("order", `{"item":"sold out","count":2}`) // the business's answer is no failure
	for range 3 {
		g.do("misbehave", `{"how":"panic"}`)
	}
	if len(alerts) != 2 || alerts[1].Kind != host.AlertFailures || alerts[1].Count != 2 || alerts[1].Within != time.Minute {
		t.Errorf("alerts are %+v", alerts)
	}
	if len(troubles) != 3 || troubles[0] != abi.Trap {
		t.Errorf("the hooks were told of %v", troubles)
	}
	if !strings.Contains(log.String(), "hook broken: it panicked") {
		t.Errorf("the log says %s", log.String())
	}
}

func TestAWebhookGetsAlertsAndNeverHoldsACallUp(t *testing.T) {
	got := make(chan host.Alert)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var a host.Alert
		if err := json.Unmarshal(body, &a); err != nil || r.Method != http.MethodPost {
			t.Errorf("got %s %s: %v", r.Method, body, err)
		}
		got <- a // until it is taken, the address does not answer
	}))
	w, err := NewWebhook(server.URL, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	send := w.Hook().OnAlert
	full := 0
	for range webhookQueue + 10 {
		if send(context.Background(), host.Alert{Kind: host.AlertLoops, Count: 5}) != nil {
			full++
		}
	}
	if full < 9 || full > 10 { // one may be on its way
		t.Errorf("%d alerts found the queue full", full)
	}
	if a := <-got; a.Kind != host.AlertLoops || a.Count != 5 {
		t.Errorf("the address got %+v", a)
	}
	go func() {
		for range got { // what else is on its way
		}
	}()
	w.Close()
	server.Close() // waits for them
	close(got)
}

func TestAWebhookSaysWithoutItsAddressThatItFailed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	w, err := NewWebhook(server.URL+"/?token=geheim", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	err = w.post(context.Background(), host.Alert{})
	if err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("a redirect gives %v", err)
	}
	server.Close()
	if err := w.post(context.Background(), host.Alert{}); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("a closed address gives %v", err)
	}
	if _, err := NewWebhook("file:///etc/passwd", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a file is an address")
	}
}

// A stack is for the log: a model and a user read the problem.
func TestAGuardThatPanicsTellsTheModelNothingOfTheHost(t *testing.T) {
	g := newGate(t)
	g.hook(host.Hook{Name: "guard", PreToolCall: func(context.Context, host.ToolCall) (host.Opinion, error) { panic("s3cret") }})
	o := g.do("total", `{"item":"pen"}`)
	wantProblem(t, o, host.Failed, abi.Unavailable)
	if text := o.Problem.Message; !strings.Contains(text, "the guard guard could not decide: it panicked") || strings.Contains(text, "s3cret") || strings.Contains(text, "goroutine") {
		t.Errorf("the model reads %q", text)
	}
}

// A hook that counts calls must be able to tell a call from its retries.
func TestAHookIsToldWhichAttemptItIsAskedAbout(t *testing.T) {
	g := newGate(t)
	var before, after []int
	g.hook(host.Hook{Name: "counts",
		PreToolCall: func(_ context.Context, c host.ToolCall) (host.Opinion, error) {
			before = append(before, c.Attempt)
			return host.Opinion{}, nil
		},
		PostToolCall: func(_ context.Context, c host.ToolCall, _ host.Reply) (host.Opinion, error) {
			after = append(after, c.Attempt)
			return host.Opinion{}, nil
		},
	})
	if o := g.do("misbehave", `{"how":"flaky"}`); !o.OK() || o.Attempts != 3 {
		t.Fatalf("it ended with %+v", o)
	}
	if !slices.Equal(before, []int{1, 2, 3}) || !slices.Equal(after, []int{3}) {
		t.Errorf("it was asked about %v before and %v after", before, after)
	}
}
