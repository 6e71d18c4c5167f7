package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// Bounds of the guest's error text: in a result, and in a problem's message,
// which a model reads.
const (
	guestErrorBytes   = 64 << 10
	guestMessageBytes = 1 << 10
)

// A call is the state of one call: everything that must not outlive it.
type call struct {
	sandbox *Sandbox
	code    *code
	limits  abi.Limits
	request *Request
	ctx     context.Context // of the run, with the call's deadline; WASI passes none
	began   time.Time

	slot       *slot  // nil until there is one
	starting   bool   // it only starts the module, and may call nothing
	touched    string // the function of WASI by which it may have changed what WASI keeps
	startClock fixedClock
	clock      clock
	random     io.Reader

	kernel    kernel
	vars      map[string][]byte
	varBytes  int
	http      httpAnswer
	logs      logBook
	stdout    lineLog
	stderr    lineLog
	hostCalls int
	hostBytes int

	slice   int64 // fuel that it gets at a time
	fueled  int64 // fuel that it got
	fuel    int64 // that it used, as far as is known
	charged int64 // of it, to its tenant
	onCore  bool  // it has one

	deadline time.Duration
	stopped  *abi.Problem // why the host ended the guest
}

func newCall(s *Sandbox, c *code, limits abi.Limits, req *Request) *call {
	k := &call{sandbox: s, code: c, limits: limits, request: req, began: time.Now(), slice: s.slice}
	k.kernel = newKernel(uint64(kernelBytes(limits)))
	k.logs.left = int(limits.Logs)
	k.stdout = lineLog{book: &k.logs, level: LevelStdout}
	k.stderr = lineLog{book: &k.logs, level: LevelStderr}
	k.deadline = time.Duration(limits.Deadline)
	if req.Deadline != 0 {
		k.deadline = min(k.deadline, req.Deadline)
	}
	k.startClock = fixedClock{call: k, origin: clockOrigin}
	k.clock, k.random = &k.startClock, startRandom()
	return k
}

// kernelBytes is what the blocks of a call may have together: the input, the
// output, and what goes to host functions and comes from them.
func kernelBytes(l abi.Limits) abi.Size { return l.Memory + l.Input + l.Output }

// callKey is under which host functions find the call that they serve.
type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// begin gives the call its context.
func (c *call) begin(ctx context.Context) { c.ctx = context.WithValue(ctx, callKey{}, c) }

func (c *call) run(ctx context.Context) Result {
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	c.begin(ctx)
	res := Result{Problem: c.refusal()}
	if res.Problem == nil {
		res = c.useSlot()
	}
	c.stdout.end()
	c.stderr.end()
	res.Logs, res.LogsCut = c.logs.entries, c.logs.cut
	res.Usage.Fuel, res.Usage.HostCalls = c.fuel, c.hostCalls
	res.Usage.InputBytes, res.Usage.OutputBytes = len(c.request.Input), len(res.Output)
	res.Usage.Elapsed = time.Since(c.began)
	return res
}

// useSlot runs the call in a slot, which is as new for the next one afterwards,
// or is thrown away.
func (c *call) useSlot() Result {
	w := &waiter{code: c.code, tenant: c.request.Tenant, bytes: c.limits.Memory + kernelBytes(c.limits)}
	if err := c.sandbox.pool.take(c.ctx, w); err != nil {
		return Result{Problem: c.notServed(err)}
	}
	if err := c.enterCore(); err != nil {
		c.sandbox.pool.give(w, w.slot)
		return Result{Problem: c.notServed(err)}
	}
	if w.slot != nil {
		w.slot.serve(c)
	}
	exit, err := c.guard(c.execute)
	c.leaveCore()
	res := c.result(exit, err)
	_ = c.charge() // what it used is owed, though this call is over
	if c.slot != nil {
		res.Usage.PeakMemory = abi.Size(c.slot.memory.peak)
	}
	// A guest that did not return by itself may have stopped anywhere.
	keep := err == nil && c.slot.restorable()
	if keep {
		if err := c.slot.restore(c.sandbox.tracker, c.sandbox.cfg.Audit); err != nil {
			keep = false
			c.logs.add(LevelHost, []byte("the instance is thrown away: "+err.Error()))
			if errors.Is(err, errDiffers) {
				res.Output, res.Problem = nil, abi.NewProblem(abi.HostBug, "the guest's memory was not restored after the call")
			}
		}
	}
	if keep {
		c.sandbox.pool.give(w, c.slot)
		return res
	}
	if c.slot != nil {
		c.slot.close()
	}
	c.sandbox.pool.give(w, nil)
	return res
}

func (c *call) notServed(err error) *abi.Problem {
	if c.ctx.Err() == nil {
		return host.ProblemOf(err)
	}
	p := c.contextProblem()
	p.Message += "; all of it waiting for an instance and a core"
	return p
}

// refusal says why a call does not even begin.
func (c *call) refusal() *abi.Problem {
	switch n := len(c.request.Input); {
	case !c.code.has(c.request.Export):
		return abi.NewProblem(abi.MissingExport, "the module has no export %q of signature () -> i32", c.request.Export)
	case n > int(c.limits.Input):
		return abi.NewProblem(abi.InputLimit, "the input has %d bytes; limits.input allows %d (%v)", n, int(c.limits.Input), c.limits.Input)
	case c.ctx.Err() != nil:
		return c.contextProblem()
	}
	return nil
}

// guard runs the guest and turns a panic of the host, which is a bug of it or
// of the engine, into a problem.
func (c *call) guard(run func() (uint32, error)) (exit uint32, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.logs.add(LevelHost, fmt.Appendf(nil, "%v\n%s", r, debug.Stack()))
			c.stopped = abi.NewProblem(abi.HostBug, "the host failed while the guest ran")
			err = errors.New("the host panicked")
		}
	}()
	return run()
}

