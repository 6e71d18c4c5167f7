package sandbox_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// patient gives limits the longest deadline and the most fuel, unless they have
// their own: tests run on busy machines.
func patient(limits abi.Limits) abi.Limits {
	return limits.WithDefaults(abi.Limits{Deadline: abi.CeilingLimits().Deadline, Fuel: abi.CeilingLimits().Fuel})
}

func probe(t testing.TB, limits abi.Limits) *sandbox.Module {
	t.Helper()
	return sandboxtest.Load(t, sandboxtest.Build(t, "host/sandbox/testdata/probe"), patient(limits))
}

func pdk(t testing.TB, limits abi.Limits) *sandbox.Module {
	t.Helper()
	return sandboxtest.Load(t, sandboxtest.Build(t, "host/sandbox/testdata/pdk"), patient(limits))
}

// run calls an export that must not fail.
func run(t testing.TB, m *sandbox.Module, req sandbox.Request) string {
	t.Helper()
	res := m.Call(context.Background(), req)
	if res.Problem != nil {
		t.Fatalf("%s: %v %q", req.Export, res.Problem, res.Logs)
	}
	return string(res.Output)
}

// wantProblem holds a result to a code and to texts in its message.
func wantProblem(t testing.TB, res sandbox.Result, code abi.Code, texts ...string) {
	t.Helper()
	if res.Problem == nil {
		t.Fatalf("it succeeded with %.100q, want problem %d", res.Output, code)
	}
	if res.Problem.Code != code {
		t.Errorf("got %v, want code %d", res.Problem, code)
	}
	for _, text := range texts {
		if !strings.Contains(res.Problem.Message, text) {
			t.Errorf("got %q, want %q in it", res.Problem.Message, text)
		}
	}
}

func TestEveryCallHasAFreshInstance(t *testing.T) {
	m := probe(t, abi.Limits{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if got := m.Call(context.Background(), sandbox.Request{Export: "count"}); string(got.Output) != "1" {
					t.Errorf("count gave %q %v, want 1", got.Output, got.Problem)
				}
			}
		})
	}
	wg.Wait()
}

func TestACallLeavesNothingForTheNext(t *testing.T) {
	m := pdk(t, abi.Limits{})
	want := run(t, m, sandbox.Request{Export: "vars"})
	for _, spoiler := range []string{"fail_with_output", "long_error", "http", "echo"} {
		m.Call(context.Background(), sandbox.Request{Export: spoiler, Input: []byte("secret")})
		if got := run(t, m, sandbox.Request{Export: "vars"}); got != want {
			t.Errorf("after %s vars gave %s, want %s", spoiler, got, want)
		}
		if got := run(t, m, sandbox.Request{Export: "empty"}); got != "" {
			t.Errorf("after %s empty gave %q", spoiler, got)
		}
	}
}

func TestUsageIsWhatTheCallCost(t *testing.T) {
	m := probe(t, abi.Limits{})
	get := sandbox.Function{Name: abi.FuncKVGet, Call: func(context.Context, [][]byte) ([]byte, *abi.Problem) { return []byte("v"), nil }}
	res := m.Call(context.Background(), sandbox.Request{Export: "get", Input: []byte("key"), Functions: []sandbox.Function{get}})
	u := res.Usage
	if u.InputBytes != 3 || u.OutputBytes != len("block v") || u.HostCalls != 1 || u.Fuel < 1000 || u.Fuel > 100_000 {
		t.Errorf("usage is %+v", u)
	}
	if u.PeakMemory < abi.MiB || u.PeakMemory > 32*abi.MiB || u.PeakMemory%abi.PageBytes != 0 || u.Elapsed <= 0 {
		t.Errorf("usage is %+v", u)
	}
	more := m.Call(context.Background(), sandbox.Request{Export: "take", Input: []byte("8")}).Usage.PeakMemory
	if more < u.PeakMemory+4*abi.MiB {
		t.Errorf("8 MiB more made the peak %v, and %v without", more, u.PeakMemory)
	}
}

