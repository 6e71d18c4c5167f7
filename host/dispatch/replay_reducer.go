package dispatch

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// reducer runs the reducer of an attempt again, where one ran, on the state that
// the session's records give, and compares.
func (r *Replayer) reducer(ctx context.Context, rel *release.Release, a attemptRecord, run *ReplayedRun) (*ReplayFinding, error) {
	if a.detail.Run == nil || a.detail.Run.Reducer == nil {
		return nil, nil
	}
	finding, err := r.reduceAgain(ctx, rel, a, run)
	if finding != nil {
		finding.Reducer = true
	}
	return finding, err
}

func (r *Replayer) reduceAgain(ctx context.Context, rel *release.Release, a attemptRecord, run *ReplayedRun) (*ReplayFinding, error) {
	ran := a.detail.Run.Reducer
	seen, finding, err := r.seen(ctx, rel, a)
	if err != nil || finding != nil {
		return finding, err
	}
	values, result, _ := reduced(ctx, rel, a.Session.Tenant, 0, seen, actionOf(run.Output))
	run.Got.Reducer = ranOf(rel, result.input, result.Result)
	switch sum := host.Digest(result.input); {
	case ctx.Err() != nil:
		return nil, stoppedNow(ctx)
	case sum != ran.InputSHA256 && a.detail.Transition == nil:
		return &ReplayFinding{Reason: StateUnknown}, nil
	case sum != ran.InputSHA256:
		return &ReplayFinding{Reason: OtherState, What: "sha256 " + sum + ", on record is " + ran.InputSHA256}, nil
	case outside(ran.Code):
		return stoppedThen(ran.Code), nil
	case result.Problem != nil && outside(result.Problem.Code):
		return nil, host.Fail("dispatch.Replay", result.Problem, nil)
	}
	if f := ran.compare(result.Result); f != nil || a.detail.Transition == nil {
		return f, nil
	}
	return a.compareChanges(values), nil
}

// actionOf gives the action of a reply that was run, as the gate gives it to the
// reducer.
func actionOf(output []byte) json.RawMessage {
	var reply abi.Reply
	if json.Unmarshal(output, &reply) != nil {
		return nil
	}
	return normal(givenPart(reply.Action))
}

// seen gives what the reducer saw, by the records of the session before this
// one: the keys that the record names or, of one that failed, those that the
// manifest declares.
func (r *Replayer) seen(ctx context.Context, rel *release.Release, a attemptRecord) (map[string]json.RawMessage, *ReplayFinding, error) {
	b, err := r.before(ctx, a.Session, a.Seq)
	if err != nil {
		return nil, nil, err
	}
	t := a.detail.Transition
	if b.difference != nil || t != nil && !b.fitsBefore(a.Seq, t) {
		finding := &ReplayFinding{Reason: OtherState, What: b.difference.String()}
		r.states = nil
		return nil, finding, nil
	}
	seen := map[string]json.RawMessage{}
	if t != nil {
		for key := range t.Seen {
			seen[key] = b.data(key)
		}
		return seen, nil, nil
	}
	access := rel.Skill.Capabilities.State
	for key := range b.held {
		if data := b.data(key); data != nil && (access.MayRead(key) || access.MayWrite(key)) {
			seen[key] = data
		}
	}
	return seen, nil, nil
}

// before makes the state of a session as its records before a seq give it, going
// on from where the last one ended if it can.
func (r *Replayer) before(ctx context.Context, ref host.SessionRef, seq int64) (*rebuild, error) {
	b := r.states
	if b == nil || b.ref != ref || b.last >= seq || b.difference != nil {
		b = &rebuild{Dispatcher: r.Dispatcher, releases: r.releases, ref: ref, held: map[string]*heldValue{}, used: map[string]usedRelease{}}
		r.states = b
	}
	for {
		more, err := r.advance(ctx, b, seq)
		if err != nil {
			r.states = nil // it is half-made, and whoever asks next is to have a whole one
			return nil, err
		}
		if !more {
			return b, nil
		}
	}
}

// advance does what the next page of records before a seq says, and reports
// whether there may be more.
func (r *Replayer) advance(ctx context.Context, b *rebuild, seq int64) (more bool, err error) {
	page, err := r.Store.Records(ctx, b.ref.Tenant, state.RecordFilter{
		Session: b.ref, Kinds: []host.RecordKind{host.RecordOutcome, host.RecordState}, AfterSeq: b.last, Limit: rebuildPage,
	})
	if err != nil {
		return false, err
	}
	for _, record := range page {
		if record.Seq >= seq {
			return false, nil
		}
		if err := b.apply(ctx, record); err != nil || b.difference != nil {
			return false, err
		}
		b.last = record.Seq
	}
	return len(page) > 0, nil
}

// compareChanges holds the new values against the digests on record.
func (a attemptRecord) compareChanges(values map[string]json.RawMessage) *ReplayFinding {
	changes := map[string]string{}
	for key, value := range values {
		changes[key] = digestOf(value)
	}
	recorded := map[string]string{}
	for _, c := range a.detail.Transition.Changes {
		recorded[c.Key] = c.SHA256
	}
	wanted, got := marshalled(recorded), marshalled(changes)
	if string(wanted) == string(got) {
		return nil
	}
	return &ReplayFinding{Reason: OtherAnswer, What: "changes of the state", Wanted: cut(string(wanted), rebuildTexts), Got: cut(string(got), rebuildTexts)}
}
