package keeper

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of forgetting.
const (
	MaxForget   = 256  // ids of one request
	forgetBatch = 64   // memories that one transaction removes; what was made of them comes on top
	maxMade     = 4096 // memories that were made of those, or came before them
)

// A Wish says what an owner wants forgotten: one of the three.
type Wish struct {
	IDs    []memory.ID // these, at most MaxForget: such as what a search found and the owner confirmed
	Entity string      // all that is about this
	All    bool        // everything of the owner, with all traces and trust
}

// A Receipt is what is left of memories that were forgotten: that it happened. It
// has no text, and nothing that a text could be guessed by.
type Receipt struct {
	ID     string      `json:"id"`
	Owner  Owner       `json:"owner"`
	At     time.Time   `json:"at"`
	IDs    []memory.ID `json:"ids"`    // sorted
	Digest string      `json:"digest"` // SHA-256 of the ids, joined by line ends
}

// A Forgotten is what Forget did.
type Forgotten struct {
	Receipts []Receipt // one for each transaction; none where there was nothing to forget
	// Sources are where the memories came from: the records of these calls and
	// messages may carry the same words, and are for the caller to erase.
	Sources []memory.Source
	// Scrubbed is whether nothing of the memories is left in the database's files.
	// It is false where the database cannot be asked for that.
	Scrubbed bool
}

// Forget removes memories for good: text, vectors, postings, what led to and from
// them, and what was made of them (derived memories, memories that they superseded,
// gaps, questions, the words of traces). Traces keep their outcome, without words, so
// that trust stays what it was. Replicas drop them from their indexes within a second,
// and recall none of them from when Forget's transactions are through. Then the
// database's files are scrubbed (host.Database.Scrub), which holds up writers. Where
// that fails, what was to be forgotten is forgotten, the scrubbing is tried again in
// the background, and the error has a Forgotten beside it.
//
// On SQLite no file of the store has the words afterwards. A server of the MySQL
// family removes rows when it gets to it, and keeps them in its redo and binary
// logs and its backups as long as those are kept: nobody but its operator can tell.
//
// Ids that are not there count for nothing, so that it may be repeated.
func (k *Keeper) Forget(ctx context.Context, o Owner, wish Wish) (Forgotten, error) {
	const op = "keeper.Forget"
	if err := wish.check(o); err != nil {
		return Forgotten{}, fail(op, err)
	}
	var f Forgotten
	for rest, more := wish.IDs, true; more; {
		some := rest[:min(len(rest), forgetBatch)]
		rest = rest[len(some):]
		n, err := k.forgetSome(ctx, o, wish, some, &f)
		if err != nil {
			return f, fail(op, err)
		}
		more = len(rest) > 0 || wish.IDs == nil && n > 0
	}
	if wish.All {
		if err := k.forgetOwner(ctx, o); err != nil {
			return f, fail(op, err)
		}
	}
	return f, fail(op, k.settleForgotten(ctx, &f))
}

