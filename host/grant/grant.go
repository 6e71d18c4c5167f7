package grant

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/egress"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
)

// Config is what the host has to grant. What is nil, the host does not have: a
// skill that may use it is told so. Only Store is required.
type Config struct {
	Store *state.Store
	Blobs *blob.Store
	Files *files.Store

	// Recall gives the memories that answer a query, best first. The query's
	// kinds and its limit are set.
	Recall func(context.Context, host.SessionRef, abi.RecallQuery) ([]abi.Memory, error)
	// Remember keeps what a call remembers. It may be asked for the same ones again.
	Remember func(context.Context, host.CallRef, []abi.Memory) error
	// Egress is the way to other hosts, and Secrets gives what a manifest's auth
	// names, by tenant and name; nil has none.
	Egress  *egress.Client
	Secrets func(tenant host.TenantID, name string) (secret string, ok bool)
}

// A Call is one attempt of a call of a tool.
type Call struct {
	ID           host.CallID
	Session      host.SessionRef
	Live         host.LiveID // empty for none
	Capabilities abi.Capabilities
	Effect       abi.Effect                 // of the tool
	Key          host.Key                   // of a write; goes out with its requests
	State        map[string]json.RawMessage // what the manifest may read of it; the guest has it in the envelope too
	Progress     func(abi.ProgressReport)   // gets reports while the call runs; nil drops them; must not block
	Record       int                        // bytes of host calls that are recorded; 0 for none
}

// A Grant is what one attempt of a call may do. It is for one goroutine.
type Grant struct {
	Functions []sandbox.Function
	HTTP      HTTP          // serves http_request of Extism's ABI; nil where http is not granted
	Views     []*state.View // writes that wait for the call to be settled

	config   Config
	call     Call
	blobs    *blobWrites // nil where there are none
	files    *files.View // nil where there are none
	memories []abi.Memory
	recorder recorder
	failed   *abi.Problem
}

// For builds the grant of one attempt of a call.
func For(cfg Config, call Call) *Grant {
	g := &Grant{config: cfg, call: call, recorder: recorder{room: call.Record}}
	c := call.Capabilities
	if c.KV != nil {
		view := cfg.Store.View(call.Session.Tenant, c.KV.Namespace)
		g.Views = append(g.Views, view)
		g.add(kvReads(view)...)
		g.addWrites(abi.AccessWrite, kvWrites(view)...)
	}
	if c.State != nil && len(c.State.Reads) > 0 {
		g.add(stateGet(c.State, call.State))
	}
	g.addMemory(c.Memory)
	g.addBlob(c.Blob)
	g.addFiles(c.Files)
	if c.Progress {
		g.add(progress(call.Progress))
	}
	if len(c.HTTP) > 0 {
		g.addHTTP(c.HTTP)
	}
	return g
}

// usualFunctions is about how many functions a skill is granted.
const usualFunctions = 8

// add grants functions: each is recorded, and the first failure of the host's
// own is remembered.
func (g *Grant) add(functions ...sandbox.Function) {
	for _, f := range functions {
		g.addRecorded(sandbox.Function{Name: f.Name, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			result, problem := f.Call(ctx, args)
			if problem != nil && problem.Code.Class() == abi.ClassSystem && g.failed == nil {
				g.failed = problem
			}
			return result, problem
		}})
	}
}

// addRecorded grants a function whose calls are recorded.
func (g *Grant) addRecorded(f sandbox.Function) {
	if g.Functions == nil {
		g.recorder.granted, g.Functions = make([]string, 0, usualFunctions), make([]sandbox.Function, 0, usualFunctions)
	}
	g.recorder.granted = append(g.recorder.granted, f.Name)
	g.Functions = append(g.Functions, sandbox.Function{Name: f.Name, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
		result, problem := f.Call(ctx, args)
		g.recorder.note(f.Name, args, result, problem)
		return result, problem
	}})
}

// addWrites grants functions that write: to a tool whose effect is write, if
// the manifest's mode is write too. The manifest's word on a tool is what the
// gate went by.
func (g *Grant) addWrites(mode abi.AccessMode, functions ...sandbox.Function) {
	for _, f := range functions {
		switch {
		case g.call.Effect != abi.Write:
			g.add(refusing(f.Name, func() *abi.Problem {
				return abi.NewProblem(abi.NotGranted, "%s is not granted to a tool whose effect is read", f.Name).
					WithHint("declare the tool's effect as write in skill.yaml")
			}))
		case mode != abi.AccessWrite:
			g.add(refusing(f.Name, func() *abi.Problem {
				return abi.NewProblem(abi.NotGranted, "%s is not granted: skill.yaml declares that it only reads there", f.Name).
					WithHint("declare the capability as write in skill.yaml")
			}))
		default:
			g.add(f)
		}
	}
}

// refusing is a function that always gives one problem, which is made where a
// guest asks for it: hardly any does.
func refusing(name string, problem func() *abi.Problem) sandbox.Function {
	return sandbox.Function{Name: name, Call: func(context.Context, [][]byte) ([]byte, *abi.Problem) { return nil, problem() }}
}

// absent are functions of something that this host does not have.
func absent(what string, names ...string) (functions []sandbox.Function) {
	for _, name := range names {
		functions = append(functions, refusing(name, func() *abi.Problem {
			return abi.NewProblem(abi.NotGranted, "%s: this host has no %s", name, what).
				WithHint("use another skill, or ask the operator to set it up")
		}))
	}
	return functions
}

// Failed gives the first system failure (5xxx) that a host function had, or
// nil. A guest may have passed over it, or told it in words of its own: whatever
// it answers then rests on what it could not read, and must not be kept.
func (g *Grant) Failed() *abi.Problem { return g.failed }
