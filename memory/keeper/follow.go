package keeper

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of following.
const (
	linesBatch = 512              // of the outbox, read and applied together
	syncPause  = time.Millisecond // between looks of Sync
	firstWait  = 100 * time.Millisecond
	longWait   = 10 * time.Second // between tries while the index fails
)

// OutboxAge is how long a line of the outbox is kept: a replica that was away for
// longer fills its index anew.
const OutboxAge = time.Hour

// A follower is how far this keeper's index is.
type follower struct {
	applying sync.Mutex // one application at a time
	watch    watch      // guarded by applying

	mu     sync.Mutex
	done   int64 // lines up to this one are in the index; guarded by mu
	filled bool  // done counts; guarded by mu
	failed error // of the last try; guarded by mu
}

func (f *follower) progress() (done int64, filled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done, f.filled
}

func (f *follower) reached(done int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.filled = done, true
}

// emptied is said before an index is filled anew: until that is done, whatever was
// reached does not count.
func (f *follower) emptied() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.filled = 0, false
}

func (f *follower) tried(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = err
}

// followOutbox has the index follow until ctx ends.
func (k *Keeper) followOutbox(ctx context.Context) {
	ticks := time.NewTicker(k.poll)
	defer ticks.Stop()
	wait := firstWait
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-k.wake:
		}
		err := k.apply(ctx)
		if err != nil && ctx.Err() != nil {
			return // that this ends is no failure of the index
		}
		k.follow.tried(err)
		if err == nil {
			wait = firstWait
			continue
		}
		k.log.Warn("memories: the index could not follow; it tries again", "error", err, "wait", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, longWait)
	}
}

// apply brings the index to where the outbox is.
func (k *Keeper) apply(ctx context.Context) error {
	k.follow.applying.Lock()
	defer k.follow.applying.Unlock()
	if k.shared {
		return k.applyShared(ctx)
	}
	done, filled := k.follow.progress()
	h, err := readHead(ctx, k.db.Reads, "")
	switch {
	case err != nil:
		return err
	case !filled || done < h.trimmed:
		return k.fill(ctx, nil)
	case done == h.last:
		return nil
	}
	err = k.applyLines(ctx, k.store, done, h, func(done int64) error {
		k.follow.reached(done)
		return nil
	})
	if errors.Is(err, errTrimmed) {
		return k.fill(ctx, nil)
	}
	return err
}

const linesAfter = "SELECT line_no, tenant_id, user_id, memory_id FROM memory_outbox WHERE line_no > ? ORDER BY line_no LIMIT ?"

// applyLines applies what is after a line to an index, and tells after each batch how far it is.
// The numbers of lines are seen in their order (see tx), so that none is missed: when
// there are no more, all numbers up to the head that was read before are done. Lines
// that were removed before they were read are errTrimmed.
func (k *Keeper) applyLines(ctx context.Context, index memory.Store, done int64, h head, reached func(done int64) error) error {
	for {
		from := done
		var touched []key
		err := each(ctx, k.db.Reads, linesAfter, []any{done, linesBatch}, func(rows *sql.Rows) error {
			var one key
			err := rows.Scan(&done, &one.owner.Tenant, &one.owner.User, &one.id)
			touched = append(touched, one)
			return err
		})
		if err == nil {
			err = k.notTrimmed(ctx, from)
		}
		if err == nil {
			err = k.reindex(ctx, index, touched)
		}
		more := len(touched) == linesBatch
		if !more {
			done = max(done, h.last)
		}
		if err == nil {
			err = reached(done)
		}
		if err != nil || !more {
			return err
		}
	}
}

// errTrimmed tells that an index cannot follow any more, and is to be filled anew.
var errTrimmed = errors.New("lines of the outbox were removed before they were read")

// notTrimmed tells whether all lines after one were still there a moment ago.
func (k *Keeper) notTrimmed(ctx context.Context, from int64) error {
	h, err := readHead(ctx, k.db.Reads, "")
	if err == nil && h.trimmed > from {
		err = errTrimmed
	}
	return err
}

// reindex puts memories into the index as they are now, and takes out those that
// are gone. It may be repeated.
func (k *Keeper) reindex(ctx context.Context, index memory.Store, touched []key) error {
	of := map[Owner]map[memory.ID]bool{}
	for _, one := range touched {
		if of[one.owner] == nil {
			of[one.owner] = map[memory.ID]bool{}
		}
		of[one.owner][one.id] = true
	}
	var put []memory.Entry
	for o, ids := range of {
		entries, err := k.entriesOf(ctx, o, ids)
		if err != nil {
			return err
		}
		put = append(put, entries...)
		for _, e := range entries {
			delete(ids, e.ID)
		}
		if len(ids) > 0 {
			if err := index.Delete(ctx, o.Tenant, keysOf(ids)); err != nil {
				return err
			}
		}
	}
	return k.put(ctx, index, put)
}

// put puts entries into the index. Of an index that all replicas share, it then takes
// out what was forgotten meanwhile: where this keeper has lost the duty by now, another
// one may have taken it out before this Put came through.
func (k *Keeper) put(ctx context.Context, index memory.Store, entries []memory.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	err := index.Put(ctx, entries)
	if !k.shared {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime) // also after a Put of which nobody knows
	defer cancel()
	return errors.Join(err, k.takeOutForgotten(ctx, index, entries))
}

const idsThere = "SELECT memory_id FROM memory_node" + ofOwner + " AND memory_id IN "

