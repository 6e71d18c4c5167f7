//go:build !race

package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

func TestGoGuestsBehaveAsUnderTheReferenceHost(t *testing.T) {
	extism.SetLogLevel(extism.LogLevelTrace)
	wasm := sandboxtest.Build(t, "host/sandbox/testdata/pdk")
	config := map[string]string{"shop": "货架 7", "empty": ""}
	ours := pdk(t, abi.Limits{})
	theirs := newPeer(t, wasm, config, 60_000)

	large := bytes.Repeat([]byte("0123456789abcde"), 100<<10/15)
	for _, tt := range []struct {
		export string
		inputs [][]byte
	}{
		{"echo", [][]byte{nil, []byte("x"), []byte("1234567"), []byte("12345678"), []byte("123456789"), []byte(`{"价格":"8.5"}`), {0, 0xff, 0xfe}, large}},
		{"empty", [][]byte{nil, []byte("ignored")}},
		{"empty_output", [][]byte{nil}},
		{"output_twice", [][]byte{nil}},
		{"fail", [][]byte{nil}},
		{"fail_with_output", [][]byte{nil}},
		{"fail_silently", [][]byte{nil}},
		{"error_but_zero", [][]byte{nil}},
		{"error_cleared", [][]byte{nil}},
		{"long_error", [][]byte{nil}},
		{"logs", [][]byte{nil}},
		{"produce", [][]byte{[]byte("0"), []byte("1"), []byte("65535"), []byte("102400"), []byte("1000000"), []byte("not a number")}},
		{"config", [][]byte{nil}},
		{"vars", [][]byte{nil}},
		{"blocks", [][]byte{nil, []byte("moves all blocks"), large}},
	} {
		for i, input := range tt.inputs {
			t.Run(fmt.Sprint(tt.export, i), func(t *testing.T) {
				got := ours.Call(context.Background(), sandbox.Request{Export: tt.export, Input: input, Config: config})
				want := theirs.call(t, tt.export, input)
				compare(t, got, want)
			})
		}
	}
}

// An abiCall is one call of a function of Extism's ABI by a hand-made guest.
type abiCall struct {
	name    string
	args    []int64
	results int
}

// abiGuest makes the calls and puts out what they gave, eight bytes each. Its
// first block, which is for that, lies at 77 and so where every other one does.
func abiGuest(m *module, calls []abiCall) *module {
	params := map[string][]byte{"store_u8": {i64t, i32t}}
	results := map[string][]byte{"load_u8": {i32t}, "input_load_u8": {i32t}, "http_status_code": {i32t}, "get_log_level": {i32t}}
	functions := map[string]uint32{}
	declare := func(c abiCall) {
		p, r := bytes.Repeat([]byte{i64t}, len(c.args)), bytes.Repeat([]byte{i64t}, c.results)
		if special, ok := params[c.name]; ok {
			p = special
		}
		if special, ok := results[c.name]; ok {
			r = special
		}
		if _, ok := functions[c.name]; !ok {
			functions[c.name] = m.imported("extism:host/env", c.name, p, r)
		}
	}
	const room, first = 1024, 77
	calls = append([]abiCall{{"alloc", []int64{room}, 1}}, calls...)
	declare(abiCall{"store_u64", []int64{0, 0}, 0})
	declare(abiCall{"output_set", []int64{0, 0}, 0})
	for _, c := range calls {
		declare(c)
	}
	var body []byte
	for i, c := range calls {
		if c.results > 0 {
			body = append(body, i64c(first+8*int64(i))...)
		}
		for j, arg := range c.args {
			if p, ok := params[c.name]; ok && p[j] == i32t {
				body = append(body, i32c(int32(arg))...)
			} else {
				body = append(body, i64c(arg)...)
			}
		}
		body = append(body, callf(functions[c.name])...)
		if _, narrow := results[c.name]; narrow {
			body = append(body, i64extend...)
		}
		if c.results > 0 {
			body = append(body, callf(functions["store_u64"])...)
		}
	}
	return m.export("run", body, i64c(first), i64c(8*int64(len(calls))), callf(functions["output_set"]), i32c(0))
}

