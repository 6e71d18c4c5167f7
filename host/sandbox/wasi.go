package sandbox

import (
	"crypto/rand"
	"io"
	mathrand "math/rand/v2"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"
)

// clockResolution is what a guest is told of its clocks: a microsecond.
const clockResolution = sys.ClockResolution(1000)

// clockOrigin is the first value of the monotonic clock. It is the same in
// every call, and not 0, which Go's runtime refuses.
const clockOrigin = time.Second

// config gives what WASI offers to one instance: no files, no environment, no
// arguments, an empty standard input, and the call's own clock and random.
func (c *call) config() wazero.ModuleConfig {
	clock := clock(&fixedClock{call: c, start: c.request.Now})
	if c.request.Clock {
		clock = &hostClock{call: c, began: time.Now()}
	}
	return wazero.NewModuleConfig().
		WithName("").         // instances of one module stand side by side
		WithStartFunctions(). // see initialise
		WithStdout(&c.stdout).
		WithStderr(&c.stderr).
		WithRandSource(c.random()).
		WithWalltime(clock.walltime, clockResolution).
		WithNanotime(clock.nanotime, clockResolution).
		WithNanosleep(clock.nanosleep)
}

// random gives the source of the guest's random bytes: the operating system's
// or ChaCha8 from the call's seed, which gives the same bytes everywhere.
func (c *call) random() io.Reader {
	if c.request.Random {
		return rand.Reader
	}
	return mathrand.NewChaCha8(c.request.Seed)
}

// A clock is what WASI asks for time.
type clock interface {
	walltime() (seconds int64, nanoseconds int32)
	nanotime() int64
	nanosleep(ns int64)
}

var (
	_ clock = (*fixedClock)(nil)
	_ clock = (*hostClock)(nil)
)

// A fixedClock stands at the call's start. Sleeping moves it on without
// waiting, so that a guest which sleeps neither hangs nor sees the time.
type fixedClock struct {
	call  *call
	start time.Time
	slept time.Duration
}

func (k *fixedClock) walltime() (int64, int32) {
	t := k.start.Add(k.slept)
	if t.Unix() < 0 {
		return 0, 0 // WASI cannot say a time before 1970
	}
	return t.Unix(), int32(t.Nanosecond())
}

func (k *fixedClock) nanotime() int64 { return int64(clockOrigin + k.slept) }

func (k *fixedClock) nanosleep(ns int64) {
	const centuries = time.Duration(1) << 62
	if d := time.Duration(ns); d > 0 && d < centuries-k.slept {
		k.slept += d
	}
	k.call.stopIfDone()
}

// A hostClock is the host's time, for a guest that was granted it.
type hostClock struct {
	call  *call
	began time.Time
}

func (k *hostClock) walltime() (int64, int32) {
	t := time.Now()
	return t.Unix(), int32(t.Nanosecond())
}

func (k *hostClock) nanotime() int64 { return int64(clockOrigin + time.Since(k.began)) }

func (k *hostClock) nanosleep(ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.call.ctx.Done():
	}
	k.call.stopIfDone()
}

// stopIfDone ends a call that woke up after its end.
func (c *call) stopIfDone() {
	if c.ctx.Err() != nil {
		c.stop(c.contextProblem(c.ctx))
	}
}
