package main

import (
	"context"
	"fmt"
	"time"

	extism "github.com/extism/go-sdk"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/precheck/portable"
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
	p.plugin, err = extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true}, portable.Functions(func() []sandbox.Function { return p.grants }))
	if err != nil {
		return nil, fmt.Errorf("the reference host does not take the module: %w", err)
	}
	return p, nil
}

func (p *peer) close(ctx context.Context) { _ = p.plugin.Close(context.WithoutCancel(ctx)) }

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
