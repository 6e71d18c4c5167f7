package keeper

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of forgetting.
const (
	maxForget   = 256     // ids that are gone through at a time
	forgetBatch = 64      // memories that one transaction removes; what was made of them meanwhile comes on top
	maxMade     = 250_000 // memories that were made of those, or came before them: a price that was asked for every minute of half a year
)

// A Wish says what an owner wants forgotten: one of the four.
type Wish struct {
	IDs      []memory.ID // these, however many: such as what a search found and the owner confirmed
	Entity   string      // all that is about this
	Document string      // all that was learned of this, with the document
	All      bool        // everything of the owner, with all traces and trust
}

// A Receipt is what is left of memories that were forgotten: that it happened. It
// has no text, and nothing that a text could be guessed by.
type Receipt struct {
	ID     string      `json:"id"`
	Owner  Owner       `json:"owner"`
	At     time.Time   `json:"at"`
	IDs    []memory.ID `json:"ids"`             // sorted
	Digest string      `json:"digest"`          // SHA-256 of the ids, joined by line ends
	Whole  bool        `json:"whole,omitempty"` // everything of the owner up to then is forgotten
}

// A Forgotten is what Forget did.
type Forgotten struct {
	Receipts []Receipt // one for each transaction; none where there was nothing to forget
	// Sources are where the memories came from: the records of these calls and
	// messages may carry the same words, and are for the caller to erase.
	Sources []memory.Source
	// Keys are the SourceKeys of these and of all others that said the memories or bore
	// them out, sorted, in the parts that the receipts are.
	Keys []string
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
	var before prefaces
	var err error
	switch {
	case wish.All:
		err = k.forgetOwner(ctx, o, &f)
	case wish.Entity != "":
		err = k.forgetEntity(ctx, o, wish.Entity, &before, &f)
	case wish.Document != "":
		err = k.forgetDocument(ctx, o, wish.Document, &before, &f)
	default:
		for some := range slices.Chunk(wish.IDs, maxForget) {
			if err = k.forgetThese(ctx, o, some, &before, &f); err != nil {
				break
			}
		}
	}
	if err != nil {
		return f, fail(op, err)
	}
	return f, fail(op, k.settleForgotten(ctx, &f))
}

