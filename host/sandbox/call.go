package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
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
	module  *Module
	limits  abi.Limits
	request *Request
	ctx     context.Context // of the run, with the call's deadline; WASI passes none
	began   time.Time

	memory    linearMemory
	kernel    kernel
	vars      map[string][]byte
	varBytes  int
	logs      logBook
	stdout    lineLog
	stderr    lineLog
	hostCalls int
	hostBytes int

	deadline time.Duration
	stopped  *abi.Problem // why the host ended the guest
}

func newCall(m *Module, req *Request) *call {
	c := &call{module: m, limits: m.limits, request: req, began: time.Now()}
	c.memory.limit = uint64(c.limits.Memory)
	c.kernel = newKernel(uint64(c.limits.Memory + c.limits.Input + c.limits.Output))
	c.logs.left = int(c.limits.Logs)
	c.stdout = lineLog{book: &c.logs, level: LevelStdout}
	c.stderr = lineLog{book: &c.logs, level: LevelStderr}
	c.deadline = time.Duration(c.limits.Deadline)
	if req.Deadline != 0 {
		c.deadline = min(c.deadline, req.Deadline)
	}
	return c
}

// callKey is under which host functions find the call that they serve.
type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

func (c *call) run(ctx context.Context) Result {
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	c.ctx = context.WithValue(ctx, callKey{}, c)
	res := Result{Problem: c.refusal()}
	if res.Problem == nil {
		exit, err := c.guarded()
		res = c.result(exit, err)
	}
	c.stdout.end()
	c.stderr.end()
	res.Logs, res.LogsCut = c.logs.entries, c.logs.cut
	res.Usage = host.Usage{
		PeakMemory: abi.Size(c.memory.peak), HostCalls: c.hostCalls,
		InputBytes: len(c.request.Input), OutputBytes: len(res.Output), Elapsed: time.Since(c.began),
	}
	return res
}

// refusal says why a call does not even begin.
func (c *call) refusal() *abi.Problem {
	switch n := len(c.request.Input); {
	case !c.module.Has(c.request.Export):
		return abi.NewProblem(abi.MissingExport, "the module has no export %q of signature () -> i32", c.request.Export)
	case n > int(c.limits.Input):
		return abi.NewProblem(abi.InputLimit, "the input has %d bytes; limits.input allows %d (%v)", n, int(c.limits.Input), c.limits.Input)
	case c.ctx.Err() != nil:
		return c.contextProblem(c.ctx)
	}
	return nil
}

// guarded runs the guest and turns a panic of the host, which is a bug of it
// or of the engine, into a problem.
func (c *call) guarded() (exit uint32, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.logs.add(LevelHost, fmt.Appendf(nil, "%v\n%s", r, debug.Stack()))
			c.stopped = abi.NewProblem(abi.HostBug, "the host failed while the guest ran")
			err = errors.New("the host panicked")
		}
	}()
	return c.execute()
}

func (c *call) execute() (exit uint32, err error) {
	instance, err := c.module.code.runtime.InstantiateModule(
		experimental.WithMemoryAllocator(c.ctx, &c.memory), c.module.code.compiled, c.config())
	if err != nil {
		return 0, err
	}
	defer func() { _ = instance.Close(c.ctx) }() // it has no files that could fail to close
	c.setInput()
	if err := c.initialise(instance); err != nil {
		return 0, err
	}
	returned, err := instance.ExportedFunction(c.request.Export).Call(c.ctx)
	if err != nil {
		return 0, err
	}
	return api.DecodeU32(returned[0]), nil
}

func (c *call) setInput() {
	h, ok := c.kernel.write(c.request.Input)
	if !ok {
		panic("BUG: the input is within its limit and has no room")
	}
	c.kernel.input = span{h, uint64(len(c.request.Input))}
}

// initialise starts the guest's language runtime as the reference host does:
// Haskell's by hs_init, after _initialize; else a reactor's by _initialize, or
// a command's by __wasm_call_ctors.
func (c *call) initialise(instance api.Module) error {
	haskell := instance.ExportedFunction("hs_init")
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		f := instance.ExportedFunction(name)
		if f == nil || len(f.Definition().ParamTypes()) > 0 || haskell != nil && name != "_initialize" {
			continue
		}
		if _, err := f.Call(c.ctx); err != nil {
			return err
		}
		break
	}
	if haskell == nil {
		return nil
	}
	_, err := haskell.Call(c.ctx, 0, 0)
	return err
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
	res := Result{Exit: exit, GuestError: c.guestError()}
	switch {
	case c.stopped != nil:
		res.Exit, res.Problem = 0, c.stopped
	case (err == nil || ended) && c.ctx.Err() != nil:
		res.Exit, res.Problem = 0, c.contextProblem(c.ctx)
	case err != nil && c.memory.refused > 0:
		res.Problem = abi.NewProblem(abi.OutOfMemory, "it needed %d bytes of memory; limits.memory allows %d (%v)", c.memory.refused, c.memory.limit, c.limits.Memory)
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

// contextProblem tells a passed deadline from a caller that went away.
func (c *call) contextProblem(ctx context.Context) *abi.Problem {
	if errors.Is(ctx.Err(), context.Canceled) {
		return abi.NewProblem(abi.Cancelled, "the call was stopped after %v", c.elapsed())
	}
	return abi.NewProblem(abi.Deadline, "it ran for %v; its deadline is %v (limits.deadline, or less time was left)", c.elapsed(), c.deadline)
}

func (c *call) elapsed() time.Duration { return time.Since(c.began).Round(time.Millisecond) }
