package keeper

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/memory"
)

const (
	sourceOf     = "SELECT source FROM memory_source" + ofMemory + " AND source = ?"
	makeSource   = "INSERT INTO memory_source (tenant_id, user_id, memory_id, source) VALUES (?, ?, ?, ?)"
	verifiedBy   = "SELECT cause FROM memory_life" + ofMemory + " AND cause = ? AND event IN ('" + Remembered + "', '" + Verified + "')"
	lastVerified = "SELECT life_no, cause FROM memory_life" + ofMemory + " AND event = '" + Verified + "' ORDER BY life_no DESC LIMIT 1"
	verifiedNow  = "UPDATE memory_life SET life_no = ?, happened_at = ?, cause = ?" + ofMemory + " AND life_no = ?"
)

// knows tells whether a source has counted for a memory already. Another replica may be of
// an older release, which keeps it in the life alone: there a declaration's is looked up,
// too, which is short.
func (t *tx) knows(ctx context.Context, s stored, source string) (known bool, err error) {
	if source == "" { // of one that names nothing
		return false, nil
	}
	var there string
	args := append(memoryArgs(Owner{s.Tenant, s.User}, s.ID), source)
	if known, err = row(ctx, t.on, sourceOf, args, &there); err != nil || known || s.Layer != memory.Declared {
		return known, err
	}
	return row(ctx, t.on, verifiedBy, args, &there)
}

// addSource keeps a source of a memory. One that names nothing is none.
func (t *tx) addSource(ctx context.Context, o Owner, id memory.ID, source string) error {
	if source == "" {
		return nil
	}
	_, err := exec(ctx, t.on, makeSource, append(memoryArgs(o, id), source)...)
	return err
}

// verify counts once that a source says what a memory says. A source that has no name
// counts never: it may be the same one again, and would bear itself out. A fact is said
// with every call of a tool, and others wait while that is written: where the index would
// be told nothing new it is told nothing.
func (t *tx) verify(ctx context.Context, old stored, n memory.Node) error {
	o, source, was := Owner{old.Tenant, old.User}, SourceKey(n.Source), old.Node
	if known, err := t.knows(ctx, old, source); err != nil || known {
		return err
	}
	if source != "" {
		old.Verified++
		old.Trust = max(old.Trust, n.Trust)
	}
	if n.At.After(old.At) {
		old.At = n.At
	}
	if old.Status == memory.Archived && n.Status == memory.Active {
		old.Status = memory.Active
		if err := t.lived(ctx, o, old.ID, Restored, source); err != nil {
			return err
		}
	}
	if err := t.boreOut(ctx, o, old, source); err != nil {
		return err
	}
	if old.Status == was.Status && sameHour(old.At, was.At) {
		return t.note(ctx, old)
	}
	return t.save(ctx, old)
}

// sameHour tells whether two times are near enough for an index, which has the time only
// to find what a question names the day of.
func sameHour(a, b time.Time) bool { return a.Truncate(time.Hour).Equal(b.Truncate(time.Hour)) }

// boreOut keeps that a source bore a memory out. The life tells each time; of a fact the
// last alone, where a year of calls would push out all else that happened to it. A row
// stays whose source is not kept beside it: an older release wrote it, and nothing else
// tells that source to who forgets the fact.
func (t *tx) boreOut(ctx context.Context, o Owner, s stored, source string) error {
	if source == "" {
		return nil
	}
	if err := t.addSource(ctx, o, s.ID, source); err != nil {
		return err
	}
	var last int64
	var cause string
	found := false
	if s.Layer == memory.Fact {
		var err error
		if found, err = row(ctx, t.on, lastVerified, memoryArgs(o, s.ID), &last, &cause); err == nil && found {
			found, err = t.knows(ctx, s, cause)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return t.lived(ctx, o, s.ID, Verified, source)
	}
	_, err := exec(ctx, t.on, verifiedNow, append(append([]any{t.next(), t.at.UnixMicro(), source}, memoryArgs(o, s.ID)...), last)...)
	return err
}
