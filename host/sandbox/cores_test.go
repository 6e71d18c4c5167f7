package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A crowd is guests that wait for cores, or have one, in a world without time.
type crowd struct {
	t      *testing.T
	cores  *cores
	has    map[host.TenantID]int
	ran    map[host.TenantID]int // how often it got a core
	waits  map[host.TenantID][]*coreWaiter
	random *rand.Rand
}

func newCrowd(t *testing.T, n int, seed uint64) *crowd {
	return &crowd{
		t: t, cores: newCores(n, TenantBudget{}), has: map[host.TenantID]int{}, ran: map[host.TenantID]int{}, waits: map[host.TenantID][]*coreWaiter{},
		random: rand.New(rand.NewPCG(seed, 3)),
	}
}

func (c *crowd) arrive(tenant host.TenantID) {
	c.waits[tenant] = append(c.waits[tenant], c.cores.wait(tenant, c.cores.tenant(tenant)))
	c.cores.serve()
	c.look()
}

// slice ends a slice of every guest that has a core, one after the other.
func (c *crowd) slice(tenants []host.TenantID) {
	for _, tenant := range tenants {
		for range c.has[tenant] {
			if next := c.cores.next(); next < 0 || !c.cores.before(c.cores.waiting[next].tenant, tenant) {
				continue
			}
			c.cores.release(tenant)
			c.cores.serve()
			c.has[tenant]--
			c.arrive(tenant)
		}
	}
}

// look moves those who were served.
func (c *crowd) look() {
	for tenant, waits := range c.waits {
		var still []*coreWaiter
		for _, w := range waits {
			if w.served {
				c.has[tenant]++
				c.ran[tenant]++
			} else {
				still = append(still, w)
			}
		}
		c.waits[tenant] = still
	}
}

// After every guest has had one end of a slice no tenant has more than half of
// the cores while another waits, no core is idle while anybody waits, and one
// that is alone has them all.
func TestATenantHasAtMostHalfOfTheCoresWhileOthersWait(t *testing.T) {
	tenants := []host.TenantID{"a", "b", "c", "d", "e"}
	for seed := range uint64(200) {
		n := 1 + int(seed%8)
		c := newCrowd(t, n, seed)
		for range n + c.random.IntN(4) {
			c.arrive("a")
		}
		if c.has["a"] != n {
			t.Fatalf("alone it has %d of %d cores", c.has["a"], n)
		}
		for range 20 {
			c.arrive(tenants[c.random.IntN(1+int(seed%5))])
			c.slice(tenants)
			c.holds(n, tenants)
		}
	}
}

func (c *crowd) holds(n int, tenants []host.TenantID) {
	c.t.Helper()
	running, waiting := 0, map[host.TenantID]bool{}
	for _, tenant := range tenants {
		running += c.has[tenant]
		waiting[tenant] = len(c.waits[tenant]) > 0
	}
	for _, tenant := range tenants {
		for _, other := range tenants {
			if other != tenant && waiting[other] && c.has[tenant] > (n+1)/2 {
				c.t.Fatalf("%s has %d of %d cores while %s waits", tenant, c.has[tenant], n, other)
			}
		}
	}
	if running > n || running < n && len(c.cores.waiting) > 0 || c.cores.free != n-running {
		c.t.Fatalf("%d of %d cores are used, %d wait, %d are free", running, n, len(c.cores.waiting), c.cores.free)
	}
}

// More tenants than cores take turns: after so many slices as there are tenants
// everybody has run.
func TestTenantsTakeTurns(t *testing.T) {
	c := newCrowd(t, 2, 1)
	tenants := []host.TenantID{"a", "b", "c", "d", "e"}
	for _, tenant := range tenants {
		c.arrive(tenant)
	}
	for range 30 {
		c.slice(tenants)
	}
	for _, tenant := range tenants {
		if c.ran[tenant] < 20 {
			t.Errorf("%s got a core %d times in 30 rounds: %v", tenant, c.ran[tenant], c.ran)
		}
	}
}

