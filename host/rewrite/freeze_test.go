package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
)

// imageOf runs an exposed module's start and _initialize and takes the image.
func imageOf(t testing.TB, wasm []byte) (rewrite.Image, rewrite.Exposed) {
	t.Helper()
	exposed, e, err := rewrite.Expose(wasm)
	if err != nil {
		t.Fatal(err)
	}
	i := start(t, context.Background(), wazero.NewRuntimeConfigInterpreter(), exposed, 0, 0)
	return i.image(e), e
}

func (i instance) image(e rewrite.Exposed) rewrite.Image {
	var image rewrite.Image
	if e.Memory != "" {
		m := i.ExportedMemory(e.Memory)
		all, _ := m.Read(0, m.Size())
		image.Memory = bytes.Clone(all)
	}
	for _, g := range e.Globals {
		image.Globals = append(image.Globals, i.ExportedGlobal(g.Export).Get())
	}
	return image
}

func frozen(t testing.TB, wasm []byte) (out []byte, image rewrite.Image, e rewrite.Exposed) {
	t.Helper()
	image, e = imageOf(t, wasm)
	out, err := rewrite.Freeze(wasm, image)
	if err != nil {
		t.Fatal(err)
	}
	return out, image, e
}

// begins checks that an instance of a frozen module begins with its image.
func begins(t *testing.T, config wazero.RuntimeConfig, wasm []byte, image rewrite.Image, e rewrite.Exposed) instance {
	t.Helper()
	i := start(t, t.Context(), config, wasm, 1_000_000, 1<<62)
	got := i.image(e)
	if !bytes.Equal(got.Memory, image.Memory) {
		t.Error("its memory is not the image")
	}
	for n := range got.Globals {
		if got.Globals[n] != image.Globals[n] {
			t.Errorf("global %s is %#x, want %#x", e.Globals[n].Export, got.Globals[n], image.Globals[n])
		}
	}
	return i
}

// warm has state of every kind that is frozen: memory that its start function
// writes and grows, and globals of all numeric types.
func warm(initialises bool) []byte {
	b := newBuilder()
	b.pages(1, 16)
	b.global(i32t, 1, i32c(1)...)
	b.global(i64t, 1, i64c(2)...)
	b.global(f32t, 1, 0x43, 0, 0, 0x80, 0x3f)
	b.global(f64t, 1, 0x44, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f)
	b.global(i32t, 0, i32c(99)...)
	b.activeData(16, "active")
	b.passiveData("passive")
	var copies []byte
	if initialises {
		b.dataCount = true
		copies = join(i32c(2000), i32c(0), i32c(7), memoryInit(1))
	}
	first := b.function(nil, nil, nil,
		i32c(2), memoryGrow, drop,
		i32c(100_000), i32c(-1), i32store(0), copies,
		i32c(-5), globalSet(0), i64c(-6), globalSet(1),
		join([]byte{0x43, 1, 2, 3, 4}, globalSet(2)), join([]byte{0x44, 1, 2, 3, 4, 5, 6, 7, 8}, globalSet(3)))
	b.start = int(first)
	run := b.function(nil, []byte{i32t}, nil, copies, i32c(100_000), i32load(0), globalGet(0), i32add)
	again := b.function(nil, nil, nil, globalGet(0), i32c(1), i32add, globalSet(0))
	return b.export("run", 0, run).export("_initialize", 0, again).export("again", 0, again).bytes()
}

func TestFrozenModuleBeginsWithItsImage(t *testing.T) {
	for name, initialises := range map[string]bool{"without memory.init": false, "with memory.init": true} {
		t.Run(name, func(t *testing.T) {
			out, image, e := frozen(t, warm(initialises))
			if len(image.Memory) != 3<<16 || len(e.Globals) != 4 || e.Memory != rewrite.MemoryExport {
				t.Fatalf("the image has %d bytes and %d globals, memory %q", len(image.Memory), len(e.Globals), e.Memory)
			}
			for _, wasm := range [][]byte{out, metered(t, out, rewrite.MeterOptions{})} {
				for _, engine := range engines() {
					i := begins(t, engine.config(), wasm, image, e)
					if i.ExportedFunction("_initialize") != nil {
						t.Error("_initialize is still exported")
					}
					got, err := i.ExportedFunction("run").Call(t.Context())
					if err != nil || int32(got[0]) != -1+(-5+1) {
						t.Errorf("run gives %v, %v", got, err)
					}
				}
			}
			if strings.Contains(string(out), "passive") != initialises {
				t.Error("the passive segment is kept exactly where memory.init may name it")
			}
		})
	}
}

func TestExposingAndFreezingAgainChangesNothing(t *testing.T) {
	exposed, e, err := rewrite.Expose(warm(true))
	if err != nil {
		t.Fatal(err)
	}
	again, e2, err := rewrite.Expose(exposed)
	if err != nil || !bytes.Equal(again, exposed) || len(e.Globals) != len(e2.Globals) {
		t.Errorf("exposing again gives another module (%v)", err)
	}
	image, _ := imageOf(t, warm(true))
	a, err := rewrite.Freeze(warm(true), image)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rewrite.Freeze(exposed, image)
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("freezing the exposed module gives another one (%v)", err)
	}
}

