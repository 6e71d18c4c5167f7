package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

func (m *rememberer) gapsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "gaps", Short: "List where a user's words differ from what they do or from each other, and the questions that follow", Args: cobra.NoArgs,
		Example: "  sluice memory gaps --user mia\n  sluice memory gaps --user mia --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return m.onTruth(c.Context(), func(k *minding) error { return m.gaps(c.Context(), k) })
		},
	}
}

func (m *rememberer) gaps(ctx context.Context, k *minding) error {
	gaps, err := k.Gaps(ctx, m.owner)
	if err != nil {
		return err
	}
	questions, err := k.Questions(ctx, m.owner)
	if err != nil {
		return err
	}
	slices.SortStableFunc(gaps, func(a, b memory.Gap) int { return a.At.Compare(b.At) })
	if m.json {
		m.print(map[string]any{"gaps": gaps, "questions": questions})
		return nil
	}
	say := speakIn(m.locale)
	w := m.table("TIME\tMEMORY\tSESSION\tGAP", "时间\t记忆\t会话\t差异")
	for _, g := range gaps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", when(g.At), g.Memory, plain(string(g.Session)), say.gap(g))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, q := range questions {
		fmt.Fprintf(m.stdout, "\n%s  %s\n", q.ID, say.question(q))
		text, err := m.worded(ctx, k, q)
		if err != nil {
			return err
		}
		fmt.Fprintf(m.stdout, "  %s\n", plain(text))
		if q.IsChoice() {
			fmt.Fprintf(m.stdout, "  (1) %s  (2) %s\n", q.Memory, q.Other)
		}
	}
	return nil
}

// worded gives a question as the user is asked it.
func (m *rememberer) worded(ctx context.Context, k *minding, q memory.Question) (string, error) {
	said, err := k.Get(ctx, m.owner, q.Memory)
	if err != nil || !q.IsChoice() {
		return q.Text(said, m.locale), err
	}
	other, err := k.Get(ctx, m.owner, q.Other)
	return q.ChoiceText(said, other, m.locale), err
}

func (m *rememberer) trustCommand() *cobra.Command {
	var traces, replay bool
	c := &cobra.Command{
		Use: "trust", Short: "Show how far answers are trusted in each domain, and the decisions behind it", Args: cobra.NoArgs,
		Long: `Trust is of one user in one domain, 0 to 1, and moves with decisions whose outcome is known. From 0.7 on an
answer may recommend, from 0.4 on it may refer to what was done, and below it shows evidence alone. --replay
makes every score again from the decisions, and puts it in the place of the one that was kept.`,
		Example: "  sluice memory trust --user mia\n  sluice memory trust --user mia --traces\n  sluice memory trust --user mia --replay",
		RunE: func(c *cobra.Command, _ []string) error {
			return m.onTruth(c.Context(), func(k *minding) error {
				var shown map[string]any // with --json, beside the scores
				if replay {
					replayed, changed, err := m.replayTrust(c.Context(), k)
					if err != nil {
						return err
					}
					shown = map[string]any{"differ": append([]string{}, replayed.Differ...), "changed": changed}
				}
				return m.trust(c.Context(), k, traces, shown)
			})
		},
	}
	c.Flags().BoolVar(&traces, "traces", false, "list the decisions, the oldest first")
	c.Flags().BoolVar(&replay, "replay", false, "make the scores again from the decisions")
	return c
}

// replayTrust makes the scores again, and tells whether that changed any.
func (m *rememberer) replayTrust(ctx context.Context, k *minding) (replayed memory.Replayed, changed bool, err error) {
	before, err := k.Trusts(ctx, m.owner)
	if err != nil {
		return replayed, false, err
	}
	if replayed, err = k.ReplayTrust(ctx, m.owner); err != nil {
		return replayed, false, err
	}
	after, err := k.Trusts(ctx, m.owner)
	changed = !maps.Equal(before, after)
	if err != nil || m.json {
		return replayed, changed, err
	}
	say := speakIn(m.locale)
	for _, id := range replayed.Differ {
		fmt.Fprintln(m.stderr, say.pick("the decision %s was recorded with another change of trust than it makes", "决策 %s 记录的信任变化与重算不符", id))
	}
	switch {
	case changed:
		fmt.Fprintln(m.stderr, say.pick("scores were changed to what the decisions make", "分值已按决策重算"))
	case len(replayed.Differ) == 0:
		fmt.Fprintln(m.stderr, say.pick("the same: every score follows from the decisions", "一致：每个分值都能由决策重算得出"))
	}
	return replayed, changed, nil
}

