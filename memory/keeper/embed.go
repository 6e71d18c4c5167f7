package keeper

import (
	"context"
	"database/sql"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of embedding.
const (
	embedBatch   = 64 // texts of one question to the model
	embedTime    = 30 * time.Second
	embedPoll    = 2 * time.Second       // between looks for what other replicas wrote
	embedTries   = 8                     // of one text, after which it has one more every embedAgain
	embedAgain   = time.Hour             // a model may refuse a text, or may have been away
	vectorsPause = 20 * time.Millisecond // between looks of SyncVectors
	listedAtOnce = 1024                  // memories that are listed for a vector in one transaction
)

const (
	embedderEver = "SELECT holder_id FROM memory_duty WHERE duty = ?"
	wantVector   = "INSERT INTO memory_unembedded (tenant_id, user_id, memory_id, tries) VALUES (?, ?, ?, 0)"
	unembedded   = "SELECT tenant_id, user_id, memory_id, tries FROM memory_unembedded WHERE tries < ? ORDER BY tries, tenant_id, user_id, memory_id LIMIT ?"
	embedded     = "DELETE FROM memory_unembedded" + ofMemory
	embedFailed  = "UPDATE memory_unembedded SET tries = tries + 1" + ofMemory
	removeVector = "DELETE FROM memory_vector" + ofMemory
	makeVector   = "INSERT INTO memory_vector (tenant_id, user_id, memory_id, model, vector) VALUES (?, ?, ?, ?, ?)"
	textOf       = "SELECT words, index_words FROM memory_node" + ofMemory
)

// wantVector lists a new memory for the embedder, whichever replica has one. Where
// none ever had, it lists nothing: the first that has lists what is missing.
func (t *tx) wantVector(ctx context.Context, o Owner, id memory.ID) error {
	if t.embed == nil {
		var holder string
		has, err := row(ctx, t.on, embedderEver, []any{dutyEmbed}, &holder)
		if err != nil {
			return err
		}
		t.embed = &has
	}
	if !*t.embed {
		return nil
	}
	_, err := exec(ctx, t.on, wantVector, memoryArgs(o, id)...)
	return err
}

// embedAll gives memories their vectors while the dense leg is on, until ctx ends, one
// replica at a time. An embedder that fails keeps nobody: such memories are found by
// their words.
func (k *Keeper) embedAll(ctx context.Context) {
	ticks, again := time.NewTicker(embedPoll), time.NewTicker(embedAgain)
	defer ticks.Stop()
	defer again.Stop()
	wait := firstWait
	signal(k.toEmbed)
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-k.toEmbed:
		case <-again.C:
			if k.Leg().On {
				err = k.oneMoreTry(ctx)
			}
		}
		if err == nil && k.Leg().On {
			err = k.embedDuty(ctx)
		}
		if err == nil || ctx.Err() != nil {
			wait = firstWait
			k.failing.Store(0)
			continue
		}
		k.failing.Add(1)
		k.log.Warn("memories: the embedder failed; words still find everything, and it tries again", "error", err, "wait", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, longWait)
	}
}

// embedDuty lists what has no vector of this model, and embeds what waits, if that is
// this keeper's duty.
func (k *Keeper) embedDuty(ctx context.Context) error {
	d, mine, err := k.hold(ctx, dutyEmbed)
	if err != nil || !mine {
		return err
	}
	return notMine(k.holding(ctx, dutyEmbed, func(ctx context.Context) error {
		if d.version != k.embedder.Name() {
			if err := k.listAll(ctx); err != nil {
				return err
			}
		}
		return k.embedWaiting(ctx)
	}))
}

// embedWaiting embeds what waits, as long as the leg is on.
func (k *Keeper) embedWaiting(ctx context.Context) (err error) {
	for more := true; more && err == nil && k.Leg().On; {
		more, err = k.embedSome(ctx)
	}
	return err
}

const (
	countWaiting = "SELECT COUNT(*) FROM memory_unembedded"
	countSoon    = countWaiting + " WHERE tries < ?"
)

