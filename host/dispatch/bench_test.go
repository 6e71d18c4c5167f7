package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
)

// A bench is a gate over a real store, and what it is compared with.
type bench struct {
	*testing.B
	store   *state.Store
	gate    *dispatch.Dispatcher
	catalog *release.Catalog
	entry   release.Entry
	peer    *extism.CompiledPlugin
	calls   int
}

func newBench(b *testing.B, tool string) *bench {
	ctx := context.Background()
	store, err := state.Open(ctx, filepath.Join(b.TempDir(), "store.db"), state.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	wasm := sandboxtest.Build(b, "host/dispatch/testdata/guest")
	sandboxtest.Load(b, wasm, abi.Limits{})
	set := release.NewSet(sandboxtest.Shared(b), nil)
	b.Cleanup(func() { set.Close(ctx) })
	skill := sandboxtest.Describe(b, sandboxtest.Shared(b), wasm)
	if _, err := set.Load(ctx, &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		b.Fatal(err)
	}
	x := &bench{B: b, store: store, gate: dispatch.New(dispatch.Config{Config: grant.Config{Store: store}}), peer: newPeer(b, sandboxtest.BuildTagged(b, "host/dispatch/testdata/guest", "anyhost"))}
	x.catalog, _ = set.Catalog(ctx, nil)
	entry, problem := x.catalog.Resolve(tool)
	if problem != nil {
		b.Fatal(problem)
	}
	x.entry = entry
	return x
}

// newPeer prepares the same module under the reference host, with the host
// functions of kv over a map and the deadline that ours has.
func newPeer(b *testing.B, wasm []byte) *extism.CompiledPlugin {
	extism.SetLogLevel(extism.LogLevelOff)
	values := map[string][]byte{}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(sandboxtest.CacheDir(b), host.Digest(wasm)))
	if err != nil {
		b.Fatal(err)
	}
	function := func(name string, params int, call func(p *extism.CurrentPlugin, stack []uint64) []byte) extism.HostFunction {
		f := extism.NewHostFunctionWithStack(name, func(_ context.Context, p *extism.CurrentPlugin, stack []uint64) {
			result := call(p, stack)
			stack[0] = 0
			if result != nil {
				stack[0], _ = p.WriteBytes(result)
			}
		}, slices.Repeat([]extism.ValueType{extism.ValueTypeI64}, params), []extism.ValueType{extism.ValueTypeI64})
		f.SetNamespace(abi.NamespaceHost)
		return f
	}
	read := func(p *extism.CurrentPlugin, at uint64) []byte {
		b, err := p.ReadBytes(at)
		if err != nil {
			panic(err)
		}
		return b
	}
	plugin, err := extism.NewCompiledPlugin(context.Background(),
		extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}, Timeout: 20_000},
		extism.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache)},
		[]extism.HostFunction{
			function(abi.FuncKVGet, 1, func(p *extism.CurrentPlugin, s []uint64) []byte { return values[string(read(p, s[0]))] }),
			function(abi.FuncKVPut, 2, func(p *extism.CurrentPlugin, s []uint64) []byte {
				values[string(read(p, s[0]))] = read(p, s[1])
				return nil
			}),
		})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { plugin.Close(context.Background()); cache.Close(context.Background()) })
	return plugin
}

func (x *bench) call(args string) host.Call {
	x.calls++
	ref := host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}
	return host.Call{ID: host.CallIDFor(ref, x.calls, 0), Session: ref, Tool: x.entry.Tool.Name, Args: args, Input: x.calls}
}

func (x *bench) envelope(args string) []byte {
	input, err := json.Marshal(abi.Invocation{
		ABI: abi.Version, Tool: x.entry.Tool.Name, Args: json.RawMessage(args),
		Call: abi.CallInfo{ID: "call_1", Key: "key", Attempt: 1, Now: time.Now().UTC(), Tenant: "acme"},
	})
	if err != nil {
		x.Fatal(err)
	}
	return input
}

// do is the whole way.
func (x *bench) do(args string) {
	if o := x.gate.Do(context.Background(), x.catalog, x.call(args)); !o.OK() {
		x.Fatal(o.Problem)
	}
}

