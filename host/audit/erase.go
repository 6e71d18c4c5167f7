package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// An EraseRequest says whose records lose their payload, and who wants it.
type EraseRequest struct {
	Of  host.SessionRef // a session's or, without one, all of the user's
	By  string          // on record
	Why string          // on record

	// Which says which of those records lose it; nil for all.
	Which func(host.Record) bool
}

// maxWords bounds what an erasure says of itself.
const maxWords = 1000

// erasePage bounds the records of one transaction.
const erasePage = state.MaxRecords

// An erasure is the detail of a record of kind "erasure", and what the erased
// records have in the place of theirs.
type erasure struct {
	By      string    `json:"by"`
	Why     string    `json:"why,omitempty"`
	At      time.Time `json:"at"`
	Entries []span    `json:"entries,omitempty"`
}

// A span is some entries of one log that follow on each other.
type span struct {
	Log   int64 `json:"log"`
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Valid gives the BadValue with which Erase would refuse the request.
func (r EraseRequest) Valid() error {
	if r.Of.User == "" || r.By == "" || len(r.By)+len(r.Why) > maxWords {
		return host.Fail("audit.Erase", abi.NewProblem(abi.BadValue, "an erasure needs a user, and who wants it, in %d bytes at most", maxWords), nil)
	}
	return nil
}

// Erase takes user, session, call, tool, key and detail away from records, and
// the salts of their digests, so that nobody can find out any more what they were;
// seq, time, kind and release stay, and every proof. What is not sealed yet is
// sealed before. It gives how many were erased, and is safe to call again: what is
// erased is left out. A record that was put among the sealed ones keeps its payload,
// and is told as StoreFailure when all others are erased. Who reads the store's
// files, or a copy of them, may find what was erased there until the database has
// written over it.
func (q *Sequencer) Erase(ctx context.Context, req EraseRequest) (erased int, err error) {
	if err := req.Valid(); err != nil {
		return 0, err
	}
	var stray int64
	for after := int64(0); ; {
		if _, err := q.Seal(ctx, req.Of.Tenant); err != nil {
			return erased, err
		}
		log, _, err := q.Store.LastAuditLog(ctx, req.Of.Tenant)
		if err != nil {
			return erased, err
		}
		records, err := q.Store.Records(ctx, req.Of.Tenant, state.RecordFilter{Session: req.Of, AfterSeq: after, Limit: erasePage})
		if err == nil && len(records) == 0 && stray > 0 {
			err = damaged("audit.Erase", originOf(req.Of.Tenant, log.No), fmt.Errorf("record %d was never sealed, and stands among those that were", stray))
		}
		if err != nil || len(records) == 0 {
			return erased, err
		}
		done, err := q.erase(ctx, req, records, log.LastSeq)
		if erased += done.erased; err != nil {
			return erased, err
		}
		after, stray = max(after, done.last), max(stray, done.stray)
	}
}

// An erasedPage is what became of a page of records.
type erasedPage struct {
	erased int
	last   int64 // seq up to which they are done
	stray  int64 // seq of one that was not sealed when it should have been
}

// erase erases as many records from the first on as are sealed. What has no leaf
// up to sealed, the last seq that was sealed before they were read, never gets one.
func (q *Sequencer) erase(ctx context.Context, req EraseRequest, records []host.Record, sealed int64) (page erasedPage, err error) {
	said := erasure{By: req.By, Why: req.Why, At: q.now().UTC()}
	note, err := json.Marshal(map[string]any{"erased": said})
	if err != nil {
		return page, err
	}
	rows := map[int64][]byte{}
	leaves := leafReader{q: q, tenant: req.Of.Tenant, tiles: map[int64]*tiles{}}
	for _, r := range records {
		if req.Which != nil && !req.Which(r) {
			page.last = r.Seq
			continue
		}
		leaf, err := leaves.of(ctx, r.Seq)
		if err != nil {
			return page, err
		}
		if leaf.Secret == nil && r.Seq > sealed {
			break // came after the sealing
		}
		page.last = r.Seq
		if leaf.Secret == nil {
			page.stray = r.Seq
			continue
		}
		digest := privateDigest(leaf.Secret, r)
		if err := leaves.check(ctx, leaf, entryHash(r, digest)); err != nil {
			return page, err
		}
		rows[r.Seq] = digest
		said.Entries = addToSpans(said.Entries, leaf)
	}
	if len(rows) == 0 {
		return page, nil
	}
	detail, err := json.Marshal(said)
	if err != nil {
		return page, err
	}
	record := host.Record{Session: host.SessionRef{Tenant: req.Of.Tenant}, Kind: host.RecordErasure, Detail: detail}
	if err := q.Store.EraseRecords(ctx, state.Erasure{Record: record, Note: note, Rows: rows}); err != nil {
		return page, err
	}
	page.erased = len(rows)
	_, err = q.Seal(ctx, req.Of.Tenant) // an erasure that is not sealed looks like a loss
	return page, err
}

func addToSpans(spans []span, leaf state.AuditLeaf) []span {
	if n := len(spans); n > 0 && spans[n-1].Log == leaf.Log && spans[n-1].Last+1 == leaf.Index {
		spans[n-1].Last++
		return spans
	}
	return append(spans, span{Log: leaf.Log, First: leaf.Index, Last: leaf.Index})
}

// A leafReader finds where records are sealed.
type leafReader struct {
	q      *Sequencer
	tenant host.TenantID
	tiles  map[int64]*tiles // by log
}

// of gives the leaf of a record; one without a secret if it is not sealed.
func (l *leafReader) of(ctx context.Context, seq int64) (state.AuditLeaf, error) {
	leaves, err := l.q.Store.AuditLeaves(ctx, l.tenant, seq-1, 1)
	if err != nil || len(leaves) == 0 || leaves[0].Seq != seq {
		return state.AuditLeaf{}, err
	}
	return leaves[0], nil
}

// hash gives what the tree in the store has for an entry.
func (l *leafReader) hash(ctx context.Context, log, index int64) (hash tlog.Hash, err error) {
	if l.tiles[log] == nil {
		l.tiles[log] = tilesOf(ctx, l.q.Store, l.tenant, log)
	}
	hashes, err := l.tiles[log].read(0, index/tileWidth, int(index%tileWidth)+1)
	if at := int(index%tileWidth) * tlog.HashSize; err == nil && len(hashes) >= at+tlog.HashSize {
		copy(hash[:], hashes[at:])
	}
	return hash, err
}

// check keeps a record that was changed from being erased: that would hide it.
func (l *leafReader) check(ctx context.Context, leaf state.AuditLeaf, want tlog.Hash) error {
	have, err := l.hash(ctx, leaf.Log, leaf.Index)
	if err != nil {
		return err
	}
	if !bytes.Equal(have[:], want[:]) {
		return damaged("audit.Erase", originOf(l.tenant, leaf.Log), fmt.Errorf("record %d is not what was sealed", leaf.Seq))
	}
	return nil
}
