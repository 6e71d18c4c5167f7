package state

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/sluicehq/sluice/host"
)

// Bounds of the purges.
const (
	purgeBatch  = 100                        // rows of one transaction: it locks them, and others wait for its commit
	maxPurge    = 100_000                    // rows of one call: what is left goes with the next one
	MinClaimAge = maxLease                   // of a claim that is removed: until then its call may be resumed
	maxAge      = 100 * 366 * 24 * time.Hour // that can be asked for
)

// A purge removes rows of one table in bounded transactions.
type purge struct {
	find, remove string // remove goes by the key that find gives, and again by age, so that a row that changed in between stays
	key          int    // columns
	args         []any  // of find, before its limit
	age          []any  // of remove, after the key
}

// PurgeClaims removes the claims of writes that were done longer ago than that,
// at least MinClaimAge, and gives how many, up to a bound: call it again for the
// rest. A key whose claim is gone is new to whoever asks: keep claims as long as
// anybody may come back with one. What it leaves: claims without an end, however
// old, because nobody knows what became of their writes; the audit records.
func (s *Store) PurgeClaims(ctx context.Context, olderThan time.Duration) (int, error) {
	const op = "state.PurgeClaims"
	if olderThan < MinClaimAge {
		return 0, s.fail(ctx, op, badValue("claims of the last %s are to be removed; keep %s at least", olderThan, MinClaimAge))
	}
	return s.purgeOld(ctx, op, olderThan, purge{find: s.queries.oldClaims, remove: s.queries.removeOldClaim, key: 4})
}

// PurgeDone removes what the totals know of writes that were done longer ago
// than that, and gives how many rows, up to a bound. What it leaves: the claims
// and the audit records of these writes.
func (s *Store) PurgeDone(ctx context.Context, olderThan time.Duration) (int, error) {
	return s.purgeOld(ctx, "state.PurgeDone", olderThan, purge{find: s.queries.oldDone, remove: s.queries.removeOldDone, key: 7})
}

// PurgeApprovals removes the questions that were answered, cancelled or used
// longer ago than that, and gives how many, up to a bound. One that was approved
// and never used goes, too: its call must ask again. What it leaves: open
// questions, however old; the audit records.
func (s *Store) PurgeApprovals(ctx context.Context, olderThan time.Duration) (int, error) {
	return s.purgeOld(ctx, "state.PurgeApprovals", olderThan, purge{find: s.queries.oldApprovals, remove: s.queries.removeOldApproval, key: 2})
}

// PurgeStandingGrants removes the grants that ran out longer ago than that, and
// gives how many, up to a bound. What it leaves: grants that hold, and those that
// hold until they are revoked; the audit records.
func (s *Store) PurgeStandingGrants(ctx context.Context, olderThan time.Duration) (int, error) {
	return s.purgeOld(ctx, "state.PurgeStandingGrants", olderThan, purge{find: s.queries.oldGrants, remove: s.queries.removeOldGrant, key: 3})
}

func (s *Store) purgeOld(ctx context.Context, op string, olderThan time.Duration, p purge) (removed int, err error) {
	if olderThan < 0 || olderThan > maxAge {
		return 0, s.fail(ctx, op, badValue("an age of %s; give 0 to %s", olderThan, maxAge))
	}
	at, err := s.now(ctx, s.reader)
	if err != nil {
		return 0, s.fail(ctx, op, err)
	}
	p.age = []any{at.Add(-olderThan).UnixMicro()}
	p.args = p.age
	return s.purge(ctx, op, p, s.transact)
}

// PurgeSession removes everything that a session has: its state, its claims and
// the totals of its writes, its questions to people and the grants for it alone,
// and its end where that is owed. It gives how many rows, up to a bound for each kind: call it until it gives 0,
// also after it was interrupted. It fails with Busy if the fence is not the
// session's; see Fence. What it leaves: the audit
// records; the lease's row, whose fence keeps former holders from writing; the
// user's grants for all sessions; kv, files and blobs, which are not the
// session's or not here. A call of the session that is still running cannot
// settle any more.
func (s *Store) PurgeSession(ctx context.Context, ref host.SessionRef, fence Fence) (removed int, err error) {
	const op = "state.PurgeSession"
	if err := checkRef(ref); err != nil {
		return 0, s.fail(ctx, op, err)
	}
	under := func(ctx context.Context, op string, run func(ctx context.Context, ex *executor) error) error {
		return s.writeFor(ctx, op, ref, fence, func(ctx context.Context, ex *executor, _ time.Time) error { return run(ctx, ex) })
	}
	q, args := s.queries, sessionArgs(ref)
	for _, p := range []purge{
		{find: q.stateOf, remove: q.removeState, key: 4, args: args},
		{find: q.claimsOf, remove: q.removeClaim, key: 4, args: args},
		{find: q.doneOf, remove: q.removeDone, key: 7, args: args},
		{find: q.approvalsOf, remove: q.removeApproval, key: 2, args: args},
		{find: q.grantsFor, remove: q.removeGrant, key: 3, args: args},
		{find: q.owedOf, remove: q.dropOwed, key: 4, args: args},
	} {
		n, err := s.purge(ctx, op, p, under)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// purge removes one batch after another until there is no more or the call's
// bound is reached.
func (s *Store) purge(ctx context.Context, op string, p purge, transact func(ctx context.Context, op string, run func(ctx context.Context, ex *executor) error) error) (removed int, err error) {
	for seen := 0; seen < maxPurge; {
		var keys [][]any
		var n int64
		err := transact(ctx, op, func(ctx context.Context, ex *executor) (err error) {
			keys, n, err = p.batch(ctx, ex)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += int(n)
		seen += len(keys)
		if len(keys) < purgeBatch {
			break
		}
	}
	return removed, nil
}

func (p purge) batch(ctx context.Context, ex *executor) (keys [][]any, removed int64, err error) {
	err = ex.each(ctx, p.find, append(slices.Clone(p.args), purgeBatch), func(rows *sql.Rows) (bool, error) {
		key, dest := make([]any, p.key), make([]any, p.key)
		for i := range key {
			dest[i] = &key[i]
		}
		keys = append(keys, key)
		return true, rows.Scan(dest...)
	})
	for _, key := range keys {
		if err != nil {
			break
		}
		var n int64
		n, err = ex.exec(ctx, p.remove, append(key, p.age...)...)
		removed += n
	}
	return keys, removed, err
}
