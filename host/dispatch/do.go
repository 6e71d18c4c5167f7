package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/lint"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
)

// Config is what a Dispatcher works with. Only the store is required.
type Config struct {
	grant.Config // what skills may be granted; with the store

	// RecordReads records all host calls of reads too, and not only as many as
	// fit beside the outcome: at the price of a blob for each read that makes more.
	RecordReads bool

	// BatchReads keeps the records of reads that ended well in batches, up to 50
	// ms after they were answered, and before anything else of their session is
	// on record. A process that dies loses those that waited. See Flush.
	BatchReads bool

	Policy  *manifest.Policy // red lines; nil has none
	Hooks   *host.Hooks      // asked before and after every call; nil has none
	Linter  *lint.Linter     // looks at files that calls write; by default one with the host's own parsers only
	Rates   *host.Rates      // what raises alerts; those of host.DefaultThresholds by default
	Log     *slog.Logger     // tells operators of observers that fail; nothing by default
	History History          // of what sessions did; the store's by default
	Breaker BreakerMode      // what the loop breaker does; it cuts off by default

	// Approver may say yes to a call of the tier hard-gate at once, for replays
	// and tests; nil leaves it pending. It is called from several goroutines.
	Approver func(context.Context, Question) bool

	Now    func() time.Time                                 // the host's clock; time.Now by default
	Sleep  func(ctx context.Context, d time.Duration) error // waits or gives the context's error
	Jitter func() float64                                   // uniform in [0,1); spreads retries
	Trace  func(call host.CallID, step string)              // told by the calls' goroutines before each step of theirs; nil tells nobody
}

// A Dispatcher takes calls from intent to outcome. It is safe for concurrent
// use and keeps nothing between calls that the store does not have, but records
// of reads for a moment, and conditions of standing grants compiled.
type Dispatcher struct {
	Config
	reads      *readLog
	conditions conditions

	testOnlySkip func(f *flight, layer string) bool // leaves a layer out, so that a test sees what the others stop; nil but there
}

