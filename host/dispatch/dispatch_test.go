package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

func TestReadGivesDataAndIsOnRecord(t *testing.T) {
	g := newGate(t)
	o := g.do("total", `{"item":"pen"}`)
	if !o.OK() || string(o.Data) != `{"item":"pen","total":0}` || o.Key != "" || o.Tier != abi.Auto {
		t.Fatalf("outcome is %+v", o)
	}
	if o.Usage.HostCalls != 1 || o.Usage.Elapsed <= 0 || o.Usage.PeakMemory <= 0 {
		t.Errorf("usage is %+v", o.Usage)
	}
	g.wantKinds(o.Call, host.RecordIntent, host.RecordOutcome)
}

// What is made of the log tells lives apart, whatever sessions they took.
func TestTheRecordOfACallNamesItsLive(t *testing.T) {
	g := newGate(t)
	for _, live := range []host.LiveID{"", "L1"} {
		for _, c := range []host.Call{call("total", `{"item":"pen"}`), call("order", `{"item":"pen","count":2}`)} {
			c.Live = live
			g.d.Do(t.Context(), g.catalog, c)
			intent := g.records(c.ID, host.RecordIntent)
			if len(intent) != 1 || strings.Contains(string(intent[0].Detail), `"live":"L1"`) != (live != "") {
				t.Errorf("%s in the live %q is on record as %+v", c.Tool, live, intent)
			}
		}
	}
}

func TestWriteCommitsWithItsClaimAndRecords(t *testing.T) {
	g := newGate(t)
	o := g.do("order", `{"item":"pen","count":2}`)
	if !o.OK() || g.stored("total/pen") != "2" || o.Key == "" || o.Tier != abi.SoftGate {
		t.Fatalf("outcome is %+v, stored %q", o, g.stored("total/pen"))
	}
	g.wantKinds(o.Call, host.RecordIntent, host.RecordOutcome)
	if fact := g.records(o.Call + "/now"); len(fact) != 2 {
		t.Errorf("the fact that the gate fetched has %d records, want intent and outcome", len(fact))
	}
}

func TestSameDeliveryRunsOnce(t *testing.T) {
	g := newGate(t)
	c := call("order", `{"item":"pen","count":2}`)
	first := g.d.Do(context.Background(), g.catalog, c)
	c.Args = ` {"count": 2.0, "item": "pen"}` // the same by value
	second := g.d.Do(context.Background(), g.catalog, c)
	if !first.OK() || !second.OK() || !second.Replayed || !bytes.Equal(first.Data, second.Data) || g.stored("total/pen") != "2" {
		t.Fatalf("first %+v, second %+v, stored %s", first, second, g.stored("total/pen"))
	}
	g.wantKinds(c.ID, host.RecordIntent, host.RecordOutcome, host.RecordDuplicate)
}

// TestDoneWriteIsNotAskedAboutAgain: after its own effect the gate would ask
// about it, or find it out of scope (H32).
func TestDoneWriteIsNotAskedAboutAgain(t *testing.T) {
	g := newGate(t)
	c := call("order", `{"item":"pen","count":30}`)
	first := g.d.Do(context.Background(), g.catalog, c)
	again := g.d.Do(context.Background(), g.catalog, c)
	if !first.OK() || !again.Replayed || !bytes.Equal(first.Data, again.Data) {
		t.Fatalf("first %+v, again %+v with %v", first, again, again.Problem)
	}
	g.wantKinds(c.ID, host.RecordIntent, host.RecordOutcome, host.RecordDuplicate)
	c.ID, c.Ordinal = c.ID+"b", 1
	wantProblem(t, g.d.Do(context.Background(), g.catalog, c), host.Pending, abi.PendingApproval)
}

