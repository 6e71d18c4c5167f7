package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host"
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
	list := slices.Concat(jobs.Purges(h.store, jobs.DefaultAges()), h.memoryJobs(log), endJobs(a, log), idleJobs(a, idle, log))
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

// owedEvery is how often ends are looked for that hooks were not told of: they wait for
// minutes in any case.
const owedEvery = time.Minute

// endJobs gives the job that tells of such ends.
func endJobs(a *agent.Agent, log *slog.Logger) []jobs.Job {
	return []jobs.Job{{Name: "session.owed", Every: owedEvery, Do: func(ctx context.Context) error {
		told, err := a.TellOwed(ctx)
		if told > 0 {
			log.InfoContext(ctx, "ends were told that hooks had missed", "ends", told)
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
	var again bool
	c := &cobra.Command{
		Use: "jobs", Short: "List periodic work: its last run, and its next", Args: cobra.NoArgs,
		Long: `Jobs run on whatever host serves the store (sluice serve), each once for each time that it is due.
Behind them stand the ends of sessions and lives that not all hooks, such as memory, have taken, or that are being
told right now. They are told again, less and less often and for two weeks at most; --again has those told again
that were given up by then. A host with --memory off leaves them to others, and drops what nobody has told of for a month.`,
		Example: "  sluice jobs\n  sluice jobs --json\n  sluice jobs --again",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withHome(c.Context(), func(h *hall) error {
				if again {
					return p.reviveOwed(c.Context(), h)
				}
				return p.listJobs(c.Context(), h)
			})
		},
	}
	c.Flags().BoolVar(&again, "again", false, "have the ends told again that were given up, and list nothing")
	return c
}

// reviveOwed has ends told again that were given up.
func (p *program) reviveOwed(ctx context.Context, h *hall) error {
	sum := 0
	for {
		n, err := h.store.ReviveOwed(ctx)
		if err != nil {
			return err
		}
		if sum += n; n == 0 {
			break
		}
	}
	if p.json {
		p.print(map[string]int{"again": sum})
		return nil
	}
	fmt.Fprintf(p.stdout, "%d ends are told again by the next host that serves the store\n", sum)
	return nil
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
	owed, err := h.store.OwedEnds(ctx, shownOwed+1)
	if err != nil {
		return err
	}
	if p.json {
		p.print(list)
		p.print(map[string]audit.Lag{"audit": lag})
		p.print(map[string][]owedEnd{"owed": endsOf(owed)})
		return nil
	}
	w := newTable(p.stdout, 0)
	fmt.Fprintln(w, "JOB\tLAST RUN\tNEXT RUN\tAT IT\tFAILURE")
	for _, j := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", j.Name, whenever(j.EndedAt), whenever(j.NextAt), j.Holder, onOneLine(j.Failure))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "\naudit: %d records of %d tenants are not sealed; the oldest is from %s\n", lag.Records, lag.Behind, whenever(lag.Oldest))
	return p.listOwed(owed)
}

// shownOwed bounds the ends that are listed: who sees so many looks for one cause.
const shownOwed = 100

// An owedEnd is what people are told of an end that is owed.
type owedEnd struct {
	Tenant  host.TenantID  `json:"tenant"`
	User    host.UserID    `json:"user,omitempty"`
	Session host.SessionID `json:"session,omitempty"`
	Live    host.LiveID    `json:"live,omitempty"`
	Ended   time.Time      `json:"ended"`
	Next    time.Time      `json:"next,omitzero"` // none where it was given up
	Tries   int            `json:"tries"`
	Failure string         `json:"failure,omitempty"`
}

func endsOf(owed []state.Owed) []owedEnd {
	list := make([]owedEnd, 0, len(owed))
	for _, o := range owed[:min(len(owed), shownOwed)] {
		list = append(list, owedEnd{o.Session.Tenant, o.Session.User, o.Session.Session, o.Live, o.EndedAt, o.Next, o.Tries, o.Failure})
	}
	return list
}

func (e owedEnd) what() string {
	if e.Live != "" {
		return "live " + string(e.Live)
	}
	return "session " + string(e.Session)
}

func (p *program) listOwed(owed []state.Owed) error {
	if len(owed) == 0 {
		return nil
	}
	fmt.Fprint(p.stdout, "\nends that not all hooks have taken, or that are being told right now")
	if len(owed) > shownOwed {
		fmt.Fprintf(p.stdout, ", the first %d", shownOwed)
	}
	fmt.Fprintln(p.stdout, ":")
	w := newTable(p.stdout, 0)
	fmt.Fprintln(w, "TENANT\tUSER\tEND OF\tENDED\tTRIES\tNEXT TRY\tFAILURE")
	for _, e := range endsOf(owed) {
		next := "given up"
		if !e.Next.IsZero() {
			next = when(e.Next)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", e.Tenant, e.User, e.what(), when(e.Ended), e.Tries, next, onOneLine(e.Failure))
	}
	return w.Flush()
}

// onOneLine gives what several failures say as one cell of a table.
func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// whenever is when, for a time that may not have come.
func whenever(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return when(t)
}
