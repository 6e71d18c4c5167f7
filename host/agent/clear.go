package agent

import (
	"context"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// Clear ends the session's short-term memory: what was said so far, and the
// topics, are not seen by the model any more. The messages stay on record, and
// what skills keep (state, kv, files, memory) is not touched. An input whose
// turn is not over is superseded. A session whose turn runs is Busy; one that
// has said nothing is left as it is.
func (a *Agent) Clear(ctx context.Context, ref host.SessionRef) error {
	c := conversation{ref: ref}
	values, err := a.Store.LoadState(ctx, ref, keySession, keyView)
	if err != nil {
		return err
	}
	if c.meta, c.version, err = read(sessionForm(), values, keySession); err != nil {
		return err
	}
	if c.seen, c.seenVersion, err = read(viewForm(), values, keyView); err != nil {
		return err
	}
	if c.meta.Messages == c.meta.Cleared {
		return nil
	}
	_, topics, err := c.topics(ctx, a.Store)
	if err != nil {
		return err
	}
	cleared := window.Compaction{Level: window.LevelSummary, From: c.seen.Cut.Summed, To: c.meta.Messages}
	more := []state.Change{{Key: compactionKey(c.seen.Compactions), Data: compactionForm().encode(cleared)}}
	if topics > 0 {
		more = append(more, state.Change{Key: keyTopics, Version: topics})
	}
	c.seen = viewValue{Cut: c.seen.Cut.With(cleared), Meter: c.seen.Meter, Compactions: c.seen.Compactions + 1}
	c.meta.Active, c.meta.Topics, c.meta.CutAt, c.meta.Cleared = "", 0, c.meta.Inputs, c.meta.Messages
	c.first = c.meta.Messages // nothing is loaded, and nothing is said
	return a.Store.SaveState(ctx, ref, append(c.changes(), more...)...)
}
