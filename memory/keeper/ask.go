package keeper

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Waiting gives the questions to an owner that are not answered, asked or not, by id.
func (k *Keeper) Waiting(ctx context.Context, o Owner) ([]memory.Question, error) {
	questions, err := documents[memory.Question](ctx, k.db.Reads, openOfOwner, append(ownerArgs(o), maxGaps)...)
	slices.SortFunc(questions, func(a, b memory.Question) int { return cmp.Compare(a.ID, b.ID) })
	return questions, fail("keeper.Waiting", err)
}

// ClaimQuestion keeps that a session is about to ask a question, and reports whether it
// may: no other one is, on whatever replica, and it was neither asked nor answered. What
// is claimed is the session's until Asked or FreeQuestion, or for an hour.
func (k *Keeper) ClaimQuestion(ctx context.Context, o Owner, question string, session host.SessionID) (mine bool, err error) {
	const op = "keeper.ClaimQuestion"
	if err := o.check(); err != nil {
		return false, fail(op, err)
	}
	err = k.change(ctx, func(ctx context.Context, t *tx) error {
		found, err := documents[memory.Question](ctx, t.on, questionOf, append(ownerArgs(o), question)...)
		if mine = false; err != nil || len(found) == 0 {
			return err
		}
		var q memory.Question
		if q, mine = found[0].ClaimedBy(session, t.at); !mine {
			return nil
		}
		return t.saveQuestion(ctx, q)
	})
	return mine && err == nil, fail(op, err)
}

// FreeQuestion gives up what a session has claimed, so that another one may ask it.
// Where it has claimed nothing there is nothing to do.
func (k *Keeper) FreeQuestion(ctx context.Context, o Owner, question string, session host.SessionID) error {
	const op = "keeper.FreeQuestion"
	if err := o.check(); err != nil {
		return fail(op, err)
	}
	return fail(op, k.change(ctx, func(ctx context.Context, t *tx) error {
		found, err := documents[memory.Question](ctx, t.on, questionOf, append(ownerArgs(o), question)...)
		if err != nil || len(found) == 0 || found[0].Asking == nil || found[0].Asking.Session != session {
			return err
		}
		found[0].Asking = nil
		return t.saveQuestion(ctx, found[0])
	}))
}

// Asked keeps that a question was asked beside the answer to an input of a session (see
// memory.Question.AskedBy), and reports whether that is new. It is not where the question
// was asked before, was answered, or is not there any more.
func (k *Keeper) Asked(ctx context.Context, o Owner, question string, in host.SessionID, input int) (first bool, err error) {
	const op = "keeper.Asked"
	if err := o.check(); err != nil {
		return false, fail(op, err)
	}
	err = k.change(ctx, func(ctx context.Context, t *tx) error {
		found, err := documents[memory.Question](ctx, t.on, questionOf, append(ownerArgs(o), question)...)
		first = err == nil && len(found) > 0 && found[0].Asked.IsZero() && found[0].Answered.IsZero()
		if !first {
			return err
		}
		return t.saveQuestion(ctx, found[0].AskedBy(in, input, t.at))
	})
	return first && err == nil, fail(op, err)
}
