package dispatch

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// Config is what a Dispatcher works with. Only Store is required.
type Config struct {
	Store *state.Store

	Now    func() time.Time                                 // the host's clock; time.Now by default
	Sleep  func(ctx context.Context, d time.Duration) error // waits or gives the context's error
	Jitter func() float64                                   // uniform in [0,1); spreads retries
}

// A Dispatcher takes calls from intent to outcome. It is safe for concurrent
// use and keeps nothing between calls that the store does not have.
type Dispatcher struct{ Config }

// New makes a dispatcher.
func New(cfg Config) *Dispatcher {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	return &Dispatcher{cfg}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// A flight is one call on its way.
type flight struct {
	*Dispatcher
	catalog *release.Catalog
	call    host.Call
	depth   int // of calls that fetch facts for calls

	entry    release.Entry
	args     json.RawMessage // valid, repaired
	env      manifest.Env
	versions map[string]int64 // of the state keys that were loaded
	key      host.Key         // of a write
	claimed  bool
	grant    *grant.Grant
	reply    abi.Reply
	outcome  host.Outcome
	done     bool // the outcome was there already
}

type step struct {
	name string
	do   func(context.Context) *abi.Problem
}

// Do takes one call from intent to outcome. It never fails otherwise than by
// an outcome with a problem, and returns only when the call's record is
// written or cannot be. A cancelled context ends the call at its next step;
// what has been settled by then stays.
func (d *Dispatcher) Do(ctx context.Context, catalog *release.Catalog, call host.Call) host.Outcome {
	return d.do(ctx, catalog, call, 0)
}

func (d *Dispatcher) do(ctx context.Context, catalog *release.Catalog, call host.Call, depth int) host.Outcome {
	f := &flight{Dispatcher: d, catalog: catalog, call: call, depth: depth}
	f.outcome = host.Outcome{Call: call.ID, Tool: call.Tool}

	for _, s := range []step{
		{"resolve", f.resolve},
		{"check", f.check},
		{"breaker", f.breaker},
		{"hooks", f.beforeHooks},
		{"gate", f.gate},
		{"claim", f.claim},
		{"intent", f.intent},
	} {
		if problem := s.do(ctx); problem != nil {
			return f.refuse(ctx, s.name, problem)
		}
		if f.done {
			return f.outcome
		}
	}

	for {
		f.outcome.Attempts++
		failed, problem := f.attempt(ctx)
		if problem == nil {
			return f.outcome
		}
		if f.again(ctx, failed, problem) {
			continue
		}
		if f.done {
			return f.outcome
		}
		return f.fail(ctx, failed, problem)
	}
}

// attempt runs the call once. It names the step that failed.
func (f *flight) attempt(ctx context.Context) (string, *abi.Problem) {
	for _, s := range []step{
		{"run", f.run},
		{"verify", f.verify},
		{"hooks", f.afterHooks},
		{"spill", f.spill},
		{"settle", f.settle},
	} {
		if problem := s.do(ctx); problem != nil {
			return s.name, problem
		}
	}
	return "", nil
}
