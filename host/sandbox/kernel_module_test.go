package sandbox

import (
	"context"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/tetratelabs/wazero"
)

// engines are those that wazero has; the second runs where there is no first,
// and in every preparation.
func engines() map[string]wazero.RuntimeConfig {
	return map[string]wazero.RuntimeConfig{"compiler": wazero.NewRuntimeConfig(), "interpreter": wazero.NewRuntimeConfigInterpreter()}
}

// What the kernel serves by itself, and what it leaves to the host, are the
// same to a guest, at every bound and wherever the memory ends.
func TestTheKernelAnswersAsTheHostDoes(t *testing.T) {
	for engine, config := range engines() {
		t.Run(engine, func(t *testing.T) {
			k := testKernelIn(t, 8<<20, config)
			for _, state := range []struct {
				name string
				make func()
			}{
				{"nothing", func() {}},
				{"one block", func() { _, _ = k.write([]byte("0123456789abcdef")) }},
				{"a block of a byte", func() { _, _ = k.write([]byte("x")) }},
				{"the input", func() { h, _ := k.write([]byte("the input")); k.setInput(span{h, 9}); _, _ = k.alloc(100) }},
				{"the input is the last block", func() { h, _ := k.write([]byte("the input")); k.setInput(span{h, 9}) }},
				{"an input that was freed", func() { h, _ := k.write([]byte("the input")); k.setInput(span{h, 9}); k.free(h) }},
				{"a block above the memory", func() { _, _ = k.alloc(200_000) }},
				{"an input above the memory", func() { h, _ := k.alloc(200_000); k.setInput(span{h + 100_000, 50_000}) }},
				{"a memory that grew", func() { h, _ := k.alloc(200_000); k.store(h+150_000, 7) }},
				{"all blocks are gone", func() { _, _ = k.write(make([]byte, 300)); k.reset() }},
			} {
				t.Run(state.name, func(t *testing.T) {
					k.t = t
					k.renew(8 << 20)
					state.make()
					k.answersAsTheHost()
				})
			}
		})
	}
}

func (k *guestKernel) answersAsTheHost() {
	k.t.Helper()
	memory, taken := uint64(len(k.memory.bytes)), kernelFirst+k.position
	for _, edge := range []uint64{0, 8, 64, 65, 77, 77 + 9, 93, 100_000, 150_077, taken, memory, k.size, 1 << 32, 1<<32 + 77, 1 << 63} {
		for at := edge - 9; at != edge+10; at++ {
			want, ok := k.expect(at, 1)
			k.same("load_u8", at, want&0xff, ok)
			k.same("input_load_u8", at-k.input.at, want&0xff, ok && at-k.input.at < k.input.length || at-k.input.at >= k.input.length)
			want, ok = k.expect(at, 8)
			k.same("load_u64", at, want, ok)
		}
	}
	for _, i := range []uint64{0, 1, 7, 8, 9, 49_999, 50_000, 1 << 32, 1<<64 - 1} {
		want, ok := k.expect(k.input.at+min(i, 1<<32-1), 8)
		k.same("input_load_u64", i, want, ok)
	}
}

// expect gives what lies at an address, and whether it exists.
func (k *guestKernel) expect(at, n uint64) (uint64, bool) {
	if !k.exists(at, n) {
		return 0, false
	}
	if n == 1 {
		return uint64(k.load(at)), true
	}
	return k.load64(at), true
}

func (k *guestKernel) same(name string, param, want uint64, ok bool) {
	k.t.Helper()
	if name == "input_load_u8" && param >= k.input.length {
		want = 0
	}
	got, p := k.guest(name, param)
	if (p == nil) != ok || p != nil && p.Code != abi.BadHostCall || got != want && ok {
		k.t.Errorf("%s(%d) gives %#x %v, want %#x %v", name, param, got, p, want, ok)
	}
}