// SyncVectors waits until every memory has the vector that this keeper's embedder gives,
// or failed too often to be tried soon, and the index has them; progress, which may be
// nil, is told how many wait. Where the leg is off there is nothing to wait for. It fails
// with Unavailable when the embedder goes on failing, and with Deadline or Cancelled when
// ctx ends.
func (k *Keeper) SyncVectors(ctx context.Context, progress func(waiting int)) error {
	const op = "keeper.SyncVectors"
	signal(k.toEmbed)
	for k.Leg().On && !k.shut.Load() {
		d, err := k.readDuty(ctx, k.db.Reads, dutyEmbed)
		if err != nil {
			return fail(op, err)
		}
		waiting := 0
		if _, err := row(ctx, k.db.Reads, countSoon, []any{embedTries}, &waiting); err != nil {
			return fail(op, err)
		}
		if d.version == k.embedder.Name() && waiting == 0 {
			break
		}
		if k.failing.Load() > embedTries { // one text that is refused fails no more often
			return fail(op, abi.NewProblem(abi.Unavailable, "the embedder %s fails again and again; %d memories have no vector", k.embedder.Name(), waiting).
				WithHint("words find them meanwhile; see to the model, and ask again"))
		}
		if progress != nil {
			progress(waiting)
		}
		select {
		case <-ctx.Done():
			return fail(op, ctx.Err())
		case <-time.After(vectorsPause):
		}
	}
	return k.Sync(ctx)
}

const oneMoreTry = "UPDATE memory_unembedded SET tries = ? WHERE tries >= ?"

// oneMoreTry has texts that failed too often tried once more.
func (k *Keeper) oneMoreTry(ctx context.Context) error {
	return k.change(ctx, func(ctx context.Context, t *tx) error {
		_, err := exec(ctx, t.on, oneMoreTry, embedTries-1, embedTries)
		return err
	})
}

// A wanting is a memory that has no vector.
type wanting struct {
	key
	tries int
	text  string
}

// embedSome embeds one batch, and reports whether there may be more. Where a text has failed
// before, it goes alone: one that the model refuses keeps no other one.
func (k *Keeper) embedSome(ctx context.Context) (more bool, err error) {
	all, err := k.wantings(ctx)
	if err != nil || len(all) == 0 {
		return false, err
	}
	if all[0].tries > 0 {
		all = all[:1]
	}
	ctx, cancel := context.WithTimeout(ctx, embedTime)
	defer cancel()
	input := make([]string, len(all))
	for i, w := range all {
		input[i] = w.text
	}
	vectors, err := k.embedder.Embed(ctx, input)
	if err == nil && !k.fit(vectors, len(all)) {
		err = abi.NewProblem(abi.Unavailable, "the embedder %s gave other vectors than it is to give", k.embedder.Name()).WithHint("check its model and its dimensions")
	}
	if err != nil {
		return false, k.embedFailed(context.WithoutCancel(ctx), all, err)
	}
	return true, k.keepVectors(ctx, all, vectors)
}

// fit tells whether an embedder gave what it is to give: of each text a vector, or
// nil where its model makes nothing of it.
func (k *Keeper) fit(vectors [][]float32, n int) bool {
	for _, v := range vectors {
		if v != nil && len(v) != k.embedder.Dimensions() {
			return false
		}
	}
	return len(vectors) == n
}

func (k *Keeper) wantings(ctx context.Context) (all []wanting, err error) {
	err = each(ctx, k.db.Reads, unembedded, []any{embedTries, embedBatch}, func(rows *sql.Rows) error {
		var w wanting
		err := rows.Scan(&w.owner.Tenant, &w.owner.User, &w.id, &w.tries)
		all = append(all, w)
		return err
	})
	for i, w := range all {
		if err == nil {
			all[i].text, err = textFor(ctx, k.db.Reads, w.key)
		}
	}
	return all, err
}

