package keeper

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// entryVersion names how entries are made of memories. It changes with the terms
// that tokens gives, and with the columns that an entry is made of.
const entryVersion = "terms 2"

// Bounds of what a rebuild reads and puts together.
const (
	fillPage  = 1024    // memories of one statement
	fillBatch = 16_384  // of one Put: an index takes a few large ones faster than many small ones
	fillBytes = 8 << 20 // of text, whichever comes first
	sharedPut = 512     // of one Put to a store on a network: it takes less than a duty is held without a word
)

const (
	entryColumns = "SELECT tenant_id, user_id, memory_id, session_id, live_id, entity, platform, kind, layer, status, order_no, said_at, words, index_words, node_no FROM memory_node"
	entriesAfter = entryColumns + " WHERE node_no > ? ORDER BY node_no LIMIT ?"
	vectorsOf    = "SELECT memory_id, vector FROM memory_vector WHERE tenant_id = ? AND user_id = ? AND model = ? AND memory_id IN "
)

// A draft is an entry without its terms.
type draft struct {
	entry memory.Entry
	text  string
	no    int64
}

func scanDraft(rows *sql.Rows) (d draft, err error) {
	var words, indexWords []byte
	var said int64
	e := &d.entry
	err = rows.Scan(&e.Tenant, &e.User, &e.ID, &e.Session, &e.Live, &e.Entity, &e.Platform, &e.Kind, &e.Layer, &e.Status, &e.Order, &said, &words, &indexWords, &d.no)
	e.At = timeOf(said)
	if d.text = string(indexWords); d.text == "" {
		d.text = string(words)
	}
	return d, err
}

// entriesOf gives the entries of those memories of an owner that are there.
func (k *Keeper) entriesOf(ctx context.Context, o Owner, ids map[memory.ID]bool) ([]memory.Entry, error) {
	var drafts []draft
	for some := range slices.Chunk(keysOf(ids), longList) {
		list, args := inList(some)
		err := each(ctx, k.db.Reads, entryColumns+ofOwner+" AND memory_id IN "+list, append(ownerArgs(o), args...), func(rows *sql.Rows) error {
			d, err := scanDraft(rows)
			drafts = append(drafts, d)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return k.finish(ctx, drafts)
}

// finish gives drafts their terms and vectors. The terms take most of a rebuild's
// time, so that all cores work at them.
func (k *Keeper) finish(ctx context.Context, drafts []draft) ([]memory.Entry, error) {
	entries := make([]memory.Entry, len(drafts))
	workers := min(runtime.GOMAXPROCS(0), 1+len(drafts)/64)
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := w; i < len(drafts); i += workers {
				entries[i] = drafts[i].entry
				entries[i].Sparse = tokens.Document(drafts[i].text)
			}
		})
	}
	done.Wait()
	has, err := k.hasVectors(ctx)
	if err != nil || !has {
		return entries, err
	}
	return entries, k.addVectors(ctx, entries)
}

// hasVectors tells whether there may be vectors in the truth. Those that there are go
// into the index also while the leg is off, so that it is turned on without another
// filling; a leg that never was on costs an index nothing.
func (k *Keeper) hasVectors(ctx context.Context) (bool, error) {
	if k.embedder == nil || k.vectors.Load() {
		return k.embedder != nil, nil
	}
	var holder string
	has, err := row(ctx, k.db.Reads, embedderEver, []any{dutyEmbed}, &holder)
	if err == nil && has {
		k.vectors.Store(true)
	}
	return has, err
}