func (k *Keeper) takeOutForgotten(ctx context.Context, index memory.Store, entries []memory.Entry) error {
	of := map[Owner]map[memory.ID]bool{}
	for _, e := range entries {
		o := Owner{e.Tenant, e.User}
		if of[o] == nil {
			of[o] = map[memory.ID]bool{}
		}
		of[o][e.ID] = true
	}
	for o, ids := range of {
		for some := range slices.Chunk(keysOf(ids), longList) {
			list, args := inList(some)
			there, err := texts[memory.ID](ctx, k.db.Reads, idsThere+list, append(ownerArgs(o), args...)...)
			if err != nil {
				return err
			}
			for _, id := range there {
				delete(ids, id)
			}
		}
		if len(ids) > 0 {
			if err := index.Delete(ctx, o.Tenant, keysOf(ids)); err != nil {
				return err
			}
		}
	}
	return nil
}

func keysOf(set map[memory.ID]bool) []memory.ID {
	ids := make([]memory.ID, 0, len(set))
	for id := range set {
		ids = append(ids, id)
	}
	return ids
}

// Sync waits until this keeper's index has everything that was written before the
// call, by whichever replica; a shared one also where another version has it in hand, so
// that what was forgotten is out of it. It fails with the index's own failure, if that
// cannot follow, and with Deadline or Cancelled when ctx ends.
func (k *Keeper) Sync(ctx context.Context) error {
	const op = "keeper.Sync"
	if k.store == nil {
		return nil
	}
	h, err := readHead(ctx, k.db.Reads, "")
	if err != nil {
		return fail(op, err)
	}
	signal(k.wake)
	for {
		at, err := k.indexed(ctx)
		if err == nil && at.done >= h.last {
			return nil
		}
		if err == nil {
			err = k.lastFailure()
		}
		if err == nil && k.shut.Load() {
			err = abi.NewProblem(abi.StoreFailure, "the memories are closed").WithHint("start the host again")
		}
		if err != nil {
			return fail(op, err)
		}
		select {
		case <-ctx.Done():
			return fail(op, ctx.Err())
		case <-time.After(syncPause):
		}
	}
}

func (k *Keeper) lastFailure() error {
	k.follow.mu.Lock()
	defer k.follow.mu.Unlock()
	return k.follow.failed
}

// indexed tells how far the index is, and at line -1 while it is not complete.
func (k *Keeper) indexed(ctx context.Context) (d duty, err error) {
	if !k.shared {
		done, filled := k.follow.progress()
		if !filled {
			done = -1
		}
		return duty{done: done, version: k.version(), filling: k.version()}, nil
	}
	d, err = k.readDuty(ctx, k.db.Reads, dutyIndex)
	if d.version == "" { // it is being filled
		d.done = -1
	}
	return d, err
}

// A State tells how the index is.
type State struct {
	Version string // what this keeper makes
	Index   memory.StoreState
	Behind  int64 // numbers of the truth that the index has not seen; 0 when it is up to date
	Failure error // why the index could not follow when it last tried; nil if it could
	Leg     Leg   // whether it is also searched by meaning
	Waiting int64 // memories that wait for a vector; 0 where the leg is off
}

// State tells how the index is. Without a Store it fails with BadValue, and with
// Unavailable where a shared one is of another version.
func (k *Keeper) State(ctx context.Context) (State, error) {
	const op = "keeper.State"
	if k.store == nil {
		return State{}, fail(op, noStore())
	}
	s := State{Version: k.version(), Failure: k.lastFailure(), Leg: k.Leg()}
	h, err := readHead(ctx, k.db.Reads, "")
	var at duty
	if err == nil {
		at, err = k.indexed(ctx)
		s.Behind = max(0, h.last-at.done)
	}
	if err == nil && k.isOther(at) {
		err = k.otherVersion(at)
	}
	if err == nil {
		s.Index, err = k.indexOf(at.filling).State(ctx)
		s.Index.Version = versionOf(s.Index.Version)
	}
	if err == nil && s.Leg.On {
		_, err = row(ctx, k.db.Reads, countWaiting, nil, &s.Waiting)
	}
	if err != nil {
		return State{}, fail(op, err)
	}
	return s, nil
}

func noStore() error {
	return abi.NewProblem(abi.BadValue, "this keeper has no index").WithHint("open it with one")
}

const (
	firstLines = "SELECT line_no, written_at FROM memory_outbox ORDER BY line_no LIMIT ?"
	removeTo   = "DELETE FROM memory_outbox WHERE line_no <= ?"
	setTrimmed = "UPDATE memory_head SET trimmed = ? WHERE head_no = 1"
)

// trimStep bounds the lines that one transaction removes.
const trimStep = 1000

// trim removes lines of the outbox that are older than that. A keeper that had not
// seen them fills its index anew. It is done by every keeper from time to time, for
// OutboxAge.
func (k *Keeper) trim(ctx context.Context, olderThan time.Duration) error {
	for {
		more := false
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			more, err = t.trim(ctx, t.at.Add(-olderThan))
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// trim removes up to trimStep of the oldest lines, as far as they are old.
func (t *tx) trim(ctx context.Context, before time.Time) (more bool, err error) {
	var last, old int64
	young := false
	err = each(ctx, t.on, firstLines, []any{trimStep}, func(rows *sql.Rows) error {
		var no, at int64
		err := rows.Scan(&no, &at)
		if young = young || at >= before.UnixMicro(); !young {
			last, old = no, old+1
		}
		return err
	})
	if err != nil || old == 0 {
		return false, err
	}
	if _, err = exec(ctx, t.on, removeTo, last); err == nil {
		_, err = exec(ctx, t.on, setTrimmed, last)
	}
	return old == trimStep, err
}

// version names what this keeper puts into an index. Another one is filled anew.
func (k *Keeper) version() string {
	if k.embedder == nil {
		return entryVersion
	}
	return fmt.Sprintf("%s, %s of %d", entryVersion, k.embedder.Name(), k.embedder.Dimensions())
}
