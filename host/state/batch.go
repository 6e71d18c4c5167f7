package state

import (
	"context"
	"errors"
	"time"
)

// Bounds of a batch.
const (
	batchUnits   = 128                    // units of one commit
	batchTime    = 10 * time.Millisecond  // no unit joins a batch that is older: each waits for the whole batch
	maxBatchTime = 100 * time.Millisecond // likewise where the disk is slow; see batchAge
)

// The disk's sync is what takes time, so whatever waits when a transaction
// begins shares its commit. Units hardly ever fail, so that they just run one
// after another. Once one has failed, all of the transaction is undone, and from
// then on each unit runs in a savepoint of its own, those before it once more:
// it can fail alone, and learns its end when the commit is on the disk.

// batch runs a unit, and the units that wait behind it, in one transaction.
// The context has no end: an interrupted statement would take the whole
// batch with it.
func (l *lane) batch(first *unit) {
	ctx := context.Background()
	if err := l.beginBatch(ctx); err != nil {
		first.done <- err
		return
	}
	kept, broken := l.runBatch(ctx, first)
	if broken == nil {
		committing := time.Now()
		_, broken = l.ex.exec(ctx, "COMMIT")
		l.commitTime = time.Since(committing)
	}
	if broken != nil {
		l.disconnect()
	}
	for _, u := range kept {
		u.done <- broken
	}
}

// runBatch gives the units that wait for the commit, and a failure that ends the
// batch. Where units have just failed, more will: those of the next batch have
// savepoints from its start.
func (l *lane) runBatch(ctx context.Context, first *unit) (kept []*unit, broken error) {
	begun := time.Now()
	apart := l.failing
	l.failing = false
	for u, n := first, 1; u != nil; n++ {
		var failed error
		if apart {
			failed, broken = l.runApart(ctx, u)
		} else {
			failed = u.run(ctx, l.ex)
		}
		if failed == nil {
			kept = append(kept, u)
		} else {
			u.done <- failed
			l.failing = true
		}
		if failed != nil && !apart {
			apart = true
			kept, broken = l.undo(ctx, kept)
		}
		u = l.next(broken == nil && n < batchUnits && time.Since(begun) < l.batchAge())
	}
	return kept, broken
}

// undo undoes what a unit that failed had done, and with it all that was done
// before it: those units run again.
func (l *lane) undo(ctx context.Context, units []*unit) (kept []*unit, broken error) {
	_, broken = l.ex.exec(ctx, "ROLLBACK")
	if broken == nil {
		_, broken = l.ex.exec(ctx, l.w.dialect.begin)
	}
	for _, u := range units {
		var failed error
		if broken == nil {
			failed, broken = l.runApart(ctx, u)
		}
		if failed == nil {
			kept = append(kept, u)
		} else {
			u.done <- failed
		}
	}
	return kept, broken
}

// batchAge gives until when units join a batch. Where the disk takes long, who
// is left behind waits for two commits instead of one: there a batch goes on
// for as long as two of them take.
func (l *lane) batchAge() time.Duration {
	return min(max(batchTime, 2*l.commitTime), maxBatchTime)
}

func (l *lane) beginBatch(ctx context.Context) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	_, err := l.ex.exec(ctx, l.w.dialect.begin)
	if err != nil {
		l.disconnect()
	}
	return err
}

// runApart runs a unit in a savepoint. It gives the unit's own failure and,
// apart from that, a failure that ends the batch: where the savepoint cannot be
// rolled back, the database has given up the whole transaction.
func (l *lane) runApart(ctx context.Context, u *unit) (failed, broken error) {
	if _, err := l.ex.exec(ctx, "SAVEPOINT unit"); err != nil {
		return err, err
	}
	failed = u.run(ctx, l.ex)
	if failed != nil {
		if _, err := l.ex.exec(ctx, "ROLLBACK TO SAVEPOINT unit"); err != nil {
			return failed, errors.Join(failed, err)
		}
	}
	if _, err := l.ex.exec(ctx, "RELEASE SAVEPOINT unit"); err != nil {
		return err, err
	}
	return failed, nil
}

// next gives a unit that waits and that its caller still wants, or nil.
func (l *lane) next(more bool) *unit {
	for more {
		select {
		case u, open := <-l.w.queue:
			if !open {
				return nil
			}
			if u.owned.CompareAndSwap(false, true) {
				return u
			}
		default:
			return nil
		}
	}
	return nil
}
