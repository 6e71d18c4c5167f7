//go:build linux && !race

package rewrite_test

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"golang.org/x/sys/unix"
)

// threadTime gives the processor time of this thread, which other work on the
// machine does not add to. The caller holds the thread.
func threadTime() time.Duration {
	var t unix.Timespec // getrusage counts in the timer's ticks on some machines
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// A pair is one export of a guest, plain and metered.
type pair struct{ plain, metered api.Function }

// ratio runs both in turn and gives the median of the paired ratios.
func (p pair) ratio(tb testing.TB, rounds int, args ...uint64) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	once := func(f api.Function) float64 {
		before := threadTime()
		if _, err := f.Call(context.Background(), args...); err != nil {
			tb.Fatal(err)
		}
		return float64(threadTime() - before)
	}
	ratios := make([]float64, 0, rounds)
	for i := range rounds + 1 {
		a, b := once(p.plain), once(p.metered)
		if i > 0 { // the first warms up
			ratios = append(ratios, b/a)
		}
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

const benchmarkSlice = 1_000_000

func goPairs(tb testing.TB, meter func([]byte) ([]byte, error)) func(name string) pair {
	wasm := goGuest(tb)
	metered, err := meter(wasm)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	a := start(tb, ctx, wazero.NewRuntimeConfigCompiler(), wasm, benchmarkSlice, 1<<62)
	b := start(tb, ctx, wazero.NewRuntimeConfigCompiler(), metered, benchmarkSlice, 1<<62)
	return func(name string) pair { return pair{a.ExportedFunction(name), b.ExportedFunction(name)} }
}

// BenchmarkGoWorkloads prints how much longer metered Go runs than plain Go.
func BenchmarkGoWorkloads(b *testing.B) {
	pairs := goPairs(b, func(wasm []byte) ([]byte, error) { return rewrite.Meter(wasm, rewrite.MeterOptions{}) })
	ratios := map[string]float64{}
	for _, name := range workloads() {
		b.Run(name, func(b *testing.B) {
			ratio := pairs(name).ratio(b, max(11, b.N))
			ratios[name] = ratio
			b.ReportMetric(ratio, "metered/plain")
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("geomean", func(b *testing.B) {
		mean := 0.0
		for _, ratio := range ratios {
			mean += math.Log(ratio) / float64(len(ratios))
		}
		b.ReportMetric(math.Exp(mean), "metered/plain")
		b.ReportMetric(0, "ns/op")
	})
}

// kernels are tight loops and calls, by themselves, where metering costs most.
// Each takes the number of rounds.
func kernels() map[string]func(b *builder) uint32 {
	return map[string]func(b *builder) uint32{
		"lcg": func(b *builder) uint32 {
			step := join(get(1), i64c(6364136223846793005), i64mul, i64c(1442695040888963407), i64add, set(1))
			return b.function([]byte{i32t}, []byte{i64t}, []byte{1, i64t}, loop(step, countDown(0)), get(1))
		},
		"fib": func(b *builder) uint32 {
			return b.function([]byte{i32t}, []byte{i64t}, nil,
				get(0), i32c(2), i32ltS, op(0x04, i64t), i64c(1), op(0x05),
				get(0), i32c(1), i32sub, call(b.imported+b.nFunctions), get(0), i32c(2), i32sub, call(b.imported+b.nFunctions), i64add,
				op(0x0b))
		},
		"sieve": func(b *builder) uint32 { // of a megabyte; locals 1 and 2 are the number and its multiple
			inner := loop(get(2), i32c(1), store8(0), get(2), get(1), i32add, tee(2), i32c(1<<20), i32ltU, brIf(0))
			outer := loop(get(1), load8(0), i32eqz, ifThen(get(1), get(1), i32add, set(2), inner),
				get(1), i32c(1), i32add, tee(1), i32c(1024), i32ltU, brIf(0))
			return b.function([]byte{i32t}, []byte{i64t}, []byte{2, i32t}, loop(i32c(2), set(1), i32c(0), i32c(0), i32c(1<<20), memoryFill, outer, countDown(0)), i64c(0))
		},
		"byte sum": func(b *builder) uint32 {
			inner := loop(get(2), get(1), load8(0), i32add, set(2), get(1), i32c(1), i32add, tee(1), i32c(1<<20), i32ltU, brIf(0))
			return b.function([]byte{i32t}, []byte{i64t}, []byte{2, i32t}, loop(i32c(0), set(1), inner, countDown(0)), get(2), op(0xad))
		},
		"leaf calls": func(b *builder) uint32 {
			leaf := b.function([]byte{i64t}, []byte{i64t}, nil, get(0), i64c(3), i64add)
			return b.function([]byte{i32t}, []byte{i64t}, []byte{1, i64t}, loop(get(1), call(leaf), set(1), countDown(0)), get(1))
		},
		"a loop that is left in the middle": func(b *builder) uint32 {
			body := join(get(0), i32eqz, brIf(1), get(1), i64c(7), i64add, set(1), get(0), i32c(1), i32sub, set(0), br(0))
			return b.function([]byte{i32t}, []byte{i64t}, []byte{1, i64t}, block(loop(body)), get(1))
		},
	}
}

func countDown(local uint32) []byte {
	return join(get(local), i32c(1), i32sub, tee(local), brIf(0))
}

func kernelRounds(name string) uint64 {
	switch name {
	case "fib":
		return 27
	case "sieve":
		return 4
	case "byte sum":
		return 10
	}
	return 10_000_000
}

// BenchmarkKernels prints the same for kernels, over several alignments of
// their code, which alone makes a third of a difference.
func BenchmarkKernels(b *testing.B) {
	for name, build := range kernels() {
		b.Run(name, func(b *testing.B) {
			sum, worst := 0.0, 0.0
			paddings := []int{0, 1, 2, 3}
			for _, padding := range paddings {
				p := kernelPair(b, build, padding)
				ratio := p.ratio(b, max(7, b.N), kernelRounds(name))
				sum, worst = sum+math.Log(ratio), max(worst, ratio)
			}
			b.ReportMetric(math.Exp(sum/float64(len(paddings))), "metered/plain")
			b.ReportMetric(worst, "worst-alignment")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func kernelPair(b *testing.B, build func(b *builder) uint32, padding int) pair {
	m := newBuilder()
	m.pages(17, 17)
	for range padding { // moves what follows by an odd number of bytes
		m.function(nil, []byte{i32t}, nil, i32c(int32(padding)))
	}
	wasm := m.export("run", 0, build(m)).bytes()
	ctx := context.Background()
	plain := start(b, ctx, wazero.NewRuntimeConfigCompiler(), wasm, 0, 0)
	with := start(b, ctx, wazero.NewRuntimeConfigCompiler(), metered(b, wasm, rewrite.MeterOptions{}), benchmarkSlice, 1<<62)
	return pair{plain.ExportedFunction("run"), with.ExportedFunction("run")}
}

// BenchmarkRewriting is the time of the rewriter itself, on a Go guest.
func BenchmarkRewriting(b *testing.B) {
	wasm := goGuest(b)
	image, _ := imageOf(b, wasm)
	for _, step := range []struct {
		name string
		run  func() ([]byte, error)
	}{
		{"Inspect", func() ([]byte, error) { _, err := rewrite.Inspect(wasm); return wasm, err }},
		{"Meter", func() ([]byte, error) { return rewrite.Meter(wasm, rewrite.MeterOptions{}) }},
		{"Freeze", func() ([]byte, error) { return rewrite.Freeze(wasm, image) }},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.SetBytes(int64(len(wasm)))
			b.ReportAllocs()
			for b.Loop() {
				out, err := step.run()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(out))/float64(len(wasm)), "out/in")
			}
		})
	}
}

// BenchmarkCompiling prints how much longer the engine compiles metered Go.
func BenchmarkCompiling(b *testing.B) {
	wasm := goGuest(b)
	both := [2][]byte{wasm, metered(b, wasm, rewrite.MeterOptions{})}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ratios []float64
	for range 3 {
		var took [2]float64
		for i, w := range both {
			r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigCompiler())
			before := threadTime()
			if _, err := r.CompileModule(context.Background(), w); err != nil {
				b.Fatal(err)
			}
			took[i] = float64(threadTime() - before)
			r.Close(context.Background())
		}
		ratios = append(ratios, took[1]/took[0])
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[1], "metered/plain")
	b.ReportMetric(0, "ns/op")
}
