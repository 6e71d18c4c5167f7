package state

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A fakeClock is the store's clock in tests; it moves only when told.
type fakeClock struct{ micros atomic.Int64 }

func (c *fakeClock) now() time.Time { return time.UnixMicro(c.micros.Load()) }

func (c *fakeClock) pass(d time.Duration) { c.micros.Add(d.Microseconds()) }

func openWithClock(t *testing.T, d database) (*Store, *fakeClock, string) {
	t.Helper()
	clock := &fakeClock{}
	clock.pass(time.Hour)
	dsn := d.fresh(t)
	return openAt(t, dsn, Options{Now: clock.now}), clock, dsn
}

type askClaim = func(context.Context, ClaimRequest) (Claim, error)

func request(ref host.SessionRef, key host.Key, call host.CallID) ClaimRequest {
	return ClaimRequest{Session: ref, Key: key, Digest: "digest", Call: call, Lease: time.Minute,
		Intent: host.Record{Call: call, Kind: host.RecordIntent, Tool: "set_price", Key: key, Detail: json.RawMessage(`{"args":{}}`)}}
}

func claimNew(t testing.TB, s *Store, req ClaimRequest) {
	t.Helper()
	wantClaim(t, s.Claim, req, ClaimNew, req.Call)
}

func wantClaim(t testing.TB, ask askClaim, req ClaimRequest, state ClaimState, holder host.CallID) Claim {
	t.Helper()
	claim, err := ask(t.Context(), req)
	if err != nil || claim.State != state || claim.Call != holder {
		t.Fatalf("got %q held by %q, %v; want %q held by %q", claim.State, claim.Call, err, state, holder)
	}
	return claim
}

func wantRecords(t testing.TB, s *Store, tenant host.TenantID, want ...string) {
	t.Helper()
	records, err := s.Records(t.Context(), tenant, RecordFilter{})
	must(t, err)
	var got []string
	for _, r := range records {
		got = append(got, fmt.Sprint(r.Kind, " ", r.Call))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("records %q, want %q", got, want)
	}
}

func settlement(req ClaimRequest, outcome string) Settlement {
	return Settlement{Session: req.Session, Call: req.Call, Key: req.Key, Outcome: json.RawMessage(outcome),
		Records: []host.Record{{Call: req.Call, Kind: host.RecordOutcome, Key: req.Key}}}
}

func TestAKeyIsClaimedOnceAndGivesItsStoredOutcomeAfterwards(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		first, second := request(session("shop"), "key", "call1"), request(session("shop"), "key", "call2")
		claimNew(t, s, first)
		wantClaim(t, s.Claim, second, ClaimInFlight, "call1")
		wantClaim(t, s.Claim, first, ClaimInFlight, "call1") // not even its holder gets it twice
		must(t, s.Settle(t.Context(), settlement(first, `{"price":89}`)))
		claim := wantClaim(t, s.Claim, second, ClaimDone, "call1")
		if string(claim.Outcome) != `{"price":89}` {
			t.Errorf("the stored outcome is %s", claim.Outcome)
		}
		wantClaim(t, s.Reclaim, second, ClaimDone, "call1")
		wantRecords(t, s, "shop", "intent call1", "outcome call1")
	})
}

func TestOneOfManyCallersWinsAClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				claim, err := s.Claim(t.Context(), request(session("shop"), "key", host.CallID(fmt.Sprint("call", i))))
				if err != nil {
					t.Error(err)
				}
				if claim.State == ClaimNew {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d callers won", won.Load())
		}
	})
}

func TestAKeyOfAnotherWriteIsAConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		req := request(session("shop"), "key", "call1")
		claimNew(t, s, req)
		req.Digest = "another"
		for _, ask := range []askClaim{s.Claim, s.Reclaim} {
			_, err := ask(t.Context(), req)
			wantCode(t, err, abi.Conflict)
		}
		must(t, s.Settle(t.Context(), settlement(req, `1`)))
		_, err := s.Claim(t.Context(), req)
		wantCode(t, err, abi.Conflict)
	})
}

func TestAFailureDoesNotConsumeTheKey(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		first, second := request(session("shop"), "key", "call1"), request(session("shop"), "key", "call2")
		claimNew(t, s, first)
		must(t, s.ReleaseClaim(t.Context(), first.Session, 0, first.Key, first.Call, host.Record{Call: "call1", Kind: host.RecordOutcome}))
		claimNew(t, s, second)
		wantRecords(t, s, "shop", "intent call1", "outcome call1", "intent call2")

		// The first one is out of it.
		wantCode(t, s.Settle(t.Context(), settlement(first, `1`)), abi.InFlight)
		wantCode(t, s.ReleaseClaim(t.Context(), first.Session, 0, first.Key, first.Call, host.Record{Kind: host.RecordNotice}), abi.InFlight)
		wantRecords(t, s, "shop", "intent call1", "outcome call1", "intent call2")
		must(t, s.Settle(t.Context(), settlement(second, `2`)))
		wantCode(t, s.ReleaseClaim(t.Context(), first.Session, 0, first.Key, second.Call), abi.InFlight)
		wantClaim(t, s.Claim, first, ClaimDone, "call2")
	})
}

