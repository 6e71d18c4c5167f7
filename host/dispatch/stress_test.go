//go:build stress

package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/state"
)

// Sizes of one run: about a minute on two cores.
const (
	stressSeeds    = 3
	stressSessions = 6
	stressIntents  = 40 // of each session
	stressItems    = 4  // few, so that sessions meet
)

// TestStressEveryWriteIsAccountedFor lets sessions order at once, on two
// replicas with one store file, while callers go away, deliveries come again and
// at the same time, and the store fails in a quarter of its writes, now and
// then. In the end the ledger is checked: what was ever told as done was done
// once and stays done, what was not done left nothing, and every write has one
// outcome on record.
func TestStressEveryWriteIsAccountedFor(t *testing.T) {
	for seed := range uint64(stressSeeds) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { newStress(t, seed).run() })
	}
}

// A stress is one run.
type stress struct {
	*gate
	seed     uint64
	replicas []*Dispatcher

	mu     sync.Mutex
	ledger []*entry // guarded by mu
}

// An entry is one intent and what became of it.
type entry struct {
	call  host.Call
	item  string
	count int
	told  []host.Outcome // of deliveries
}

func newStress(t *testing.T, seed uint64) *stress {
	g := newGate(t)
	s := &stress{gate: g, seed: seed}
	quick := func(ctx context.Context, d time.Duration) error { return sleep(ctx, d/50) }
	for _, store := range []*state.Store{g.store, openStore(t, g.path, state.Options{})} {
		s.replicas = append(s.replicas, New(Config{Config: grant.Config{Store: store}, Sleep: quick}))
	}
	g.damage("CREATE TABLE fault (armed INTEGER); INSERT INTO fault VALUES (0)")
	for _, on := range []string{"INSERT ON audit_record", "INSERT ON kv", "UPDATE ON kv", "UPDATE ON agent_claim", "DELETE ON agent_claim"} {
		g.damage(fmt.Sprintf("CREATE TRIGGER %q BEFORE %s WHEN (SELECT armed FROM fault) AND abs(random()) %% 4 = 0 BEGIN SELECT RAISE(ABORT, 'damaged'); END", "fault "+on, on))
	}
	return s
}

func (s *stress) run() {
	stop := make(chan struct{})
	var sessions, faults sync.WaitGroup
	faults.Go(func() { s.faults(stop) })
	for i := range stressSessions {
		sessions.Go(func() { s.session(i) })
	}
	sessions.Wait()
	close(stop)
	faults.Wait()
	s.damage("UPDATE fault SET armed = 0")
	s.check()
}

// faults arms the triggers now and then.
func (s *stress) faults(stop chan struct{}) {
	random := rand.New(rand.NewPCG(s.seed, 1<<32))
	for armed := 1; ; armed = 1 - armed {
		s.damage(fmt.Sprint("UPDATE fault SET armed = ", armed))
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(50+random.IntN(300)) * time.Millisecond):
		}
	}
}

func (s *stress) session(n int) {
	random := rand.New(rand.NewPCG(s.seed, uint64(n)))
	ref := host.SessionRef{Tenant: session.Tenant, User: "mia", Session: host.SessionID(fmt.Sprint("s", n))}
	for input := 1; input <= stressIntents; input++ {
		e := &entry{item: fmt.Sprint("i", random.IntN(stressItems)), count: 1 + random.IntN(5)}
		e.call = host.Call{
			ID: host.CallIDFor(ref, input, 0), Session: ref, Input: input, Tool: "order_once",
			Args: fmt.Sprintf(`{"item":%q,"count":%d}`, e.item, e.count),
		}
		s.mu.Lock()
		s.ledger = append(s.ledger, e)
		s.mu.Unlock()
		for deliveries := 1 + random.IntN(3); deliveries > 0; deliveries-- {
			s.deliver(random, e)
		}
		if random.IntN(3) == 0 {
			s.deliverOnce(random.IntN(2), host.Call{ID: e.call.ID + "r", Session: ref, Input: input, Tool: "total", Args: fmt.Sprintf(`{"item":%q}`, e.item)}, time.Minute)
		}
	}
}

