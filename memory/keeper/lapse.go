package keeper

import (
	"context"
	"slices"
	"time"

	"github.com/sluicehq/sluice/memory"
)

// lapseBatch bounds the gaps and the questions that one transaction looks at.
const lapseBatch = 64

// lapse keeps questions that nobody answered as closed, and gaps that count no more.
func (t *tx) lapse(ctx context.Context, questions []memory.Question, gaps []memory.Gap) error {
	for _, q := range questions {
		if err := t.saveQuestion(ctx, q); err != nil {
			return err
		}
	}
	for _, g := range gaps {
		if err := t.saveGap(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// TidyQuestions closes questions of an owner, choices aside, that were asked longer ago
// than that and not answered, with their gaps, and gives how many: their memory is as free
// to fade then as others. New gaps make a new one. It is safe to repeat.
func (k *Keeper) TidyQuestions(ctx context.Context, o Owner, olderThan time.Duration) (closed int, err error) {
	const op = "keeper.TidyQuestions"
	if err := checkAge(o, olderThan); err != nil {
		return 0, fail(op, err)
	}
	open, err := documents[memory.Question](ctx, k.db.Reads, openOfOwner, append(ownerArgs(o), maxGaps)...)
	if err != nil {
		return 0, fail(op, err)
	}
	old := slices.DeleteFunc(open, func(q memory.Question) bool { return !isStale(q, k.now().Add(-olderThan)) })
	for some := range slices.Chunk(old, lapseBatch) {
		n := 0
		err := k.change(ctx, func(ctx context.Context, t *tx) error {
			n = 0
			for _, q := range some {
				is, err := t.giveUp(ctx, o, q.ID, t.at.Add(-olderThan))
				if err != nil {
					return err
				}
				if is {
					n++
				}
			}
			return nil
		})
		if err != nil {
			return closed, fail(op, err)
		}
		closed += n
	}
	return closed, nil
}

func isStale(q memory.Question, before time.Time) bool {
	return !q.IsChoice() && q.Answered.IsZero() && !q.Asked.IsZero() && q.Asked.Before(before)
}

// giveUp closes a question with its gaps, if it still waits.
func (t *tx) giveUp(ctx context.Context, o Owner, question string, before time.Time) (bool, error) {
	found, err := documents[memory.Question](ctx, t.on, questionOf, append(ownerArgs(o), question)...)
	if err != nil || len(found) == 0 || !isStale(found[0], before) {
		return false, err
	}
	q := found[0]
	gaps, err := documents[memory.Gap](ctx, t.on, openOfOne, append(memoryArgs(o, q.Memory), maxGaps)...)
	if err != nil {
		return false, err
	}
	of := memory.Node{Tenant: o.Tenant, User: o.User, ID: q.Memory}
	return true, t.lapse(ctx, []memory.Question{q.Unanswered(t.at)}, memory.CloseGaps(gaps, of, memory.Unanswered))
}

func checkAge(o Owner, olderThan time.Duration) error {
	if olderThan < 0 {
		return badValue("an age of %v; give 0 or more", olderThan)
	}
	return o.check()
}

const (
	oldGaps  = "SELECT detail FROM memory_gap" + ofOwner + " AND closed <> '' AND seen_at >= ? AND seen_at < ? AND (seen_at > ? OR gap_id > ?) ORDER BY seen_at, gap_id LIMIT ?"
	habitsOf = "SELECT memory_id FROM memory_node" + ofOwner + " AND status IN ('" + string(memory.Active) + "', '" + string(memory.Archived) + "') AND memory_id IN "
	lapsedOf = "SELECT detail FROM memory_question" + ofOwner + " AND answer = '" + string(memory.Unanswered) + "' AND question_id > ? ORDER BY question_id LIMIT ?"
)

// TidyGaps removes closed gaps of an owner that are older than that, and questions that
// nobody answered that long ago, and gives how many gaps. A gap whose behaviour still
// counts, or may come back, stays: without it the same evidence would be counted anew.
// Questions that were answered stay, with the evidence that they were asked by. It is safe
// to repeat.
func (k *Keeper) TidyGaps(ctx context.Context, o Owner, olderThan time.Duration) (removed int, err error) {
	const op = "keeper.TidyGaps"
	if err := checkAge(o, olderThan); err != nil {
		return 0, fail(op, err)
	}
	for at, more := (memory.Gap{}), true; more; {
		n := 0
		last := at
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			n, last, more, err = t.dropGaps(ctx, o, at, t.at.Add(-olderThan))
			return err
		})
		if err != nil {
			return removed, fail(op, err)
		}
		removed, at = removed+n, last
	}
	for after, more := "", true; more; {
		last := after
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			last, more, err = t.dropLapsed(ctx, o, after, t.at.Add(-olderThan))
			return err
		})
		if err != nil {
			return removed, fail(op, err)
		}
		after = last
	}
	return removed, nil
}

// dropGaps removes those of one page after a gap that no evidence needs.
func (t *tx) dropGaps(ctx context.Context, o Owner, after memory.Gap, before time.Time) (removed int, last memory.Gap, more bool, err error) {
	from := micros(after.At)
	page, err := documents[memory.Gap](ctx, t.on, oldGaps, append(ownerArgs(o), from, micros(before), from, after.ID, lapseBatch)...)
	if err != nil || len(page) == 0 {
		return 0, after, false, err
	}
	for _, g := range page {
		needed, err := t.isNeeded(ctx, o, g)
		if err == nil && !needed {
			_, err = exec(ctx, t.on, removeGap, append(ownerArgs(o), g.ID)...)
		}
		if err == nil && !needed {
			removed++
			list, args := inList([]string{g.ID})
			err = t.removeLinked(ctx, o, roleEvidence, list, args)
		}
		if err != nil {
			return 0, after, false, err
		}
	}
	return removed, page[len(page)-1], len(page) == lapseBatch, nil
}

// isNeeded reports whether behaviour that a gap was made of counts, or may do so again.
func (t *tx) isNeeded(ctx context.Context, o Owner, g memory.Gap) (bool, error) {
	ids := slices.Concat(g.Habits, g.Evidence, []memory.ID{""}) // a list is never empty
	list, args := inList(ids[:min(len(ids), longList)])
	var id string
	return row(ctx, t.on, habitsOf+list+" LIMIT 1", append(ownerArgs(o), args...), &id)
}

// dropLapsed removes questions of one page that nobody answered.
func (t *tx) dropLapsed(ctx context.Context, o Owner, after string, before time.Time) (last string, more bool, err error) {
	page, err := documents[memory.Question](ctx, t.on, lapsedOf, append(ownerArgs(o), after, lapseBatch)...)
	if err != nil || len(page) == 0 {
		return after, false, err
	}
	for _, q := range page {
		if err == nil && q.Answered.Before(before) {
			_, err = exec(ctx, t.on, removeQuestion, append(ownerArgs(o), q.ID)...)
		}
	}
	return page[len(page)-1].ID, len(page) == lapseBatch, err
}
