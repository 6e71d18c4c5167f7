//go:build !race

package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// Every skill of this repository, in a slot that is used again and again and in
// a fresh instance for each call, gives the same bytes and asks the host for
// the same things.
func TestFrozenAndFreshGiveTheSameBytes(t *testing.T) { frozenAndFresh(t, 60) }

func frozenAndFresh(t *testing.T, inputs int) {
	for _, pkg := range []string{"skills/shop/catalog", "skills/shop/coupons", "skills/shop/pricing", "skills/shop/stage", "skills/airline"} {
		t.Run(pkg, func(t *testing.T) {
			wasm := sandboxtest.Build(t, pkg)
			sandboxtest.WarmFresh(t, wasm)
			skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
			frozen := sandboxtest.Load(t, wasm, patient(abi.Limits{}))
			if info := frozen.Info(); !info.Frozen {
				t.Fatalf("it is not frozen: %s", info.Refusal)
			}
			fresh, err := newSandbox(t, sandbox.Config{CacheDir: sandboxtest.CacheDir(t), Fresh: true}).Load(context.Background(), wasm, patient(abi.Limits{}))
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(uint64(len(pkg)), 7))
			ok := 0
			for i := range inputs {
				in := randomInvocation(t, random, &skill.Manifest)
				want, got := in.run(fresh), in.run(frozen)
				if got != want {
					t.Fatalf("input %d, %s\nfrozen gives %s\nfresh gives  %s", i, in.input, got, want)
				}
				if strings.Contains(want, `"ok":true`) {
					ok++
				}
			}
			if ok == 0 {
				t.Error("no input succeeded, which shows little")
			}
		})
	}
}

// A trial is one input with the store that it finds.
type trial struct {
	input []byte
	seed  [32]byte
	kv    map[string][]byte
}

