package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// maxHintKeys bounds the state keys that a hint tells of.
const maxHintKeys = 256

// view gives the request for the next answer. Where the conversation had to be
// compacted, that is stored before the model is asked.
func (t *turn) view(ctx context.Context) (model.Request, error) {
	shown := t.shelf.Choose(t.seen.Shown, t.messages, t.meta.scene())
	hint, err := t.hint(ctx)
	if err != nil {
		return model.Request{}, err
	}
	layers := window.Layers{
		Persona: t.Persona, Skills: t.shelf.Skills(shown), Guides: t.shelf.Guides(shown, t.Window), Project: t.notes(),
		Tools: t.shelf.Tools(shown), State: hint, Locale: t.session.Locale, Mode: window.Mode(t.meta.Mode),
		Recalled: t.recalled, Notes: t.remarks,
	}
	if t.meta.Topics > 0 {
		layers.Tools = append(layers.Tools, window.SearchTopics())
	}
	plan, err := window.Fit(window.Conversation{Messages: t.messages, First: t.first, Cut: t.seen.Cut, IsRead: t.changesNothing},
		window.Budget{Window: t.Window, Fixed: window.RequestTokens(layers.Request()), Meter: t.seen.Meter})
	if err != nil {
		return model.Request{}, err
	}
	plan = t.summarised(ctx, plan)
	t.seen.Shown = shown // kept with the answer: it follows from what is stored
	if len(plan.Events) > 0 {
		if err := t.keepCut(ctx, plan); err != nil {
			return model.Request{}, err
		}
	}
	layers.Talk = plan.Messages
	t.told = layers
	return layers.Request(), nil
}

// summarised asks the small model for a better summary than the extract, where
// one is needed. Without an answer that holds, the extract stays.
func (t *turn) summarised(ctx context.Context, plan window.Plan) window.Plan {
	if plan.Ask == nil || t.Small == nil || t.spare() != nil {
		return plan
	}
	reply, err := t.Small.Complete(ctx, *plan.Ask, nil)
	if err != nil {
		return plan
	}
	t.spend(t.SmallPrice.cost(usage(*plan.Ask, reply)))
	better, err := plan.Summarised(reply.Text)
	if err != nil {
		return plan
	}
	return better
}

// keepCut stores a compaction: the cut, and its steps as events.
func (t *turn) keepCut(ctx context.Context, plan window.Plan) error {
	t.seen.Cut = plan.Cut
	var events []state.Change
	for _, e := range plan.Events {
		events = append(events, state.Change{Key: compactionKey(t.seen.Compactions), Data: compactionForm().encode(e)})
		t.seen.Compactions++
	}
	return t.save(ctx, events...)
}

// hint tells the session's state, and what of it this turn has changed.
func (t *turn) hint(ctx context.Context) (string, error) {
	now, err := t.skillState(ctx)
	if err != nil {
		return "", err
	}
	if t.before == nil {
		t.before = now
	}
	return window.StateHint(now, t.before), nil
}

// skillState gives the state that the session's skills declare: never the
// agent's own, which lies beside it and is long.
func (t *turn) skillState(ctx context.Context) (map[string]json.RawMessage, error) {
	keys, prefixes := declaredState(t.catalog.Skills())
	now := map[string]json.RawMessage{}
	for some := range slices.Chunk(keys, state.MaxKeys) {
		values, err := t.Store.LoadState(ctx, t.ref, some...)
		if err != nil {
			return nil, err
		}
		for key, v := range values {
			now[key] = v.Data
		}
	}
	for _, prefix := range prefixes {
		if len(now) >= maxHintKeys {
			break
		}
		values, err := t.Store.ListState(ctx, t.ref, prefix, "", maxHintKeys-len(now))
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			now[v.Key] = v.Data
		}
	}
	return now, nil
}

// declaredState gives the state keys, and what the others begin with, that
// skills read or write, each once and in order.
func declaredState(skills []*manifest.Skill) (keys, prefixes []string) {
	for _, s := range skills {
		access := s.Capabilities.State
		if access == nil {
			continue
		}
		for _, pattern := range slices.Concat(access.Reads, access.Writes) {
			if prefix, whole := strings.CutSuffix(pattern, "*"); whole {
				prefixes = append(prefixes, prefix)
			} else {
				keys = append(keys, pattern)
			}
		}
	}
	slices.Sort(keys)
	slices.Sort(prefixes)
	return slices.Compact(keys), slices.Compact(prefixes)
}

// changesNothing is what the window goes by when it makes lines of old calls.
func (t *turn) changesNothing(tool string) bool {
	return tool == window.SearchTool || tool == window.TopicsTool || t.isRead(tool)
}

// maxShelves bounds the shelves that an agent keeps; sessions are mostly pinned
// to the same few sets of releases.
const maxShelves = 16

// shelfOf gives the shelf of the turn's releases.
func (a *Agent) shelfOf(t *turn) *window.Shelf {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.meta.Pins)) {
		fmt.Fprintf(&key, "%q %q\n", name, t.meta.Pins[name])
	}
	for _, name := range slices.Sorted(maps.Keys(t.catalog.Missing)) {
		fmt.Fprintf(&key, "without %q\n", name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	shelf := a.shelves[key.String()]
	if shelf == nil {
		if len(a.shelves) >= maxShelves {
			clear(a.shelves)
		}
		shelf = window.NewShelf(t.catalog.Skills(), a.Pinned, a.Tools)
		a.shelves[key.String()] = shelf
	}
	return shelf
}

// search answers a call of the search for tools or for topics, which are no
// tools of a skill. It reports false for any other call.
func (t *turn) search(ctx context.Context, c openCall) (bool, error) {
	found, ok := t.shelf.Answer(c.call)
	if !ok {
		var err error
		if found, ok, err = t.searchTopics(ctx, c.call); !ok || err != nil {
			return ok, err
		}
	}
	id := t.callID(c)
	t.sink.emit(host.Event{Kind: host.EventCall, Call: id, Tool: c.call.Tool, Args: c.call.Args})
	outcome := host.Outcome{Call: id, Tool: c.call.Tool, Status: host.Done, Preview: found.Text}
	t.sink.emit(host.Event{Kind: host.EventOutcome, Call: id, Tool: c.call.Tool, Outcome: &outcome})
	t.say(found)
	return true, t.save(ctx)
}
