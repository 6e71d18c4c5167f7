package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// Clear ends the session's short-term memory: what was said so far, and the
// topics, are not seen by the model any more. The messages stay on record, and
// what skills keep (state, kv, files, memory) is not touched. An input whose
// turn is not over is superseded. A session whose turn runs is Busy; one that
// has said nothing is left as it is. It is an end of the session, of which the hooks
// are told as EndSession does.
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
	ends := c.meta.ends()
	changes := append(c.changes(), more...)
	if !ends {
		return a.Store.SaveState(ctx, ref, changes...)
	}
	owed, err := a.Store.SaveEnd(ctx, endingOf(ref, changes...))
	if err == nil {
		a.tellNow(ctx, owed)
	}
	return err
}

// ends notes that the session ends, and reports whether something was said
// since it ended last.
func (m *sessionValue) ends() bool {
	said := m.Inputs != m.Ended
	m.Ended = m.Inputs
	return said
}

// EndSession ends a session for now, puts that on record, and tells the hooks. It
// reports whether it did: a session in which nothing was said since its last
// end ends once. Nothing of it is removed, and a new input simply begins it
// again. A session whose turn runs is Busy. The hooks are told after the store
// has it: where one fails, or the process dies in between, TellOwed tells them again.
func (a *Agent) EndSession(ctx context.Context, ref host.SessionRef) (first bool, err error) {
	end, _, err := a.endOf(ctx, ref)
	if err != nil || end == nil {
		return false, err
	}
	owed, err := a.Store.SaveEnd(ctx, endingOf(ref, *end))
	if err != nil {
		return false, err
	}
	a.tellNow(ctx, owed)
	return true, nil
}

// endOf gives the change that notes a session's end, nil where that is noted, and when
// anything of the session's turns was kept last, by the store's clock.
func (a *Agent) endOf(ctx context.Context, ref host.SessionRef) (end *state.Change, last time.Time, err error) {
	values, err := a.Store.LoadState(ctx, ref, keySession)
	if err != nil {
		return nil, last, err
	}
	meta, version, err := read(sessionForm(), values, keySession)
	if err != nil || !meta.ends() {
		return nil, last, err
	}
	return &state.Change{Key: keySession, Version: version, Data: sessionForm().encode(meta)}, values[keySession].UpdatedAt, nil
}

// sessionEnded is the business event of a session's end, as records name it.
const sessionEnded = "session.end"

// endingOf gives what the end of a session keeps.
func endingOf(ref host.SessionRef, changes ...state.Change) state.Ending {
	return state.Ending{Session: ref, Changes: changes, Records: []host.Record{sessionRecord(ref, sessionEnded)}, Grace: owedFirst}
}

// sessionRecord tells that something happened to a session.
func sessionRecord(ref host.SessionRef, event string) host.Record {
	detail, err := json.Marshal(struct {
		Event string `json:"event"`
	}{event})
	if err != nil {
		panic("BUG: an event does not marshal: " + err.Error())
	}
	return host.Record{Session: ref, Kind: host.RecordEvent, Detail: detail}
}
