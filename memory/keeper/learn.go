package keeper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	cut "github.com/sluicehq/sluice/memory/documents"
)

// learnBatch bounds the pieces that one transaction keeps: others wait for it.
const learnBatch = 128

// A Document is a text that memories of an owner were learned from.
type Document struct {
	cut.Document
	Revision int64        `json:"revision"` // greater for each later one; 0 where it was never learned to its end
	Learned  time.Time    `json:"learned,omitzero"`
	Digest   string       `json:"digest"` // SHA-256 of its bytes, in hexadecimal
	Bytes    int64        `json:"bytes"`
	Pieces   int64        `json:"pieces"`
	Parts    []cut.Parent `json:"parts,omitempty"`
}

// A Learned tells what became of a document.
type Learned struct {
	Document
	Known bool // it is what it was, and nothing was done
	Kept  int  // memories of pieces that are new
	Still int  // pieces that are word for word where they were, or elsewhere in it
	Gone  int  // memories that were superseded: their words are in it no more
}

// Learn keeps a document's pieces as memories of an owner, in the place of what was
// learned of the document of this id before. The same text, described in the same way,
// is known and changes nothing, unless some of it was archived or purged since: then it
// is learned again. Of another one, the pieces that are word for word there
// stay, whatever their place; what is new is kept; and what is gone is superseded when
// all that is new is there, which Restore takes back. What is no text to its end is kept in
// no part. Piece by piece an archived memory comes back; one that was falsified, or that
// somebody superseded, stays so. A piece keeps the Trust, Valid and Freshness that it was
// learned with.
//
// The source is read twice, from its beginning, as a stream. Until Learn is through, and
// where it is broken off, the revision before is recalled with what is new: it is
// safe to repeat, and whole then. Of two that learn the same document the one that began
// last wins; the other fails with Conflict, as does one whose source changes meanwhile or
// whose document is forgotten. What cannot be read or described so fails with BadValue.
// Progress, which may be nil, is told how many pieces are done.
func (k *Keeper) Learn(ctx context.Context, o Owner, d cut.Document, source io.ReadSeeker, progress func(pieces int)) (Learned, error) {
	const op = "keeper.Learn"
	if err := o.check(); err != nil {
		return Learned{}, fail(op, err)
	}
	whole, err := read(ctx, d, source, func([]cut.Piece) error { return nil })
	if err != nil {
		return Learned{}, fail(op, err)
	}
	l := learning{owner: o, progress: progress}
	if l.faded, err = k.hasFaded(ctx, o, d.ID); err != nil {
		return Learned{}, fail(op, err)
	}
	if err := k.change(ctx, func(ctx context.Context, t *tx) error { return l.begin(ctx, t, whole) }); err != nil {
		return Learned{}, fail(op, err)
	}
	if !l.done.Known {
		if err := k.learn(ctx, d, source, &l); err != nil {
			return l.done, fail(op, err)
		}
	}
	l.done.Gone, err = k.settleDocument(ctx, o, d.ID)
	return l.done, fail(op, err)
}

// read reads a document from its beginning to its end, gives take its pieces in
// batches, and tells what it is.
func read(ctx context.Context, d cut.Document, source io.ReadSeeker, take func([]cut.Piece) error) (whole Document, err error) {
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return whole, abi.NewProblem(abi.SystemFailure, "%s cannot be read from its beginning", d.ID).WithHint("give a file, and no stream")
	}
	sum := sha256.New()
	splitter, err := cut.NewSplitter(io.TeeReader(source, sum), d)
	if err != nil {
		return whole, err
	}
	whole.Document = d
	batch := make([]cut.Piece, 0, learnBatch)
	for piece, err := range splitter.Pieces() {
		if err == nil {
			err = checkNode(piece.Node)
		}
		if err != nil {
			return whole, err
		}
		whole.Pieces++
		if batch = append(batch, piece); len(batch) < learnBatch {
			continue
		}
		if err = ctx.Err(); err == nil {
			err = take(batch)
		}
		if err != nil {
			return whole, err
		}
		batch = batch[:0]
	}
	whole.Parts, whole.Digest = splitter.Parents(), hex.EncodeToString(sum.Sum(nil))
	whole.Bytes, err = source.Seek(0, io.SeekCurrent)
	if err == nil && len(batch) > 0 {
		err = take(batch)
	}
	return whole, err
}

// A learning is one Learn under way.
type learning struct {
	owner    Owner
	progress func(pieces int)
	done     Learned
	faded    bool // some of what the document was is archived
	strays   map[string]memory.ID
	last     lastPiece
}

// A lastPiece is the one that was kept before the next.
type lastPiece struct {
	no int64
	id memory.ID
}