func TestDeadlineEndsAGuest(t *testing.T) {
	forever := func() *module { return newModule().export("run", loopForever, i32c(0)) }
	m := forever()
	start := m.function(nil, nil, 0, loopForever)
	startLoops := forever()
	startLoops.start = int(startLoops.function(nil, nil, 0, loopForever))
	for name, wasm := range map[string]*module{
		"a loop":                      forever(),
		"a start function that loops": startLoops,
		"an _initialize that loops":   m.exportAs("_initialize", start),
		"a loop that grows and grows": newModule().export("run", loop(i32c(0), memoryGrow, drop, branch(0)), i32c(0)),
		"a loop in a function that it calls": func() *module {
			m := newModule()
			f := m.function(nil, nil, 0, loopForever)
			return m.export("run", callf(f), i32c(0))
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			loaded := load(t, wasm, abi.Limits{Deadline: abi.Duration(50 * time.Millisecond)})
			wantProblem(t, loaded.Call(context.Background(), sandbox.Request{Export: "run"}), abi.Deadline, "its deadline is 50ms")
		})
	}
	probes := probe(t, abi.Limits{})
	for _, export := range []string{"spin", "sleep_for_ever"} {
		for _, clock := range []bool{false, true} {
			res := probes.Call(context.Background(), sandbox.Request{Export: export, Deadline: 50 * time.Millisecond, Clock: clock})
			wantProblem(t, res, abi.Deadline, "its deadline is 50ms")
			if res.Exit != 0 {
				t.Errorf("%s: exit is %d; the host ended it", export, res.Exit)
			}
		}
	}
}

func TestARequestCanOnlyShrinkTheDeadline(t *testing.T) {
	m := load(t, newModule().export("run", loopForever, i32c(0)), abi.Limits{Deadline: abi.Duration(50 * time.Millisecond)})
	for ask, want := range map[time.Duration]string{0: "50ms", time.Hour: "50ms", 20 * time.Millisecond: "20ms", -1: "-1ns"} {
		wantProblem(t, m.Call(context.Background(), sandbox.Request{Export: "run", Deadline: ask}), abi.Deadline, "its deadline is "+want)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	wantProblem(t, m.Call(ctx, sandbox.Request{Export: "run"}), abi.Deadline)
}

func TestTheCallerCanStopACall(t *testing.T) {
	m := load(t, newModule().export("run", loopForever, i32c(0)), abi.Limits{})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	wantProblem(t, m.Call(ctx, sandbox.Request{Export: "run"}), abi.Cancelled)
	wantProblem(t, m.Call(ctx, sandbox.Request{Export: "run"}), abi.Cancelled) // before it begins
}

func TestMemoryIsHeldToItsLimit(t *testing.T) {
	m := probe(t, abi.Limits{Memory: 8 * abi.MiB})
	if got := run(t, m, sandbox.Request{Export: "take", Input: []byte("2")}); got != "2" {
		t.Errorf("2 MiB gave %q", got)
	}
	res := m.Call(context.Background(), sandbox.Request{Export: "take", Input: []byte("1000")})
	wantProblem(t, res, abi.OutOfMemory, "limits.memory allows 8388608 (8MiB)")
	if res.Usage.PeakMemory > 8*abi.MiB {
		t.Errorf("the peak is %v", res.Usage.PeakMemory)
	}

	// grow asks for so many pages more and gives the size before, or -1.
	grow := func(pages int32) [][]byte { return [][]byte{i32c(pages), memoryGrow} }
	for _, tt := range []struct {
		name string
		m    *module
		code abi.Code // 0 is success
		exit uint32
		peak abi.Size
	}{
		{"growing to the limit", newModule().export("run", slices.Concat(grow(15)...), i32c(-1), i32add), 0, 0, abi.MiB},
		{"a guest that copes with a refusal", newModule().export("run", slices.Concat(grow(16)...), i32c(1), i32add), 0, 0, abi.PageBytes},
		{"a guest that dies of a refusal", newModule().export("run", slices.Concat(grow(16)...), drop, unreachable), abi.OutOfMemory, 0, abi.PageBytes},
		{"a guest that dies without one", newModule().export("run", unreachable), abi.Trap, 0, abi.PageBytes},
		{"a guest that asks for 4 GiB and dies", newModule().export("run", slices.Concat(grow(65535)...), drop, unreachable), abi.OutOfMemory, 0, abi.PageBytes},
		{"a bomb that grows page by page", newModule().export("run", loop(i32c(1), memoryGrow, i32c(1), i32add, []byte{0x0d, 0}), unreachable), abi.OutOfMemory, 0, abi.MiB},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := load(t, tt.m, abi.Limits{Memory: abi.MiB}).Call(context.Background(), sandbox.Request{Export: "run"})
			if tt.code == 0 && res.Problem != nil {
				t.Errorf("it failed: %v", res.Problem)
			} else if tt.code != 0 {
				wantProblem(t, res, tt.code)
			}
			if res.Usage.PeakMemory != tt.peak {
				t.Errorf("the peak is %v, want %v", res.Usage.PeakMemory, tt.peak)
			}
		})
	}
}

