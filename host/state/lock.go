package state

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"math/bits"
	"strings"

	"github.com/sluicehq/sluice/host"
)

// Where rows are locked one by one, a transaction must also keep rows away that
// are not there: a key that it has found missing, or one that would have been
// in its scan. Not all databases can lock those, so every tenant has slots:
// rows to be locked, one for a part of all its keys. Whoever writes kv, or
// depends on what it read there, locks the slots of its keys until it commits;
// whoever depends on a range, or forks the tenant, locks all of them.
// Whoever adds a standing grant locks the slot of its user's, so that their
// number holds until the commit.
// Whoever adds audit records has at least one of the tenant's slots, so that
// with all of them nobody is in the middle of it.
//
// Slots are locked in one order, after the lease and the claim and before
// everything else, so that nobody waits in a circle.

// slots is how many each tenant has. It is part of the stored form: all
// processes on one database must agree.
const slots = 64

// A slotSet has a bit for each slot.
type slotSet uint64

const allSlots = ^slotSet(0)

// slotOf gives the slot of a key in a namespace, or of another text.
func slotOf(parts ...string) slotSet {
	h := fnv.New64a()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return 1 << (h.Sum64() % slots)
}

// slotsOf gives those that a settlement of views needs.
func slotsOf(views []*View) slotSet {
	var set slotSet
	for _, v := range views {
		if len(v.ranges) > 0 {
			return allSlots
		}
		for key := range v.reads {
			set |= slotOf(v.namespace, key)
		}
		for key := range v.writes {
			set |= slotOf(v.namespace, key)
		}
	}
	return set
}

// lockSlots waits for the slots of a tenant and keeps them until the commit.
// The statement writes nothing: it makes rows that are missing, which a
// SELECT could not lock, and locks the others.
func (s *Store) lockSlots(ctx context.Context, ex *executor, tenant host.TenantID, set slotSet) error {
	if !s.dialect.rowLocks || set == 0 {
		return nil
	}
	query, args := s.slotQuery(tenant, set)
	_, err := ex.exec(ctx, query, args...)
	return err
}

func (s *Store) slotQuery(tenant host.TenantID, set slotSet) (query string, args []any) {
	for rest := set; rest != 0; rest &= rest - 1 {
		args = append(args, string(tenant), bits.TrailingZeros64(uint64(rest)))
	}
	rows := strings.TrimSuffix(strings.Repeat("(?, ?), ", len(args)/2), ", ")
	return fmt.Sprintf(s.queries.lockSlots, rows), args
}

// lastSettledSeq gives the Seq up to which all records of a tenant are there:
// whoever is adding some is waited for, and later ones get greater Seqs.
func (s *Store) lastSettledSeq(ctx context.Context, tenant host.TenantID) (seq int64, err error) {
	tx, err := s.reads.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	query, args := s.slotQuery(tenant, allSlots)
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return 0, err
	}
	var last sql.NullInt64
	if err := tx.QueryRowContext(ctx, s.queries.lastRecord, string(tenant)).Scan(&last); err != nil {
		return 0, err
	}
	return last.Int64, tx.Commit() // keeps the slots that had to be made
}

// settledSeq gives the same without keeping anybody from adding records: it waits
// for the holder of one slot after another, and holds none while it waits. Who
// was adding a record with a Seq up to the last one had his slot before that one
// came, so that he is waited for.
func (s *Store) settledSeq(ctx context.Context, tenant host.TenantID) (int64, error) {
	var made int
	if _, err := s.reader.row(ctx, s.queries.countSlots, []any{string(tenant)}, &made); err != nil {
		return 0, err
	}
	if made < slots {
		return s.lastSettledSeq(ctx, tenant) // makes them, in one commit
	}
	var last sql.NullInt64
	if _, err := s.reader.row(ctx, s.queries.lastRecord, []any{string(tenant)}, &last); err != nil {
		return 0, err
	}
	for slot := range slots {
		query, args := s.slotQuery(tenant, 1<<slot)
		if _, err := s.reader.exec(ctx, query, args...); err != nil {
			return 0, err
		}
	}
	return last.Int64, nil
}

// scanText takes the only column of every row.
func scanText(into *[]string) func(rows *sql.Rows) (bool, error) {
	return func(rows *sql.Rows) (bool, error) {
		var text string
		err := rows.Scan(&text)
		*into = append(*into, text)
		return true, err
	}
}