func TestTheABIAnswersAsTheReferenceHost(t *testing.T) {
	extism.SetLogLevel(extism.LogLevelTrace)
	const h = 77 + 1024 + 12 // the second block
	forgets := []abiCall{    // reset also clears what earlier calls gave
		{"alloc", []int64{10}, 1}, {"reset", nil, 0}, {"error_get", nil, 1}, {"output_length", nil, 1}, {"input_length", nil, 1},
		{"alloc", []int64{1024}, 1}, {"alloc", []int64{3}, 1}, {"memory_bytes", nil, 1},
	}
	answers := []abiCall{
		{"input_length", nil, 1}, {"input_offset", nil, 1}, {"input_load_u8", []int64{0}, 1}, {"memory_bytes", nil, 1},
		{"alloc", []int64{10}, 1}, {"length", []int64{h}, 1}, {"length_unsafe", []int64{h}, 1}, {"length", []int64{h + 1}, 1}, {"length", []int64{0}, 1},
		{"store_u64", []int64{h, 0x1122334455667788}, 0}, {"store_u8", []int64{h + 8, 0x1ff}, 0},
		{"load_u8", []int64{h + 1}, 1}, {"load_u8", []int64{h + 8}, 1}, {"load_u64", []int64{h}, 1}, {"load_u64", []int64{h + 2}, 1},
		{"error_set", []int64{h}, 0}, {"error_get", nil, 1}, {"error_set", []int64{0}, 0}, {"error_get", nil, 1},
		{"input_set", []int64{h, 9}, 0}, {"input_length", nil, 1}, {"input_offset", nil, 1},
		{"input_load_u8", []int64{8}, 1}, {"input_load_u8", []int64{9}, 1}, {"input_load_u8", []int64{-1}, 1},
		{"output_set", []int64{h + 2, 3}, 0}, {"output_offset", nil, 1}, {"output_length", nil, 1}, {"output_set", []int64{0, 0}, 0}, {"output_length", nil, 1},
		{"config_get", []int64{0}, 1}, {"var_get", []int64{0}, 1}, {"var_set", []int64{0, 0}, 0}, {"log_info", []int64{0}, 0},
		{"http_status_code", nil, 1}, {"http_headers", nil, 1}, {"get_log_level", nil, 1},
		{"free", []int64{h}, 0}, {"length", []int64{h}, 1}, {"length_unsafe", []int64{h}, 1}, {"input_length", nil, 1}, {"free", []int64{h}, 0}, {"free", []int64{0}, 0},
		{"alloc", []int64{0}, 1}, {"alloc", []int64{100_000}, 1}, {"memory_bytes", nil, 1}, {"load_u8", []int64{h + 50_000}, 1},
	}
	for _, calls := range [][]abiCall{answers, forgets} {
		m := abiGuest(newModule(), calls)
		got, want := load(t, m, abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "run"}), newPeer(t, m.bytes(), nil, 60_000).call(t, "run", nil)
		compare(t, got, want)
		for i, c := range calls {
			at := 8 * (i + 1) // the first result is that of the block for them
			if g, w := got.Output[at:at+8], want.output[at:at+8]; !bytes.Equal(g, w) {
				t.Errorf("%s%v (%d) gives %d, under the reference %d", c.name, c.args, i, binary.LittleEndian.Uint64(g), binary.LittleEndian.Uint64(w))
			}
		}
	}
}

// The reference's input_load_u64 knows the input that the call began with, and
// its input_load_u8 the one that was set.
func TestEveryInputLoadReadsTheInputThatWasSet(t *testing.T) {
	const h = 77 + 1024 + 12
	m := abiGuest(newModule(), []abiCall{
		{"alloc", []int64{10}, 1}, {"store_u64", []int64{h, 0x1122334455667788}, 0}, {"input_set", []int64{h, 10}, 0},
		{"input_load_u8", []int64{0}, 1}, {"input_load_u64", []int64{0}, 1},
	})
	got := load(t, m, abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "run"})
	want := newPeer(t, m.bytes(), nil, 60_000).call(t, "run", nil)
	const narrow, wide = 8 * 4, 8 * 5
	if got.Problem != nil || got.Output[narrow] != 0x88 || binary.LittleEndian.Uint64(got.Output[wide:]) != 0x1122334455667788 {
		t.Errorf("it gives %x %v", got.Output, got.Problem)
	}
	if want.err != nil || want.output[narrow] != 0x88 || binary.LittleEndian.Uint64(want.output[wide:]) == 0x1122334455667788 {
		t.Errorf("the reference gives %x %v", want.output, want.err)
	}
}