func TestBlocksAreHeldToTheirLimit(t *testing.T) {
	for name, size := range map[string]int64{"small": 1, "large": 100_000, "as large as the limit": 3 << 20, "of 4 GiB": 1 << 32, "of any size": -1} {
		t.Run(name, func(t *testing.T) {
			m := newModule()
			a := m.abi()
			loaded := load(t, m.export("run", loop(i64c(size), callf(a.alloc), drop, branch(0)), i32c(0)),
				abi.Limits{Memory: abi.MiB, Input: abi.MiB, Output: abi.MiB})
			wantProblem(t, loaded.Call(context.Background(), sandbox.Request{Export: "run"}), abi.OutOfMemory, "all blocks of a call may have 3145728 bytes")
		})
	}
}

func TestInputAndOutputAreHeldToTheirLimits(t *testing.T) {
	m := pdk(t, abi.Limits{Input: 1000, Output: 2000})
	if got := run(t, m, sandbox.Request{Export: "echo", Input: make([]byte, 1000)}); len(got) != 1000 {
		t.Errorf("an input of the limit gave %d bytes", len(got))
	}
	wantProblem(t, m.Call(context.Background(), sandbox.Request{Export: "echo", Input: make([]byte, 1001)}), abi.InputLimit, "1001 bytes", "allows 1000")
	if got := run(t, m, sandbox.Request{Export: "produce", Input: []byte("2000")}); len(got) != 2000 {
		t.Errorf("an output of the limit gave %d bytes", len(got))
	}
	res := m.Call(context.Background(), sandbox.Request{Export: "produce", Input: []byte("2001")})
	wantProblem(t, res, abi.OutputLimit, "2001 bytes", "allows 2000")
	if res.Output != nil {
		t.Error("an output above the limit was given in part")
	}
}

func TestAGuestThatFailsIsNeverASuccess(t *testing.T) {
	m := probe(t, abi.Limits{})
	for _, code := range []uint32{0, 1, 3, 255} {
		res := m.Call(context.Background(), sandbox.Request{Export: "exit", Input: fmt.Append(nil, code)})
		wantProblem(t, res, abi.GuestExit, fmt.Sprintf("exit code %d", code))
		if res.Exit != code || res.Output != nil {
			t.Errorf("exit is %d with output %q, want %d", res.Exit, res.Output, code)
		}
	}
	res := m.Call(context.Background(), sandbox.Request{Export: "panics"})
	wantProblem(t, res, abi.Trap, "unreachable: panic: the handler is broken")
	if strings.Contains(res.Problem.Message, "\n") {
		t.Errorf("the message has a stack: %q", res.Problem.Message)
	}
	if len(res.Logs) == 0 || res.Logs[0] != (sandbox.Log{Level: sandbox.LevelStderr, Text: "panic: the handler is broken"}) {
		t.Errorf("logs are %q, want the panic first", res.Logs)
	}
}

func TestTheErrorTextOfAGuestIsBounded(t *testing.T) {
	m := newModule()
	a := m.abi()
	loaded := load(t, m.export("run", i64c(1<<20), callf(a.alloc), callf(a.errorSet), i32c(1)), abi.Limits{})
	res := loaded.Call(context.Background(), sandbox.Request{Export: "run"})
	if len(res.GuestError) != 64<<10 {
		t.Errorf("the error has %d bytes", len(res.GuestError))
	}
	if n := len(res.Problem.Message); n > 2<<10 {
		t.Errorf("the message has %d bytes", n)
	}
}

func TestTheVersionExportMayReturnAnything(t *testing.T) {
	m := newModule().export(abi.ExportABI, i32c(1)).export("other", i32c(1))
	loaded := load(t, m, abi.Limits{})
	if res := loaded.Call(context.Background(), sandbox.Request{Export: abi.ExportABI}); res.Problem != nil || res.Exit != 1 {
		t.Errorf("%s gave %d and %v", abi.ExportABI, res.Exit, res.Problem)
	}
	wantProblem(t, loaded.Call(context.Background(), sandbox.Request{Export: "other"}), abi.GuestExit, "other returned 1")
}