// deliver delivers a call, now and then to both replicas at once, to callers
// of different patience.
func (s *stress) deliver(random *rand.Rand, e *entry) {
	patience := time.Minute
	if random.IntN(3) == 0 {
		patience = time.Duration(random.IntN(80)) * time.Millisecond
	}
	at := []int{random.IntN(2)}
	if random.IntN(4) == 0 {
		at = []int{0, 1}
	}
	outcomes := make([]host.Outcome, len(at))
	var wait sync.WaitGroup
	for i, replica := range at {
		wait.Go(func() { outcomes[i] = s.deliverOnce(replica, e.call, patience) })
	}
	wait.Wait()
	e.told = append(e.told, outcomes...)
}

func (s *stress) deliverOnce(replica int, c host.Call, patience time.Duration) host.Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if replica == 1 {
		c.ID += "b" // two callers are never one call
	}
	return s.replicas[replica].Do(ctx, s.catalog, c)
}

// check holds the ledger against the store, an hour later: every lease has run
// out.
func (s *stress) check() {
	later := openStore(s.t, s.path, state.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	d := New(Config{Config: grant.Config{Store: later}})
	sums, ends, told := map[string]int{}, map[host.Status]int{}, map[string]int{}
	for _, e := range s.ledger {
		last := e.call
		last.ID += "z"
		o := d.Do(context.Background(), s.catalog, last)
		ends[o.Status]++
		switch {
		case o.OK():
			sums[e.item] += e.count
		case o.Status != host.Unknown:
			s.t.Errorf("%s ends as %s with %v", e.call.Args, o.Status, o.Problem)
		}
		for _, o := range e.told {
			told[endOf(o)]++
		}
		s.checkTold(e, o)
		s.checkRecords(e, o)
	}
	for item, want := range sums {
		if got, err := strconv.Atoi(s.stored("total/" + item)); err != nil || got != want {
			s.t.Errorf("%d of %s are ordered, the ledger has %d (%v)", got, item, want, err)
		}
	}
	s.t.Logf("%d writes end as %v; deliveries were told %v", len(s.ledger), ends, told)
}

// endOf says in a word how a delivery ended.
func endOf(o host.Outcome) string {
	switch {
	case o.Replayed:
		return "replayed"
	case o.Problem != nil:
		return fmt.Sprint(int(o.Problem.Code))
	}
	return fmt.Sprint(o.Status, " after ", o.Attempts)
}

// checkTold: a delivery that was told as done was done, and all of them are
// told the same.
func (s *stress) checkTold(e *entry, last host.Outcome) {
	for _, o := range e.told {
		if o.OK() && (!last.OK() || string(o.Data) != string(last.Data)) {
			s.t.Errorf("%s was told as done with %s, and ends as %s with %s %v", e.call.Args, o.Data, last.Status, last.Data, last.Problem)
		}
	}
}

// checkRecords: one outcome is on record for a write that was done, and none
// for one that was not; an intent stands before it.
func (s *stress) checkRecords(e *entry, last host.Outcome) {
	records, err := s.store.Records(context.Background(), session.Tenant, state.RecordFilter{
		Session: e.call.Session, Kinds: []host.RecordKind{host.RecordIntent, host.RecordOutcome}, Limit: 1000,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	intents, done := 0, 0
	for _, r := range records {
		var o host.Outcome
		switch {
		case r.Key != last.Key:
		case r.Kind == host.RecordIntent && done == 0:
			intents++
		case r.Kind == host.RecordOutcome && json.Unmarshal(r.Detail, &o) == nil && o.OK():
			done++
		}
	}
	if want := map[bool]int{true: 1}[last.OK()]; done != want || intents == 0 {
		s.t.Errorf("%s ends as %s and has %d intents, then %d outcomes on record", e.call.Args, last.Status, intents, done)
	}
}
