package state

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of the writer.
const (
	queuedUnits = 1024                  // units that wait; further callers wait for room
	batchUnits  = 128                   // units of one commit
	batchTime   = 10 * time.Millisecond // no unit joins a batch that is older: each waits for the whole batch
)

// A writer runs transactions one after another on one connection. The disk's
// sync is what takes time, so whatever waits when a transaction begins shares
// its commit: each unit runs in a savepoint of its own, can fail alone, and
// learns its end when the commit is on the disk.
type writer struct {
	pool  *sql.DB
	begin string
	queue chan *unit
	ended chan struct{} // closed when the loop has ended

	mu     sync.RWMutex // held shared by those who queue, also while they wait for room
	closed bool         // guarded by mu

	conn *sql.Conn // of the loop until it has ended; nil until needed and after a failure
	ex   *executor // on conn
}

// A unit is one caller's transaction.
type unit struct {
	run   func(ctx context.Context, ex *executor) error
	owned atomic.Bool // by the loop, which will answer, or by a caller who has gone
	done  chan error  // one answer, buffered
}

func startWriter(pool *sql.DB, begin string) *writer {
	w := &writer{pool: pool, begin: begin, queue: make(chan *unit, queuedUnits), ended: make(chan struct{})}
	go w.loop()
	return w
}

// do runs a transaction: all of run is kept, durably, or on an error nothing
// of it. A caller whose context ends while it waits in the queue is let go and
// its unit never runs; once the unit runs, its true end is waited for, which
// takes milliseconds. run must touch nothing but the database.
func (w *writer) do(ctx context.Context, run func(ctx context.Context, ex *executor) error) error {
	u := &unit{run: run, done: make(chan error, 1)}
	if err := w.enqueue(ctx, u); err != nil {
		return err
	}
	select {
	case err := <-u.done:
		return err
	case <-ctx.Done():
		if u.owned.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return <-u.done
	}
}

func (w *writer) enqueue(ctx context.Context, u *unit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return closedProblem()
	}
	select {
	case w.queue <- u:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func closedProblem() *abi.Problem {
	return abi.NewProblem(abi.StoreFailure, "the store is closed").WithHint("start the host again")
}

// drain refuses further units, lets the loop finish what is queued and waits
// for it. It reports whether this call was the one that did so. The connection
// stays for disconnect.
func (w *writer) drain() (first bool) {
	w.mu.Lock()
	first = !w.closed
	w.closed = true
	if first {
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.ended
	return first
}

func (w *writer) isClosed() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.closed
}

func (w *writer) loop() {
	defer close(w.ended)
	for first := range w.queue {
		if first.owned.CompareAndSwap(false, true) {
			w.batch(first)
		}
	}
}

// batch runs a unit, and the units that wait behind it, in one transaction.
// The context has no end: an interrupted statement would take the whole
// batch with it.
func (w *writer) batch(first *unit) {
	ctx := context.Background()
	if err := w.beginBatch(ctx); err != nil {
		first.done <- err
		return
	}
	var kept []*unit
	begun := time.Now()
	var broken error
	for u, n := first, 1; u != nil && broken == nil; n++ {
		var failed error
		if failed, broken = w.runUnit(ctx, u); failed == nil {
			kept = append(kept, u)
		} else {
			u.done <- failed
		}
		u = w.next(broken == nil && n < batchUnits && time.Since(begun) < batchTime)
	}
	if broken == nil {
		_, broken = w.ex.exec(ctx, "COMMIT")
	}
	if broken != nil {
		w.disconnect()
	}
	for _, u := range kept {
		u.done <- broken
	}
}

func (w *writer) beginBatch(ctx context.Context) error {
	if w.conn == nil {
		conn, err := w.pool.Conn(ctx)
		if err != nil {
			return err
		}
		w.conn, w.ex = conn, &executor{on: conn}
	}
	_, err := w.ex.exec(ctx, w.begin)
	if err != nil {
		w.disconnect()
	}
	return err
}

// runUnit gives the unit's own failure and, apart from that, a failure that
// ends the batch: where the savepoint cannot be rolled back, the database has
// given up the whole transaction.
func (w *writer) runUnit(ctx context.Context, u *unit) (failed, broken error) {
	if _, err := w.ex.exec(ctx, "SAVEPOINT unit"); err != nil {
		return err, err
	}
	failed = u.run(ctx, w.ex)
	if failed != nil {
		if _, err := w.ex.exec(ctx, "ROLLBACK TO SAVEPOINT unit"); err != nil {
			return failed, errors.Join(failed, err)
		}
	}
	if _, err := w.ex.exec(ctx, "RELEASE SAVEPOINT unit"); err != nil {
		return err, err
	}
	return failed, nil
}

// next gives a unit that waits and that its caller still wants, or nil.
func (w *writer) next(more bool) *unit {
	for more {
		select {
		case u, open := <-w.queue:
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

// disconnect closes the connection and with it a transaction that it may
// still have. The next batch gets a new one.
func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	discard(w.conn, w.ex)
	w.conn, w.ex = nil, nil
}
