package state

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// MaxLeaseTime bounds a lease on a session: so long nobody else can go on with
// it after its holder died. A holder renews it while its turn runs.
const MaxLeaseTime = 10 * time.Minute

// farthestEnd is how far away the end of a lease can lie for who looks at it: who
// waited for its row asked for the time before that, and it was renewed since. An
// end that is farther away was stored before the store's clock was put back. It
// counts as past: a holder that died must not stop the work for as long as that.
const farthestEnd = MaxLeaseTime + unitTime

// A Fence is the number of a lease; see host.Fence. The zero Fence may write
// while nobody has a lease. If one has run out, such a write ends it, so that
// its holder cannot write any more.
type Fence = host.Fence

// ErrLeaseLost is in the chain of a Busy that a holder gets whose lease is not
// the newest any more, or was released: the turn must stop, and what it has not
// saved is not to be saved. Trying again gives the same.
var ErrLeaseLost = errors.New("the lease is over")

// A HeldError is in the chain of a Busy that tells who has the lease. A caller
// that finds itself there was not told of its success (ErrUnknownEnd), and may
// Renew with the Fence.
type HeldError struct {
	Holder string
	Fence  Fence
	Until  time.Time // by the store's clock
}

func (e *HeldError) Error() string {
	return e.Holder + " has the lease until " + e.Until.Format(time.RFC3339)
}

// Lease gives the right to run the session's turns, for ttl from now on by the
// store's clock, up to MaxLeaseTime. The clocks of the replicas do not matter:
// a holder counts ttl from before it asked, and renews in time. Every caller
// needs a holder id of its own. Lease fails with Busy and a HeldError, whose
// problem says when to come back, while anybody has the lease, also the same
// holder.
func (s *Store) Lease(ctx context.Context, ref host.SessionRef, holder string, ttl time.Duration) (Fence, error) {
	return s.lease(ctx, "state.Lease", ref, holder, ttl, nil)
}

// SaveLeasing is Lease and SaveState in one transaction: it gives the lease and
// makes all changes, or fails as one of them does and keeps nothing.
func (s *Store) SaveLeasing(ctx context.Context, ref host.SessionRef, holder string, ttl time.Duration, changes ...Change) (Fence, error) {
	return s.lease(ctx, "state.SaveLeasing", ref, holder, ttl, changes)
}

func (s *Store) lease(ctx context.Context, op string, ref host.SessionRef, holder string, ttl time.Duration, changes []Change) (Fence, error) {
	err := checkLease(ref, ttl)
	if err == nil {
		err = checkID("holder id", holder)
	}
	if err == nil {
		err = checkChanges(ref, changes)
	}
	if err != nil {
		return 0, s.fail(ctx, op, err)
	}
	var fence Fence
	err = s.transact(ctx, op, func(ctx context.Context, ex *executor) error {
		row, found, at, err := s.leaseRow(ctx, ex, ref)
		if err == nil && row.holds(at) {
			err = row.busy(ref, at)
		}
		if err != nil {
			return err
		}
		fence = row.fence + 1
		if err := s.putLease(ctx, ex, ref, leaseRow{fence, holder, at.Add(ttl).UnixMicro(), cmp.Or(row.rested, at.UnixMicro())}, found); err != nil {
			return err
		}
		return s.applyState(ctx, ex, ref, changes, at)
	})
	if err != nil {
		return 0, err
	}
	return fence, nil
}

// Renew makes a lease last for ttl from now on, by the store's clock. It works
// also on one that has run out, as long as nobody else took it. It fails with
// Busy and ErrLeaseLost if the fence is not the newest or was released.
func (s *Store) Renew(ctx context.Context, ref host.SessionRef, fence Fence, ttl time.Duration) error {
	return s.changeLease(ctx, "state.Renew", ref, fence, ttl, nil, func(row *leaseRow, at time.Time) {
		row.until = at.Add(ttl).UnixMicro()
	})
}

// Release gives a lease back, so that others need not wait for its end. It
// fails as Renew does; the lease is gone then, too.
func (s *Store) Release(ctx context.Context, ref host.SessionRef, fence Fence) error {
	return s.changeLease(ctx, "state.Release", ref, fence, MaxLeaseTime, nil, (*leaseRow).release)
}

// SaveReleasing is SaveStateUnder and Release in one transaction: the last save
// of a holder. It fails as one of them does, and keeps nothing; where a change
// was the reason, the lease is still there.
func (s *Store) SaveReleasing(ctx context.Context, ref host.SessionRef, fence Fence, changes ...Change) error {
	return s.changeLease(ctx, "state.SaveReleasing", ref, fence, MaxLeaseTime, changes, (*leaseRow).release)
}

func (r *leaseRow) release(at time.Time) { r.holder, r.until, r.rested = "", 0, at.UnixMicro() }

