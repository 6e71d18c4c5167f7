package recall

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Bounds of what goes on beside the turns.
const (
	maxBackground  = 8                // at once: what comes then is left out, and heard or found another time
	backgroundTime = 10 * time.Minute // of one: a tenant's log is read
)

// A background runs what no user waits for.
type background struct {
	ctx  context.Context
	stop context.CancelFunc
	log  *slog.Logger
	wait sync.WaitGroup

	mu   sync.Mutex
	runs map[string]bool // guarded by mu: what is under way, by name
	shut bool            // guarded by mu
}

func newBackground(log *slog.Logger) *background {
	ctx, stop := context.WithCancel(context.Background())
	return &background{ctx: ctx, stop: stop, log: log, runs: map[string]bool{}}
}

// run does something once, unless the same is under way, or too much.
func (b *background) run(name string, limit time.Duration, do func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.shut || b.runs[name]:
		return
	case len(b.runs) >= maxBackground:
		b.log.Warn("memory has too much to do in the background; this is left out", "what", name)
		return
	}
	b.runs[name] = true
	b.wait.Go(func() {
		ctx, cancel := context.WithTimeout(b.ctx, limit)
		defer cancel()
		if err := do(ctx); err != nil && b.ctx.Err() == nil {
			b.log.Warn("memory could not do its work in the background", "what", name, "error", err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.runs, name)
	})
}

func (b *background) close() {
	b.mu.Lock()
	b.shut = true
	b.mu.Unlock()
	b.stop()
	b.wait.Wait()
}