func TestTheKernelStoresAsTheHostDoes(t *testing.T) {
	for engine, config := range engines() {
		t.Run(engine, func(t *testing.T) {
			k := testKernelIn(t, 8<<20, config)
			h, _ := k.alloc(100_000) // more than there is memory at first
			memory := uint64(len(k.memory.bytes))
			for i, at := range []uint64{h, h + 1, memory - 8, memory - 7, memory - 1, memory, h + 99_992, h + 99_999, h + 200_000, k.size - 8} {
				v := 0x1122334455667700 + uint64(i)
				if _, p := k.guest("store_u64", at, v); p != nil || k.load64(at) != v {
					t.Errorf("%#x stored at %d reads as %#x %v", v, at, k.load64(at), p)
				}
				if _, p := k.guest("store_u8", at, 0x1ff); p != nil || k.load64(at) != v|0xff {
					t.Errorf("a byte stored at %d reads as %#x %v", at, k.load64(at), p)
				}
			}
			for _, at := range []uint64{0, 56, 63, k.size - 7, k.size, 1 << 32, 1<<32 + h, 1<<64 - 4} {
				if _, p := k.guest("store_u64", at, 1); p == nil || p.Code != abi.BadHostCall {
					t.Errorf("a store at %d gave %v", at, p)
				}
			}
			k.renew(8 << 20)
			if err := k.memory.audit(); err != nil {
				t.Error("after a call its bytes are there")
			}
		})
	}
}

// The bounds and all that was ever stored are gone when a slot is restored.
func TestAKernelBetweenCallsServesNothing(t *testing.T) {
	k := testKernel(t, 8<<20)
	h, _ := k.write([]byte("a secret"))
	k.setInput(span{h, 8})
	if got, _ := k.guest("input_load_u8", 0); got != 'a' {
		t.Fatalf("the input begins with %#x", got)
	}
	k.renew(8 << 20)
	for _, name := range []string{"load_u8", "load_u64"} {
		if got, _ := k.guest(name, h); got != 0 {
			t.Errorf("%s gives %#x of an earlier call", name, got)
		}
	}
	if got, _ := k.guest("input_load_u8", 0); got != 0 {
		t.Errorf("the earlier call's input begins with %#x", got)
	}
}

func TestASlotKeepsOnlyASmallKernel(t *testing.T) {
	s := testSandbox(t, "")
	defer s.Close(context.Background())
	m := mustLoad(t, s, tinyModule(0), abi.Limits{Input: 16 * abi.MiB})
	for _, tt := range []struct {
		input, idle int
	}{{10, 1}, {3 << 20, 1}, {8 << 20, 0}, {10, 1}} {
		if res := m.Call(context.Background(), Request{Export: "run", Input: make([]byte, tt.input)}); res.Problem != nil {
			t.Fatal(res.Problem)
		}
		s.pool.mu.Lock()
		var size abi.Size
		for _, k := range s.pool.idle {
			size += k.slot.size()
		}
		if len(s.pool.idle) != tt.idle || s.pool.bytes != size || size > kernelKept+slotOverhead {
			t.Errorf("after %d bytes of input %d slots are idle and count %d bytes (%d), want %d", tt.input, len(s.pool.idle), s.pool.bytes, size, tt.idle)
		}
		s.pool.mu.Unlock()
	}
}

// A guest cannot import the host's own functions, nor what the kernel is made
// of.
func TestNoGuestReachesBehindTheKernel(t *testing.T) {
	o, err := newOffer(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range []imported{
		{module: nativeModule, name: "load_u64", signature: signature{types(i64), types(i64)}},
		{module: nativeModule, name: "alloc", signature: signature{types(i64), types(i64)}},
		{module: abi.NamespaceExtism, name: "memory", kind: kindMemory},
		{module: abi.NamespaceExtism, name: "load_u64", kind: kindGlobal},
	} {
		if p := o.refuse([]imported{im}); p == nil || p.Code != abi.UnknownImport {
			t.Errorf("importing %s of %s as %d gave %v", im.name, im.module, im.kind, p)
		}
	}
}
