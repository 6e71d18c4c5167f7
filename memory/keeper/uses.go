package keeper

import (
	"context"
	"sync"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of the counts of recalls that are not kept yet.
const (
	maxUses   = 10_000 // memories: more than a busy replica recalls in countsEvery. What comes beyond is not counted
	usesBatch = 256    // of one transaction
)

// uses are recalls that are counted late: a recall does not wait for a disk.
type uses struct {
	mu    sync.Mutex
	of    map[key]int // guarded by mu
	until time.Time   // of the last one; guarded by mu

	keeping sync.Mutex // one that writes them; held longer than mu
}

// A key names one memory of one owner.
type key struct {
	owner Owner
	id    memory.ID
}

func (u *uses) add(at time.Time, keys []key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[key]int{}
	}
	u.until = at
	for _, k := range keys {
		if _, there := u.of[k]; there || len(u.of) < maxUses {
			u.of[k]++
		}
	}
}

func (u *uses) take() (map[key]int, time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.of
	u.of = nil
	return of, u.until
}

const (
	countRecalls = "UPDATE memory_node SET recalls = recalls + ?, used_at = ?" + ofMemory
	uncountAdopt = "UPDATE memory_node SET adopts = adopts - 1" + ofMemory + " AND adopts > 0"
	countAdopts  = "UPDATE memory_node SET adopts = adopts + 1, used_at = ?" + ofMemory
)

// keepCounts writes the recalls that were counted, and returns when those are written
// that another call of it took. Those of a batch that fails are lost: they are a hint to
// forgetting, and no account.
func (k *Keeper) keepCounts(ctx context.Context) error {
	k.uses.keeping.Lock()
	defer k.uses.keeping.Unlock()
	of, at := k.uses.take()
	batch := make(map[key]int, usesBatch)
	for key, n := range of {
		if batch[key] = n; len(batch) == usesBatch {
			if err := k.writeCounts(ctx, batch, at); err != nil {
				return err
			}
			clear(batch)
		}
	}
	return k.writeCounts(ctx, batch, at)
}

// writeCounts needs no line of the outbox: no index holds counts.
func (k *Keeper) writeCounts(ctx context.Context, batch map[key]int, at time.Time) error {
	if len(batch) == 0 {
		return nil
	}
	return k.change(ctx, func(ctx context.Context, t *tx) error {
		for key, n := range batch {
			if _, err := exec(ctx, t.on, countRecalls, append([]any{n, micros(at)}, memoryArgs(key.owner, key.id)...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// adopt counts that memories of an owner's were of use. Ids that are not there count for
// nothing.
func adopt(ctx context.Context, on host.Statements, o Owner, ids []memory.ID, at time.Time) error {
	for _, id := range ids {
		if _, err := exec(ctx, on, countAdopts, append([]any{micros(at)}, memoryArgs(o, id)...)...); err != nil {
			return err
		}
	}
	return nil
}

// unadopt takes back what adopt counted.
func unadopt(ctx context.Context, on host.Statements, o Owner, ids []memory.ID) error {
	for _, id := range ids {
		if _, err := exec(ctx, on, uncountAdopt, memoryArgs(o, id)...); err != nil {
			return err
		}
	}
	return nil
}
