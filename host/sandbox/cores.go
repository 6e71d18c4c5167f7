package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// maxTenants is how many tenants are remembered for what they used; beyond it
// those are forgotten that have their whole budget again.
const maxTenants = 10_000

// Cores hand the processor's cores to guests: a guest runs only while it has
// one, gives it back while it waits for a host function, and hands it over at
// the end of a slice where somebody else is next.
//
// Next is a guest of the tenant that has the fewest cores, and of these who
// waited longest. So while others wait a tenant has at most half of the cores,
// rounded up, and alone it may have all of them; where there are more tenants
// than cores they take turns.
type cores struct {
	budget TenantBudget
	now    func() time.Time

	mu      sync.Mutex
	free    int                              // guarded by mu
	waiting []*coreWaiter                    // by the time of arrival; guarded by mu
	tenants map[host.TenantID]*tenantOnCores // those that run, wait, or owe; guarded by mu
}

// A TenantBudget is how much fuel the guests of one tenant may use in the long
// run. The zero value bounds nothing.
type TenantBudget struct {
	// Rate is in units of fuel for each second.
	Rate int64
	// Burst is what a tenant that was idle may use at once; 0 is ten seconds'
	// worth.
	Burst int64
}

// A tenantOnCores is what a tenant has of the cores.
type tenantOnCores struct {
	running int
	waiting int
	left    int64     // of its budget; it may have gone below zero by the last slices
	at      time.Time // when left was right
}

// A coreWaiter is a guest that waits for a core.
type coreWaiter struct {
	tenant host.TenantID
	ready  chan struct{} // closed when it has one
	served bool          // guarded by cores.mu
}

func newCores(n int, budget TenantBudget) *cores {
	if budget.Burst == 0 {
		budget.Burst = 10 * budget.Rate
	}
	return &cores{budget: budget, now: time.Now, free: n, tenants: map[host.TenantID]*tenantOnCores{}}
}

// enter waits for a core. It fails when ctx ends first.
func (c *cores) enter(ctx context.Context, tenant host.TenantID) error {
	c.mu.Lock()
	t := c.tenant(tenant)
	if c.free > 0 && len(c.waiting) == 0 {
		c.free--
		t.running++
		c.mu.Unlock()
		return nil
	}
	w := c.wait(tenant, t)
	c.serve()
	c.mu.Unlock()
	return c.await(ctx, w)
}

// leave gives a core back.
func (c *cores) leave(tenant host.TenantID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(tenant)
	c.serve()
}

// yield hands the core over where somebody else is next, and waits for one
// again. It fails when ctx ends first: then the guest has no core any more.
func (c *cores) yield(ctx context.Context, tenant host.TenantID) error {
	c.mu.Lock()
	next := c.next()
	if next < 0 || !c.before(c.waiting[next].tenant, tenant) {
		c.mu.Unlock()
		return nil
	}
	c.release(tenant)
	c.serve()
	w := c.wait(tenant, c.tenant(tenant))
	c.mu.Unlock()
	return c.await(ctx, w)
}

// before reports whether a waiting guest of one tenant goes before one that
// runs: the tenants' shares come nearer to each other by it, or stay as near.
func (c *cores) before(waiting, runs host.TenantID) bool {
	return waiting == runs || c.tenants[waiting].running < c.tenants[runs].running
}

// next gives who is served next, or -1.
func (c *cores) next() int {
	best := -1
	for i, w := range c.waiting {
		if best < 0 || c.tenants[w.tenant].running < c.tenants[c.waiting[best].tenant].running {
			best = i
		}
	}
	return best
}

func (c *cores) serve() {
	for c.free > 0 && len(c.waiting) > 0 {
		i := c.next()
		w := c.waiting[i]
		c.waiting = slices.Delete(c.waiting, i, i+1)
		t := c.tenants[w.tenant]
		t.waiting--
		t.running++
		c.free--
		w.served = true
		close(w.ready)
	}
}

func (c *cores) wait(tenant host.TenantID, t *tenantOnCores) *coreWaiter {
	w := &coreWaiter{tenant: tenant, ready: make(chan struct{})}
	t.waiting++
	c.waiting = append(c.waiting, w)
	return w
}

func (c *cores) await(ctx context.Context, w *coreWaiter) error {
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.served { // it came after all
		return nil
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(o *coreWaiter) bool { return o == w })
	c.tenants[w.tenant].waiting--
	c.forget(w.tenant)
	return ctx.Err()
}

func (c *cores) release(tenant host.TenantID) {
	c.tenants[tenant].running--
	c.free++
	c.forget(tenant)
}

func (c *cores) tenant(id host.TenantID) *tenantOnCores {
	t := c.tenants[id]
	if t == nil {
		if len(c.tenants) >= maxTenants {
			for other := range c.tenants {
				c.forget(other)
			}
		}
		t = &tenantOnCores{left: c.budget.Burst, at: c.now()}
		c.tenants[id] = t
	}
	return t
}

// forget drops a tenant that has and wants nothing and owes nothing.
func (c *cores) forget(id host.TenantID) {
	t := c.tenants[id]
	if t.running == 0 && t.waiting == 0 && (c.budget.Rate == 0 || c.refill(t) == c.budget.Burst) {
		delete(c.tenants, id)
	}
}

// refill gives what a tenant may use now.
func (c *cores) refill(t *tenantOnCores) int64 {
	now := c.now()
	gained := now.Sub(t.at).Seconds() * float64(c.budget.Rate)
	t.left = int64(min(float64(c.budget.Burst), float64(t.left)+gained))
	t.at = now
	return t.left
}

// charge takes fuel that a guest used from its tenant's budget. Where that is
// used up it says when there will be some again.
func (c *cores) charge(tenant host.TenantID, fuel int64) *abi.Problem {
	if c.budget.Rate == 0 || fuel == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenant(tenant)
	left := c.refill(t) - fuel
	t.left = left
	if left >= 0 {
		return nil
	}
	p := abi.NewProblem(abi.OverBudget, "the guests of tenant %q used their budget of %d units of fuel a second (%d at once)", tenant, c.budget.Rate, c.budget.Burst)
	p.RetryAfterMS = 1 + -left*1000/c.budget.Rate
	return p
}
