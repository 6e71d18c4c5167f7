package state

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"
)

// Bounds of a unit that runs alone.
const (
	unitTime   = 30 * time.Second     // of one run, and of all runs before the last: a network that swallows everything must not keep a lane for ever
	clashTries = 12                   // runs of a unit that others are in the way of: the last pauses are 50 to 100 ms long
	lostTries  = 2                    // runs of a unit that lost its connection: one that was idle may have died long ago
	firstPause = 2 * time.Millisecond // before the second run; the next ones double
	longPause  = 100 * time.Millisecond
	searchTime = 30 * time.Second // for the end of a commit whose answer was lost: longer than a restart, and than mysqlIdle
)

// How long a lane's row is kept after it connected. A lane that is older finds
// it gone and connects again.
const (
	laneLife  = 30 * 24 * time.Hour
	laneSweep = 1000 // rows that one Open removes
)

// ErrUnknownEnd is in the chain of a StoreFailure of which nobody knows whether
// it was kept: the connection was lost while the database committed, and the
// database could not be asked again. Whoever gets it finds out by reading before
// it repeats anything; every other StoreFailure has changed nothing.
var ErrUnknownEnd = errors.New("the database did not say whether it kept the change")

var errStaleLane = errors.New("the lane's row is gone")

// alone runs a unit in a transaction of its own; again where other
// transactions were in its way or the connection was gone before it.
func (l *lane) alone(u *unit) error {
	begun := time.Now()
	for try := 1; ; try++ {
		err := l.transact(u)
		if err == nil {
			return nil
		}
		tries := 1
		switch l.faultOf(err) {
		case clashed:
			tries = clashTries
		case lost:
			tries = lostTries
		}
		if try >= tries || time.Since(begun) > unitTime {
			return err
		}
		pause := min(firstPause<<(try-1), longPause)
		time.Sleep(pause/2 + rand.N(pause/2+1)) // not in step with whom it clashed with
	}
}

func (l *lane) faultOf(err error) fault {
	switch {
	case errors.Is(err, ErrUnknownEnd):
		return plain
	case errors.Is(err, errStaleLane):
		return lost
	}
	return l.w.dialect.fault(err)
}

// transact runs a unit once. An error means that nothing of it is kept, unless
// it is ErrUnknownEnd.
func (l *lane) transact(u *unit) error {
	ctx, cancel := context.WithTimeout(context.Background(), unitTime)
	defer cancel()
	mark := 1 + rand.Int64N(math.MaxInt64)
	err := l.beginAlone(ctx, mark)
	if err == nil {
		err = u.run(ctx, l.ex)
	}
	if err != nil {
		l.rollback(ctx, err)
		return err
	}
	if _, err = l.ex.exec(ctx, "COMMIT"); err != nil {
		l.disconnect()
		return l.findOut(mark, err)
	}
	return nil
}

// beginAlone begins a transaction and leaves a mark in it that nobody has used.
func (l *lane) beginAlone(ctx context.Context, mark int64) error {
	if l.conn == nil {
		if err := l.connect(ctx); err != nil {
			return err
		}
		if err := l.makeRow(ctx); err != nil {
			return err
		}
	}
	marked, err := l.ex.exec(ctx, l.w.queries.markLane, mark, l.id)
	if err == nil && marked == 0 {
		l.disconnect()
		return errStaleLane
	}
	return err
}

func (l *lane) makeRow(ctx context.Context) error {
	at, err := l.w.dialect.now(ctx, l.ex)
	if err == nil {
		_, err = l.ex.exec(ctx, l.w.queries.makeLane, l.id, 0, at.UnixMicro())
	}
	if err == nil {
		_, err = l.ex.exec(ctx, "COMMIT")
	}
	return err
}

// rollback ends a transaction that is not wanted. Where that fails, closing the
// connection does it.
func (l *lane) rollback(ctx context.Context, cause error) {
	if l.conn == nil {
		return
	}
	if l.faultOf(cause) != lost {
		if _, err := l.ex.exec(ctx, "ROLLBACK"); err == nil {
			return
		}
	}
	l.disconnect()
}

// findOut tells whether a commit whose answer was lost took place: nil if so.
// The lane's row is locked by the transaction until it has ended either way,
// and has its mark only if it was kept.
func (l *lane) findOut(mark int64, cause error) error {
	for end := time.Now().Add(l.w.search); ; {
		kept, err := l.wasKept(mark)
		switch {
		case err != nil && time.Now().After(end):
			return errors.Join(ErrUnknownEnd, cause, err)
		case err != nil:
			time.Sleep(longPause)
		case kept:
			return nil
		default:
			return cause
		}
	}
}

func (l *lane) wasKept(mark int64) (kept bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), unitTime)
	defer cancel()
	defer l.disconnect() // and with it the lock
	if err := l.connect(ctx); err != nil {
		return false, err
	}
	var stored int64
	found, err := l.ex.row(ctx, l.w.queries.laneMark, []any{l.id}, &stored)
	if err == nil && !found {
		err = errStaleLane
	}
	return stored == mark, err
}

// sweepLanes removes the rows of lanes that ended long ago.
func (s *Store) sweepLanes(ctx context.Context) error {
	if !s.dialect.rowLocks {
		return nil
	}
	at, err := s.dialect.now(ctx, s.reader)
	if err != nil {
		return err
	}
	var stale []string
	err = s.reader.each(ctx, s.queries.staleLanes, []any{at.Add(-laneLife).UnixMicro(), laneSweep}, scanText(&stale))
	for _, id := range stale {
		if err == nil {
			_, err = s.reader.exec(ctx, s.queries.removeLane, id)
		}
	}
	return err
}
