package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// A watch is one run with what may end it.
type watch struct {
	r       *Runner
	job     Job
	fence   state.Fence
	lease   time.Duration
	renewed time.Time // when the store was last asked for the lease that it gave
	stop    context.CancelCauseFunc
}

// run runs a job once and waits for its end. The error says why it did not run
// well; asked is when the lease was asked for.
func (r *Runner) run(ctx context.Context, job Job, fence state.Fence, asked time.Time) error {
	limit := job.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	limited, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit,
		abi.NewProblem(abi.Deadline, "job %s ran longer than %s and was ended", job.Name, limit))
	defer cancel()
	work, stop := context.WithCancelCause(limited)
	defer stop(nil)
	done := make(chan error, 1)
	go func() { done <- do(work, job) }()
	w := &watch{r: r, job: job, fence: fence, lease: r.lease(job), renewed: asked, stop: stop}
	err := w.wait(ctx, done)
	if err != nil && work.Err() != nil {
		return host.Fail("jobs.Run", host.ProblemOf(context.Cause(work)), err)
	}
	return err
}

// do runs a job's function, with a panic as an error: it has a goroutine of its
// own, where a panic would end the process.
func do(ctx context.Context, job Job) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			problem := abi.NewProblem(abi.HostBug, "job %s failed in a way that is a fault of the host", job.Name)
			err = host.Fail("jobs.Run", problem, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	return job.Do(ctx)
}

// wait keeps the lease until the run has ended, and ends it when it must. The
// store is asked in the background: it may answer long after the lease is over.
func (w *watch) wait(ctx context.Context, done <-chan error) error {
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	renew := time.NewTicker(w.lease / 3)
	defer renew.Stop()
	over := time.NewTimer(w.left())
	defer over.Stop()
	stopping := ctx.Done()
	var answer <-chan renewal // nil while nothing is asked
	var graceOver <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-renew.C:
			if answer == nil {
				answer = w.renew(asking)
			}
		case a := <-answer:
			answer = nil
			w.heed(a)
			over.Reset(w.left())
		case <-over.C:
			w.stop(abi.NewProblem(abi.StoreFailure, "job %s was ended because the store did not renew its lease in time", w.job.Name))
		case <-stopping:
			stopping, graceOver = nil, time.After(w.r.pace.grace)
		case <-graceOver:
			w.stop(abi.NewProblem(abi.Cancelled, "job %s was broken off because its host stops", w.job.Name))
		}
	}
}

// left gives how long the run may go on without another renewal: the last sixth
// of the lease is for it to end, before others begin.
func (w *watch) left() time.Duration {
	return time.Until(w.renewed.Add(w.lease - w.lease/6))
}

// A renewal is what became of a question for more time.
type renewal struct {
	asked time.Time
	err   error
}

// renew asks for more time. The answer is buffered: nobody may be there for it.
func (w *watch) renew(ctx context.Context) <-chan renewal {
	answer := make(chan renewal, 1)
	asked := time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, w.lease/3)
		defer cancel()
		answer <- renewal{asked, w.r.store.RenewJob(ctx, w.job.Name, w.fence, w.lease)}
	}()
	return answer
}

// heed takes an answer. A run goes on through failures of the store as long as
// nobody can have taken the job over.
func (w *watch) heed(a renewal) {
	switch {
	case a.err == nil:
		w.renewed = a.asked
	case errors.Is(a.err, state.ErrLeaseLost), time.Since(w.renewed) > w.lease/2: // the next question would come too late
		w.stop(a.err)
	}
}

// named gives the runner's jobs in the order of their names.
func (r *Runner) named(known map[string]state.Job) []state.Job {
	var jobs []state.Job
	for _, job := range r.jobs {
		row := known[job.Name]
		row.Name = job.Name
		jobs = append(jobs, row)
	}
	slices.SortFunc(jobs, func(a, b state.Job) int { return strings.Compare(a.Name, b.Name) })
	return jobs
}
