package keeper

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Act keeps what the user did with a shown output, as somebody puts it on record, once:
// repeating it with the same changes nothing, and another action is refused with BadValue.
// Only what was read from the user's words (ActHeard) it takes the place of: after the
// outcome has moved trust by that no other action does, but the same one with another
// alternative, which moves none. The alternative is what the user did instead, and may be
// empty. An accepted output counts as a use of the memories that it points to, see Adopt.
func (k *Keeper) Act(ctx context.Context, o Owner, trace string, action memory.Decision, alternative string) (memory.Trace, error) {
	const op = "keeper.Act"
	if err := checkAct(action, alternative); err != nil {
		return memory.Trace{}, fail(op, err)
	}
	return k.changeTrace(ctx, op, o, trace, func(ctx context.Context, t *tx, found *memory.Trace) (bool, error) {
		same := found.Action == action && found.Alternative == alternative
		switch attributed := !found.Attributed.IsZero(); {
		case same && (!found.Heard || attributed):
			return false, nil
		case found.Action != "" && !found.Heard:
			return false, badValue("decision %s was acted on already: %s", found.ID, found.Action)
		case found.Action != action && attributed:
			return false, badValue("decision %s was attributed already, as the user's words were read: %s", found.ID, found.Action).
				WithHint("its outcome has moved trust, and stays")
		}
		return true, t.act(ctx, o, found, action, alternative, "")
	})
}

// ActHeard keeps what the user's words in an input of the trace's session say that they
// did with its output, as Act does. It changes nothing where an action is on record
// already, of whoever: it may be repeated, and gives the trace as it is.
func (k *Keeper) ActHeard(ctx context.Context, o Owner, trace string, action memory.Decision, alternative string, in host.InputID) (memory.Trace, error) {
	const op = "keeper.ActHeard"
	err := checkAct(action, alternative)
	if err == nil && (in == "" || len(in) > host.MaxIDBytes) {
		err = badValue("an action was heard in an input whose id has %d bytes; give 1 to %d", len(in), host.MaxIDBytes)
	}
	if err != nil {
		return memory.Trace{}, fail(op, err)
	}
	return k.changeTrace(ctx, op, o, trace, func(ctx context.Context, t *tx, found *memory.Trace) (bool, error) {
		if found.Action != "" || found.Session == "" { // or it has no words any more
			return false, nil
		}
		return true, t.act(ctx, o, found, action, alternative, in)
	})
}

func checkAct(action memory.Decision, alternative string) error {
	if action != memory.Accept && action != memory.Reject && action != memory.Modify || len(alternative) > memory.MaxTextBytes {
		return badValue("an action %.40q with an alternative of %d bytes; give accept, reject or modify, and at most %d bytes", string(action), len(alternative), memory.MaxTextBytes)
	}
	return nil
}

// act puts an action in the place of none, or of one that was heard.
func (t *tx) act(ctx context.Context, o Owner, trace *memory.Trace, action memory.Decision, alternative string, heardIn host.InputID) (err error) {
	switch before := trace.Action; {
	case before != memory.Accept && action == memory.Accept:
		err = adopt(ctx, t.on, o, trace.Sources, t.at)
	case before == memory.Accept && action != memory.Accept:
		err = unadopt(ctx, t.on, o, trace.Sources)
	}
	trace.Action, trace.Alternative, trace.Acted = action, alternative, t.at
	trace.Heard, trace.ActedInput = heardIn != "", heardIn
	return err
}

// ShownIn gives the traces of the outputs that were shown in answer to an input of an
// owner's session, at most 256. Those without words are of no session.
func (k *Keeper) ShownIn(ctx context.Context, o Owner, session host.SessionID, input host.InputID) ([]memory.Trace, error) {
	const query = "SELECT detail FROM memory_trace" + ofOwner + " AND session_id = ? AND input_id = ? ORDER BY trace_id LIMIT ?"
	traces, err := documents[memory.Trace](ctx, k.db.Reads, query, append(ownerArgs(o), string(session), string(input), tracesPage)...)
	return traces, fail("keeper.ShownIn", err)
}

const heardInSession = "SELECT detail FROM memory_trace" + ofOwner + " AND session_id = ? AND trace_id > ? ORDER BY trace_id LIMIT ?"

// silenceActs takes the alternatives out of traces that were heard in the inputs that
// memories come from. What the user did stays, as it does without the trace's other words.
func (t *tx) silenceActs(ctx context.Context, o Owner, from removed) error {
	said := map[host.SessionID]map[host.InputID]bool{}
	for _, s := range from.sources {
		if s.Session == "" || s.Input == "" {
			continue
		}
		if said[s.Session] == nil {
			said[s.Session] = map[host.InputID]bool{}
		}
		said[s.Session][s.Input] = true
	}
	for session, inputs := range said {
		if err := t.silenceActsIn(ctx, o, session, inputs, from.keys); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) silenceActsIn(ctx context.Context, o Owner, session host.SessionID, inputs map[host.InputID]bool, keys map[string]bool) error {
	for after, more := "", true; more; {
		page, err := documents[memory.Trace](ctx, t.on, heardInSession, append(ownerArgs(o), string(session), after, tracesPage)...)
		if err != nil {
			return err
		}
		for _, trace := range page {
			after = trace.ID
			if !inputs[trace.ActedInput] && !actedBy(trace, keys) {
				continue
			}
			if err := t.silenceAct(ctx, trace); err != nil {
				return err
			}
		}
		more = len(page) == tracesPage
	}
	return nil
}

func (t *tx) silenceAct(ctx context.Context, trace memory.Trace) error {
	trace.Alternative, trace.ActedInput = "", ""
	return t.saveTrace(ctx, trace)
}

// actedBy tells whether a trace was acted on in an input of which keys has the SourceKey.
func actedBy(trace memory.Trace, keys map[string]bool) bool {
	return trace.ActedInput != "" && keys[SourceKey(memory.Source{Session: trace.Session, Input: trace.ActedInput})]
}

// silenceHeard takes the alternatives out of all traces that were acted on in any input
// that said memories, also once more: of later ones nothing tells the session. The traces
// are read outside of transactions, since there may be years of them.
func (k *Keeper) silenceHeard(ctx context.Context, o Owner, ids []memory.ID) error {
	keys := map[string]bool{}
	if err := addKeys(ctx, k.db.Reads, o, ids, keys); err != nil || len(keys) == 0 {
		return err
	}
	for after, more := "", true; more; {
		page, err := documents[memory.Trace](ctx, k.db.Reads, tracesAfter, append(ownerArgs(o), after, tracesPage)...)
		if err != nil {
			return err
		}
		if more = len(page) == tracesPage; more {
			after = page[len(page)-1].ID
		}
		page = slices.DeleteFunc(page, func(trace memory.Trace) bool { return !actedBy(trace, keys) })
		if err := k.silencePage(ctx, o, page, keys); err != nil {
			return err
		}
	}
	return nil
}

// silencePage takes the alternatives out of traces as they are by now.
func (k *Keeper) silencePage(ctx context.Context, o Owner, page []memory.Trace, keys map[string]bool) error {
	if len(page) == 0 {
		return nil
	}
	return k.change(ctx, func(ctx context.Context, t *tx) error {
		for _, trace := range page {
			found, err := documents[memory.Trace](ctx, t.on, traceOf+t.lock, append(ownerArgs(o), trace.ID)...)
			if err == nil && len(found) > 0 && actedBy(found[0], keys) {
				err = t.silenceAct(ctx, found[0])
			}
			if err != nil {
				return err
			}
		}
		_, err := exec(ctx, t.on, setScrubTo, t.next())
		return err
	})
}
