package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

func metered(t testing.TB, wasm []byte, o rewrite.MeterOptions) []byte {
	t.Helper()
	out, err := rewrite.Meter(wasm, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eachEngine runs a metered module in both engines.
func eachEngine(t *testing.T, wasm []byte, slice, limit int64, f func(t *testing.T, i instance)) {
	t.Helper()
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			f(t, start(t, t.Context(), e.config().WithMemoryLimitPages(64), wasm, slice, limit))
		})
	}
}

// forever makes a module whose export "run" does not end by itself.
func forever(build func(b *builder) uint32) []byte {
	b := newBuilder()
	b.pages(1, 16)
	return b.export("run", 0, build(b)).export("memory", 2, 0).bytes()
}

func TestBombsOfEveryShapeRunOutOfFuel(t *testing.T) {
	for name, build := range map[string]func(b *builder) uint32{
		"an empty loop":       func(b *builder) uint32 { return b.function(nil, nil, nil, loop(br(0))) },
		"a conditional loop":  func(b *builder) uint32 { return b.function(nil, nil, nil, loop(i32c(1), brIf(0))) },
		"a loop by its table": func(b *builder) uint32 { return b.function(nil, nil, nil, loop(i32c(0), op(0x0e, 1, 0, 0))) },
		"a loop with a result": func(b *builder) uint32 {
			return b.function(nil, []byte{i32t}, nil, op(0x03, i32t), br(0), op(0x0b))
		},
		"a loop with a parameter": func(b *builder) uint32 {
			t := b.typeOf([]byte{i32t}, []byte{i32t})
			return b.function(nil, []byte{i32t}, nil, i32c(1), join(op(0x03), uleb(t)), br(0), op(0x0b))
		},
		"a loop in a loop": func(b *builder) uint32 {
			return b.function(nil, nil, nil, loop(loop(br(1)), br(0)))
		},
		"a tree of calls without a loop": func(b *builder) uint32 {
			f := b.function(nil, nil, nil)
			for range 48 {
				f = b.function(nil, nil, nil, call(f), call(f))
			}
			return f
		},
		"a leaf that is called from a loop": func(b *builder) uint32 {
			leaf := b.function(nil, nil, nil)
			return b.function(nil, nil, nil, loop(call(leaf), br(0)))
		},
		"memory that is filled again and again": func(b *builder) uint32 {
			return b.function(nil, nil, nil, loop(i32c(0), i32c(0), i32c(65536), memoryFill, br(0)))
		},
		"memory that is asked for again and again": func(b *builder) uint32 {
			return b.function(nil, nil, nil, loop(i32c(1), memoryGrow, drop, br(0)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			wasm := metered(t, forever(build), rewrite.MeterOptions{})
			eachEngine(t, wasm, 1000, 1_000_000, func(t *testing.T, i instance) {
				if _, err := i.ExportedFunction("run").Call(t.Context()); !errors.Is(err, outOfFuel{}) {
					t.Errorf("got %v, want out of fuel", err)
				}
			})
		})
	}
}

func TestRecursionEndsAtItsDepth(t *testing.T) {
	for name, build := range map[string]func(b *builder) uint32{
		"itself": func(b *builder) uint32 { return b.function(nil, nil, nil, call(0)) },
		"each other": func(b *builder) uint32 {
			b.function(nil, nil, nil, call(1))
			return b.function(nil, nil, nil, call(0))
		},
		"through a table": func(b *builder) uint32 {
			b.table(1)
			b.element(0)
			return b.function(nil, nil, nil, i32c(0), op(0x11, 0, 0))
		},
		"inside of a loop": func(b *builder) uint32 { return b.function(nil, nil, nil, loop(call(0), br(0))) },
	} {
		t.Run(name, func(t *testing.T) {
			wasm := metered(t, forever(build), rewrite.MeterOptions{Depth: 500})
			eachEngine(t, wasm, unlimited, unlimited, func(t *testing.T, i instance) {
				if _, err := i.ExportedFunction("run").Call(t.Context()); !errors.Is(err, tooDeep{}) {
					t.Errorf("got %v, want too deep", err)
				}
			})
		})
	}
}

func TestDepthStopsRecursionBeforeTheEnginesOwnLimit(t *testing.T) {
	for name, build := range map[string]func(b *builder) uint32{
		"small frames": func(b *builder) uint32 { return b.function(nil, nil, nil, call(0)) },
		"large frames": largeFrames,
	} {
		t.Run(name, func(t *testing.T) {
			wasm := metered(t, forever(build), rewrite.MeterOptions{})
			i := start(t, t.Context(), wazero.NewRuntimeConfigCompiler(), wasm, unlimited, unlimited)
			if _, err := i.ExportedFunction("run").Call(t.Context()); !errors.Is(err, tooDeep{}) {
				t.Errorf("got %.200v, want too deep", err)
			}
		})
	}
}

// largeFrames recurses with hundreds of values on the operand stack.
func largeFrames(b *builder) uint32 {
	var push, add []byte
	for i := range uint32(900) {
		push = join(push, i32c(int32(i*4)), i32load(0))
		add = join(add, i32add)
	}
	return b.function(nil, []byte{i32t}, nil, push, call(0), add)
}

func TestDepthIsGivenBackOnEveryWayOut(t *testing.T) {
	b := newBuilder()
	host := b.function([]byte{i32t}, []byte{i32t}, nil, get(0)) // a guest's function: makes the caller count
	b.function([]byte{i32t}, []byte{i32t}, nil,
		get(0), call(host), drop,
		get(0), i32c(0), op(0x46), ifThen(i32c(10), returns),
		get(0), i32c(1), op(0x46), op(0x04, 0x40), i32c(11), br(1), op(0x0b),
		i32c(12), get(0), i32c(2), op(0x46), brIf(0), drop,
		block(i32c(13), get(0), op(0x0e, 1, 1, 1)),
		i32c(14))
	wasm := metered(t, b.export("run", 0, 1).bytes(), rewrite.MeterOptions{Depth: 100})
	eachEngine(t, wasm, 1, unlimited, func(t *testing.T, i instance) {
		for arg, want := range []uint64{10, 11, 12, 13} {
			got, err := i.ExportedFunction("run").Call(t.Context(), uint64(arg))
			if err != nil || got[0] != want {
				t.Errorf("run(%d) = %v, %v; want %d", arg, got, err, want)
			}
			if depth := i.ExportedGlobal(rewrite.DepthGlobal).Get(); depth != 100 {
				t.Errorf("after run(%d) the depth is %d, want 100", arg, depth)
			}
		}
	})
}

func TestBulkOperationsArePaidBeforeTheyAct(t *testing.T) {
	fill := func(b *builder) uint32 {
		return b.function([]byte{i32t}, nil, nil, i32c(0), i32c(7), get(0), memoryFill)
	}
	wasm := metered(t, forever(fill), rewrite.MeterOptions{})
	eachEngine(t, wasm, 100, 1000, func(t *testing.T, i instance) {
		if _, err := i.ExportedFunction("run").Call(t.Context(), 65536); !errors.Is(err, outOfFuel{}) {
			t.Errorf("got %v, want out of fuel", err)
		}
		if b, _ := i.Memory().ReadByte(0); b != 0 {
			t.Error("memory was filled although the fuel was out")
		}
	})
}

func TestSizesAreCharged(t *testing.T) {
	for _, tt := range []struct {
		name string
		code []byte
		want int64 // with 1 for entering
	}{
		{"fill of a constant", join(i32c(0), i32c(0), i32c(4096), memoryFill), 1 + 4 + 512},
		{"fill of a large constant", join(i32c(0), i32c(0), i32c(40960), memoryFill), 1 + 4 + 5120},
		{"fill of a variable", join(i32c(0), i32c(0), i32c(800), op(0x01), memoryFill), 1 + 4 + 100},
		{"copy of less than eight bytes", join(i32c(0), i32c(0), i32c(7), op(0x01), memoryCopy), 1 + 4},
		{"grow by two pages", join(i32c(2), memoryGrow, drop), 1 + 3 + 2*8192},
		{"a failed grow", join(i32c(1000), memoryGrow, drop), 1 + 3 + 1000*8192},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wasm := metered(t, forever(func(b *builder) uint32 { return b.function(nil, nil, nil, tt.code) }), rewrite.MeterOptions{})
			eachEngine(t, wasm, 10, unlimited, func(t *testing.T, i instance) {
				if _, err := i.ExportedFunction("run").Call(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := i.used(); got != tt.want {
					t.Errorf("used %d, want %d", got, tt.want)
				}
			})
		})
	}
}

