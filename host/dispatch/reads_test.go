package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// newBatchGate is a gate whose reads' records wait.
func newBatchGate(t testing.TB) *gate {
	t.Helper()
	g := newGate(t)
	g.d.BatchReads = true
	t.Cleanup(func() { _ = g.d.Flush(context.Background()) })
	return g
}

// hold keeps every batch back until it is let go.
func (g *gate) hold() (letGo func()) {
	g.d.reads.turn <- struct{}{}
	return func() { <-g.d.reads.turn }
}

func (g *gate) flush() {
	g.t.Helper()
	if err := g.d.Flush(context.Background()); err != nil {
		g.t.Fatal(err)
	}
}

func TestAReadIsAnsweredBeforeItIsOnRecord(t *testing.T) {
	g := newBatchGate(t)
	letGo := g.hold()
	o := g.do("total", `{"item":"pen"}`)
	if !o.OK() {
		t.Fatal(o.Problem)
	}
	g.wantKinds(o.Call)
	letGo()
	g.flush()
	g.wantKinds(o.Call, host.RecordIntent, host.RecordOutcome)
}

func TestWhatASessionDoesNextStandsBehindItsReads(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(g *gate)
	}{
		{"a write", func(g *gate) { g.do("order_once", `{"item":"pen","count":1}`) }},
		{"a write with facts, which are read", func(g *gate) { g.do("order", `{"item":"pen","count":1}`) }},
		{"a refusal", func(g *gate) { g.do("order", `{"item":"weapon","count":1}`) }},
		{"a read that fails", func(g *gate) { g.do("total", `{"item":"ghost"}`) }},
		{"state from outside", func(g *gate) {
			if err := g.d.SetState(context.Background(), session, map[string]json.RawMessage{"goal": json.RawMessage(`{"text":"x"}`)}); err != nil {
				g.t.Fatal(err)
			}
		}},
		{"a read that is too large to wait", func(g *gate) {
			records := []host.Record{{Session: session, Call: "large", Kind: host.RecordOutcome, Detail: large()}}
			f := newFlight(g.d, g.catalog, host.Call{ID: "large", Session: session})
			if err := f.settleRead(context.Background(), records); err != nil {
				g.t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newBatchGate(t)
			read := g.do("total", `{"item":"pen"}`)
			tt.do(g)
			records := g.records("")
			if len(records) < 3 || records[0].Call != read.Call || records[1].Call != read.Call || records[2].Call == read.Call {
				t.Errorf("on record are %+v", records)
			}
		})
	}
}

func large() json.RawMessage {
	detail, _ := json.Marshal(string(make([]byte, readBytes)))
	return detail
}

func TestADuplicateStandsBehindTheReadsBeforeIt(t *testing.T) {
	g := newBatchGate(t)
	c := call("order_once", `{"item":"pen","count":1}`)
	g.d.Do(context.Background(), g.catalog, c)
	read := g.do("total", `{"item":"pen"}`)
	again := g.d.Do(context.Background(), g.catalog, c)
	records := g.records("")
	if !again.Replayed || len(records) != 5 || records[3].Call != read.Call || records[4].Kind != host.RecordDuplicate {
		t.Errorf("%+v; on record are %+v", again, records)
	}
}

// A store that fails costs what waits no record, and from then on nothing is
// told that is not on record.
func TestWhileTheStoreFailsNoReadIsToldThatIsNotOnRecord(t *testing.T) {
	g := newBatchGate(t)
	letGo := g.hold()
	first := g.do("total", `{"item":"pen"}`)
	g.failRecords(host.RecordOutcome)
	letGo()
	if err := g.d.Flush(context.Background()); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.StoreFailure {
		t.Fatalf("the flush ends with %v", err)
	}
	wantProblem(t, g.do("total", `{"item":"pen"}`), host.Failed, abi.StoreFailure)
	g.mend()
	if o := g.do("total", `{"item":"pen"}`); !o.OK() {
		t.Fatal(o.Problem)
	}
	g.wantKinds(first.Call, host.RecordIntent, host.RecordOutcome)
}

func readRecord(session host.SessionRef, n int) []host.Record {
	return []host.Record{{Session: session, Call: host.CallID(fmt.Sprint("read_", n)), Kind: host.RecordOutcome}}
}

