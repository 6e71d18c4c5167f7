package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// TestStoreThatFailsInTheGuestFailsTheAttempt: the guest takes no notice, and
// would write a total that it never read.
func TestStoreThatFailsInTheGuestFailsTheAttempt(t *testing.T) {
	g := newGate(t)
	f := g.until(call("shrug", `{"item":"pen"}`), "claim")
	g.damage("ALTER TABLE kv RENAME TO kv_gone")
	wantCode(t, f.run(context.Background()), abi.StoreFailure)
}

func TestStoreThatFailsInTheGuestIsTriedAgain(t *testing.T) {
	g := newGate(t)
	if o := g.do("order", `{"item":"pen","count":7}`); !o.OK() {
		t.Fatal(o.Problem)
	}
	g.damage("ALTER TABLE kv RENAME TO kv_gone")
	g.onSleep = func() { g.damage("ALTER TABLE kv_gone RENAME TO kv"); g.onSleep = nil }
	o := g.do("shrug", `{"item":"pen"}`)
	if !o.OK() || o.Attempts != 2 || g.stored("total/pen") != "8" {
		t.Fatalf("outcome is %+v with %v, stored %s; want 8 at the second attempt", o, o.Problem, g.stored("total/pen"))
	}
}

func TestStoreThatGoesOnFailingIsTold(t *testing.T) {
	g := newGate(t)
	g.damage("ALTER TABLE kv RENAME TO kv_gone")
	o := g.do("shrug", `{"item":"pen"}`)
	wantProblem(t, o, host.Failed, abi.StoreFailure)
	if o.Attempts != 4 {
		t.Errorf("%d attempts", o.Attempts)
	}
}

// TestWriteWithoutItsIntentDoesNotRun: fail closed. The key is free afterwards.
func TestWriteWithoutItsIntentDoesNotRun(t *testing.T) {
	g := newGate(t)
	c := call("order_once", `{"item":"pen","count":2}`)
	g.failRecords(host.RecordIntent)
	o := g.d.Do(context.Background(), g.catalog, c)
	wantProblem(t, o, host.Failed, abi.StoreFailure)
	if o.Attempts != 0 || g.stored("total/pen") != "" {
		t.Errorf("outcome is %+v; nothing may have run", o)
	}
	g.wantKinds(c.ID, host.RecordRefusal)
	g.mend()
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() || o.Replayed {
		t.Fatalf("afterwards it ends as %+v with %v", o, o.Problem)
	}
}

// TestClaimWhoseAnswerWasLostIsReleased: the claim was kept, and the store said
// that it failed.
func TestClaimWhoseAnswerWasLostIsReleased(t *testing.T) {
	g := newGate(t)
	c := call("order_once", `{"item":"pen","count":2}`)
	f := g.until(c, "claim")
	f.claimed = false
	problem := f.unclaimed(host.Fail("state.Claim", abi.NewProblem(abi.StoreFailure, "no answer"), nil))
	if o := f.refuse(context.Background(), "claim", problem); o.Status != host.Failed {
		t.Fatalf("outcome is %+v", o)
	}
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
		t.Fatalf("the same call ends as %+v with %v", o, o.Problem)
	}
}

func TestSettlementThatFailsIsTriedAgain(t *testing.T) {
	g := newGate(t)
	g.failRecords(host.RecordOutcome)
	g.onSleep = func() { g.mend(); g.onSleep = nil }
	o := g.do("order_once", `{"item":"pen","count":2}`)
	if !o.OK() || o.Attempts != 2 || g.stored("total/pen") != "2" {
		t.Fatalf("outcome is %+v with %v, stored %s", o, o.Problem, g.stored("total/pen"))
	}
}

// TestReadThatCannotBeRecordedIsNotTold: fail closed.
func TestReadThatCannotBeRecordedIsNotTold(t *testing.T) {
	g := newGate(t)
	g.failRecords(host.RecordOutcome)
	o := g.do("total", `{"item":"pen"}`)
	wantProblem(t, o, host.Failed, abi.StoreFailure)
	if o.Data != nil {
		t.Errorf("data are %s", o.Data)
	}
}

