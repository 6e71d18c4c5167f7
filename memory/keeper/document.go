package keeper

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// A Place is where a memory stands in a document, as it was learned last.
type Place struct {
	Memory   memory.ID `json:"-"`
	Document string    `json:"document"`
	Title    string    `json:"title,omitempty"`
	Piece    int64     `json:"piece"` // from 1, of
	Pieces   int64     `json:"pieces"`
	Part     int       `json:"part"` // from 1: of a document that is larger than documents.ParentBytes
	From     int64     `json:"from"` // in bytes of the source: what is its own, without the end of the piece before
	Until    int64     `json:"until"`

	blank, overlap int64
}

// Statements on places. A place is of the revision that is the document's.
const (
	placesNear = "SELECT p.memory_id, p.document_id, p.piece_no, p.part_no, p.from_byte, p.until_byte, p.blank_bytes, p.overlap_bytes FROM memory_piece p " +
		"JOIN memory_document d ON d.tenant_id = p.tenant_id AND d.user_id = p.user_id AND d.document_id = p.document_id AND d.revision = p.revision " +
		"WHERE p.tenant_id = ? AND p.user_id = ? AND p.document_id = ? AND p.piece_no >= ? AND p.piece_no <= ?"
	firstOfThese = "SELECT document_id, revision, MIN(piece_no), memory_id FROM memory_piece" + ofOwner + " AND memory_id IN "
	eachRevision = " GROUP BY memory_id, document_id, revision"
)

func scanPlaces(ctx context.Context, on host.Statements, query string, args ...any) (all []Place, err error) {
	err = each(ctx, on, query, args, func(rows *sql.Rows) error {
		var p Place
		err := rows.Scan(&p.Memory, &p.Document, &p.Piece, &p.Part, &p.From, &p.Until, &p.blank, &p.overlap)
		all = append(all, p)
		return err
	})
	return all, err
}

// A pieceRow is the key of a place, and whose it is.
type pieceRow struct {
	document     string
	revision, no int64
	id           memory.ID
}

const (
	ofPiece      = ofDocument + " AND revision = ? AND piece_no = ?"
	rowsOfMemory = "SELECT document_id, revision, piece_no, memory_id FROM memory_piece" + ofMemory
	removePiece  = "DELETE FROM memory_piece" + ofPiece
)

func (p pieceRow) args(o Owner) []any { return append(documentArgs(o, p.document), p.revision, p.no) }

func pieceRows(ctx context.Context, on host.Statements, query string, args ...any) (all []pieceRow, err error) {
	err = each(ctx, on, query, args, func(rows *sql.Rows) error {
		var p pieceRow
		err := rows.Scan(&p.document, &p.revision, &p.no, &p.id)
		all = append(all, p)
		return err
	})
	return all, err
}

// Places gives where memories of an owner stand in documents: the first place of each
// that has one. It fails with BadValue for more than MaxPage ids.
func (k *Keeper) Places(ctx context.Context, o Owner, ids []memory.ID) (map[memory.ID]Place, error) {
	const op = "keeper.Places"
	if err := o.check(); err != nil {
		return nil, fail(op, err)
	}
	if len(ids) > MaxPage {
		return nil, fail(op, badValue("the places of %d memories at once; ask for at most %d", len(ids), MaxPage))
	}
	var all []pieceRow
	for some := range slices.Chunk(ids, longList) {
		list, args := inList(some)
		rows, err := pieceRows(ctx, k.db.Reads, firstOfThese+list+eachRevision, append(ownerArgs(o), args...)...)
		if err != nil {
			return nil, fail(op, err)
		}
		all = append(all, rows...)
	}
	places, err := k.places(ctx, o, all)
	return places, fail(op, err)
}

// places gives the places of some rows that are of the document's revision, of each
// memory the one in the first document.
func (k *Keeper) places(ctx context.Context, o Owner, all []pieceRow) (map[memory.ID]Place, error) {
	slices.SortFunc(all, func(a, b pieceRow) int { return cmp.Compare(a.document, b.document) })
	places, of := map[memory.ID]Place{}, map[string]Document{}
	for _, p := range all {
		d, known := of[p.document]
		if !known {
			var err error
			if d, _, _, err = documentRow(ctx, k.db.Reads, o, p.document); err != nil {
				return nil, err
			}
			of[p.document] = d
		}
		if _, has := places[p.id]; has || p.revision != d.Revision {
			continue
		}
		at, err := scanPlaces(ctx, k.db.Reads, placesNear, append(documentArgs(o, p.document), p.no, p.no)...)
		if err != nil {
			return nil, err
		}
		for _, one := range at {
			if one.Memory == p.id { // else the document changed meanwhile
				one.Title, one.Pieces = d.Title, d.Pieces
				places[p.id] = one
			}
		}
	}
	return places, nil
}

// Document gives what an owner's memories of one document were learned from. It fails
// with NotFound.
func (k *Keeper) Document(ctx context.Context, o Owner, id string) (Document, error) {
	d, _, found, err := documentRow(ctx, k.db.Reads, o, id)
	if err == nil && !found {
		err = abi.NewProblem(abi.NotFound, "this user has no document %.80q", id).WithHint("import it, or list the user's memories to see which documents they are from")
	}
	return d, fail("keeper.Document", err)
}
