package grant

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
)

// A Grant is what one attempt of a call may do. It is for one goroutine.
type Grant struct {
	Functions []sandbox.Function
	Views     []*state.View // writes that wait for the call to be settled

	failed *abi.Problem
}

// For builds the grant of one attempt of a call of a tool with the given
// effect. The session state that the manifest may read has been loaded by the
// caller, which gives it to the guest in the envelope too.
func For(store *state.Store, c abi.Capabilities, effect abi.Effect, tenant host.TenantID, session map[string]json.RawMessage) *Grant {
	g := &Grant{}
	if c.KV != nil {
		view := store.View(tenant, c.KV.Namespace)
		g.Views = append(g.Views, view)
		g.add(kvReads(view)...)
		if effect == abi.Write {
			g.add(kvWrites(view)...)
		} else {
			g.add(kvNoWrites()...)
		}
	}
	if c.State != nil && len(c.State.Reads) > 0 {
		g.add(stateGet(c.State, session))
	}
	return g
}

// add grants functions, and remembers the first failure of the host's own.
func (g *Grant) add(functions ...sandbox.Function) {
	for _, f := range functions {
		g.Functions = append(g.Functions, sandbox.Function{Name: f.Name, Call: func(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
			result, problem := f.Call(ctx, args)
			if problem != nil && problem.Code.Class() == abi.ClassSystem && g.failed == nil {
				g.failed = problem
			}
			return result, problem
		}})
	}
}

// Failed gives the first system failure (5xxx) that a host function had, or
// nil. A guest may have passed over it, or told it in words of its own: whatever
// it answers then rests on what it could not read, and must not be kept.
func (g *Grant) Failed() *abi.Problem { return g.failed }
