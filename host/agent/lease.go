package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// How a lease is kept and waited for.
const (
	renewals    = 3                      // in the time of a lease: two may fail, and the third still comes in time
	renewTries  = 12                     // in the time of a lease, while the store fails
	leasePoll   = 100 * time.Millisecond // between two questions whether another replica is done
	releaseTime = 5 * time.Second        // to give a lease back; it ends by itself, too
	busyRetry   = 2 * time.Second        // when a turn of this process may be over: turns last seconds
	maxName     = 80                     // bytes of a process's name: with a turn's id it fits a holder's id
)

// processName tells people which process has a session.
func processName() string {
	machine, err := os.Hostname()
	if err != nil {
		machine = "this machine"
	}
	return fmt.Sprintf("process %d on %.50s", os.Getpid(), machine)
}

// A lease is a turn's right to its session: in this process first, then in the
// store. It is renewed until the turn is over. A lease that is lost ends the
// turn's context with Busy as the cause, and saves nothing more.
//
// How long it lasts is counted on this process's monotonic clock from before
// the store was asked, so it ends here before it ends by the store's clock,
// however the two differ.
type lease struct {
	*Agent
	ref     host.SessionRef
	holder  string
	endTurn context.CancelCauseFunc
	waits   time.Time // until when others are waited for

	place *place
	fence host.Fence // 0 before it is taken, and after it was given back
	stop  context.CancelFunc

	mu      sync.Mutex
	lost    error // guarded by mu
	trouble error // of the last renewal that failed; guarded by mu
}

func (a *Agent) newLease(ref host.SessionRef, endTurn context.CancelCauseFunc) *lease {
	return &lease{
		Agent: a, ref: ref, holder: fmt.Sprintf("%.*s, %s", maxName, a.Name, host.NewID("turn_")),
		endTurn: endTurn, waits: time.Now().Add(a.Wait),
	}
}

// A place is the only one that a session's turns have in this process.
type place struct {
	since time.Time
	over  chan struct{} // closed when it is free
}

// enter takes the session's place in this process, and waits for a turn that
// has it, but not for long. It reports whether it had to.
func (l *lease) enter(ctx context.Context) (waited bool, err error) {
	patience := time.NewTimer(time.Until(l.waits))
	defer patience.Stop()
	for l.place == nil {
		other := l.tryEnter()
		if other == nil {
			break
		}
		waited = true
		select {
		case <-other.over:
		case <-ctx.Done():
			return true, host.Fail("agent.enter", nil, ctx.Err())
		case <-patience.C:
			problem := abi.NewProblem(abi.Busy, "session %s has had a turn running in this process since %s", l.ref, other.since.UTC().Format(time.RFC3339)).
				WithHint("wait until it is done, then try again")
			problem.RetryAfterMS = busyRetry.Milliseconds()
			return true, host.Fail("agent.enter", problem, nil)
		}
	}
	return waited, nil
}

// tryEnter gives who has the place, or nil if it is ours now.
func (l *lease) tryEnter() (other *place) {
	l.Agent.mu.Lock()
	defer l.Agent.mu.Unlock()
	if other = l.running[l.ref]; other == nil {
		l.place = &place{since: l.Now(), over: make(chan struct{})}
		l.running[l.ref] = l.place
	}
	return other
}

// take takes the lease without saving anything, and waits for whoever has it,
// but not for long.
func (l *lease) take(ctx context.Context) error {
	for {
		asked := time.Now()
		fence, err := l.Store.Lease(ctx, l.ref, l.holder, l.Lease)
		var held *state.HeldError
		if errors.As(err, &held) && held.Holder == l.holder { // the store's answer was lost before
			fence = held.Fence
			err = l.Store.Renew(ctx, l.ref, fence, l.Lease)
		} else if held != nil {
			if err = l.pause(ctx, err); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		l.keep(ctx, fence, asked)
		return nil
	}
}

// pause waits before the store is asked again; if there is no time left, it
// gives the store's own answer.
func (l *lease) pause(ctx context.Context, busy error) error {
	left := time.Until(l.waits)
	if left <= 0 {
		return busy
	}
	if !sleep(ctx, min(left, leasePoll)) {
		return host.Fail("agent.take", nil, ctx.Err())
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// keep keeps a lease that was asked for at a time.
func (l *lease) keep(ctx context.Context, fence host.Fence, asked time.Time) {
	l.fence = fence
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	go l.renew(ctx, fence, asked)
}

// renew renews the lease each third of its time, and more often while that
// fails. When its time is over all the same, the turn stops by itself.
func (l *lease) renew(ctx context.Context, fence host.Fence, asked time.Time) {
	end := time.AfterFunc(time.Until(asked.Add(l.Lease)), l.expire)
	defer end.Stop()
	for pause := l.Lease / renewals; sleep(ctx, pause) && l.isLost() == nil; {
		begun := time.Now()
		switch err := l.Store.Renew(ctx, l.ref, fence, l.Lease); {
		case err == nil:
			end.Reset(time.Until(begun.Add(l.Lease)))
			pause = l.Lease / renewals
		case errors.Is(err, state.ErrLeaseLost):
			l.lose(err)
		default:
			l.mu.Lock()
			l.trouble = err
			l.mu.Unlock()
			pause = l.Lease / renewTries
		}
	}
}

// expire loses a lease that could not be renewed.
func (l *lease) expire() {
	l.mu.Lock()
	trouble := l.trouble
	l.mu.Unlock()
	l.lose(host.Fail("agent.renew", abi.NewProblem(abi.Busy, "the lease on session %s could not be renewed for %s; the turn has stopped, so that another replica can go on", l.ref, l.Lease).
		WithHint("deliver the input again"), trouble))
}

func (l *lease) lose(err error) {
	l.mu.Lock()
	if l.lost == nil {
		l.lost = err
	}
	l.mu.Unlock()
	l.endTurn(err)
}

// isLost says why the lease is lost, or nil.
func (l *lease) isLost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// save saves under the lease; the first save takes it.
func (l *lease) save(ctx context.Context, changes []state.Change) error {
	if err := l.isLost(); err != nil {
		return err
	}
	if l.fence != 0 {
		return l.Store.SaveStateUnder(ctx, l.ref, l.fence, changes...)
	}
	asked := time.Now()
	fence, err := l.Store.SaveLeasing(ctx, l.ref, l.holder, l.Lease, changes...)
	if err == nil {
		l.keep(ctx, fence, asked)
	}
	return err
}

// saveLast saves, and gives the lease back with that.
func (l *lease) saveLast(ctx context.Context, changes []state.Change) error {
	if err := l.isLost(); err != nil {
		return err
	}
	err := l.Store.SaveReleasing(ctx, l.ref, l.fence, changes...)
	if err == nil {
		l.stop()
		l.fence = 0
	}
	return err
}

// leave gives back whatever the turn still has, so that others need not wait
// for its end. It does so also for a caller that has gone.
func (l *lease) leave(ctx context.Context) {
	if l.fence != 0 {
		l.stop()
		if l.isLost() == nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
			defer cancel()
			_ = l.Store.Release(ctx, l.ref, l.fence) // if that fails, it ends by itself
		}
	}
	if l.place != nil {
		l.Agent.mu.Lock()
		delete(l.running, l.ref)
		l.Agent.mu.Unlock()
		close(l.place.over)
	}
}
