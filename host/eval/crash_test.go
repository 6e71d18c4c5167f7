//go:build unix

package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/state/statetest"
)

// A disaster is what happens to the replicas and their database while they
// work.
type disaster struct {
	seed     uint64
	replicas int
	kills    int           // after which it is over
	lasts    time.Duration // in their place: nothing happens for so long
	clients  int           // conversations at once
	lease    time.Duration // on a session; the agent's default if 0
}

// shortLease is a lease that often runs out in a disaster: as long as a database
// is away.
const shortLease = 2 * time.Second

// Replicas are killed while they play recorded conversations, two on a server
// that is stopped, too, and one on a file.
func TestKilledReplicasDoWhatWasRecordedOnce(t *testing.T) {
	k := newKit(t)
	t.Run("MariaDB", func(t *testing.T) {
		server := statetest.Start(t)
		newCrash(t, k, disaster{seed: 1, replicas: 2, kills: 8, clients: 4, lease: shortLease}, server.Database(t), server).run()
	})
	t.Run("SQLite", func(t *testing.T) {
		newCrash(t, k, disaster{seed: 1, replicas: 1, kills: 4, clients: 4, lease: shortLease}, filepath.Join(t.TempDir(), "store.db"), nil).run()
	})
}

// A crash is one run of a disaster.
type crash struct {
	disaster
	t   *testing.T
	cfg Config // without a model: for looking at what is stored
	kit
	server   *statetest.Server // nil on a file
	replicas []*replica
	start    time.Time

	over  atomic.Bool // no more disaster
	count struct{ kills, stops, cuts, freezes, deliveries, lost atomic.Int64 }

	mu    sync.Mutex
	next  int                // conversation; guarded by mu
	codes map[abi.Code]int64 // of the ends of deliveries; guarded by mu
	done  []playing          // guarded by mu
	turns []time.Duration    // until each input was answered; guarded by mu
}

// A playing is one playing of a recorded conversation.
type playing struct {
	run      int
	ref      host.SessionRef
	answered int // inputs
}

func newCrash(t *testing.T, k kit, d disaster, dsn string, server *statetest.Server) *crash {
	t.Helper()
	c := &crash{t: t, disaster: d, kit: k, server: server, codes: map[abi.Code]int64{}, start: time.Now()}
	c.setup.Store, c.setup.Ledger, c.setup.Lease = dsn, filepath.Join(t.TempDir(), "ledger"), d.lease
	c.importData()
	for n := range d.replicas {
		c.replicas = append(c.replicas, newReplica(t, c.program, c.setup, n))
	}
	return c
}

// importData has a plain process import the data base.
func (c *crash) importData() {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "import")
	c.setup.save(c.t, file)
	if out, err := exec.Command(c.program, file, c.data).CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
}

func (c *crash) run() {
	var clients, disasters sync.WaitGroup
	for n := range c.clients {
		clients.Go(func() { c.client(n) })
	}
	if c.kills > 0 {
		disasters.Go(c.killReplicas)
	} else {
		disasters.Go(func() {
			time.Sleep(c.lasts)
			c.over.Store(true)
		})
	}
	if c.kills > 0 && c.server != nil {
		disasters.Go(c.stopDatabase)
		for n, r := range c.replicas {
			disasters.Go(func() { c.cutNetwork(n, r) })
		}
	}
	disasters.Wait()
	clients.Wait()
	for _, r := range c.replicas {
		r.kill()
	}
	c.check()
}

func (c *crash) random(who string, n int) *rand.Rand {
	stream := uint64(n)
	for _, b := range []byte(who) {
		stream = stream*131 + uint64(b)
	}
	return rand.New(rand.NewPCG(c.seed, stream))
}

// between waits for a time from least to most, and reports whether the
// disaster goes on.
func (c *crash) between(random *rand.Rand, least, most time.Duration) bool {
	for wait := least + time.Duration(random.Int64N(int64(most-least))); wait > 0 && !c.over.Load(); wait -= 10 * time.Millisecond {
		time.Sleep(min(wait, 10*time.Millisecond))
	}
	return !c.over.Load() && !c.t.Failed()
}