// TestRecordIsTriedAgain: a store that fails for a moment costs no evidence and
// no answer.
func TestRecordIsTriedAgain(t *testing.T) {
	g := newGate(t)
	g.failRecords(host.RecordRefusal)
	g.onSleep = func() { g.mend(); g.onSleep = nil }
	o := g.do("order", `{"item":"weapon","count":1}`)
	wantProblem(t, o, host.Failed, abi.OutOfScope)
	g.wantKinds(o.Call, host.RecordRefusal)
}

// TestQuestionThatCannotBeRecordedIsNotAsked: nobody could answer it.
func TestQuestionThatCannotBeRecordedIsNotAsked(t *testing.T) {
	g := newGate(t)
	g.failRecords(host.RecordRefusal)
	wantProblem(t, g.do("order", `{"item":"pen","count":60}`), host.Failed, abi.StoreFailure)
}

// TestCommitWhoseAnswerWasLostIsFound: the settlement took place, and the
// store said that it failed.
func TestCommitWhoseAnswerWasLostIsFound(t *testing.T) {
	g := newGate(t)
	f := g.until(call("order", `{"item":"pen","count":2}`), "settle")
	f.claimed = true
	problem := f.settled(context.Background(), abi.NewProblem(abi.StoreFailure, "no answer"))
	if problem != nil || !f.done || !f.outcome.OK() || f.claimed {
		t.Fatalf("problem is %v, outcome %+v", problem, f.outcome)
	}
}

// TestCommitThatNobodyCanLookUpIsUnknown: it must not be told as failed, and
// not be run again.
func TestCommitThatNobodyCanLookUpIsUnknown(t *testing.T) {
	g := newGate(t)
	f := g.until(call("order", `{"item":"pen","count":2}`), "settle")
	f.claimed, f.unseen = true, true
	g.store.Close()
	problem := f.settled(context.Background(), abi.NewProblem(abi.StoreFailure, "no answer"))
	wantCode(t, problem, abi.OutcomeUnknown)
	if f.again(context.Background(), "settle", problem) == nil {
		t.Error("it runs again")
	}
	wantProblem(t, f.fail(context.Background(), "settle", problem), host.Unknown, abi.OutcomeUnknown)
}

// TestSettlementThatTheStoreRefusedIsNotUnknown: a store that was away changed
// nothing, and says so. Only a commit whose answer was lost is in doubt.
func TestSettlementThatTheStoreRefusedIsNotUnknown(t *testing.T) {
	g := newGate(t)
	f := g.until(call("order", `{"item":"pen","count":2}`), "spill")
	g.store.Close()
	problem := f.settle(context.Background())
	wantCode(t, problem, abi.StoreFailure)
	problem = f.settled(context.Background(), problem)
	wantCode(t, problem, abi.StoreFailure)
	wantProblem(t, f.fail(context.Background(), "settle", problem), host.Failed, abi.StoreFailure)
}