func (w Wish) check(o Owner) error {
	kinds := 0
	for _, asked := range []bool{len(w.IDs) > 0, w.Entity != "", w.Document != "", w.All} {
		if asked {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return badValue("it is not clear what is to be forgotten: give ids, or an entity, or a document, or all")
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

func (k *Keeper) forgetEntity(ctx context.Context, o Owner, entity string, before *prefaces, f *Forgotten) error {
	for {
		ids, err := texts[memory.ID](ctx, k.db.Reads, idsOfEntity, append(ownerArgs(o), entity, maxForget)...)
		if err == nil {
			err = k.forgetThese(ctx, o, ids, before, f)
		}
		if err != nil || len(ids) == 0 {
			return err
		}
	}
}

// forgetThese forgets memories with what was made of them and what they superseded,
// a batch in each transaction. The farthest go first: when it is broken off, what is
// left still hangs together, and a repetition finds it.
func (k *Keeper) forgetThese(ctx context.Context, o Owner, ids []memory.ID, before *prefaces, f *Forgotten) error {
	seen := map[memory.ID]bool{}
	all, err := madeOf(ctx, k.db.Reads, o, ids, func(id memory.ID) bool { return seen[id] })
	if err != nil {
		return err
	}
	if err := k.clearPrefaces(ctx, o, all, before); err != nil {
		return err
	}
	if err := k.silenceHeard(ctx, o, all); err != nil {
		return err
	}
	for _, id := range all {
		seen[id] = true
	}
	for len(all) > 0 {
		batch := all[max(0, len(all)-forgetBatch):]
		all = all[:len(all)-len(batch)]
		if err := k.forgetSome(ctx, o, batch, seen, f); err != nil {
			return err
		}
	}
	return nil
}

// forgetSome forgets one batch in one transaction, with what was made of it since
// all were looked for.
func (k *Keeper) forgetSome(ctx context.Context, o Owner, batch []memory.ID, seen map[memory.ID]bool, f *Forgotten) error {
	if err := k.silenceAll(ctx, o, batch); err != nil {
		return err
	}
	if err := k.clearPlaces(ctx, o, batch); err != nil {
		return err
	}
	var r Receipt
	var from removed
	err := k.change(ctx, func(ctx context.Context, t *tx) error {
		inBatch := map[memory.ID]bool{}
		for _, id := range batch {
			inBatch[id] = true
		}
		ids, err := madeOf(ctx, t.on, o, batch, func(id memory.ID) bool { return seen[id] && !inBatch[id] })
		if err != nil {
			return err
		}
		if r, from, err = t.removeAll(ctx, o, ids); err != nil || len(r.IDs) == 0 {
			return err
		}
		return t.leave(ctx, o, &r)
	})
	if err == nil && len(r.IDs) > 0 {
		f.add(r, from)
	}
	return err
}

// removed tells where memories came from that a transaction removed.
type removed struct {
	sources []memory.Source
	keys    map[string]bool
}

func (f *Forgotten) add(r Receipt, from removed) {
	f.Receipts, f.Sources, f.Keys = append(f.Receipts, r), append(f.Sources, from.sources...), append(f.Keys, sorted(from.keys)...)
}

// forgetOwner forgets everything of an owner, also what is written meanwhile, and
// leaves the receipt of a whole forgetting.
func (k *Keeper) forgetOwner(ctx context.Context, o Owner, f *Forgotten) error {
	if err := k.clearOwner(ctx, o); err != nil {
		return err
	}
	for more := true; more; {
		var r Receipt
		var from removed
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			r, from, err = t.forgetOwner(ctx, o)
			return err
		})
		if err != nil {
			return err
		}
		f.add(r, from)
		more = !r.Whole
	}
	return nil
}

// clearOwner removes what is not of one memory, some rows in each transaction: others
// wait for it, and there may be years of decisions. Documents go before their places: one
// that is there without them would be known, and nothing of it recalled.
func (k *Keeper) clearOwner(ctx context.Context, o Owner) error {
	for _, clear := range []func(*tx, context.Context, Owner) (int, error){
		clearTable("memory_trace", "trace_id"), clearTable("memory_gap", "gap_id"), clearTable("memory_question", "question_id"), clearTable("memory_document", "document_id"), (*tx).clearLinks, (*tx).clearPieces} {
		for n := longList; n == longList; {
			err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
				if n, err = clear(t, ctx, o); err == nil && n > 0 {
					_, err = exec(ctx, t.on, setScrubTo, t.next())
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

// clearTable removes up to longList rows of an owner that a column names.
func clearTable(table, column string) func(*tx, context.Context, Owner) (int, error) {
	some, remove := "SELECT "+column+" FROM "+table+ofOwner+" ORDER BY "+column+" LIMIT ?", "DELETE FROM "+table+ofOwner+" AND "+column+" IN "
	return func(t *tx, ctx context.Context, o Owner) (int, error) {
		ids, err := texts[string](ctx, t.on, some, append(ownerArgs(o), longList)...)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		list, args := inList(ids)
		_, err = exec(ctx, t.on, remove+list, append(ownerArgs(o), args...)...)
		return len(ids), err
	}
}

func (t *tx) clearLinks(ctx context.Context, o Owner) (n int, err error) {
	const some = "SELECT memory_id, link_role, other_id FROM memory_link" + ofOwner + " LIMIT ?"
	var links [][]any
	err = each(ctx, t.on, some, append(ownerArgs(o), longList), func(rows *sql.Rows) error {
		var id, role, other string
		err := rows.Scan(&id, &role, &other)
		links = append(links, append(memoryArgs(o, memory.ID(id)), role, other))
		return err
	})
	for _, args := range links {
		if err == nil {
			_, err = exec(ctx, t.on, removeLink, args...)
		}
	}
	return len(links), err
}

func (t *tx) clearPieces(ctx context.Context, o Owner) (n int, err error) {
	const some = "SELECT document_id, revision, piece_no, memory_id FROM memory_piece" + ofOwner + " LIMIT ?"
	pieces, err := pieceRows(ctx, t.on, some, append(ownerArgs(o), longList)...)
	for _, p := range pieces {
		if err == nil {
			_, err = exec(ctx, t.on, removePiece, p.args(o)...)
		}
	}
	return len(pieces), err
}

// forgetOwner removes what is not of one memory and came meanwhile, and some memories. Its receipt is
// that of a whole forgetting where none is left.
func (t *tx) forgetOwner(ctx context.Context, o Owner) (r Receipt, from removed, err error) {
	for _, table := range []string{"memory_trace", "memory_trust", "memory_gap", "memory_question", "memory_link", "memory_document", "memory_piece"} {
		if _, err := exec(ctx, t.on, "DELETE FROM "+table+ofOwner, ownerArgs(o)...); err != nil {
			return r, from, err
		}
	}
	ids, err := texts[memory.ID](ctx, t.on, idsOfOwner, append(ownerArgs(o), forgetBatch)...)
	if err == nil {
		r, from, err = t.removeAll(ctx, o, ids)
	}
	if err != nil {
		return r, from, err
	}
	r.Whole = len(ids) < forgetBatch
	return r, from, t.leave(ctx, o, &r)
}

// removeAll removes memories, and gives the ids of those that were there.
func (t *tx) removeAll(ctx context.Context, o Owner, ids []memory.ID) (r Receipt, from removed, err error) {
	all, err := findAll(ctx, t.on, o, ids)
	if err != nil || len(all) == 0 {
		return r, from, err
	}
	from.keys = map[string]bool{}
	for _, s := range all {
		r.IDs, from.sources = append(r.IDs, s.ID), append(from.sources, s.Source)
	}
	slices.Sort(r.IDs)
	if err := addKeys(ctx, t.on, o, r.IDs, from.keys); err != nil {
		return r, from, err
	}
	if err := t.removeLines(ctx, o, r.IDs); err != nil {
		return r, from, err
	}
	if err := t.silenceInputs(ctx, o, from); err != nil {
		return r, from, err
	}
	if err := t.cutOverlaps(ctx, o, all); err != nil {
		return r, from, err
	}
	if err := t.remove(ctx, o, r.IDs); err != nil {
		return r, from, err
	}
	return r, from, t.dropDocuments(ctx, o, from.sources)
}

// leave writes a receipt, and has the files scrubbed.
func (t *tx) leave(ctx context.Context, o Owner, r *Receipt) error {
	r.ID, r.Owner, r.At, r.Digest = string(newID()), o, t.at, digestOf(r.IDs)
	of := ofSome
	if r.Whole {
		of = ofWhole
	}
	if err := t.keepReceipt(ctx, *r, of); err != nil {
		return err
	}
	_, err := exec(ctx, t.on, setScrubTo, t.next())
	return err
}

func digestOf(ids []memory.ID) string {
	lines := make([]string, len(ids))
	for i, id := range ids {
		lines[i] = string(id)
	}
	return host.Digest([]byte(strings.Join(lines, "\n")))
}

const makeReceipt = "INSERT INTO memory_receipt (tenant_id, user_id, receipt_id, forgotten_at, is_whole, detail) VALUES (?, ?, ?, ?, ?, ?)"

// What a receipt is of, in its column is_whole.
const (
	ofSome  = iota // memories that somebody asked to be forgotten
	ofWhole        // everything of the owner
	ofPurge        // what was archived long ago: nobody asked for it
)

func (t *tx) keepReceipt(ctx context.Context, r Receipt, of int) error {
	detail, err := json.Marshal(r)
	if err == nil {
		_, err = exec(ctx, t.on, makeReceipt, append(ownerArgs(r.Owner), r.ID, r.At.UnixMicro(), of, detail)...)
	}
	return err
}

const wholeUntil = "SELECT MAX(forgotten_at) FROM memory_receipt" + ofOwner + " AND is_whole = 1"

// ForgottenUntil gives when everything of an owner was forgotten last, and zero where
// it never was. What a log or another source tells of the time until then is not to be
// learnt again.
func (k *Keeper) ForgottenUntil(ctx context.Context, o Owner) (time.Time, error) {
	return k.forgottenAt(ctx, "keeper.ForgottenUntil", wholeUntil, o)
}

const lastOf = "SELECT MAX(forgotten_at) FROM memory_receipt" + ofOwner + " AND is_whole IN (0, 1)"

// LastForgotten gives when anything of an owner was forgotten last, and zero where nothing
// ever was. What was said or seen until then, and is only heard now, may be what was
// forgotten. What Purge removes does not count: nobody asked for its words to be gone.
func (k *Keeper) LastForgotten(ctx context.Context, o Owner) (time.Time, error) {
	return k.forgottenAt(ctx, "keeper.LastForgotten", lastOf, o)
}

func (k *Keeper) forgottenAt(ctx context.Context, op, query string, o Owner) (time.Time, error) {
	if err := o.check(); err != nil {
		return time.Time{}, fail(op, err)
	}
	var at sql.NullInt64
	_, err := row(ctx, k.db.Reads, query, ownerArgs(o), &at)
	return timeOf(at.Int64), fail(op, err)
}

// Receipts gives the receipts of what an owner had forgotten, oldest first, up to
// MaxPage after an id ("" for the first).
func (k *Keeper) Receipts(ctx context.Context, o Owner, after string) ([]Receipt, error) {
	const query = "SELECT detail FROM memory_receipt" + ofOwner + " AND receipt_id > ? AND receipt_id <> '" + owedRow + "' ORDER BY receipt_id LIMIT ?"
	all, err := documents[Receipt](ctx, k.db.Reads, query, append(ownerArgs(o), after, MaxPage)...)
	return all, fail("keeper.Receipts", err)
}
