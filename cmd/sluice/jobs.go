package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host/jobs"
)

// startJobs runs the host's periodic work until the function that it gives is
// called, which waits for the run that is on.
func startJobs(ctx context.Context, h *hall, log *slog.Logger) (end func(), err error) {
	runner, err := jobs.New(h.store, log, jobs.Purges(h.store, jobs.DefaultAges())...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}, nil
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
	if p.json {
		p.print(list)
		return nil
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tLAST RUN\tNEXT RUN\tAT IT\tFAILURE")
	for _, j := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", j.Name, whenever(j.EndedAt), whenever(j.NextAt), j.Holder, j.Failure)
	}
	return w.Flush()
}

// whenever is when, for a time that may not have come.
func whenever(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return when(t)
}