func TestSameDeliveryAtOnceRunsOnce(t *testing.T) {
	g := newGate(t)
	g.d.Sleep = sleep // waiting for the other must take real time here
	c := call("order", `{"item":"pen","count":2}`)
	var wait sync.WaitGroup
	outcomes := make([]host.Outcome, 8)
	for i := range outcomes {
		wait.Go(func() {
			mine := c
			mine.ID += host.CallID(rune('a' + i))
			outcomes[i] = g.d.Do(context.Background(), g.catalog, mine)
		})
	}
	wait.Wait()
	ran := 0
	for _, o := range outcomes {
		if !o.OK() {
			t.Fatalf("outcome is %+v", o)
		}
		if !o.Replayed {
			ran++
		}
	}
	if ran != 1 || g.stored("total/pen") != "2" {
		t.Fatalf("%d deliveries ran, stored %s; want one and 2", ran, g.stored("total/pen"))
	}
}

// TestAnotherIntentRunsAgain: the user may order the same thing twice, if they
// say so.
func TestAnotherIntentRunsAgain(t *testing.T) {
	g := newGate(t)
	g.d.Approver = func(context.Context, Question) bool { return true }
	c := call("order", `{"item":"pen","count":2}`)
	again := c
	again.ID, again.Ordinal = c.ID+"b", 1
	first, second := g.d.Do(context.Background(), g.catalog, c), g.d.Do(context.Background(), g.catalog, again)
	if first.Key == second.Key || second.Replayed || g.stored("total/pen") != "4" {
		t.Fatalf("first %+v, second %+v", first, second)
	}
}

func TestFailureDoesNotConsumeTheKey(t *testing.T) {
	g := newGate(t)
	c := call("misbehave", `{"how":"panic"}`)
	for range 2 {
		if o := g.d.Do(context.Background(), g.catalog, c); o.Status != host.Failed || o.Replayed {
			t.Fatalf("outcome is %+v", o)
		}
	}
	g.wantKinds(c.ID, host.RecordIntent, host.RecordOutcome, host.RecordIntent, host.RecordOutcome)
}

func TestRecoveryByCode(t *testing.T) {
	g := newGate(t)
	for _, tt := range []struct {
		name, tool, args string
		code             abi.Code
		field            string
		attempts         int
		slept            int
	}{
		{"business refusal is told", "order", `{"item":"sold out","count":2}`, abi.OutOfBounds, "count", 1, 0},
		{"unavailable is tried four times", "misbehave", `{"how":"unavailable"}`, abi.Unavailable, "", 4, 3},
		{"endless allocation ends at its limit", "misbehave", `{"how":"allocate"}`, abi.OutOfMemory, "", 1, 0},
		{"a panic is a trap", "misbehave", `{"how":"panic"}`, abi.Trap, "", 1, 0},
		{"an exit is broken", "misbehave", `{"how":"exit"}`, abi.GuestExit, "", 1, 0},
		{"too much output", "misbehave", `{"how":"big"}`, abi.OutputLimit, "", 1, 0},
		{"a read may not write", "sneak", `{}`, abi.NotGranted, "", 1, 0},
		{"data breaks its schema", "lie", `{}`, abi.BrokenOutput, "mood", 1, 0},
		{"state that is not declared", "set_goal", `{"text":"elsewhere"}`, abi.NotGranted, "", 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g.slept = nil
			o := g.do(tt.tool, tt.args)
			if o.OK() || o.Problem == nil || o.Problem.Code != tt.code {
				t.Fatalf("outcome is %+v with problem %v, want code %d", o, o.Problem, tt.code)
			}
			if o.Problem.Field != tt.field || o.Attempts != tt.attempts || len(g.slept) != tt.slept {
				t.Errorf("field %q, %d attempts, slept %v", o.Problem.Field, o.Attempts, g.slept)
			}
			if o.Data != nil {
				t.Errorf("data are %s; a problem carries none", o.Data)
			}
			if g.stored("dirt") != "" || g.stored("sneaked") != "" {
				t.Error("a failed call left a write behind")
			}
			// The gate is as good as new.
			if next := g.do("total", `{"item":"pen"}`); !next.OK() {
				t.Errorf("the next call ended as %+v", next)
			}
		})
	}
}