func TestImagesOfEveryPatternComeBack(t *testing.T) {
	b := newBuilder()
	b.pages(1, 64)
	wasm := b.export("memory", 2, 0).bytes()
	random := rand.New(rand.NewPCG(1, 2))
	patterns := map[string]func(memory []byte){
		"nothing":         func([]byte) {},
		"first byte":      func(m []byte) { m[0] = 1 },
		"last byte":       func(m []byte) { m[len(m)-1] = 1 },
		"everything":      func(m []byte) { fill(m, 7) },
		"every 257th":     func(m []byte) { every(m, 257) },
		"every other":     func(m []byte) { every(m, 2) },
		"gap of 255, 256": func(m []byte) { m[0], m[256], m[513] = 1, 2, 3 },
		"random": func(m []byte) {
			for range 3000 {
				m[random.IntN(len(m))] = byte(random.Uint32())
			}
		},
	}
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			memory := make([]byte, 20<<16)
			pattern(memory)
			out, err := rewrite.Freeze(wasm, rewrite.Image{Memory: memory})
			if err != nil {
				t.Fatal(err)
			}
			i := begins(t, wazero.NewRuntimeConfigInterpreter(), out, rewrite.Image{Memory: memory}, rewrite.Exposed{Memory: "memory"})
			_ = i
			info, err := rewrite.Inspect(out)
			if err != nil || info.Data > 4096 {
				t.Errorf("%d data segments (%v)", info.Data, err)
			}
			if len(out) > len(memory)+1024 {
				t.Errorf("a memory of %d bytes became a module of %d", len(memory), len(out))
			}
		})
	}
}

func fill(m []byte, v byte) {
	for i := range m {
		m[i] = v
	}
}

func every(m []byte, n int) {
	for i := 0; i < len(m); i += n {
		m[i] = 1
	}
}

func TestWhatCannotBeRestoredIsRefusedByName(t *testing.T) {
	code := func(parts ...[]byte) func(b *builder) {
		return func(b *builder) {
			b.table(2)
			b.pages(1, 2)
			f := b.function(nil, nil, nil, parts...)
			b.element(f)
			b.passiveData("x")
			b.dataCount = true
		}
	}
	for want, build := range map[string]func(b *builder){
		"imports its memory":       func(b *builder) { b.importRaw("env", "memory", 2, 0, 1) },
		"imports a table":          func(b *builder) { b.importRaw("env", "table", 1, funct, 0, 1) },
		"imports a mutable global": func(b *builder) { b.importRaw("env", "g", 3, i32t, 1) },
		"holds a reference":        func(b *builder) { b.global(funct, 1, 0xd0, funct) },
		"a vector":                 func(b *builder) { b.global(v128t, 1, append([]byte{0xfd, 12}, make([]byte, 16)...)...) },
		"table.set":                code(i32c(0), op(0xd0, funct), op(0x26, 0)),
		"table.grow":               code(op(0xd0, funct), i32c(0), op(0xfc, 15, 0), drop),
		"table.fill":               code(i32c(0), op(0xd0, funct), i32c(0), op(0xfc, 17, 0)),
		"table.copy":               code(i32c(0), i32c(0), i32c(0), op(0xfc, 14, 0, 0)),
		"table.init":               code(i32c(0), i32c(0), i32c(0), op(0xfc, 12, 0, 0)),
		"elem.drop":                code(op(0xfc, 13, 0)),
		"data.drop":                code(op(0xfc, 9, 0)),
	} {
		t.Run(want, func(t *testing.T) {
			b := newBuilder()
			build(b)
			wasm := b.bytes()
			r := wazero.NewRuntime(t.Context())
			defer r.Close(t.Context())
			if _, err := r.CompileModule(t.Context(), wasm); err != nil {
				t.Fatalf("the test's module is invalid: %v", err)
			}
			_, err := rewrite.Freeze(wasm, rewrite.Image{})
			var p *abi.Problem
			if !errors.As(err, &p) || p.Code != abi.CorruptModule || !strings.Contains(p.Message, want) || p.Hint == "" {
				t.Errorf("got %v", err)
			}
			info, err := rewrite.Inspect(wasm)
			if err != nil || info.Unfreezable == nil || !strings.Contains(info.Unfreezable.Message, want) {
				t.Errorf("Inspect says %v, %v", info, err)
			}
			metered(t, wasm, rewrite.MeterOptions{}) // it still runs
		})
	}
}

func TestForeignImagesAreRefused(t *testing.T) {
	image, _ := imageOf(t, warm(false))
	for name, change := range map[string]func(i *rewrite.Image){
		"fewer globals":     func(i *rewrite.Image) { i.Globals = i.Globals[1:] },
		"half a page":       func(i *rewrite.Image) { i.Memory = i.Memory[:1<<15] },
		"no memory":         func(i *rewrite.Image) { i.Memory = nil },
		"above its maximum": func(i *rewrite.Image) { i.Memory = make([]byte, 17<<16) },
	} {
		t.Run(name, func(t *testing.T) {
			other := image
			change(&other)
			_, err := rewrite.Freeze(warm(false), other)
			var p *abi.Problem
			if !errors.As(err, &p) || p.Code != abi.HostBug {
				t.Errorf("got %v", err)
			}
		})
	}
}
