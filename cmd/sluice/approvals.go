package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/state"
)

// An approvals is one run of the command: who asks or answers, and in which
// language they are spoken to.
type approvals struct {
	*program
	tenant host.TenantID
	user   host.UserID
	locale string
}

func (p *program) approvalsCommand() *cobra.Command {
	a := &approvals{program: p}
	c := &cobra.Command{
		Use: "approvals", Short: "See and answer what waits for a person's confirmation",
		Long: `Calls that change much, or that a rule marks, wait until a person confirms exactly that call: the
tool, its release, the arguments and the tier. There is no time-out: what nobody answers never runs.
The questions are in the store, so that they are answered in any terminal and by any replica.`,
		Example: `  sluice approvals list
  sluice approvals approve ask_0006… --registry ./registry.git
  sluice approvals reject ask_0006… --words "too cheap; at least 80"`,
	}
	flags := c.PersistentFlags()
	flags.StringVar((*string)(&a.tenant), "tenant", "local", "the tenant")
	flags.StringVar((*string)(&a.user), "user", "local", "who answers; of standing grants, whose they are")
	flags.StringVar(&a.locale, "locale", "", "language of what is printed, such as en or zh-CN")
	c.AddCommand(a.listCommand(), a.showCommand(), a.answerCommand(true), a.answerCommand(false), a.cancelCommand(), a.purgeCommand(),
		a.grantCommand(), a.grantsCommand(), a.revokeCommand())
	return c
}

// onStore runs work on the store alone.
func (a *approvals) onStore(ctx context.Context, work func(*state.Store) error) error {
	store, err := state.Open(ctx, cmp.Or(a.store, storeIn(a.home)), state.Options{})
	if err != nil {
		return err
	}
	return errors.Join(work(store), store.Close())
}

// anyStatus lists all questions.
const anyStatus = "all"

func (a *approvals) listCommand() *cobra.Command {
	var status, after string
	c := &cobra.Command{
		Use: "list", Short: "List the tenant's questions, the open ones by default", Args: cobra.NoArgs,
		Example: "  sluice approvals list\n  sluice approvals list --status all --json",
		RunE: func(c *cobra.Command, _ []string) error {
			filter := state.ApprovalFilter{Status: state.ApprovalStatus(status), After: host.ApprovalID(after)}
			known := []state.ApprovalStatus{state.ApprovalOpen, state.ApprovalApproved, state.ApprovalRejected, state.ApprovalConflicted, state.ApprovalCancelled, state.ApprovalUsed}
			if status == anyStatus {
				filter.Status = ""
			} else if !slices.Contains(known, filter.Status) {
				return fmt.Errorf("%w: there is no status %q; use %v or %s", errUsage, status, known, anyStatus)
			}
			return a.onStore(c.Context(), func(s *state.Store) error { return a.list(c.Context(), s, filter) })
		},
	}
	c.Flags().StringVar(&status, "status", string(state.ApprovalOpen), "open, approved, rejected, conflicted, cancelled, used, or all")
	c.Flags().StringVar(&after, "after", "", "begin behind this question")
	return c
}

// list prints one page; with --json it says behind what the next one begins.
func (a *approvals) list(ctx context.Context, s *state.Store, filter state.ApprovalFilter) error {
	page, err := s.Approvals(ctx, a.tenant, filter)
	if err != nil {
		return err
	}
	views, err := agent.ViewApprovals(page)
	if err != nil {
		return err
	}
	if a.json {
		a.print(map[string]any{"approvals": views})
		return nil
	}
	if len(views) == 0 {
		fmt.Fprint(a.stderr, speakIn(a.locale).pick("nothing\n", "没有\n"))
	}
	for _, v := range views {
		fmt.Fprint(a.stdout, speakIn(a.locale).line(v))
	}
	return nil
}

func (a *approvals) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one question with everything that is known of it", Args: cobra.ExactArgs(1),
		Example: "  sluice approvals show ask_0006…",
		RunE: func(c *cobra.Command, args []string) error {
			return a.onStore(c.Context(), func(s *state.Store) error {
				_, view, err := a.find(c.Context(), s, args[0])
				if err == nil {
					a.tellView(view, speaker.whole)
				}
				return err
			})
		},
	}
}

func (a *approvals) find(ctx context.Context, s *state.Store, id string) (state.Approval, agent.ApprovalView, error) {
	found, ok, err := s.Approval(ctx, a.tenant, host.ApprovalID(id))
	if err == nil && !ok {
		err = host.Fail("approvals", abi.NewProblem(abi.NotFound, "tenant %s has no question %s", a.tenant, id).WithHint("list them: sluice approvals list --status all"), nil)
	}
	if err != nil {
		return state.Approval{}, agent.ApprovalView{}, err
	}
	view, err := agent.ViewApproval(found)
	return found, view, err
}

// tellView prints a question in the words that it is given to, or as JSON.
func (a *approvals) tellView(v agent.ApprovalView, words func(speaker, agent.ApprovalView) string) {
	if a.json {
		a.print(map[string]any{"approval": v})
		return
	}
	fmt.Fprint(a.stdout, words(speakIn(a.locale), v))
}

