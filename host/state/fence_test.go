package state

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// requestUnder is a request for one write under a lease.
func requestUnder(fence Fence, call host.CallID) ClaimRequest {
	req := request(session("shop"), "key", call)
	req.Fence, req.Lease = fence, time.Hour
	return req
}

func settlementUnder(req ClaimRequest, outcome string) Settlement {
	st := settlement(req, outcome)
	st.Fence = req.Fence
	return st
}

func releaseUnder(t *testing.T, s *Store, req ClaimRequest) error {
	t.Helper()
	return s.ReleaseClaim(t.Context(), req.Session, req.Fence, req.Key, req.Call, host.Record{Call: req.Call, Kind: host.RecordNotice})
}

// takenOver gives the requests of a holder whose lease on the session is over,
// and of the next holder, long before the claim's own time runs out.
func takenOver(t *testing.T, s *Store, clock *fakeClock, former, next host.CallID) (old, now ClaimRequest) {
	t.Helper()
	old = requestUnder(lease(t, s, "replica-a"), former)
	claimNew(t, s, old)
	clock.pass(2 * time.Minute)
	return old, requestUnder(lease(t, s, "replica-b"), next)
}

func TestAClaimOfAnEarlierLeaseIsUnknownAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		old, now := takenOver(t, s, clock, "call1", "call2")
		wantClaim(t, s.Claim, now, ClaimUnknown, "call1")
		wantClaim(t, s.Reclaim, now, ClaimNew, "call2")
		wantClaim(t, s.Reclaim, requestUnder(now.Fence, "call3"), ClaimInFlight, "call2")

		wantLost(t, s.Settle(t.Context(), settlementUnder(old, `1`)))
		wantCode(t, releaseUnder(t, s, old), abi.InFlight)
		must(t, s.Settle(t.Context(), settlementUnder(now, `2`)))
		wantCode(t, releaseUnder(t, s, old), abi.InFlight)
		if claim := wantClaim(t, s.Claim, requestUnder(now.Fence, "call3"), ClaimDone, "call2"); string(claim.Outcome) != "2" {
			t.Errorf("outcome %s", claim.Outcome)
		}
		wantRecords(t, s, "shop", "intent call1", "intent call2", "outcome call2")
	})
}

// A turn that is resumed by the process that lost its lease has the same calls
// on the same store: only the fence tells them apart.
func TestAResumedCallIsFencedFromItsFormerLeaseOnTheSameStore(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		old, now := takenOver(t, s, clock, "call1", "call1")
		wantClaim(t, s.Reclaim, now, ClaimNew, "call1")
		wantCode(t, releaseUnder(t, s, old), abi.InFlight)
		wantLost(t, s.Settle(t.Context(), settlementUnder(old, `1`)))
		wantClaim(t, s.Claim, requestUnder(now.Fence, "call2"), ClaimInFlight, "call1")
		must(t, s.Settle(t.Context(), settlementUnder(now, `2`)))
		wantRecords(t, s, "shop", "intent call1", "intent call1", "outcome call1")
	})
}

func TestAFencedHolderWhoseCallFailedMayStillGiveTheKeyBack(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		old, now := takenOver(t, s, clock, "call1", "call2")
		must(t, releaseUnder(t, s, old))
		wantClaim(t, s.Claim, now, ClaimNew, "call2")
	})
}

func TestAClaimOfTheSameLeaseOrOfNoneIsWaitedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		claimNew(t, s, requestUnder(0, "call1"))
		wantClaim(t, s.Claim, requestUnder(0, "call2"), ClaimInFlight, "call1")
		fence := lease(t, s, "replica-a")
		wantClaim(t, s.Reclaim, requestUnder(fence, "call2"), ClaimInFlight, "call1")
		must(t, s.Settle(t.Context(), Settlement{Session: session("shop"), Call: "call1", Fence: fence, Key: "key", Outcome: []byte("1")}))

		under := requestUnder(fence, "call3")
		under.Key = "other"
		claimNew(t, s, under)
		under.Call = "call4"
		wantClaim(t, s.Reclaim, under, ClaimInFlight, "call3")
		must(t, s.Release(t.Context(), session("shop"), fence))
		under.Fence = 0
		wantClaim(t, s.Reclaim, under, ClaimInFlight, "call3")
		clock.pass(time.Hour)
		wantClaim(t, s.Reclaim, under, ClaimNew, "call4")
	})
}

func TestAnInventedFenceDoesNotMakeAClaimUnknown(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		req := requestUnder(lease(t, s, "replica-a"), "call1")
		claimNew(t, s, req)
		forged := requestUnder(req.Fence+1, "call2")
		_, err := s.Reclaim(t.Context(), forged)
		wantLost(t, err)
		must(t, s.Settle(t.Context(), settlementUnder(req, `1`)))
	})
}