// changeLease changes the lease of its holder, and state with it.
func (s *Store) changeLease(ctx context.Context, op string, ref host.SessionRef, fence Fence, ttl time.Duration, changes []Change, change func(row *leaseRow, at time.Time)) error {
	err := checkLease(ref, ttl)
	if err == nil && fence <= 0 {
		err = badValue("fence %d is none that a lease has", fence)
	}
	if err == nil {
		err = checkChanges(ref, changes)
	}
	if err != nil {
		return s.fail(ctx, op, err)
	}
	return s.transact(ctx, op, func(ctx context.Context, ex *executor) error {
		row, _, at, err := s.leaseRow(ctx, ex, ref)
		if err == nil && !row.is(fence) {
			err = row.lostTo(ref, fence)
		}
		if err != nil {
			return err
		}
		change(&row, at)
		if err := s.putLease(ctx, ex, ref, row, true); err != nil {
			return err
		}
		return s.applyState(ctx, ex, ref, changes, at)
	})
}

func checkLease(ref host.SessionRef, ttl time.Duration) error {
	if ttl <= 0 || ttl > MaxLeaseTime {
		return badValue("a lease of %s; give more than 0 and at most %s", ttl, MaxLeaseTime)
	}
	return checkRef(ref)
}

// A leaseRow is a session's lease as it is stored; zero where there is none.
type leaseRow struct {
	fence  Fence
	holder string // empty if released
	until  int64
	rested int64 // see Rest; 0 if there is none
}

func (r leaseRow) is(fence Fence) bool { return r.holder != "" && r.fence == fence }

func (r leaseRow) holds(at time.Time) bool {
	return r.holder != "" && at.UnixMicro() < r.until && r.until <= at.Add(farthestEnd).UnixMicro()
}

func (r leaseRow) busy(ref host.SessionRef, at time.Time) error {
	held := &HeldError{Holder: r.holder, Fence: r.fence, Until: timeOf(r.until)}
	problem := abi.NewProblem(abi.Busy, "%s works on session %s, until %s at most", r.holder, ref, held.Until.Format(time.RFC3339)).
		WithHint("wait until it is done, then try again")
	problem.RetryAfterMS = (r.until-at.UnixMicro())/1000 + 1
	return host.Fail("", problem, held)
}

func (r leaseRow) lostTo(ref host.SessionRef, fence Fence) error {
	now := "nobody has it"
	if r.holder != "" {
		now = r.holder + " took it over"
	}
	problem := abi.NewProblem(abi.Busy, "lease %d on session %s is over: %s", fence, ref, now).
		WithHint("stop this turn; the session goes on from what is stored")
	return host.Fail("", problem, ErrLeaseLost)
}

// leaseRow gives the time with it, by the store's clock.
func (s *Store) leaseRow(ctx context.Context, ex *executor, ref host.SessionRef) (row leaseRow, found bool, at time.Time, err error) {
	var micros int64
	found, err = ex.row(ctx, s.queries.lease, sessionArgs(ref), (*int64)(&row.fence), &row.holder, &row.until, &row.rested, &micros)
	if err == nil && (s.options.Now != nil || !found || !s.dialect.rowLocks) {
		at, err = s.now(ctx, ex)
		return row, found, at, err
	}
	return row, found, timeOf(micros), err
}

func (s *Store) putLease(ctx context.Context, ex *executor, ref host.SessionRef, row leaseRow, found bool) error {
	query := s.queries.changeLease
	if !found {
		query = s.queries.makeLease
	}
	_, err := ex.exec(ctx, query, append([]any{int64(row.fence), row.holder, row.until, row.rested}, sessionArgs(ref)...)...)
	return err
}

// writeFor runs a transaction that writes for a session. It is refused if it
// does not come with the session's newest lease, or comes without one while
// somebody has it. The lease's row stays locked until the write is kept or not,
// so that no lease begins in between.
func (s *Store) writeFor(ctx context.Context, op string, ref host.SessionRef, fence Fence, run func(ctx context.Context, ex *executor, at time.Time) error) error {
	return s.transact(ctx, op, func(ctx context.Context, ex *executor) error {
		at, err := s.checkFence(ctx, ex, ref, fence)
		if err != nil {
			return err
		}
		return run(ctx, ex, at)
	})
}

func (s *Store) checkFence(ctx context.Context, ex *executor, ref host.SessionRef, fence Fence) (time.Time, error) {
	row, found, at, err := s.leaseRow(ctx, ex, ref)
	switch {
	case err != nil:
	case fence != 0 && row.is(fence):
	case fence != 0:
		err = row.lostTo(ref, fence)
	case row.holds(at):
		err = row.busy(ref, at)
	case row.holder != "":
		err = s.putLease(ctx, ex, ref, leaseRow{fence: row.fence + 1, rested: row.rested}, true)
	case !found && s.dialect.rowLocks:
		err = s.putLease(ctx, ex, ref, leaseRow{}, false) // what is not there cannot be locked
	}
	return at, err
}
