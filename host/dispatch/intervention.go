package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// steppedInTargets is of how many targets of a write is looked what was done to
// them before. A write of more than one is asked for anyway.
const steppedInTargets = 8

// An Intervention is the detail of a record that a user stepped in after a call.
type Intervention struct {
	Of     host.CallID `json:"of"`               // the call that was objected to, undone or corrected
	Tool   string      `json:"tool"`             // of that call
	Target string      `json:"target,omitempty"` // of an undo and a correction
	By     host.UserID `json:"by,omitempty"`     // of an objection
	Words  string      `json:"words,omitempty"`  // likewise
}

// takenBack is steppedIn for a write that has run. What it takes back is counted,
// and no more: it is kept also where that cannot be told, with a note.
func (f *flight) takenBack(ctx context.Context) []host.Record {
	if f.key == "" {
		return nil
	}
	records, err := f.steppedIn(ctx)
	if err != nil {
		f.note("whether it undoes or corrects another call is not known: %s", host.ProblemOf(err).Message)
		f.Log.Warn("what a write takes back is not on record", "session", f.call.Session.String(), "call", f.call.ID, "error", err)
		return nil
	}
	return records
}

// steppedIn gives the records of what this write undoes or corrects. They are
// kept with its outcome. The store is asked only by tools that undo others, and
// from the user's second input on.
func (f *flight) steppedIn(ctx context.Context) ([]host.Record, error) {
	var found []Intervention
	var records []host.Record
	for _, target := range f.targets[:min(len(f.targets), steppedInTargets)] {
		kind := host.RecordUndo
		in, err := f.undoes(ctx, target)
		if err == nil && in == nil {
			kind = host.RecordCorrection
			in, err = f.corrects(ctx, target)
		}
		if err != nil {
			return nil, err
		}
		if in != nil && !slices.ContainsFunc(found, func(other Intervention) bool { return other.Of == in.Of }) {
			found = append(found, *in)
			records = append(records, f.record(kind, detail(in)))
		}
	}
	return records, nil
}

// undoes gives the newest write to the target that this tool undoes and that was
// not undone before, of whatever tool.
func (f *flight) undoes(ctx context.Context, target string) (newest *Intervention, err error) {
	var at time.Time
	for _, t := range f.entry.Release.Skill.Tools {
		if t.Undo != f.entry.Tool.Name {
			continue
		}
		last, found, err := f.Store.LastDone(ctx, f.call.Session, t.Name, target)
		undone := false
		if err == nil && found {
			undone, err = f.undoneSince(ctx, t.Undo, target, last)
		}
		if err != nil {
			return nil, err
		}
		if found && !undone && (newest == nil || last.At.After(at)) {
			newest, at = &Intervention{Of: last.Call, Tool: t.Name, Target: target}, last.At
		}
	}
	return newest, nil
}

func (f *flight) undoneSince(ctx context.Context, undo, target string, last state.LastDone) (bool, error) {
	if undo == "" {
		return false, nil
	}
	undone, found, err := f.Store.LastDone(ctx, f.call.Session, undo, target)
	return found && !undone.At.Before(last.At), err
}

// corrects gives the newest write of the same tool to the target, if it was done
// for earlier words of the user, with other arguments, and stands.
func (f *flight) corrects(ctx context.Context, target string) (*Intervention, error) {
	serves := cmp.Or(f.call.Serves, f.call.Input)
	if serves < 2 {
		return nil, nil
	}
	last, found, err := f.Store.LastDone(ctx, f.call.Session, f.entry.Tool.Name, target)
	if err != nil || !found || sameArguments(last.Args, f.args) {
		return nil, err
	}
	intent, err := f.intentOf(ctx, last.Call)
	if err != nil || intent == nil || intent.Input >= serves || sameArguments(intent.Args, f.args) {
		return nil, err
	}
	if undone, err := f.undoneSince(ctx, f.entry.Tool.Undo, target, last); err != nil || undone {
		return nil, err
	}
	return &Intervention{Of: last.Call, Tool: f.entry.Tool.Name, Target: target}, nil
}

// An intentRecord is what the record of an intent says of its call.
type intentRecord struct {
	Args  json.RawMessage `json:"args"`
	Input int             `json:"input"`
}

