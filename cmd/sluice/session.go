package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/audit"
	"github.com/sluicehq/sluice/host/model"
)

func (p *program) sessionCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "session", Short: "Look at sessions, go on with them, and prove their state",
		Long: `Sessions are in the store (--store, or sluice.db in the home). Looking at them disturbs nobody: a turn
that runs on another host goes on.`,
	}
	c.AddCommand(p.sessionListCommand(), p.sessionShowCommand(), p.sessionResumeCommand(), p.sessionReplayCommand(),
		p.sessionCheckpointsCommand(), p.sessionRollbackCommand(), p.sessionPurgeCommand())
	return c
}

// withHome opens the host that the command line names for one piece of work.
func (p *program) withHome(ctx context.Context, do func(*hall) error) error {
	h, err := p.openHome(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(h), h.close(ctx))
}

func (p *program) sessionListCommand() *cobra.Command {
	var s agent.Session
	var after string
	c := &cobra.Command{
		Use: "list", Short: "List a user's sessions", Args: cobra.NoArgs,
		Example: "  sluice session list\n  sluice session list --tenant acme --user mia --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withHome(c.Context(), func(h *hall) error { return p.listSessions(c.Context(), h, s.Ref, host.SessionID(after)) })
		},
	}
	ownerFlags(c, &s.Ref)
	c.Flags().StringVar(&after, "after", "", "only sessions whose ids follow on this one")
	return c
}

// ownerFlags say whose session it is.
func ownerFlags(c *cobra.Command, ref *host.SessionRef) {
	c.Flags().StringVar((*string)(&ref.Tenant), "tenant", "local", "the tenant")
	c.Flags().StringVar((*string)(&ref.User), "user", "local", "the user")
}

func (p *program) listSessions(ctx context.Context, h *hall, ref host.SessionRef, after host.SessionID) error {
	all := []agent.Overview{}
	for {
		page, next, err := agent.Sessions(ctx, h.store, ref.Tenant, ref.User, after, 0)
		if err != nil {
			return err
		}
		all = append(all, page...)
		if next == "" {
			break
		}
		after = next
	}
	if p.json {
		p.print(all)
		return nil
	}
	w := newTable(p.stdout, 0)
	fmt.Fprintln(w, "SESSION\tUPDATED\tINPUTS\tMESSAGES\tLIVE\tOPEN")
	for _, o := range all {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", o.ID, when(o.Updated), o.Inputs, o.Messages, o.Live, o.Active)
	}
	return w.Flush()
}

func when(t time.Time) string { return t.Local().Format(time.DateTime) }

// aSession makes a command about one session, whose id is its argument.
func (p *program) aSession(use, short, long, example string, do func(context.Context, *hall, host.SessionRef) error) *cobra.Command {
	var ref host.SessionRef
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ref.Session = host.SessionID(args[0])
			return p.withHome(c.Context(), func(h *hall) error { return do(c.Context(), h, ref) })
		},
	}
	ownerFlags(c, &ref)
	return c
}

func (p *program) sessionShowCommand() *cobra.Command {
	var from int
	var topics bool
	c := p.aSession("show SESSION", "Show what was said in a session", "", "  sluice session show s1\n  sluice session show s1 --from 40 --json\n  sluice session show s1 --topics",
		func(ctx context.Context, h *hall, ref host.SessionRef) error {
			if topics {
				return p.showTopics(ctx, h, ref)
			}
			return p.showSession(ctx, h, ref, from)
		})
	c.Flags().IntVar(&from, "from", 0, "the first message to show, counted from 0")
	c.Flags().BoolVar(&topics, "topics", false, "show what was talked about, in place of the messages")
	return c
}

func (p *program) showSession(ctx context.Context, h *hall, ref host.SessionRef, from int) error {
	overview, err := agent.Show(ctx, h.store, ref)
	if err != nil {
		return err
	}
	if p.json {
		p.print(overview)
	} else {
		fmt.Fprintf(p.stdout, "session %s, begun %s, %d inputs, %d messages\n", overview.ID, when(overview.Created), overview.Inputs, overview.Messages)
		if overview.Active != "" {
			fmt.Fprintf(p.stdout, "input %s is not answered yet: it runs, or goes on with sluice session resume\n", overview.Active)
		}
	}
	for at := max(0, from); ; {
		page, err := agent.Messages(ctx, h.store, ref, at)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, m := range page {
			p.tellMessage(at, m)
			at++
		}
	}
}

func (p *program) tellMessage(at int, m model.Message) {
	if p.json {
		p.print(map[string]any{"index": at, "message": m})
		return
	}
	fmt.Fprintf(p.stdout, "%5d %-9s %s\n", at, m.Role, strings.ReplaceAll(m.Text, "\n", "\n                "))
	for _, c := range m.Calls {
		fmt.Fprintf(p.stdout, "                → %s %s\n", c.Tool, c.Args)
	}
}

func (p *program) showTopics(ctx context.Context, h *hall, ref host.SessionRef) error {
	topics, err := agent.Topics(ctx, h.store, ref, "", "")
	if err != nil {
		return err
	}
	if p.json {
		p.print(topics)
		return nil
	}
	for _, t := range topics {
		fmt.Fprintf(p.stdout, "%5d-%d %s %s\n", t.From, t.To-1, t.Title, strings.Join(t.Scenes, " "))
	}
	return nil
}

