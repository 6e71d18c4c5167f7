package model

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// The retry rule. Four attempts with waits up to 0.5, 1 and 2 s ride out a
// blip and a busy minute's edge; longer waits come from the endpoint's own
// Retry-After only.
const (
	retriesMax    = 3
	backoffBase   = 500 * time.Millisecond
	backoffCap    = 30 * time.Second
	retryAfterMax = 2 * time.Minute // a user waits for the turn: who is told to come back later is told so
)

// An outage is the failure of one attempt.
type outage struct {
	problem *abi.Problem
	retry   bool
	after   time.Duration // the endpoint's own word on when to come back
	cause   error         // may be nil
}

// Error gives the problem and its cause.
func (o *outage) Error() string {
	if o.cause == nil {
		return o.problem.Error()
	}
	return o.problem.Error() + ": " + o.cause.Error()
}

// Unwrap gives the cause, for errors.Is.
func (o *outage) Unwrap() error { return o.cause }

// backoff says how long to wait before the attempt after this one (0 is the
// first), and whether there is one. The wait is exponential with equal jitter;
// the endpoint's Retry-After is its floor. Half of the wait is fixed, so that
// no retry follows at once, and half random, so that many callers part.
func backoff(attempt int, o *outage) (wait time.Duration, again bool) {
	if !o.retry || attempt >= retriesMax || o.after > retryAfterMax {
		return 0, false
	}
	full := min(backoffBase<<attempt, backoffCap)
	wait = full/2 + rand.N(full/2+1)
	if o.after > 0 {
		wait += o.after // callers that were told the same second must part, too
	}
	return wait, true
}

// retryable reports whether the same request may fare better later.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter reads when the endpoint wants to be asked again: milliseconds
// where it says so exactly, else seconds or a date. Nonsense counts as nothing.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return duration(s, time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// duration makes a duration of a number that a stranger sent: not negative,
// and no more than a day.
func duration(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	switch {
	case !(n > 0): // NaN included
		return 0
	case n >= float64(day/unit):
		return day
	}
	return time.Duration(n * float64(unit))
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
