package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	extism "github.com/extism/go-sdk"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
)

// A peer is a module in the reference host of Extism's plug-ins, which skills
// run in too, without fuel and with the deadline that the module's limits have.
type peer struct {
	plugin *extism.CompiledPlugin
	trial  trial
	grants []sandbox.Function // of the call that runs
}

// newPeer compiles a module there, which takes seconds.
func newPeer(ctx context.Context, wasm []byte, limits abi.Limits, t trial) (*peer, error) {
	p := &peer{trial: t}
	limits = limits.WithDefaults(abi.DefaultLimits())
	manifest := extism.Manifest{
		Wasm:    []extism.Wasm{extism.WasmData{Data: wasm}},
		Timeout: uint64(time.Duration(limits.Deadline).Milliseconds()),
	}
	extism.SetLogLevel(extism.LogLevelOff)
	var err error
	p.plugin, err = extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true}, p.functions())
	if err != nil {
		return nil, fmt.Errorf("the reference host does not take the module: %w", err)
	}
	return p, nil
}

func (p *peer) close(ctx context.Context) { _ = p.plugin.Close(context.WithoutCancel(ctx)) }

// functions are the host functions of the contract, served by the trial.
func (p *peer) functions() (functions []extism.HostFunction) {
	for name, n := range abi.HostFuncs() {
		f := extism.NewHostFunctionWithStack(name, func(ctx context.Context, guest *extism.CurrentPlugin, stack []uint64) {
			stack[0] = p.serve(ctx, guest, name, stack[:n])
		}, slices.Repeat([]extism.ValueType{extism.ValueTypeI64}, n), []extism.ValueType{extism.ValueTypeI64})
		f.SetNamespace(abi.NamespaceHost)
		functions = append(functions, f)
	}
	return functions
}

func (p *peer) serve(ctx context.Context, guest *extism.CurrentPlugin, name string, handles []uint64) uint64 {
	args := make([][]byte, len(handles))
	for i, h := range handles {
		b, err := guest.ReadBytes(h)
		if err != nil {
			panic(err) // which ends the guest there
		}
		args[i] = slices.Clone(b)
	}
	i := slices.IndexFunc(p.grants, func(f sandbox.Function) bool { return f.Name == name })
	if i < 0 {
		return -p.give(guest, encoded(abi.NewProblem(abi.NotGranted, "%s is not granted", name)))
	}
	result, problem := p.grants[i].Call(ctx, args)
	if problem != nil {
		return -p.give(guest, encoded(problem))
	}
	return p.give(guest, result)
}

func (p *peer) give(guest *extism.CurrentPlugin, b []byte) uint64 {
	if b == nil {
		return 0
	}
	h, err := guest.WriteBytes(b)
	if err != nil {
		panic(err)
	}
	return h
}

func encoded(p *abi.Problem) []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic("BUG: a problem does not encode: " + err.Error())
	}
	return b
}

// measure makes calls, each in an instance of its own or all in one, which then
// finds what the calls before it left.
func (p *peer) measure(ctx context.Context, calls int, reuse bool) (measured, error) {
	m := measured{Calls: calls}
	var plugin *extism.Plugin
	for i := range calls + 1 { // the first one warms up
		began, err := time.Now(), error(nil)
		if plugin == nil {
			if plugin, err = p.plugin.Instance(ctx, extism.PluginInstanceConfig{}); err != nil {
				return m, err
			}
		}
		request := p.trial.request()
		p.grants = request.Functions
		_, output, err := plugin.CallWithContext(ctx, request.Export, request.Input)
		if err != nil {
			return m, fmt.Errorf("the reference host: %w", err)
		}
		m.Answer = string(output)
		if !reuse {
			_ = plugin.Close(ctx)
			plugin = nil
		}
		if i > 0 {
			m.took = append(m.took, time.Since(began))
		}
	}
	if plugin != nil {
		_ = plugin.Close(ctx)
	}
	m.percentiles()
	return m, nil
}
