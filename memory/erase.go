package memory

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/host"
)

// AsOf reports whether a memory was true at one time, by what the system knew at
// another. A zero time of either asks for no bound of that kind. Whether it counts now is
// its Status, which AsOf leaves aside: what was superseded since held then.
func (n Node) AsOf(valid, known time.Time) bool {
	return within(n.Valid, valid) && within(n.Known, known)
}

func within(s Span, t time.Time) bool {
	return t.IsZero() || !s.From.After(t) && (s.Until.IsZero() || t.Before(s.Until))
}

// A Holding is all that is kept of users, as values.
type Holding struct {
	Nodes     []Node
	Gaps      []Gap
	Questions []Question
	Traces    []Trace
}

// An Erasure is what goes with memories that a user wants forgotten.
type Erasure struct {
	Nodes     []ID
	Gaps      []string
	Questions []string
	Traces    []string
	Calls     []host.CallID  // whose audit payload carries them
	Inputs    []host.InputID // whose messages carry them
	Rederive  []ID           // of the nodes that go, those that were derived, and may be again of what is left
}

// Erase gives what goes with some memories of one user: they, all that was derived
// of them, at any remove, their gaps and questions, and the traces that point to them. Another
// user's or tenant's memories never go, even where an id is the same. Lists are in the
// order of what is held, each id once.
func Erase(held Holding, tenant host.TenantID, user host.UserID, ids []ID) Erasure {
	gone := map[ID]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	own := func(t host.TenantID, u host.UserID) bool { return t == tenant && u == user }
	var e Erasure
	for again := true; again; { // each round finds a node more, or is the last
		again = false
		for _, n := range held.Nodes {
			if own(n.Tenant, n.User) && !gone[n.ID] && slices.ContainsFunc(n.Source.Derived, func(id ID) bool { return gone[id] }) {
				gone[n.ID], again = true, true
				e.Rederive = append(e.Rederive, n.ID)
			}
		}
	}
	touched := func(ids []ID) bool { return slices.ContainsFunc(ids, func(id ID) bool { return gone[id] }) }
	for _, n := range held.Nodes {
		if own(n.Tenant, n.User) && gone[n.ID] {
			e.Nodes = append(e.Nodes, n.ID)
			e.Calls, e.Inputs = addOnce(e.Calls, n.Source.Call), addOnce(e.Inputs, n.Source.Input)
		}
	}
	for _, g := range held.Gaps {
		if own(g.Tenant, g.User) && (gone[g.Memory] || touched(g.Evidence)) {
			e.Gaps = append(e.Gaps, g.ID)
		}
	}
	for _, q := range held.Questions {
		if own(q.Tenant, q.User) && (gone[q.Memory] || touched(q.Evidence)) {
			e.Questions = append(e.Questions, q.ID)
		}
	}
	for _, t := range held.Traces {
		if own(t.Tenant, t.User) && touched(t.Sources) {
			e.Traces = append(e.Traces, t.ID)
		}
	}
	return e
}

// addOnce adds an id that is not empty and not there yet.
func addOnce[T ~string](to []T, id T) []T {
	if id == "" || slices.Contains(to, id) {
		return to
	}
	return append(to, id)
}