func (c *call) execute() (exit uint32, err error) {
	if c.slot != nil {
		c.receive()
	} else if _, err := newSlot(c); err != nil {
		return 0, err
	}
	c.clock, c.random = c.clocks(), c.randoms()
	var returned [1]uint64
	if err := c.slot.function(c.request.Export).CallWithStack(c.ctx, returned[:]); err != nil {
		return 0, err
	}
	return api.DecodeU32(returned[0]), nil
}

// receive puts the call's input into the kernel's memory of its slot.
func (c *call) receive() {
	c.kernel.memory = &c.slot.kernel
	h, ok := c.kernel.write(c.request.Input)
	if !ok {
		panic("BUG: the input is within its limit and has no room")
	}
	c.kernel.setInput(span{h, uint64(len(c.request.Input))})
}

// stop ends the guest from within a host function. It does not return.
func (c *call) stop(p *abi.Problem) {
	c.stopped = p
	panic(sys.NewExitError(1)) // which the engine passes on as it is
}

// result tells how the run ended.
func (c *call) result(exit uint32, err error) Result {
	var exited *sys.ExitError
	ended := errors.As(err, &exited)
	if ended {
		exit = exited.ExitCode()
	}
	c.burnt()
	res := Result{Exit: exit, GuestError: c.guestError()}
	switch {
	case c.stopped != nil:
		res.Exit, res.Problem = 0, c.stopped
	case err == nil && c.fuel > c.limits.Fuel:
		res.Exit, res.Problem = 0, c.outOfFuel()
	case (err == nil || ended) && c.isOver():
		res.Exit, res.Problem = 0, c.contextProblem()
	case err != nil && c.refusedMemory() > 0:
		res.Problem = abi.NewProblem(abi.OutOfMemory, "it needed %d bytes of memory; limits.memory allows %d (%v)", c.refusedMemory(), int64(c.limits.Memory), c.limits.Memory)
	case ended:
		res.Problem = abi.NewProblem(abi.GuestExit, "the guest ended its process with exit code %d%s", exit, quoted(cmp.Or(res.GuestError, c.lastWords())))
	case err != nil:
		res.Problem = c.trap(err)
	default:
		res.Output, res.Problem = c.output(exit, res.GuestError)
	}
	return res
}

// output gives what the guest put out and, where it did not succeed, why.
func (c *call) output(exit uint32, guestError string) ([]byte, *abi.Problem) {
	out := c.kernel.output
	switch {
	case out.length > uint64(c.limits.Output):
		return nil, abi.NewProblem(abi.OutputLimit, "the output has %d bytes; limits.output allows %d (%v)", out.length, int64(c.limits.Output), c.limits.Output)
	case c.request.Export == abi.ExportABI:
		return c.kernel.copyOf(out), nil
	case exit != 0 || guestError != "":
		return c.kernel.copyOf(out), abi.NewProblem(abi.GuestExit, "%s returned %d%s", c.request.Export, int32(exit), quoted(guestError))
	}
	return c.kernel.copyOf(out), nil
}

// trap keeps the stack for operators and the first line for everybody.
func (c *call) trap(err error) *abi.Problem {
	c.logs.add(LevelHost, []byte(err.Error()))
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return abi.NewProblem(abi.Trap, "the guest trapped: %s%s", strings.TrimPrefix(reason, "wasm error: "), quoted(c.lastWords()))
}

// lastWords gives the line in which the runtime of Go or Rust tells why it
// gives up.
func (c *call) lastWords() string {
	for _, l := range c.logs.entries {
		if l.Level == LevelStderr && (strings.HasPrefix(l.Text, "panic: ") || strings.HasPrefix(l.Text, "fatal error: ") || strings.Contains(l.Text, " panicked at ")) {
			return l.Text
		}
	}
	return ""
}

// guestError gives the text in the error block, as it is at the end.
func (c *call) guestError() string {
	s := span{c.kernel.failure, min(c.kernel.blockLength(c.kernel.failure), guestErrorBytes)}
	return string(c.kernel.copyOf(s))
}

// quoted appends what the guest says to a message.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return ": " + strings.ToValidUTF8(text[:min(len(text), guestMessageBytes)], "")
}

func (c *call) refusedMemory() uint64 {
	if c.slot == nil {
		return 0
	}
	return c.slot.memory.refused
}

// isOver reports whether the caller went away or the deadline passed, of
// which the context may know later than the clock.
func (c *call) isOver() bool {
	if c.ctx.Err() != nil {
		return true
	}
	deadline, ok := c.ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// paceBytes is how much work the host does for a guest before it looks whether
// the call is over: such work costs no fuel.
const paceBytes = 1 << 20

// pace sees that a guest which has the host work does not outlive its call.
func (c *call) pace() {
	if c.kernel.work >= paceBytes {
		c.kernel.work = 0
		c.stopIfDone()
	}
}

// stopIfDone ends a guest that outlived its call.
func (c *call) stopIfDone() {
	if c.isOver() {
		c.stop(c.contextProblem())
	}
}

// contextProblem tells a passed deadline from a caller that went away.
func (c *call) contextProblem() *abi.Problem {
	if errors.Is(c.ctx.Err(), context.Canceled) {
		return abi.NewProblem(abi.Cancelled, "the call was stopped after %v", c.elapsed())
	}
	return abi.NewProblem(abi.Deadline, "it ran for %v; its deadline is %v (limits.deadline, or less time was left)", c.elapsed(), c.deadline)
}

func (c *call) elapsed() time.Duration { return time.Since(c.began).Round(time.Millisecond) }
