package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/tetratelabs/wazero/api"
)

// A Function is one host function of abi.NamespaceHost, granted for one call.
type Function struct {
	Name string // one of abi.HostFuncs
	// Call answers the guest. It gets as many args as abi.HostFuncs says; they
	// are copies and may be kept. A nil result is nothing, an empty one is an
	// empty block. ctx ends with the call's deadline or the caller: Call must
	// return then, the guest cannot go on before it does. It is never called
	// twice at once for one call of a module.
	Call func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem)
}

// blockCopies offers the copying of many bytes at once between the guest's
// memory and its blocks. It costs no fuel, as all work of the host; see pace.
func blockCopies() []hostFunc {
	return []hostFunc{
		{abi.FuncBlockRead, types(i64, i32, i32), nil, func(c *call, _ context.Context, s []uint64) {
			if to := c.guestBytes(abi.FuncBlockRead, s[1], s[2]); len(to) > 0 {
				c.address(abi.FuncBlockRead, s[0], uint64(len(to)))
				c.kernel.copyTo(to, s[0])
			}
		}},
		{abi.FuncBlockWrite, types(i64, i32, i32), nil, func(c *call, _ context.Context, s []uint64) {
			if from := c.guestBytes(abi.FuncBlockWrite, s[1], s[2]); len(from) > 0 {
				c.address(abi.FuncBlockWrite, s[0], uint64(len(from)))
				copy(c.kernel.reach(s[0], uint64(len(from))), from)
			}
		}},
	}
}

// guestBytes gives bytes of the guest's memory, or ends the call. Address and
// length are an i32 each.
func (c *call) guestBytes(function string, at, n uint64) []byte {
	at, n = uint64(uint32(at)), uint64(uint32(n))
	b := c.slot.memory.bytes()
	if at+n > uint64(len(b)) {
		c.stop(abi.NewProblem(abi.BadHostCall, "it called %s for %d bytes at %d of its own memory, which has %d", function, n, at, len(b)))
	}
	return b[at : at+n]
}

// userFuncs offers every host function of the contract, so that a module
// links whatever it is granted. One that is not granted answers so. The block
// functions need no grant.
func userFuncs() []hostFunc {
	arity := abi.HostFuncs()
	var funcs []hostFunc
	for _, name := range slices.Sorted(maps.Keys(arity)) {
		n := arity[name]
		funcs = append(funcs, hostFunc{name, slices.Repeat([]api.ValueType{i64}, n), types(i64), func(c *call, ctx context.Context, s []uint64) {
			s[0] = c.serve(ctx, name, s[:n])
		}})
	}
	return append(funcs, blockCopies()...)
}

// serve runs one host call of the guest and gives what the guest gets: the
// handle of a block, 0, or the negated handle of a problem.
func (c *call) serve(ctx context.Context, name string, handles []uint64) uint64 {
	c.countHostCall()
	args := make([][]byte, len(handles))
	for i, h := range handles {
		b, ok := c.kernel.read(h)
		if !ok {
			return c.refuse(badHandle(name, h))
		}
		c.countHostBytes(len(b))
		args[i] = b
	}
	var result []byte
	var problem *abi.Problem
	c.offCore(func() { result, problem = c.granted(name)(ctx, args) })
	c.stopIfDone()
	if problem != nil {
		return c.refuse(problem)
	}
	c.countHostBytes(len(result))
	return c.answer(result)
}

// granted gives the function of a name, made safe to run.
func (c *call) granted(name string) func(context.Context, [][]byte) ([]byte, *abi.Problem) {
	i := slices.IndexFunc(c.request.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return func(context.Context, [][]byte) ([]byte, *abi.Problem) {
			return nil, abi.NewProblem(abi.NotGranted, "%s is not granted; declare its capability in skill.yaml", name)
		}
	}
	return func(ctx context.Context, args [][]byte) (result []byte, problem *abi.Problem) {
		c.guardHost(name, func() { result, problem = c.request.Functions[i].Call(ctx, args) })
		return result, problem
	}
}

// guardHost runs what serves the guest. A panic in it ends the call.
func (c *call) guardHost(name string, run func()) {
	defer func() {
		if r := recover(); r != nil {
			c.logs.add(LevelHost, fmt.Appendf(nil, "%s panicked: %v\n%s", name, r, debug.Stack()))
			c.stop(abi.NewProblem(abi.HostBug, "the host failed in %s", name))
		}
	}()
	run()
}

func (c *call) answer(result []byte) handle {
	if result != nil && len(result) == 0 {
		h, ok := c.kernel.allocEmpty()
		return c.allocated(h, ok, 1)
	}
	return c.give(result)
}

func (c *call) refuse(p *abi.Problem) uint64 {
	b, err := json.Marshal(p)
	if err != nil {
		panic("BUG: a problem does not encode: " + err.Error())
	}
	c.countHostBytes(len(b))
	return -c.give(b)
}

func (c *call) countHostCall() {
	if c.hostCalls == abi.HostCalls {
		c.stop(abi.NewProblem(abi.QuotaReached, "it made more than the %d host calls of one call; move more with each", abi.HostCalls))
	}
	c.hostCalls++
}

func (c *call) countHostBytes(n int) {
	c.hostBytes += n
	if c.hostBytes > int(abi.HostCallBytes) {
		c.stop(abi.NewProblem(abi.QuotaReached, "it moved %d bytes through host functions; one call may move %d", c.hostBytes, int(abi.HostCallBytes)))
	}
}