// textFor gives the text of which a memory gets its vector; "" where it is gone.
func textFor(ctx context.Context, on host.Statements, of key) (string, error) {
	var words, indexWords []byte
	_, err := row(ctx, on, textOf, memoryArgs(of.owner, of.id), &words, &indexWords)
	if len(indexWords) == 0 {
		indexWords = words
	}
	return string(indexWords), err
}

func (k *Keeper) embedFailed(ctx context.Context, all []wanting, cause error) error {
	err := k.change(ctx, func(ctx context.Context, t *tx) error {
		for _, w := range all {
			if _, err := exec(ctx, t.on, embedFailed, memoryArgs(w.owner, w.id)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return cause
}

// keepVectors keeps vectors, and tells the followers. A memory that was forgotten
// meanwhile gets none, and one that lost words then, since those were forgotten, stays
// listed: its vector would tell of them. One of which the model makes nothing gets an
// empty vector, which no index has: it is done.
func (k *Keeper) keepVectors(ctx context.Context, all []wanting, vectors [][]float32) error {
	return k.change(ctx, func(ctx context.Context, t *tx) error {
		for i, w := range all {
			if err := t.keepVector(ctx, w, k.embedder.Name(), vectors[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) keepVector(ctx context.Context, w wanting, model string, vector []float32) error {
	text, err := textFor(ctx, t.on, w.key)
	if err != nil || text != w.text {
		return err
	}
	args := memoryArgs(w.owner, w.id)
	if n, err := exec(ctx, t.on, embedded, args...); err != nil || n == 0 {
		return err
	}
	if _, err := exec(ctx, t.on, removeVector, args...); err != nil {
		return err
	}
	if _, err := exec(ctx, t.on, makeVector, append(args, model, bytesOf(vector))...); err != nil {
		return err
	}
	return t.touched(ctx, w.owner, w.id)
}

const (
	keysAfter   = "SELECT node_no, tenant_id, user_id, memory_id FROM memory_node WHERE node_no > ? ORDER BY node_no LIMIT ?"
	vectorModel = "SELECT model FROM memory_vector" + ofMemory
	isListed    = "SELECT tries FROM memory_unembedded" + ofMemory
	resetListed = "UPDATE memory_unembedded SET tries = 0"
)

// listAll lists all memories that have no vector of this model, once for each change of
// the model. What is written while it does, or while the leg is off later, lists itself.
func (k *Keeper) listAll(ctx context.Context) error {
	if err := k.change(ctx, func(ctx context.Context, t *tx) error {
		_, err := exec(ctx, t.on, resetListed)
		return err
	}); err != nil {
		return err
	}
	for after, more := int64(0), true; more; {
		last := after // the transaction may run again
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			last, more, err = k.listSome(ctx, t, after)
			return err
		})
		if err != nil {
			return err
		}
		after = last
	}
	return k.advance(ctx, dutyEmbed, 0, k.embedder.Name())
}

func (k *Keeper) listSome(ctx context.Context, t *tx, after int64) (last int64, more bool, err error) {
	last = after
	var all []key
	err = each(ctx, t.on, keysAfter, []any{after, listedAtOnce}, func(rows *sql.Rows) error {
		var one key
		err := rows.Scan(&last, &one.owner.Tenant, &one.owner.User, &one.id)
		all = append(all, one)
		return err
	})
	for _, one := range all {
		if err == nil {
			err = k.listOne(ctx, t, one)
		}
	}
	return last, len(all) == listedAtOnce, err
}

func (k *Keeper) listOne(ctx context.Context, t *tx, one key) error {
	var model string
	var tries int
	args := memoryArgs(one.owner, one.id)
	has, err := row(ctx, t.on, vectorModel, args, &model)
	if err != nil || has && model == k.embedder.Name() {
		return err
	}
	listed, err := row(ctx, t.on, isListed, args, &tries)
	if err != nil || listed {
		return err
	}
	_, err = exec(ctx, t.on, wantVector, args...)
	return err
}
