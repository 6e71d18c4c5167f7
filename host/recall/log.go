package recall

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
)

// Bounds of what is kept in memory of a log, however long it is: of calls that were
// done the newest, which are a hundred lives of a thousand; and of calls that have
// no beginning.
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
	end     int64 // the Seq of its end
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
// the order of their ends. It reads from the newest record down to the first one of the
// time, and no further than it keeps: a log may be as long as it likes.
func (r *Recall) calls(ctx context.Context, p passage) ([]done, error) {
	upTo, err := r.Store.SettledSeq(ctx, p.tenant)
	if err != nil || upTo == 0 {
		return nil, err
	}
	var after int64
	if p.session == (host.SessionRef{}) { // a session's own records are few, and found by themselves
		if after, err = r.seqBefore(ctx, p.tenant, p.since.Add(-clockSkew)); err != nil {
			return nil, err
		}
	}
	w := walk{passage: p, ends: map[host.CallID]int64{}, gone: map[host.SessionRef]bool{}}
	streams := p.streams(after, upTo)
	for len(w.list) < maxDone {
		record, err := newest(ctx, r.Store, streams)
		if err != nil {
			return nil, err
		}
		if record == nil {
			break
		}
		w.read(*record)
	}
	slices.SortFunc(w.list, func(a, b done) int { return cmp.Compare(a.end, b.end) })
	return w.list, nil
}

// A walk is what is known of a passage that is read from its end.
type walk struct {
	passage
	ends map[host.CallID]int64    // the Seqs of good ends whose beginnings are still to come
	gone map[host.SessionRef]bool // sessions that were purged later
	list []done
}

// read takes the next record, which is older than all before it, into what is known.
func (w *walk) read(record host.Record) {
	switch {
	case record.Kind == host.RecordEvent:
		if !w.purged && isPurge(record) {
			w.gone[record.Session] = true
		}
	case record.Time.Before(w.since) || w.gone[record.Session] || w.tools != nil && !w.tools[fullName(record.Release, record.Tool)]:
	case record.Kind == host.RecordOutcome:
		if len(w.ends) >= maxOpen { // their beginnings are nowhere, of nearly all of them
			clear(w.ends)
		}
		if endedWell(record) {
			w.ends[record.Call] = record.Seq
		}
	default:
		end, ended := w.ends[record.Call]
		delete(w.ends, record.Call)
		if d, ok := intended(record); ok && ended && (w.live == "" || d.live == w.live) {
			d.end = end
			w.list = append(w.list, d)
		}
	}
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
	return done{call: record.Call, tool: fullName(record.Release, record.Tool), session: record.Session, live: detail.Live, at: record.Time, args: detail.Args}, true
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
