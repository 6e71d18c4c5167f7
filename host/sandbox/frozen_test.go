package sandbox_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

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
