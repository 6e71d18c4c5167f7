package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/server"
)

func (p *program) serveCommand() *cobra.Command {
	var listen, idle string
	c := &cobra.Command{
		Use: "serve", Short: "Serve the host over HTTP on loopback", Args: cobra.NoArgs,
		Long: `Serve loads the newest release of every skill of the registry and answers on loopback:
POST /v1/sessions, POST /v1/sessions/{id}/turns (server-sent events), /uploads, /approvals/{id}, /clear,
/mode and /calls/{id}/objection, POST /v1/decisions/{id}/act and /outcome, GET /v1/approvals, /v1/decisions,
/v1/tools, /v1/lives, /healthz and /readyz.
A session in which nothing is said for --session-idle ends, and one that waits for a person's answer after
48 times as long: what it leaves is kept in memory, and its next input, or the answer, goes on with it.
Ctrl-C lets running turns finish.`,
		Example: `  sluice serve --registry ./registry.git
  curl -s -H 'Content-Type: application/json' -H 'Sluice-User: mia' -d '{}' http://127.0.0.1:7700/v1/sessions`,
		RunE: func(c *cobra.Command, _ []string) error { return p.serve(c.Context(), listen, idle) },
	}
	c.Flags().IntVar(&p.engine.Cores, "cores", 0, "how many guests run at once (default: the processor's cores); one tenant has at most half while others wait")
	c.Flags().Int64Var(&p.engine.Budget.Rate, "tenant-fuel", 0, "units of fuel (instructions) a second that the guests of one tenant may use in the long run (default: no bound)")
	c.Flags().StringVar(&p.alerts, "alerts", p.env("SLUICE_ALERTS"), "URL that alerts are posted to as JSON, beside the log (SLUICE_ALERTS)")
	c.Flags().Lookup("alerts").DefValue = "" // it may hold a token
	for _, bound := range []struct {
		name, of string
		tokens   *int64
	}{{"task", "one user input", &p.limits.Task.Tokens}, {"session", "one session", &p.limits.Session.Tokens}, {"live", "all sessions of one live", &p.limits.Live.Tokens}} {
		c.Flags().Int64Var(bound.tokens, bound.name+"-tokens", *bound.tokens, "tokens that "+bound.of+" may use: answers, and input that the model's vendor had not cached; 0 lets nothing run")
	}
	p.claimsFlag(c)
	c.Flags().StringVar(&idle, "session-idle", cmp.Or(p.env("SLUICE_SESSION_IDLE"), defaultIdle), "after how long without an input a session ends, such as 30m; 0 for never (SLUICE_SESSION_IDLE)")
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:7700", "loopback address and port; port 0 takes a free one")
	return c
}

func (p *program) serve(ctx context.Context, listen, idle string) (err error) {
	if min(p.limits.Task.Tokens, p.limits.Session.Tokens, p.limits.Live.Tokens) < 0 {
		return fmt.Errorf("%w: --task-tokens, --session-tokens and --live-tokens take 0 or more", errUsage)
	}
	if err := p.validClaims(); err != nil {
		return err
	}
	rest, err := readIdle(idle)
	if err != nil {
		return err
	}
	m, err := p.model.open()
	if err != nil {
		return err
	}
	listener, err := server.Listen(listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	h, err := p.openHome(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close(ctx)) }()
	if err := p.loadAll(ctx, h); err != nil {
		return err
	}
	if err := p.remember(ctx, h); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, nil))
	quiet, err := p.watch(h, log)
	if err != nil {
		return err
	}
	defer quiet()
	q, err := p.sealer(ctx, h.store, log)
	if err != nil {
		return err
	}
	a := p.agent(h, m)
	endJobs, err := startJobs(ctx, h, a, rest, q, log)
	if err != nil {
		return err
	}
	defer endJobs()
	s := server.New(server.Config{
		Agent: a, Version: versionOf(), Log: log,
		Ready: h.checks(), Helps: h.helps(), Blobs: h.blobs, Memory: h.recall,
	})
	fmt.Fprintf(p.stderr, "serving %d skills on http://%s\n", len(h.releases.Current()), listener.Addr())
	return s.Serve(ctx, listener)
}

// watch sends the alerts of the gate to the log and, if one is named, to a URL.
// The function that it gives ends that.
func (p *program) watch(h *hall, log *slog.Logger) (quiet func(), err error) {
	quiet = func() {}
	list := []host.Hook{dispatch.LogAlerts(log)}
	if p.alerts != "" {
		w, err := dispatch.NewWebhook(p.alerts, log)
		if err != nil {
			return nil, fmt.Errorf("%w: --alerts: %v", errUsage, err)
		}
		quiet, list = w.Close, append(list, w.Hook())
	}
	h.dispatch.Log, h.alerts = log, list
	return quiet, h.join()
}

// helps are what /readyz asks of what turns can do without: while an index is not there,
// words are remembered all the same, and nothing is recalled.
func (h *hall) helps() []server.Check {
	if h.minding == nil || h.minding.index == nil {
		return nil
	}
	return []server.Check{{Name: "memory index", Do: h.minding.Ready}}
}

// checks are what /readyz asks.
func (h *hall) checks() []server.Check {
	return []server.Check{
		{Name: "store", Do: h.store.Ping},
		{Name: "skills", Do: func(context.Context) error {
			if len(h.releases.Current()) == 0 {
				return host.Fail("ready", abi.NewProblem(abi.InvalidRegistry, "no skill is loaded"), nil)
			}
			return nil
		}},
	}
}
