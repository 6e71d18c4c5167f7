package keeper

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// A stored is a memory as it is kept, with what an as-of question needs of the past.
type stored struct {
	memory.Node
	// Ended is when it became known that the memory no longer holds; before, its
	// validity went until Prior.
	Ended time.Time `json:"ended,omitzero"`
	Prior time.Time `json:"prior,omitzero"`
	// Taken is what was thought otherwise for a time, until Restore took it back.
	Taken []takenBack `json:"taken_back,omitempty"`
}

// A takenBack is a time in which a memory was known to hold until another time than
// before and after it, or to be wrong.
type takenBack struct {
	Known memory.Span `json:"known"`
	Until time.Time   `json:"until,omitzero"`
	Wrong bool        `json:"wrong,omitempty"`
}

// maxTaken bounds what is kept of changes of mind about one memory; of more, the oldest
// go, and are as if they had not been.
const maxTaken = 16

// until gives when the memory's validity ends by its own words, whatever ended it since.
func (s stored) until() time.Time {
	if s.Ended.IsZero() {
		return s.Valid.Until
	}
	return s.Prior
}

const (
	ofMemory    = " WHERE tenant_id = ? AND user_id = ? AND memory_id = ?"
	ofOwner     = " WHERE tenant_id = ? AND user_id = ?"
	nodeColumns = "SELECT tenant_id, user_id, memory_id, session_id, live_id, entity, platform, kind, layer, status, order_no, said_at, recalls, adopts, used_at, words, index_words, detail FROM memory_node"
	makeNode    = "INSERT INTO memory_node (node_no, tenant_id, user_id, memory_id, session_id, live_id, entity, platform, kind, layer, status, order_no, said_at, " +
		"recalls, adopts, used_at, replaced_at, document_id, words, index_words, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	changeNode  = "UPDATE memory_node SET status = ?, said_at = ?, replaced_at = ?, detail = ?" + ofMemory
	makeClaim   = "INSERT INTO memory_claim (tenant_id, user_id, memory_id, layer, is_active, matter) VALUES (?, ?, ?, ?, ?, ?)"
	changeClaim = "UPDATE memory_claim SET is_active = ?" + ofMemory
)

// scanNode reads the columns and the detail of a row.
func scanNode(rows *sql.Rows) (s stored, err error) {
	var detail, words, indexWords []byte
	var said, used int64
	n := &s.Node
	err = rows.Scan(&n.Tenant, &n.User, &n.ID, &n.Source.Session, &n.Source.Live, &n.Entity, &n.Source.Platform, &n.Kind, &n.Layer, &n.Status,
		&n.Source.Order, &said, &n.Recalls, &n.Adopts, &used, &words, &indexWords, &detail)
	if err != nil {
		return s, err
	}
	columns := *n
	if err := json.Unmarshal(detail, &s); err != nil {
		return s, err
	}
	n.Text, n.IndexText, n.Status, n.At = string(words), string(indexWords), columns.Status, timeOf(said)
	n.Recalls, n.Adopts, n.LastUsed = columns.Recalls, columns.Adopts, timeOf(used)
	return s, nil
}

// detail gives the part of a memory that is in no column of its own, or that
// scanNode takes from the columns.
func (s stored) detail() ([]byte, error) {
	s.Text, s.IndexText = "", ""
	s.Recalls, s.Adopts, s.LastUsed = 0, 0, time.Time{}
	return json.Marshal(s)
}

func memoryArgs(o Owner, id memory.ID) []any {
	return []any{string(o.Tenant), string(o.User), string(id)}
}

func ownerArgs(o Owner) []any { return []any{string(o.Tenant), string(o.User)} }

// find gives one memory of an owner.
func find(ctx context.Context, on host.Statements, lock string, o Owner, id memory.ID) (s stored, err error) {
	found := false
	err = each(ctx, on, nodeColumns+ofMemory+lock, memoryArgs(o, id), func(rows *sql.Rows) (err error) {
		found = true
		s, err = scanNode(rows)
		return err
	})
	if err == nil && !found {
		err = noMemory(id)
	}
	return s, err
}