func (w Wish) check(o Owner) error {
	kinds := 0
	for _, asked := range []bool{len(w.IDs) > 0, w.Entity != "", w.All} {
		if asked {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return badValue("it is not clear what is to be forgotten: give ids, or an entity, or all")
	case len(w.IDs) > MaxForget:
		return badValue("%d memories are to be forgotten at once; give at most %d", len(w.IDs), MaxForget)
	}
	return o.check()
}

// settleForgotten has this keeper's index and the files be as the truth is.
func (k *Keeper) settleForgotten(ctx context.Context, f *Forgotten) error {
	signal(k.wake)
	if k.db.Scrub == nil {
		return nil
	}
	if err := k.scrubLeft(ctx); err != nil {
		return err
	}
	f.Scrubbed = true
	return nil
}

const (
	setScrubTo  = "UPDATE memory_head SET scrub_to = ? WHERE head_no = 1"
	setScrubbed = "UPDATE memory_head SET scrubbed = ? WHERE head_no = 1 AND scrubbed < ?"
)

// scrubLeft scrubs the files, if anything was forgotten since that was done last.
func (k *Keeper) scrubLeft(ctx context.Context) error {
	if k.db.Scrub == nil {
		return nil
	}
	h, err := readHead(ctx, k.db.Reads, "")
	if err != nil || h.scrubTo <= h.scrubbed {
		return err
	}
	if err := k.db.Scrub(ctx); err != nil {
		return err
	}
	return k.db.Write(ctx, func(ctx context.Context, on host.Statements) error {
		_, err := exec(ctx, on, setScrubbed, h.scrubTo, h.scrubTo)
		return err
	})
}

const (
	idsOfEntity = "SELECT memory_id FROM memory_node" + ofOwner + " AND entity = ? ORDER BY node_no LIMIT ?"
	idsOfOwner  = "SELECT memory_id FROM memory_node" + ofOwner + " ORDER BY memory_id LIMIT ?"
)

// forgetSome forgets one batch in one transaction, and gives how many were there.
func (k *Keeper) forgetSome(ctx context.Context, o Owner, wish Wish, ids []memory.ID, f *Forgotten) (n int, err error) {
	var r Receipt
	var sources []memory.Source
	err = k.change(ctx, func(ctx context.Context, t *tx) (err error) {
		switch {
		case wish.All:
			ids, err = texts[memory.ID](ctx, t.on, idsOfOwner, append(ownerArgs(o), forgetBatch)...)
		case wish.Entity != "":
			ids, err = texts[memory.ID](ctx, t.on, idsOfEntity, append(ownerArgs(o), wish.Entity, forgetBatch)...)
		}
		if err == nil {
			r, sources, err = t.forget(ctx, o, ids)
		}
		return err
	})
	if err == nil && len(r.IDs) > 0 {
		f.Receipts, f.Sources = append(f.Receipts, r), append(f.Sources, sources...)
	}
	return len(r.IDs), err
}

// forget removes memories with what was made of them, and leaves a receipt.
func (t *tx) forget(ctx context.Context, o Owner, ids []memory.ID) (r Receipt, sources []memory.Source, err error) {
	all, err := t.withMade(ctx, o, ids)
	if err != nil || len(all) == 0 {
		return r, nil, err
	}
	for _, s := range all {
		r.IDs, sources = append(r.IDs, s.ID), append(sources, s.Source)
	}
	slices.Sort(r.IDs)
	if err := t.removeLines(ctx, o, r.IDs); err != nil {
		return r, nil, err
	}
	for _, id := range r.IDs {
		if err := t.remove(ctx, o, id); err != nil {
			return r, nil, err
		}
	}
	r.ID, r.Owner, r.At, r.Digest = string(newID()), o, t.at, digestOf(r.IDs)
	if err := t.keepReceipt(ctx, r); err != nil {
		return r, nil, err
	}
	_, err = exec(ctx, t.on, setScrubTo, t.next())
	return r, sources, err
}

func digestOf(ids []memory.ID) string {
	lines := make([]string, len(ids))
	for i, id := range ids {
		lines[i] = string(id)
	}
	return host.Digest([]byte(strings.Join(lines, "\n")))
}

const makeReceipt = "INSERT INTO memory_receipt (tenant_id, user_id, receipt_id, forgotten_at, detail) VALUES (?, ?, ?, ?, ?)"

func (t *tx) keepReceipt(ctx context.Context, r Receipt) error {
	detail, err := json.Marshal(r)
	if err == nil {
		_, err = exec(ctx, t.on, makeReceipt, append(ownerArgs(r.Owner), r.ID, r.At.UnixMicro(), detail)...)
	}
	return err
}

const cameBefore = "SELECT memory_id FROM memory_link" + ofOwner + " AND link_role = '" + roleNext + "' AND other_id = ?"

// withMade adds what was made of memories and what they superseded: it says the same
// in other words, or would come back in their place.
func (t *tx) withMade(ctx context.Context, o Owner, ids []memory.ID) ([]stored, error) {
	seen := map[memory.ID]bool{}
	queue := slices.Clone(ids)
	for i := 0; i < len(queue); i++ {
		if seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		made, err := texts[memory.ID](ctx, t.on, linksOf, append(memoryArgs(o, queue[i]), roleDerived, maxMade)...)
		if err != nil {
			return nil, err
		}
		before, err := texts[memory.ID](ctx, t.on, cameBefore, append(ownerArgs(o), string(queue[i]))...)
		if err != nil {
			return nil, err
		}
		queue = append(append(queue, made...), before...)
		if len(seen) > maxMade {
			return nil, badValue("more than %d memories were made of these", maxMade).WithHint("forget them all, or what is about one entity")
		}
	}
	return findAll(ctx, t.on, o, keysOf(seen))
}

// removeLines removes the lines that were written of memories so far.
func (t *tx) removeLines(ctx context.Context, o Owner, ids []memory.ID) error {
	for some := range slices.Chunk(ids, longList) {
		list, args := inList(some)
		if _, err := exec(ctx, t.on, "DELETE FROM memory_outbox"+ofOwner+" AND memory_id IN "+list, append(ownerArgs(o), args...)...); err != nil {
			return err
		}
	}
	return nil
}

// tablesOfMemory have rows that go by tenant, user and memory.
func tablesOfMemory() []string {
	return []string{"memory_node", "memory_life", "memory_band", "memory_claim", "memory_vector", "memory_unembedded", "memory_gap", "memory_question", "memory_link"}
}

// remove removes all rows of one memory, and takes it out of others'.
func (t *tx) remove(ctx context.Context, o Owner, id memory.ID) error {
	if err := t.unlink(ctx, o, id); err != nil {
		return err
	}
	return t.removeRows(ctx, o, id)
}

// removeRows removes the rows of one memory. One line of the outbox comes, which has
// its id.
func (t *tx) removeRows(ctx context.Context, o Owner, id memory.ID) error {
	for _, table := range tablesOfMemory() {
		if _, err := exec(ctx, t.on, "DELETE FROM "+table+ofMemory, memoryArgs(o, id)...); err != nil {
			return err
		}
	}
	return t.touched(ctx, o, id)
}

const (
	removeGap    = "DELETE FROM memory_gap" + ofOwner + " AND gap_id = ?"
	removeLinked = "DELETE FROM memory_link" + ofOwner + " AND link_role = ? AND other_id = ?"
)

// unlink removes what others keep of a memory: gaps whose evidence it is, with what
// they say was seen, and the words of traces that point to it.
func (t *tx) unlink(ctx context.Context, o Owner, id memory.ID) error {
	args := memoryArgs(o, id)
	gaps, err := texts[string](ctx, t.on, linksOf, append(args, roleEvidence, maxMade)...)
	for _, gap := range gaps {
		if err == nil {
			err = t.removeGap(ctx, o, gap)
		}
	}
	if err != nil {
		return err
	}
	traces, err := texts[string](ctx, t.on, linksOf, append(args, roleTrace, maxMade)...)
	for _, trace := range traces {
		if err == nil {
			err = t.silence(ctx, o, trace)
		}
	}
	for _, role := range []string{roleDerived, roleNext} { // of others to this one
		if err == nil {
			_, err = exec(ctx, t.on, removeLinked, append(ownerArgs(o), role, string(id))...)
		}
	}
	return err
}

// removeGap also removes the questions that tell what the gap saw.
func (t *tx) removeGap(ctx context.Context, o Owner, gap string) error {
	questions, err := documents[memory.Question](ctx, t.on, questionsOf, append(ownerArgs(o), maxGaps)...)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if slices.Contains(q.Gaps, gap) {
			if _, err := exec(ctx, t.on, "DELETE FROM memory_question"+ofQuestion, append(ownerArgs(o), q.ID)...); err != nil {
				return err
			}
		}
	}
	if _, err := exec(ctx, t.on, removeGap, append(ownerArgs(o), gap)...); err != nil {
		return err
	}
	_, err = exec(ctx, t.on, removeLinked, append(ownerArgs(o), roleEvidence, gap)...)
	return err
}

