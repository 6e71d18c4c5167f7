package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of one filter.
const (
	maxKinds = 32 // there are fewer than that
	maxTools = 32 // a program that reads more asks for one after another, each by the index
)

// Record keeps audit records, durably, all or none. The store gives Seq and
// Time. A record needs a tenant and a kind; user, session and call may be empty
// where there is none.
func (s *Store) Record(ctx context.Context, records ...host.Record) error {
	const op = "state.Record"
	records, err := checkRecords(host.SessionRef{}, records)
	if err != nil {
		return s.fail(ctx, op, err)
	}
	return s.write(ctx, op, func(ctx context.Context, ex *executor, at time.Time) error {
		return s.keepRecords(ctx, ex, at, records)
	})
}

// CheckRecords gives the BadValue with which Record would refuse them, for
// those who keep them later. It takes the details for the JSON that they are.
func CheckRecords(records ...host.Record) error {
	err := checkRecordCount(records)
	for _, r := range records {
		if err == nil {
			err = checkRecord(r)
		}
	}
	if err != nil {
		return host.Fail("state.CheckRecords", host.ProblemOf(err), err)
	}
	return nil
}

func checkRecordCount(records []host.Record) error {
	if len(records) > MaxRecords {
		return badValue("%d records at once; at most %d are kept", len(records), MaxRecords)
	}
	return nil
}

