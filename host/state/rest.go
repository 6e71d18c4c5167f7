package state

import (
	"context"
	"database/sql"
	"time"

	"github.com/sluicehq/sluice/host"
)

// A Rest is a session that nobody has had for a while: since its lease was released
// last, or since it was first given, if its holder died with it. A session that never
// had a lease has none.
type Rest struct {
	Ref   host.SessionRef
	Since time.Time // by the store's clock
}

// Rests gives sessions that have rested for longer than that, the longest first, and
// the time before which their rest began. A limit of 0 means MaxPage, the most. It is
// a list of those to look at, and proves nothing: somebody may have the session by now.
// One stays on the list until its lease is released again, or until Looked.
func (s *Store) Rests(ctx context.Context, longerThan time.Duration, limit int) (list []Rest, before time.Time, err error) {
	const op = "state.Rests"
	if longerThan < 0 || longerThan > maxAge {
		return nil, before, s.fail(ctx, op, badValue("a rest of %s; give 0 to %s", longerThan, maxAge))
	}
	at, err := s.now(ctx, s.reader)
	if err != nil {
		return nil, before, s.fail(ctx, op, err)
	}
	before = at.Add(-longerThan)
	err = s.reader.each(ctx, s.queries.rested, []any{before.UnixMicro(), pageLimit(limit)}, func(rows *sql.Rows) (bool, error) {
		var r Rest
		var since int64
		err := rows.Scan((*string)(&r.Ref.Tenant), (*string)(&r.Ref.User), (*string)(&r.Ref.Session), &since)
		r.Since = timeOf(since)
		list = append(list, r)
		return true, err
	})
	if err != nil {
		return nil, before, s.fail(ctx, op, err)
	}
	return list, before, nil
}

// Looked takes a session off the list of Rests: for good, until somebody has it again,
// or, with again, for as long as it has to rest to be on it. It changes nothing where
// the session's lease was released since the list was made.
func (s *Store) Looked(ctx context.Context, r Rest, again bool) error {
	const op = "state.Looked"
	if err := checkRef(r.Ref); err != nil {
		return s.fail(ctx, op, err)
	}
	return s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		var next int64
		if again {
			next = at.UnixMicro()
		}
		_, err := ex.exec(ctx, s.queries.changeRest, append(append([]any{next}, sessionArgs(r.Ref)...), r.Since.UnixMicro())...)
		return err
	})
}
