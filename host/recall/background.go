package recall

import (
	"context"
	"errors"
	"log/slog"
	"strings"
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
	runs map[string]underWay // guarded by mu: by name
	shut bool                // guarded by mu
}

// An underWay is one run.
type underWay struct {
	name  string
	stop  context.CancelFunc
	ended chan struct{}
}

func newBackground(log *slog.Logger) *background {
	ctx, stop := context.WithCancel(context.Background())
	return &background{ctx: ctx, stop: stop, log: log, runs: map[string]underWay{}}
}

// run does something once, unless the same is under way, or too much, and reports
// whether it began.
func (b *background) run(name string, limit time.Duration, do func(context.Context) error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch _, runs := b.runs[name]; {
	case b.shut || runs:
		return false
	case len(b.runs) >= maxBackground:
		b.log.Warn("memory has too much to do in the background; this is left out", "what", name)
		return false
	}
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	one := underWay{name: name, stop: cancel, ended: make(chan struct{})}
	b.runs[name] = one
	b.wait.Go(func() {
		defer close(one.ended)
		defer cancel()
		if err := do(ctx); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
			b.log.Warn("memory could not do its work in the background", "what", name, "error", err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.runs, name)
	})
	return true
}

// named gives the runs whose names begin with a word.
func (b *background) named(word string) (some []underWay) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, one := range b.runs {
		if strings.HasPrefix(name, word) {
			some = append(some, one)
		}
	}
	return some
}

// await waits for the runs whose names begin with a word, as long as ctx allows.
func (b *background) await(ctx context.Context, word string) {
	for _, one := range b.named(word) {
		select {
		case <-one.ended:
		case <-ctx.Done():
			return
		}
	}
}

// end breaks off the runs whose names begin with a word, and tells the operator which,
// since nothing does them again. When it returns none of them does anything any more.
func (b *background) end(word string) {
	for _, one := range b.named(word) {
		b.log.Warn("memory breaks off what it does in the background, since something of the user is forgotten; it is not done again", "what", one.name)
		one.stop()
		<-one.ended
	}
}

func (b *background) close() {
	b.mu.Lock()
	b.shut = true
	b.mu.Unlock()
	b.stop()
	b.wait.Wait()
}
