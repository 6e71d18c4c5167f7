package jobs

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

func TestThePurgesRemoveWhatIsOlderThanItsAge(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		clock := &fakeClock{}
		s := replicaAt(t, dsn, clock).store
		ages := DefaultAges()
		purges := Purges(s, ages)
		ref := host.SessionRef{Tenant: "shop", User: "ann", Session: "s1"}
		write := state.ClaimRequest{Session: ref, Key: "key", Digest: "d", Call: "call", Lease: time.Minute, Intent: host.Record{Kind: host.RecordIntent}}
		_, err := s.Claim(t.Context(), write)
		must(t, err)
		must(t, s.Settle(t.Context(), state.Settlement{Session: ref, Call: "call", Key: "key", Outcome: []byte(`1`), Done: &state.Done{Tool: "tool"}}))
		_, err = s.AddStandingGrant(t.Context(), state.StandingGrant{Tenant: "shop", User: "ann", Tool: "tool", MaxTier: "auto", GrantedBy: "ann"}, time.Minute)
		must(t, err)
		asked, _, err := s.AskApproval(t.Context(), state.Question{Session: ref, Call: "call", Digest: "d", Detail: []byte(`1`)})
		must(t, err)
		_, err = s.CancelApproval(t.Context(), "shop", asked.ID, "ann", "")
		must(t, err)
		left := func() (n int) {
			claim, err := s.Claim(t.Context(), write)
			must(t, err)
			_, done, err := s.LastDone(t.Context(), ref, "tool", "")
			must(t, err)
			_, approval, err := s.Approval(t.Context(), "shop", asked.ID)
			must(t, err)
			grants, err := s.StandingGrantsOf(t.Context(), "shop", "ann", "", 0)
			must(t, err)
			for _, there := range []bool{claim.State == state.ClaimDone, done, approval, len(grants) > 0} {
				if there {
					n++
				}
			}
			return n
		}
		for _, step := range []struct {
			pass time.Duration
			left int
		}{{ages.Grants - time.Second, 4}, {2 * time.Hour, 3}, {ages.Claims, 1}, {ages.Done, 0}} {
			clock.pass(step.pass)
			r := replicaAt(t, dsn, clock, purges...)
			for _, job := range r.jobs {
				r.turn(t.Context(), job)
			}
			if n := left(); n != step.left {
				t.Errorf("%d of 4 are left, want %d", n, step.left)
			}
			jobs, err := r.Jobs(t.Context())
			must(t, err)
			for _, job := range jobs {
				if job.Failure != "" || job.NextAt.IsZero() {
					t.Errorf("%+v", job)
				}
			}
		}
	})
}

func TestAnAgeOfNothingKeepsForEver(t *testing.T) {
	s := replicaAt(t, t.TempDir()+"/store.db", nil).store
	jobs := Purges(s, Ages{Done: time.Hour})
	if len(jobs) != 1 || jobs[0].Name != "purge.done" {
		t.Errorf("%+v", jobs)
	}
}