// killReplicas kills one replica after the other, now and then all at once, and
// starts them again. Sometimes one is frozen for longer than its leases instead,
// and comes back as one that thinks it has them.
func (c *crash) killReplicas() {
	defer c.over.Store(true)
	random := c.random("kill", 0)
	for c.count.kills.Load() < int64(c.kills) && c.between(random, 200*time.Millisecond, 2*time.Second) {
		hit := []*replica{c.replicas[random.IntN(len(c.replicas))]}
		switch random.IntN(20) {
		case 0:
			hit[0].freeze()
			c.between(random, 2*time.Second, 4*time.Second)
			hit[0].thaw()
			c.count.freezes.Add(1)
			continue
		case 1, 2, 3:
			hit = c.replicas
		}
		for _, r := range hit {
			r.kill()
			c.count.kills.Add(1)
		}
		for _, r := range hit {
			if err := r.start(); err != nil {
				c.t.Error(err)
			}
		}
	}
}

// stopDatabase kills the database and leaves it away for up to 2 s.
func (c *crash) stopDatabase() {
	random := c.random("stop", 0)
	for c.between(random, 4*time.Second, 12*time.Second) {
		c.server.Kill()
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		c.server.Restart(c.t)
		c.count.stops.Add(1)
	}
}

// cutNetwork cuts a replica's connections, for up to a second.
func (c *crash) cutNetwork(n int, r *replica) {
	random := c.random("cut", n)
	for c.between(random, time.Second, 5*time.Second) {
		if random.IntN(2) == 0 {
			r.cutter.set(oneWay)
			time.Sleep(time.Duration(random.Int64N(int64(50 * time.Millisecond))))
		}
		r.cutter.set(nothing)
		time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
		r.cutter.set(whole)
		c.count.cuts.Add(1)
	}
}

// client has one conversation after the other until the disaster is over.
func (c *crash) client(n int) {
	random := c.random("client", n)
	for !c.over.Load() && !c.t.Failed() {
		c.mu.Lock()
		next := c.next
		c.next++
		c.mu.Unlock()
		t := playing{run: next % len(c.runs)}
		t.ref = host.SessionRef{Tenant: host.TenantID(fmt.Sprintf("%s/%05d", c.setup.Base, next)), User: "replay", Session: host.SessionID(c.name(t.run))}
		c.converse(random, &t)
		c.mu.Lock()
		c.done = append(c.done, t)
		c.mu.Unlock()
	}
}

func (c *crash) name(run int) string {
	return fmt.Sprintf("run-%02d-%d", c.runs[run].TaskID, c.runs[run].Trial)
}

// converse gives the inputs of a conversation, each until it is answered. A
// conversation is not finished when all is over; a disaster's is.
func (c *crash) converse(random *rand.Rand, t *playing) {
	for n, text := range answered(c.runs[t.run].Messages) {
		if c.kills == 0 && c.over.Load() {
			return
		}
		begin := time.Now()
		d := delivery{Run: t.run, Ref: t.ref, ID: host.InputID(fmt.Sprint("input-", n)), Text: text, Fork: n == 0}
		if err := c.insist(random, d); err != nil {
			c.t.Errorf("%s, input %d: %v", t.ref, n, err)
			return
		}
		t.answered++
		c.mu.Lock()
		c.turns = append(c.turns, time.Since(begin))
		c.mu.Unlock()
	}
}

// maxWait is how long a client delivers one input again before the test gives
// up.
const maxWait = 3 * time.Minute

// insist delivers an input until it is answered: to one replica or to both, and
// again if the answer takes long, as impatient users do.
func (c *crash) insist(random *rand.Rand, d delivery) error {
	var last error
	for begin := time.Now(); time.Since(begin) < maxWait; {
		e, err := c.deliver(random, d)
		switch {
		case err != nil:
			last = err
		case e.Code == 0, c.isEnd(d, e):
			return nil
		default:
			last = fmt.Errorf("problem %d: %s", e.Code, e.Message)
		}
		c.tally(e, err)
		time.Sleep(time.Duration(10+random.IntN(100)) * time.Millisecond)
	}
	return fmt.Errorf("no answer in %s; last: %w", maxWait, last)
}

