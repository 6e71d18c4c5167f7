package state

import (
	"context"
	"database/sql"
	"time"

	"github.com/sluicehq/sluice/host"
)

// An Owed is the end of a session, or of a live, that somebody is still to be told of.
// It is kept in the transaction of the end, and goes when who tells of it says that it
// was told. Of ends of one session that nobody was told of, the last one is owed.
type Owed struct {
	Session host.SessionRef // of a live the tenant alone
	Live    host.LiveID     // of a live; else empty
	ID      string          // of this end: another one of the same session has another
	EndedAt time.Time       // by the store's clock
	Next    time.Time       // when it is to be told again; zero where nobody does by itself
	Tries   int             // to tell it again
	Failure string          // what the last one who tried said, up to abi.KeyBytes; empty where nothing is known
}

// An Ending is what the end of a session keeps.
type Ending struct {
	Session host.SessionRef
	Fence   Fence // of the session's lease that the caller has; see Fence
	Changes []Change
	Records []host.Record // without a session they get the ending's
	Grace   time.Duration // which the caller has to tell of it, before others do; up to MaxJobPause
}

// SaveEnd is SaveStateUnder for the end of a session: with the changes it keeps the
// records, and that the end is owed, or fails as that does and keeps nothing.
func (s *Store) SaveEnd(ctx context.Context, e Ending) (Owed, error) {
	const op = "state.SaveEnd"
	records, err := checkEnding(e)
	if err != nil {
		return Owed{}, s.fail(ctx, op, err)
	}
	owed := newOwed(e.Session, "")
	err = s.writeFor(ctx, op, e.Session, e.Fence, func(ctx context.Context, ex *executor, at time.Time) error {
		if err := s.applyState(ctx, ex, e.Session, e.Changes, at); err != nil {
			return err
		}
		if err := s.owe(ctx, ex, &owed, at, e.Grace); err != nil {
			return err
		}
		return s.keepRecords(ctx, ex, at, records)
	})
	if err != nil {
		return Owed{}, err
	}
	return owed, nil
}

func checkEnding(e Ending) ([]host.Record, error) {
	if err := checkChanges(e.Session, e.Changes); err != nil {
		return nil, err
	}
	if err := checkSpan("grace", e.Grace, MaxJobPause); err != nil {
		return nil, err
	}
	return checkRecords(e.Session, e.Records)
}

func newOwed(ref host.SessionRef, live host.LiveID) Owed {
	return Owed{Session: ref, Live: live, ID: host.NewID("end_")}
}

// owe keeps an end in the place of the one before it.
func (s *Store) owe(ctx context.Context, ex *executor, o *Owed, at time.Time, grace time.Duration) error {
	o.EndedAt, o.Next = timeOf(at.UnixMicro()), timeOf(at.Add(grace).UnixMicro())
	_, err := ex.exec(ctx, s.queries.putOwed, append(o.key(), o.ID, o.EndedAt.UnixMicro(), o.Next.UnixMicro(), o.Tries, o.Failure)...)
	return err
}

func (o Owed) key() []any { return append(sessionArgs(o.Session), string(o.Live)) }

// DueEnds gives the ends that are to be told again by now, those that wait for longest
// first. A limit of 0 means MaxPage, the most. It is a list, and gives nobody the right
// to one of them: see TakeOwed.
func (s *Store) DueEnds(ctx context.Context, limit int) ([]Owed, error) {
	return s.OverdueEnds(ctx, 0, limit)
}

// OverdueEnds gives those of DueEnds that were due so long ago, by the store's clock.
func (s *Store) OverdueEnds(ctx context.Context, late time.Duration, limit int) ([]Owed, error) {
	const op = "state.OverdueEnds"
	at, err := s.now(ctx, s.reader)
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return s.owedBetween(ctx, op, 1, at.Add(-late).UnixMicro(), limit)
}

// OwedEnds gives all ends that are owed: those that nobody tells by itself any more,
// and then the others as they are due. A limit of 0 means MaxPage, the most.
func (s *Store) OwedEnds(ctx context.Context, limit int) ([]Owed, error) {
	return s.owedBetween(ctx, "state.OwedEnds", 0, farFuture, limit)
}

// farFuture is later than all that is due.
const farFuture = 1<<63 - 1

