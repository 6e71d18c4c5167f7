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
	w := &watch{r: r, job: job, fence: fence, renewed: asked, stop: stop}
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

// wait keeps the lease until the run has ended, and ends it when it must.
func (w *watch) wait(ctx context.Context, done <-chan error) error {
	renew := time.NewTicker(w.r.pace.lease / 3)
	defer renew.Stop()
	stopping := ctx.Done()
	var graceOver <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-renew.C:
			w.renew(ctx)
		case <-stopping:
			stopping, graceOver = nil, time.After(w.r.pace.grace)
		case <-graceOver:
			w.stop(abi.NewProblem(abi.Cancelled, "job %s was broken off because its host stops", w.job.Name))
		}
	}
}

// renew asks for more time. A run goes on through failures of the store as long
// as nobody can have taken the job over.
func (w *watch) renew(ctx context.Context) {
	lease := w.r.pace.lease
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease/3)
	defer cancel()
	asked := time.Now()
	err := w.r.store.RenewJob(ctx, w.job.Name, w.fence, lease)
	switch {
	case err == nil:
		w.renewed = asked
	case errors.Is(err, state.ErrLeaseLost), time.Since(w.renewed) > lease/2: // the next question would come too late
		w.stop(err)
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
