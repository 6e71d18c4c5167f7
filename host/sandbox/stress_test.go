//go:build stress && linux

package sandbox_test

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

func TestStressFrozenAndFreshGiveTheSameBytes(t *testing.T) { frozenAndFresh(t, 1000) }

// A footprint is what a process holds of the system.
type footprint struct {
	memory                      int64 // bytes that are resident
	mappings, files, goroutines int
}

func holds(t *testing.T) footprint {
	t.Helper()
	debug.FreeOSMemory()
	f := footprint{goroutines: runtime.NumGoroutine()}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			f.memory = kib << 10
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	f.mappings = strings.Count(string(maps), "\n")
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	f.files = len(files)
	return f
}

// TestStressSoak makes calls of every kind for as long as SLUICE_SOAK says, and
// holds what the process has at the end against what it had after a tenth.
func TestStressSoak(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("SLUICE_SOAK"))
	if err != nil {
		duration = time.Minute
	}
	s := newSandboxAs(t, sandbox.Config{CacheDir: sandboxtest.CacheDir(t)})
	wasm := sandboxtest.Build(t, "host/sandbox/testdata/quote")
	soak(t, s, wasm, duration/10)
	before := holds(t)
	calls := soak(t, s, wasm, duration*9/10)
	after := holds(t)
	t.Logf("%d calls; before %+v, after %+v", calls, before, after)
	if after.memory > before.memory+before.memory/4+32<<20 || after.mappings > before.mappings+64 || after.files > before.files+4 || after.goroutines > before.goroutines+4 {
		t.Errorf("it grew from %+v to %+v", before, after)
	}
}

func soak(t *testing.T, s *sandbox.Sandbox, wasm []byte, duration time.Duration) (calls int) {
	t.Helper()
	end := time.Now().Add(duration)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 9))
			made := 0
			for time.Now().Before(end) {
				made += round(t, s, wasm, random)
			}
			mu.Lock()
			calls += made
			mu.Unlock()
		})
	}
	wg.Wait()
	return calls
}

// round loads two modules, calls them in every way, and closes them.
func round(t *testing.T, s *sandbox.Sandbox, wasm []byte, random *rand.Rand) int {
	limits := abi.Limits{Fuel: 1_000_000, Memory: 8 * abi.MiB, Output: abi.MiB, Deadline: abi.CeilingLimits().Deadline}
	spies, err := s.Load(context.Background(), spy(1+random.IntN(3)).bytes(), limits)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer spies.Close(context.Background())
	quotes, err := s.Load(context.Background(), wasm, limits)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer quotes.Close(context.Background())
	const calls = 300
	for range calls / 3 {
		plant(t, spies, endings[random.IntN(len(endings))], random)
		seek(t, spies, "seek")
		fuelOf(t, quotes, "quote", quoteInput)
	}
	return calls
}