// intentOf gives the intent of an earlier call of the session; nil where it is
// not on record, or not to be read any more. It is asked for by the call alone:
// a database that were given the session, too, might walk all of that.
func (f *flight) intentOf(ctx context.Context, call host.CallID) (*intentRecord, error) {
	records, err := f.Store.Records(ctx, f.call.Session.Tenant, state.RecordFilter{
		Call: call, Kinds: []host.RecordKind{host.RecordIntent}, Limit: 1,
	})
	if err != nil || len(records) == 0 || records[0].Session != f.call.Session {
		return nil, err
	}
	var intent intentRecord
	if json.Unmarshal(records[0].Detail, &intent) != nil {
		return nil, nil
	}
	return &intent, nil
}

// sameArguments compares the meaning of arguments. Such as were left out for
// their length are no other's.
func sameArguments(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return false
	}
	one, err := host.Canonical(a)
	other, err2 := host.Canonical(b)
	return err == nil && err2 == nil && string(one) == string(other)
}

// MaxObjectionWords bounds what a user says with an objection, in bytes: a few
// sentences.
const MaxObjectionWords = 2000

// Object keeps that the session's user said no to a call that a soft-gate told
// them of, with their words, which may be empty. The call stays done: to take it
// back is a call of its own. It reports whether it has kept the objection: to a
// call that has one on record, it keeps no other. Of two at the same time both
// may be kept; they count once. It needs no lease.
//
// It fails with Missing if no call is named, with NotFound if the session has no
// such call on record, with Conflict if the call did nothing or was not one to be told of, with BadValue
// if the words are too long, with QuotaReached if the call has more records than are looked at, and as the store does.
func Object(ctx context.Context, store *state.Store, session host.SessionRef, call host.CallID, words string) (first bool, err error) {
	const op = "dispatch.Object"
	switch {
	case call == "":
		return false, host.Fail(op, abi.NewProblem(abi.Missing, "no call is named").WithField("call"), nil)
	case len(words) > MaxObjectionWords:
		return false, host.Fail(op, abi.NewProblem(abi.BadValue, "the words have %d bytes; at most %d are kept", len(words), MaxObjectionWords).WithField("words"), nil)
	}
	records, err := endsOf(ctx, store, session.Tenant, call)
	records = slices.DeleteFunc(records, func(r host.Record) bool { return r.Session != session })
	switch {
	case err != nil:
		return false, err
	case len(records) == 0:
		return false, host.Fail(op, abi.NewProblem(abi.NotFound, "session %s has no call %q that has ended", session.Session, string(call)), nil)
	}
	var done host.Record
	for _, r := range records {
		var o host.Outcome
		switch {
		case r.Kind == host.RecordObjection:
			return false, nil
		case json.Unmarshal(r.Detail, &o) == nil && o.OK() && o.Tier == abi.SoftGate:
			done = r
		}
	}
	if done.Call == "" {
		return false, host.Fail(op, abi.NewProblem(abi.Conflict, "call %s is not one that was done and told of at once", call).
			WithHint("a call that waits is answered with its question; what was confirmed is undone by a call of its own"), nil)
	}
	return true, store.Record(ctx, host.Record{
		Session: session, Call: call, Kind: host.RecordObjection, Tool: done.Tool, Release: done.Release,
		Detail: detail(Intervention{Of: call, Tool: done.Tool, By: session.User, Words: words}),
	})
}

// endsOf gives the outcomes of a call, and the objections to it.
func endsOf(ctx context.Context, store *state.Store, tenant host.TenantID, call host.CallID) ([]host.Record, error) {
	filter := state.RecordFilter{Call: call, Kinds: []host.RecordKind{host.RecordOutcome, host.RecordObjection}}
	var records []host.Record
	for {
		page, err := store.Records(ctx, tenant, filter)
		switch {
		case err != nil:
			return nil, err
		case len(page) == 0:
			return records, nil
		case len(records)+len(page) > replayRecords:
			return nil, host.Fail("dispatch.Object", abi.NewProblem(abi.QuotaReached, "call %s has more than %d records", call, replayRecords), nil)
		}
		records = append(records, page...)
		filter.AfterSeq = page[len(page)-1].Seq
	}
}
