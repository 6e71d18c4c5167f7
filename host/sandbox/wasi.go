package sandbox

import (
	"context"
	"crypto/rand"
	"io"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"
)

// clockResolution is what a guest is told of its clocks: a microsecond.
const clockResolution = sys.ClockResolution(1000)

// clockOrigin is the first value of the monotonic clock. It is the same in
// every call, and not 0, which Go's runtime refuses.
const clockOrigin = time.Second

// clocks gives the guest's clock: the call's, or the host's where it was
// granted. Neither is before what the module's start saw.
func (c *call) clocks() clock {
	origin := clockOrigin + c.startClock.slept + c.code.Slept
	if c.request.Clock {
		return &hostClock{call: c, began: time.Now(), origin: origin}
	}
	return &fixedClock{call: c, start: c.request.Now, origin: origin}
}

// randoms gives the source of the guest's random bytes: the operating system's
// or ChaCha8 from the call's seed, which gives the same bytes everywhere.
func (c *call) randoms() io.Reader {
	if c.request.Random {
		return rand.Reader
	}
	return mathrand.NewChaCha8(c.request.Seed)
}

// startRandom gives what a module's start draws: the same for every module, so
// that a module that is started once and one that is started for every call
// are the same.
func startRandom() io.Reader {
	return mathrand.NewChaCha8([32]byte([]byte("a module starts with these bytes")))
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
	call   *call
	start  time.Time
	origin time.Duration // of the monotonic clock
	slept  time.Duration
}

func (k *fixedClock) walltime() (int64, int32) {
	t := k.start.Add(k.slept)
	if t.Unix() < 0 {
		return 0, 0 // WASI cannot say a time before 1970
	}
	return t.Unix(), int32(t.Nanosecond())
}

func (k *fixedClock) nanotime() int64 { return int64(k.origin + k.slept) }

func (k *fixedClock) nanosleep(ns int64) {
	const centuries = time.Duration(1) << 62
	if d := time.Duration(ns); d > 0 && d < centuries-k.slept {
		k.slept += d
	}
	k.call.stopIfDone()
}

// A hostClock is the host's time, for a guest that was granted it.
type hostClock struct {
	call   *call
	began  time.Time
	origin time.Duration // of the monotonic clock
}

func (k *hostClock) walltime() (int64, int32) {
	t := time.Now()
	return t.Unix(), int32(t.Nanosecond())
}

func (k *hostClock) nanotime() int64 { return int64(k.origin + time.Since(k.began)) }

func (k *hostClock) nanosleep(ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	k.call.offCore(func() {
		select {
		case <-timer.C:
		case <-k.call.ctx.Done():
		}
	})
	k.call.stopIfDone()
}

// watched makes a context in which WASI is made so that a call is marked when
// it changes what WASI keeps: which of its three streams are open, and how.
func watched(ctx context.Context) context.Context {
	return experimental.WithFunctionListenerFactory(ctx, watch{})
}

var (
	_ experimental.FunctionListenerFactory = watch{}
	_ experimental.FunctionListener        = watch{}
)

// A watch marks the calls of all functions but those which are known to leave
// nothing behind. The flags of a stream are among them: ours have none that
// stay.
type watch struct{}

func (w watch) NewFunctionListener(f api.FunctionDefinition) experimental.FunctionListener {
	switch name := f.Name(); {
	case strings.HasPrefix(name, "args_"), strings.HasPrefix(name, "environ_"), strings.HasPrefix(name, "clock_"), strings.HasPrefix(name, "fd_prestat_"):
		return nil
	case slices.Contains([]string{"fd_read", "fd_write", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_filestat_get", "poll_oneoff", "proc_exit", "random_get", "sched_yield"}, name):
		return nil
	}
	return w
}

func (watch) Before(ctx context.Context, _ api.Module, f api.FunctionDefinition, _ []uint64, _ experimental.StackIterator) {
	callOf(ctx).touched = f.Name()
}

func (watch) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}

func (watch) Abort(context.Context, api.Module, api.FunctionDefinition, error) {}
