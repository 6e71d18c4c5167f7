package manifest

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
)

// A shape is what CEL knows of a JSON value: its type at compile time, and how
// to bring a value into the form of that type at evaluation. A nil shape is
// anything.
type shape struct {
	form     shapeForm
	nullable bool
	name     string            // of an object: what messages call it
	fields   map[string]*shape // of an object
	open     bool              // an object that may have more fields than the known ones, of any form
	elem     *shape            // of a list or a map
}

// A shapeForm is the kind of a shape.
type shapeForm uint8

const (
	anything shapeForm = iota
	nothing            // null
	boolForm
	intForm
	doubleForm
	textForm
	listForm
	mapForm    // text to elem
	objectForm // known fields
)

// maxTypeDepth bounds lists of lists; what lies deeper is anything.
const maxTypeDepth = 8

func (s *shape) kind() shapeForm {
	if s == nil {
		return anything
	}
	return s.form
}

// celType gives the type that expressions see.
func (s *shape) celType() *types.Type { return s.typeAt(0) }

func (s *shape) typeAt(depth int) *types.Type {
	var t *types.Type
	switch form := s.kind(); {
	case depth > maxTypeDepth || form == anything:
		return types.DynType
	case form == nothing:
		return types.NullType
	case form == boolForm:
		t = types.BoolType
	case form == intForm:
		t = types.IntType
	case form == doubleForm:
		t = types.DoubleType
	case form == textForm:
		t = types.StringType
	case form == objectForm:
		return types.NewObjectType(s.name) // null is assignable to objects
	case s.nullable:
		return types.DynType // CEL has no nullable lists and maps
	case form == listForm:
		return types.NewListType(s.elem.typeAt(depth + 1))
	case form == mapForm:
		return types.NewMapType(types.StringType, s.elem.typeAt(depth+1))
	}
	if s.nullable {
		return types.NewNullableType(t)
	}
	return t
}

// value brings n into the form of s: numbers of a double become float64,
// whole numbers else int64 where they fit, objects map[string]any.
func (s *shape) value(n *node) any {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.members))
		for _, f := range n.members {
			m[f.name] = s.field(f.name).value(f.value)
		}
		return m
	case list:
		var elem *shape
		if s.kind() == listForm {
			elem = s.elem
		}
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = elem.value(item)
		}
		return items
	case number:
		return s.number(n.text)
	case text:
		return n.text
	case boolean:
		return n.text == "true"
	}
	return types.NullValue
}

// field gives the shape of a member; one that is not known can be anything.
func (s *shape) field(name string) *shape {
	switch s.kind() {
	case objectForm:
		return s.fields[name]
	case mapForm:
		return s.elem
	}
	return nil
}

func (s *shape) number(text string) any {
	if s.kind() != doubleForm {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i
		}
	}
	if s.kind() == intForm { // 89.0 and 1e3 are integers to JSON Schema
		if r, ok := new(big.Rat).SetString(text); ok && r.IsInt() && r.Num().IsInt64() {
			return r.Num().Int64()
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("BUG: a number out of bounds was read: " + text)
	}
	return f
}

// at narrows a shape to a dotted path: names of members, and indices of lists.
func (s *shape) at(path string) (*shape, error) {
	if path == "" {
		return s, nil
	}
	for _, step := range strings.Split(path, ".") {
		switch s.kind() {
		case anything:
			return nil, nil
		case mapForm:
			s = s.elem
		case listForm:
			if _, err := strconv.ParseUint(step, 10, 16); err != nil {
				return nil, fmt.Errorf("%q is not an index of an array", step)
			}
			s = s.elem
		case objectForm:
			field, known := s.fields[step]
			if !known && !s.open {
				names := slices.Sorted(maps.Keys(s.fields))
				return nil, fmt.Errorf("there is no field %q; there are %s", step, strings.Join(byNearness(step, names), ", "))
			}
			s = field
		default:
			return nil, fmt.Errorf("%q leads into a value that has no fields", step)
		}
	}
	return s, nil
}