// randomInvocation makes an input of one tool's example, with parts of other
// examples here and there.
func randomInvocation(t *testing.T, random *rand.Rand, m *abi.Manifest) trial {
	t.Helper()
	tool := m.Tools[random.IntN(len(m.Tools))]
	example := tool.Examples[random.IntN(len(tool.Examples))]
	var args map[string]any
	if err := json.Unmarshal(example.Args, &args); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		switch v := args[name].(type) {
		case float64:
			if random.IntN(3) == 0 {
				args[name] = v * float64(random.IntN(4))
			}
		case string:
			if random.IntN(4) == 0 {
				args[name] = v[:random.IntN(len(v)+1)]
			}
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	tr := trial{kv: map[string][]byte{}}
	for key, value := range example.KV {
		if random.IntN(10) > 0 {
			tr.kv[key] = value
		}
	}
	tr.input, err = json.Marshal(abi.Invocation{ABI: abi.Version, Tool: tool.Name, Args: raw, State: example.State,
		Call: abi.CallInfo{ID: fmt.Sprint("call_", random.Uint32()), Attempt: 1, Now: time.Unix(random.Int64N(2e9), 0).UTC(), Tenant: "t", Locale: "zh-CN"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tr.seed {
		tr.seed[i] = byte(random.Uint32())
	}
	return tr
}

// run gives everything that a call gives and asks, as text.
func (tr trial) run(m *sandbox.Module) string {
	kv, asked := maps.Clone(tr.kv), &strings.Builder{}
	tell := func(name string, args [][]byte) { fmt.Fprintf(asked, "%s%.200q ", name, args) }
	functions := []sandbox.Function{
		{Name: abi.FuncKVGet, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			tell("get", args)
			return kv[string(args[0])], nil
		}},
		{Name: abi.FuncKVPut, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			tell("put", args)
			kv[string(args[0])] = args[1]
			return nil, nil
		}},
		{Name: abi.FuncKVDelete, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			tell("delete", args)
			delete(kv, string(args[0]))
			return nil, nil
		}},
		{Name: abi.FuncKVScan, Call: func(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
			tell("scan", args)
			return scan(kv, args[0])
		}},
	}
	res := m.Call(context.Background(), sandbox.Request{Export: abi.ExportInvoke, Input: tr.input, Functions: functions, Seed: tr.seed, Now: time.Unix(1_700_000_000, 0)})
	problem := ""
	if res.Problem != nil {
		problem = res.Problem.Error()
	}
	return fmt.Sprintf("%s exit %d, %q, problem %q, logs %q, asked %s", res.Output, res.Exit, res.GuestError, problem, res.Logs, asked)
}

func scan(kv map[string][]byte, query []byte) ([]byte, *abi.Problem) {
	var q abi.ScanQuery
	if err := json.Unmarshal(query, &q); err != nil {
		return nil, abi.NewProblem(abi.BadHostCall, "%v", err)
	}
	var page abi.Page
	for _, key := range slices.Sorted(maps.Keys(kv)) {
		if strings.HasPrefix(key, q.Prefix) && key > q.After {
			page.Entries = append(page.Entries, abi.Entry{Key: key, Value: kv[key]})
		}
	}
	return page.Encode(), nil
}

// What keeps a module from being frozen, and that it runs all the same.
func TestWhatCannotBeFrozenRunsFresh(t *testing.T) {
	counts := func(m *module) *module { // how often it was called in one instance
		return m.export(abi.ExportABI, i32c(8), i32c(8), i32load, i32c(1), i32add, i32store, i32c(8), i32load)
	}
	for name, tt := range map[string]struct {
		m    *module
		want string // in the refusal; "" is frozen
	}{
		"a plain guest": {counts(newModule()), ""},
		"a start that calls the host": {func() *module {
			m := newModule()
			alloc := m.imported(env, "alloc", []byte{i64t}, []byte{i64t})
			m.start = int(m.function(nil, nil, 0, i64c(8), callf(alloc), drop))
			return counts(m)
		}(), "calls alloc of extism:host/env"},
		"a start that closes a stream": {func() *module {
			m := newModule()
			closeFD := m.imported(wasi, "fd_close", []byte{i32t}, []byte{i32t})
			m.exportAs("_initialize", m.function(nil, nil, 0, i32c(1), callf(closeFD), drop))
			return counts(m)
		}(), "calls fd_close"},
		"a start that only reads the clock": {func() *module {
			m := newModule()
			now := m.imported(wasi, "clock_time_get", []byte{i32t, i64t, i32t}, []byte{i32t})
			m.exportAs("_initialize", m.function(nil, nil, 0, i32c(0), i64c(0), i32c(64), callf(now), drop))
			return counts(m)
		}(), ""},
		"a guest that changes its table": {func() *module {
			m := newModule()
			m.tables = []byte{1, 0x70, 0, 1}
			m.export("run", i32c(0), []byte{0xd0, 0x70}, []byte{0x26, 0}, i32c(0))
			return counts(m)
		}(), "table.set"},
		"much memory": {func() *module {
			m := newModule()
			m.pages = 1100
			return counts(m)
		}(), "too much memory"},
	} {
		t.Run(name, func(t *testing.T) {
			m := load(t, tt.m, abi.Limits{Memory: 128 * abi.MiB})
			info := m.Info()
			if info.Frozen != (tt.want == "") || !strings.Contains(info.Refusal, tt.want) {
				t.Errorf("it is %+v, want a refusal with %q", info, tt.want)
			}
			for range 5 {
				if res := m.Call(context.Background(), sandbox.Request{Export: abi.ExportABI}); res.Problem != nil || res.Exit != 1 {
					t.Fatalf("it was called %d times before (%v)", res.Exit-1, res.Problem)
				}
			}
		})
	}
}

// The image of a start holds what the start wrote, and the export that warms.
func TestAStartRunsOnceAndItsStateIsThereInEveryCall(t *testing.T) {
	m := newModule()
	add := func(n int32) [][]byte { return [][]byte{i32c(8), i32c(8), i32load, i32c(n), i32add, i32store} }
	m.data = make([]byte, 16)
	m.data[8] = 100
	m.start = int(m.function(nil, nil, 0, add(1)...))
	m.exportAs("_initialize", m.function(nil, nil, 0, add(10)...))
	m.exportAs(abi.ExportWarm, m.function(nil, nil, 0, add(50)...))
	m.export(abi.ExportABI, slices.Concat(add(3), [][]byte{i32c(8), i32load})...)
	loaded := load(t, m, abi.Limits{})
	if info := loaded.Info(); !info.Frozen || info.StartFuel < 10 || info.Memory != abi.PageBytes {
		t.Errorf("it is %+v", info)
	}
	for range 3 {
		if res := loaded.Call(context.Background(), sandbox.Request{Export: abi.ExportABI}); res.Exit != 164 {
			t.Fatalf("it gave %d, want 100+1+10+50+3 (%v)", res.Exit, res.Problem)
		}
	}
	fresh, err := newSandbox(t, sandbox.Config{Fresh: true}).Load(context.Background(), m.bytes(), abi.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if res := fresh.Call(context.Background(), sandbox.Request{Export: abi.ExportABI}); res.Exit != 114 || fresh.Info().Frozen {
		t.Errorf("fresh it gave %d, want 100+1+10+3", res.Exit)
	}
}