const (
	ofDocument     = ofOwner + " AND document_id = ?"
	documentOf     = "SELECT revision, begun, detail FROM memory_document" + ofDocument
	makeDocument   = "INSERT INTO memory_document (revision, begun, detail, tenant_id, user_id, document_id) VALUES (?, ?, ?, ?, ?, ?)"
	changeDocument = "UPDATE memory_document SET revision = ?, begun = ?, detail = ?" + ofDocument
	removeDocument = "DELETE FROM memory_document" + ofDocument
)

func documentArgs(o Owner, document string) []any { return append(ownerArgs(o), document) }

// documentRow gives what is kept of a document, and the last revision that was begun.
func documentRow(ctx context.Context, on host.Statements, o Owner, id string) (d Document, begun int64, found bool, err error) {
	var detail []byte
	var revision int64
	found, err = row(ctx, on, documentOf, documentArgs(o, id), &revision, &begun, &detail)
	if err == nil && found {
		err = json.Unmarshal(detail, &d)
	}
	d.Revision = revision
	return d, begun, found, err
}

// begin looks whether the document is known, and begins a revision if it is not, or
// if one that was begun is not through.
func (l *learning) begin(ctx context.Context, t *tx, whole Document) error {
	had, begun, found, err := documentRow(ctx, t.on, l.owner, whole.ID)
	if err != nil {
		return err
	}
	l.done = Learned{Document: whole}
	if found && !l.faded && had.Revision > 0 && had.Revision == begun && had.Digest == whole.Digest && described(had) == described(whole) {
		l.done = Learned{Document: had, Known: true}
		return nil
	}
	l.done.Revision = t.next() // which no other one has, also after the document is forgotten
	statement := changeDocument
	if !found {
		statement, had.Document = makeDocument, whole.Document
	}
	return t.saveDocument(ctx, l.owner, statement, had, l.done.Revision)
}

const (
	fadedPiece = "SELECT p.memory_id FROM memory_piece p JOIN memory_node n ON n.tenant_id = p.tenant_id AND n.user_id = p.user_id AND n.memory_id = p.memory_id " +
		"WHERE p.tenant_id = ? AND p.user_id = ? AND p.document_id = ? AND n.status = '" + string(memory.Archived) + "' LIMIT 1"
	purgedFrom = "SELECT DISTINCT p.document_id FROM memory_piece p JOIN memory_document d ON d.tenant_id = p.tenant_id AND d.user_id = p.user_id AND d.document_id = p.document_id AND d.begun = p.revision " +
		"WHERE p.tenant_id = ? AND p.user_id = ? AND p.memory_id = ?"
	notWhole = "UPDATE memory_document SET begun = ?" + ofDocument
)

// hasFaded tells whether a piece of a document is archived. It is asked before others
// have to wait for the answer: a large document has many pieces.
func (k *Keeper) hasFaded(ctx context.Context, o Owner, document string) (bool, error) {
	var id memory.ID
	return row(ctx, k.db.Reads, fadedPiece, documentArgs(o, document), &id)
}

// unlearn has the documents that a memory is a piece of be learned again when they are
// imported next, since they are not whole without it.
func (t *tx) unlearn(ctx context.Context, o Owner, id memory.ID) error {
	of, err := texts[string](ctx, t.on, purgedFrom, memoryArgs(o, id)...)
	for _, document := range of {
		if err == nil {
			_, err = exec(ctx, t.on, notWhole, append([]any{t.next()}, documentArgs(o, document)...)...)
		}
	}
	return err
}

// described gives how a document was described, without when.
func described(d Document) string {
	of := d.Document
	of.At = time.Time{}
	text, err := json.Marshal(of)
	if err != nil {
		panic("BUG: a document's description does not marshal: " + err.Error())
	}
	return string(text)
}

func (t *tx) saveDocument(ctx context.Context, o Owner, statement string, d Document, begun int64) error {
	detail, err := json.Marshal(d)
	if err == nil {
		_, err = exec(ctx, t.on, statement, append([]any{d.Revision, begun, detail}, documentArgs(o, d.ID)...)...)
	}
	return err
}

// learn keeps the pieces of a revision that was begun, and makes it the document's.
func (k *Keeper) learn(ctx context.Context, d cut.Document, source io.ReadSeeker, l *learning) (err error) {
	if l.strays, err = k.straysOf(ctx, l.owner, d.ID); err != nil {
		return err
	}
	again, err := read(ctx, d, source, func(batch []cut.Piece) error { return k.keepPieces(ctx, l, batch) })
	if err == nil && again.Digest != l.done.Digest {
		err = abi.NewProblem(abi.Conflict, "%s changed while it was read", d.ID).WithHint("import it again")
	}
	if err != nil {
		return err
	}
	return k.change(ctx, l.complete)
}

