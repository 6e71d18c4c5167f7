package keeper

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/memory"
	cut "github.com/sluicehq/sluice/memory/documents"
)

// forgetDocument forgets everything that names a document: its pieces, those that later
// revisions superseded, and what came with an import of an export. The document goes
// first, so that an import that is under way adds nothing behind it.
func (k *Keeper) forgetDocument(ctx context.Context, o Owner, document string, before *prefaces, f *Forgotten) error {
	err := k.change(ctx, func(ctx context.Context, t *tx) error {
		if _, err := exec(ctx, t.on, removeDocument, documentArgs(o, document)...); err != nil {
			return err
		}
		_, err := exec(ctx, t.on, setScrubTo, t.next())
		return err
	})
	for p, more := (Page{Document: document}), true; more && err == nil; {
		var page []memory.Node
		page, err = k.List(ctx, o, p)
		var ids []memory.ID
		for _, n := range page {
			ids = append(ids, n.ID)
		}
		if err == nil && len(ids) > 0 {
			p.After, err = ids[len(ids)-1], k.forgetThese(ctx, o, ids, before, f)
		}
		more = len(page) == MaxPage
	}
	return err
}

const (
	overlapOf     = "SELECT overlap_bytes FROM memory_piece" + ofPiece
	changeWords   = "UPDATE memory_node SET words = ?, index_words = ?" + ofMemory
	withoutBefore = "UPDATE memory_piece SET overlap_bytes = 0, words_digest = ?" + ofPiece
)

// cutOverlaps takes the end of pieces that are forgotten out of the pieces that begin
// with it, also of earlier revisions.
func (t *tx) cutOverlaps(ctx context.Context, o Owner, gone []stored) error {
	of := make(map[memory.ID]stored, len(gone))
	for _, s := range gone {
		of[s.ID] = s
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(of)), longList) {
		behind, err := t.behind(ctx, o, some)
		if err != nil {
			return err
		}
		for _, pair := range behind {
			if _, goes := of[pair[1]]; goes {
				continue
			}
			all, err := findAll(ctx, t.on, o, pair[1:]) // each time: its words may have been cut a moment ago
			if err != nil {
				return err
			}
			for _, s := range all {
				if err := t.cutOverlap(ctx, o, of[pair[0]], s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// behind gives pieces of a list, each with one that begins with its end.
func (t *tx) behind(ctx context.Context, o Owner, ids []memory.ID) (pairs [][2]memory.ID, err error) {
	const query = "SELECT memory_id, other_id FROM memory_link" + ofOwner + " AND link_role = '" + roleOverlap + "' AND memory_id IN "
	list, args := inList(ids)
	err = each(ctx, t.on, query+list, append(ownerArgs(o), args...), func(rows *sql.Rows) error {
		var pair [2]memory.ID
		err := rows.Scan(&pair[0], &pair[1])
		pairs = append(pairs, pair)
		return err
	})
	return pairs, err
}

// cutOverlap takes the end of one piece away from the beginning of the words of another,
// with what was made of them.
func (t *tx) cutOverlap(ctx context.Context, o Owner, before, s stored) error {
	at, err := pieceRows(ctx, t.on, rowsOfMemory, memoryArgs(o, s.ID)...)
	overlap := 0
	switch {
	case err != nil:
		return err
	case len(at) > 0: // all have the same words
		_, err = row(ctx, t.on, overlapOf, at[0].args(o), &overlap)
	default: // of an earlier revision
		overlap = overlapping(before.Text, s.Text)
	}
	if err != nil {
		return err
	}
	was := strings.TrimSpace(s.Text)
	s.Text = s.Text[min(overlap, len(s.Text)):]
	if s.IndexText != "" {
		s.IndexText = strings.TrimSuffix(s.IndexText, was) + strings.TrimSpace(s.Text)
	}
	for _, p := range at {
		if _, err := exec(ctx, t.on, withoutBefore, append([]any{wordsDigest(s.Node)}, p.args(o)...)...); err != nil {
			return err
		}
	}
	args := memoryArgs(o, s.ID)
	if _, err := exec(ctx, t.on, changeWords, append([]any{[]byte(s.Text), []byte(s.IndexText)}, args...)...); err != nil {
		return err
	}
	if _, err := exec(ctx, t.on, "DELETE FROM "+t.from("memory_band")+ofMemory, args...); err != nil {
		return err
	}
	if err := t.addBands(ctx, o, s.ID, bandsOf(s.Node)); err != nil {
		return err
	}
	return t.reworded(ctx, o, s.ID)
}

// overlapping gives how many bytes a text begins with that another one ends with.
func overlapping(before, text string) int {
	most := min(len(before), len(text)-1, cut.OverlapRunes*utf8.UTFMax)
	for n := most; n > 0; n-- {
		if strings.HasSuffix(before, text[:n]) {
			return n
		}
	}
	return 0
}

// reworded has the index and the embedder look at a memory whose words changed.
func (t *tx) reworded(ctx context.Context, o Owner, id memory.ID) error {
	for _, statement := range []string{removeVector, embedded} {
		if _, err := exec(ctx, t.on, statement, memoryArgs(o, id)...); err != nil {
			return err
		}
	}
	if err := t.wantVector(ctx, o, id); err != nil {
		return err
	}
	return t.touched(ctx, o, id)
}

const placesOfThese = "SELECT document_id, revision, piece_no, memory_id FROM memory_piece" + ofOwner + " AND memory_id IN "

// clearPlaces removes places of a batch of memories, some in each transaction, until few
// enough are left to go with the memories: others wait for it, and a log says the same
// thousands of times.
func (k *Keeper) clearPlaces(ctx context.Context, o Owner, ids []memory.ID) error {
	list, args := inList(ids)
	for n := longList; n == longList; {
		err := k.change(ctx, func(ctx context.Context, t *tx) error {
			at, err := pieceRows(ctx, t.on, placesOfThese+list+" LIMIT ?", append(append(ownerArgs(o), args...), longList)...)
			if n = len(at); err != nil || n < longList {
				return err
			}
			return t.removePlaces(ctx, o, at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) removePlaces(ctx context.Context, o Owner, at []pieceRow) error {
	for _, p := range at {
		if _, err := exec(ctx, t.on, removePiece, p.args(o)...); err != nil {
			return err
		}
	}
	_, err := exec(ctx, t.on, setScrubTo, t.next())
	return err
}

const anyPiece = "SELECT piece_no FROM memory_piece" + ofDocument + " LIMIT 1"

// dropDocuments removes documents that have no piece left, of those that memories came from.
func (t *tx) dropDocuments(ctx context.Context, o Owner, sources []memory.Source) error {
	seen := map[string]bool{"": true}
	for _, s := range sources {
		if seen[s.Document] {
			continue
		}
		seen[s.Document] = true
		var no int64
		has, err := row(ctx, t.on, anyPiece, documentArgs(o, s.Document), &no)
		if err == nil && !has {
			_, err = exec(ctx, t.on, removeDocument, documentArgs(o, s.Document)...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
