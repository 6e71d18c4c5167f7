package sandbox

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// maxWaiting bounds the calls that wait for a slot. More of them would only
// wait for their deadlines.
const maxWaiting = 4096

// A pool bounds the slots of all modules together, by number and by bytes: a
// slot that runs counts with all the memory that its call may take, an idle
// one with what it has. Who finds no room waits. A tenant's calls have at most
// half of the room, so that one whose calls are long does not keep the others
// out. Those of the tenant that runs least go first, then those of the module
// that does, and among them who came first; a large one that is next is not
// passed by smaller ones, so that it gets its turn.
type pool struct {
	cfg PoolConfig

	mu      sync.Mutex
	slots   int                             // that exist, or are being made; guarded by mu
	bytes   abi.Size                        // guarded by mu
	idle    []*parked                       // by the time of parking; guarded by mu
	waiting []*waiter                       // by the time of arrival; guarded by mu
	sweeper *time.Timer                     // runs while slots are idle; guarded by mu
	tenants map[host.TenantID]*tenantInPool // those that run; guarded by mu
}

// A tenantInPool is what the running calls of a tenant have.
type tenantInPool struct {
	running int
	bytes   abi.Size
	of      map[*code]int // running, by module
}

func newPool(cfg PoolConfig) *pool {
	return &pool{cfg: cfg, tenants: map[host.TenantID]*tenantInPool{}}
}

// A parked is a slot that waits for a call.
type parked struct {
	slot  *slot
	since time.Time
}

// A waiter is a call that wants a slot.
type waiter struct {
	code   *code
	tenant host.TenantID
	bytes  abi.Size
	ready  chan struct{} // closed when it is served; nil if it never had to wait
	done   bool          // it is served; guarded by pool.mu
	slot   *slot         // nil: it has room for a new one
}

// take gives a slot for a call, or nil and room to make one. The caller must
// give it back. It waits until ctx ends.
func (p *pool) take(ctx context.Context, w *waiter) error {
	p.mu.Lock()
	if len(p.waiting) >= maxWaiting {
		p.mu.Unlock()
		return abi.NewProblem(abi.SystemFailure, "%d calls wait for an instance already; call again later", maxWaiting)
	}
	p.waiting = append(p.waiting, w)
	evicted := p.serve()
	if !w.done {
		w.ready = make(chan struct{})
	}
	p.mu.Unlock()
	closeAll(evicted)
	if w.ready == nil {
		return nil
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		return p.giveUp(ctx, w)
	}
}

func (p *pool) giveUp(ctx context.Context, w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.done {
		return nil // it came after all
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(o *waiter) bool { return o == w })
	return ctx.Err()
}

// give takes a slot back, or only its room where keep is nil.
func (p *pool) give(w *waiter, keep *slot) {
	p.mu.Lock()
	p.ended(w)
	if keep != nil {
		p.bytes += keep.size()
		p.idle = append(p.idle, &parked{keep, time.Now()})
		if p.sweeper == nil {
			p.sweeper = time.AfterFunc(p.cfg.Idle, p.sweep)
		}
	} else {
		p.slots--
	}
	evicted := p.serve()
	p.mu.Unlock()
	closeAll(evicted)
}

// serve gives room to all who wait and can have it. The caller closes what had
// to make way.
func (p *pool) serve() (evicted []*slot) {
	for {
		i := p.next()
		if i < 0 || !p.fits(p.waiting[i]) {
			return evicted
		}
		w := p.waiting[i]
		p.waiting = slices.Delete(p.waiting, i, i+1)
		evicted = append(evicted, p.admit(w)...)
	}
}

// next gives who is served next, or -1.
func (p *pool) next() int {
	best := -1
	for i, w := range p.waiting {
		if w.code.running < p.cfg.PerModule && p.within(w) && (best < 0 || p.before(w, p.waiting[best])) {
			best = i
		}
	}
	return best
}

func (p *pool) before(a, b *waiter) bool {
	return cmp.Or(cmp.Compare(p.running(a.tenant), p.running(b.tenant)), cmp.Compare(a.code.running, b.code.running)) < 0
}

