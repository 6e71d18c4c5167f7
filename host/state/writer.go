package state

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of the writer.
const (
	queuedUnits = 1024 // units that wait; further callers wait for room
)

// A writer runs transactions on a few lanes, one after another on each. On one
// lane, whatever waits shares a commit; see batch.go. On several, each
// transaction is on its own; see alone.go.
type writer struct {
	pool    *sql.DB
	dialect dialect
	queries queries
	queue   chan *unit
	bare    chan *unit // units that run between two transactions; see doBare
	lanes   []*lane
	ended   sync.WaitGroup // of the lanes
	search  time.Duration  // for the end of a commit whose answer was lost; searchTime but in tests

	mu     sync.RWMutex // held shared by those who queue, also while they wait for room
	closed bool         // guarded by mu
}

// A lane is one connection of the writer.
type lane struct {
	w    *writer
	id   string    // of its row in store_lane
	conn *sql.Conn // of the lane until it has ended; nil until needed and after a failure
	ex   *executor // on conn

	commitTime time.Duration // of the last batch
	failing    bool          // a unit of the last batch failed
}

// A unit is one caller's transaction.
type unit struct {
	run   func(ctx context.Context, ex *executor) error
	owned atomic.Bool // by the loop, which will answer, or by a caller who has gone
	done  chan error  // one answer, buffered
}

func startWriter(pool *sql.DB, d dialect, q queries) *writer {
	w := &writer{pool: pool, dialect: d, queries: q, queue: make(chan *unit, queuedUnits), bare: make(chan *unit), search: searchTime}
	for range d.lanes {
		l := &lane{w: w, id: host.NewID("lane_")}
		w.lanes = append(w.lanes, l)
		w.ended.Go(l.loop)
	}
	return w
}

// do runs a transaction: all of run is kept, durably, or on an error nothing
// of it. A caller whose context ends while it waits in the queue is let go and
// its unit never runs; once the unit runs, its true end is waited for, which
// takes milliseconds. run must touch nothing but the database, and may be run
// again from its beginning: what it gives to its caller is what its last run
// gave.
func (w *writer) do(ctx context.Context, run func(ctx context.Context, ex *executor) error) error {
	u := &unit{run: run, done: make(chan error, 1)}
	if err := w.enqueue(ctx, w.queue, u); err != nil {
		return err
	}
	return u.wait(ctx)
}

// doBare runs a unit that must not be in a transaction, on a writer with one lane.
func (w *writer) doBare(ctx context.Context, u *unit) error {
	if err := w.enqueue(ctx, w.bare, u); err != nil {
		return err
	}
	return u.wait(ctx)
}

func (u *unit) wait(ctx context.Context) error {
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

func (w *writer) enqueue(ctx context.Context, queue chan<- *unit, u *unit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return closedProblem()
	}
	select {
	case queue <- u:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func closedProblem() *abi.Problem {
	return abi.NewProblem(abi.StoreFailure, "the store is closed").WithHint("start the host again")
}

// drain refuses further units, lets the lanes finish what is queued and waits
// for them. It reports whether this call was the one that did so. The
// connections stay for disconnect.
func (w *writer) drain() (first bool) {
	w.mu.Lock()
	first = !w.closed
	w.closed = true
	if first {
		close(w.queue)
	}
	w.mu.Unlock()
	w.ended.Wait()
	return first
}

func (w *writer) isClosed() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.closed
}

// disconnect closes the connections of lanes that have ended.
func (w *writer) disconnect() {
	for _, l := range w.lanes {
		l.disconnect()
	}
}

func (l *lane) loop() {
	for {
		select {
		case u := <-l.w.bare:
			if u.owned.CompareAndSwap(false, true) {
				u.done <- l.outside(u)
			}
		case u, open := <-l.w.queue:
			switch {
			case !open:
				return
			case !u.owned.CompareAndSwap(false, true):
			case l.w.dialect.rowLocks:
				u.done <- l.alone(u)
			default:
				l.batch(u)
			}
		}
	}
}

// outside runs a unit without a transaction. Like a batch, it has no end of its
// caller's: an interrupted statement would cost the connection.
func (l *lane) outside(u *unit) error {
	ctx := context.Background()
	if err := l.connect(ctx); err != nil {
		return err
	}
	err := u.run(ctx, l.ex)
	if err != nil {
		l.disconnect()
	}
	return err
}

// connect makes sure that the lane has a connection.
func (l *lane) connect(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	conn, err := l.w.pool.Conn(ctx)
	if err != nil {
		return err
	}
	l.conn, l.ex = conn, &executor{on: conn}
	return nil
}

// disconnect closes the connection and with it a transaction that it may
// still have. What comes next gets a new one.
func (l *lane) disconnect() {
	if l.conn == nil {
		return
	}
	discard(l.conn, l.ex)
	l.conn, l.ex = nil, nil
}
