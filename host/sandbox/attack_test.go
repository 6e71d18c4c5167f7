package sandbox_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

// An attack is a guest whose export "run" takes what it can get, beside an
// export "good" that behaves.
type attack struct {
	guest *module
	codes []abi.Code // one of which ends it
}

func attacker(build func(m *module) [][]byte) *module {
	m := newModule()
	body := build(m)
	m.export("run", body...)
	return m.export("good", i32c(0), i32c(1), i32store, i32c(4), i32load)
}

// bulk makes an instruction of bulk memory.
func bulk(op byte, rest ...byte) []byte { return append([]byte{0xfc, op}, rest...) }

func attacks() map[string]attack {
	fuel, trap := []abi.Code{abi.OutOfFuel}, []abi.Code{abi.Trap}
	forever := func(body ...[]byte) func(*module) [][]byte {
		return func(*module) [][]byte { return [][]byte{loop(append(body, branch(0))...), i32c(0)} }
	}
	withTable := func(m *module, functions ...uint32) {
		m.tables = append([]byte{1, 0x70, 0}, uleb(uint32(len(functions)))...)
		items := uleb(uint32(len(functions)))
		for _, f := range functions {
			items = append(items, uleb(f)...)
		}
		m.elements = slices.Concat([]byte{1, 0}, i32c(0), end, items)
	}
	return map[string]attack{
		"a bare loop":                {attacker(forever()), fuel},
		"a loop by br_if":            {attacker(func(*module) [][]byte { return [][]byte{loop(i32c(1), brIf(0)), i32c(0)} }), fuel},
		"a loop by br_table":         {attacker(func(*module) [][]byte { return [][]byte{loop(i32c(5), []byte{0x0e, 2, 0, 0, 0}), i32c(0)} }), fuel},
		"loops in loops":             {attacker(forever(loop(loop(i32c(1), drop, branch(2))))), fuel},
		"a loop in an if":            {attacker(forever(i32c(1), ifThen(branch(1)))), fuel},
		"a call tree without a loop": {attacker(callTree), fuel},
		"recursion":                  {attacker(func(m *module) [][]byte { return [][]byte{callf(m.nImports + m.nFunctions)} }), trap},
		"recursion with many locals": {attacker(manyLocals), trap},
		"two that call each other":   {attacker(mutual), trap},
		"indirect recursion": {attacker(func(m *module) [][]byte {
			self := m.nImports + m.nFunctions
			withTable(m, self)
			return [][]byte{i32c(0), append([]byte{0x11}, append(uleb(m.typeOf(nil, []byte{i32t})), 0)...)}
		}), trap},
		"an indirect call tree": {attacker(func(m *module) [][]byte {
			t := m.typeOf(nil, nil)
			leaf := m.function(nil, nil, 0)
			table := []uint32{leaf}
			for i := range 40 {
				call := slices.Concat(i32c(int32(i)), []byte{0x11}, uleb(t), []byte{0})
				table = append(table, m.function(nil, nil, 0, call, call))
			}
			withTable(m, table...)
			return [][]byte{i32c(40), slices.Concat([]byte{0x11}, uleb(t), []byte{0}), i32c(0)}
		}), fuel},
		"filling memory again and again": {attacker(forever(i32c(0), i32c(1), i32c(65536), bulk(11, 0))), fuel},
		"copying memory again and again": {attacker(forever(i32c(0), i32c(8), i32c(65528), bulk(10, 0, 0))), fuel},
		"growing by nothing":             {attacker(forever(i32c(0), memoryGrow, drop)), fuel},
		"growing page by page":           {attacker(forever(i32c(1), memoryGrow, i32c(0), []byte{0x48}, ifThen(unreachable))), []abi.Code{abi.OutOfMemory}},
		"growing at once":                {attacker(forever(i32c(60000), memoryGrow, drop)), fuel},
		"a table that grows": {attacker(func(m *module) [][]byte {
			m.tables = []byte{1, 0x70, 0, 1}
			return [][]byte{loop([]byte{0xd0, 0x70}, i32c(1000), bulk(15, 0), drop, branch(0)), i32c(0)}
		}), fuel},
		"a table that has grown to more than it may": {attacker(func(m *module) [][]byte {
			m.tables = []byte{1, 0x70, 0, 1}
			grow := func(n int32) []byte { return slices.Concat([]byte{0xd0, 0x70}, i32c(n), bulk(15, 0)) }
			return [][]byte{ // it may have a million items, and not one more
				grow(1<<20 - 1), i32c(1), []byte{0x47}, ifThen(unreachable),
				grow(1), i32c(-1), []byte{0x46}, ifThen(loopForever), i32c(0)}
		}), fuel},
		"a flood of blocks": {attacker(func(m *module) [][]byte {
			alloc := m.imported(env, "alloc", []byte{i64t}, []byte{i64t})
			return [][]byte{loop(i64c(100_000), callf(alloc), drop, branch(0)), i32c(0)}
		}), []abi.Code{abi.OutOfMemory}},
		"an output of everything": {attacker(func(m *module) [][]byte {
			alloc := m.imported(env, "alloc", []byte{i64t}, []byte{i64t})
			output := m.imported(env, "output_set", []byte{i64t, i64t}, nil)
			return [][]byte{i64c(3 << 20), callf(alloc), i64c(3 << 20), callf(output), i32c(0)}
		}), []abi.Code{abi.OutputLimit}},
		"a flood of logs": {attacker(func(m *module) [][]byte {
			alloc := m.imported(env, "alloc", []byte{i64t}, []byte{i64t})
			log := m.imported(env, "log_info", []byte{i64t}, nil)
			return [][]byte{loop(i64c(1000), callf(alloc), callf(log), branch(0)), i32c(0)}
		}), []abi.Code{abi.OutOfMemory, abi.OutOfFuel}},
		"a flood of prints": {attacker(func(m *module) [][]byte {
			write := m.imported(wasi, "fd_write", []byte{i32t, i32t, i32t, i32t}, []byte{i32t})
			return [][]byte{i32c(4), i32c(60000), i32store, loop(i32c(1), i32c(0), i32c(1), i32c(16), callf(write), drop, branch(0)), i32c(0)}
		}), fuel},
		"a storm of host calls": {attacker(func(m *module) [][]byte {
			get := m.imported(abi.NamespaceHost, abi.FuncKVGet, []byte{i64t}, []byte{i64t})
			return [][]byte{loop(i64c(0), callf(get), drop, branch(0)), i32c(0)}
		}), []abi.Code{abi.QuotaReached, abi.OutOfMemory}},
	}
}

