package sandbox

import (
	"context"
	"math"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Bounds of the variables that a guest keeps with var_set. Every one counts
// its name, its value and a little more, as the reference host counts.
const (
	varBytes    = 1 << 20
	varOverhead = 40
)

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

// A hostFunc is one import that the host offers.
type hostFunc struct {
	name    string
	params  []api.ValueType
	results []api.ValueType
	call    func(c *call, ctx context.Context, stack []uint64)
}

func (f hostFunc) signature() signature { return signature{f.params, f.results} }

// export builds the functions that guests find in a namespace into a host
// module.
func export(ctx context.Context, r wazero.Runtime, module, namespace string, funcs []hostFunc) error {
	b := r.NewHostModuleBuilder(module)
	for _, f := range funcs {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			c := callOf(ctx)
			if c.starting {
				c.stop(abi.NewProblem(abi.NotGranted, "it calls %s of %s, which would be the same for every call", f.name, namespace))
			}
			f.call(c, ctx, stack)
			c.pace()
		}), f.params, f.results).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// extismFuncs is Extism's ABI, as the host serves it; the kernel's module stands
// before it. Where the reference host passes over a handle
// that is not one, or an address outside the memory, this one ends the call
// with abi.BadHostCall: data that silently goes nowhere is worse.
func extismFuncs() []hostFunc {
	return slices.Concat(blockFuncs(), inputOutputFuncs(), settingFuncs(), httpFuncs(), logFuncs())
}

func blockFuncs() []hostFunc {
	return []hostFunc{
		{"alloc", types(i64), types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.alloc(s[0]) }},
		{"free", types(i64), nil, func(c *call, _ context.Context, s []uint64) { c.kernel.free(s[0]) }},
		{"length", types(i64), types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.kernel.blockLength(s[0]) }},
		{"length_unsafe", types(i64), types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.kernel.blockLength(s[0]) }},
		{"load_u8", types(i64), types(i32), func(c *call, _ context.Context, s []uint64) {
			c.address("load_u8", s[0], 1)
			s[0] = uint64(c.kernel.load(s[0]))
		}},
		{"load_u64", types(i64), types(i64), func(c *call, _ context.Context, s []uint64) {
			c.address("load_u64", s[0], 8)
			s[0] = c.kernel.load64(s[0])
		}},
		{"store_u8", types(i64, i32), nil, func(c *call, _ context.Context, s []uint64) {
			c.address("store_u8", s[0], 1)
			c.kernel.store(s[0], byte(s[1]))
		}},
		{"store_u64", types(i64, i64), nil, func(c *call, _ context.Context, s []uint64) {
			c.address("store_u64", s[0], 8)
			c.kernel.store64(s[0], s[1])
		}},
		{"reset", nil, nil, func(c *call, _ context.Context, _ []uint64) { c.kernel.reset() }},
		{"memory_bytes", nil, types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.kernel.length }},
	}
}

func inputOutputFuncs() []hostFunc {
	return []hostFunc{
		{"input_set", types(i64, i64), nil, func(c *call, _ context.Context, s []uint64) {
			c.kernel.setInput(c.span("input_set", s[0], s[1], c.kernel.input))
		}},
		{"input_offset", nil, types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.kernel.input.at }},
		{"input_length", nil, types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.kernel.input.length }},
		{"input_load_u8", types(i64), types(i32), func(c *call, _ context.Context, s []uint64) {
			if s[0] >= c.kernel.input.length {
				s[0] = 0
				return
			}
			s[0] = uint64(c.kernel.load(c.kernel.input.at + s[0]))
		}},
		{"input_load_u64", types(i64), types(i64), func(c *call, _ context.Context, s []uint64) {
			// A guest may read its last bytes as a whole word and cut it.
			at := c.kernel.input.at + min(s[0], math.MaxUint32)
			c.address("input_load_u64", at, 8)
			s[0] = c.kernel.load64(at)
		}},
		{"output_set", types(i64, i64), nil, func(c *call, _ context.Context, s []uint64) {
			c.kernel.output = c.span("output_set", s[0], s[1], c.kernel.output)
		}},
		{"output_offset", nil, types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.kernel.output.at }},
		{"output_length", nil, types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.kernel.output.length }},
		{"error_set", types(i64), nil, func(c *call, _ context.Context, s []uint64) {
			if s[0] != 0 && !c.kernel.owns(span{s[0], 0}) {
				c.badHandle("error_set", s[0])
			}
			c.kernel.failure = s[0]
		}},
		{"error_get", nil, types(i64), func(c *call, _ context.Context, s []uint64) { s[0] = c.kernel.failure }},
	}
}

