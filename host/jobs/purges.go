package jobs

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/host/state"
)

// purgeEvery is how often the purges run: an age of days needs no better.
const purgeEvery = time.Hour

// Ages are for how long the store keeps what has ended, counted from its end.
// The audit records stay in any case. An age of 0 keeps it for ever.
type Ages struct {
	Claims    time.Duration // outcomes of writes, for whoever comes back with their key; state.MinClaimAge at least
	Done      time.Duration // what rules about totals can look back on
	Approvals time.Duration // closed questions
	Grants    time.Duration // standing grants that ran out
}

// DefaultAges are those of a store that nobody has set up: a quarter of a year
// of outcomes and questions, and totals for as long as a rule may look back.
func DefaultAges() Ages {
	const day = 24 * time.Hour
	return Ages{Claims: 90 * day, Done: state.MaxDoneSpan, Approvals: 90 * day, Grants: 30 * day}
}

// Purges gives the jobs that keep the store from growing without end.
func Purges(store *state.Store, ages Ages) []Job {
	var jobs []Job
	for _, p := range []struct {
		name  string
		age   time.Duration
		purge func(ctx context.Context, olderThan time.Duration) (int, error)
	}{
		{"purge.claims", ages.Claims, store.PurgeClaims},
		{"purge.done", ages.Done, store.PurgeDone},
		{"purge.approvals", ages.Approvals, store.PurgeApprovals},
		{"purge.grants", ages.Grants, store.PurgeStandingGrants},
	} {
		if p.age != 0 {
			jobs = append(jobs, Job{Name: p.name, Every: purgeEvery, Do: func(ctx context.Context) error { return purgeAll(ctx, p.age, p.purge) }})
		}
	}
	return jobs
}

// purgeAll removes one bounded part after another; the run's limit ends it.
func purgeAll(ctx context.Context, age time.Duration, purge func(ctx context.Context, olderThan time.Duration) (int, error)) error {
	for {
		if n, err := purge(ctx, age); err != nil || n == 0 {
			return err
		}
	}
}
