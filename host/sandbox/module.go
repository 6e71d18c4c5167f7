package sandbox

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/tetratelabs/wazero/api"
)

// A Module is loaded code with the limits of its calls. It is safe for
// concurrent use.
type Module struct {
	sandbox *Sandbox
	code    *code
	limits  abi.Limits

	mu     sync.Mutex
	users  int           // running calls, and 1 until Close; guarded by mu
	closed bool          // guarded by mu
	gone   chan struct{} // closed when the last user has left
	err    error         // of giving the code back; set before gone is closed
}

func newModule(s *Sandbox, c *code, limits abi.Limits) *Module {
	return &Module{sandbox: s, code: c, limits: limits, users: 1, gone: make(chan struct{})}
}

// A Request is one call.
type Request struct {
	Tenant    host.TenantID // whose cores and whose budget the guest uses
	Export    string        // of signature () -> i32
	Input     []byte        // what the guest reads as its input; not kept
	Functions []Function    // granted for this call; the first of a name counts
	// HTTP sends what the guest asks of Extism's http_request; nil refuses it.
	// The request's method is never empty, its other parts are as the guest
	// gave them; body is nil where it named none, and may be kept. A problem
	// ends the guest and is the call's. ctx ends with the call's deadline or the
	// caller: HTTP must return then. It is never called twice at once for one
	// call of a module, and counts as a host call.
	HTTP func(ctx context.Context, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem)
	// Deadline shrinks the module's own deadline. 0 leaves it; a negative one
	// has passed already.
	Deadline time.Duration
	Now      time.Time // where the guest's clock stands
	Clock    bool      // gives the guest the host's clock instead
	Seed     [32]byte  // of the guest's random bytes
	Random   bool      // gives the guest the system's random bytes instead
	Config   map[string]string
}

// A Result is what a call gave and what it cost.
type Result struct {
	// Output is what the guest gave. Beside a Problem it is nil, except where
	// the export returned non-zero: then it is what the guest had to say.
	Output     []byte
	Problem    *abi.Problem // why the call failed; nil where it did not
	GuestError string       // the error text that the guest set, if any, cut at 64 KiB
	Exit       uint32       // what the export returned, or the guest's exit code
	Logs       []Log        // in order, up to limits.logs
	LogsCut    int          // bytes of log text that were left out
	Usage      host.Usage
}

// Call runs one export in an instance that is as it was when the module had
// started: nothing of an earlier call can be found in it. Where no instance is
// free it waits for one. It never panics and never fails otherwise than by
// Result.Problem:
//
//	abi.MissingExport  no such export, or of another signature
//	abi.InputLimit     the input is larger than its limit
//	abi.OutputLimit    the output is; none of it is given
//	abi.OutOfFuel      the guest did more work than its limit
//	abi.OutOfMemory    the guest died after memory was refused, or has too many blocks
//	abi.Deadline       the deadline passed, or that of ctx
//	abi.Cancelled      ctx was cancelled
//	abi.QuotaReached   too many host calls, bytes through them, or variables
//	abi.BadHostCall    the guest gave Extism's ABI something that is not a block
//	abi.OverBudget     the tenant used up Config.Budget
//	abi.NotGranted     the guest asked for Extism's http_request, which Request.HTTP does not serve
//	abi.Trap           the guest trapped
//	abi.GuestExit      the export returned non-zero, set an error, or the guest ended its process
//	abi.SystemFailure  the module is closed, or too many calls wait
//	abi.HostBug        a host function panicked; LevelHost of the logs tells more
//
// or with the problem that Request.HTTP gave.
//
// The export abi.ExportABI returns a version, which is no failure. Calls may
// run at once. Whether one is safe to repeat depends on what its Functions do.
func (m *Module) Call(ctx context.Context, req Request) Result {
	if !m.enter() {
		return Result{Problem: abi.NewProblem(abi.SystemFailure, "the module is closed; load it again")}
	}
	defer m.leave()
	return newCall(m.sandbox, m.code, m.limits, &req).run(ctx)
}

// Close waits for running calls and gives the code back. Calls after it are
// refused. If ctx ends first, Close gives its error, and the last call closes.
// It may be repeated.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	m.mu.Unlock()
	if first {
		m.leave()
	}
	select {
	case <-m.gone:
		return m.err
	case <-ctx.Done():
		return fmt.Errorf("calls are still running in module %s: %w", m.code.digest, ctx.Err())
	}
}

func (m *Module) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.users++
	return true
}

func (m *Module) leave() {
	m.mu.Lock()
	m.users--
	last := m.users == 0
	m.mu.Unlock()
	if !last {
		return
	}
	m.err = m.sandbox.forget(m)
	close(m.gone)
}

// Digest gives the SHA-256 of the module's bytes in hex.
func (m *Module) Digest() string { return m.code.digest }

// Limits gives the limits that hold for its calls: no field is zero.
func (m *Module) Limits() abi.Limits { return m.limits }

// An Info says how a module was made ready.
type Info struct {
	// Frozen says that its start ran once, and that every call begins with what
	// it left. Else every call has a fresh instance, which starts anew.
	Frozen    bool
	Refusal   string        // why it is not frozen
	Memory    abi.Size      // that a frozen module has before every call
	StartFuel int64         // that the start of a frozen module used, once
	Took      time.Duration // preparing it without compiling, when that was done
	Restoring string        // how memory that a call changed is found
}

// Info tells how the module was made ready.
func (m *Module) Info() Info {
	n := m.code.note
	return Info{
		Frozen: n.frozen, Refusal: n.Refusal, Memory: abi.Size(m.code.memoryBytes()), StartFuel: n.Started,
		Took: n.Took, Restoring: m.sandbox.tracker.String(),
	}
}

// Has reports whether the module has an export that can be called: a function
// without parameters that returns an i32.
func (m *Module) Has(export string) bool { return m.code.has(export) }

func (c *code) has(export string) bool {
	f, ok := c.exports[export]
	return ok && len(f.ParamTypes()) == 0 && slices.Equal(f.ResultTypes(), types(api.ValueTypeI32))
}

// Imports gives the host functions of abi.NamespaceHost that the module
// imports, sorted: what it can do at most. The block functions, which move what
// the guest has anyway, are not among them.
func (m *Module) Imports() []string { return slices.Clone(m.code.imports) }