// checkRecords gives the records with the session of their call where they
// have none. Nobody writes into another tenant's log.
func checkRecords(session host.SessionRef, records []host.Record) ([]host.Record, error) {
	if err := checkRecordCount(records); err != nil {
		return nil, err
	}
	records = slices.Clone(records)
	for i := range records {
		r := &records[i]
		if r.Session == (host.SessionRef{}) {
			r.Session = session
		}
		if session.Tenant != "" && r.Session.Tenant != session.Tenant {
			return nil, badValue("a record of tenant %q with a call of tenant %q", r.Session.Tenant, session.Tenant)
		}
		r.Tool = fit(r.Tool)
		err := checkRecord(*r)
		if err == nil && r.Detail != nil {
			err = checkDocument("record's detail", r.Detail)
		}
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// fit makes text that a model wrote fit its column. A record that says how bad
// the text is must not fail because of it.
func fit(text string) string {
	text = text[:min(len(text), abi.KeyBytes)]
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// checkRecord checks all but that the detail is JSON.
func checkRecord(r host.Record) error {
	for _, id := range []struct {
		name, value string
		most        int
	}{
		{"record's user id", string(r.Session.User), host.MaxIDBytes},
		{"record's session id", string(r.Session.Session), host.MaxIDBytes},
		{"record's call id", string(r.Call), host.MaxIDBytes},
		{"record's key", string(r.Key), host.MaxIDBytes},
		{"record's release", r.Release, abi.KeyBytes},
	} {
		if err := checkText(id.name, id.value, id.most); err != nil {
			return err
		}
	}
	if err := checkID("record's tenant id", string(r.Session.Tenant)); err != nil {
		return err
	}
	if err := checkID("record's kind", string(r.Kind)); err != nil {
		return err
	}
	return checkSize("record's detail", r.Detail)
}

// keepRecords adds records in a unit that has none of their tenants' slots.
func (s *Store) keepRecords(ctx context.Context, ex *executor, at time.Time, records []host.Record) error {
	tenants := map[host.TenantID]slotSet{}
	for _, r := range records {
		tenants[r.Session.Tenant] = slotOf(string(r.Call), string(r.Session.Session))
	}
	for _, tenant := range slices.Sorted(maps.Keys(tenants)) {
		if err := s.lockSlots(ctx, ex, tenant, tenants[tenant]); err != nil {
			return err
		}
	}
	return s.addRecords(ctx, ex, at, records)
}

// addRecords adds records in a unit that has a slot of their tenant.
func (s *Store) addRecords(ctx context.Context, ex *executor, at time.Time, records []host.Record) error {
	for _, r := range records {
		_, err := ex.exec(ctx, s.queries.addRecord, at.UnixMicro(),
			string(r.Session.Tenant), string(r.Session.User), string(r.Session.Session), string(r.Call),
			string(r.Kind), r.Tool, r.Release, string(r.Key), bytesOf(r.Detail))
		if err != nil {
			return err
		}
	}
	return nil
}

// A RecordFilter says which records of a tenant are wanted. Empty fields,
// also those of Session, want all.
type RecordFilter struct {
	Session  host.SessionRef // its tenant may be empty
	Call     host.CallID
	Kinds    []host.RecordKind
	Tools    []string // as records name them, "" for those of none; of one tool and one kind the records are found by an index
	AfterSeq int64
	UpToSeq  int64 // at most what SettledSeq gave: nobody is waited for again; 0 means all
	Newest   bool  // from the greatest Seq down: go on with an UpToSeq below the last one
	Limit    int   // 0 means MaxPage, the most
}

// Records gives records in the order of their Seq, from the first one greater
// than AfterSeq. Seqs have gaps. Whoever goes on after the last Seq that a list
// had misses nothing: records that come later have greater ones. (This holds for
// a tenant's and a session's list; one call's list has all that was kept before
// it was asked for.) A list may end early because of its size: only an empty one
// is the end.
func (s *Store) Records(ctx context.Context, tenant host.TenantID, f RecordFilter) ([]host.Record, error) {
	const op = "state.Records"
	where, args, err := f.where(tenant)
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	var records []host.Record
	size := 0
	if f.UpToSeq > 0 {
		where, args = where+" AND seq <= ?", append(args, f.UpToSeq)
	} else if s.dialect.rowLocks && f.Call == "" {
		last, err := s.lastSettledSeq(ctx, tenant)
		if err != nil {
			return nil, s.fail(ctx, op, err)
		}
		where, args = where+" AND seq <= ?", append(args, last)
	}
	args = append(args, pageLimit(f.Limit))
	query := s.queries.records
	if f.Newest {
		query = s.queries.newestRecords
	}
	err = s.reader.each(ctx, fmt.Sprintf(query, where), args, func(rows *sql.Rows) (bool, error) {
		r, err := scanRecord(rows)
		r.Session.Tenant = tenant
		records = append(records, r)
		size += len(r.Detail)
		return size < maxPageBytes, err
	})
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return records, nil
}

func (f RecordFilter) where(tenant host.TenantID) (where string, args []any, err error) {
	if f.Session.Tenant != "" && f.Session.Tenant != tenant {
		return "", nil, badValue("records of tenant %q with a session of tenant %q", tenant, f.Session.Tenant)
	}
	if len(f.Kinds) > maxKinds {
		return "", nil, badValue("%d kinds of records at once; at most %d can be wanted", len(f.Kinds), maxKinds)
	}
	if len(f.Tools) > maxTools {
		return "", nil, badValue("records of %d tools at once; at most %d can be wanted", len(f.Tools), maxTools)
	}
	args = []any{string(tenant), f.AfterSeq}
	for _, part := range []struct{ column, value string }{
		{"user_id", string(f.Session.User)}, {"session_id", string(f.Session.Session)}, {"call_id", string(f.Call)},
	} {
		if part.value != "" {
			where += " AND " + part.column + " = ?"
			args = append(args, part.value)
		}
	}
	where, args = oneOf("kind", f.Kinds, where, args)
	where, args = oneOf("tool", f.Tools, where, args)
	return where, args, checkID("tenant id", string(tenant))
}

// oneOf adds that a column has one of some values; with none of them any will do.
func oneOf[T ~string](column string, values []T, where string, args []any) (string, []any) {
	switch len(values) {
	case 0:
		return where, args
	case 1:
		where += " AND " + column + " = ?"
	default:
		where += " AND " + column + " IN (" + marks(len(values)) + ")"
	}
	for _, value := range values {
		args = append(args, string(value))
	}
	return where, args
}

func scanRecord(rows *sql.Rows) (r host.Record, err error) {
	var at int64
	var detail []byte
	err = rows.Scan(&r.Seq, &at, (*string)(&r.Session.User), (*string)(&r.Session.Session), (*string)(&r.Call),
		(*string)(&r.Kind), &r.Tool, &r.Release, (*string)(&r.Key), &detail)
	r.Time = timeOf(at)
	if len(detail) > 0 {
		r.Detail = json.RawMessage(detail)
	}
	return r, err
}
