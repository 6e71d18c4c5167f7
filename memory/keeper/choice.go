package keeper

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// addChoice keeps the question which of two active declarations counts, unless it is
// there, and gives it as it is kept. One that was answered otherwise than that both
// stand waits again: since both count again, the answer was undone.
func (t *tx) addChoice(ctx context.Context, q memory.Question) (memory.Question, error) {
	o := Owner{q.Tenant, q.User}
	there, err := documents[memory.Question](ctx, t.on, questionOf, append(ownerArgs(o), q.ID)...)
	switch {
	case err != nil:
		return q, err
	case len(there) > 0 && (there[0].Answered.IsZero() || there[0].Settled()):
		return there[0], nil
	case len(there) > 0:
		q = there[0].Reopened()
		return q, t.saveQuestion(ctx, q)
	}
	detail, err := json.Marshal(q)
	if err == nil {
		_, err = exec(ctx, t.on, makeQuestion, append(memoryArgs(o, q.Memory), q.ID, string(q.Answer), detail)...)
	}
	if err == nil {
		err = t.link(ctx, o, q.Other, roleChoice, q.ID)
	}
	return q, err
}

// choose keeps a user's answer to a choice, and what it does to the two memories.
func (t *tx) choose(ctx context.Context, o Owner, q memory.Question, set memory.ReconcileConfig, a memory.Answer) (r memory.Resolved, err error) {
	first, err := find(ctx, t.on, t.lock, o, q.Memory)
	if err != nil {
		return r, err
	}
	second, err := find(ctx, t.on, t.lock, o, q.Other)
	if err != nil {
		return r, err
	}
	if r, err = memory.Choose(set, q, first.Node, second.Node, nil, a); err != nil {
		return r, err
	}
	if err := t.saveQuestion(ctx, r.Question); err != nil { // first: what is open about the loser is closed below
		return r, err
	}
	if err := t.chosen(ctx, first, &r.Memory, q.ID); err != nil {
		return r, err
	}
	return r, t.chosen(ctx, second, r.Other, q.ID)
}

// chosen keeps what a choice makes of one of its memories, and settles what is open
// about it where it does not count any more.
func (t *tx) chosen(ctx context.Context, s stored, now *memory.Node, question string) error {
	o, event := Owner{s.Tenant, s.User}, Verified
	if now.Status == memory.Superseded {
		s.end(memory.Superseded, now.Valid.Until, t.at)
		now.Valid, event = s.Valid, Superseded
	}
	s.Node = *now
	if err := t.save(ctx, s); err != nil {
		return err
	}
	if event == Superseded {
		if err := t.link(ctx, o, s.ID, roleNext, string(s.SupersededBy)); err != nil {
			return err
		}
		if err := t.closeGaps(ctx, s.Node, memory.Updated); err != nil {
			return err
		}
	}
	return t.lived(ctx, o, s.ID, event, question)
}

// choicesOf gives the choices in which a memory is the later one.
func choicesOf(ctx context.Context, on host.Statements, o Owner, id memory.ID) (all []memory.Question, err error) {
	questions, err := texts[string](ctx, on, linksOf, append(memoryArgs(o, id), roleChoice, maxGaps)...)
	for _, question := range questions {
		if err != nil {
			break
		}
		var found []memory.Question
		found, err = documents[memory.Question](ctx, on, questionOf, append(ownerArgs(o), question)...)
		all = append(all, found...)
	}
	return all, err
}

// choicesWith gives the choices that a memory is in, as the earlier one or the later.
func (t *tx) choicesWith(ctx context.Context, o Owner, id memory.ID) ([]memory.Question, error) {
	later, err := choicesOf(ctx, t.on, o, id)
	if err != nil {
		return nil, err
	}
	about, err := documents[memory.Question](ctx, t.on, questionsAbout, append(memoryArgs(o, id), maxGaps)...)
	about = slices.DeleteFunc(about, func(q memory.Question) bool { return !q.IsChoice() })
	return append(later, about...), err
}