// TestLostClaimIsNotSettled: another replica took the write over, since this
// one was thought to be dead.
func TestLostClaimIsNotSettled(t *testing.T) {
	for _, finished := range []bool{true, false} {
		g := newGate(t)
		later := openStore(t, g.path, state.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		replica := &gate{t: t, store: later, set: g.set, catalog: g.catalog, d: New(Config{Config: grant.Config{Store: later}, Sleep: g.d.Sleep, Jitter: g.d.Jitter})}
		c := call("order", `{"item":"pen","count":2}`)
		other := c
		other.ID += "b"

		f := g.until(c, "spill")
		o := host.Outcome{}
		if finished {
			o = replica.d.Do(context.Background(), g.catalog, other)
		} else {
			replica.until(other, "claim")
		}
		problem := f.settle(context.Background())
		wantCode(t, problem, abi.InFlight)
		if problem = f.settled(context.Background(), problem); finished {
			if problem != nil || !f.outcome.OK() || !f.outcome.Replayed || !o.OK() || g.stored("total/pen") != "2" {
				t.Fatalf("problem is %v, outcome %+v after %+v, stored %s", problem, f.outcome, o, g.stored("total/pen"))
			}
			g.wantKinds(c.ID, host.RecordIntent, host.RecordDuplicate)
			continue
		}
		wantProblem(t, f.fail(context.Background(), "settle", problem), host.Failed, abi.InFlight)
		g.wantKinds(c.ID, host.RecordIntent, host.RecordOutcome)
		if claim, err := g.store.Claim(context.Background(), f.claimRequest()); err != nil || claim.Call != other.ID {
			t.Errorf("the claim is %+v %v; it is the other's", claim, err)
		}
	}
}

func TestWaitThatTheCallsTimeDoesNotHaveIsNotBegun(t *testing.T) {
	g := newGate(t)
	if o := g.do("misbehave", `{"how":"busy"}`); o.Attempts != 4 || len(g.slept) != 3 || g.slept[0] != maxRetryAfter {
		t.Fatalf("without a bound: %d attempts, slept %v; want four and a minute each", o.Attempts, g.slept)
	}
	g.slept = nil
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	o := g.d.Do(ctx, g.catalog, call("misbehave", `{"how":"busy"}`))
	wantProblem(t, o, host.Failed, abi.Unavailable)
	if o.Attempts != 1 || len(g.slept) != 0 {
		t.Errorf("%d attempts, slept %v", o.Attempts, g.slept)
	}
}

// TestWriteEndsWithinItsLease: else others would run it at the same time.
func TestWriteEndsWithinItsLease(t *testing.T) {
	g := newGate(t)
	f := g.until(call("order", `{"item":"pen","count":2}`), "gate")
	ctx, cancel := f.withinLease(context.Background())
	defer cancel()
	end, bounded := ctx.Deadline()
	if left := time.Until(end); !bounded || left > f.lease()-recordTime || left < time.Duration(4*f.entry.Release.Module.Limits().Deadline) {
		t.Errorf("a lease of %s gives %s (%v)", f.lease(), left, bounded)
	}
}

// TestPanicOfTheHostEndsOneCall, keeps its words for operators, and releases
// the claim.
func TestPanicOfTheHostEndsOneCall(t *testing.T) {
	g := newGate(t)
	c := call("order_once", `{"item":"pen","count":2}`)
	f := g.until(c, "claim")
	problem := f.take(context.Background(), step{"run", func(*flight, context.Context) *abi.Problem { panic("BUG: out of cheese") }})
	wantCode(t, problem, abi.HostBug)
	o := f.fail(context.Background(), "run", problem)
	wantProblem(t, o, host.Failed, abi.HostBug)
	if strings.Contains(o.Problem.Error(), "cheese") {
		t.Errorf("the model is told %v", o.Problem)
	}
	if detail := string(g.records(c.ID, host.RecordOutcome)[0].Detail); !strings.Contains(detail, "out of cheese") {
		t.Errorf("the record lacks the panic: %s", detail)
	}
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
		t.Errorf("the same call ends as %+v with %v", o, o.Problem)
	}
}

func TestCatalogueThatIsNoneHasNoTools(t *testing.T) {
	g := newGate(t)
	for _, catalog := range []*release.Catalog{nil, {}} {
		wantProblem(t, g.d.Do(context.Background(), catalog, call("order", `{}`)), host.Failed, abi.UnknownTool)
	}
}

// TestReleaseThatIsClosedIsTold: a call that comes while the host stops.
func TestReleaseThatIsClosedIsTold(t *testing.T) {
	g := newGate(t)
	g.set.Close(context.Background())
	wantProblem(t, g.do("order_once", `{"item":"pen","count":2}`), host.Failed, abi.SystemFailure)
}

// TestEndedContextEndsTheCallByItsCause, before anything is begun.
func TestEndedContextEndsTheCallByItsCause(t *testing.T) {
	g := newGate(t)
	for _, tt := range []struct {
		name  string
		cause error
		want  abi.Code
		says  string
	}{
		{"a word of its own", abi.NewProblem(abi.Deadline, "the batch is over"), abi.Deadline, "the batch is over"},
		{"none", nil, abi.Cancelled, "stopped"},
		{"a word for nobody", errors.New("secret"), abi.SystemFailure, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(tt.cause)
			o := g.d.Do(ctx, g.catalog, call("order", `{"item":"pen","count":2}`))
			wantProblem(t, o, host.Failed, tt.want)
			if !strings.Contains(o.Problem.Message, tt.says) || strings.Contains(o.Problem.Message, "secret") || o.Attempts != 0 {
				t.Errorf("problem is %v after %d attempts", o.Problem, o.Attempts)
			}
			g.wantKinds(o.Call, host.RecordRefusal)
		})
	}
}
