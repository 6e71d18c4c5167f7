package state

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// An AuditLog is one of the logs in which a tenant's records are sealed. What
// its checkpoint, opening and closing say is the business of who seals.
type AuditLog struct {
	Tenant     host.TenantID
	No         int64 // from 1
	Size       int64 // entries of its tree
	LastSeq    int64 // of the last record that is sealed, in this log or before it
	Closed     bool  // another log follows
	SealedAt   time.Time
	Key        string // the public one of its checkpoints; it does not change
	Checkpoint []byte
	Opening    []byte // the text of its first entry, if that is no record
	Closing    []byte // the text of its last entry, if that is no record
}

// An AuditLeaf says where a record is sealed.
type AuditLeaf struct {
	Seq    int64
	Log    int64
	Index  int64 // in that log, from 0
	Erased bool
	Secret []byte // the salt; of an erased record the digest of salt and payload
}

// An AuditTile is a run of up to 256 hashes of a log's tree.
type AuditTile struct {
	Log    int64
	Level  int
	No     int64 // within the level
	Hashes []byte
}

// A Sealing is one step of a log: entries added, and what the tree is then.
type Sealing struct {
	Log    AuditLog  // as it is afterwards
	Was    int64     // its size before; 0 makes it
	Next   *AuditLog // the log that follows, if this step closes Log
	Leaves []AuditLeaf
	Tiles  []AuditTile // of both; they take the place of shorter ones
}

// MaxSealed bounds the leaves of one Sealing: a page of records.
const MaxSealed = MaxPage

