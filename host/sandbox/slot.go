package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// renewEvery is after how many calls a slot gets new stacks for its functions:
// one deep call must not keep a large stack for ever.
const renewEvery = 64

// A slot is an instance with a memory of its own, which serves one call after
// another. Between two calls it is as it was before the first.
type slot struct {
	code      *code
	memory    linearMemory
	kernel    kernelMemory
	instance  api.Module
	functions map[string]api.Function
	fuel      api.Global
	globals   []changing
	calls     int
	call      *call // whom it serves
}

// A changing is a mutable global with the value that it has before every call.
type changing struct {
	global api.MutableGlobal
	value  uint64
}

// newSlot makes an instance for its first call. What it runs of the guest, a
// start function and the start of its language's runtime, is the call's.
func newSlot(c *call) (*slot, error) {
	s := &slot{code: c.code, functions: map[string]api.Function{}, call: c}
	c.slot = s
	if err := s.kernel.instantiate(c.ctx, c.code.runtime, c.code.kernel); err != nil {
		return nil, err
	}
	c.receive()
	space, err := newSpace(c.code.image, c.code.mostMemory)
	if err != nil {
		return nil, err
	}
	s.memory.space = space
	s.memory.serve(uint64(c.limits.Memory))
	ctx := experimental.WithMemoryAllocator(experimental.WithImportResolver(c.ctx, s.resolve), &s.memory)
	s.instance, err = c.code.runtime.InstantiateModule(ctx, c.code.compiled, s.config())
	if err != nil {
		space.free() // which the engine has not done for all failures
		return nil, err
	}
	s.fuel = s.instance.ExportedGlobal(rewrite.FuelGlobal)
	for _, name := range append([]string{rewrite.FuelGlobal, rewrite.DepthGlobal}, c.code.Globals...) {
		g, ok := s.instance.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return s, fmt.Errorf("BUG: the prepared module does not export %s", name)
		}
		s.globals = append(s.globals, changing{g, g.Get()})
	}
	if c.code.frozen {
		return s, nil
	}
	return s, s.initialise(c.ctx)
}

// resolve gives the instance what stands for Extism's ABI in this slot.
func (s *slot) resolve(namespace string) api.Module {
	if namespace == abi.NamespaceExtism {
		return s.kernel.instance
	}
	return nil // the runtime's, which all slots share
}

// initialise starts the guest's language runtime as the reference host does:
// Haskell's by hs_init, after _initialize; else a reactor's by _initialize, or
// a command's by __wasm_call_ctors.
func (s *slot) initialise(ctx context.Context) error {
	haskell := s.instance.ExportedFunction("hs_init")
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		f := s.instance.ExportedFunction(name)
		if f == nil || len(f.Definition().ParamTypes()) > 0 || haskell != nil && name != "_initialize" {
			continue
		}
		if _, err := f.Call(ctx); err != nil {
			return err
		}
		break
	}
	if haskell == nil {
		return nil
	}
	_, err := haskell.Call(ctx, 0, 0)
	return err
}

// serve gets a slot that has served before ready for the next call.
func (s *slot) serve(c *call) {
	s.call, c.slot = c, s
	s.memory.serve(uint64(c.limits.Memory))
	s.calls++
	if s.calls%renewEvery == 0 {
		clear(s.functions)
	}
}

func (s *slot) function(name string) api.Function {
	f := s.functions[name]
	if f == nil {
		f = s.instance.ExportedFunction(name)
		s.functions[name] = f
	}
	return f
}

// restorable says whether all that the call may have changed can be set back:
// it returned by itself, it changed neither the memory's size nor what WASI
// keeps, and its blocks took little. Whatever else a guest may change keeps a
// module from being frozen.
func (s *slot) restorable() bool {
	return s.code.frozen && s.call.touched == "" && !s.instance.IsClosed() && s.memory.size == s.code.memoryBytes() && s.kernel.small()
}

// restore makes the slot what it was before its first call.
func (s *slot) restore(t *tracker, audit bool) error {
	for _, g := range s.globals {
		g.global.Set(g.value)
	}
	s.call = nil
	s.kernel.clear()
	if s.code.image != nil {
		if _, err := t.restore(s.memory.space); err != nil {
			return err
		}
	}
	if !audit {
		return nil
	}
	return errors.Join(s.memory.space.audit(), s.kernel.audit())
}

// close gives everything back. Nobody may use the slot any more.
func (s *slot) close() {
	if s.instance != nil {
		_ = s.instance.Close(context.Background()) // it has no files that could fail to close
	}
	s.kernel.close()
	if s.memory.space != nil {
		s.memory.space.free()
	}
}

// config gives what WASI offers: no files, no environment, no arguments, an
// empty standard input, and the clock and random of the call that is served.
func (s *slot) config() wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName("").         // instances of one module stand side by side
		WithStartFunctions(). // see initialise
		WithStdout(printer(func(p []byte) (int, error) { return s.call.stdout.Write(p) })).
		WithStderr(printer(func(p []byte) (int, error) { return s.call.stderr.Write(p) })).
		WithRandSource(random(func(p []byte) (int, error) { return s.call.random.Read(p) })).
		WithWalltime(func() (int64, int32) { return s.call.clock.walltime() }, clockResolution).
		WithNanotime(func() int64 { return s.call.clock.nanotime() }, clockResolution).
		WithNanosleep(func(ns int64) { s.call.clock.nanosleep(ns) })
}

type printer func(p []byte) (int, error)

func (f printer) Write(p []byte) (int, error) { return f(p) }

type random func(p []byte) (int, error)

func (f random) Read(p []byte) (int, error) { return f(p) }
