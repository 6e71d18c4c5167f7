//go:build linux && !race

package rewrite_test

import (
	"context"
	"math"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// threadTime gives the processor time of this thread, which other work on the
// machine does not add to. The caller holds the thread.
func threadTime() time.Duration {
	const thread = 1
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A pair is one export of a guest, plain and metered.
type pair struct{ plain, metered api.Function }

// ratio runs both in turn and gives the median of the paired ratios.
func (p pair) ratio(tb testing.TB, rounds int) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	once := func(f api.Function) float64 {
		before := threadTime()
		if _, err := f.Call(context.Background()); err != nil {
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

func workloads() []string { return []string{"json", "sort", "sha256", "regexp", "spin"} }

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