func TestEndlessWorkEndsAtItsDeadline(t *testing.T) {
	g := newGate(t)
	for _, how := range []string{"loop", "print"} {
		c := call("misbehave", `{"how":"`+how+`"}`)
		c.Timeout = 200 * time.Millisecond // the skill's own also bounds what is asked when it is loaded
		o := g.d.Do(context.Background(), g.catalog, c)
		if o.Problem == nil || o.Problem.Code != abi.Deadline || o.Attempts != 4 || g.stored("dirt") != "" {
			t.Errorf("%s ended as %+v with %v after %d attempts", how, o, o.Problem, o.Attempts)
		}
	}
}

// F27: a time-out of the caller's shrinks what the skill's limits allow, and
// never makes it more.
func TestATimeoutOnlyShrinksTheDeadline(t *testing.T) {
	g := newGate(t, deadline(500*time.Millisecond))
	for timeout, want := range map[time.Duration]string{20 * time.Millisecond: "its deadline is 20ms", time.Hour: "its deadline is 500ms", -1: "its deadline is 500ms"} {
		c := call("misbehave", `{"how":"loop"}`)
		c.ID, c.Timeout = host.CallIDFor(session, int(timeout/time.Millisecond)+1, 9), timeout
		if o := g.d.Do(context.Background(), g.catalog, c); o.Problem == nil || o.Problem.Code != abi.Deadline || !strings.Contains(o.Problem.Message, want) {
			t.Errorf("with %v it ended with %v, want %q", timeout, o.Problem, want)
		}
	}
}

func TestRetryKeepsTheKeyAndSucceeds(t *testing.T) {
	g := newGate(t)
	o := g.do("misbehave", `{"how":"flaky"}`)
	if !o.OK() || string(o.Data) != "3" || o.Attempts != 3 {
		t.Fatalf("outcome is %+v", o)
	}
	if want := []time.Duration{500 * time.Millisecond, time.Second}; len(g.slept) != 2 || g.slept[0] != want[0] || g.slept[1] != want[1] {
		t.Errorf("slept %v, want %v", g.slept, want)
	}
	g.wantKinds(o.Call, host.RecordIntent, host.RecordRetry, host.RecordRetry, host.RecordOutcome)
	if g.stored("dirt") != "1" {
		t.Error("the attempt that succeeded was not kept")
	}
}

func TestCheckRefusesBeforeAnythingRuns(t *testing.T) {
	g := newGate(t)
	big, err := json.Marshal(map[string]any{"item": string(bytes.Repeat([]byte("x"), 10<<20))})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, tool, args string
		cutOff           bool
		code             abi.Code
		field            string
	}{
		{"unknown tool", "oder", `{}`, false, abi.UnknownTool, "tool"},
		{"not JSON", "order", `{"item": pen}`, false, abi.NotJSON, ""},
		{"cut off (H37)", "order", `{"item":"pen","cou`, true, abi.CutOff, ""},
		{"cut off though it parses (H37)", "order", `{}`, true, abi.CutOff, ""},
		{"empty is not an order", "order", ``, false, abi.Missing, "item"},
		{"missing", "order", `{"item":"pen"}`, false, abi.Missing, "count"},
		{"wrong type", "order", `{"item":"pen","count":"many"}`, false, abi.WrongType, "count"},
		{"out of range", "order", `{"item":"pen","count":101}`, false, abi.BadValue, "count"},
		{"unknown field", "order", `{"item":"pen","count":1,"colour":"red"}`, false, abi.UnknownField, "colour"},
		{"10 MB", "order", string(big), false, abi.InputLimit, ""},
		{"out of scope", "order", `{"item":"weapon","count":1}`, false, abi.OutOfScope, ""},
		{"blocked by a rule", "order", `{"item":"poison","count":1}`, false, abi.RedLine, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := call(tt.tool, tt.args)
			c.CutOff = tt.cutOff
			o := g.d.Do(context.Background(), g.catalog, c)
			if o.Problem == nil || o.Problem.Code != tt.code || o.Problem.Field != tt.field {
				t.Fatalf("problem is %v, want code %d at %q", o.Problem, tt.code, tt.field)
			}
			if o.Attempts != 0 || o.Status != host.Failed {
				t.Errorf("%d attempts, status %s; nothing may have run", o.Attempts, o.Status)
			}
			g.wantKinds(o.Call, host.RecordRefusal)
		})
	}
}

