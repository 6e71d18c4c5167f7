//go:build stress && linux

package sandbox_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

const (
	soakDefault = 2 * time.Minute // `make soak` makes it an hour
	soakSample  = 10 * time.Second
	// soakWarm is left out of the comparison: pools and caches fill up.
	soakWarm = 3 * soakSample
)

// Mixed calls for as long as the variable SOAK says: what the process holds in
// the end is what it held at the beginning.
func TestStressSoakHoldsNoMoreInTheEnd(t *testing.T) {
	length, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), soakDefault.String()))
	if err != nil || length < soakWarm+8*soakSample {
		t.Fatalf("SOAK is %q; give a duration of at least %v, such as 10m", os.Getenv("SOAK"), soakWarm+8*soakSample)
	}
	s := newSoak(t)
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var wg sync.WaitGroup
	for worker := range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() { s.work(ctx, rand.New(rand.NewPCG(17, uint64(worker)))) })
	}
	samples := s.watch(ctx)
	wg.Wait()
	t.Logf("calls by problem code, 0 is success: %v", s.endings())
	judgeSoak(t, samples[min(len(samples), int(soakWarm/soakSample)):])
}

// A soak is the modules that are called, and what came of the calls.
type soak struct {
	t     *testing.T
	box   *sandbox.Sandbox
	kinds []soakWork
	calls atomic.Int64
	mu    sync.Mutex
	ends  map[abi.Code]int // guarded by mu
}

// A soakWork is one kind of call.
type soakWork struct {
	module *sandbox.Module
	export string
	input  func(random *rand.Rand) []byte
	cancel time.Duration // 0: the caller stays
}