// sandbox is the same call without the gate: its grants are real, and what it
// writes is dropped.
func (x *bench) sandbox(args string) {
	g := grant.For(grant.Config{Store: x.store}, grant.Call{
		Session: host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}, Capabilities: x.entry.Release.Skill.Capabilities, Effect: x.entry.Tool.Effect,
	})
	result := x.entry.Release.Module.Call(context.Background(), sandbox.Request{Export: abi.ExportInvoke, Input: x.envelope(args), Functions: g.Functions})
	x.wantOK(result.Output)
}

// extism is the same call in a fresh instance of the reference host.
func (x *bench) extism(args string) {
	ctx := context.Background()
	p, err := x.peer.Instance(ctx, extism.PluginInstanceConfig{})
	if err != nil {
		x.Fatal(err)
	}
	defer p.Close(ctx)
	_, output, err := p.Call(abi.ExportInvoke, x.envelope(args))
	if err != nil {
		x.Fatal(err)
	}
	x.wantOK(output)
}

func (x *bench) wantOK(output []byte) {
	var reply abi.Reply
	if err := json.Unmarshal(output, &reply); err != nil || !reply.OK {
		x.Fatalf("the guest answers %s", output)
	}
}

// keep is what the store does for a call: the claim and the settlement of a
// write with its value, or the records of a read.
func (x *bench) keep(args string) {
	ctx := context.Background()
	c := x.call(args)
	detail := json.RawMessage(`{"args":` + args + `}`)
	intent := host.Record{Call: c.ID, Kind: host.RecordIntent, Tool: c.Tool, Detail: detail}
	outcome := host.Record{Call: c.ID, Kind: host.RecordOutcome, Tool: c.Tool, Detail: detail}
	st := state.Settlement{Session: c.Session, Call: c.ID, Records: []host.Record{intent, outcome}}
	if x.entry.Tool.Effect == abi.Write {
		st.Key = host.Key(c.ID)
		claim := state.ClaimRequest{Session: c.Session, Key: st.Key, Digest: "digest", Call: c.ID, Lease: time.Minute, Intent: intent}
		if _, err := x.store.Claim(ctx, claim); err != nil {
			x.Fatal(err)
		}
		view := x.store.View("acme", "test")
		if _, _, err := view.Get(ctx, "total/ink"); err != nil {
			x.Fatal(err)
		}
		if err := view.Put("total/ink", []byte(fmt.Sprint(x.calls))); err != nil {
			x.Fatal(err)
		}
		st.Outcome, st.Views, st.Records = detail, []*state.View{view}, st.Records[1:]
	}
	if err := x.store.Settle(ctx, st); err != nil {
		x.Fatal(err)
	}
}

// race runs the contenders in turn, so that they meet the same machine, and
// reports the median of each, and Do as a multiple of each other one.
func (x *bench) race(args string) {
	contenders := []struct {
		name string
		call func(string)
	}{{"do", x.do}, {"sandbox", x.sandbox}, {"extism-fresh", x.extism}, {"store", x.keep}}
	took := make([][]time.Duration, len(contenders))
	for round := 0; x.Loop(); round++ {
		for turn := range contenders {
			i := (round + turn) % len(contenders) // nobody always comes after the disk
			began := time.Now()
			contenders[i].call(args)
			took[i] = append(took[i], time.Since(began))
		}
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2])
	}
	ours := median(took[0])
	x.ReportMetric(0, "ns/op") // of all contenders together: says nothing
	x.ReportMetric(ours/1e6, "ms-do")
	for i, c := range contenders[1:] {
		theirs := median(took[i+1])
		x.ReportMetric(theirs/1e6, "ms-"+c.name)
		x.ReportMetric(ours/theirs, "do/"+c.name)
	}
}

// BenchmarkRead is one read through the gate, with its records on the disk.
func BenchmarkRead(b *testing.B) { newBench(b, "total").race(`{"item":"pen"}`) }

// BenchmarkDurableWrite is one write through the gate: its intent on the disk
// before it runs, its effect, outcome and claim after.
func BenchmarkDurableWrite(b *testing.B) { newBench(b, "order_once").race(`{"item":"pen","count":1}`) }
