package rewrite_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
)

// Instructions of the tests.
var (
	extendU, extendS, wrap32 = op(0xad), op(0xac), op(0xa7)
	add64, nop               = op(0x7c), op(0x01)
)

// runs gives what the export run gives for an argument.
func runs(t *testing.T, wasm []byte, argument uint64) uint64 {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer r.Close(t.Context())
	m, err := r.Instantiate(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	result, err := m.ExportedFunction("run").Call(t.Context(), argument)
	if err != nil {
		t.Fatal(err)
	}
	return result[0]
}

func TestAddressesAreComputedIn32Bits(t *testing.T) {
	for _, constant := range []int64{0, 1, -1, 8, 1 << 16, math.MaxInt32, math.MinInt32, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 5, math.MaxInt64, math.MinInt64} {
		for name, code := range map[string][]byte{
			"a sum":                join(get(0), extendU, i64c(constant), add64, wrap32),
			"a sum, then another":  join(get(0), extendU, i64c(constant), add64, wrap32, extendU, i64c(3), add64, wrap32),
			"a constant":           join(i64c(constant), wrap32),
			"there and back":       join(get(0), extendS, wrap32, nop, extendU, wrap32),
			"not what it is about": join(get(0), extendS, i64c(constant), add64, wrap32),
			"in a block":           join(get(0), extendU, op(0x02, i64t), i64c(constant), op(0x0b), add64, wrap32),
		} {
			b := newBuilder()
			b.export("run", 0, b.function([]byte{i32t}, []byte{i32t}, nil, code))
			wasm := b.bytes()
			simple, err := rewrite.Simplify(wasm)
			if err != nil || len(simple) > len(wasm) {
				t.Fatalf("%s of %d: %d bytes of %d, %v", name, constant, len(simple), len(wasm), err)
			}
			for _, x := range []uint64{0, 1, 7, 1 << 31, 1<<32 - 1, 1<<32 - 8} {
				if got, want := runs(t, simple, x), runs(t, wasm, x); got != want {
					t.Errorf("%s of %d and %d: %d, want %d", name, constant, x, got, want)
				}
			}
		}
	}
}

// calling makes a module whose function calls as Go's compiler calls: the
// stack's top is in a global and in a local. Steps may replace some.
func calling(read, written uint32) []byte {
	b := newBuilder()
	b.pages(1, 1)
	sp, other := b.global(i32t, 1, 0x41, 0xe4, 0), b.global(i32t, 1, 0x41, 7)
	_ = other
	callee := b.function([]byte{i32t}, []byte{i32t}, nil, globalGet(sp), i32c(8), op(0x6a), globalSet(sp), i32c(0))
	b.export("run", 0, b.function([]byte{i32t}, []byte{i32t}, []byte{2, i32t},
		globalGet(sp), set(1), i32c(500), set(2),
		get(1), i32c(8), op(0x6b), tee(1), globalSet(sp), get(read), i64c(99), op(0x37, 3, 0), i32c(0), call(callee), globalGet(sp), set(written), op(0x1a),
		get(1), i32c(1000), op(0x6c), get(2), op(0x6a), i32c(92), i32load(0), op(0x6a)))
	return b.bytes()
}

func TestWhatIsKeptForACallIsKeptOnce(t *testing.T) {
	for _, tt := range []struct {
		read, written uint32
		shorter       bool
	}{{1, 1, true}, {2, 1, false}, {1, 2, false}} {
		wasm := calling(tt.read, tt.written)
		simple, err := rewrite.Simplify(wasm)
		if err != nil || (len(simple) < len(wasm)) != tt.shorter {
			t.Errorf("%+v: %d bytes of %d, %v", tt, len(simple), len(wasm), err)
			continue
		}
		if got, want := runs(t, simple, 0), runs(t, wasm, 0); got != want {
			t.Errorf("%+v: %d, want %d", tt, got, want)
		}
	}
}

func TestSimplifiedModulesDoTheSame(t *testing.T) {
	const limit = 100_000
	for seed := range 60 {
		wasm := generate([]byte(strings.Repeat(fmt.Sprintf("%d simplified %d ", seed*7919, seed), 10+seed)))
		simple, err := rewrite.Simplify(wasm)
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []outcome
		for _, wasm := range [][]byte{wasm, simple} {
			metered, err := rewrite.Meter(wasm, rewrite.MeterOptions{Depth: 400})
			if err != nil {
				t.Fatal(err)
			}
			o, _ := runGenerated(t, wazero.NewRuntimeConfigInterpreter(), metered, limit, limit)
			outcomes = append(outcomes, o)
		}
		if outcomes[0] != outcomes[1] && outcomes[0].trap != "out of fuel" && outcomes[0].trap != "too deep" {
			t.Errorf("%d: %+v, want %+v", seed, outcomes[1], outcomes[0])
		}
	}
}

func TestCodeThatDoesNotEndIsRefused(t *testing.T) {
	wasm := withTable(100, nil).bytes()
	broken := bytes.Replace(wasm, []byte{10, 4, 1, 2, 0, 0x0b}, []byte{10, 4, 1, 2, 0, 0xff}, 1)
	if bytes.Equal(broken, wasm) {
		t.Fatal("the function was not found")
	}
	if _, err := rewrite.Pack(broken); err == nil {
		t.Error("it is packed")
	}
}
