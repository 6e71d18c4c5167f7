package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/audit"
	"github.com/sluicehq/sluice/host/jobs"
	"github.com/sluicehq/sluice/host/state"
)

// sealLease is how long records wait to be sealed where the host that did so was
// killed: as a run goes on from what is in the store, a lease that is lost for
// nothing costs little.
const sealLease = 5 * time.Second

// startJobs runs the host's periodic work until the function that it gives is
// called, which waits for the run that is on. Idle is how long a session may say
// nothing until it ends.
func startJobs(ctx context.Context, h *hall, a *agent.Agent, idle time.Duration, q *audit.Sequencer, log *slog.Logger) (end func(), err error) {
	list := slices.Concat(jobs.Purges(h.store, jobs.DefaultAges()), h.memoryJobs(log), idleJobs(a, idle, log))
	runner, err := jobs.New(h.store, log, list...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	// A run of the sealing lasts for minutes, and nothing waits for it: it has a
	// runner of its own, and ends at once when the host stops.
	seal := func(run context.Context) error {
		run, stop := context.WithCancel(run)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		if err := q.Run(run); ctx.Err() == nil {
			return err
		}
		return nil
	}
	sealing, err := jobs.New(h.store, log, jobs.Job{Name: "audit.seal", Every: jobs.MinEvery, Limit: jobs.MaxLimit, Lease: sealLease, Do: seal})
	if err != nil {
		cancel()
		return nil, err
	}
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	running.Go(func() { sealing.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}, nil
}

// idleEvery is how often idle sessions are looked for: a session that ends a minute
// late is no matter.
const idleEvery = time.Minute

// idleJobs gives the job that ends sessions that said nothing for so long; none where
// that is 0, and they never end by themselves.
func idleJobs(a *agent.Agent, idle time.Duration, log *slog.Logger) []jobs.Job {
	if idle == 0 {
		return nil
	}
	return []jobs.Job{{Name: "session.idle", Every: max(min(idle, idleEvery), jobs.MinEvery), Do: func(ctx context.Context) error {
		ended, err := a.EndIdle(ctx, idle)
		if ended > 0 {
			log.InfoContext(ctx, "sessions that said nothing for long were ended", "sessions", ended, "idle", idle)
		}
		return err
	}}}
}

// The idle time of sessions, as the command line gives it. The default is longer than
// most pauses in a conversation; the bounds are those of how often a job runs.
const (
	defaultIdle = "30m"
	minIdle     = jobs.MinEvery
	maxIdle     = state.MaxJobPause
)

// readIdle reads --session-idle.
func readIdle(text string) (time.Duration, error) {
	idle, err := time.ParseDuration(text)
	if err != nil || idle != 0 && (idle < minIdle || idle > maxIdle) {
		return 0, fmt.Errorf("%w: --session-idle takes a time of %s to %s such as 30m, or 0 for sessions that never end by themselves (got %q)", errUsage, minIdle, maxIdle, text)
	}
	return idle, nil
}

func (p *program) jobsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "jobs", Short: "List periodic work: its last run, and its next", Args: cobra.NoArgs,
		Long:    `Jobs run on whatever host serves the store (sluice serve), each once for each time that it is due.`,
		Example: "  sluice jobs\n  sluice jobs --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withHome(c.Context(), func(h *hall) error { return p.listJobs(c.Context(), h) })
		},
	}
}

func (p *program) listJobs(ctx context.Context, h *hall) error {
	list, err := h.store.Jobs(ctx, "", 0)
	if err != nil {
		return err
	}
	lag, err := p.sequencer(h.store).Lag(ctx)
	if err != nil {
		return err
	}
	if p.json {
		p.print(list)
		p.print(map[string]audit.Lag{"audit": lag})
		return nil
	}
	w := newTable(p.stdout, 0)
	fmt.Fprintln(w, "JOB\tLAST RUN\tNEXT RUN\tAT IT\tFAILURE")
	for _, j := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", j.Name, whenever(j.EndedAt), whenever(j.NextAt), j.Holder, j.Failure)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\naudit: %d records of %d tenants are not sealed; the oldest is from %s\n", lag.Records, lag.Behind, whenever(lag.Oldest))
	return nil
}

// whenever is when, for a time that may not have come.
func whenever(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return when(t)
}
