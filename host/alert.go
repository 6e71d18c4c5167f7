package host

import (
	"container/list"
	"sync"
	"time"
)

// An AlertKind says what an alert is about.
type AlertKind string

// Alert kinds. The first is raised by each call; the others when they become
// frequent.
const (
	AlertRedLine  AlertKind = "red line" // a call was blocked
	AlertLoops    AlertKind = "loops"    // calls that the loop breaker cut off
	AlertTimeouts AlertKind = "timeouts"
	AlertFailures AlertKind = "failures" // of the system or of skills
	AlertRefusals AlertKind = "refusals" // by the gate
)

// An Alert tells the operator of something that needs eyes.
type Alert struct {
	Kind    AlertKind     `json:"kind"`
	Tenant  TenantID      `json:"tenant,omitempty"` // whose ends were counted; empty for those of all tenants together
	Time    time.Time     `json:"time"`
	Count   int           `json:"count"`            // of such ends within Within; 1 for a red line
	Within  time.Duration `json:"within,omitempty"` // nanoseconds
	Session SessionRef    `json:"session"`          // of the call that raised it
	Call    CallID        `json:"call,omitempty"`
	Tool    string        `json:"tool,omitempty"`
	Message string        `json:"message,omitempty"` // of the call's problem
}

// A Threshold raises an alert when Count ends of a kind come Within a time, of
// one tenant, or AllTenants times as many of all together. A Count of zero never
// does.
type Threshold struct {
	Count  int
	Within time.Duration
}

// Bounds of what Rates keep.
const (
	maxThreshold = 10_000 // a Count: so many times are kept
	// AllTenants is how many times as much it takes of all tenants together: a
	// fault of the host's own shows in each of them a little.
	AllTenants = 10
	// maxCounted is how many tenants are counted at once, and maxTimes how many
	// times are kept of all of them: 24 MB.
	maxCounted = 10_000
	maxTimes   = 1_000_000
)

// DefaultThresholds are far above what one user who tries things out does.
func DefaultThresholds() map[AlertKind]Threshold {
	return map[AlertKind]Threshold{
		AlertLoops:    {5, 10 * time.Minute},
		AlertTimeouts: {10, 5 * time.Minute},
		AlertFailures: {10, 5 * time.Minute},
		AlertRefusals: {50, 5 * time.Minute},
	}
}

// Rates watches how often calls end badly, in sliding windows: for each tenant,
// so that the failures of one neither hide in another's nor drown them, and for
// all together. It is safe for concurrent use; a nil *Rates watches nothing.
//
// Tenants without a bad end within the longest window are forgotten. Where there
// is no room for another one, or for more of one, such ends count for all together
// alone.
type Rates struct {
	thresholds map[AlertKind]Threshold
	longest    time.Duration
	mu         sync.Mutex
	all        counts                     // guarded by mu
	tenants    map[TenantID]*list.Element // of recent; guarded by mu
	recent     *list.List                 // of *tenantCounts, the last bad end first; guarded by mu
	times      int                        // kept of tenants; guarded by mu
}

// tenantCounts are the counts of one tenant.
type tenantCounts struct {
	tenant TenantID
	counts
	last time.Time
}

type counts map[AlertKind]*rate

// A rate keeps the last times of one kind: the window is full when the oldest
// of them is inside it.
type rate struct {
	Threshold
	times []time.Time // at most Count, then a ring
	next  int
	quiet time.Time // no alert before: one for each window
}

// NewRates watches with thresholds.
func NewRates(thresholds map[AlertKind]Threshold) *Rates {
	r := &Rates{thresholds: map[AlertKind]Threshold{}, all: counts{}, tenants: map[TenantID]*list.Element{}, recent: list.New()}
	for kind, t := range thresholds {
		if t.Count = min(t.Count, maxThreshold); t.Count > 0 {
			r.thresholds[kind] = t
			r.longest = max(r.longest, t.Within)
		}
	}
	return r
}

// A Frequent is what has become frequent: the ends of a tenant's calls, or, with
// no tenant, those of all tenants together.
type Frequent struct {
	Tenant TenantID
	Threshold
}

// Observe counts the end of a tenant's call and gives what is to be alerted: of
// the tenant, and of all together, where the threshold is reached and no alert of
// that kind was raised within its time.
func (r *Rates) Observe(tenant TenantID, kind AlertKind, now time.Time) []Frequent {
	if r == nil || r.thresholds[kind].Count == 0 {
		return nil
	}
	t := r.thresholds[kind]
	r.mu.Lock()
	defer r.mu.Unlock()
	var frequent []Frequent
	r.forget(now)
	if own := r.of(tenant, now); own != nil && (r.times < maxTimes || own.kept(kind) == t.Count) {
		kept := own.kept(kind)
		if own.observe(kind, t, now) {
			frequent = append(frequent, Frequent{tenant, t})
		}
		r.times += own.kept(kind) - kept
	}
	if all := (Threshold{t.Count * AllTenants, t.Within}); r.all.observe(kind, all, now) {
		frequent = append(frequent, Frequent{"", all})
	}
	return frequent
}

// forget drops the tenants of which nothing is within any window.
func (r *Rates) forget(now time.Time) {
	for e := r.recent.Back(); e != nil && now.Sub(e.Value.(*tenantCounts).last) > r.longest; e = r.recent.Back() {
		c := r.recent.Remove(e).(*tenantCounts)
		for kind := range c.counts {
			r.times -= c.kept(kind)
		}
		delete(r.tenants, c.tenant)
	}
}

// of gives the counts of a tenant, which are the most recent then; nil where
// there is no room for another one.
func (r *Rates) of(tenant TenantID, now time.Time) *tenantCounts {
	e := r.tenants[tenant]
	switch {
	case e != nil:
		r.recent.MoveToFront(e)
	case len(r.tenants) >= maxCounted || r.times >= maxTimes:
		return nil
	default:
		e = r.recent.PushFront(&tenantCounts{tenant: tenant, counts: counts{}})
		r.tenants[tenant] = e
	}
	c := e.Value.(*tenantCounts)
	c.last = now
	return c
}

func (c counts) kept(kind AlertKind) int {
	if c[kind] == nil {
		return 0
	}
	return len(c[kind].times)
}

// observe counts an end and reports whether it is to be alerted.
func (c counts) observe(kind AlertKind, t Threshold, now time.Time) bool {
	k := c[kind]
	if k == nil {
		k = &rate{Threshold: t}
		c[kind] = k
	}
	if len(k.times) < k.Count {
		k.times = append(k.times, now)
	} else {
		k.times[k.next] = now
	}
	k.next = (k.next + 1) % k.Count
	if len(k.times) < k.Count || now.Sub(k.times[k.next]) > k.Within || now.Before(k.quiet) {
		return false
	}
	k.quiet = now.Add(k.Within)
	return true
}
