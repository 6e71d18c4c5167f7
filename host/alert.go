package host

import (
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
	Time    time.Time     `json:"time"`
	Count   int           `json:"count"`            // of such ends within Within; 1 for a red line
	Within  time.Duration `json:"within,omitempty"` // nanoseconds
	Session SessionRef    `json:"session"`          // of the call that raised it
	Call    CallID        `json:"call,omitempty"`
	Tool    string        `json:"tool,omitempty"`
	Message string        `json:"message,omitempty"` // of the call's problem
}

// A Threshold raises an alert when Count ends of a kind come Within a time. A
// Count of zero never does.
type Threshold struct {
	Count  int
	Within time.Duration
}

// maxThreshold bounds a Count: so many times are kept.
const maxThreshold = 10_000

// DefaultThresholds are far above what one user who tries things out does.
func DefaultThresholds() map[AlertKind]Threshold {
	return map[AlertKind]Threshold{
		AlertLoops:    {5, 10 * time.Minute},
		AlertTimeouts: {10, 5 * time.Minute},
		AlertFailures: {10, 5 * time.Minute},
		AlertRefusals: {50, 5 * time.Minute},
	}
}

// Rates watches how often calls end badly, in sliding windows. It is safe for
// concurrent use; a nil *Rates watches nothing.
type Rates struct {
	mu    sync.Mutex
	kinds map[AlertKind]*rate // guarded by mu
}

// A rate keeps the last times of one kind: the window is full when the oldest
// of them is inside it.
type rate struct {
	Threshold
	times []time.Time // a ring of Count
	next  int
	quiet time.Time // no alert before: one for each window
}

// NewRates watches with thresholds.
func NewRates(thresholds map[AlertKind]Threshold) *Rates {
	r := &Rates{kinds: map[AlertKind]*rate{}}
	for kind, t := range thresholds {
		if t.Count = min(t.Count, maxThreshold); t.Count > 0 {
			r.kinds[kind] = &rate{Threshold: t, times: make([]time.Time, t.Count)}
		}
	}
	return r
}

// Observe counts an end of a kind and reports whether it is to be alerted: the
// threshold is reached, and no alert of the kind was raised within its time.
func (r *Rates) Observe(kind AlertKind, now time.Time) (Threshold, bool) {
	if r == nil {
		return Threshold{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[kind]
	if k == nil {
		return Threshold{}, false
	}
	k.times[k.next] = now
	k.next = (k.next + 1) % len(k.times)
	oldest := k.times[k.next]
	if oldest.IsZero() || now.Sub(oldest) > k.Within || now.Before(k.quiet) {
		return k.Threshold, false
	}
	k.quiet = now.Add(k.Within)
	return k.Threshold, true
}