// addVectors gives entries their vectors, as far as there are any of this keeper's
// model.
func (k *Keeper) addVectors(ctx context.Context, entries []memory.Entry) error {
	at := map[Owner]map[memory.ID]int{}
	for i, e := range entries {
		o := Owner{e.Tenant, e.User}
		if at[o] == nil {
			at[o] = map[memory.ID]int{}
		}
		at[o][e.ID] = i
	}
	for o, index := range at {
		ids := make([]memory.ID, 0, len(index))
		for id := range index {
			ids = append(ids, id)
		}
		for some := range slices.Chunk(ids, longList) {
			list, args := inList(some)
			args = append(append(ownerArgs(o), k.embedder.Name()), args...)
			err := each(ctx, k.db.Reads, vectorsOf+list, args, func(rows *sql.Rows) error {
				var id memory.ID
				var raw []byte
				err := rows.Scan(&id, &raw)
				if v := vectorFrom(raw); len(v) == k.embedder.Dimensions() {
					entries[index[id]].Dense = v
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// bytesOf gives the stored form of a vector: float32, little-endian.
func bytesOf(v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return raw
}

func vectorFrom(raw []byte) []float32 {
	v := make([]float32, len(raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return v
}

// Rebuild empties the index and fills it from the truth; progress, which may be nil,
// is told how many memories are in so far. Recalls go on meanwhile and find what is
// there; of a Store that all replicas share they fail with Unavailable until it is
// filled. Of such a one, one rebuilds at a time: where another one
// follows it, that one does, without a word of progress, and Rebuild waits for it. It
// fails with StoreConflict where the other one does not begin in time, or is of another
// version.
func (k *Keeper) Rebuild(ctx context.Context, progress func(done int)) error {
	const op = "keeper.Rebuild"
	if k.store == nil {
		return fail(op, noStore())
	}
	k.follow.applying.Lock()
	defer k.follow.applying.Unlock()
	if k.shared {
		return fail(op, k.fillShared(ctx, progress))
	}
	return fail(op, k.fill(ctx, progress))
}

// followFrom makes the index ready before Open returns.
func (k *Keeper) followFrom(ctx context.Context, progress func(int)) error {
	k.follow.applying.Lock()
	defer k.follow.applying.Unlock()
	if k.shared {
		return k.openShared(ctx, progress)
	}
	return k.fill(ctx, progress)
}

// fill fills an index of this process alone.
func (k *Keeper) fill(ctx context.Context, progress func(int)) error {
	// What is written from here on has a greater number, and comes again.
	h, err := readHead(ctx, k.db.Reads, "")
	if err == nil {
		k.follow.emptied()
		err = k.fillAll(ctx, k.version(), progress, func() error { return nil })
	}
	if err == nil {
		k.follow.reached(h.last)
	}
	return err
}

// fillAll puts all memories of all tenants into a filling, which it begins, and calls
// step after each batch.
func (k *Keeper) fillAll(ctx context.Context, filling string, progress func(int), step func() error) error {
	index := k.indexOf(filling)
	if err := index.Reset(ctx, filling); err != nil {
		return err
	}
	total, most := 0, fillBatch+fillPage
	if k.shared {
		most = sharedPut
	}
	batches, stop := k.readAll(ctx)
	defer stop()
	for b := range batches {
		if b.err != nil {
			return b.err
		}
		for some := range slices.Chunk(b.entries, most) {
			if err := errors.Join(k.put(ctx, index, some), step()); err != nil {
				return err
			}
			if total += len(some); progress != nil {
				progress(total)
			}
		}
	}
	return ctx.Err() // else the reader was stopped before the end
}

type batch struct {
	entries []memory.Entry
	err     error
}

// readAll reads ahead of who puts.
func (k *Keeper) readAll(ctx context.Context) (batches <-chan batch, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan batch, 1)
	var ended sync.WaitGroup
	ended.Go(func() {
		defer close(out)
		for after, more := int64(0), true; more; {
			var b batch
			var drafts []draft
			if drafts, more, b.err = k.readBatch(ctx, &after); b.err == nil {
				b.entries, b.err = k.finish(ctx, drafts)
			}
			select {
			case out <- b:
			case <-ctx.Done():
				return
			}
			more = more && b.err == nil
		}
	})
	return out, func() { cancel(); ended.Wait() }
}

// readBatch reads pages after a row, and moves that.
func (k *Keeper) readBatch(ctx context.Context, after *int64) (drafts []draft, more bool, err error) {
	more = true
	for bytes := 0; more && len(drafts) < fillBatch && bytes < fillBytes; {
		n := 0
		err := each(ctx, k.db.Reads, entriesAfter, []any{*after, fillPage}, func(rows *sql.Rows) error {
			d, err := scanDraft(rows)
			drafts, bytes, *after = append(drafts, d), bytes+len(d.text), d.no
			n++
			return err
		})
		if err != nil {
			return nil, false, err
		}
		more = n == fillPage
	}
	return drafts, more, nil
}