func TestNoMoreRecordsWaitThanThereIsRoomFor(t *testing.T) {
	g := newBatchGate(t)
	letGo := g.hold()
	n := 0
	for g.d.reads.take(session, early(readRecord(session, n))...) {
		n++
	}
	letGo()
	if n != readsWaiting {
		t.Errorf("%d records wait, want %d", n, readsWaiting)
	}
	if o := g.do("total", `{"item":"pen"}`); !o.OK() {
		t.Fatal(o.Problem)
	}
	g.flush()
	records, err := g.store.Records(context.Background(), session.Tenant, state.RecordFilter{Session: session, Kinds: []host.RecordKind{host.RecordOutcome}, AfterSeq: 0})
	if err != nil || len(records) != state.MaxPage {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, r := range records {
		if r.Call != host.CallID(fmt.Sprint("read_", i)) {
			t.Fatalf("record %d is of %s", i, r.Call)
		}
	}
}

// What a record says does not depend on when it is written.
func TestAReadThatWaitedIsOnRecordLikeOneThatDidNot(t *testing.T) {
	g := newBatchGate(t)
	g.d.Now = func() time.Time { return time.Unix(1_772_352_000, 0) }
	g.setGoal(0, `{"text":"sell"}`)
	c := call("total", ` {"item" : "pen"} `)
	for _, waits := range []bool{true, false} {
		g.d.BatchReads = waits
		if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
			t.Fatal(o.Problem)
		}
		g.flush()
	}
	g.wantKinds(c.ID, host.RecordIntent, host.RecordOutcome, host.RecordIntent, host.RecordOutcome)
	records := g.records(c.ID)
	for i := range 2 {
		late, lateDetail := withoutTime(t, records[i])
		early, earlyDetail := withoutTime(t, records[i+2])
		if !reflect.DeepEqual(late, early) || !reflect.DeepEqual(lateDetail, earlyDetail) {
			t.Errorf("late: %+v %v\nearly: %+v %v", late, lateDetail, early, earlyDetail)
		}
	}
	if !bytes.Contains(records[1].Detail, []byte(`"inline":{"input":`)) {
		t.Errorf("the outcome has no host calls: %s", records[1].Detail)
	}
}

// withoutTime gives a record, and its detail, without what no two runs share.
func withoutTime(t *testing.T, r host.Record) (host.Record, map[string]any) {
	t.Helper()
	var detail map[string]any
	if err := json.Unmarshal(r.Detail, &detail); err != nil {
		t.Fatal(err)
	}
	if usage, ok := detail["usage"].(map[string]any); ok {
		delete(usage, "elapsed")
	}
	r.Seq, r.Time, r.Detail = 0, time.Time{}, nil
	return r, detail
}

// What cannot be written down is on record as a fault, and holds up nobody.
func TestADetailThatCannotBeMadeLeavesARecordOfThat(t *testing.T) {
	g := newBatchGate(t)
	bad := host.Record{Session: session, Call: "bad", Kind: host.RecordOutcome}
	if !g.d.reads.take(session, lateRecord{bad, func() json.RawMessage { panic("BUG: it cannot") }, 1}) {
		t.Fatal("it does not wait")
	}
	good := g.do("total", `{"item":"pen"}`)
	g.flush()
	g.wantKinds(good.Call, host.RecordIntent, host.RecordOutcome)
	if r := g.records("bad"); len(r) != 1 || string(r[0].Detail) != `{"fault":"BUG: it cannot"}` {
		t.Errorf("on record is %+v", r)
	}
}

func TestRecordsThatTheStoreWouldRefuseDoNotWait(t *testing.T) {
	g := newBatchGate(t)
	bad := readRecord(session, 1)
	bad[0].Session.Tenant = "no\x00tenant"
	if g.d.reads.take(session, early(bad)...) {
		t.Error("they wait")
	}
}

func TestAFlushEndsWithItsContext(t *testing.T) {
	g := newBatchGate(t)
	letGo := g.hold()
	defer letGo()
	g.do("total", `{"item":"pen"}`)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.d.Flush(ctx, session); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.Cancelled {
		t.Errorf("it ends with %v", err)
	}
	if err := g.d.Flush(ctx, host.SessionRef{Tenant: "acme", User: "mia", Session: "quiet"}); err != nil {
		t.Errorf("a session without reads waits for others: %v", err)
	}
}

// Every session finds its own reads on record when its flush is over, whoever
// kept them.
func TestSessionsThatFlushAtOnceLoseNothing(t *testing.T) {
	g := newBatchGate(t)
	const sessions, rounds = 8, 20
	var wait sync.WaitGroup
	for s := range sessions {
		ref := host.SessionRef{Tenant: session.Tenant, User: "mia", Session: host.SessionID(fmt.Sprint("at once ", s))}
		wait.Go(func() {
			for n := range rounds {
				for i := range 3 {
					if !g.d.reads.take(ref, early(readRecord(ref, 3*n+i))...) {
						t.Error("no room")
					}
				}
				if err := g.d.Flush(context.Background(), ref); err != nil {
					t.Error(err)
				}
				records, err := g.store.Records(context.Background(), session.Tenant, state.RecordFilter{Session: ref})
				if err != nil || len(records) != 3*(n+1) {
					t.Errorf("%s has %d records after round %d, %v", ref, len(records), n, err)
				}
			}
		})
	}
	wait.Wait()
	if l := g.d.reads; len(l.waiting) != 0 || len(l.newest) != 0 || l.taken != l.kept {
		t.Errorf("%d wait, %d sessions, %d taken, %d kept", len(l.waiting), len(l.newest), l.taken, l.kept)
	}
}
