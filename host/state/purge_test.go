package state

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// rowsOf counts the rows of every table that a session has rows in.
func rowsOf(t *testing.T, s *Store, ref host.SessionRef) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{"agent_session", "agent_claim", "agent_done", "agent_approval", "agent_standing_grant", "agent_owed", "agent_lease", "audit_record"} {
		var n int
		_, err := s.reader.row(t.Context(), "SELECT COUNT(*) FROM "+table+whereSession, sessionArgs(ref), &n)
		must(t, err)
		counts[table] = n
	}
	return counts
}

// fill gives a session rows of every kind.
func fill(t *testing.T, s *Store, ref host.SessionRef, keys int) {
	t.Helper()
	for i := 0; i < keys; i += MaxKeys {
		var changes []Change
		for j := range min(MaxKeys, keys-i) {
			changes = append(changes, Change{Key: fmt.Sprintf("k%06d", i+j), Data: []byte("1")})
		}
		must(t, s.SaveState(t.Context(), ref, changes...))
	}
	write(t, s, ref, host.CallID("done"+string(ref.Session)), Done{Tool: setPrice, Targets: []string{"a", "b"}})
	claimNew(t, s, request(ref, "open", "call"))
	q := question("call", "digest")
	q.Session = ref
	_, _, err := s.AskApproval(t.Context(), q)
	must(t, err)
	g := standing(ref.Session, "tool")
	g.Tenant, g.User = ref.Tenant, ref.User
	addGrant(t, s, g, 0)
	_, err = s.SaveEnd(t.Context(), Ending{Session: ref, Grace: time.Minute})
	must(t, err)
}

func TestAPurgedSessionLeavesItsLeaseAndItsAuditAndOthersEverything(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref, other, foreign := session("shop"), session("shop"), session("rival")
		other.Session = "s2"
		const keys = 2*purgeBatch + 7
		for _, r := range []host.SessionRef{ref, other, foreign} {
			fill(t, s, r, keys)
		}
		addGrant(t, s, standing("", "all"), time.Hour)
		kept, before := rowsOf(t, s, other), rowsOf(t, s, ref)
		fence := lease(t, s, "replica-a")
		removed, err := s.PurgeSession(t.Context(), ref, 0)
		if wantCode(t, err, abi.Busy); removed != 0 {
			t.Errorf("%d rows were removed under a lease", removed)
		}
		clock.pass(time.Hour)
		removed, err = s.PurgeSession(t.Context(), ref, 0)
		if want := keys + 2 + 2 + 1 + 1 + 1; err != nil || removed != want {
			t.Errorf("%d rows removed, %v; want %d", removed, err, want)
		}
		after := rowsOf(t, s, ref)
		for table, n := range after {
			want := map[string]int{"agent_lease": 1, "audit_record": before["audit_record"]}[table]
			if n != want {
				t.Errorf("%s has %d rows, want %d", table, n, want)
			}
		}
		wantLost(t, s.SaveStateUnder(t.Context(), ref, fence, Change{Key: "k", Data: []byte("1")}))
		for _, r := range []host.SessionRef{other, foreign} {
			if now := rowsOf(t, s, r); fmt.Sprint(now) != fmt.Sprint(kept) {
				t.Errorf("%s has %v of %v", r, now, kept)
			}
		}
		if removed, err = s.PurgeSession(t.Context(), ref, 0); err != nil || removed != 0 {
			t.Errorf("again: %d, %v", removed, err)
		}
		wantCode(t, s.Settle(t.Context(), settlement(request(ref, "open", "call"), `1`)), abi.InFlight)
	})
}

func TestPurgesRemoveWhatIsOldAndEndedAndNothingElse(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref := session("shop")
		age := func(ref host.SessionRef) {
			fill(t, s, ref, 1)
			g := standing("", "short")
			g.User = ref.User
			addGrant(t, s, g, time.Minute)
			q := question("call2", "digest2")
			q.Session = ref
			a, _, err := s.AskApproval(t.Context(), q)
			must(t, err)
			answer(t, s, a, "boss", true)
		}
		age(ref)
		clock.pass(48 * time.Hour)
		young := host.SessionRef{Tenant: "shop", User: "bob", Session: "s9"}
		age(young)
		clock.pass(time.Hour)
		before := rowsOf(t, s, young)
		for name, tt := range map[string]struct {
			purge func(ctx context.Context, olderThan time.Duration) (int, error)
			want  int
		}{
			"claims": {s.PurgeClaims, 1}, "done": {s.PurgeDone, 2}, "approvals": {s.PurgeApprovals, 1}, "grants": {s.PurgeStandingGrants, 1},
		} {
			if n, err := tt.purge(t.Context(), 24*time.Hour); err != nil || n != tt.want {
				t.Errorf("%s: %d removed, %v; want %d", name, n, err, tt.want)
			}
			if n, err := tt.purge(t.Context(), 24*time.Hour); err != nil || n != 0 {
				t.Errorf("%s again: %d removed, %v", name, n, err)
			}
			_, err := tt.purge(t.Context(), -1)
			wantCode(t, err, abi.BadValue)
		}
		if now := rowsOf(t, s, young); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("of what is young %v is left, want %v", now, before)
		}
		// What has no end stays: an unknown write, an open question, a grant until it is revoked.
		now := rowsOf(t, s, ref)
		if now["agent_claim"] != 1 || now["agent_approval"] != 1 || now["agent_standing_grant"] != 1 || now["agent_done"] != 0 || now["audit_record"] == 0 {
			t.Errorf("left %v", now)
		}
		wantClaim(t, s.Claim, request(ref, "open", "call9"), ClaimUnknown, "call")
		_, err := s.PurgeClaims(t.Context(), MinClaimAge-1)
		wantCode(t, err, abi.BadValue)
	})
}

func TestAPurgeGoesOnOverManyBatches(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		var targets []string
		for i := range MaxDoneTargets {
			targets = append(targets, fmt.Sprint(i))
		}
		write(t, s, session("shop"), "call1", Done{Tool: setPrice, Targets: targets})
		clock.pass(time.Hour)
		if n, err := s.PurgeDone(t.Context(), time.Minute); err != nil || n != len(targets) {
			t.Errorf("%d removed, %v", n, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.PurgeDone(ctx, time.Minute)
		wantCode(t, err, abi.Cancelled)
	})
}
