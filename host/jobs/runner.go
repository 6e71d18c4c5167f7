package jobs

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// Bounds of a runner and its jobs.
const (
	MaxJobs      = 64              // of one runner: each asks the store when it may be due
	MinEvery     = time.Second     // of a job: what must be more often is not periodic work
	DefaultLimit = 5 * time.Minute // of one run, where a job names none: a purge of a large store
	MaxLimit     = time.Hour       // of one run: others wait for it

	DefaultLease = 30 * time.Second
	MinLease     = 3 * time.Second // a store that is slow for a second must not end a run
)

// A Job is a piece of periodic work.
type Job struct {
	Name  string        // the same on every replica; an id as the store takes it
	Every time.Duration // from start to start, MinEvery to state.MaxJobPause; up to a tenth less, so that jobs do not fall into step
	Limit time.Duration // of one run, after which its context ends; 0 means DefaultLimit

	// Lease is how long the job of a runner that died waits for another, which a
	// run renews three times in it; 0 means DefaultLease, else MinLease or more.
	Lease time.Duration

	// Do does the work once. It must be safe to run again after any break, and
	// must end soon after its context does: nothing else can end it, and the
	// runner waits. Another replica may begin the same while it has not ended,
	// if the store could not be reached for long.
	Do func(ctx context.Context) error
}

// pace is how often a runner does what; other than the default only in tests.
type pace struct {
	lease  time.Duration // of a run, where a job names none
	ask    time.Duration // the longest between two questions to the store
	settle time.Duration // the shortest
	grace  time.Duration // for a run to end by itself when the runner stops
	record time.Duration // for its end to be kept
}

func defaultPace() pace {
	return pace{lease: DefaultLease, ask: 15 * time.Second, settle: time.Second, grace: 5 * time.Second, record: 10 * time.Second}
}

// A Runner runs jobs, one at a time. Any number of them may work on one store.
type Runner struct {
	store  *state.Store
	log    *slog.Logger
	jobs   []Job
	holder string
	pace   pace
}

// New makes a runner. It fails with BadValue if a job has no name, no function
// or times out of bounds, or two have one name.
func New(store *state.Store, log *slog.Logger, jobs ...Job) (*Runner, error) {
	if problem := check(jobs); problem != nil {
		return nil, host.Fail("jobs.New", problem, nil)
	}
	return &Runner{store: store, log: log, jobs: jobs, holder: host.NewID("runner_"), pace: defaultPace()}, nil
}

func check(jobs []Job) *abi.Problem {
	if len(jobs) > MaxJobs {
		return abi.NewProblem(abi.BadValue, "%d jobs; a runner takes at most %d", len(jobs), MaxJobs)
	}
	seen := map[string]bool{}
	for _, job := range jobs {
		switch {
		case job.Name == "" || len(job.Name) > host.MaxIDBytes:
			return abi.NewProblem(abi.BadValue, "a job's name has %d bytes; give 1 to %d", len(job.Name), host.MaxIDBytes)
		case seen[job.Name]:
			return abi.NewProblem(abi.BadValue, "there are two jobs %s", job.Name)
		case job.Do == nil:
			return abi.NewProblem(abi.BadValue, "job %s does nothing", job.Name)
		case job.Every < MinEvery || job.Every > state.MaxJobPause:
			return abi.NewProblem(abi.BadValue, "job %s is to run every %s; give %s to %s", job.Name, job.Every, MinEvery, state.MaxJobPause)
		case job.Limit < 0 || job.Limit > MaxLimit:
			return abi.NewProblem(abi.BadValue, "a run of job %s may last %s; give up to %s", job.Name, job.Limit, MaxLimit)
		}
		if job.Lease != 0 && (job.Lease < MinLease || job.Lease > state.MaxLeaseTime) {
			return abi.NewProblem(abi.BadValue, "job %s has a lease of %s; give %s to %s", job.Name, job.Lease, MinLease, state.MaxLeaseTime)
		}
		seen[job.Name] = true
	}
	return nil
}

// Run runs the jobs whenever they are due until the context ends. It comes back
// when the run that is on has ended, which gets a few seconds to do so by
// itself.
func (r *Runner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := r.pace.ask
		for _, job := range r.jobs {
			if ctx.Err() != nil {
				return
			}
			wait = min(wait, r.turn(ctx, job))
		}
		wait = max(wait, r.pace.settle)
		sleep(ctx, wait+rand.N(wait/10+1)) // replicas do not ask in step
	}
}

// turn runs a job if it is this runner's turn, and gives how long to wait
// before the next question.
func (r *Runner) turn(ctx context.Context, job Job) time.Duration {
	asked := time.Now()
	turn, err := r.store.TakeJob(ctx, state.JobRequest{Name: job.Name, Holder: r.holder, Every: job.Every, Lease: r.lease(job)})
	switch {
	case err != nil && ctx.Err() == nil:
		r.log.Warn("job cannot be taken", "job", job.Name, "error", err)
		return r.pace.ask
	case err != nil:
		return r.pace.ask
	case turn.Fence == 0:
		return turn.In
	}
	next := job.Every - rand.N(job.Every/10+1)
	failed := r.run(ctx, job, turn.Fence, asked)
	if failed != nil && ctx.Err() != nil {
		next = 0 // broken off: another replica may begin at once
	}
	r.finish(ctx, job, turn.Fence, failed, next, time.Since(asked))
	return next
}

func (r *Runner) lease(job Job) time.Duration { return cmp.Or(job.Lease, r.pace.lease) }

// finish tells the log and the store how a run ended.
func (r *Runner) finish(ctx context.Context, job Job, fence state.Fence, failed error, next, elapsed time.Duration) {
	end := state.JobEnd{Next: next}
	if failed != nil {
		end.Failure = failed.Error()
		r.log.Error("job failed", "job", job.Name, "elapsed", elapsed, "error", failed)
	} else {
		r.log.Info("job", "job", job.Name, "elapsed", elapsed)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.pace.record)
	defer cancel()
	if err := r.store.FinishJob(ctx, job.Name, fence, end); err != nil {
		r.log.Error("job's end cannot be kept", "job", job.Name, "error", err)
	}
}

// Jobs gives the runner's jobs as the store knows them, in the order of their
// names: who is at it, the last run, the next one. A job that no replica has
// ever run has only its name.
func (r *Runner) Jobs(ctx context.Context) ([]state.Job, error) {
	known := map[string]state.Job{}
	for after := ""; ; {
		page, err := r.store.Jobs(ctx, after, 0)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return r.named(known), nil
		}
		for _, job := range page {
			known[job.Name], after = job, job.Name
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
