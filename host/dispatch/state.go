package dispatch

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// SetState changes the state of a session from outside of its calls, as
// operators and events of the business do: a JSON merge patch (RFC 7396) for
// each key, null removing it. It is the only way beside a call's in which state
// that skills declare may change: the change is on record, so that Rebuild can
// make it again. Up to state.MaxKeys keys; a value has up to abi.ValueBytes. It
// waits for changes by others, a few times, and gives StoreConflict if they do
// not end, or Busy while somebody has a lease on the session. To repeat it after
// StoreFailure gives the same values.
func (d *Dispatcher) SetState(ctx context.Context, ref host.SessionRef, patch map[string]json.RawMessage) error {
	return d.SetStateUnder(ctx, ref, 0, patch)
}

// SetStateUnder is SetState for the holder of the session's lease. It fails with
// Busy, and keeps nothing, if the fence is not the session's.
func (d *Dispatcher) SetStateUnder(ctx context.Context, ref host.SessionRef, fence state.Fence, patch map[string]json.RawMessage) error {
	const op = "dispatch.SetState"
	if problem := checkPatch(patch); problem != nil {
		return host.Fail(op, problem, nil)
	}
	for attempts := 1; ; attempts++ {
		err := d.setState(ctx, ref, fence, patch)
		if err == nil || attempts > maxRetries || host.ProblemOf(err).Code != abi.StoreConflict {
			return err
		}
		if d.Sleep(ctx, backoff(attempts, d.Jitter())) != nil {
			return err
		}
	}
}

func checkPatch(patch map[string]json.RawMessage) *abi.Problem {
	if len(patch) > state.MaxKeys {
		return abi.NewProblem(abi.BadValue, "a patch of %d state keys; give at most %d", len(patch), state.MaxKeys)
	}
	for key, part := range patch {
		if !json.Valid(part) {
			return abi.NewProblem(abi.BadValue, "the patch of state key %.80q is not JSON", key)
		}
	}
	return nil
}

func (d *Dispatcher) setState(ctx context.Context, ref host.SessionRef, fence state.Fence, patch map[string]json.RawMessage) error {
	const op = "dispatch.SetState"
	current, err := d.Store.LoadState(ctx, ref, slices.Collect(maps.Keys(patch))...)
	if err != nil {
		return err
	}
	changes, moved, problem := patched(current, patch)
	if problem != nil {
		return host.Fail(op, problem, nil)
	}
	detail, err := json.Marshal(stateDetail{moved})
	if err != nil {
		return host.Fail(op, abi.NewProblem(abi.HostBug, "the record of a state change does not marshal"), err)
	}
	if err := d.reads.flush(ctx, ref); err != nil {
		return err
	}
	id := host.CallID(host.NewID("state_"))
	return d.Store.Settle(ctx, state.Settlement{
		Session: ref, Call: id, Fence: fence, State: changes,
		Records: []host.Record{{Session: ref, Call: id, Kind: host.RecordState, Detail: detail}},
	})
}

// A stateDetail is the detail of a RecordState, and what Rebuild reads of the
// detail of a RecordOutcome.
type stateDetail struct {
	Transition *transition `json:"transition"`
}

// eachAtOnce is eachValue by one query, for values that most often are few. A key
// without a value need not be given.
func eachAtOnce(ctx context.Context, store *state.Store, ref host.SessionRef, patterns []string, do func(state.Value) error) error {
	keys, prefixes := apart(patterns)
	values, all, err := store.ReadState(ctx, ref, keys, prefixes)
	switch {
	case err != nil:
		return err
	case !all:
		return eachValue(ctx, store, ref, patterns, do)
	}
	for _, v := range values {
		if err := do(v); err != nil {
			return err
		}
	}
	return nil
}

// apart gives the keys, and the prefixes of patterns such as live.*.
func apart(patterns []string) (keys, prefixes []string) {
	for _, pattern := range patterns {
		if prefix, many := strings.CutSuffix(pattern, "*"); many {
			prefixes = append(prefixes, prefix)
		} else {
			keys = append(keys, pattern)
		}
	}
	return keys, prefixes
}

// eachValue gives the values of keys, and of all keys that patterns such as
// live.* name. A key without a value is given without data. It ends with the
// first error.
func eachValue(ctx context.Context, store *state.Store, ref host.SessionRef, patterns []string, do func(state.Value) error) error {
	keys, prefixes := apart(patterns)
	if err := eachKey(ctx, store, ref, keys, do); err != nil {
		return err
	}
	for _, prefix := range prefixes {
		if err := eachOf(ctx, store, ref, prefix, do); err != nil {
			return err
		}
	}
	return nil
}

// loadKeys bounds the values that are loaded at once: each may have 1 MiB.
const loadKeys = 16

// eachKey gives the values of keys, whatever is in their names.
func eachKey(ctx context.Context, store *state.Store, ref host.SessionRef, keys []string, do func(state.Value) error) error {
	for some := range slices.Chunk(keys, loadKeys) {
		values, err := store.LoadState(ctx, ref, some...)
		if err != nil {
			return err
		}
		for _, key := range some {
			v := values[key]
			v.Key = key
			if err := do(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOf gives the values of all keys with a prefix, page by page.
func eachOf(ctx context.Context, store *state.Store, ref host.SessionRef, prefix string, do func(state.Value) error) error {
	for after, more := "", true; more; {
		page, behind, err := store.StatePage(ctx, ref, prefix, after, state.MaxKeys)
		if err != nil {
			return err
		}
		for _, v := range page {
			if err := do(v); err != nil {
				return err
			}
			after = v.Key
		}
		more = behind
	}
	return nil
}
