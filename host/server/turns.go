package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

const (
	// maxTurnTime ends a turn that would hold its place for ever. The agent's
	// ceiling of steps ends sound turns long before.
	maxTurnTime = 30 * time.Minute

	// cancelTime is what a cancelled turn has to store what it did.
	cancelTime = 10 * time.Second

	// retryAfter is when a place may be free again: turns last seconds.
	retryAfter = 2 * time.Second
)

// turns holds the places of running turns.
type turns struct {
	ctx    context.Context // of every turn; ends when the grace time is over
	cancel context.CancelFunc
	most   int

	mu      sync.Mutex
	running int            // guarded by mu
	closing bool           // guarded by mu
	ended   sync.WaitGroup // of the running ones; grows only under mu, while not closing
}

func newTurns(most int) *turns {
	t := &turns{most: most}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// run runs do in a place, in the background, or refuses. The channel is closed
// when do is over and its place is free again.
func (t *turns) run(do func(ctx context.Context)) (<-chan struct{}, *refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil, refuse(stopping())
	}
	if t.running == t.most {
		problem := abi.NewProblem(abi.SystemFailure, "%d turns are running, as many as this server takes", t.most).
			WithHint("send the same delivery again in a moment")
		problem.RetryAfterMS = retryAfter.Milliseconds()
		return nil, refuse(problem).as(http.StatusTooManyRequests)
	}
	t.running++
	done := make(chan struct{})
	t.ended.Go(func() {
		defer close(done)
		defer t.leave()
		ctx, cancel := context.WithTimeout(t.ctx, maxTurnTime)
		defer cancel()
		do(ctx)
	})
	return done, nil
}

func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
}

// drain takes no more turns, waits for the running ones, cancels those that
// are not over after the grace time, and fails if some do not stop even then.
func (t *turns) drain(grace, stop time.Duration) error {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	over := make(chan struct{})
	go func() {
		t.ended.Wait()
		close(over)
	}()
	waitFor(over, grace)
	t.cancel()
	if waitFor(over, stop) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return host.Fail("server.Serve", abi.NewProblem(abi.Deadline, "%d turns did not stop within %s", t.running, stop), nil)
}

// accepting fails while no more turns are taken.
func (t *turns) accepting(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return stopping()
	}
	return nil
}

func stopping() *abi.Problem {
	return abi.NewProblem(abi.SystemFailure, "the server is stopping").WithHint("send the same delivery again when it is back")
}

func waitFor(over <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}