func (s *Store) owedBetween(ctx context.Context, op string, from, to int64, limit int) ([]Owed, error) {
	return s.listOwed(ctx, op, s.queries.owedDue, from, to, pageLimit(limit))
}

// OwedEnd gives the end of a session that is owed, and whether there is one.
func (s *Store) OwedEnd(ctx context.Context, ref host.SessionRef) (Owed, bool, error) {
	const op = "state.OwedEnd"
	if err := checkRef(ref); err != nil {
		return Owed{}, false, s.fail(ctx, op, err)
	}
	list, err := s.listOwed(ctx, op, s.queries.owed, Owed{Session: ref}.key()...)
	if err != nil || len(list) == 0 {
		return Owed{}, false, err
	}
	return list[0], true, nil
}

func (s *Store) listOwed(ctx context.Context, op, query string, args ...any) (list []Owed, err error) {
	err = s.reader.each(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		var o Owed
		var ended, due int64
		err := rows.Scan((*string)(&o.Session.Tenant), (*string)(&o.Session.User), (*string)(&o.Session.Session), (*string)(&o.Live), &o.ID, &ended, &due, &o.Tries, &o.Failure)
		o.EndedAt, o.Next = timeOf(ended), timeOrNone(due)
		list = append(list, o)
		return true, err
	})
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return list, nil
}

// TakeOwed gives one try to tell of an end to one caller, counts it, and has the next
// one wait for so long, whatever becomes of this one: up to MaxJobPause, and 0 for no
// next one. It reports false, and changes nothing, where the end is not owed any more,
// or somebody has taken it since it was listed.
func (s *Store) TakeOwed(ctx context.Context, o Owed, wait time.Duration) (taken Owed, mine bool, err error) {
	const op = "state.TakeOwed"
	if wait < 0 || wait > MaxJobPause {
		return Owed{}, false, s.fail(ctx, op, badValue("a wait of %s; give 0 to %s", wait, MaxJobPause))
	}
	return s.moveOwed(ctx, op, o, o.Tries+1, wait)
}

// PostponeOwed has an end that was listed wait for so long, up to MaxJobPause, without a
// try. It changes nothing where TakeOwed would not.
func (s *Store) PostponeOwed(ctx context.Context, o Owed, wait time.Duration) error {
	const op = "state.PostponeOwed"
	if err := checkSpan("wait", wait, MaxJobPause); err != nil {
		return s.fail(ctx, op, err)
	}
	_, _, err := s.moveOwed(ctx, op, o, o.Tries, wait)
	return err
}

// moveOwed sets when an end is told next, if nobody has taken it since it was listed.
func (s *Store) moveOwed(ctx context.Context, op string, o Owed, tries int, wait time.Duration) (moved Owed, mine bool, err error) {
	err = s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		var due int64
		if wait > 0 {
			due = at.Add(wait).UnixMicro()
		}
		moved = o
		moved.Tries, moved.Next = tries, timeOrNone(due)
		changed, err := ex.exec(ctx, s.queries.moveOwed, append([]any{due, tries}, append(o.key(), o.ID, o.Tries)...)...)
		mine = changed == 1
		return err
	})
	if err != nil || !mine {
		return Owed{}, false, err
	}
	return moved, true, nil
}

// SettleOwed says what became of a try: without a failure the end was told, and is not
// owed any more; else the failure is kept, cut to what fits. A later end of the same
// session stays owed.
func (s *Store) SettleOwed(ctx context.Context, o Owed, failure string) error {
	return s.transact(ctx, "state.SettleOwed", func(ctx context.Context, ex *executor) error {
		query, args := s.queries.removeOwed, append(o.key(), o.ID)
		if failure != "" {
			query, args = s.queries.failOwed, append([]any{fit(failure)}, args...)
		}
		_, err := ex.exec(ctx, query, args...)
		return err
	})
}

// ReviveOwed has the ends that nobody tells by itself any more told again, as if nobody
// had tried, and gives how many, up to a bound: call it again for the rest.
func (s *Store) ReviveOwed(ctx context.Context) (int, error) {
	return s.purge(ctx, "state.ReviveOwed", purge{find: s.queries.owedDead, remove: s.queries.reviveOwed, key: 4}, s.transact)
}