// silence takes the words out of a trace. Its outcome, which moved trust, stays.
func (t *tx) silence(ctx context.Context, o Owner, trace string) error {
	found, err := documents[memory.Trace](ctx, t.on, traceOf, append(ownerArgs(o), trace)...)
	if err != nil || len(found) == 0 {
		return err
	}
	s := found[0]
	s.Point, s.Question, s.Output, s.Alternative, s.Sources = "", "", "", "", nil
	detail, err := json.Marshal(s)
	if err == nil {
		_, err = exec(ctx, t.on, changeTrace, append([]any{micros(s.Attributed), detail}, append(ownerArgs(o), trace)...)...)
	}
	if err == nil {
		_, err = exec(ctx, t.on, removeLinked, append(ownerArgs(o), roleTrace, trace)...)
	}
	return err
}

// forgetOwner removes what is not of one memory.
func (k *Keeper) forgetOwner(ctx context.Context, o Owner) error {
	return k.change(ctx, func(ctx context.Context, t *tx) error {
		for _, table := range []string{"memory_trace", "memory_trust", "memory_gap", "memory_question", "memory_link"} {
			if _, err := exec(ctx, t.on, "DELETE FROM "+table+ofOwner, ownerArgs(o)...); err != nil {
				return err
			}
		}
		_, err := exec(ctx, t.on, setScrubTo, t.next())
		return err
	})
}

// Receipts gives the receipts of what an owner had forgotten, oldest first, up to
// MaxPage after an id ("" for the first).
func (k *Keeper) Receipts(ctx context.Context, o Owner, after string) ([]Receipt, error) {
	const query = "SELECT detail FROM memory_receipt" + ofOwner + " AND receipt_id > ? ORDER BY receipt_id LIMIT ?"
	all, err := documents[Receipt](ctx, k.db.Reads, query, append(ownerArgs(o), after, MaxPage)...)
	return all, fail("keeper.Receipts", err)
}
