package keeper

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/memory"
)

// A Leg tells whether memories are also found by meaning, and why or why not.
type Leg struct {
	Model   string   `json:"model,omitempty"`
	On      bool     `json:"on"`
	Why     Why      `json:"why"`
	Meaning float64  `json:"meaning,omitempty"` // weight of the leg, where it is on
	Verdict *Verdict `json:"verdict,omitempty"` // where it was judged
}

// A Why says why a dense leg is on or off.
type Why string

// The reasons.
const (
	NoModel    Why = "no model"   // off: there is no embedder
	Unjudged   Why = "unjudged"   // on: the configuration asks for no verdict
	Judged     Why = "judged"     // on or off, as the verdict says
	NotJudged  Why = "not judged" // off: there is no verdict on this model, these terms and this ranking
	Unreadable Why = "unreadable" // off: the verdict could not be read, or is none
)

// Leg tells whether this keeper also searches by meaning. It changes with the verdict
// that is kept, within Poll.
func (k *Keeper) Leg() Leg { return *k.leg.Load() }

// look reads the verdict, and tells what changed. Nothing but a verdict that was read
// turns a leg on that is to be judged.
func (k *Keeper) look(ctx context.Context) {
	next, err := k.legNow(ctx)
	if ctx.Err() != nil {
		return // the keeper is being closed; nothing is known of the verdict
	}
	before := k.leg.Swap(&next)
	if before != nil && before.same(next) {
		return
	}
	k.tell(next, err)
	if next.On {
		signal(k.toEmbed)
	}
}

func (k *Keeper) legNow(ctx context.Context) (Leg, error) {
	if k.embedder == nil {
		return Leg{Why: NoModel}, nil
	}
	leg := Leg{Model: k.embedder.Name()}
	if k.unjudged {
		leg.On, leg.Why, leg.Meaning = true, Unjudged, k.ranking.Meaning
		return leg, nil
	}
	v, found, err := k.verdict(ctx)
	switch {
	case err != nil:
		leg.Why = Unreadable
		return leg, err
	case !found:
		leg.Why = NotJudged
		return leg, nil
	}
	leg.Why, leg.Verdict = Judged, &v
	if leg.On = v.Figures.On; leg.On {
		leg.Meaning = v.Meaning
	}
	return leg, nil
}

// same compares what a verdict says and of when it is.
func (l Leg) same(other Leg) bool {
	if (l.Verdict == nil) != (other.Verdict == nil) || l.Verdict != nil && *l.Verdict != *other.Verdict {
		return false
	}
	return l.On == other.On && l.Why == other.Why
}

// tell says how the leg is: at the start, and when it changes.
func (k *Keeper) tell(leg Leg, err error) {
	switch {
	case leg.Why == NoModel:
		if k.ranking.Rescore && k.store != nil { // else nobody recalls
			k.log.Warn("memories: the specification's ranking takes the nearest by meaning, and there is no embedder: words alone answer; name one, and have it judged")
		}
	case leg.Why == NotJudged:
		k.log.Warn("memories: words alone answer, since there is no verdict on this model, these terms and this ranking; judge it on labelled data (sluice memory judge DIR)",
			"model", leg.Model, "terms", entryVersion, "ranking", k.ranking.Name())
	case leg.Why == Unreadable:
		k.log.Error("memories: words alone answer, since the verdict on the model cannot be read; it is looked at again, and judging the model anew replaces it", "model", leg.Model, "error", err)
	case leg.Verdict != nil:
		k.log.Info("memories: the model was judged", "model", leg.Model, "meaning", leg.Meaning, "verdict", leg.Verdict.Figures.Reason)
	}
}

// followVerdict looks for verdicts until ctx ends: of this replica, of others, and of
// commands beside them.
func (k *Keeper) followVerdict(ctx context.Context) {
	ticks := time.NewTicker(k.poll)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			k.look(ctx)
		}
	}
}

// rankingOf is the keeper's ranking with the weight of a leg that is on.
func (k *Keeper) rankingOf(leg Leg) memory.Ranking {
	r := k.ranking
	if leg.On {
		r.Meaning = leg.Meaning
	}
	return r
}