// keepPieces keeps a batch of pieces behind those before it.
func (k *Keeper) keepPieces(ctx context.Context, l *learning, batch []cut.Piece) error {
	var last lastPiece
	kept := 0
	err := k.change(ctx, func(ctx context.Context, t *tx) error {
		kept, last = 0, l.last
		if err := l.isLast(ctx, t); err != nil {
			return err
		}
		for _, p := range batch {
			is, err := t.keepPiece(ctx, l, p, &last)
			if err != nil {
				return err
			}
			if is {
				kept++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.last = last
	l.done.Kept, l.done.Still = l.done.Kept+kept, l.done.Still+len(batch)-kept
	if l.progress != nil {
		l.progress(int(last.no))
	}
	return nil
}

// isLast fails unless this revision is the last that was begun, and not forgotten since.
func (l *learning) isLast(ctx context.Context, t *tx) error {
	_, begun, found, err := documentRow(ctx, t.on, l.owner, l.done.ID)
	if err == nil && (!found || begun != l.done.Revision) {
		err = abi.NewProblem(abi.Conflict, "%s was forgotten, or is imported by somebody else, since this import began", l.done.ID).WithHint("import it again if its newest text is not there")
	}
	return err
}

// complete makes the revision the document's.
func (l *learning) complete(ctx context.Context, t *tx) error {
	if err := l.isLast(ctx, t); err != nil {
		return err
	}
	l.done.Learned = t.at
	return t.saveDocument(ctx, l.owner, changeDocument, l.done.Document, l.done.Revision)
}

const makePiece = "INSERT INTO memory_piece (tenant_id, user_id, document_id, revision, piece_no, memory_id, words_digest, part_no, from_byte, until_byte, blank_bytes, overlap_bytes) " +
	"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

// keepPiece has a memory stand behind the last one, and tells whether it is new.
func (t *tx) keepPiece(ctx context.Context, l *learning, p cut.Piece, last *lastPiece) (kept bool, err error) {
	n := t.fresh(l.owner, p.Node)
	digest := wordsDigest(n)
	old, found, err := t.findPiece(ctx, l, digest)
	switch {
	case err != nil:
	case found:
		n.ID = old.ID
		err = t.stay(ctx, old, n)
	default:
		err = t.addNew(ctx, stored{Node: n}, bandsOf(n))
	}
	if err == nil && p.Overlap > 0 && last.id != "" && last.id != n.ID {
		err = t.link(ctx, l.owner, last.id, roleOverlap, string(n.ID))
	}
	last.no, last.id = last.no+1, n.ID
	if err == nil {
		_, err = exec(ctx, t.on, makePiece, append(documentArgs(l.owner, l.done.ID), l.done.Revision, last.no, string(n.ID), digest, p.Parent, p.Start, p.End(), p.Blank, p.Overlap)...)
	}
	return !found, err
}

// wordsDigest tells pieces of one document apart: by their words to the letter, and by what
// they are about.
func wordsDigest(n memory.Node) string {
	return host.Digest(fmt.Appendf(nil, "%q %q %q %q", n.Text, n.Entity, n.Domain, n.Scene))
}

const pieceOf = "SELECT memory_id FROM memory_piece" + ofDocument + " AND words_digest = ? LIMIT 1"

// findPiece looks for the memory of a piece of the same words: in the document's
// revisions, and else among the strays.
func (t *tx) findPiece(ctx context.Context, l *learning, digest string) (s stored, found bool, err error) {
	var id memory.ID
	found, err = row(ctx, t.on, pieceOf, append(documentArgs(l.owner, l.done.ID), digest), &id)
	if err != nil {
		return s, false, err
	}
	if !found {
		id = l.strays[digest]
	}
	if id == "" {
		return s, false, nil
	}
	all, err := findAll(ctx, t.on, l.owner, []memory.ID{id})
	if err != nil || len(all) == 0 { // a stray that was forgotten meanwhile
		return s, false, err
	}
	return all[0], true, nil
}

// maxStrays bounds the strays of one document, in memory. What is beyond is kept twice.
const maxStrays = 100_000

const placed = "SELECT DISTINCT memory_id FROM memory_piece" + ofOwner + " AND memory_id IN "

// straysOf gives memories that name a document, count, and have no place in one, by the
// digest of their words: such as came with an import of an export, or were restored. They
// take the place of pieces of the same words. Pieces are most of what is of a document:
// they are left out before any of it is read.
func (k *Keeper) straysOf(ctx context.Context, o Owner, document string) (map[string]memory.ID, error) {
	strays := map[string]memory.ID{}
	p := Page{Document: document, Layers: []memory.Layer{memory.Fact}, Statuses: []memory.Status{memory.Active, memory.Archived}, Limit: MaxPage}
	for more := true; more && len(strays) < maxStrays; {
		ids, err := k.idsOfDocument(ctx, o, p, p.After)
		if ids = firstOf(ids, MaxPage); err != nil || len(ids) == 0 {
			return strays, err
		}
		more, p.After = len(ids) == MaxPage, ids[len(ids)-1]
		if ids, err = k.withoutPlace(ctx, o, ids); err != nil {
			return nil, err
		}
		all, err := findAll(ctx, k.db.Reads, o, ids)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			if p.wants(s, k.now()) && s.Claim == nil { // no piece has one
				strays[wordsDigest(s.Node)] = s.ID
			}
		}
	}
	return strays, nil
}

// withoutPlace gives those of a page of ids that have no place in any document.
func (k *Keeper) withoutPlace(ctx context.Context, o Owner, ids []memory.ID) ([]memory.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, args := inList(ids)
	found, err := texts[memory.ID](ctx, k.db.Reads, placed+list, append(ownerArgs(o), args...)...)
	return slices.DeleteFunc(ids, func(id memory.ID) bool { return slices.Contains(found, id) }), err
}

const changeIndexWords = "UPDATE memory_node SET index_words = ?" + ofMemory

// stay has an archived memory of a piece come back, as new as what a document
// says now: its age would archive it again. And it puts it under the title and
// the headings that are above it now.
func (t *tx) stay(ctx context.Context, old stored, n memory.Node) error {
	o := Owner{old.Tenant, old.User}
	if old.Status == memory.Archived {
		old.Status, old.Agreed = memory.Active, t.at
		if n.At.After(old.At) {
			old.At = n.At
		}
		if err := t.lived(ctx, o, old.ID, Restored, SourceKey(n.Source)); err != nil {
			return err
		}
		if err := t.save(ctx, old); err != nil {
			return err
		}
	}
	if old.IndexText == n.IndexText {
		return nil
	}
	if _, err := exec(ctx, t.on, changeIndexWords, append([]any{[]byte(n.IndexText)}, memoryArgs(o, old.ID)...)...); err != nil {
		return err
	}
	return t.reworded(ctx, o, old.ID)
}

const (
	piecesBefore = "SELECT document_id, revision, piece_no, memory_id FROM memory_piece" + ofDocument + " AND revision < ? ORDER BY revision, piece_no LIMIT ?"
	stillThere   = "SELECT piece_no FROM memory_piece" + ofMemory + " AND document_id = ? AND revision >= ? LIMIT 1"
)

// settleDocument supersedes what earlier revisions had and the document's has not, some in each
// transaction, and gives how many memories that were.
func (k *Keeper) settleDocument(ctx context.Context, o Owner, id string) (gone int, err error) {
	for more := true; more; {
		some := 0
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			some, more, err = t.settleDocument(ctx, o, id)
			return err
		})
		if err != nil {
			return gone, err
		}
		gone += some
	}
	return gone, nil
}

func (t *tx) settleDocument(ctx context.Context, o Owner, id string) (gone int, more bool, err error) {
	d, _, found, err := documentRow(ctx, t.on, o, id)
	if err != nil || !found {
		return 0, false, err
	}
	old, err := pieceRows(ctx, t.on, piecesBefore, append(documentArgs(o, id), d.Revision, learnBatch)...)
	if err != nil {
		return 0, false, err
	}
	for _, p := range old {
		is, err := t.leavePiece(ctx, o, d, p)
		if err != nil {
			return 0, false, err
		}
		if is {
			gone++
		}
	}
	return gone, len(old) == learnBatch, nil
}

// leavePiece removes a place of an earlier revision, and supersedes its memory if it has no
// other place.
func (t *tx) leavePiece(ctx context.Context, o Owner, d Document, p pieceRow) (gone bool, err error) {
	var no int64
	still, err := row(ctx, t.on, stillThere, append(memoryArgs(o, p.id), d.ID, d.Revision), &no)
	if err == nil && !still {
		gone, err = t.leaveMemory(ctx, o, d, p.id)
	}
	if err == nil {
		_, err = exec(ctx, t.on, removePiece, p.args(o)...)
	}
	return gone, err
}

func (t *tx) leaveMemory(ctx context.Context, o Owner, d Document, id memory.ID) (gone bool, err error) {
	s, err := find(ctx, t.on, t.lock, o, id)
	if err != nil || !counts(s.Status) {
		return false, err
	}
	s.end(memory.Superseded, orTime(d.At, d.Learned), t.at)
	if err := t.save(ctx, s); err != nil {
		return false, err
	}
	return true, t.lived(ctx, o, id, Superseded, d.Digest)
}
