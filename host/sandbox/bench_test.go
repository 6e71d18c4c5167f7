package sandbox_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// A contender is one way to run the same call.
type contender struct {
	name string
	call func()
}

// race runs the contenders in turn and reports the median of each, and how
// many times as long as ours the others take.
func race(b *testing.B, contenders ...contender) {
	took := make([][]time.Duration, len(contenders))
	for b.Loop() {
		for i, c := range contenders {
			began := time.Now()
			c.call()
			took[i] = append(took[i], time.Since(began))
		}
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2])
	}
	ours := median(took[0])
	b.ReportMetric(0, "ns/op") // of all contenders together: says nothing
	b.ReportMetric(ours/1e6, "ms-ours")
	for i, c := range contenders[1:] {
		theirs := median(took[i+1])
		b.ReportMetric(theirs/1e6, "ms-"+c.name)
		b.ReportMetric(theirs/ours, "x-"+c.name)
	}
}

// contenders gives our call in a pooled slot, and the same with an instance of
// its own, as it was before there were slots; and the reference host's: in a
// fresh instance and in one that is used again, both with a deadline as ours
// has one; and used again without, as most people run it.
func contenders(b *testing.B, pkg, export string, input []byte) []contender {
	extism.SetLogLevel(extism.LogLevelOff)
	wasm := sandboxtest.Build(b, pkg)
	module, unfrozen := benchModule(b, wasm, false), benchModule(b, wasm, true)
	bounded, unbounded := newPeer(b, wasm, nil, 60_000), newPeer(b, wasm, nil, 0)
	instance := func(p peer) *extism.Plugin {
		plugin, err := p.plugin.Instance(context.Background(), extism.PluginInstanceConfig{})
		if err != nil {
			b.Fatal(err)
		}
		return plugin
	}
	call := func(p *extism.Plugin) {
		if _, _, err := p.Call(export, input); err != nil {
			b.Fatal(err)
		}
	}
	warm, warmUnbounded := instance(bounded), instance(unbounded)
	ours := func(m *sandbox.Module) func() {
		return func() {
			if res := m.Call(context.Background(), sandbox.Request{Export: export, Input: input}); res.Problem != nil {
				b.Fatal(res.Problem)
			}
		}
	}
	return []contender{
		{"ours", ours(module)},
		{"ours-unfrozen", ours(unfrozen)},
		{"fresh", func() { p := instance(bounded); call(p); _ = p.Close(context.Background()) }},
		{"reused", func() { call(warm) }},
		{"reused-without-deadline", func() { call(warmUnbounded) }},
	}
}

// benchModule loads a module without audits.
func benchModule(b *testing.B, wasm []byte, fresh bool) *sandbox.Module {
	b.Helper()
	s := newSandboxAs(b, sandbox.Config{CacheDir: sandboxtest.CacheDir(b), Fresh: fresh})
	m, err := s.Load(context.Background(), wasm, patient(abi.Limits{}))
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func BenchmarkCallOfASmallJSONGuest(b *testing.B) {
	input := []byte(`{"tool":"quote","args":{"sku":"1001","quantity":12,"price":8.5,"currency":"CNY"}}`)
	race(b, contenders(b, "host/sandbox/testdata/quote", "quote", input)...)
}

func BenchmarkCallWithAMegabyte(b *testing.B) {
	race(b, contenders(b, "host/sandbox/testdata/pdk", "echo", bytes.Repeat([]byte("x"), 1<<20))...)
}

func BenchmarkLoadOfCompiledCode(b *testing.B) {
	wasm := sandboxtest.Build(b, "host/sandbox/testdata/quote")
	s := sandboxtest.New(b)
	for b.Loop() {
		m, err := s.Load(context.Background(), wasm, abi.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
