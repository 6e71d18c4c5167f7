package sandbox

import (
	"context"
	"errors"
	"runtime"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/rewrite"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// sliceFuel is what a guest gets at a time: about a millisecond's work. At the
// end of a slice its limit, its deadline and its caller are looked at, so this
// is by how much it may outlive them.
const sliceFuel = 1_000_000

// exportFuel offers the function that a metered guest calls when its slice is
// used up.
func exportFuel(ctx context.Context, r wazero.Runtime) error {
	_, err := r.NewHostModuleBuilder(rewrite.FuelModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, s []uint64) {
			s[0] = uint64(callOf(ctx).refuel(int64(s[0]), int64(s[1])))
		}), types(i64, i64), types(i64)).Export(rewrite.FuelFunc).Instantiate(ctx)
	return err
}

// refuel gives the guest its next slice or ends it. The guest is ended at the
// first check after more than its limit is used, whatever the slices are.
func (c *call) refuel(left, depth int64) int64 {
	c.fuel = c.fueled - left
	switch {
	case depth < 0:
		panic(errTooDeep)
	case c.fuel > c.limits.Fuel:
		c.stop(c.outOfFuel())
	}
	c.stopIfDone()
	c.handOver()
	c.fueled = min(c.limits.Fuel, c.fuel+c.slice)
	return c.fueled - c.fuel
}

// handOver ends a slice: the tenant pays for it, and the core goes to who is
// next. A start has no core: it is part of loading.
func (c *call) handOver() {
	if c.starting {
		return
	}
	if p := c.charge(); p != nil {
		c.stop(p)
	}
	runtime.Gosched() // the host's own goroutines have their turn, too
	if err := c.sandbox.cores.yield(c.ctx, c.request.Tenant); err != nil {
		c.onCore = false
		c.stop(c.contextProblem())
	}
}

// charge has the tenant pay for what was used since the last time.
func (c *call) charge() *abi.Problem {
	used := c.fuel - c.charged
	c.charged = c.fuel
	return c.sandbox.cores.charge(c.request.Tenant, used)
}

// enterCore waits for a core to run on.
func (c *call) enterCore() error {
	err := c.sandbox.cores.enter(c.ctx, c.request.Tenant)
	c.onCore = err == nil
	return err
}

// leaveCore gives the core back, if it has one.
func (c *call) leaveCore() {
	if c.onCore {
		c.onCore = false
		c.sandbox.cores.leave(c.request.Tenant)
	}
}

// offCore runs something that may wait for others than the guest.
func (c *call) offCore(wait func()) {
	if !c.onCore {
		wait()
		return
	}
	c.leaveCore()
	wait()
	if err := c.enterCore(); err != nil {
		c.stop(c.contextProblem())
	}
}

// errTooDeep is a trap of ours: the guest's stack ends long before the engine's.
var errTooDeep = errors.New("stack overflow")

func (c *call) outOfFuel() *abi.Problem {
	return abi.NewProblem(abi.OutOfFuel, "it used %d units of fuel (instructions); limits.fuel allows %d; ask for less at a time, or raise limits.fuel", c.fuel, c.limits.Fuel)
}

// burnt tells the fuel that the call has used so far. Where a guest trapped,
// what it used since its last check may be missing.
func (c *call) burnt() int64 {
	if c.slot != nil && c.slot.fuel != nil {
		c.fuel = c.fueled - int64(c.slot.fuel.Get())
	}
	return c.fuel
}