// The runtime of a guest's language is started as the reference host does.
func TestRuntimesAreStarted(t *testing.T) {
	// Every initialiser appends its digit to the number at address 0.
	digit := func(d int32) []byte {
		return slices.Concat(i32c(0), i32c(0), i32load, i32c(10), []byte{0x6c}, i32c(d), i32add, i32store)
	}
	for want, exports := range map[uint32]map[string]int32{
		0:  {},
		1:  {"_initialize": 1},
		2:  {"__wasm_call_ctors": 2},
		3:  {"_initialize": 3, "__wasm_call_ctors": 4},
		5:  {"hs_init": 5},
		67: {"_initialize": 6, "hs_init": 7},
		8:  {"__wasm_call_ctors": 9, "hs_init": 8},
	} {
		m := newModule()
		for name, d := range exports {
			var params []byte
			if name == "hs_init" {
				params = []byte{i32t, i32t}
			}
			m.exportAs(name, m.function(params, nil, 0, digit(d)))
		}
		res := load(t, m.export(abi.ExportABI, i32c(0), i32load), abi.Limits{}).Call(context.Background(), sandbox.Request{Export: abi.ExportABI})
		if res.Problem != nil || res.Exit != want {
			t.Errorf("%v ran as %d (%v), want %d", exports, res.Exit, res.Problem, want)
		}
	}
	trap := newModule()
	trap.exportAs("_initialize", trap.function(nil, nil, 0, unreachable))
	wantProblem(t, load(t, trap.export("run", i32c(0)), abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "run"}), abi.Trap)
	start := newModule()
	start.start = int(start.function(nil, nil, 0, unreachable))
	wantProblem(t, load(t, start.export("run", i32c(0)), abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "run"}), abi.Trap)
}

func TestLogsAreKeptInOrderByLine(t *testing.T) {
	res := probe(t, abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "print_lines"})
	want := []sandbox.Log{{"stdout", "one"}, {"stdout", "two"}, {"stderr", "three and four"}, {"stderr", ""}, {"info", "logged"}, {"stderr", "unfinished"}}
	if !slices.Equal(res.Logs, want) || res.LogsCut != 0 {
		t.Errorf("logs are %q, %d cut; want %q", res.Logs, res.LogsCut, want)
	}
}

func TestLogFloodsAreCutAndCounted(t *testing.T) {
	const limit = 10 << 10
	m := probe(t, abi.Limits{Logs: limit})
	res := m.Call(context.Background(), sandbox.Request{Export: "print", Input: []byte("1")})
	if res.Problem != nil {
		t.Fatal(res.Problem)
	}
	kept := 0
	for _, l := range res.Logs {
		kept += len(l.Text)
	}
	if newlines := len(res.Logs); kept+res.LogsCut < 1<<20-1024 || kept+res.LogsCut+newlines > 1<<20+newlines || kept > limit {
		t.Errorf("of 1 MiB %d bytes were kept and %d cut", kept, res.LogsCut)
	}
}

// A guest that prints without end ends by its deadline, and the host holds no more
// than the limit.
func TestAPrintStormIsBounded(t *testing.T) {
	m := probe(t, abi.Limits{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for export, input := range map[string]string{"print": "1000000", "log_storm": ""} {
		res := m.Call(context.Background(), sandbox.Request{Export: export, Input: []byte(input), Deadline: time.Second})
		wantProblem(t, res, abi.Deadline)
		if res.LogsCut == 0 || len(res.Logs) == 0 {
			t.Errorf("%s: %d logs kept, %d bytes cut", export, len(res.Logs), res.LogsCut)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the host's heap grew by %d bytes", grown)
	}
}

func TestBadHandlesEndTheCall(t *testing.T) {
	const env = "extism:host/env"
	one, two := []byte{i64t}, []byte{i64t, i64t}
	functions := map[string]struct{ params, results []byte }{
		"error_set": {one, nil}, "config_get": {one, one}, "var_get": {one, one}, "var_set": {two, nil},
		"log_info": {one, nil}, "log_error": {one, nil}, "output_set": {two, nil}, "input_set": {two, nil},
		"load_u8": {one, []byte{i32t}}, "load_u64": {one, one}, "store_u8": {[]byte{i64t, i32t}, nil}, "store_u64": {two, nil},
		"input_load_u64": {one, one},
	}
	for name, f := range functions {
		for _, bad := range []int64{1 << 30, 1 << 32, 1<<32 + 77, 1 << 62, -1, -8} {
			m := newModule()
			host := m.imported(env, name, f.params, f.results)
			args := i64c(bad)
			for _, p := range f.params[1:] {
				if p == i32t {
					args = append(args, i32c(1)...)
				} else {
					args = append(args, i64c(1)...)
				}
			}
			body := slices.Concat(args, callf(host))
			for range f.results {
				body = append(body, drop...)
			}
			res := load(t, m.export("run", body, i32c(0)), abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "run"})
			if res.Problem == nil || res.Problem.Code != abi.BadHostCall || !strings.Contains(res.Problem.Message, name) {
				t.Errorf("%s(%d) gave %v, want a bad host call", name, bad, res.Problem)
			}
		}
	}
}