func TestUnknownToolNamesTheNearest(t *testing.T) {
	g := newGate(t)
	o := g.do("oder", `{}`)
	if len(o.Problem.Candidates) == 0 || o.Problem.Candidates[0] != "order" {
		t.Errorf("candidates are %v, want order first", o.Problem.Candidates)
	}
}

func TestRuleWithAFreshFactWaitsForAPerson(t *testing.T) {
	g := newGate(t)
	if o := g.do("order", `{"item":"pen","count":30}`); !o.OK() {
		t.Fatalf("outcome is %+v", o)
	}
	o := g.do("order", `{"item":"pen","count":30}`)
	if o.Status != host.Pending || o.Problem.Code != abi.PendingApproval || o.Tier != abi.HardGate || g.stored("total/pen") != "30" {
		t.Fatalf("outcome is %+v, stored %s", o, g.stored("total/pen"))
	}
	if want := "pen would go from 30 to more than 50."; !bytes.Contains([]byte(o.Problem.Message), []byte(want)) {
		t.Errorf("message is %q, want it to say %q", o.Problem.Message, want)
	}
}

func TestStateIsPatchedAndVersioned(t *testing.T) {
	g := newGate(t)
	for _, goal := range []string{"sell more", "sell less"} {
		if o := g.do("set_goal", `{"text":"`+goal+`"}`); !o.OK() || o.Preview != "goal set" {
			t.Fatalf("outcome is %+v", o)
		}
	}
	values, err := g.store.LoadState(context.Background(), session, "goal")
	if err != nil {
		t.Fatal(err)
	}
	if v := values["goal"]; v.Version != 2 || string(v.Data) != `{"text":"sell less"}` {
		t.Errorf("state is %s in version %d", v.Data, v.Version)
	}
}

func TestCancelledCallLeavesNothingAndReleasesItsKey(t *testing.T) {
	g := newGate(t)
	ctx, cancel := context.WithCancel(context.Background())
	g.d.Sleep = func(context.Context, time.Duration) error { cancel(); return ctx.Err() }
	c := call("misbehave", `{"how":"flaky"}`)
	o := g.d.Do(ctx, g.catalog, c)
	wantProblem(t, o, host.Failed, abi.Cancelled)
	if g.stored("dirt") != "" {
		t.Error("it left a write behind")
	}
	g.d.Sleep = func(context.Context, time.Duration) error { return nil }
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() || o.Replayed {
		t.Fatalf("the same call afterwards ended as %+v with %v", o, o.Problem)
	}
}

// TestCrashedWrite: a claim whose holder is gone runs again under its key only
// if the tool says that this is safe.
func TestCrashedWrite(t *testing.T) {
	for _, tt := range []struct {
		tool string
		want host.Status
	}{{"order", host.Done}, {"order_once", host.Unknown}} {
		t.Run(tt.tool, func(t *testing.T) {
			g := newGate(t)
			c := call(tt.tool, `{"item":"pen","count":2}`)
			request := g.until(c, "gate").claimRequest()
			request.Call, request.Lease = "call_of_the_dead", time.Nanosecond
			if claim, err := g.store.Claim(context.Background(), request); err != nil || claim.State != state.ClaimNew {
				t.Fatal(claim, err)
			}
			o := g.d.Do(context.Background(), g.catalog, c)
			if o.Status != tt.want {
				t.Fatalf("outcome is %+v with %v, want %s", o, o.Problem, tt.want)
			}
		})
	}
}