func TestAWriteWhoseEndWasNeverSeenIsUnknownAndFencedAfterATakeover(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		first, second := request(session("shop"), "key", "call1"), request(session("shop"), "key", "call2")
		claimNew(t, s, first)
		wantClaim(t, s.Reclaim, second, ClaimInFlight, "call1")
		clock.pass(time.Minute - time.Microsecond)
		wantClaim(t, s.Claim, second, ClaimInFlight, "call1")
		clock.pass(time.Microsecond)
		wantClaim(t, s.Claim, second, ClaimUnknown, "call1")
		wantClaim(t, s.Reclaim, second, ClaimNew, "call2")
		wantClaim(t, s.Reclaim, request(session("shop"), "key", "call3"), ClaimInFlight, "call2")

		view := s.View("shop", "n")
		must(t, view.Put("k", []byte("1")))
		late := settlement(first, `1`)
		late.Views, late.State = []*View{view}, []Change{{Key: "k", Data: []byte("1")}}
		wantCode(t, s.Settle(t.Context(), late), abi.InFlight)
		wantCode(t, s.ReleaseClaim(t.Context(), first.Session, 0, first.Key, first.Call), abi.InFlight)
		wantKeys(t, s)
		if _, ok := loadOne(t, s, session("shop"), "k"); ok {
			t.Error("a call without its claim changed state")
		}
		must(t, s.Settle(t.Context(), settlement(second, `2`)))
		wantRecords(t, s, "shop", "intent call1", "intent call2", "outcome call2")
	})
}

func TestAHolderWhoIsLateButNotReplacedMaySettle(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		req := request(session("shop"), "key", "call1")
		claimNew(t, s, req)
		clock.pass(time.Hour)
		must(t, s.Settle(t.Context(), settlement(req, `1`)))
	})
}

// A call that is resumed after a crash has the id that it had. The process
// that was thought dead must not settle with it.
func TestAResumedCallIsFencedFromItsFormerProcess(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, path := openWithClock(t, d)
		req := request(session("shop"), "key", "call1")
		claimNew(t, s, req)
		clock.pass(time.Hour)
		other := openAt(t, path, Options{Now: clock.now})
		wantClaim(t, other.Reclaim, req, ClaimNew, "call1")
		wantCode(t, s.Settle(t.Context(), settlement(req, `1`)), abi.InFlight)
		wantCode(t, s.ReleaseClaim(t.Context(), req.Session, 0, req.Key, req.Call), abi.InFlight)
		must(t, other.Settle(t.Context(), settlement(req, `2`)))
	})
}

func TestAReclaimOfAReleasedKeyIsAClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		req := request(session("shop"), "key", "call1")
		wantClaim(t, s.Reclaim, req, ClaimNew, "call1")
		wantClaim(t, s.Reclaim, request(session("shop"), "key", "call2"), ClaimInFlight, "call1")
	})
}

func TestClaimsRefuseBadInput(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, good := d.open(t), request(session("shop"), "key", "call1")
		for name, change := range map[string]func(r *ClaimRequest){
			"no session":        func(r *ClaimRequest) { r.Session = host.SessionRef{} },
			"no key":            func(r *ClaimRequest) { r.Key = "" },
			"no call":           func(r *ClaimRequest) { r.Call = "" },
			"no digest":         func(r *ClaimRequest) { r.Digest = "" },
			"no lease":          func(r *ClaimRequest) { r.Lease = 0 },
			"an endless lease":  func(r *ClaimRequest) { r.Lease = 25 * time.Hour },
			"no intent":         func(r *ClaimRequest) { r.Intent = host.Record{} },
			"a foreign intent":  func(r *ClaimRequest) { r.Intent.Session = session("other") },
			"a broken detail":   func(r *ClaimRequest) { r.Intent.Detail = []byte("{") },
			"a key with breaks": func(r *ClaimRequest) { r.Key = "a\nb" },
		} {
			t.Run(name, func(t *testing.T) {
				req := good
				change(&req)
				_, err := s.Claim(t.Context(), req)
				wantCode(t, err, abi.BadValue)
			})
		}
		wantRecords(t, s, "shop")
		claimNew(t, s, good)
	})
}