// TestLongCodeIsCheckedOnTheWay shows that no function runs for long without a
// check, even without loops and calls.
func TestLongCodeIsCheckedOnTheWay(t *testing.T) {
	long := bytes.Repeat(join(i32c(1), drop), 50_000)
	wasm := metered(t, forever(func(b *builder) uint32 { return b.function(nil, nil, nil, long) }), rewrite.MeterOptions{})
	i := start(t, t.Context(), wazero.NewRuntimeConfigInterpreter(), wasm, unlimited, unlimited)
	if _, err := i.ExportedFunction("run").Call(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := rewrite.Inspect(forever(func(b *builder) uint32 { return b.function(nil, nil, nil, long) }))
	if err != nil || info.OtherChecks < 100_000/4096 {
		t.Errorf("%d checks in 100,000 instructions (%v)", info.OtherChecks, err)
	}
}

func TestReservedNamesAreRefused(t *testing.T) {
	for name, wasm := range map[string][]byte{
		"import of fuel": func() []byte {
			b := newBuilder()
			b.importFunction(rewrite.FuelModule, "refuel", []byte{i64t, i64t}, []byte{i64t})
			return b.bytes()
		}(),
		"import of another name from it": func() []byte {
			b := newBuilder()
			b.importFunction(rewrite.FuelModule, "other", nil, nil)
			return b.bytes()
		}(),
		"export of the fuel": func() []byte {
			b := newBuilder()
			return b.export(rewrite.FuelGlobal, 3, b.global(i64t, 1, i64c(0)...)).bytes()
		}(),
		"export of a reserved function": func() []byte {
			b := newBuilder()
			return b.export("__sluice_anything", 0, b.function(nil, nil, nil)).bytes()
		}(),
		"export of a global that is not the one named": func() []byte {
			b := newBuilder()
			b.global(i64t, 1, i64c(0)...)
			return b.export("__sluice_g0", 3, b.global(i64t, 1, i64c(0)...)).bytes()
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			_, inspect := rewrite.Inspect(wasm)
			_, meter := rewrite.Meter(wasm, rewrite.MeterOptions{})
			_, _, expose := rewrite.Expose(wasm)
			for _, err := range []error{inspect, meter, expose} {
				var p *abi.Problem
				if !errors.As(err, &p) || p.Code != abi.CorruptModule || !strings.Contains(p.Message, "belong") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestGuestThatReachesForTheFuelIsRefused(t *testing.T) {
	for name, code := range map[string][]byte{
		"the next global":   join(i64c(1<<40), globalSet(0)),
		"the next local":    join(i64c(1<<40), set(0)),
		"the next function": call(1),
		"the next label":    br(1),
	} {
		t.Run(name, func(t *testing.T) {
			wasm := forever(func(b *builder) uint32 { return b.function(nil, nil, nil, code) })
			if _, err := rewrite.Meter(wasm, rewrite.MeterOptions{}); err == nil || !strings.Contains(err.Error(), "does not exist") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMeteredModuleIsNotMeteredAgain(t *testing.T) {
	wasm := metered(t, forever(func(b *builder) uint32 { return b.function(nil, nil, nil) }), rewrite.MeterOptions{})
	if _, err := rewrite.Meter(wasm, rewrite.MeterOptions{}); err == nil {
		t.Error("it was")
	}
}

func TestMeteringIsDeterministicAndKeepsItsInput(t *testing.T) {
	wasm := goGuest(t)
	kept := bytes.Clone(wasm)
	if !bytes.Equal(metered(t, wasm, rewrite.MeterOptions{}), metered(t, wasm, rewrite.MeterOptions{})) {
		t.Error("the same module was metered in two ways")
	}
	if !bytes.Equal(wasm, kept) {
		t.Error("the original was changed")
	}
}

func TestTracesNameTheGuestsOwnFunctions(t *testing.T) {
	i := start(t, t.Context(), wazero.NewRuntimeConfigInterpreter(), metered(t, goGuest(t), rewrite.MeterOptions{}), unlimited, unlimited)
	resetToZero(i.Module)
	_, err := i.ExportedFunction("spin").Call(context.Background())
	if !errors.Is(err, tooDeep{}) || !strings.Contains(err.Error(), "spin") {
		t.Errorf("the trace is %.300v", err)
	}
}

func resetToZero(m api.Module) {
	m.ExportedGlobal(rewrite.DepthGlobal).(api.MutableGlobal).Set(0)
}