func (p *pool) running(tenant host.TenantID) int {
	if t := p.tenants[tenant]; t != nil {
		return t.running
	}
	return 0
}

// within reports whether a call stays within its tenant's half, of everything
// and of its module. One call may always run.
func (p *pool) within(w *waiter) bool {
	t := p.tenants[w.tenant]
	return t == nil || 2*(t.running+1) <= p.cfg.Slots && 2*(t.bytes+w.bytes) <= p.cfg.Bytes && 2*(t.of[w.code]+1) <= p.cfg.PerModule
}

func (p *pool) began(w *waiter) {
	t := p.tenants[w.tenant]
	if t == nil {
		t = &tenantInPool{of: map[*code]int{}}
		p.tenants[w.tenant] = t
	}
	t.running++
	t.bytes += w.bytes
	t.of[w.code]++
	w.code.running++
	p.bytes += w.bytes
}

func (p *pool) ended(w *waiter) {
	t := p.tenants[w.tenant]
	t.running--
	t.bytes -= w.bytes
	if t.of[w.code]--; t.of[w.code] == 0 {
		delete(t.of, w.code)
	}
	if t.running == 0 {
		delete(p.tenants, w.tenant)
	}
	w.code.running--
	p.bytes -= w.bytes
}

// fits reports whether there is room for a call if idle slots make way.
func (p *pool) fits(w *waiter) bool {
	var idle abi.Size
	for _, k := range p.idle {
		idle += k.slot.size()
	}
	return p.slots-len(p.idle) < p.cfg.Slots && p.bytes-idle+w.bytes <= p.cfg.Bytes
}

// admit gives a waiter an idle slot of its module, the one that was used last,
// or the room for a new one.
func (p *pool) admit(w *waiter) (evicted []*slot) {
	p.began(w)
	for i := len(p.idle) - 1; i >= 0 && w.slot == nil; i-- {
		if p.idle[i].slot.code == w.code {
			w.slot = p.unpark(i)
		}
	}
	if w.slot == nil {
		p.slots++
	}
	for len(p.idle) > 0 && (p.slots > p.cfg.Slots || p.bytes > p.cfg.Bytes) {
		evicted = append(evicted, p.unpark(0))
		p.slots--
	}
	w.done = true
	if w.ready != nil {
		close(w.ready)
	}
	return evicted
}

func (p *pool) unpark(i int) *slot {
	s := p.idle[i].slot
	p.idle = slices.Delete(p.idle, i, i+1)
	p.bytes -= s.size()
	return s
}

// sweep closes the slots that were idle for long.
func (p *pool) sweep() {
	now := time.Now()
	closeAll(p.evict(func(k *parked) bool { return now.Sub(k.since) >= p.cfg.Idle }))
}

// drop closes the idle slots of a code that is about to be closed.
func (p *pool) drop(c *code) {
	closeAll(p.evict(func(k *parked) bool { return k.slot.code == c }))
}

func (p *pool) evict(which func(*parked) bool) (evicted []*slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 0; i < len(p.idle); {
		if which(p.idle[i]) {
			evicted = append(evicted, p.unpark(i))
			p.slots--
		} else {
			i++
		}
	}
	if p.sweeper != nil {
		p.sweeper.Stop()
		p.sweeper = nil
	}
	if len(p.idle) > 0 {
		p.sweeper = time.AfterFunc(p.cfg.Idle, p.sweep)
	}
	return evicted
}

func closeAll(slots []*slot) {
	for _, s := range slots {
		s.close()
	}
}

// size is what an idle slot counts: its whole memory, though that shares with
// the image what was never written, and that of its kernel.
func (s *slot) size() abi.Size {
	return abi.Size(s.memory.size) + abi.Size(len(s.kernel.bytes)) + slotOverhead
}

// slotOverhead is what the engine keeps for an instance: globals, tables and
// a stack.
const slotOverhead = 256 * abi.KiB
