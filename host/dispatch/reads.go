package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/state"
)

// Bounds of the records of reads that wait for a batch.
const (
	readDelay    = 50 * time.Millisecond // that records wait, and so what a crash may lose: nobody looks at them sooner
	readBatch    = state.MaxRecords      // records that go at once, and before their time is up: the most of one transaction
	readsWaiting = 4 * readBatch         // records that wait: who comes then waits until there is room
	readBytes    = 64 << 10              // that one read's records are made of: larger ones are few, and all that wait stay below 64 MiB
)

// A readLog holds the records of reads that ended well until a batch of them is
// kept, in the order in which they came. It is safe for concurrent use.
type readLog struct {
	store *state.Store
	log   *slog.Logger
	turn  chan struct{} // full while somebody keeps a batch: one at a time, so that their order stays

	mu      sync.Mutex
	waiting []lateRecord              // with those that are being kept; guarded by mu
	taken   int64                     // records so far; guarded by mu
	kept    int64                     // of them; guarded by mu
	newest  map[host.SessionRef]int64 // taken, when the session's newest was, while that is not kept; guarded by mu
	due     bool                      // a batch will be kept by itself; guarded by mu
	failing bool                      // the store did not keep the last batch; guarded by mu
}

// A lateRecord is a record whose detail may be made when it is kept: nobody
// waits for that.
type lateRecord struct {
	host.Record
	detail func() json.RawMessage // the same each time; nil if the record has its detail
	size   int                    // about what it holds in memory, in bytes, where it has a detail to make
}

// made gives the record with its detail. Where that cannot be made, which is a
// fault of the host, the record says so: others wait behind it.
func (l lateRecord) made() (r host.Record) {
	r = l.Record
	if l.detail == nil {
		return r
	}
	defer func() {
		if cause := recover(); cause != nil {
			r.Detail, _ = json.Marshal(map[string]string{"fault": cut(fmt.Sprint(cause), faultText)})
		}
	}()
	r.Detail = l.detail()
	return r
}

func newReadLog(store *state.Store, log *slog.Logger) *readLog {
	return &readLog{store: store, log: log, turn: make(chan struct{}, 1), newest: map[host.SessionRef]int64{}}
}

// take takes the records of one read of a session, unless they had better be
// kept at once: they are many or large, too many wait, or the store fails.
// Then, and if the store would not take them, the caller keeps them itself.
func (l *readLog) take(session host.SessionRef, records ...lateRecord) bool {
	size := 0
	for _, r := range records {
		size += len(r.Detail) + r.size
		if state.CheckRecords(r.Record) != nil {
			return false
		}
	}
	if size > readBytes {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing || len(l.waiting)+len(records) > readsWaiting {
		return false
	}
	before := len(l.waiting)
	l.waiting = append(l.waiting, records...)
	l.taken += int64(len(records))
	l.newest[session] = l.taken
	switch {
	case before < readBatch && len(l.waiting) >= readBatch:
		time.AfterFunc(0, l.keepDue)
	case !l.due:
		l.due = true
		time.AfterFunc(readDelay, l.keepDue)
	}
	return true
}

// keepDue keeps what waits by now. What the store does not keep stays, and
// whoever comes next tries again.
func (l *readLog) keepDue() {
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	l.mu.Lock()
	l.due = false
	l.mu.Unlock()
	if err := l.flush(ctx); err != nil {
		l.log.Warn("the records of reads are not kept yet", "error", err)
	}
}

// flush keeps the records of sessions that were taken so far, or all of them,
// and with them older ones of others.
func (l *readLog) flush(ctx context.Context, sessions ...host.SessionRef) error {
	for until := l.until(sessions); l.behind(until); {
		select {
		case l.turn <- struct{}{}:
		case <-ctx.Done():
			return host.Fail("dispatch.Flush", nil, context.Cause(ctx))
		}
		err := l.keepBatch(ctx, until)
		<-l.turn
		if err != nil {
			return err
		}
	}
	return nil
}

// until gives how many records must be kept so that all of the sessions are.
func (l *readLog) until(sessions []host.SessionRef) (until int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(sessions) == 0 {
		return l.taken
	}
	for _, session := range sessions {
		until = max(until, l.newest[session])
	}
	return until
}

func (l *readLog) behind(until int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept < until
}

// keepBatch keeps the oldest records, unless somebody else has just done so.
func (l *readLog) keepBatch(ctx context.Context, until int64) error {
	l.mu.Lock()
	batch := l.waiting[:min(len(l.waiting), readBatch)]
	done := l.kept >= until
	l.mu.Unlock()
	if done {
		return nil
	}
	records := make([]host.Record, len(batch))
	for i, r := range batch {
		records[i] = r.made()
	}
	err := l.store.Record(ctx, records...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing = err != nil && host.ProblemOf(err).Code != abi.Cancelled
	if err != nil {
		return err
	}
	l.kept += int64(len(batch))
	for _, r := range batch {
		if l.newest[r.Session] <= l.kept {
			delete(l.newest, r.Session)
		}
	}
	l.waiting = slices.Delete(l.waiting, 0, len(batch)) // in place: there is room for those that come
	return nil
}

// Flush keeps the records of reads that wait, by Config.BatchReads, of the given
// sessions, or of all; it returns when they are in the store. A turn that ends
// flushes its session, and a host that ends flushes all before it closes the
// store. After a failure they go on waiting.
func (d *Dispatcher) Flush(ctx context.Context, sessions ...host.SessionRef) error {
	return d.reads.flush(ctx, sessions...)
}

// flushed keeps the session's reads before something else of it goes on record.
func (f *flight) flushed(ctx context.Context) error { return f.reads.flush(ctx, f.call.Session) }

// willBeKept puts a read that ended well on record with others, and reports
// whether that will be. What it takes to write the records is done then.
func (f *flight) willBeKept() bool {
	if !f.BatchReads || f.recorded() > grant.RecordInline {
		return false
	}
	row := f.row()
	return f.reads.take(f.call.Session,
		lateRecord{f.record(host.RecordIntent, nil), f.intentDetail().json, len(f.args) + f.before.size()},
		lateRecord{f.record(host.RecordOutcome, nil), f.lateDetail(), len(f.input) + len(row.Data) + len(row.Preview) + grant.RecordInline + f.during.size()},
	)
}

// settleRead puts a read on record: with others, or in a transaction of its own.
func (f *flight) settleRead(ctx context.Context, records []host.Record) error {
	if f.BatchReads && f.reads.take(f.call.Session, early(records)...) {
		return nil
	}
	if err := f.reads.flush(ctx); err != nil { // all: there is to be room again
		return err
	}
	return f.Store.Settle(ctx, state.Settlement{Session: f.call.Session, Call: f.call.ID, Fence: f.call.Fence, Records: records})
}

// early gives records that have their details.
func early(records []host.Record) []lateRecord {
	late := make([]lateRecord, len(records))
	for i, r := range records {
		late[i].Record = r
	}
	return late
}
