package sandbox

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// referenceKernel is the memory of the reference host, from the module cache.
type referenceKernel struct {
	t      testing.TB
	module api.Module
}

func newReferenceKernel(t testing.TB) referenceKernel {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(moduleDir(t, "github.com/extism/go-sdk"), "extism-runtime.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	r := wazero.NewRuntime(context.Background())
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	module, err := r.Instantiate(context.Background(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return referenceKernel{t, module}
}

func (r referenceKernel) call(name string, params ...uint64) uint64 {
	results, err := r.module.ExportedFunction(name).Call(context.Background(), params...)
	if err != nil {
		r.t.Fatalf("%s%v: %v", name, params, err)
	}
	if len(results) == 0 {
		return 0
	}
	return results[0]
}

func (r referenceKernel) bytes(s span) []byte {
	b, _ := r.module.ExportedMemory("memory").Read(uint32(s.at), uint32(s.length))
	return b
}

// A guestKernel is a kernel as its call has it, which a guest reaches by the
// functions of kernelModule.
type guestKernel struct {
	*kernel
	t    testing.TB
	call *call
}

// testKernelIn gives a kernel in an engine.
func testKernelIn(t testing.TB, limit uint64, engine wazero.RuntimeConfig) *guestKernel {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(context.Background(), engine)
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	compiled, err := exportAll(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	memory := &kernelMemory{}
	if err := memory.instantiate(context.Background(), r, compiled); err != nil {
		t.Fatal(err)
	}
	c := newCall(&Sandbox{}, nil, abi.DefaultLimits(), &Request{})
	c.begin(context.Background())
	c.kernel = newKernel(limit)
	c.kernel.memory = memory
	return &guestKernel{&c.kernel, t, c}
}

func testKernel(t testing.TB, limit uint64) *guestKernel {
	t.Helper()
	return testKernelIn(t, limit, wazero.NewRuntimeConfig())
}

// renew makes it what it is before every call.
func (k *guestKernel) renew(limit uint64) {
	memory := k.memory
	memory.clear()
	*k.kernel = newKernel(limit)
	k.memory = memory
}

// guest calls a function as a guest does. What ended the guest is a problem.
func (k *guestKernel) guest(name string, params ...uint64) (uint64, *abi.Problem) {
	k.t.Helper()
	k.call.stopped = nil
	f := k.memory.instance.ExportedFunction(name)
	results, err := f.Call(k.call.ctx, params...)
	switch {
	case k.call.stopped != nil:
		return 0, k.call.stopped
	case err != nil:
		k.t.Fatalf("%s%v: %v", name, params, err)
	case len(results) == 0:
		return 0, nil
	case f.Definition().ResultTypes()[0] == i32:
		return uint64(api.DecodeU32(results[0])), nil
	}
	return results[0], nil
}

// FuzzKernelIsTheReference runs the same operations on both kernels. Every
// operation is three bytes: what, on which block, and how much.
func FuzzKernelIsTheReference(f *testing.F) {
	f.Add([]byte{0, 0, 10, 0, 0, 200, 1, 0, 0, 0, 0, 5, 2, 1, 7, 3, 1, 0})
	f.Add([]byte{0, 0, 0, 0, 9, 255, 4, 1, 3, 5, 1, 2, 6, 0, 0, 0, 0, 1})
	f.Add([]byte{0, 255, 255, 0, 255, 255, 4, 1, 9, 7, 1, 1, 8, 0, 0, 0, 1, 1, 7, 0, 0, 2, 0, 0})
	reference := newReferenceKernel(f)
	ours := testKernel(f, 0)
	f.Fuzz(func(t *testing.T, ops []byte) {
		reference.call("reset")
		ours.t = t
		ours.renew(64 << 20)
		blocks := []handle{0}
		// The reference keeps its memory from run to run, and where it has more
		// it uses fewer freed blocks again: ours begins with as much.
		grown := reference.call("memory_bytes") - ours.length
		ours.length, ours.size = ours.length+grown, ours.size+grown
		for ; len(ops) >= 3 && ours.position < 4<<20; ops = ops[3:] {
			what, h, n := ops[0]%9, blocks[int(ops[1])%len(blocks)], uint64(ops[2])
			length := ours.blockLength(h)
			switch what {
			case 0:
				size := n * uint64(ops[1])
				count, position := len(ours.blocks), ours.position
				got, ok := ours.alloc(size)
				if len(ours.blocks) > count && ours.position == position {
					// The reference puts the second part of a block that it
					// splits behind the block, over the next one.
					return
				}
				if want := reference.call("alloc", size); got != want || !ok {
					t.Fatalf("alloc(%d) is %d %v, want %d", size, got, ok, want)
				}
				blocks = append(blocks, got)
			case 1:
				ours.free(h)
				reference.call("free", h)
			case 2:
				if length > 0 {
					ours.guest("store_u8", h+n%length, n)
					reference.call("store_u8", h+n%length, n)
				}
			case 3:
				if length >= 8 {
					ours.guest("store_u64", h, n<<40|0x1234)
					reference.call("store_u64", h, n<<40|0x1234)
				}
			case 4:
				if length > 0 {
					ours.output = span{h + n%length, length - n%length}
					reference.call("output_set", ours.output.at, ours.output.length)
				}
			case 5:
				ours.failure = h
				reference.call("error_set", h)
			case 6:
				if length > 0 {
					ours.setInput(span{h, length})
					reference.call("input_set", h, length)
				}
			case 7:
				if h != 0 {
					word, _ := ours.guest("load_u64", h)
					if got, _ := ours.guest("load_u8", h); got != reference.call("load_u8", h) || got != word&0xff {
						t.Fatalf("the bytes at %d differ", h)
					}
				}
				if got, _ := ours.guest("input_load_u8", n); got != reference.call("input_load_u8", n) {
					t.Fatalf("byte %d of the input differs", n)
				}
			case 8:
				ours.reset()
				reference.call("reset")
				blocks = []handle{0}
			}
			for _, h := range blocks {
				if got, want := ours.blockLength(h), reference.call("length", h); got != want {
					t.Fatalf("length(%d) is %d, want %d", h, got, want)
				}
			}
		}
		got := []uint64{ours.input.at, ours.input.length, ours.output.at, ours.output.length, ours.failure}
		want := []uint64{reference.call("input_offset"), reference.call("input_length"),
			reference.call("output_offset"), reference.call("output_length"), reference.call("error_get")}
		if !slices.Equal(got, want) {
			t.Errorf("input, output and error are %v, want %v", got, want)
		}
		if out := ours.copyOf(ours.output); ours.output.length > 0 && !bytes.Equal(out, reference.bytes(ours.output)) {
			t.Errorf("the output is %q, want %q", out, reference.bytes(ours.output))
		}
		if got, want := ours.length, reference.call("memory_bytes"); got != want {
			t.Errorf("memory_bytes is %d, want %d", got, want)
		}
	})
}

func TestKernelUsesFreedBlocksAgainBeforeItGrows(t *testing.T) {
	k := testKernel(t, 8<<20)
	for i := range 100_000 {
		h, ok := k.write(bytes.Repeat([]byte{byte(i)}, 1000))
		if !ok {
			t.Fatalf("block %d was refused with %d bytes taken", i, k.position)
		}
		if got, _ := k.read(h); got[0] != byte(i) || len(got) != 1000 {
			t.Fatalf("block %d reads as %d bytes of %d", i, len(got), got[0])
		}
		k.free(h)
	}
	if k.position > kernelPage {
		t.Errorf("%d bytes were taken for blocks of 1000", k.position)
	}
}

func TestKernelSplitsAFreedBlockWithoutOverlap(t *testing.T) {
	k := testKernel(t, 8<<20)
	big, _ := k.alloc(kernelPage)
	_, _ = k.alloc(k.length - k.position - kernelRootSize - 100) // only what is freed has room
	after, _ := k.write([]byte("after"))
	k.free(big)
	a, _ := k.write(bytes.Repeat([]byte("a"), 1000))
	b, _ := k.write(bytes.Repeat([]byte("b"), 2000))
	if k.find(a) == nil || k.find(b) == nil || a < big || b < big || a > after || b > after {
		t.Fatalf("blocks at %d and %d are not inside the freed one, %d to %d", a, b, big, after)
	}
	for h, want := range map[handle]string{a: strings.Repeat("a", 1000), b: strings.Repeat("b", 2000), after: "after"} {
		if got, ok := k.read(h); !ok || string(got) != want {
			t.Errorf("block %d reads %.20q, want %.20q", h, got, want)
		}
	}
}

func TestKernelKeepsAnOutputThatWasFreed(t *testing.T) {
	k := testKernel(t, 8<<20)
	out, _ := k.write([]byte("the output"))
	_, _ = k.alloc(k.length - k.position - kernelRootSize - 20) // only what is freed has room
	k.output = span{out, 10}
	k.free(out)
	if h, _ := k.write([]byte("other text")); h == out {
		t.Error("the output's block was used again")
	}
	if got := k.copyOf(k.output); string(got) != "the output" {
		t.Errorf("the output is %q", got)
	}
}

func TestKernelIsBounded(t *testing.T) {
	k := testKernel(t, 1<<20)
	for _, n := range []uint64{1<<20 + 1, 1 << 20, 1 << 32, 1 << 40, 1<<64 - 1} {
		if h, ok := k.alloc(n); ok {
			t.Errorf("alloc(%d) gave %d within 1 MiB", n, h)
		}
	}
	n := 0
	for ; ; n++ {
		if _, ok := k.write(make([]byte, 1000)); !ok {
			break
		}
	}
	if want := (1 << 20) / 1012; n != want {
		t.Errorf("%d blocks of 1000 bytes fit into 1 MiB, want %d", n, want)
	}
	if n := cap(k.memory.bytes); n > 3<<20 {
		t.Errorf("the host holds %d bytes for them", n)
	}
}

func TestKernelKnowsWhatIsNotABlock(t *testing.T) {
	k := testKernel(t, 1<<20)
	h, _ := k.write([]byte("block"))
	freed, _ := k.write([]byte("freed"))
	k.free(freed)
	for _, bad := range []handle{1, h - 1, h + 1, freed, freed + 1000, 1 << 32, 1<<32 + h, 1<<64 - 1} {
		if _, ok := k.read(bad); ok || k.blockLength(bad) != 0 {
			t.Errorf("%d passes for a block", bad)
		}
		k.free(bad)
	}
	if b, ok := k.read(0); !ok || b == nil || len(b) != 0 {
		t.Errorf("the handle 0 reads as %v %v, want no bytes", b, ok)
	}
	for _, s := range []span{{0, 1}, {64, 1}, {h, 1 << 40}, {h, 1<<64 - 1}, {1<<64 - 1, 2}} {
		if k.owns(s) {
			t.Errorf("the kernel owns %v", s)
		}
	}
	for _, s := range []span{{0, 1}, {63, 8}, {k.size, 1}, {k.size - 7, 8}, {1<<64 - 4, 8}, {1 << 32, 1}} {
		if k.exists(s.at, s.length) {
			t.Errorf("%d bytes at %d exist", s.length, s.at)
		}
	}
}
