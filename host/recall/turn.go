package recall

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// Bounds of what is known of turns. Those that were broken off have no end.
const (
	maxTurns = 10_000    // under way in this process: no host has more
	turnAge  = time.Hour // since the model was asked last: nobody waits that long for its answer
)

// A turn is what the hooks know of an input between the question to the model and
// the end of the turn.
type turn struct {
	input  int
	words  string    // the user's own, of this input; empty where the host made it
	said   time.Time // when the input came
	spoken int       // how many inputs the user had said by then: what the host makes of answers keeps none from answering a question
	last   time.Time // when the model was asked last

	heard    bool           // the words were, to their end
	found    bool           // what fits them was
	hearing  heard          // what was heard of them so far
	injected host.Injection // for the first question
	sources  []memory.ID    // what was heard and recalled
	texts    []string       // of what was recalled: an answer may quote them
	kept     map[host.CallID]bool

	asked    bool   // whether it is known if a decision is made
	at       *Point // nil where no decision is made
	form     memory.Form
	trust    float64
	say      string        // of the form, at the first question
	question string        // the id of one that the model is told to ask
	choice   string        // the words of it, where it is which of two declarations counts
	about    []string      // the user's words that it is about
	wording  string        // its words as the model is given them
	shown    *memory.Trace // of the last answer that passed
	reminded bool          // the model was told once what its recommendation lacks
}

// begin gives the turn of an input, made anew for another input of the session. With
// too many under way the one that was quiet longest is dropped.
func (r *Recall) begin(q host.Reasoning) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	t := r.turns[q.Session]
	if t == nil || t.input != q.Input {
		t = &turn{input: q.Input, words: q.Said, said: q.SaidAt.UTC(), spoken: q.Spoken, form: memory.Recommend, kept: map[host.CallID]bool{}}
		r.makeRoom(now)
		r.turns[q.Session] = t
	}
	t.last = now
	return t
}

// wordsOf gives the user's words that an answer is about: those of the input, or those of
// the earlier one that an input which the host made goes on with. These were heard then,
// and are not heard, answered by or quoted again.
func wordsOf(q host.Reasoning) string { return cmp.Or(q.Said, q.Serves) }

// makeRoom drops the turns that are too old, and one more where there are too many.
// The caller holds mu.
func (r *Recall) makeRoom(now time.Time) {
	if len(r.turns) < maxTurns && now.Sub(r.swept) < turnAge {
		return
	}
	r.swept = now
	var quiet host.SessionRef
	var since time.Time
	for ref, t := range r.turns {
		if now.Sub(t.last) >= turnAge {
			delete(r.turns, ref)
		} else if since.IsZero() || t.last.Before(since) {
			quiet, since = ref, t.last
		}
	}
	if len(r.turns) >= maxTurns {
		delete(r.turns, quiet)
	}
}

// know changes or reads what is known of a turn, if it is still the session's.
func (r *Recall) know(q host.Reasoning, do func(*turn)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.turns[q.Session]; t != nil && t.input == q.Input {
		do(t)
	}
}

// take gives the turn of a session and forgets it.
func (r *Recall) take(ref host.SessionRef) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.turns[ref]
	delete(r.turns, ref)
	return t
}

// Forgotten drops the words of an owner's turns that are under way, and ends the
// hearing of them, for whoever had something of the owner forgotten. The turns go on.
func (r *Recall) Forgotten(o keeper.Owner) {
	r.background.end(hearingBy(o))
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref, t := range r.turns {
		if ownerOf(ref) == o {
			t.words, t.choice, t.about, t.hearing, t.injected, t.sources, t.texts, t.shown = "", "", nil, heard{}, host.Injection{}, nil, nil, nil
			t.wording = "" // the claim of its question is given up when the turn ends
			if t.at != nil {
				t.say = t.form.Instruction("") // without the question, which has words
			}
			t.heard, t.found = true, true // nothing of it is heard or recalled again
		}
	}
}

// turnEnded keeps what came of a turn whose answer the user has: that a question was
// asked, if the model did ask it, and the trace of the decision.
func (r *Recall) turnEnded(ctx context.Context, e host.TurnEnd) error {
	t := r.take(e.Session)
	defer r.free(ctx, e.Session, t)
	if t == nil || t.input != e.Input || e.Reason != host.TurnAnswered {
		return nil
	}
	var asking, showing error // each is kept, whatever becomes of the other one
	if t.question != "" && memory.Asks(e.Text, t.about...) {
		_, asking = r.Keeper.Asked(ctx, ownerOf(e.Session), t.question, e.Session.Session, t.spoken)
	}
	if t.shown != nil {
		showing = r.show(ctx, e.Session, t)
	}
	return errors.Join(asking, showing)
}

// show keeps the trace of a decision, without words where something was forgotten since its
// input came: the answer may tell of it, whoever made the input.
func (r *Recall) show(ctx context.Context, ref host.SessionRef, t *turn) error {
	gone, err := r.forgotSince(ctx, ownerOf(ref), t.said)
	if err != nil {
		return err
	}
	if gone {
		t.shown.Question, t.shown.Output = "", ""
	}
	_, err = r.Keeper.Show(ctx, *t.shown)
	return err
}