// findAll gives those of an owner's memories that are there, in no order.
func findAll(ctx context.Context, on host.Statements, o Owner, ids []memory.ID) (all []stored, err error) {
	for some := range slices.Chunk(ids, longList) {
		list, args := inList(some)
		err = each(ctx, on, nodeColumns+ofOwner+" AND memory_id IN "+list, append(ownerArgs(o), args...), func(rows *sql.Rows) error {
			s, err := scanNode(rows)
			all = append(all, s)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add writes a new memory, and tells the followers.
func (t *tx) add(ctx context.Context, s stored) error {
	detail, err := s.detail()
	if err != nil {
		return err
	}
	n, o := s.Node, Owner{s.Tenant, s.User}
	args := append([]any{t.next()}, memoryArgs(o, n.ID)...)
	_, err = exec(ctx, t.on, makeNode, append(args, string(n.Source.Session), string(n.Source.Live), n.Entity, n.Source.Platform, string(n.Kind), int(n.Layer), string(n.Status),
		n.Source.Order, micros(n.At), n.Recalls, n.Adopts, micros(n.LastUsed), s.replaced(t.at), n.Source.Document, []byte(n.Text), []byte(n.IndexText), detail)...)
	if err == nil {
		err = t.wantVector(ctx, o, n.ID)
	}
	if err == nil && n.Claim != nil {
		_, err = exec(ctx, t.on, makeClaim, append(memoryArgs(o, n.ID), int(n.Layer), isActive(n), matterOf(n))...)
	}
	for _, from := range n.Source.Derived {
		if err == nil {
			err = t.link(ctx, o, from, roleDerived, string(n.ID))
		}
	}
	if err == nil {
		err = t.touched(ctx, o, n.ID)
	}
	return err
}

// save writes what changed of a memory, except its text and its counts, and tells
// the followers.
func (t *tx) save(ctx context.Context, s stored) error {
	o := Owner{s.Tenant, s.User}
	if err := t.note(ctx, s); err != nil {
		return err
	}
	if s.Claim != nil {
		if _, err := exec(ctx, t.on, changeClaim, append([]any{isActive(s.Node)}, memoryArgs(o, s.ID)...)...); err != nil {
			return err
		}
	}
	return t.touched(ctx, o, s.ID)
}

// note writes what changed of a memory where no index has any of it, such as how far it
// is believed; see save.
func (t *tx) note(ctx context.Context, s stored) error {
	detail, err := s.detail()
	if err == nil {
		_, err = exec(ctx, t.on, changeNode, append([]any{string(s.Status), micros(s.At), s.replaced(t.at), detail}, memoryArgs(Owner{s.Tenant, s.User}, s.ID)...)...)
	}
	return err
}

func isActive(n memory.Node) int {
	if n.Status == memory.Active {
		return 1
	}
	return 0
}

// replaced gives since when a fact or a habit is superseded, and 0 for all else. An
// import of a line without it does not tell since when.
func (s stored) replaced(now time.Time) int64 {
	if s.Layer == memory.Declared || s.Status != memory.Superseded {
		return 0
	}
	return micros(orTime(s.Ended, now))
}

// Roles of links from a memory to what was made of it or points to it.
const (
	roleDerived  = "derived"  // a memory that was made of it
	roleEvidence = "evidence" // a gap
	roleTrace    = "trace"    // a trace whose output points to it
	roleNext     = "next"     // the memory that superseded it
	roleChoice   = "choice"   // a question which of two counts, in which it is the later one
	roleOverlap  = "overlap"  // a piece of a document that begins with its end
)

const (
	linkOf   = "SELECT other_id FROM memory_link" + ofMemory + " AND link_role = ? AND other_id = ?"
	makeLink = "INSERT INTO memory_link (tenant_id, user_id, memory_id, link_role, other_id) VALUES (?, ?, ?, ?, ?)"
	linksOf  = "SELECT other_id FROM memory_link" + ofMemory + " AND link_role = ? ORDER BY other_id LIMIT ?"
)

// link notes once that something was made of a memory.
func (t *tx) link(ctx context.Context, o Owner, id memory.ID, role, other string) error {
	args := append(memoryArgs(o, id), role, other)
	var there string
	found, err := row(ctx, t.on, linkOf, args, &there)
	if err == nil && !found {
		_, err = exec(ctx, t.on, makeLink, args...)
	}
	return err
}

// An Event is something that happened to a memory.
type Event struct {
	At    time.Time `json:"at"`
	What  string    `json:"what"`            // one of the events below
	Cause string    `json:"cause,omitempty"` // the id of another memory or a question, or the digest of a source
}

// The events of a memory's life.
const (
	Remembered  = "remembered" // written for the first time
	Verified    = "verified"   // said or seen again, by another source
	Superseded  = "superseded" // by the memory that the cause names, or by an answer
	Falsified   = "falsified"
	Archived    = "archived"
	Restored    = "restored"
	Pinned      = "pinned"
	Unpinned    = "unpinned"
	Prioritised = "prioritised" // the cause is its priority
	Relinked    = "relinked"    // what superseded it was purged; the cause names what had superseded that, if it is there
)

const addLife = "INSERT INTO memory_life (tenant_id, user_id, memory_id, life_no, happened_at, event, cause) VALUES (?, ?, ?, ?, ?, ?, ?)"

func (t *tx) lived(ctx context.Context, o Owner, id memory.ID, event, cause string) error {
	if len(cause) > host.MaxIDBytes || !utf8.ValidString(cause) {
		return badValue("the cause of a change has %d bytes; give at most %d of UTF-8", len(cause), host.MaxIDBytes)
	}
	_, err := exec(ctx, t.on, addLife, append(memoryArgs(o, id), t.next(), t.at.UnixMicro(), event, cause)...)
	return err
}