func (m *rememberer) trust(ctx context.Context, k *minding, traces bool, replay map[string]any) error {
	scores, err := k.Trusts(ctx, m.owner)
	if err != nil {
		return err
	}
	say := speakIn(m.locale)
	if m.json {
		shown := map[string]any{"trust": scores}
		maps.Copy(shown, replay)
		m.print(shown)
	} else {
		w := m.table("DOMAIN\tTRUST\tFORM", "领域\t信任\t形式")
		for _, domain := range slices.Sorted(maps.Keys(scores)) {
			fmt.Fprintf(w, "%s\t%.2f\t%s\n", plain(domain), scores[domain], say.form(memory.FormOf(scores[domain])))
		}
		fmt.Fprintf(w, "%s\t%.2f\t%s\n", say.pick("(others)", "（其他）"), k.InitialTrust(), say.form(memory.FormOf(k.InitialTrust())))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if !traces {
		return nil
	}
	return m.traces(ctx, k)
}

func (m *rememberer) traces(ctx context.Context, k *minding) error {
	say := speakIn(m.locale)
	w := m.table("\nDECISION\tDOMAIN\tPOINT\tSHOWN\tTRUST\tACTION\tCHANGE\tANSWER", "\n决策\t领域\t决策点\t展示时间\t当时信任\t用户动作\t变化\t回答")
	for after := ""; ; {
		page, err := k.Traces(ctx, m.owner, after)
		if err != nil || len(page) == 0 {
			return errors.Join(err, w.Flush())
		}
		for _, t := range page {
			after = t.ID
			if m.json {
				m.print(t)
				continue
			}
			change := "-"
			if !t.Attributed.IsZero() {
				change = fmt.Sprintf("%+.2f", t.TrustDelta)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2f\t%s\t%s\t%s\n", t.ID, plain(t.Domain), plain(t.Point), when(t.Shown), t.TrustAtMoment, say.acted(t), change, short(plain(t.Output)))
		}
	}
}

func (m *rememberer) actCommand() *cobra.Command {
	var instead string
	c := &cobra.Command{
		Use: "act DECISION accept|reject|modify", Short: "Put on record what the user did with an answer", Args: cobra.ExactArgs(2),
		Long: `While a host serves, what users do with an answer is read from their next words, where these are clear. What is put on
record here counts over that, until the outcome has moved trust.`,
		Example: "  sluice memory act 0197… accept --user mia\n  sluice memory act 0197… modify --instead '95 in place of 89' --user mia",
		RunE: func(c *cobra.Command, args []string) error {
			if actions := []string{string(memory.Accept), string(memory.Reject), string(memory.Modify)}; !slices.Contains(actions, args[1]) {
				return fmt.Errorf("%w: an answer takes accept, reject or modify (got %.40q)", errUsage, args[1])
			}
			return m.onTruth(c.Context(), func(k *minding) error {
				t, err := k.Act(c.Context(), m.owner, args[0], memory.Decision(args[1]), instead)
				return m.tellTrace(t, err)
			})
		},
	}
	c.Flags().StringVar(&instead, "instead", "", "what the user did in its place")
	return c
}

func (m *rememberer) attributeCommand() *cobra.Command {
	var a attribution
	c := &cobra.Command{
		Use: "attribute DECISION", Short: "Put on record what came of an answer, which moves trust once", Args: cobra.ExactArgs(1),
		Long: `An answer that was accepted needs its lift, which is above 0 where business went up; one that was rejected or
modified needs to know whether the agent had been right. With --before and --after the lift is what the policy's
memory.lift makes of the business figures of both times.`,
		Example: "  sluice memory attribute 0197… --lift 0.12 --user mia\n  sluice memory attribute 0197… --right=false --user mia\n  sluice memory attribute 0197… --before gmv=9000,minutes=60 --after gmv=12000,minutes=70 --policy policy.yaml --user mia",
		RunE: func(c *cobra.Command, args []string) error {
			lifted, judged := c.Flags().Changed("lift"), c.Flags().Changed("right")
			figured := len(a.before)+len(a.after) > 0
			if ways := btoi(lifted) + btoi(judged) + btoi(figured); ways != 1 {
				return fmt.Errorf("%w: give --lift, or --right, or figures with --before and --after", errUsage)
			}
			return m.onTruth(c.Context(), func(k *minding) error {
				l, r := &a.lift, &a.right
				if !judged {
					r = nil
				} else {
					l = nil
				}
				if figured {
					lift, err := m.liftOf(c.Context(), k, args[0], a)
					if err != nil {
						return err
					}
					l = &lift
				}
				t, err := k.Attribute(c.Context(), m.owner, args[0], l, r)
				return m.tellTrace(t, err)
			})
		},
	}
	c.Flags().Float64Var(&a.lift, "lift", 0, "of an answer that was accepted: 0.1 is a tenth more")
	c.Flags().BoolVar(&a.right, "right", false, "of an answer that was not accepted: whether the agent was right")
	c.Flags().StringToStringVar(&a.before, "before", nil, "business figures of the time before the answer, such as gmv=9000,minutes=60")
	c.Flags().StringToStringVar(&a.after, "after", nil, "business figures of the time after it")
	return c
}

func (m *rememberer) tellTrace(t memory.Trace, err error) error {
	if err != nil {
		return noDecision(err)
	}
	if m.json {
		m.print(t)
		return nil
	}
	say := speakIn(m.locale)
	fmt.Fprintf(m.stdout, "%s  %s  %s", t.ID, plain(t.Domain), t.Action)
	if !t.Attributed.IsZero() {
		fmt.Fprint(m.stdout, say.pick("  trust %+.2f", "  信任 %+.2f", t.TrustDelta))
	}
	fmt.Fprintln(m.stdout)
	return nil
}

// noDecision adds the command that lists decisions where there is none of an id.
func noDecision(err error) error {
	problem := host.ProblemOf(err)
	if problem.Code != abi.NotFound {
		return err
	}
	told := *problem
	return host.Fail("decision", told.WithHint("%s: sluice memory trust --traces", problem.Hint), nil)
}

// acted tells what the user did with an answer, and whether that was read from their words.
func (s speaker) acted(t memory.Trace) string {
	did := s.word(string(t.Action), map[string]string{string(memory.Accept): "采纳", string(memory.Reject): "未采纳", string(memory.Modify): "修改"})
	if t.Heard {
		did += s.pick(" (said)", "（原话）")
	}
	return did
}