// New makes a dispatcher.
func New(cfg Config) *Dispatcher {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.History == nil {
		cfg.History = storeHistory{cfg.Store, cfg.Now}
	}
	if cfg.Rates == nil {
		cfg.Rates = host.NewRates(host.DefaultThresholds())
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Linter == nil {
		cfg.Linter = lint.New(nil, cfg.Log, "")
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	return &Dispatcher{Config: cfg, reads: newReadLog(cfg.Store, cfg.Log)}
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
	meaning  string          // of the tool and the arguments
	env      manifest.Env
	ruled    manifest.Env     // what the red lines saw
	versions map[string]int64 // of the state keys that were loaded
	fetched  map[string]bool  // facts that were asked for, had or not
	based    []*state.View    // what the facts were read from
	key      host.Key         // of a write
	unseen   bool             // nobody saw whether the store kept the last settlement
	claimed  bool             // the claim is ours, or may be: a store that failed does not say
	grant    *grant.Grant     // of the last attempt
	kept     *grant.Kept      // what it wrote outside of the store, until its end is known
	stored   *grant.Stored    // where the attempt's host calls are, likewise
	spilled  string           // the id of the attempt's data, likewise
	short    json.RawMessage  // the data as the store's rows have them, where they are too long
	input    []byte           // the envelope that the guest got
	ran      *Ran             // what the guest gave
	ranIn    int              // the attempt in which it did
	guards   []opinion        // of the hooks before the call
	says     []string         // why the tier is what it is
	checkSay string           // of them: the skill's own check's
	apart    bool             // no standing grant was given for what is asked
	targets  []string         // what a write touches, where that is known
	before   *Verdicts        // on the call, until it runs
	during   *Verdicts        // likewise, on the attempt that is on
	notes    notes            // of hooks
	remarks  notes            // likewise, since the call has begun to run
	reported time.Time        // when the user was told of progress
	logs     []sandbox.Log    // of the last attempt
	reply    abi.Reply
	changes  []state.Change // of the state, by the attempt
	moved    *transition    // likewise, for the record
	outcome  host.Outcome
	done     bool   // the outcome was there already
	fault    string // what a panic said, for operators
}

type step struct {
	name string
	do   func(*flight, context.Context) *abi.Problem
}

// Do takes one call from intent to outcome. It never fails otherwise than by
// an outcome with a problem, and returns only when the call's record is
// written or cannot be. A context that ends, by its cause, ends the call at
// its next step; what has been settled by then stays. A nil catalogue has no
// tools.
func (d *Dispatcher) Do(ctx context.Context, catalog *release.Catalog, call host.Call) host.Outcome {
	f := newFlight(d, catalog, call)
	outcome := f.do(ctx)
	f.watch(ctx, outcome)
	return outcome
}

func newFlight(d *Dispatcher, catalog *release.Catalog, call host.Call) *flight {
	return &flight{Dispatcher: d, catalog: catalog, call: call, outcome: host.Outcome{Call: call.ID, Tool: call.Tool}}
}

func (f *flight) do(ctx context.Context) host.Outcome {
	for _, s := range [...]step{
		{"resolve", (*flight).resolve},
		{"check", (*flight).check},
		{"breaker", (*flight).breaker},
		{"hooks", (*flight).beforeHooks},
		{"gate", (*flight).gate},
		{"claim", (*flight).claim}, // and intent, in one transaction
	} {
		problem := f.take(ctx, s)
		if problem != nil {
			problem = f.undone(ctx, f.refusedEarly(s.name, problem))
		}
		if f.done {
			return f.outcome
		}
		if problem != nil {
			return f.refuse(ctx, s.name, problem)
		}
	}
	f.tell()
	ctx, cancel := f.withinLease(ctx)
	defer cancel()
	for {
		f.outcome.Attempts++
		failed, problem := f.attempt(ctx)
		ended := problem
		if failed == "settle" {
			problem = f.settled(ctx, problem)
		}
		if !f.outcome.Replayed { // else another call's outcome counts, and nothing of this one
			ended = problem
		}
		f.conclude(ctx, ended)
		if problem == nil {
			return f.outcome
		}
		if problem = f.again(ctx, failed, problem); problem != nil {
			return f.fail(ctx, failed, problem)
		}
	}
}

// attempt runs the call once. It names the step that failed.
func (f *flight) attempt(ctx context.Context) (string, *abi.Problem) {
	f.during = nil
	for _, s := range [...]step{
		{"recheck", (*flight).recheck},
		{"run", (*flight).run},
		{"verify", (*flight).verify},
		{"reduce", (*flight).reduce},
		{"hooks", (*flight).afterHooks},
		{"spill", (*flight).spill},
		{"settle", (*flight).settle},
	} {
		if problem := f.take(ctx, s); problem != nil {
			return s.name, problem
		}
	}
	return "", nil
}

// take runs one step, unless the caller has gone or the call's time is up. A
// panic is a fault of the host: it ends this call and no other, and the claim
// is released as after any failure.
func (f *flight) take(ctx context.Context, s step) (problem *abi.Problem) {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	if f.Trace != nil {
		f.Trace(f.call.ID, s.name)
	}
	if f.skips(s.name) {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			f.fault = fmt.Sprintf("%v\n%s", cause, debug.Stack())
			problem = abi.NewProblem(abi.HostBug, "the host failed at the step %s of %.80q", s.name, f.call.Tool)
		}
		if problem != nil && ctx.Err() != nil && (problem.Code == abi.Deadline || problem.Code == abi.Cancelled) {
			problem = stopped(ctx)
		}
	}()
	return s.do(f, ctx)
}

// skips reports whether a test leaves a layer out.
func (f *flight) skips(layer string) bool { return f.testOnlySkip != nil && f.testOnlySkip(f, layer) }

// stopped says why a context ended, in the words of whoever ended it.
func stopped(ctx context.Context) *abi.Problem { return host.ProblemOf(context.Cause(ctx)) }
