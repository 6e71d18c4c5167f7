package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/memory"
)

func (m *rememberer) answerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "answer QUESTION ANSWER…", Short: "Answer a question for its user, however long ago it was asked", Args: cobra.MinimumNArgs(2),
		Long: `A question is asked once, and the user's next two messages may answer it. Here it is answered at any time, asked or
not; memory gaps lists those that wait. Whether the user's words still hold is answered by keep or drop, which of two
counts by first, second or both; and either by the user's own words, as the agent reads them.`,
		Example: "  sluice memory answer ask_3af7… keep --user mia\n  sluice memory answer ask_3af7… \"open with 3 minutes from now on\" --user mia\n  sluice memory answer ask_9b01… second --user mia --locale zh-CN",
		RunE: func(c *cobra.Command, args []string) error {
			return m.onTruth(c.Context(), func(k *minding) error {
				return m.answer(c.Context(), k, args[0], strings.Join(args[1:], " "))
			})
		},
	}
}

func (m *rememberer) answer(ctx context.Context, k *minding, question, text string) error {
	q, err := k.Question(ctx, m.owner, question)
	if err != nil {
		return err
	}
	a, err := m.readAnswer(ctx, k, q, text)
	if err != nil {
		return err
	}
	r, err := k.Answer(ctx, m.owner, q.ID, memory.DefaultReconcile(), a)
	if err != nil {
		return err
	}
	return m.tellAnswered(r)
}

// readAnswer reads one of our words, or the user's.
func (m *rememberer) readAnswer(ctx context.Context, k *minding, q memory.Question, text string) (memory.Answer, error) {
	named, words := map[string]memory.Resolution{"keep": memory.Kept, "drop": memory.Retired}, "keep, drop, or the words that hold now, with their number"
	if q.IsChoice() {
		named, words = map[string]memory.Resolution{"first": memory.First, "second": memory.Second, "both": memory.Both}, "first, second or both"
	}
	if r := named[strings.ToLower(strings.TrimSpace(text))]; r != "" {
		return memory.Answer{Resolution: r, Text: text}, nil
	}
	said, err := k.Get(ctx, m.owner, q.Memory)
	if err != nil {
		return memory.Answer{}, err
	}
	heard, read := memory.Message{Tenant: m.owner.Tenant, User: m.owner.User, Text: text}, memory.ReadAnswer
	if q.IsChoice() {
		other, err := k.Get(ctx, m.owner, q.Other)
		if err != nil {
			return memory.Answer{}, err
		}
		read = func(heard memory.Message, said memory.Node) (memory.Answer, bool) {
			return memory.ReadChoice(heard, said, other)
		}
	}
	a, ok := read(heard, said)
	if !ok {
		return a, fmt.Errorf("%w: %.80q does not answer %s; give %s", errUsage, text, q.ID, words)
	}
	return a, nil
}

// tellAnswered shows what the answer made of the memories.
func (m *rememberer) tellAnswered(r memory.Resolved) error {
	nodes := []memory.Node{r.Memory}
	for _, n := range []*memory.Node{r.Other, r.New} {
		if n != nil {
			nodes = append(nodes, *n)
		}
	}
	if m.json {
		m.print(map[string]any{"question": r.Question, "memories": nodes})
		return nil
	}
	fmt.Fprintf(m.stdout, "%s  %s\n", r.Question.ID, speakIn(m.locale).question(r.Question))
	w := m.table("ID\tLAYER\tKIND\tABOUT\tTIME\tTRUST\tSTATUS\tTEXT", "编号\t层\t类别\t对象\t时间\t可信度\t状态\t内容")
	var err error
	for _, n := range nodes {
		err = errors.Join(err, m.row(w, n, ""))
	}
	return errors.Join(err, w.Flush())
}

func (m *rememberer) receiptsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "receipts", Short: "List what was forgotten of a user and when, the oldest first, without a word of it", Args: cobra.NoArgs,
		Long: `Each deletion leaves a receipt: when it was, the ids of the memories that are gone, and the SHA-256 digest of these
ids. What the job removes that was archived long ago leaves one, too.`,
		Example: "  sluice memory receipts --user mia\n  sluice memory receipts --user mia --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return m.onTruth(c.Context(), func(k *minding) error { return m.receipts(c.Context(), k) })
		},
	}
}

func (m *rememberer) receipts(ctx context.Context, k *minding) error {
	say := speakIn(m.locale)
	w := m.table("RECEIPT\tTIME\tMEMORIES\tOF\tDIGEST", "回执\t时间\t记忆数\t范围\t摘要")
	for after := ""; ; {
		page, err := k.Receipts(ctx, m.owner, after)
		if err != nil || len(page) == 0 {
			return errors.Join(err, w.Flush())
		}
		for _, r := range page {
			after = r.ID
			if m.json {
				m.print(r)
				continue
			}
			of := say.pick("some", "部分")
			if r.Whole {
				of = say.pick("everything until then", "此前的全部")
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", r.ID, when(r.At), len(r.IDs), of, r.Digest)
		}
	}
}
