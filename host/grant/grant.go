package grant

import (
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
)

// A Grant is what one call may do. It serves one attempt at a time.
type Grant struct {
	Functions []sandbox.Function
	Views     []*state.View // writes that wait for the call to be settled
}

// For builds the grant of one call of a tool with the given effect. The
// session state that the manifest may read has been loaded by the caller,
// which gives it to the guest in the envelope too.
func For(store *state.Store, c abi.Capabilities, effect abi.Effect, tenant host.TenantID, session map[string]json.RawMessage) *Grant {
	g := &Grant{}
	if c.KV != nil {
		view := store.View(tenant, c.KV.Namespace)
		g.Views = append(g.Views, view)
		g.Functions = append(g.Functions, kvReads(view)...)
		if effect == abi.Write {
			g.Functions = append(g.Functions, kvWrites(view)...)
		}
	}
	if c.State != nil && len(c.State.Reads) > 0 {
		g.Functions = append(g.Functions, stateGet(c.State, session))
	}
	return g
}

// Reset forgets what an attempt read and wrote.
func (g *Grant) Reset() {
	for _, v := range g.Views {
		v.Reset()
	}
}
