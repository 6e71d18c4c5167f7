package manifest

import (
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// An edge leads from a schema to one that it applies, and says to what part of
// the value.
type edge struct {
	to    *jsonschema.Schema
	over  reach
	child string // the member's name or the item's index, where over is one…
}

// A reach says what of a value an edge applies to.
type reach uint8

const (
	sameValue    reach = iota // the value itself
	oneMember                 // the member of one name
	otherMembers              // those that no oneMember names
	anyMember                 // all of them
	oneItem                   // the item at one index
	otherItems                // those that no oneItem names
	anyItem                   // all of them
)

// edgesOf gives every schema that s applies, in no order, but for those of
// propertyNames: names are text and lead no further.
func edgesOf(s *jsonschema.Schema) []edge {
	var edges []edge
	add := func(over reach, schemas ...*jsonschema.Schema) {
		for _, to := range schemas {
			if to != nil {
				edges = append(edges, edge{to: to, over: over})
			}
		}
	}
	add(sameValue, s.Ref, s.Not, s.If, s.Then, s.Else)
	add(sameValue, s.AllOf...)
	add(sameValue, s.AnyOf...)
	add(sameValue, s.OneOf...)
	for _, to := range s.DependentSchemas {
		add(sameValue, to)
	}
	for name, to := range s.Properties {
		edges = append(edges, edge{to, oneMember, name})
	}
	if to, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		add(otherMembers, to)
	}
	for _, to := range s.PatternProperties {
		add(anyMember, to)
	}
	for i, to := range s.PrefixItems {
		edges = append(edges, edge{to, oneItem, strconv.Itoa(i)})
	}
	add(otherItems, s.Items2020)
	add(anyItem, s.Contains)
	return edges
}
