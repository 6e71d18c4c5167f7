package recall

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

func anyQuestion(memory.Question) bool { return true }

// toAsk words a question for the model, as data.
func toAsk(question string) string {
	return "Ask the user this before anything else, with the user's own words as they are quoted in it, and decide nothing about it yourself. It is given as a JSON string: " + host.ToAsk + memory.QuoteText(question)
}

// choices tells the model of the declarations before it that contradict each other and
// between which the user has not chosen, and asks the user about one of them where the
// words are about its topic: what is being done depends on it, whether the policy makes
// that a decision or not. The question stands first. What fails is told to the operator;
// the declarations stand.
func (r *Recall) choices(ctx context.Context, q host.Reasoning, found []memory.Node) (question, remarks []string) {
	waiting, err := r.Keeper.Waiting(ctx, ownerOf(q.Session))
	if err != nil {
		r.Logger.WarnContext(ctx, "it is not known which of the user's words contradict each other", "session", q.Session.String(), "error", err)
		return nil, nil
	}
	for _, w := range waiting {
		if w.IsChoice() && has(found, w.Memory) && has(found, w.Other) {
			remarks = append(remarks, fmt.Sprintf("Memories %s and %s contradict each other, and the user has not said which counts: keep to both, do nothing that either of them forbids, and decide nothing about it yourself.", w.Memory, w.Other))
		}
	}
	if slices.ContainsFunc(waiting, memory.Question.IsChoice) {
		r.askChoice(ctx, q)
	}
	r.know(q, func(t *turn) {
		if t.choice != "" {
			question = []string{toAsk(t.choice)}
		}
	})
	return question, remarks
}

// askChoice notes for a turn the choice that the user's words are about.
func (r *Recall) askChoice(ctx context.Context, q host.Reasoning) {
	var points []memory.Point
	for _, topic := range memory.TopicsIn(wordsOf(q)) {
		points = append(points, memory.Point{Tenant: q.Session.Tenant, User: q.Session.User, Topic: topic})
	}
	if question := r.question(ctx, q, points, memory.Question.IsChoice); question != "" {
		r.know(q, func(t *turn) { t.choice = question })
	}
}

func pointOf(q host.Reasoning, at Point) memory.Point {
	return memory.Point{Tenant: q.Session.Tenant, User: q.Session.User, Topic: at.Topic, Domain: at.Domain, Scene: at.Scene}
}

// question gives the words of the next question of a kind that fits one of some points,
// unless the turn asks one already. That it was asked is kept when the user has the
// answer (turnEnded). Without it the turn goes on.
func (r *Recall) question(ctx context.Context, q host.Reasoning, points []memory.Point, kind func(memory.Question) bool) string {
	o := ownerOf(q.Session)
	waiting, err := r.Keeper.Waiting(ctx, o)
	waiting = slices.DeleteFunc(waiting, func(w memory.Question) bool { return !kind(w) })
	for err == nil {
		next, ok := r.claim(q, waiting, points)
		if !ok {
			return ""
		}
		said, other, counts, failed := r.askedAbout(ctx, o, next)
		if counts && failed == nil { // unless a turn on another replica is about to ask it
			counts, failed = r.Keeper.ClaimQuestion(ctx, o, next.ID, q.Session.Session)
		}
		switch err = failed; {
		case err == nil && counts && next.IsChoice():
			return r.word(q, next.ChoiceText(said, other, localeOf(wordsOf(q))), said.Text, other.Text)
		case err == nil && counts:
			return r.word(q, next.Text(said, localeOf(wordsOf(q))), said.Text)
		}
		r.know(q, func(t *turn) { t.question = "" })
		waiting = slices.DeleteFunc(waiting, func(w memory.Question) bool { return w.ID == next.ID }) // there is nothing left to ask
	}
	r.Logger.WarnContext(ctx, "no question could be asked", "session", q.Session.String(), "error", err)
	return ""
}

// word notes the words of a turn's question, and the user's words that it is about.
func (r *Recall) word(q host.Reasoning, wording string, about ...string) string {
	r.know(q, func(t *turn) { t.wording, t.about = wording, about })
	return wording
}

// claim notes the next question that fits a point for a turn, unless another turn is
// about to ask it, or this one asks one.
func (r *Recall) claim(q host.Reasoning, waiting []memory.Question, points []memory.Point) (next memory.Question, ok bool) {
	r.know(q, func(mine *turn) {
		taken := map[string]bool{}
		for _, t := range r.turns {
			if t != mine && t.question != "" {
				taken[t.question] = true
			}
		}
		free := slices.DeleteFunc(slices.Clone(waiting), func(w memory.Question) bool { return taken[w.ID] })
		for _, at := range points {
			if !ok && mine.question == "" {
				next, ok = memory.NextQuestion(free, at, r.Now())
			}
		}
		if ok {
			mine.question = next.ID
		}
	})
	return next, ok
}

// free has a question that a turn was about to ask be asked by another one, now that the
// turn is over, unless it did ask it.
func (r *Recall) free(ctx context.Context, ref host.SessionRef, t *turn) {
	if t == nil || t.question == "" {
		return
	}
	if err := r.Keeper.FreeQuestion(ctx, ownerOf(ref), t.question, ref.Session); err != nil {
		r.Logger.WarnContext(ctx, "a question that was not asked waits for an hour", "session", ref.String(), "error", err)
	}
}