func settingFuncs() []hostFunc {
	return []hostFunc{
		{"config_get", types(i64), types(i64), func(c *call, _ context.Context, s []uint64) {
			s[0] = c.give([]byte(c.request.Config[string(c.take("config_get", s[0]))]))
		}},
		{"var_get", types(i64), types(i64), func(c *call, _ context.Context, s []uint64) {
			name := c.take("var_get", s[0])
			c.kernel.free(s[0])
			s[0] = c.give(c.vars[string(name)])
		}},
		{"var_set", types(i64, i64), nil, func(c *call, _ context.Context, s []uint64) { c.setVar(s[0], s[1]) }},
	}
}

func logFuncs() []hostFunc {
	// A guest that asks logs everything; what is too much is cut here.
	funcs := []hostFunc{{"get_log_level", nil, types(i32), func(_ *call, _ context.Context, s []uint64) { s[0] = 0 }}}
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		name := "log_" + level
		funcs = append(funcs, hostFunc{name, types(i64), nil, func(c *call, _ context.Context, s []uint64) {
			c.logs.add(level, c.take(name, s[0]))
			c.kernel.free(s[0])
		}})
	}
	return funcs
}

// alloc gives a block or ends the call: the reference answers 0, which the
// guests' libraries take for an address.
func (c *call) alloc(n uint64) handle {
	h, ok := c.kernel.alloc(n)
	return c.allocated(h, ok, n)
}

// give puts bytes into a block for the guest; nothing and no bytes are 0.
func (c *call) give(b []byte) handle {
	h, ok := c.kernel.write(b)
	return c.allocated(h, ok, uint64(len(b)))
}

func (c *call) allocated(h handle, ok bool, n uint64) handle {
	if !ok {
		c.stop(abi.NewProblem(abi.OutOfMemory, "it asked for a block of %d bytes beside the %d bytes it had; all blocks of a call may have %d bytes (limits.memory, input and output together)",
			n, c.kernel.position, c.kernel.limit))
	}
	return h
}

// take copies the bytes of a block that the guest named, or ends the call.
func (c *call) take(function string, h handle) []byte {
	b, ok := c.kernel.read(h)
	if !ok {
		c.badHandle(function, h)
	}
	return b
}

func (c *call) badHandle(function string, h handle) {
	c.stop(badHandle(function, h))
}

func badHandle(function string, h handle) *abi.Problem {
	return abi.NewProblem(abi.BadHostCall, "it called %s with %d, which is not the handle of a block; allocate one and do not use it after freeing it", function, h)
}

// address ends the call where n bytes at an address do not exist.
func (c *call) address(function string, at, n uint64) {
	if !c.kernel.exists(at, n) {
		c.stop(abi.NewProblem(abi.BadHostCall, "it called %s for %d bytes at %d, outside its blocks; stay inside a block that alloc gave", function, n, at))
	}
}

// span gives the span that the guest named. The span (0, 0) names nothing and
// leaves the old one, as in the reference.
func (c *call) span(function string, at, length uint64, old span) span {
	s := span{at, length}
	switch {
	case s == span{}:
		return old
	case !c.kernel.owns(s):
		c.stop(abi.NewProblem(abi.BadHostCall, "it called %s for %d bytes at %d, outside its blocks; stay inside a block that alloc gave", function, length, at))
	}
	return s
}

// setVar keeps or removes a variable. Both blocks become the host's.
func (c *call) setVar(nameHandle, valueHandle handle) {
	name := string(c.take("var_set", nameHandle))
	c.kernel.free(nameHandle)
	old, had := c.vars[name]
	if valueHandle == 0 {
		if had {
			delete(c.vars, name)
			c.varBytes -= varOverhead + len(name) + len(old)
		}
		return
	}
	value := c.take("var_set", valueHandle)
	c.kernel.free(valueHandle)
	size := varOverhead + len(name) + len(value)
	if c.varBytes+size >= varBytes {
		c.stop(abi.NewProblem(abi.QuotaReached, "its variables would have %d bytes; all variables of a call may have %d", c.varBytes+size, varBytes))
	}
	if had {
		c.varBytes -= varOverhead + len(name) + len(old)
	}
	if c.vars == nil {
		c.vars = map[string][]byte{}
	}
	c.vars[name] = value
	c.varBytes += size
}

func types(t ...api.ValueType) []api.ValueType { return t }
