package recall

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// Bounds of what is kept in memory of a log, however long it is: of calls that were
// done the newest, which are a hundred lives of a thousand; and of calls that have
// no end yet.
const (
	maxDone = 100_000
	maxOpen = 10_000
)

// clockSkew is how far the clocks of hosts on one database may be apart: so much
// earlier a log is read from.
const clockSkew = time.Minute

// A done call is what the log tells of one: its arguments, once it ended well.
type done struct {
	call    host.CallID
	tool    string
	session host.SessionRef
	live    host.LiveID // empty for none
	at      time.Time
	args    map[string]json.RawMessage
}

// A passage is the part of a tenant's log that is read.
type passage struct {
	tenant  host.TenantID
	session host.SessionRef // of which alone; zero for all
	live    host.LiveID     // in which alone; empty for all
	since   time.Time
	tools   map[string]bool // of which alone; nil for all
	purged  bool            // with what was done in a session before its purge
}

// calls gives the calls of a passage that were done, the newest maxDone of them, in
// the order of their ends. It reads from the first record of the time on.
func (r *Recall) calls(ctx context.Context, p passage) (list []done, err error) {
	filter := state.RecordFilter{Session: p.session, Kinds: []host.RecordKind{host.RecordIntent, host.RecordOutcome, host.RecordEvent}}
	if p.session == (host.SessionRef{}) { // a session's own records are few, and found by themselves
		if filter.AfterSeq, err = r.seqBefore(ctx, p.tenant, p.since.Add(-clockSkew)); err != nil {
			return nil, err
		}
	}
	open := map[host.CallID]done{}
	for {
		records, err := r.Store.Records(ctx, p.tenant, filter)
		if err != nil || len(records) == 0 {
			return newest(list), err
		}
		for _, record := range records {
			filter.AfterSeq = record.Seq
			list = p.read(record, open, list)
		}
		if len(list) > 2*maxDone {
			list = append([]done(nil), newest(list)...)
		}
		if len(open) > maxOpen { // broken off, nearly all of them
			clear(open)
		}
	}
}

func newest(list []done) []done { return list[max(0, len(list)-maxDone):] }

// read takes one record into what is known.
func (p passage) read(record host.Record, open map[host.CallID]done, list []done) []done {
	switch {
	case record.Kind == host.RecordEvent:
		if !p.purged && isPurge(record) {
			return without(list, open, record.Session)
		}
	case record.Time.Before(p.since) || p.tools != nil && !p.tools[fullName(record.Release, record.Tool)]:
	case record.Kind == host.RecordIntent:
		if d, ok := intended(record); ok && (p.live == "" || d.live == p.live) {
			open[record.Call] = d
		}
	default:
		if d, ok := open[record.Call]; ok && endedWell(record) {
			list = append(list, d)
			delete(open, record.Call)
		}
	}
	return list
}

// without drops what was done in a session.
func without(list []done, open map[host.CallID]done, ref host.SessionRef) []done {
	for call, d := range open {
		if d.session == ref {
			delete(open, call)
		}
	}
	kept := list[:0]
	for _, d := range list {
		if d.session != ref {
			kept = append(kept, d)
		}
	}
	return kept
}

// seqBefore gives a Seq after which all records of a tenant since a time stand. Seqs
// are as old as their records but for the skew of clocks, so it looks where the half
// of what is left begins: some thirty rows are read of any log.
func (r *Recall) seqBefore(ctx context.Context, tenant host.TenantID, since time.Time) (after int64, err error) {
	high, err := r.Store.SettledSeq(ctx, tenant)
	for err == nil && after < high { // up to after all are older; after high none is
		half := after + (high-after)/2
		at, found, failed := r.Store.FirstRecordAfter(ctx, tenant, half)
		err = failed
		if found && at.Before(since) {
			after = half + 1
		} else {
			high = half
		}
	}
	return after, err
}

func intended(record host.Record) (done, bool) {
	var detail struct {
		Args map[string]json.RawMessage `json:"args"`
		Live host.LiveID                `json:"live"`
	}
	if json.Unmarshal(record.Detail, &detail) != nil || detail.Args == nil {
		return done{}, false // erased, or a call without arguments
	}
	return done{record.Call, fullName(record.Release, record.Tool), record.Session, detail.Live, record.Time, detail.Args}, true
}

// fullName gives skill.tool, as a policy names tools, for what a record or an outcome
// names by its release and the tool alone.
func fullName(release, tool string) string {
	skill, _, ok := strings.Cut(release, "@")
	if !ok {
		return tool
	}
	return skill + "." + tool
}

func endedWell(record host.Record) bool {
	var outcome struct {
		Status host.Status `json:"status"`
	}
	return json.Unmarshal(record.Detail, &outcome) == nil && outcome.Status == host.Done
}

func isPurge(record host.Record) bool {
	var detail struct {
		Event string `json:"event"`
	}
	return json.Unmarshal(record.Detail, &detail) == nil && detail.Event == host.EventPurge
}
