package sandbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Bounds of a start that is run to be frozen. A Go skill's takes 1 M to 15 M of fuel; a
// module that takes more runs unfrozen, and its start counts to every call.
const (
	startFuel     = 50_000_000
	startDeadline = 30 * time.Second // never reached but by a machine that does nothing else
	startMemory   = 64 * abi.MiB
	startTables   = 1 << 20 // items; they are made before the module's own limits are known
	startLogs     = 4 * abi.KiB
)

// A started is the state of a module after its start.
type started struct {
	memory  []byte
	globals []uint64
	slept   time.Duration
	fuel    int64
}

// start runs the start of a module that was exposed and metered: its start
// function, that of its language's runtime, and the export abi.ExportWarm if
// it has one. All of it sees a fixed clock and fixed random bytes, and may call
// nothing of the host: what it would get would be the same for every call.
func (s *Sandbox) start(ctx context.Context, r wazero.Runtime, kernel wazero.CompiledModule, wasm []byte, names rewrite.Exposed) (*started, error) {
	compiled, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	c := &code{runtime: r, compiled: compiled, kernel: kernel, mostMemory: uint64(s.cfg.Ceiling.Memory), exports: compiled.ExportedFunctions()}
	call := newCall(s, c, abi.Limits{
		Fuel: s.startFuel, Memory: min(startMemory, s.cfg.Ceiling.Memory), Deadline: abi.Duration(startDeadline),
		Input: abi.KiB, Output: abi.KiB, Logs: startLogs,
	}, &Request{})
	call.starting = true
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	call.begin(ctx)
	exit, err := call.guard(call.warm)
	defer func() {
		if call.slot != nil {
			call.slot.close()
		}
	}()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &unfreezable{"its start fails: " + call.result(exit, err).Problem.Message}
	case call.touched != "":
		return nil, &unfreezable{"its start calls " + call.touched + ", which may change the standard streams"}
	}
	return call.state(names)
}

// warm makes the instance and runs abi.ExportWarm.
func (c *call) warm() (uint32, error) {
	s, err := newSlot(c)
	if err != nil {
		return 0, err
	}
	f := s.instance.ExportedFunction(abi.ExportWarm)
	if f == nil || len(f.Definition().ParamTypes()) > 0 {
		return 0, nil
	}
	_, err = f.Call(c.ctx)
	return 0, err
}

func (c *call) state(names rewrite.Exposed) (*started, error) {
	st := &started{slept: c.startClock.slept, fuel: c.burnt()}
	if names.Memory != "" {
		st.memory = slices.Clone(c.slot.memory.space.bytes()[:c.slot.memory.size])
	}
	for _, g := range names.Globals {
		global, ok := c.slot.instance.ExportedGlobal(g.Export).(api.MutableGlobal)
		if !ok {
			return nil, errors.New("BUG: the exposed module does not export " + g.Export)
		}
		st.globals = append(st.globals, global.Get())
	}
	return st, nil
}
