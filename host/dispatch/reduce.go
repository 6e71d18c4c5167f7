package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
)

// A transition is how a call, or somebody outside of calls, changed the state
// of a session, in its record: all that is needed to make the values again.
type transition struct {
	Patch   map[string]json.RawMessage `json:"patch,omitempty"`  // a merge patch for each key
	Action  json.RawMessage            `json:"action,omitempty"` // for the release's reducer
	Seen    map[string]int64           `json:"seen,omitempty"`   // the keys that the reducer saw, all that there were for it, with their versions
	Changes []changed                  `json:"changes,omitempty"`
}

// A changed is one key of a transition.
type changed struct {
	Key    string `json:"key"`
	From   int64  `json:"from,omitempty"`   // the version before; 0 where it was not there
	SHA256 string `json:"sha256,omitempty"` // of the new value; empty where it was removed
}

// given reports whether an optional part of a reply is there.
func given(part json.RawMessage) bool { return len(part) > 0 && string(part) != "null" }

// verifyState accepts a patch of declared keys, or an action that the release
// can reduce, of a write.
func (f *flight) verifyState() *abi.Problem {
	patch, action := given(f.reply.State), given(f.reply.Action)
	switch {
	case !patch && !action:
		return nil
	case patch && action:
		return abi.NewProblem(abi.BrokenContract, "%s answered with both a state patch and an action", f.call.Tool)
	case f.entry.Tool.Effect != abi.Write:
		return abi.NewProblem(abi.NotGranted, "%s is a read and may not change state", f.call.Tool)
	case patch:
		return f.verifyPatch()
	}
	if r := f.entry.Release; !r.Skill.Reducer || !r.Module.Has(abi.ExportReduce) {
		return abi.NewProblem(abi.BrokenContract, "%s answered with an action, and %s has no reducer for it", f.call.Tool, r)
	}
	return nil
}

func (f *flight) verifyPatch() *abi.Problem {
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(f.reply.State, &patch); err != nil {
		return abi.NewProblem(abi.BrokenContract, "%s answered with a state patch that is not an object", f.call.Tool)
	}
	if len(patch) > state.MaxKeys {
		return abi.NewProblem(abi.QuotaReached, "%s changes %d state keys; one call may change %d", f.call.Tool, len(patch), state.MaxKeys)
	}
	for key := range patch {
		if !f.entry.Release.Skill.Capabilities.State.MayWrite(key) {
			return abi.NewProblem(abi.NotGranted, "%s changes state key %.80q, which its manifest does not declare", f.call.Tool, key)
		}
	}
	return nil
}

// reduce makes the new values of the state out of the reply, for the
// settlement and for its record.
func (f *flight) reduce(ctx context.Context) (problem *abi.Problem) {
	f.changes, f.moved = nil, nil
	switch {
	case given(f.reply.Action):
		f.changes, f.moved, problem = f.reduceAction(ctx)
	case given(f.reply.State):
		f.changes, f.moved, problem = f.applyPatch(ctx)
	}
	return problem
}

// applyPatch makes the new values from the reply's merge patch. A key that the
// call has read, or has found missing, must not have changed since.
func (f *flight) applyPatch(ctx context.Context) ([]state.Change, *transition, *abi.Problem) {
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(f.reply.State, &patch); err != nil {
		return nil, nil, abi.NewProblem(abi.BrokenContract, "%s answered with a state patch that is not an object", f.call.Tool)
	}
	current, err := f.Store.LoadState(ctx, f.call.Session, slices.Collect(maps.Keys(patch))...)
	if err != nil {
		return nil, nil, host.ProblemOf(err)
	}
	access := f.entry.Release.Skill.Capabilities.State
	for key := range patch {
		if access.MayRead(key) && f.versions[key] != current[key].Version {
			return nil, nil, changedMeanwhile(key)
		}
	}
	return patched(current, patch)
}

func changedMeanwhile(key string) *abi.Problem {
	return abi.NewProblem(abi.StoreConflict, "state key %q was changed by another call", key)
}

// patched makes the changes of a merge patch of some keys.
func patched(current map[string]state.Value, patch map[string]json.RawMessage) ([]state.Change, *transition, *abi.Problem) {
	values := map[string]json.RawMessage{}
	for key, part := range patch {
		values[key] = mergePatch(current[key].Data, part)
	}
	t := &transition{Patch: patch}
	changes, problem := t.changes(current, values)
	return changes, t, problem
}