func newSoak(t *testing.T) *soak {
	box, err := sandbox.New(sandbox.Config{CacheDir: sandboxtest.CacheDir(t), Audit: true, Pool: sandbox.PoolConfig{Slots: 12, PerModule: 3, Idle: 2 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	s := &soak{t: t, box: box, ends: map[abi.Code]int{}}
	t.Cleanup(func() {
		if err := box.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	load := func(wasm []byte, limits abi.Limits) *sandbox.Module {
		m, err := box.Load(t.Context(), wasm, limits)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	text := func(text string) func(*rand.Rand) []byte {
		return func(*rand.Rand) []byte { return []byte(text) }
	}
	probe := sandboxtest.Build(t, "host/sandbox/testdata/probe")
	loops := newModule().export("run", loopForever, i32c(0)).bytes()
	grows := newModule().export("run", loop(i32c(1), memoryGrow, drop, branch(0)), i32c(0)).bytes()
	for _, wasm := range [][]byte{
		sandboxtest.Build(t, "host/sandbox/testdata/guest_go"),
		sandboxtest.BuildC(t, "host/sandbox/testdata/guest_c"),
		sandboxtest.BuildAssemblyScript(t, "host/sandbox/testdata/guest_as"),
	} {
		s.kinds = append(s.kinds, soakWork{load(wasm, patient(abi.Limits{})), "tally", soakFields, 0})
	}
	quote := `{"tool":"quote","args":{"sku":"1001","quantity":12,"price":8.5,"currency":"CNY"}}`
	s.kinds = append(s.kinds,
		soakWork{load(sandboxtest.Build(t, "host/sandbox/testdata/quote"), patient(abi.Limits{})), "quote", text(quote), 0},
		soakWork{load(probe, patient(abi.Limits{})), "count", text(""), 0},
		soakWork{load(probe, patient(abi.Limits{})), "take", text("8"), 0},
		soakWork{load(loops, abi.Limits{Fuel: 5_000_000}), "run", text(""), 0},
		soakWork{load(loops, patient(abi.Limits{Deadline: abi.Duration(5 * time.Millisecond)})), "run", text(""), 0},
		soakWork{load(loops, patient(abi.Limits{})), "run", text(""), 5 * time.Millisecond},
		soakWork{load(grows, abi.Limits{Fuel: 50_000, Memory: 4 * abi.MiB}), "run", text(""), 0},
	)
	return s
}

func soakFields(random *rand.Rand) []byte {
	if random.IntN(20) == 0 {
		return []byte("1 2 !") // a trap
	}
	return fmt.Appendf(nil, "field %d of some %d %s", random.IntN(1000), random.IntN(1000), bytes.Repeat([]byte("x"), random.IntN(60)))
}

// work calls until ctx ends. Now and then it loads a module of its own that
// nobody else has, calls it and closes it.
func (s *soak) work(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		if random.IntN(200) == 0 {
			s.loadAndClose(random)
			continue
		}
		w := s.kinds[random.IntN(len(s.kinds))]
		s.call(ctx, w, random)
	}
}

func (s *soak) call(ctx context.Context, w soakWork, random *rand.Rand) {
	ctx = context.WithoutCancel(ctx)
	if w.cancel > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer time.AfterFunc(w.cancel, stop).Stop()
	}
	s.ended(w.module.Call(ctx, sandbox.Request{Export: w.export, Input: w.input(random)}))
}

func (s *soak) loadAndClose(random *rand.Rand) {
	wasm := newModule().export("run", i32c(int32(random.Uint32N(200))), drop, i32c(0)).bytes()
	m, err := s.box.Load(context.Background(), wasm, abi.Limits{})
	if err != nil {
		s.t.Error(err)
		return
	}
	s.ended(m.Call(context.Background(), sandbox.Request{Export: "run"}))
	if err := m.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
}

func (s *soak) ended(res sandbox.Result) {
	code := abi.Code(0)
	if res.Problem != nil {
		code = res.Problem.Code
	}
	if code == abi.HostBug {
		s.t.Errorf("%v %v", res.Problem, res.Logs)
	}
	s.calls.Add(1)
	s.mu.Lock()
	s.ends[code]++
	s.mu.Unlock()
}

func (s *soak) endings() map[abi.Code]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends
}

// A soakFigure is something that a process holds, and how much more of it than
// at the beginning is no leak.
type soakFigure struct {
	name   string
	now    func() (int, error)
	factor float64 // of the beginning
	more   int     // and so many
}

// figures: the garbage collector and the engine's stacks make the memory come
// and go; the others depend on how many calls run in the moment of a sample.
func figures() []soakFigure {
	return []soakFigure{
		{"RSS KiB", residentKiB, 1.10, 16 << 10},
		{"mappings", func() (int, error) {
			b, err := os.ReadFile("/proc/self/maps")
			return bytes.Count(b, []byte("\n")), err
		}, 1.10, 16},
		{"files", func() (int, error) { e, err := os.ReadDir("/proc/self/fd"); return len(e), err }, 1, 4},
		{"goroutines", func() (int, error) { return runtime.NumGoroutine(), nil }, 1, 8},
	}
}

func residentKiB() (int, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return strconv.Atoi(number)
}

// watch samples until ctx ends and prints a line for each sample.
func (s *soak) watch(ctx context.Context) (samples [][]int) {
	began, tick := time.Now(), time.NewTicker(soakSample)
	defer tick.Stop()
	fmt.Printf("%8s %10s", "seconds", "calls")
	for _, f := range figures() {
		fmt.Printf(" %10s", f.name)
	}
	fmt.Println()
	for {
		select {
		case <-ctx.Done():
			return samples
		case <-tick.C:
		}
		runtime.GC() // so that a sample is not about when the collector ran
		var sample []int
		fmt.Printf("%8.0f %10d", time.Since(began).Seconds(), s.calls.Load())
		for _, f := range figures() {
			n, err := f.now()
			if err != nil {
				s.t.Error(err)
			}
			sample = append(sample, n)
			fmt.Printf(" %10d", n)
		}
		fmt.Println()
		samples = append(samples, sample)
	}
}

// judgeSoak compares the median of the last quarter with that of the first.
func judgeSoak(t *testing.T, samples [][]int) {
	t.Helper()
	quarter := len(samples) / 4
	if quarter == 0 {
		t.Fatal("there are too few samples")
	}
	median := func(samples [][]int, figure int) int {
		var all []int
		for _, s := range samples {
			all = append(all, s[figure])
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	for i, f := range figures() {
		first, last := median(samples[:quarter], i), median(samples[len(samples)-quarter:], i)
		most := int(float64(first)*f.factor) + f.more
		fmt.Printf("%-10s first quarter %d, last quarter %d, at most %d\n", f.name, first, last, most)
		if last > most {
			t.Errorf("%s: the last quarter's median is %d; the first's was %d, and %d is allowed", f.name, last, first, most)
		}
	}
}