func (a *approvals) answerCommand(approve bool) *cobra.Command {
	d := agent.Decision{Approve: approve}
	name, short := "reject", "Say no: the call never runs, and the model is told your words"
	if approve {
		name, short = "approve", "Say yes: exactly this call runs, once"
	}
	c := &cobra.Command{
		Use: name + " ID", Short: short, Args: cobra.ExactArgs(1),
		Long: short + `.
With a registry the session goes on here, and what happens is printed as in a chat. Without one the
answer is stored, and whoever has the session goes on with it.`,
		Example: fmt.Sprintf("  sluice approvals %s ask_0006…\n  sluice approvals %s ask_0006… --words \"only today\" --registry ./registry.git", name, name),
		RunE: func(c *cobra.Command, args []string) error {
			d.By = a.user
			if a.registry != "" {
				return a.answerHere(c.Context(), args[0], d)
			}
			return a.onStore(c.Context(), func(s *state.Store) error {
				view, err := a.answer(c.Context(), s, args[0], d)
				if err == nil && !a.json {
					fmt.Fprint(a.stderr, speakIn(a.locale).goOn(view))
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&d.Words, "words", "", "what the model is told")
	c.Flags().StringVar(&d.Digest, "digest", "", "of what you have seen, as list --json and show print it; the answer counts for nothing else")
	return c
}

// answer stores an answer. Without a digest it is about what show prints now,
// which never changes.
func (a *approvals) answer(ctx context.Context, s *state.Store, id string, d agent.Decision) (agent.ApprovalView, error) {
	found, view, err := a.find(ctx, s, id)
	if err != nil {
		return view, err
	}
	d.Digest = cmp.Or(d.Digest, found.Digest)
	now, err := agent.Decide(ctx, s, a.tenant, found.ID, d)
	if err != nil {
		return view, err
	}
	if view, err = agent.ViewApproval(now); err == nil {
		a.tellView(view, speaker.answered)
	}
	return view, err
}

// answerHere stores an answer and goes on with the session.
func (a *approvals) answerHere(ctx context.Context, id string, d agent.Decision) (err error) {
	m, err := a.model.open()
	if err != nil {
		return err
	}
	h, err := a.openHome(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close(ctx)) }()
	view, err := a.answer(ctx, h.store, id, d)
	if err != nil {
		return err
	}
	if err := a.loadAll(ctx, h); err != nil {
		return err
	}
	if err := a.remember(ctx, h); err != nil {
		return err
	}
	answer, err := a.agent(h, m).Continue(ctx, agent.Session{Ref: view.Session, Locale: a.locale}, view.ID, a.program.show)
	if err != nil {
		return err
	}
	a.showAnswer(answer, a.locale)
	return nil
}

func (a *approvals) cancelCommand() *cobra.Command {
	var words string
	c := &cobra.Command{
		Use: "cancel ID", Short: "Take a question back, or a yes that no call has used: the call never runs", Args: cobra.ExactArgs(1),
		Example: "  sluice approvals cancel ask_0006… --words \"the live is over\"",
		RunE: func(c *cobra.Command, args []string) error {
			return a.onStore(c.Context(), func(s *state.Store) error {
				now, err := agent.TakeBack(c.Context(), s, a.tenant, host.ApprovalID(args[0]), a.user, words)
				if err != nil {
					return err
				}
				view, err := agent.ViewApproval(now)
				if err == nil {
					a.tellView(view, speaker.answered)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&words, "words", "", "what the model is told if it asks again")
	return c
}

func (a *approvals) purgeCommand() *cobra.Command {
	var age time.Duration
	c := &cobra.Command{
		Use: "purge", Short: "Remove what was answered, cancelled or used long ago, of all tenants", Args: cobra.NoArgs,
		Long: `Purge removes the questions that were answered, cancelled or used longer ago than --older-than,
and the standing grants that ran out before that. Open questions stay, however old: cancel them first.
What a person said stays in the audit log.`,
		Example: "  sluice approvals purge --older-than 720h",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.onStore(c.Context(), func(s *state.Store) error { return a.purge(c.Context(), s, age) })
		},
	}
	c.Flags().DurationVar(&age, "older-than", 30*24*time.Hour, "how long ago")
	return c
}

// purge removes one bounded part after another until nothing is left.
func (a *approvals) purge(ctx context.Context, s *state.Store, age time.Duration) error {
	removed := map[string]int{}
	for name, purge := range map[string]func(context.Context, time.Duration) (int, error){"approvals": s.PurgeApprovals, "grants": s.PurgeStandingGrants} {
		for {
			n, err := purge(ctx, age)
			if err != nil {
				return err
			}
			if removed[name] += n; n == 0 {
				break
			}
		}
	}
	if a.json {
		a.print(map[string]any{"removed": removed})
		return nil
	}
	fmt.Fprint(a.stdout, speakIn(a.locale).pick("removed %d questions and %d grants\n", "已清除 %d 个问题和 %d 个授权\n", removed["approvals"], removed["grants"]))
	return nil
}
