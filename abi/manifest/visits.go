package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxVisits bounds how many schemas may be applied to one part of a value. An
// honest schema needs dozens; one whose alternatives lead back to itself
// doubles with every level and would hold a core for ever.
const maxVisits = 5_000

// maxSteps bounds the count itself, about a second of work. Honest schemas
// take some thousand steps: a level of a value meets about as many
// combinations of schemas as the document has.
const maxSteps = 5_000_000

// tooManyVisits reports whether some value would have one of its parts held
// against more than maxVisits schemas. It follows the combinations of schemas
// that meet on a path of members and items, level by level; where there are
// too many to follow it reports true.
func tooManyVisits(root *jsonschema.Schema) bool {
	g := graph{out: map[*jsonschema.Schema]*outgoing{}, closures: map[*jsonschema.Schema]tally{}}
	level := []tally{g.closure(root)}
	seen := map[string]bool{}
	for depth := 0; depth < MaxDepth && len(level) > 0; depth++ {
		var next []tally
		for _, t := range level {
			if t.sum() > maxVisits || g.steps > maxSteps {
				return true
			}
			for _, below := range g.below(t) {
				if key := below.key(); !seen[key] {
					seen[key] = true
					next = append(next, below)
				}
			}
		}
		level = next
	}
	return false
}

// A tally counts how often each schema is applied to one part of a value.
type tally map[*jsonschema.Schema]int

func (t tally) add(more tally, n int) {
	for s, m := range more {
		t[s] = min(t[s]+n*m, 2*maxVisits) // enough to be too many
	}
}

func (t tally) sum() int {
	sum := 0
	for _, n := range t {
		sum += n
	}
	return sum
}

func (t tally) key() string {
	parts := make([]string, 0, len(t))
	for s, n := range t {
		parts = append(parts, fmt.Sprintf("%s*%d", s.Location, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// A graph holds what the schemas under one root apply.
type graph struct {
	out      map[*jsonschema.Schema]*outgoing
	closures map[*jsonschema.Schema]tally
	steps    int
}

// outgoing is what one schema applies to its own value, and to parts of it.
type outgoing struct {
	same           []*jsonschema.Schema
	members, items parts
}

// parts is what a schema applies to the members, or to the items, of a value.
type parts struct {
	one    map[string][]*jsonschema.Schema
	others []*jsonschema.Schema // to those that one does not name
	every  []*jsonschema.Schema
}

func (g *graph) from(s *jsonschema.Schema) *outgoing {
	if o := g.out[s]; o != nil {
		return o
	}
	o := &outgoing{members: parts{one: map[string][]*jsonschema.Schema{}}, items: parts{one: map[string][]*jsonschema.Schema{}}}
	g.out[s] = o
	for _, e := range edgesOf(s) {
		switch e.over {
		case sameValue:
			o.same = append(o.same, e.to)
		case oneMember:
			o.members.one[e.child] = append(o.members.one[e.child], e.to)
		case otherMembers:
			o.members.others = append(o.members.others, e.to)
		case anyMember:
			o.members.every = append(o.members.every, e.to)
		case oneItem:
			o.items.one[e.child] = append(o.items.one[e.child], e.to)
		case otherItems:
			o.items.others = append(o.items.others, e.to)
		case anyItem:
			o.items.every = append(o.items.every, e.to)
		}
	}
	return o
}

// closure counts the schemas that s applies to its own value, s included. The
// compiler has refused cycles among them.
func (g *graph) closure(s *jsonschema.Schema) tally {
	if t, known := g.closures[s]; known {
		return t
	}
	t := tally{s: 1}
	g.closures[s] = t
	for _, to := range g.from(s).same {
		if g.steps <= maxSteps {
			t.add(g.closure(to), 1)
			g.steps += len(t)
		}
	}
	return t
}

// below gives the combinations that the members, and the items, of a value
// meet whose own combination is t.
func (g *graph) below(t tally) []tally {
	return append(
		g.children(t, func(o *outgoing) parts { return o.members }),
		g.children(t, func(o *outgoing) parts { return o.items })...)
}

func (g *graph) children(t tally, of func(*outgoing) parts) []tally {
	names := map[string]bool{"\x00": true} // one that no schema names
	for s := range t {
		for name := range of(g.from(s)).one {
			names[name] = true
		}
	}
	var found []tally
	for name := range names {
		child := tally{}
		for s, n := range t {
			p := of(g.from(s))
			own, named := p.one[name]
			if !named {
				own = p.others
			}
			for _, to := range slices.Concat(own, p.every) {
				child.add(g.closure(to), n)
				g.steps += len(child)
			}
			g.steps++
		}
		if len(child) > 0 && g.steps <= maxSteps {
			found = append(found, child)
		}
	}
	return found
}