// callTree makes functions of which each calls the next one twice.
func callTree(m *module) [][]byte {
	next := m.function(nil, nil, 0)
	for range 60 {
		next = m.function(nil, nil, 0, callf(next), callf(next))
	}
	return [][]byte{callf(next), i32c(0)}
}

func manyLocals(m *module) [][]byte {
	self := m.nImports + m.nFunctions
	m.function(nil, nil, 5000, callf(self))
	return [][]byte{callf(self), i32c(0)}
}

func mutual(m *module) [][]byte {
	first := m.nImports + m.nFunctions
	m.function(nil, nil, 0, callf(first+1))
	m.function(nil, nil, 0, callf(first))
	return [][]byte{callf(first), i32c(0)}
}

// Every attack ends with a code of its own, by its fuel and not by its
// deadline; the host's memory is bounded; and the next call is as if nothing
// had been.
func TestAttacksEndWithTheirCode(t *testing.T) {
	for name, a := range attacks() {
		t.Run(name, func(t *testing.T) {
			limits := abi.Limits{Fuel: 2_000_000, Memory: 4 * abi.MiB, Input: abi.KiB, Output: abi.MiB, Logs: 16 * abi.KiB}
			if strings.HasPrefix(name, "a flood of ") {
				limits.Fuel = 200_000 // most of it is spent in the host
			}
			m := load(t, a.guest, limits)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for range 2 {
				res := m.Call(context.Background(), sandbox.Request{Export: "run"})
				if res.Problem == nil || !slices.Contains(a.codes, res.Problem.Code) {
					t.Fatalf("it ended with %v, want one of %v", res.Problem, a.codes)
				}
				if res.Usage.PeakMemory > 4*abi.MiB {
					t.Errorf("it had %v of memory", res.Usage.PeakMemory)
				}
				good := m.Call(context.Background(), sandbox.Request{Export: "good"})
				if good.Problem != nil || good.Usage.Fuel > 100 {
					t.Errorf("the next call gave %v and used %d", good.Problem, good.Usage.Fuel)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
				t.Errorf("the host's heap grew by %d bytes", grown)
			}
		})
	}
}

// With all the fuel there is, a deadline ends them just the same.
func TestAttacksEndByTheirDeadline(t *testing.T) {
	for name, a := range attacks() {
		if !slices.Contains(a.codes, abi.OutOfFuel) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := load(t, a.guest, abi.Limits{Memory: 4 * abi.MiB, Input: abi.KiB, Output: abi.MiB, Logs: 16 * abi.KiB})
			res := m.Call(context.Background(), sandbox.Request{Export: "run", Deadline: 20 * time.Millisecond})
			if res.Problem == nil || res.Problem.Code != abi.Deadline && !slices.Contains(a.codes, res.Problem.Code) {
				t.Errorf("it ended with %v", res.Problem)
			}
			if good := m.Call(context.Background(), sandbox.Request{Export: "good"}); good.Problem != nil {
				t.Errorf("the next call gave %v", good.Problem)
			}
		})
	}
}

// A start that never ends is not run for ever while the module is loaded, and
// every call of it ends as any other.
func TestAStartThatNeverEndsIsBounded(t *testing.T) {
	m := newModule()
	m.start = int(m.function(nil, nil, 0, loopForever))
	loaded := load(t, m.export("run", i32c(0)), abi.Limits{Fuel: 100_000})
	if info := loaded.Info(); info.Frozen || info.Refusal == "" {
		t.Errorf("it is %+v", info)
	}
	wantProblem(t, loaded.Call(context.Background(), sandbox.Request{Export: "run"}), abi.OutOfFuel)
}
