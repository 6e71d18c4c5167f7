package audit

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// The pace of a sequencer.
const (
	passEvery = 400 * time.Millisecond // a record waits for one pass and what others have kept: as a rule, less than a second
	tryEvery  = 2 * time.Second        // what failed: most failures are over by then, such as a lost answer of the store
	walkEvery = 30 * time.Second       // over all tenants: finds what the passes may miss
	stint     = 10 * time.Minute       // of one Run: then who runs it may change
	turnSteps = 4                      // pages of one tenant, some 4,000 records; then the others are looked at
)

// Run seals every tenant's records soon after they were kept, until the context
// ends or, without an error, after some minutes. On one store it is to run in
// one place at a time, such as a job; more do no harm, and no good. What cannot
// be sealed is tried again every two seconds and logged every half minute; Run
// ends with it then.
func (q *Sequencer) Run(ctx context.Context) error {
	end := time.Now().Add(stint)
	r := newRun(q)
	if err := r.begin(ctx); err != nil {
		return err
	}
	for first := true; ; first = false {
		if err := r.walk(ctx); err != nil {
			return err
		}
		if len(r.failed) > 0 && !first {
			return r.failure()
		}
		if time.Now().After(end) {
			return nil
		}
		for walked := time.Now(); time.Since(walked) < walkEvery; {
			if !sleep(ctx, passEvery) {
				return ctx.Err()
			}
			if err := r.pass(ctx); err != nil {
				return err
			}
		}
	}
}

// A run knows how far the passes have looked.
type run struct {
	q      *Sequencer
	failed map[host.TenantID]failed // since the last walk, and not sealed yet
	again  map[host.TenantID]bool   // others were in the way, or there is more

	// The greatest seq that the last pass had seen, and the one before it. A
	// pass begins at the earlier one: a record that was being kept while a pass
	// looked is seen by the next.
	last, earlier int64
}

// A failed is how a tenant's records could not be sealed.
type failed struct {
	err error
	at  time.Time // of the last try
}

func newRun(q *Sequencer) *run {
	return &run{q: q, failed: map[host.TenantID]failed{}, again: map[host.TenantID]bool{}}
}

// failure joins everything that failed.
func (r *run) failure() error {
	var errs []error
	for _, f := range r.failed {
		errs = append(errs, f.err)
	}
	return errors.Join(errs...)
}

// lookBack is how many seqs before the last one the first pass begins: they
// may be of records that were being kept while the first walk looked.
const lookBack = 1000

// begin tells from where on the passes look.
func (r *run) begin(ctx context.Context) (err error) {
	r.last, err = r.q.Store.LastRecordSeq(ctx)
	r.earlier = max(0, r.last-lookBack)
	return err
}

// walk looks at every tenant that has records.
func (r *run) walk(ctx context.Context) (err error) {
	clear(r.failed)
	for tenant := host.TenantID(""); ; {
		if tenant, err = r.q.Store.NextRecordTenant(ctx, tenant); err != nil || tenant == "" {
			return err
		}
		r.seal(ctx, tenant)
	}
}

// pass looks at the tenants that have something new, and at those that failed a
// while ago.
func (r *run) pass(ctx context.Context) error {
	fresh := r.again
	r.again = map[host.TenantID]bool{}
	for at := r.earlier; ; {
		tenants, last, err := r.q.Store.RecordTenantsSince(ctx, at)
		if err != nil {
			return err
		}
		maps.Copy(fresh, tenants)
		if last == at {
			r.earlier, r.last = r.last, max(last, r.last)
			break
		}
		at = last
	}
	for tenant := range r.failed {
		fresh[tenant] = true
	}
	for _, tenant := range slices.Sorted(maps.Keys(fresh)) {
		if f, before := r.failed[tenant]; !before || r.q.now().Sub(f.at) >= tryEvery {
			r.seal(ctx, tenant)
		}
	}
	return nil
}

// seal keeps one tenant's failure from the others.
func (r *run) seal(ctx context.Context, tenant host.TenantID) {
	_, more, err := r.q.sealSteps(ctx, tenant, turnSteps)
	switch problem := host.ProblemOf(err); {
	case problem == nil:
		delete(r.failed, tenant)
		if more {
			r.again[tenant] = true
		}
		return
	case ctx.Err() != nil:
		return
	case problem.Code == abi.StoreConflict: // after many tries
		r.again[tenant] = true
		if r.q.Log != nil {
			r.q.Log.Warn("others seal the same audit log, again and again", slog.String("tenant", string(tenant)), slog.Any("error", err))
		}
		return
	}
	_, before := r.failed[tenant]
	r.failed[tenant] = failed{err, r.q.now()}
	if r.q.Log != nil && !before {
		r.q.Log.Error("audit records cannot be sealed", slog.String("tenant", string(tenant)), slog.Any("error", err))
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// A Lag is how far the sealing is behind what is kept.
type Lag struct {
	Records int64         `json:"records"`         // that are not sealed; of each tenant, up to state.MaxBehind count
	Oldest  time.Time     `json:"oldest,omitzero"` // when the first of them was kept, by the store's clock
	Age     time.Duration `json:"age_ns"`          // of that one
	Tenants int           `json:"tenants"`         // that have records
	Behind  int           `json:"tenants_behind"`  // that have some which are not sealed
}

// Lag measures over all tenants; it reads a few rows for each.
func (q *Sequencer) Lag(ctx context.Context) (lag Lag, err error) {
	for tenant := host.TenantID(""); ; {
		if tenant, err = q.Store.NextRecordTenant(ctx, tenant); err != nil {
			return Lag{}, err
		}
		if tenant == "" {
			break
		}
		log, _, err := q.Store.LastAuditLog(ctx, tenant)
		if err != nil {
			return Lag{}, err
		}
		n, oldest, err := q.Store.RecordsBehind(ctx, tenant, log.LastSeq)
		if err != nil {
			return Lag{}, err
		}
		lag.Tenants++
		if n > 0 {
			lag.Behind++
			lag.Records += n
			if lag.Oldest.IsZero() || oldest.Before(lag.Oldest) {
				lag.Oldest = oldest
			}
		}
	}
	if !lag.Oldest.IsZero() {
		lag.Age = max(0, q.now().Sub(lag.Oldest))
	}
	return lag, nil
}
