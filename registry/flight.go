package registry

import (
	"context"
	"sync"
)

// flights does the same work once for all who ask for it at the same time.
// Unlike a singleflight it gives up when the last of them has gone, and not
// when the first has. The zero value is ready.
type flights struct {
	mu      sync.Mutex
	running map[Version]*flight // guarded by mu
}

type flight struct {
	waiting int // guarded by flights.mu
	cancel  context.CancelFunc
	done    chan struct{} // closed once release and err are set
	release *Release
	err     error
}

// do gives what work gives for v, whoever started it. It returns early, with
// the context's error, when ctx ends.
func (f *flights) do(ctx context.Context, v Version, work func(context.Context) (*Release, error)) (*Release, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	joined := f.join(ctx, v, work)
	select {
	case <-joined.done:
		return joined.release, joined.err
	case <-ctx.Done():
		f.leave(v, joined)
		return nil, ctx.Err()
	}
}

func (f *flights) join(ctx context.Context, v Version, work func(context.Context) (*Release, error)) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if running := f.running[v]; running != nil {
		running.waiting++
		return running
	}
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &flight{waiting: 1, cancel: cancel, done: make(chan struct{})}
	if f.running == nil {
		f.running = map[Version]*flight{}
	}
	f.running[v] = started
	go func() {
		defer cancel()
		started.release, started.err = work(shared)
		f.forget(v, started)
		close(started.done)
	}()
	return started
}

func (f *flights) leave(v Version, left *flight) {
	f.mu.Lock()
	left.waiting--
	last := left.waiting == 0
	f.mu.Unlock()
	if last {
		left.cancel()
		f.forget(v, left)
	}
}

// forget lets the next caller start anew.
func (f *flights) forget(v Version, ended *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[v] == ended {
		delete(f.running, v)
	}
}
