package keeper

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluicehq/sluice/memory"
)

const standAlone = "DELETE FROM memory_link" + ofMemory + " AND link_role = '" + roleNext + "'"

// standAgain has a memory that was restored be nobody's predecessor, and opens again what
// was closed when it ceased to count.
func (t *tx) standAgain(ctx context.Context, n memory.Node) error {
	if _, err := exec(ctx, t.on, standAlone, memoryArgs(Owner{n.Tenant, n.User}, n.ID)...); err != nil || n.Layer != memory.Declared {
		return err
	}
	if err := t.reopenGaps(ctx, n); err != nil {
		return err
	}
	if err := t.reopenChoices(ctx, n); err != nil {
		return err
	}
	return t.opposeAll(ctx, n)
}

// reopenGaps opens the gaps of a declaration again, and the question that they led to.
func (t *tx) reopenGaps(ctx context.Context, n memory.Node) error {
	args := append(memoryArgs(Owner{n.Tenant, n.User}, n.ID), maxGaps)
	gaps, err := documents[memory.Gap](ctx, t.on, gapsOfOne, args...)
	if err != nil {
		return err
	}
	for _, g := range memory.ReopenGaps(gaps, n) {
		if err := t.saveGap(ctx, g); err != nil {
			return err
		}
	}
	asked, err := documents[memory.Question](ctx, t.on, questionsAbout, args...)
	asked = slices.DeleteFunc(asked, memory.Question.IsChoice)
	waits := slices.ContainsFunc(asked, func(q memory.Question) bool { return q.Answered.IsZero() })
	if err != nil || len(asked) == 0 || waits { // of a memory one question waits
		return err
	}
	last := slices.MaxFunc(asked, func(a, b memory.Question) int { return cmp.Or(a.Raised.Compare(b.Raised), cmp.Compare(a.ID, b.ID)) })
	if last.Answer == memory.Kept || last.Answer == memory.Unanswered { // before its memory ceased to count, with its gaps
		return nil
	}
	return t.saveQuestion(ctx, last.Reopened())
}

// reopenChoices opens the choices that a declaration is in again, where the other one
// counts, too. Else that one's own restoring does it.
func (t *tx) reopenChoices(ctx context.Context, n memory.Node) error {
	o := Owner{n.Tenant, n.User}
	all, err := t.choicesWith(ctx, o, n.ID)
	if err != nil {
		return err
	}
	for _, q := range all {
		if q.Answered.IsZero() || q.Settled() {
			continue
		}
		others, err := findAll(ctx, t.on, o, []memory.ID{q.Memory, q.Other})
		if err != nil {
			return err
		}
		if len(others) < 2 || slices.ContainsFunc(others, func(s stored) bool { return s.Status != memory.Active }) {
			continue
		}
		if err := t.saveQuestion(ctx, q.Reopened()); err != nil {
			return err
		}
	}
	return nil
}

// opposeAll keeps the question of each pair, of a declaration and of another one that
// counts and contradicts it, which of them does. Neither is to replace the other.
func (t *tx) opposeAll(ctx context.Context, n memory.Node) error {
	others, err := t.ofMatter(ctx, n)
	if err != nil {
		return err
	}
	d := Declaring{ID: n.ID}
	for _, other := range others {
		if memory.Settle(memory.AskUser, other, n).Outcome == memory.UserAsked && len(d.Opposed) < maxOpposed {
			d.Opposed = append(d.Opposed, other)
		}
	}
	return t.oppose(ctx, n, &d)
}