// isEnd reports whether a recording has ended with the result that a turn came
// to.
func (c *crash) isEnd(d delivery, e end) bool {
	messages := c.runs[d.Run].Messages
	return e.Code == abi.ModelRejected && strings.Contains(e.Message, "it has ended after") && messages[len(messages)-1].Role == "tool"
}

func (c *crash) tally(e end, err error) {
	switch {
	case err == errLost:
		c.count.lost.Add(1)
	case err == nil:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.codes[e.Code]++
	}
}

// deliver delivers an input once, to one replica or to both at the same time,
// and gives the first good answer.
func (c *crash) deliver(random *rand.Rand, d delivery) (end, error) {
	at := random.Perm(len(c.replicas))
	if random.IntN(8) != 0 {
		at = at[:1]
	}
	patience := time.Minute
	if random.IntN(8) == 0 {
		patience = time.Duration(random.IntN(300)) * time.Millisecond
	}
	var ends []<-chan end
	for _, n := range at {
		if to, err := c.replicas[n].deliver(d); err == nil {
			ends = append(ends, to)
		}
	}
	if len(ends) == 0 {
		return end{}, errNobody
	}
	c.count.deliveries.Add(int64(len(ends)))
	return first(ends, time.After(patience))
}

// first gives the first good end, or any, or errLost.
func first(ends []<-chan end, patience <-chan time.Time) (some end, err error) {
	err = errLost
	for _, from := range ends {
		select {
		case e, ok := <-from:
			if ok && e.Code == 0 {
				return e, nil
			}
			if ok {
				some, err = e, nil
			}
		case <-patience:
			return some, err
		}
	}
	return some, err
}

// check looks at all that is stored, when everything is over, and tells.
func (c *crash) check() {
	store, err := state.Open(context.Background(), c.setup.Store, state.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	c.cfg = Config{Store: store, Base: c.setup.Base, Namespace: "airline", Compare: airlineForm{}}
	var sum findings
	for _, t := range c.done {
		sum.add(c.look(t))
	}
	ledger := c.readLedger()
	for i, fault := range append(sum.faults, ledger.faults...) {
		if i == 20 {
			c.t.Errorf("and %d more", len(sum.faults)+len(ledger.faults)-i)
			break
		}
		c.t.Error(fault)
	}
	for code, n := range c.codes {
		if code != abi.Busy && code != abi.StoreFailure {
			c.t.Errorf("%d deliveries ended with problem %d, which is not that a turn runs elsewhere or that the database is away", n, code)
		}
	}
	c.tell(sum, ledger)
}

// turn gives how long so many of a hundred inputs took at most.
func (c *crash) turn(of100 int) time.Duration {
	if len(c.turns) == 0 {
		return 0
	}
	slices.Sort(c.turns)
	return c.turns[(len(c.turns)-1)*of100/100].Round(time.Millisecond)
}

func (c *crash) tell(sum findings, ledger ledger) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	n := &c.count
	for _, row := range []struct {
		what  string
		count any
	}{
		{"replicas killed", n.kills.Load()}, {"replicas frozen for longer than a lease", n.freezes.Load()},
		{"database stops", n.stops.Load()}, {"network cuts", n.cuts.Load()},
		{"conversations", len(c.done)}, {"inputs", len(c.turns)}, {"redeliveries", n.deliveries.Load() - int64(len(c.turns))},
		{"deliveries without any answer", n.lost.Load()}, {"turns taken over by another process", ledger.takeovers},
		{"questions to the model", ledger.questions}, {"asked twice, the answer was lost", ledger.twice}, {"asked again for a stored answer", ledger.again},
		{"results compared", sum.results}, {"writes", sum.writes}, {"writes begun again", sum.begun},
		{"p50 and p95 of an input", fmt.Sprint(c.turn(50), ", ", c.turn(95))},
		{"doubles", sum.doubles}, {"missing", sum.missing}, {"seconds", int(time.Since(c.start).Seconds())},
	} {
		fmt.Fprintf(w, "%s\t%v\n", row.what, row.count)
	}
	w.Flush()
	c.t.Logf("seed %d; deliveries that were not answered, by code: %v\n%s", c.seed, c.codes, text.String())
}
