package recall

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

func TestALogIsReadFromTheTimeThatIsAskedFor(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for n := range 20 {
		r.does(n, "shop.open", `{"minutes":3}`, host.Done)
		must(t, r.store.Record(ctx, host.Record{Session: host.SessionRef{Tenant: "other", User: "u", Session: "s"}, Kind: host.RecordEvent, Detail: json.RawMessage(`{}`)}))
	}
	half := time.Now()
	time.Sleep(2 * time.Millisecond) // a record's time has a microsecond's grain
	for n := range 5 {
		r.does(100+n, "shop.open", `{"minutes":4}`, host.Done)
	}
	after, err := r.seqBefore(ctx, "shop", half)
	must(t, err)
	at, found, err := r.store.FirstRecordAfter(ctx, "shop", after)
	if err != nil || !found || at.Before(half) || after == 0 {
		t.Errorf("the first one is of %v, %v, %v; asked for %v", at, found, err, half)
	}
	calls, err := r.calls(ctx, passage{tenant: "shop", since: half, tools: map[string]bool{"shop.open": true}})
	if err != nil || len(calls) != 5 {
		t.Errorf("%d calls, %v", len(calls), err)
	}
	if after, err := r.seqBefore(ctx, "nobody", half); err != nil || after != 0 {
		t.Errorf("of a tenant without a log: %d, %v", after, err)
	}
}

// A habit of the lives of weeks is not what one session shows.
func TestAHabitOfOneSessionStandsBesideThatOfSeveral(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for n := range 5 {
		r.does(n, "shop.open", fmt.Sprintf(`{"minutes":%d}`, 10+n), host.Done)
	}
	r.sets(time.Now().Add(time.Minute))
	must(t, r.Observe(ctx, "shop"))
	for n := 9; n < 11; n++ {
		r.does(n, "shop.open", `{"minutes":2}`, host.Done)
		r.pass(time.Minute)
		must(t, r.sessionEnded(ctx, session(n)))
	}
	habits := r.habits()
	if len(habits) != 2 || habits[0].Lives != 5 || habits[1].Lives != 1 || habits[1].Source.Session != session(10).Session {
		t.Errorf("habits %+v", habits)
	}
}

// However many other memories there are, one habit of a matter counts.
func TestAHabitIsRenewedBesideManyTrajectories(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for n := range 260 {
		must(t, r.keep(ctx, mia, []memory.Node{trajectory(session(n), []done{{call: "x", tool: fmt.Sprint("shop.t", n), session: session(n), at: r.now()}})}))
	}
	for n := range 4 {
		r.does(1000+n, "shop.open", fmt.Sprintf(`{"minutes":%d}`, 13+n), host.Done)
		r.sets(time.Now().Add(time.Minute))
		must(t, r.Observe(ctx, "shop"))
	}
	if habits := r.habits(); len(habits) != 1 || habits[0].Lives != 4 {
		t.Errorf("habits %+v", habits)
	}
}

// All facts of a result are kept within the time that a hook has, whatever else is
// remembered of the user.
func TestTheFactsOfAResultAreKeptBesideManyMemories(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for batch := range 8 {
		nodes := make([]memory.Node, keeper.MaxRemember)
		for i := range nodes {
			nodes[i] = memory.Node{Text: fmt.Sprintf("note %d.%d about %d", batch, i, i*7), Layer: memory.Fact, Kind: memory.FactOf, Trust: .5, Entity: fmt.Sprint("x", batch, "-", i)}
		}
		_, err := r.Keeper.Remember(ctx, mia, nodes)
		must(t, err)
	}
	var items []byte
	for i := range 40 {
		items = fmt.Appendf(items, `,{"sku":"A%d","price":%d,"stock":%d}`, i, i, i)
	}
	items[0] = '['
	q := host.Reasoning{Session: session(1), Input: 1, SaidAt: r.now(), Outcomes: []host.Outcome{{Call: "k", Tool: "shop.look", Status: host.Done, Data: append(items, ']')}}}
	r.begin(q)
	r.keepFacts(ctx, q)
	if facts := len(r.have(keeper.Page{Layers: []memory.Layer{memory.Fact}})) - 8*keeper.MaxRemember; facts != 80 || !r.isKept(q, "k") {
		t.Errorf("%d facts of 80", facts)
	}
}

// What the audit log keeps is not learnt again by who had it forgotten.
func TestTheLogDoesNotTellWhatWasForgotten(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	for n := range 4 {
		r.does(n, "shop.open", `{"minutes":3}`, host.Done)
	}
	r.sets(time.Now().Add(time.Minute))
	must(t, r.Observe(ctx, "shop"))
	if len(r.habits()) != 1 {
		t.Fatalf("habits %+v", r.habits())
	}
	_, err := r.Keeper.Forget(ctx, mia, keeper.Wish{All: true})
	must(t, err)
	must(t, r.Observe(ctx, "shop"))
	must(t, r.sessionEnded(ctx, session(1)))
	if left := r.have(keeper.Page{}); len(left) != 0 {
		t.Errorf("there is again %+v", left)
	}
}
