package sandbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// The block functions move what eight bytes at a time do.
func TestWholeBlocksMoveAsTheirBytesDo(t *testing.T) {
	whole := sandboxtest.Load(t, sandboxtest.Build(t, "host/sandbox/testdata/bulk"), patient(abi.Limits{}))
	words := pdk(t, abi.Limits{})
	for _, n := range []int{0, 1, 7, 8, 9, 4095, 64 << 10, 64<<10 + 1, 1 << 20} {
		input := make([]byte, n)
		for i := range input {
			input[i] = byte(i*7 + i>>8)
		}
		for _, export := range []string{"echo", "head"} {
			for _, m := range []*sandbox.Module{whole, words} {
				if got := run(t, m, sandbox.Request{Export: export, Input: input}); got != string(input[:min(n, len(got))]) || export == "echo" && len(got) != n || len(got) != min(n, 64<<10) && export == "head" {
					t.Errorf("%s of %d bytes gives %d others", export, n, len(got))
				}
			}
		}
	}
}

func TestBlockFunctionsNeedNoGrant(t *testing.T) {
	m := sandboxtest.Load(t, sandboxtest.Build(t, "host/sandbox/testdata/bulk"), patient(abi.Limits{}))
	if got := m.Imports(); len(got) > 0 {
		t.Errorf("it is held to import %v", got)
	}
	res := m.Call(context.Background(), sandbox.Request{Export: "echo", Input: []byte("x")})
	if res.Usage.HostCalls != 0 {
		t.Errorf("%d host calls are counted", res.Usage.HostCalls)
	}
}

// mover has an export of its body, with 16 MiB of memory and the ABI's
// functions by name.
func mover(body func(call func(name string) []byte) []byte) *module {
	m := newModule()
	m.pages = 256
	signatures := sandbox.ExtismSignatures()
	imports := map[string]uint32{}
	for _, name := range []string{"alloc", "free", "config_get", "store_u8", "reset"} {
		imports[name] = m.imported(abi.NamespaceExtism, name, signatures[name][0], signatures[name][1])
	}
	for _, name := range abi.BlockFuncs() {
		imports[name] = m.imported(abi.NamespaceHost, name, []byte{i64t, i32t, i32t}, nil)
	}
	return m.export("run", body(func(name string) []byte { return callf(imports[name]) }), i32c(0))
}

// What a guest has the host do costs it no fuel. It ends all the same.
func TestAGuestThatHasTheHostWorkEndsAtItsDeadline(t *testing.T) {
	const size = 16 << 20
	for name, body := range map[string]func(call func(string) []byte) []byte{
		"reading": func(call func(string) []byte) []byte {
			return slices.Concat(i64c(size), call("alloc"), drop, loop(i64c(77), i32c(0), i32c(size), call(abi.FuncBlockRead), branch(0)))
		},
		"writing": func(call func(string) []byte) []byte {
			return slices.Concat(i64c(size), call("alloc"), drop, loop(i64c(77), i32c(0), i32c(size), call(abi.FuncBlockWrite), branch(0)))
		},
		"asking": func(call func(string) []byte) []byte {
			return slices.Concat(i64c(size), call("alloc"), drop, loop(i64c(77), call("config_get"), drop, branch(0)))
		},
		"forgetting": func(call func(string) []byte) []byte {
			return loop(i64c(size), call("alloc"), drop, i64c(77), i32c(0), i32c(size), call(abi.FuncBlockWrite), call("reset"), branch(0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := load(t, mover(body), abi.Limits{})
			for range 2 {
				res := m.Call(context.Background(), sandbox.Request{Export: "run", Deadline: 50 * time.Millisecond})
				wantProblem(t, res, abi.Deadline)
			}
		})
	}
}

// A block function serves the guest's memory as it is now, not as it began.
func TestBlocksMoveToMemoryThatGrew(t *testing.T) {
	m := newModule()
	read := m.imported(abi.NamespaceHost, abi.FuncBlockRead, []byte{i64t, i32t, i32t}, nil)
	write := m.imported(abi.NamespaceHost, abi.FuncBlockWrite, []byte{i64t, i32t, i32t}, nil)
	set := m.imported(abi.NamespaceExtism, "output_set", []byte{i64t, i64t}, nil)
	alloc := m.imported(abi.NamespaceExtism, "alloc", []byte{i64t}, []byte{i64t})
	const input, second, page = 77, 77 + 9 + 12, 64 << 10
	m.export("run", i32c(1), memoryGrow, drop, i64c(9), callf(alloc), drop,
		i64c(input), i32c(2*page-9), i32c(9), callf(read), i64c(second), i32c(2*page-9), i32c(9), callf(write), i64c(second), i64c(9), callf(set), i32c(0))
	m.export("too far", i64c(input), i32c(2*page-8), i32c(9), callf(read), i32c(0))
	loaded := load(t, m, abi.Limits{})
	if got := run(t, loaded, sandbox.Request{Export: "run", Input: []byte("nine byte")}); got != "nine byte" {
		t.Errorf("it gives %q", got)
	}
	wantProblem(t, loaded.Call(context.Background(), sandbox.Request{Export: "too far", Input: []byte("nine byte")}), abi.BadHostCall, fmt.Sprintf("9 bytes at %d of its own memory, which has %d", 2*page-8, page))
}

func TestAModuleWithoutMemoryMovesNoBlocks(t *testing.T) {
	m := newModule()
	m.pages = -1
	read := m.imported(abi.NamespaceHost, abi.FuncBlockRead, []byte{i64t, i32t, i32t}, nil)
	m.export("run", i64c(77), i32c(0), i32c(1), callf(read), i32c(0))
	m.export("nothing", i64c(77), i32c(0), i32c(0), callf(read), i32c(0))
	loaded := load(t, m, abi.Limits{})
	wantProblem(t, loaded.Call(context.Background(), sandbox.Request{Export: "run", Input: []byte("x")}), abi.BadHostCall, "which has 0")
	if got := run(t, loaded, sandbox.Request{Export: "nothing"}); got != "" {
		t.Errorf("it gives %q", got)
	}
}

// A start may call nothing of the host, and what the kernel could serve by
// itself is no exception.
func TestAStartReachesNoBlocks(t *testing.T) {
	for _, name := range []string{"load_u8", "load_u64", "input_load_u8", "input_load_u64", "store_u64", abi.FuncBlockRead} {
		m := newModule()
		namespace, signature := abi.NamespaceExtism, sandbox.ExtismSignatures()[name]
		if name == abi.FuncBlockRead {
			namespace, signature = abi.NamespaceHost, [2][]byte{{i64t, i32t, i32t}, nil}
		}
		f := m.imported(namespace, name, signature[0], signature[1])
		var body []byte
		for i, param := range signature[0] {
			if param == i32t {
				body = append(body, i32c(0)...)
			} else {
				body = append(body, i64c(int64(64*(1-i)))...)
			}
		}
		body = append(body, callf(f)...)
		if len(signature[1]) > 0 {
			body = append(body, drop...)
		}
		m.exportAs("_initialize", m.function(nil, nil, 0, body))
		info := load(t, m.export("run", i32c(0)), abi.Limits{}).Info()
		if info.Frozen {
			t.Errorf("a start that calls %s is frozen", name)
		}
	}
}