func (p *program) sessionResumeCommand() *cobra.Command {
	return p.aSession("resume SESSION", "Go on with the input that was not answered",
		`Resume goes on where the turn stopped, also one that began on another host: what was done is not done
again, and the model is not asked again what it has answered.`,
		"  sluice session resume s1 --registry ./registry.git",
		func(ctx context.Context, h *hall, ref host.SessionRef) error {
			m, err := p.model.open()
			if err != nil {
				return err
			}
			if err := p.loadAll(ctx, h); err != nil {
				return err
			}
			if err := p.remember(ctx, h); err != nil {
				return err
			}
			answer, err := p.agent(h, m).Resume(ctx, agent.Session{Ref: ref}, p.show)
			if err != nil {
				return err
			}
			if p.json {
				p.print(map[string]any{"answer": answer})
			} else {
				fmt.Fprintln(p.stdout)
			}
			return nil
		})
}

func (p *program) sessionReplayCommand() *cobra.Command {
	return p.aSession("replay SESSION", "Make a session's state again from its records, and compare",
		`Replay begins with nothing and makes every change of the session's state again, in the order of the
records, with the reducers of the releases that they name. It fails unless every value is what the
record says and, in the end, what is stored, byte for byte.`,
		"  sluice session replay s1 --registry ./registry.git",
		func(ctx context.Context, h *hall, ref host.SessionRef) error {
			rebuilt, err := h.dispatch.Rebuild(ctx, h.releases, ref)
			if err != nil {
				return err
			}
			if p.json {
				p.print(rebuilt)
			} else {
				for _, key := range rebuilt.Keys {
					fmt.Fprintf(p.stdout, "%s (version %d) %s\n", key.Key, key.Version, key.Data)
				}
				for _, missing := range rebuilt.Missing {
					fmt.Fprintf(p.stderr, "sluice: %s is not to be had; keys that only it declares were not compared\n", missing)
				}
			}
			if rebuilt.Difference != nil {
				fmt.Fprintf(p.stderr, "sluice: %s\n", rebuilt.Difference)
				return errRefused
			}
			fmt.Fprintf(p.stderr, "%d keys after %d changes on record: the same\n", len(rebuilt.Keys), rebuilt.Records)
			return nil
		})
}

func (p *program) sessionCheckpointsCommand() *cobra.Command {
	return p.aSession("checkpoints SESSION", "List the checkpoints of a session's files", "", "  sluice session checkpoints s1",
		func(ctx context.Context, h *hall, ref host.SessionRef) error {
			list, err := h.files.Checkpoints(ctx, ref)
			if err != nil {
				return err
			}
			if p.json {
				p.print(list)
				return nil
			}
			w := newTable(p.stdout, 0)
			fmt.Fprintln(w, "CHECKPOINT\tTIME\tFILES\tBYTES\tSTATE\tLABEL")
			for _, c := range list {
				state := "ended"
				switch {
				case c.Damaged:
					state = "damaged"
				case c.Open:
					state = "open"
				}
				fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", c.ID, when(c.Time), c.Files, c.Bytes, state, c.Label)
			}
			return w.Flush()
		})
}

func (p *program) sessionRollbackCommand() *cobra.Command {
	var id string
	c := p.aSession("rollback SESSION", "Put a session's files back to a checkpoint, exactly", "", "  sluice session rollback s1 --to 3-0a1b2c3d",
		func(ctx context.Context, h *hall, ref host.SessionRef) error {
			if id == "" {
				return fmt.Errorf("%w: name the checkpoint with --to", errUsage)
			}
			if err := p.agent(h, nil).RollBack(ctx, ref, id); err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "the files of %s are again as they were at %s\n", ref.Session, id)
			return nil
		})
	c.Flags().StringVar(&id, "to", "", "the checkpoint, as sluice session checkpoints lists it")
	return c
}

func (p *program) sessionPurgeCommand() *cobra.Command {
	var yes, erase bool
	var by, why string
	c := p.aSession("purge SESSION", "Remove everything that a session has; the audit log stays",
		`Purge removes a session's state, blobs and files, and what is remembered of it. Its records stay in the audit log; with --erase their
payload is removed too: who it was and what was said and done, but not that something was.`,
		"  sluice session purge s1 --yes\n  sluice session purge s1 --yes --erase --by privacy@shop.example --why 'request 17'",
		func(ctx context.Context, h *hall, ref host.SessionRef) error {
			switch {
			case !yes:
				return fmt.Errorf("%w: a purge cannot be taken back; say --yes", errUsage)
			case erase && by == "":
				return fmt.Errorf("%w: an erasure is on record; say with --by who wants it", errUsage)
			}
			if err := p.attach(ctx, h, p.memory.shared()); err != nil {
				return err
			}
			if !erase {
				return p.step("removing "+string(ref.Session), func() error { return p.agent(h, nil).Purge(ctx, ref) })
			}
			return p.step("removing "+string(ref.Session), func() error {
				n, err := p.agent(h, nil).PurgeWithRecords(ctx, p.sequencer(h.store), audit.EraseRequest{Of: ref, By: by, Why: why})
				fmt.Fprintf(p.stderr, "%d audit records of %s were erased\n", n, ref.Session)
				return err
			})
		})
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	c.Flags().BoolVar(&erase, "erase", false, "also remove the payload of its audit records")
	erasureFlags(c, &by, &why)
	return c
}
