package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// A Rebuilt is the state of a session as its records alone give it.
type Rebuilt struct {
	Session host.SessionRef `json:"session"`
	Records int             `json:"records"`  // that changed state
	LastSeq int64           `json:"last_seq"` // of the last record that was read
	Keys    []RebuiltKey    `json:"keys"`     // those that exist at the end, or at the first difference, in their order

	// Missing are releases that calls used and that cannot be had any more, in
	// their order. Whether keys that only they declare were changed past the
	// records is not known.
	Missing []string `json:"missing,omitempty"`

	// Difference is the first one between the records and what follows from
	// them, or what is stored; nil where there is none.
	Difference *Difference `json:"difference,omitempty"`
}

// A RebuiltKey is one value as the records give it.
type RebuiltKey struct {
	Key     string          `json:"key"`
	Version int64           `json:"version"`
	Seq     int64           `json:"seq"` // of the record that changed it last
	Data    json.RawMessage `json:"data"`
}

// A Difference says where a rebuilt state is not what it should be.
type Difference struct {
	Seq    int64  `json:"seq"`           // of the record; at the end, of the last one that changed the key, or 0 if none did
	Key    string `json:"key,omitempty"` // empty where it is about the record as a whole
	What   string `json:"what"`          // such as "the value" or "the stored version"
	Wanted string `json:"wanted"`        // what the record says; at the end, what the records give
	Got    string `json:"got"`           // what follows from the records before it; at the end, what is stored
}

// String tells the difference in one line.
func (d Difference) String() string {
	where := "record " + fmt.Sprint(d.Seq)
	if d.Seq == 0 {
		where = "no record"
	}
	if d.Key != "" {
		where += ", " + d.Key
	}
	return where + ": " + d.What + ": wanted " + d.Wanted + ", got " + d.Got
}

// Bounds of a rebuild: what is in memory at once.
const (
	rebuildPage  = 200           // records at a time; a page ends early where they are long
	rebuildKeys  = 10_000        // values of one session
	rebuildBytes = 256 * abi.MiB // of all values together: those of a session that lives for months
	rebuildTexts = 400           // bytes of what a difference quotes
)

// A session that is in use while it is rebuilt is looked at again, so that a
// difference is one.
const (
	rebuildLooks = 5
	rebuildPause = 100 * time.Millisecond
)

// Rebuild makes every state of a session that its calls and SetState have
// changed again, from nothing and its records alone, in their order, with the
// reducers of the releases that they name, and compares each value with the
// record's digest and in the end, byte for byte, with what is stored. It stops at
// the first difference; that is no error. A key that a release of the session's
// calls declares as written, and that is stored and in no record, is a
// difference, too; what the host itself keeps with a session is not looked at.
//
// It fails with NotFound, or as the registry does, if a release is not to be had
// whose reducer is needed; with QuotaReached if the state has more than 10,000
// keys or 256 MiB; and as the store does. It changes nothing, and is safe while
// the session is in use.
func (d *Dispatcher) Rebuild(ctx context.Context, releases *release.Set, ref host.SessionRef) (Rebuilt, error) {
	b := &rebuild{Dispatcher: d, releases: releases, ref: ref, held: map[string]*heldValue{}, used: map[string]usedRelease{}}
	err := b.run(ctx)
	return b.result(), err
}

// A rebuild is one on its way.
type rebuild struct {
	*Dispatcher
	releases *release.Set
	ref      host.SessionRef

	held       map[string]*heldValue
	bytes      abi.Size               // of all values
	used       map[string]usedRelease // by name@version
	records    int
	last       int64
	difference *Difference
}

// A heldValue is a key that has a value, or had one: a version goes on counting.
type heldValue struct {
	version int64
	seq     int64
	data    json.RawMessage // nil where it was removed
}

// current gives the version that a change must be based on.
func (h *heldValue) current() int64 {
	if h == nil || h.data == nil {
		return 0
	}
	return h.version
}

type usedRelease struct {
	release *release.Release
	err     error
}

func (b *rebuild) run(ctx context.Context) error {
	for looks := 1; ; looks++ {
		if err := b.replay(ctx); err != nil || b.difference != nil {
			return err
		}
		if err := b.compare(ctx); err != nil || b.difference == nil || looks == rebuildLooks {
			return err
		}
		if err := b.Sleep(ctx, rebuildPause); err != nil {
			return host.Fail("dispatch.Rebuild", host.ProblemOf(err), err)
		}
		b.difference = nil
	}
}