func TestTrapsAreThoseOfTheReferenceHost(t *testing.T) {
	for name, build := range map[string]func() *module{
		"unreachable":                 func() *module { return newModule().export("run", unreachable) },
		"integer divide by zero":      func() *module { return newModule().export("run", i32c(1), i32c(0), i32div) },
		"out of bounds memory access": func() *module { return newModule().export("run", i32c(-8), i32load) },
		"stack overflow": func() *module {
			return newModule().export("run", callf(0), i32c(1), i32add)
		},
		"invalid table access": func() *module {
			m := newModule()
			m.pages, m.extra = -1, slices.Concat([]byte{4}, vector([]byte{1, 0x70, 0, 1}))
			t := m.typeOf(nil, nil)
			return m.export("run", i32c(0), append([]byte{0x11}, uleb(t)...), []byte{0}, i32c(0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := build()
			got := load(t, m, abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "run"})
			want := newPeer(t, m.bytes(), nil, 60_000).call(t, "run", nil)
			if want.err == nil || !strings.Contains(want.err.Error(), name) {
				t.Fatalf("the reference gives %v", want.err)
			}
			if got.Problem == nil || got.Problem.Code != abi.Trap || !strings.Contains(got.Problem.Message, name) || strings.Contains(got.Problem.Message, "\n") {
				t.Errorf("got %v, want a trap in one line", got.Problem)
			}
			if len(got.Logs) != 1 || got.Logs[0].Level != sandbox.LevelHost {
				t.Errorf("logs are %q, want the stack for operators", got.Logs)
			}
		})
	}
}

// What is not as under the reference host, on purpose; doc.go lists the same.
func TestDifferencesFromTheReferenceHost(t *testing.T) {
	extism.SetLogLevel(extism.LogLevelTrace)
	goMade := sandboxtest.Build(t, "host/sandbox/testdata/pdk")
	hand := func(f func(m *module, a abiImports)) []byte {
		m := newModule()
		f(m, m.abi())
		return m.bytes()
	}
	run := func(body func(a abiImports) [][]byte) []byte {
		return hand(func(m *module, a abiImports) { m.export("run", slices.Concat(body(a)...), i32c(0)) })
	}
	for _, tt := range []struct {
		name   string
		wasm   []byte
		export string
		theirs string // part of the reference's error; "" is success
		ours   abi.Code
	}{
		{"http_request is refused where nothing is granted, and not for its host", goMade, "http", "is not allowed", abi.NotGranted},
		{"too many variables are a limit, not a trap", goMade, "vars_too_many", "Variable store is full", abi.QuotaReached},
		{"an exit with 0 in the middle is no success", hand(func(m *module, _ abiImports) {
			exit := m.imported("wasi_snapshot_preview1", "proc_exit", []byte{i32t}, nil)
			m.export("run", i32c(0), callf(exit), i32c(0))
		}), "run", "", abi.GuestExit},
		{"an output outside the blocks is not dropped", run(func(a abiImports) [][]byte {
			return [][]byte{i64c(1 << 20), i64c(10), callf(a.outputSet)}
		}), "run", "", abi.BadHostCall},
		{"an error outside the blocks is not dropped", run(func(a abiImports) [][]byte {
			return [][]byte{i64c(1 << 33), callf(a.errorSet)}
		}), "run", "", abi.BadHostCall},
		{"a store outside the memory names the call", run(func(a abiImports) [][]byte {
			return [][]byte{i64c(1 << 30), i64c(10), callf(a.store64)}
		}), "run", "could not write value", abi.BadHostCall},
		{"a store at 4 GiB does not wrap around", run(func(a abiImports) [][]byte {
			return [][]byte{i64c(1<<32 + 100), i64c(10), callf(a.store64)}
		}), "run", "", abi.BadHostCall},
		{"a block that cannot be had ends the call", run(func(a abiImports) [][]byte {
			return [][]byte{i64c(1 << 40), callf(a.alloc), drop}
		}), "run", "", abi.OutOfMemory},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := newPeer(t, tt.wasm, nil, 60_000).call(t, tt.export, nil)
			if (want.err == nil) != (tt.theirs == "") || want.err != nil && !strings.Contains(want.err.Error(), tt.theirs) {
				t.Errorf("the reference gives %v, want %q", want.err, tt.theirs)
			}
			got := sandboxtest.Load(t, tt.wasm, patient(abi.Limits{})).Call(context.Background(), sandbox.Request{Export: tt.export})
			if got.Problem == nil || got.Problem.Code != tt.ours || got.Output != nil {
				t.Errorf("we give %v and %q, want code %d", got.Problem, got.Output, tt.ours)
			}
		})
	}
}
