package agent

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// Clear ends the session's short-term memory: what was said so far, and the
// topics, are not seen by the model any more. The messages stay on record, and
// what skills keep (state, kv, files, memory) is not touched. An input whose
// turn is not over is superseded. A session that has a turn running is Busy; one
// that has said nothing is left as it is.
func (a *Agent) Clear(ctx context.Context, ref host.SessionRef) error {
	if !a.enter(ref) {
		return host.Fail("agent.Clear", abi.NewProblem(abi.Busy, "session %s has a turn running", ref), nil)
	}
	defer a.leave(ref)
	c := conversation{ref: ref}
	values, err := a.Store.LoadState(ctx, ref, keySession, keyView)
	if err == nil {
		err = read(values, keySession, &c.meta, &c.version)
	}
	if err == nil {
		err = read(values, keyView, &c.seen, &c.seenVersion)
	}
	if err != nil || c.meta.Messages == c.seen.Cut.Summed && c.seen.Cut.Summary == nil {
		return err
	}
	_, topics, err := c.topics(ctx, a.Store)
	if err != nil {
		return err
	}
	cleared := window.Compaction{Level: window.LevelSummary, From: c.seen.Cut.Summed, To: c.meta.Messages}
	more := []state.Change{{Key: fmt.Sprintf("%s%08d", keyCompaction, c.seen.Compactions), Data: encode(cleared)}}
	if topics > 0 {
		more = append(more, state.Change{Key: keyTopics, Version: topics})
	}
	c.seen = viewValue{Cut: c.seen.Cut.With(cleared), Meter: c.seen.Meter, Compactions: c.seen.Compactions + 1}
	c.meta.Active, c.meta.Topics, c.meta.CutAt, c.meta.Cleared = "", 0, c.meta.Inputs, c.meta.Messages
	return c.save(ctx, a.Store, nil, nil, more...)
}