// changes gives the new values, nil for one that is removed, as changes of the
// current ones, in the order of the keys, and notes them in the transition.
func (t *transition) changes(current map[string]state.Value, values map[string]json.RawMessage) ([]state.Change, *abi.Problem) {
	changes := make([]state.Change, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value, version := values[key], current[key].Version
		if abi.Size(len(value)) > abi.ValueBytes {
			return nil, abi.NewProblem(abi.QuotaReached, "state key %q would have %d bytes; at most %s are kept", key, len(value), abi.ValueBytes)
		}
		changes = append(changes, state.Change{Key: key, Version: version, Data: value})
		t.Changes = append(t.Changes, changed{key, version, digestOf(value)})
	}
	return changes, nil
}

func digestOf(value json.RawMessage) string {
	if value == nil {
		return ""
	}
	return host.Digest(value)
}

// reduceAction has the release's reducer make the new values from the reply's
// action. Nothing that it saw may change before they are kept. (A database that
// locks rows cannot lock a key that is not there: one that appears while the call
// is settled comes after it.)
func (f *flight) reduceAction(ctx context.Context) ([]state.Change, *transition, *abi.Problem) {
	current, problem := f.declaredState(ctx)
	if problem != nil {
		return nil, nil, problem
	}
	t := &transition{Action: normal(f.reply.Action), Seen: map[string]int64{}}
	seen := map[string]json.RawMessage{}
	for key, v := range current {
		if v.Data != nil {
			t.Seen[key], seen[key] = v.Version, v.Data
		}
	}
	values, result, problem := reduced(ctx, f.entry.Release, f.call.Session.Tenant, f.call.Timeout, seen, t.Action)
	f.reducerRan(result)
	if problem != nil {
		return nil, nil, problem
	}
	changes, problem := t.changes(current, values)
	if problem != nil {
		return nil, nil, problem
	}
	for _, key := range slices.Sorted(maps.Keys(current)) {
		if _, changed := values[key]; !changed {
			changes = append(changes, state.Change{Key: key, Version: current[key].Version, Keep: true})
		}
	}
	if len(changes) > state.MaxKeys {
		return nil, nil, abi.NewProblem(abi.QuotaReached, "the reducer of %s sees and makes %d state keys; one call may have %d", f.entry.Release, len(changes), state.MaxKeys)
	}
	return changes, t, nil
}

// reducerRan adds what a reducer cost and said to what its call did.
func (f *flight) reducerRan(result reduction) {
	f.ran.Reducer = ranOf(f.entry.Release, result.input, result.Result)
	cost := result.Usage
	cost.InputBytes, cost.OutputBytes = f.outcome.Usage.InputBytes, f.outcome.Usage.OutputBytes // those of the envelope
	f.outcome.Usage.Add(cost)
	f.logs = append(f.logs, result.Logs...)
}

// declaredState loads what the reducer sees: the keys that the manifest reads
// or writes, at most state.MaxKeys, so that one settlement can see to it that
// none of them has changed. A key that is named as such and is not there has no
// data. What the call has read must be as it was.
func (f *flight) declaredState(ctx context.Context) (map[string]state.Value, *abi.Problem) {
	access := f.entry.Release.Skill.Capabilities.State
	current := map[string]state.Value{}
	err := eachValue(ctx, f.Store, f.call.Session, declaredPatterns(access), func(v state.Value) error {
		current[v.Key] = v
		return f.fits(current)
	})
	if err != nil {
		return nil, host.ProblemOf(err)
	}
	for key, version := range f.versions {
		if current[key].Version != version {
			return nil, changedMeanwhile(key)
		}
	}
	for key, v := range current {
		if access.MayRead(key) && f.versions[key] != v.Version {
			return nil, changedMeanwhile(key)
		}
	}
	return current, nil
}