func TestWaitingForACoreEndsWithTheContext(t *testing.T) {
	c := newCores(1, TenantBudget{})
	if err := c.enter(context.Background(), "a"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.enter(ctx, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("it gave %v", err)
	}
	c.leave("a")
	if c.free != 1 || len(c.waiting) != 0 || len(c.tenants) != 0 {
		t.Errorf("%d free, %d waiting, tenants %v are left", c.free, len(c.waiting), c.tenants)
	}
}

// Real guests that loop for ever: those of the flooding tenant hand their cores
// over, and a short call of another one ends long before theirs.
func TestAFloodOfLongCallsDoesNotKeepAnotherTenantOut(t *testing.T) {
	s, err := New(Config{Cores: 2, Audit: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	long := mustLoad(t, s, loopModule(), abi.Limits{Fuel: abi.CeilingLimits().Fuel, Deadline: abi.CeilingLimits().Deadline})
	short := mustLoad(t, s, tinyModule(0), abi.Limits{Deadline: abi.CeilingLimits().Deadline})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var ended atomic.Int64
	for range 6 {
		wg.Go(func() {
			if res := long.Call(ctx, Request{Export: "run", Tenant: "flood"}); res.Problem == nil || res.Problem.Code != abi.Cancelled {
				t.Errorf("a long call gave %v", res.Problem)
			}
			ended.Add(1)
		})
	}
	waitFor(t, func() bool { return onCores(s, "flood") == 2 })
	for range 20 {
		if res := short.Call(context.Background(), Request{Export: "run", Tenant: "other"}); res.Problem != nil {
			t.Fatal(res.Problem)
		}
	}
	if n := ended.Load(); n != 0 {
		t.Errorf("%d long calls ended meanwhile", n)
	}
	cancel()
	wg.Wait()
	if len(s.cores.tenants) != 0 || s.cores.free != 2 || len(s.cores.waiting) != 0 {
		t.Errorf("%d cores are free, %v wait", s.cores.free, s.cores.waiting)
	}
}

func onCores(s *Sandbox, tenant host.TenantID) int {
	s.cores.mu.Lock()
	defer s.cores.mu.Unlock()
	if t := s.cores.tenants[tenant]; t != nil {
		return t.running
	}
	return 0
}

// A guest that waits for a host function leaves its core to others.
func TestAGuestThatWaitsForTheHostHasNoCore(t *testing.T) {
	s, err := New(Config{Cores: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := mustLoad(t, s, tinyModule(0), abi.Limits{Deadline: abi.CeilingLimits().Deadline})
	release, result := blockedCall(t, m)
	if res := m.Call(context.Background(), Request{Export: "run"}); res.Problem != nil {
		t.Errorf("beside a call that waits, one gave %v", res.Problem)
	}
	close(release)
	if res := <-result; res.Problem != nil {
		t.Error(res.Problem)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestATenantsBudgetEndsItsGuestsAndNobodyElses(t *testing.T) {
	s, err := New(Config{Budget: TenantBudget{Rate: 1000, Burst: 5_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	now := time.Unix(0, 0)
	s.cores.now = func() time.Time { return now }
	long := mustLoad(t, s, loopModule(), abi.Limits{Fuel: abi.CeilingLimits().Fuel, Deadline: abi.CeilingLimits().Deadline})
	call := func(tenant host.TenantID) Result {
		return long.Call(context.Background(), Request{Export: "run", Tenant: tenant})
	}
	for _, tenant := range []host.TenantID{"one", "two"} {
		res := call(tenant)
		if res.Problem == nil || res.Problem.Code != abi.OverBudget || res.Problem.RetryAfterMS < 1 {
			t.Fatalf("%s: it gave %v", tenant, res.Problem)
		}
		if res.Usage.Fuel < 5_000_000 || res.Usage.Fuel > 5_000_000+2*sliceFuel {
			t.Errorf("%s: it used %d of a budget of 5,000,000", tenant, res.Usage.Fuel)
		}
	}
	if res := call("one"); res.Problem == nil || res.Problem.Code != abi.OverBudget || res.Usage.Fuel > 2*sliceFuel {
		t.Errorf("with nothing left it gave %v after %d", res.Problem, res.Usage.Fuel)
	}
	now = now.Add(3000 * time.Second)
	if res := call("one"); res.Usage.Fuel < 2_000_000 {
		t.Errorf("after its budget had grown again it used %d (%v)", res.Usage.Fuel, res.Problem)
	}
}

// However many tenants come, those that owe nothing are not kept.
func TestTenantsThatOweNothingAreForgotten(t *testing.T) {
	c := newCores(1, TenantBudget{Rate: 1000})
	now := time.Unix(0, 0)
	c.now = func() time.Time { return now }
	for i := range 3 * maxTenants {
		tenant := host.TenantID(fmt.Sprint(i))
		if err := c.enter(context.Background(), tenant); err != nil {
			t.Fatal(err)
		}
		_ = c.charge(tenant, 500)
		c.leave(tenant)
		if now = now.Add(time.Second); len(c.tenants) > maxTenants+1 {
			t.Fatalf("%d tenants are kept", len(c.tenants))
		}
	}
}

// loopModule exports run, which loops for ever.
func loopModule() []byte {
	return []byte("\x00asm\x01\x00\x00\x00" +
		"\x01\x05\x01\x60\x00\x01\x7f" +
		"\x03\x02\x01\x00" +
		"\x07\x07\x01\x03run\x00\x00" +
		"\x0a\x0b\x01\x09\x00\x03\x40\x0c\x00\x0b\x41\x00\x0b")
}