// replay does what the records say that are not done yet.
func (b *rebuild) replay(ctx context.Context) error {
	for {
		page, err := b.Store.Records(ctx, b.ref.Tenant, state.RecordFilter{
			Session: b.ref, Kinds: []host.RecordKind{host.RecordOutcome, host.RecordState}, AfterSeq: b.last, Limit: rebuildPage,
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			b.last = r.Seq
			if err := b.apply(ctx, r); err != nil || b.difference != nil {
				return err
			}
		}
	}
}

// apply does what one record says.
func (b *rebuild) apply(ctx context.Context, r host.Record) error {
	if r.Release != "" {
		b.releaseOf(ctx, r.Release)
	}
	var detail stateDetail
	if err := json.Unmarshal(r.Detail, &detail); err != nil && len(r.Detail) > 0 {
		b.differs(r.Seq, "", "the record", "one that can be read", err.Error())
		return nil
	}
	t := detail.Transition
	if t == nil || !b.fitsBefore(r.Seq, t) {
		return nil
	}
	b.records++
	values, err := b.valuesOf(ctx, r, t)
	if err != nil || b.difference != nil {
		return err
	}
	return b.keep(r.Seq, t, values)
}

// fitsBefore compares the versions that a transition was made from.
func (b *rebuild) fitsBefore(seq int64, t *transition) bool {
	from := maps.Clone(t.Seen)
	if from == nil {
		from = map[string]int64{}
	}
	for _, c := range t.Changes {
		from[c.Key] = c.From
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if version := b.held[key].current(); version != from[key] {
			b.differs(seq, key, "the version before", fmt.Sprint(from[key]), fmt.Sprint(version))
			return false
		}
	}
	return true
}

// valuesOf makes the new values of a transition, as the call did.
func (b *rebuild) valuesOf(ctx context.Context, r host.Record, t *transition) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	if t.Action == nil {
		for key, part := range t.Patch {
			values[key] = mergePatch(b.data(key), part)
		}
		return values, nil
	}
	used := b.releaseOf(ctx, r.Release)
	if used.err != nil {
		return nil, used.err
	}
	seen := map[string]json.RawMessage{}
	for key := range t.Seen {
		seen[key] = b.data(key)
	}
	values, _, problem := reduced(ctx, used.release, b.ref.Tenant, 0, seen, t.Action)
	switch {
	case problem == nil:
		return values, nil
	case problem.Code.Class() == abi.ClassSystem || ctx.Err() != nil:
		return nil, host.Fail("dispatch.Rebuild", problem, ctx.Err())
	}
	b.differs(r.Seq, "", "the reducer's answer", "a state", problem.Error())
	return nil, nil
}

func (b *rebuild) data(key string) json.RawMessage {
	if h := b.held[key]; h != nil {
		return h.data
	}
	return nil
}

// keep compares new values with the digests of their record, and holds them.
func (b *rebuild) keep(seq int64, t *transition, values map[string]json.RawMessage) error {
	for _, c := range t.Changes {
		value, made := values[c.Key]
		if got := digestOf(value); !made || got != c.SHA256 {
			b.differs(seq, c.Key, "the value", quotedDigest(c.SHA256), quotedValue(value))
			return nil
		}
		b.hold(seq, c.Key, value)
		delete(values, c.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		b.differs(seq, key, "the change", "none", quotedValue(values[key]))
		return nil
	}
	if len(b.held) > rebuildKeys || b.bytes > rebuildBytes {
		return host.Fail("dispatch.Rebuild", abi.NewProblem(abi.QuotaReached, "the state of %s has more than %d keys or %s", b.ref, rebuildKeys, rebuildBytes), nil)
	}
	return nil
}

// hold counts versions as the store does: to remove what is not there is no
// change.
func (b *rebuild) hold(seq int64, key string, value json.RawMessage) {
	h := b.held[key]
	if h == nil {
		h = &heldValue{}
		b.held[key] = h
	}
	if h.data == nil && value == nil {
		return
	}
	b.bytes += abi.Size(len(value) - len(h.data))
	h.version, h.seq, h.data = h.version+1, seq, value
}

// releaseOf gives a release that a record names, asked for once, or until it can
// be told whether there is one.
func (b *rebuild) releaseOf(ctx context.Context, name string) usedRelease {
	used, asked := b.used[name]
	if !asked || used.err != nil && passes(used.err) {
		used.release, used.err = b.releases.Release(ctx, name)
		b.used[name] = used
	}
	return used
}

// passes reports whether an error may be gone when it is asked again.
func passes(err error) bool {
	code := host.ProblemOf(err).Code
	return code.Class() == abi.ClassSystem || code == abi.Cancelled
}

// compare holds the rebuilt values against what is stored, and looks for values
// that no record made.
func (b *rebuild) compare(ctx context.Context) error {
	err := eachKey(ctx, b.Store, b.ref, slices.Sorted(maps.Keys(b.held)), b.compareValue)
	for _, name := range slices.Sorted(maps.Keys(b.used)) {
		used := b.used[name]
		if err != nil || b.difference != nil {
			return err
		}
		if used.err == nil && used.release.Skill.Capabilities.State != nil {
			err = eachValue(ctx, b.Store, b.ref, used.release.Skill.Capabilities.State.Writes, b.compareValue)
		}
	}
	return err
}

// compareValue keeps the first difference.
func (b *rebuild) compareValue(stored state.Value) error {
	h := b.held[stored.Key]
	if h == nil {
		h = &heldValue{}
	}
	switch {
	case b.difference != nil:
	case string(h.data) != string(stored.Data):
		b.differs(h.seq, stored.Key, "the stored value", quotedValue(h.data), quotedValue(stored.Data))
	case h.current() != stored.Version:
		b.differs(h.seq, stored.Key, "the stored version", fmt.Sprint(h.current()), fmt.Sprint(stored.Version))
	}
	return nil
}

func (b *rebuild) differs(seq int64, key, what, wanted, got string) {
	b.difference = &Difference{Seq: seq, Key: key, What: what, Wanted: cut(wanted, rebuildTexts), Got: cut(got, rebuildTexts)}
}

func quotedValue(value json.RawMessage) string {
	if value == nil {
		return quotedDigest("")
	}
	return quotedDigest(host.Digest(value)) + ": " + strings.ToValidUTF8(string(value), "?")
}

func quotedDigest(digest string) string {
	if digest == "" {
		return "none"
	}
	return "sha256 " + digest
}

func (b *rebuild) result() Rebuilt {
	r := Rebuilt{Session: b.ref, Records: b.records, LastSeq: b.last, Difference: b.difference}
	for _, key := range slices.Sorted(maps.Keys(b.held)) {
		if h := b.held[key]; h.data != nil {
			r.Keys = append(r.Keys, RebuiltKey{Key: key, Version: h.version, Seq: h.seq, Data: h.data})
		}
	}
	for name, used := range b.used {
		if used.err != nil {
			r.Missing = append(r.Missing, name)
		}
	}
	slices.Sort(r.Missing)
	return r
}
