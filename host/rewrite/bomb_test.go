//go:build !race

package rewrite_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host/rewrite"
)

// bombs are modules that cost a rewriter most for their size.
func bombs() map[string][]byte {
	many := func(n int, code ...[]byte) []byte {
		b := newBuilder()
		t := b.typeOf(nil, nil)
		b.functions = bytes.Repeat(uleb(t), n)
		b.codes = bytes.Repeat(vector(join([]byte{0}, join(code...), []byte{0x0b})), n)
		b.nFunctions = uint32(n)
		return b.bytes()
	}
	one := func(code ...[]byte) []byte {
		return forever(func(b *builder) uint32 { return b.function(nil, nil, nil, code...) })
	}
	repeat := func(n int, code ...[]byte) []byte { return bytes.Repeat(join(code...), n) }
	deep := func(kind byte, n int, inside ...[]byte) []byte {
		return join(repeat(n, []byte{kind, 0x40}), join(inside...), repeat(n, []byte{0x0b}))
	}
	table := join(i32c(0), op(0x0e), uleb(65_000), bytes.Repeat([]byte{0}, 65_001))
	return map[string][]byte{
		"100,000 functions":              many(100_000, call(0)),
		"200,000 empty functions":        many(200_000),
		"deep blocks with far branches":  one(deep(2, 49_000, repeat(300_000, i32c(1), brIf(48_000)))),
		"deep loops with far branches":   one(deep(3, 49_000, repeat(300_000, i32c(1), brIf(48_000)))),
		"a million loops":                one(repeat(1_000_000, []byte{3, 0x40, 0x41, 1, 0x0d, 0, 0x0b})),
		"a million unused loops":         one(deep(3, 40_000), repeat(1_000_000, []byte{3, 0x40, 0x0b})),
		"a million ifs":                  one(repeat(1_000_000, i32c(1), ifThen(op(1)))),
		"tables of 65,000 labels":        one(repeat(100, block(table))),
		"many constant fills":            one(repeat(500_000, i32c(0), i32c(0), i32c(4096), memoryFill)),
		"many sized fills":               one(repeat(500_000, i32c(0), i32c(0), i32c(0), op(1), memoryFill)),
		"many locals in every function":  many(50_000, op(1)),
		"straight code of seven million": one(repeat(7_000_000, op(1))),
	}
}

// TestBombsAreRewrittenInProportionToTheirBytes holds time and memory of the
// rewriter against its own on ordinary code of the same size.
func TestBombsAreRewrittenInProportionToTheirBytes(t *testing.T) {
	for name, wasm := range bombs() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			info, err := rewrite.Inspect(wasm)
			var out []byte
			if err == nil {
				out, err = rewrite.Meter(wasm, rewrite.MeterOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d bytes, %d charges: %v, metered %.2f times as large, %.0f bytes allocated for each",
				len(wasm), info.Charges, time.Since(began).Round(time.Millisecond), float64(len(out))/float64(len(wasm)), float64(allocated)/float64(len(wasm)))
			if most := uint64(64*len(wasm) + 16*len(out) + 1<<20); allocated > most {
				t.Errorf("%d bytes were allocated for a module of %d, want %d or less", allocated, len(wasm), most)
			}
		})
	}
}
