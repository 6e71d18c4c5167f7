package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// takeOver gives the session's next lease to somebody, whoever had it.
func (g *gate) takeOver(from host.Fence) host.Fence {
	g.t.Helper()
	if from != 0 {
		if err := g.store.Release(context.Background(), session, from); err != nil {
			g.t.Fatal(err)
		}
	}
	fence, err := g.store.Lease(context.Background(), session, "replica", time.Minute)
	if err != nil {
		g.t.Fatal(err)
	}
	return fence
}

func TestACallOfAReplicaThatLostTheSessionDoesNotRun(t *testing.T) {
	g := newGate(t)
	old := g.takeOver(0)
	g.takeOver(old)
	for _, fence := range []host.Fence{0, old} {
		c := call("order_once", `{"item":"pen","count":2}`)
		c.Fence = fence
		o := g.d.Do(context.Background(), g.catalog, c)
		wantProblem(t, o, host.Failed, abi.Busy)
		if o.Attempts != 0 || g.stored("total/pen") != "" {
			t.Errorf("with fence %d: %d attempts, stored %q", fence, o.Attempts, g.stored("total/pen"))
		}
		g.wantKinds(c.ID, host.RecordRefusal)
	}
}

// A call that ran meanwhile keeps nothing and is not tried again. Its claim
// stays, so that it is told as one whose end was never seen.
func TestACallThatRanWhileItsSessionWasTakenOverKeepsItsClaim(t *testing.T) {
	g := newGate(t)
	c := call("misbehave", `{"how":"flaky"}`) // not safe to repeat
	c.Fence = g.takeOver(0)
	next := host.Fence(0)
	g.onSleep = func() {
		if next == 0 {
			next = g.takeOver(c.Fence)
		}
	}
	o := g.d.Do(context.Background(), g.catalog, c)
	wantProblem(t, o, host.Failed, abi.Busy)
	if o.Attempts != 3 || len(g.slept) != 2 || g.stored("dirt") != "" {
		t.Errorf("%d attempts, slept %v, stored %q", o.Attempts, g.slept, g.stored("dirt"))
	}
	g.wantKinds(c.ID, host.RecordIntent, host.RecordRetry, host.RecordRetry, host.RecordOutcome)
	f := g.until(c, "gate")
	f.call.Fence = next
	request := f.claimRequest()
	if claim, err := g.store.Claim(context.Background(), request); err != nil || claim.State == state.ClaimNew || claim.State == state.ClaimDone || claim.Call != c.ID {
		t.Errorf("the claim is %+v, %v; it is to stay", claim, err)
	}
}

// A turn that ends because its lease was lost ends its calls, and they keep
// their claims, too.
func TestACallThatIsStoppedForALostLeaseKeepsItsClaim(t *testing.T) {
	g := newGate(t)
	c := call("misbehave", `{"how":"flaky"}`)
	c.Fence = g.takeOver(0)
	ctx, lose := context.WithCancelCause(context.Background())
	g.onSleep = func() { lose(host.Fail("test", abi.NewProblem(abi.Busy, "somebody took it over"), state.ErrLeaseLost)) }
	o := g.d.Do(ctx, g.catalog, c)
	wantProblem(t, o, host.Failed, abi.Busy)
	f := g.until(c, "gate")
	if claim, err := g.store.Claim(context.Background(), f.claimRequest()); err != nil || claim.State == state.ClaimNew {
		t.Errorf("the claim is %+v, %v; it is to stay", claim, err)
	}
}

// A guard that is asked while the lease is lost does not answer in time. What it
// is said to have failed of does not give the claim back: the write has run.
func TestAGuardThatIsCutShortByALostLeaseLeavesTheClaim(t *testing.T) {
	g := newGate(t)
	c := call("order_once", `{"item":"pen","count":2}`)
	c.Fence = g.takeOver(0)
	ctx, lose := context.WithCancelCause(context.Background())
	g.hook(host.Hook{Name: "guard", PostToolCall: func(ctx context.Context, _ host.ToolCall, _ host.Reply) (host.Opinion, error) {
		lose(host.Fail("test", abi.NewProblem(abi.Busy, "somebody took it over"), state.ErrLeaseLost))
		<-ctx.Done()
		return host.Opinion{}, ctx.Err()
	}})
	if o := g.d.Do(ctx, g.catalog, c); o.OK() || o.Attempts != 1 {
		t.Fatalf("it ended with %+v", o)
	}
	g.d.Hooks = nil
	f := g.until(c, "gate")
	if claim, err := g.store.Claim(context.Background(), f.claimRequest()); err != nil || claim.State == state.ClaimNew {
		t.Errorf("the claim is %+v, %v; it is to stay", claim, err)
	}
}

// A call that goes on under the next lease, and whose claim the store could not
// answer, does not give back what it claimed under the lease before.
func TestAClaimOfAnEarlierLeaseIsNotGivenBack(t *testing.T) {
	g := newGate(t)
	c := call("order_once", `{"item":"pen","count":2}`)
	c.Fence = g.takeOver(0)
	g.until(c, "claim") // and then nobody saw what became of it
	c.Fence = g.takeOver(c.Fence)
	f := g.until(c, "gate")
	wantCode(t, f.unclaimed(host.Fail("test", abi.NewProblem(abi.StoreFailure, "no answer"), nil)), abi.StoreFailure)
	wantProblem(t, f.refuse(context.Background(), "claim", abi.NewProblem(abi.StoreFailure, "no answer")), host.Failed, abi.StoreFailure)
	if claim, err := g.store.Claim(context.Background(), f.claimRequest()); err != nil || claim.State != state.ClaimUnknown {
		t.Errorf("the claim is %+v, %v; it is to stay unknown", claim, err)
	}
}