// Seal keeps a step of a log, all or nothing. It fails with StoreConflict if
// the log does not have the size that the step goes on from, or is closed:
// somebody else was first, and nothing is changed.
func (s *Store) Seal(ctx context.Context, step Sealing) error {
	const op = "state.Seal"
	if err := checkSealing(step); err != nil {
		return s.fail(ctx, op, err)
	}
	return s.transact(ctx, op, func(ctx context.Context, ex *executor) error {
		if err := s.moveLog(ctx, ex, step); err != nil {
			return err
		}
		tenant := string(step.Log.Tenant)
		if err := s.addLeaves(ctx, ex, tenant, step.Leaves); err != nil {
			return err
		}
		for _, t := range step.Tiles {
			if _, err := ex.exec(ctx, s.queries.putTile, tenant, t.Log, t.Level, t.No, bytesOf(t.Hashes)); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkSealing(step Sealing) error {
	if len(step.Leaves) > MaxSealed {
		return badValue("%d records are sealed at once; at most %d can be", len(step.Leaves), MaxSealed)
	}
	if step.Log.Size <= step.Was || step.Log.No < 1 {
		return badValue("log %d goes from %d entries to %d", step.Log.No, step.Was, step.Log.Size)
	}
	if step.Next != nil && (step.Next.Tenant != step.Log.Tenant || step.Next.No != step.Log.No+1 || !step.Log.Closed) {
		return badValue("log %d is not followed by log %d", step.Log.No, step.Next.No)
	}
	return checkID("tenant id", string(step.Log.Tenant))
}

func (s *Store) moveLog(ctx context.Context, ex *executor, step Sealing) error {
	l := step.Log
	var size, closed int64
	found, err := ex.row(ctx, s.queries.logSize, []any{string(l.Tenant), l.No}, &size, &closed)
	if err != nil {
		return err
	}
	if size != step.Was || closed != 0 || found != (step.Was > 0) {
		return abi.NewProblem(abi.StoreConflict, "audit log %d of %s has %d entries, and not %d", l.No, l.Tenant, size, step.Was).
			WithHint("another host has sealed; nothing is to be done")
	}
	if !found {
		err = s.addLog(ctx, ex, l)
	} else {
		_, err = ex.exec(ctx, s.queries.changeLog, l.Size, l.LastSeq, l.Closed, l.SealedAt.UnixMicro(), bytesOf(l.Checkpoint), bytesOf(l.Closing), string(l.Tenant), l.No)
	}
	if err == nil && step.Next != nil {
		err = s.addLog(ctx, ex, *step.Next)
	}
	return err
}

// addLog fails where another transaction was first, and is run again.
func (s *Store) addLog(ctx context.Context, ex *executor, l AuditLog) error {
	_, err := ex.exec(ctx, s.queries.makeLog, string(l.Tenant), l.No, l.Size, l.LastSeq, l.Closed, l.SealedAt.UnixMicro(),
		l.Key, bytesOf(l.Checkpoint), bytesOf(l.Opening), bytesOf(l.Closing))
	return err
}

func (s *Store) addLeaves(ctx context.Context, ex *executor, tenant string, leaves []AuditLeaf) error {
	// Few forms, since each is prepared, and few statements for a page.
	for _, rows := range []int{128, 16, 1} {
		query := fmt.Sprintf(s.queries.addLeaves, strings.TrimSuffix(strings.Repeat("("+marks(6)+"), ", rows), ", "))
		for ; len(leaves) >= rows; leaves = leaves[rows:] {
			args := make([]any, 0, 6*rows)
			for _, l := range leaves[:rows] {
				args = append(args, tenant, l.Seq, l.Log, l.Index, l.Erased, bytesOf(l.Secret))
			}
			if _, err := ex.exec(ctx, query, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// AuditLogs gives a tenant's logs in their order, from the first one after a
// number. A limit of 0 means MaxPage, the most.
func (s *Store) AuditLogs(ctx context.Context, tenant host.TenantID, after int64, limit int) ([]AuditLog, error) {
	return s.auditLogs(ctx, "state.AuditLogs", s.queries.logs, tenant, after, pageLimit(limit))
}

// LastAuditLog gives the log of a tenant with the greatest number, if there is one
// yet: the open one, unless somebody has removed that.
func (s *Store) LastAuditLog(ctx context.Context, tenant host.TenantID) (log AuditLog, found bool, err error) {
	logs, err := s.auditLogs(ctx, "state.LastAuditLog", s.queries.lastLog, tenant, 0, 1)
	if err != nil || len(logs) == 0 {
		return AuditLog{}, false, err
	}
	return logs[0], true, nil
}

func (s *Store) auditLogs(ctx context.Context, op, query string, tenant host.TenantID, after int64, limit int) ([]AuditLog, error) {
	var logs []AuditLog
	err := checkID("tenant id", string(tenant))
	if err == nil {
		err = s.reader.each(ctx, query, []any{string(tenant), after, limit}, func(rows *sql.Rows) (bool, error) {
			l := AuditLog{Tenant: tenant}
			var at int64
			err := rows.Scan(&l.No, &l.Size, &l.LastSeq, &l.Closed, &at, &l.Key, &l.Checkpoint, &l.Opening, &l.Closing)
			l.SealedAt = timeOf(at)
			logs = append(logs, l)
			return true, err
		})
	}
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return logs, nil
}

// AuditKeys gives the public keys with which open logs of any tenant are signed:
// as many as there were rotations to a new key, at most.
func (s *Store) AuditKeys(ctx context.Context) (keys []string, err error) {
	if err := s.reader.each(ctx, s.queries.logKeys, nil, scanText(&keys)); err != nil {
		return nil, s.fail(ctx, "state.AuditKeys", err)
	}
	return keys, nil
}

// Shared reports whether several hosts can work on the store.
func (s *Store) Shared() bool { return s.dialect.rowLocks }

// AuditLeaves gives where a tenant's records are sealed, in the order of their
// Seq, from the first one greater than after. A limit of 0 means MaxPage, the
// most.
func (s *Store) AuditLeaves(ctx context.Context, tenant host.TenantID, after int64, limit int) ([]AuditLeaf, error) {
	var leaves []AuditLeaf
	err := checkID("tenant id", string(tenant))
	if err == nil {
		err = s.reader.each(ctx, s.queries.leaves, []any{string(tenant), after, pageLimit(limit)}, func(rows *sql.Rows) (bool, error) {
			var l AuditLeaf
			err := rows.Scan(&l.Seq, &l.Log, &l.Index, &l.Erased, &l.Secret)
			leaves = append(leaves, l)
			return true, err
		})
	}
	if err != nil {
		return nil, s.fail(ctx, "state.AuditLeaves", err)
	}
	return leaves, nil
}

// AuditTile gives the hashes that a tile has by now; none if it is not there.
func (s *Store) AuditTile(ctx context.Context, tenant host.TenantID, log int64, level int, no int64) (hashes []byte, err error) {
	if _, err = s.reader.row(ctx, s.queries.tile, []any{string(tenant), log, level, no}, &hashes); err != nil {
		return nil, s.fail(ctx, "state.AuditTile", err)
	}
	return hashes, nil
}

// MaxBehind bounds what RecordsBehind counts: a number that is greater tells
// nobody more, and would be counted row by row.
const MaxBehind = 10_000

// FirstRecordAfter gives the time of a tenant's first record after a Seq, if there
// is one: one row is read.
func (s *Store) FirstRecordAfter(ctx context.Context, tenant host.TenantID, after int64) (at time.Time, found bool, err error) {
	var micros int64
	if found, err = s.reader.row(ctx, s.queries.firstAfter, []any{string(tenant), after}, &micros); err != nil {
		return time.Time{}, false, s.fail(ctx, "state.FirstRecordAfter", err)
	}
	return timeOrNone(micros), found, nil
}

// RecordsBehind counts a tenant's records after a Seq, up to MaxBehind, and gives
// the time of the first of them.
func (s *Store) RecordsBehind(ctx context.Context, tenant host.TenantID, after int64) (n int64, oldest time.Time, err error) {
	oldest, found, err := s.FirstRecordAfter(ctx, tenant, after)
	if err != nil || !found {
		return 0, oldest, err
	}
	if _, err = s.reader.row(ctx, s.queries.countAfter, []any{string(tenant), after, MaxBehind}, &n); err != nil {
		return 0, time.Time{}, s.fail(ctx, "state.RecordsBehind", err)
	}
	return n, oldest, nil
}

// SettledSeq gives the Seq up to which all records of a tenant are there: those
// that come later have greater ones. It waits for those who are in the middle of
// keeping some, and ends and purges of sessions wait for it.
func (s *Store) SettledSeq(ctx context.Context, tenant host.TenantID) (seq int64, err error) {
	if err = checkID("tenant id", string(tenant)); err == nil && s.dialect.rowLocks {
		seq, err = s.settledSeq(ctx, tenant)
	} else if err == nil {
		var last sql.NullInt64
		_, err = s.reader.row(ctx, s.queries.lastRecord, []any{string(tenant)}, &last)
		seq = last.Int64
	}
	if err != nil {
		return 0, s.fail(ctx, "state.SettledSeq", err)
	}
	return seq, nil
}

// NextRecordTenant gives the first tenant after another that has records; empty
// after the last.
func (s *Store) NextRecordTenant(ctx context.Context, after host.TenantID) (tenant host.TenantID, err error) {
	if _, err = s.reader.row(ctx, s.queries.nextTenant, []any{string(after)}, (*string)(&tenant)); err != nil {
		return "", s.fail(ctx, "state.NextRecordTenant", err)
	}
	return tenant, nil
}

// RecordTenantsSince gives whose records, of any tenant, came after a Seq, up to
// MaxPage of them, and the last Seq that was looked at. A record that was being
// kept meanwhile may be missed.
func (s *Store) RecordTenantsSince(ctx context.Context, after int64) (tenants map[host.TenantID]bool, last int64, err error) {
	tenants, last = map[host.TenantID]bool{}, after
	err = s.reader.each(ctx, s.queries.tenantsSince, []any{after, MaxPage}, func(rows *sql.Rows) (bool, error) {
		var tenant string
		err := rows.Scan(&tenant, &last)
		tenants[host.TenantID(tenant)] = true
		return true, err
	})
	if err != nil {
		return nil, 0, s.fail(ctx, "state.RecordTenantsSince", err)
	}
	return tenants, last, nil
}

// LastRecordSeq gives the greatest Seq that any tenant's records have; 0 without
// any.
func (s *Store) LastRecordSeq(ctx context.Context) (int64, error) {
	var last sql.NullInt64
	if _, err := s.reader.row(ctx, s.queries.lastOfAll, nil, &last); err != nil {
		return 0, s.fail(ctx, "state.LastRecordSeq", err)
	}
	return last.Int64, nil
}

// An Erasure takes the payload of sealed records away.
type Erasure struct {
	Record host.Record      // what tells of it, of the same tenant
	Note   []byte           // JSON that takes the place of their details
	Rows   map[int64][]byte // Seq -> digest of its salt and payload, up to MaxRecords
}

// EraseRecords removes user, session, call, tool, key and detail of sealed
// records, and their salts, and keeps the record that tells of it, all or none.
// It fails with StoreConflict if one of them is not sealed or is erased already.
func (s *Store) EraseRecords(ctx context.Context, e Erasure) error {
	const op = "state.EraseRecords"
	records, err := checkRecords(host.SessionRef{}, []host.Record{e.Record})
	if err == nil && len(e.Rows) > MaxRecords {
		err = badValue("%d records are erased at once; at most %d can be", len(e.Rows), MaxRecords)
	}
	if err == nil {
		err = checkDocument("note", e.Note)
	}
	if err != nil {
		return s.fail(ctx, op, err)
	}
	return s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		if err := s.keepRecords(ctx, ex, at, records); err != nil {
			return err
		}
		tenant := string(e.Record.Session.Tenant)
		for _, seq := range slices.Sorted(maps.Keys(e.Rows)) {
			if err := s.eraseRecord(ctx, ex, tenant, seq, e.Rows[seq], e.Note); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) eraseRecord(ctx context.Context, ex *executor, tenant string, seq int64, digest, note []byte) error {
	n, err := ex.exec(ctx, s.queries.eraseLeaf, digest, tenant, seq)
	if err != nil {
		return err
	}
	if n != 1 {
		return abi.NewProblem(abi.StoreConflict, "record %d of %s is not sealed, or is erased already", seq, tenant).WithHint("erase again: what is erased is left out")
	}
	_, err = ex.exec(ctx, s.queries.eraseRecord, note, tenant, seq)
	return err
}