// declaredPatterns gives the keys and patterns that are read or written, each
// once.
func declaredPatterns(access *abi.StateAccess) []string {
	if access == nil {
		return nil
	}
	patterns := slices.Concat(access.Reads, access.Writes)
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// fits reports whether the values can be the reducer's input.
func (f *flight) fits(current map[string]state.Value) error {
	size := abi.Size(0)
	for _, v := range current {
		size += abi.Size(len(v.Key) + len(v.Data))
	}
	if len(current) > state.MaxKeys {
		return abi.NewProblem(abi.QuotaReached, "the session has more than %d state keys that the reducer of %s sees", state.MaxKeys, f.entry.Release)
	}
	if limit := f.entry.Release.Module.Limits().Input; size > limit {
		return abi.NewProblem(abi.QuotaReached, "the state that the reducer of %s sees has more than %s, its limit of input", f.entry.Release, limit)
	}
	return nil
}

// A reduction is one run of a reducer, with what it saw.
type reduction struct {
	sandbox.Result
	input []byte
}

// reduced runs the reducer of a release on the state that it may see, and gives
// the new values of those keys that it changes, nil for one that it removes. It
// depends on nothing else: the guest's clock stands at the beginning of time,
// its random numbers have one seed, and it has no host functions but logs.
func reduced(ctx context.Context, r *release.Release, tenant host.TenantID, timeout time.Duration, seen map[string]json.RawMessage, action json.RawMessage) (map[string]json.RawMessage, reduction, *abi.Problem) {
	input, err := json.Marshal(abi.Reduction{ABI: abi.Version, State: seen, Action: action})
	if err != nil {
		return nil, reduction{}, abi.NewProblem(abi.HostBug, "the reduction of %s does not marshal", r)
	}
	result := reduction{r.Module.Call(ctx, sandbox.Request{
		Tenant: tenant, Export: abi.ExportReduce, Input: input, Deadline: max(0, timeout),
		Now: time.Unix(0, 0), Seed: [32]byte{},
	}), input}
	if result.Problem != nil {
		return nil, result, reducerProblem(r, result.Result)
	}
	values, problem := newValues(r, seen, result.Output)
	return values, result, problem
}

// reducerProblem gives why a reducer gave no state: its own refusal, or what
// stopped it.
func reducerProblem(r *release.Release, result sandbox.Result) *abi.Problem {
	p := *result.Problem
	var own abi.Problem
	if p.Code == abi.GuestExit && json.Unmarshal([]byte(result.GuestError), &own) == nil {
		switch class := own.Code.Class(); {
		case class == abi.ClassBusiness || class == abi.ClassArguments:
			return &own
		case own.Code == abi.Trap:
			p = own
		default:
			p = *abi.NewProblem(abi.BrokenContract, "it answered with code %d, which is not a reducer's to give", own.Code)
		}
	}
	p.Message = "the reducer of " + r.String() + ": " + p.Message
	return &p
}

// newValues reads what a reducer gave: one JSON object. A key that it leaves
// out stays as it is, null removes one, and only keys that the manifest writes
// may be other than they were.
func newValues(r *release.Release, seen map[string]json.RawMessage, output []byte) (map[string]json.RawMessage, *abi.Problem) {
	var object map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(output))
	err := d.Decode(&object)
	if _, end := d.Token(); err != nil || end != io.EOF || object == nil {
		return nil, abi.NewProblem(abi.BrokenContract, "the reducer of %s gave something that is not one JSON object", r)
	}
	values := map[string]json.RawMessage{}
	for key, raw := range object {
		value := normal(raw)
		if !given(value) {
			value = nil
		}
		old, there := seen[key]
		if there == (value != nil) && bytes.Equal(value, normal(old)) {
			continue
		}
		if !r.Skill.Capabilities.State.MayWrite(key) {
			return nil, abi.NewProblem(abi.NotGranted, "the reducer of %s changes state key %.80q, which its manifest does not declare as written", r, key)
		}
		values[key] = value
	}
	if len(values) > state.MaxKeys {
		return nil, abi.NewProblem(abi.QuotaReached, "the reducer of %s changes %d state keys; one call may change %d", r, len(values), state.MaxKeys)
	}
	return values, nil
}

// normal gives JSON in the form in which values are stored; nil stays nil.
func normal(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	b, err := json.Marshal(decode(raw))
	if err != nil {
		panic("BUG: a value that was JSON does not marshal: " + err.Error())
	}
	return b
}

// mergePatch applies a JSON merge patch (RFC 7396) to a value. A patch of null
// gives nil: the value is removed.
func mergePatch(target, patch json.RawMessage) json.RawMessage {
	p := decode(patch)
	if p == nil {
		return nil
	}
	merged, err := json.Marshal(merge(decode(target), p))
	if err != nil {
		panic("BUG: values that were JSON do not marshal: " + err.Error())
	}
	return merged
}

func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(t, name)
		} else {
			t[name] = merge(t[name], value)
		}
	}
	return t
}
