package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Bounds of merging the shapes of alternatives, which may contain each other;
// what lies beyond is anything.
const (
	maxMergeDepth = 4
	maxMerges     = 10_000
)

// shapes derives shapes from compiled schemas and keeps the named object
// types. It is filled while loading and only read afterwards.
type shapes struct {
	objects map[string]*shape // by type name
	known   map[*jsonschema.Schema]*shape
	merges  int
}

func newShapes() *shapes {
	return &shapes{objects: map[string]*shape{}, known: map[*jsonschema.Schema]*shape{}}
}

// of gives the shape of what a schema accepts. Where a schema leaves the type
// open, or its parts disagree, the shape is anything. path names the objects.
func (b *shapes) of(s *jsonschema.Schema, path string) *shape {
	if s == nil {
		return nil
	}
	if known := b.known[s]; known != nil {
		return known
	}
	if onlyRefers(s) {
		return b.of(s.Ref, path)
	}
	result := &shape{}
	b.known[s] = result // found again inside itself: filled when its turn ends
	own := b.own(s, path)
	for _, part := range append([]*jsonschema.Schema{s.Ref}, s.AllOf...) {
		own = b.narrow(own, b.of(part, path), 0)
	}
	own = b.narrow(own, b.either(s.AnyOf, path), 0)
	own = b.narrow(own, b.either(s.OneOf, path), 0)
	if own.form == objectForm {
		own = b.narrow(own, b.of(s.Then, path), 0)
		own = b.narrow(own, b.of(s.Else, path), 0)
	}
	*result = *own
	if result.form == objectForm && result.name == "" {
		b.enter(result, path)
	}
	return result
}

// onlyRefers reports whether a schema says nothing but $ref about the type.
func onlyRefers(s *jsonschema.Schema) bool {
	return s.Ref != nil && len(s.Types)+len(s.Properties)+len(s.Constant)+len(s.Enum)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.Then == nil && s.Else == nil
}

// enter gives an object a type name of its own: one that no expression can
// spell, so that it does not shadow a variable.
func (b *shapes) enter(s *shape, path string) {
	name := "object " + strings.TrimPrefix(path, "object ")
	s.name = name
	for i := 2; b.objects[s.name] != nil; i++ {
		s.name = fmt.Sprintf("%s#%d", name, i)
	}
	b.objects[s.name] = s
}

// own gives what a schema says by itself, without the schemas it refers to.
func (b *shapes) own(s *jsonschema.Schema, path string) *shape {
	names := s.Types
	if len(names) == 0 {
		names = typesOfValues(append(slices.Clone(s.Constant), s.Enum...))
	}
	if len(names) == 0 && len(s.Properties) > 0 {
		names = []string{"object"}
	}
	var forms []*shape
	for _, name := range names {
		forms = append(forms, b.ofType(s, name, path))
	}
	return b.union(forms)
}

func (b *shapes) ofType(s *jsonschema.Schema, name, path string) *shape {
	switch name {
	case "null":
		return &shape{form: nothing}
	case "boolean":
		return &shape{form: boolForm}
	case "integer":
		return &shape{form: intForm}
	case "number":
		return &shape{form: doubleForm}
	case "string":
		return &shape{form: textForm}
	case "array":
		if len(s.PrefixItems) > 0 {
			return &shape{form: listForm}
		}
		return &shape{form: listForm, elem: b.of(s.Items2020, path+"[]")}
	}
	if len(s.Properties) == 0 && s.AdditionalProperties != false {
		values, _ := s.AdditionalProperties.(*jsonschema.Schema)
		return &shape{form: mapForm, elem: b.of(values, path+"[]")}
	}
	fields := make(map[string]*shape, len(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		fields[name] = b.of(s.Properties[name], joinField(path, name))
	}
	return &shape{form: objectForm, fields: fields}
}

// typesOfValues names the JSON Schema types of constants.
func typesOfValues(values []any) []string {
	var names []string
	for _, v := range values {
		if name := typeOfValue(v); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func typeOfValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return "integer"
		}
	}
	return "number"
}

// either gives the shape of a value that has one of several forms; nil if
// there are none.
func (b *shapes) either(forms []*jsonschema.Schema, path string) *shape {
	if len(forms) == 0 {
		return nil
	}
	all := make([]*shape, len(forms))
	for i, f := range forms {
		all[i] = b.of(f, path)
	}
	return b.union(all)
}

// union gives a shape that holds every value of the given ones, anything if
// there are none.
func (b *shapes) union(forms []*shape) *shape {
	var result *shape
	nullable := false
	for _, f := range forms {
		nullable = nullable || f.kind() == nothing || f != nil && f.nullable
		switch {
		case f.kind() == nothing:
		case result == nil:
			result = &shape{}
			if f != nil {
				*result = *f
			}
		default:
			result = b.widen(result, f, 0)
		}
	}
	if result == nil {
		result = &shape{}
		if len(forms) > 0 {
			result.form = nothing
		}
	}
	result.nullable = nullable
	return result
}

// widen joins two forms that a value may have: integers and numbers to
// numbers, objects to one with the fields of both, others to anything.
func (b *shapes) widen(x, y *shape, depth int) *shape {
	switch fx, fy := x.kind(), y.kind(); {
	case b.enough(depth):
		return &shape{}
	case fx == fy && fx == objectForm:
		return b.join(x, y, depth, b.widen)
	case fx == fy && (fx == listForm || fx == mapForm):
		return &shape{form: fx, nullable: x.nullable || y.nullable, elem: b.widen(x.elem, y.elem, depth+1)}
	case fx == fy && fx != anything:
		return &shape{form: fx, nullable: x.nullable || y.nullable}
	case fx == intForm && fy == doubleForm, fx == doubleForm && fy == intForm:
		return &shape{form: doubleForm, nullable: x.nullable || y.nullable}
	}
	return &shape{}
}

// narrow joins what two schemas say of the same value: the one that says more,
// and the fields of both.
func (b *shapes) narrow(x, y *shape, depth int) *shape {
	switch {
	case y.kind() == anything && x != nil || b.enough(depth):
		return x
	case x.kind() == anything || x.form == mapForm && y.form == objectForm:
		return y
	case x.form == objectForm && y.form == objectForm:
		return b.join(x, y, depth, b.narrow)
	}
	return x
}

func (b *shapes) enough(depth int) bool {
	b.merges++
	return depth > maxMergeDepth || b.merges > maxMerges
}

// join gives an object with the fields of both; a field that both have is
// merged.
func (b *shapes) join(x, y *shape, depth int, merge func(x, y *shape, depth int) *shape) *shape {
	fields := maps.Clone(x.fields)
	for _, name := range slices.Sorted(maps.Keys(y.fields)) {
		f := y.fields[name]
		if have, twice := fields[name]; twice {
			f = merge(have, f, depth+1)
		}
		fields[name] = f
	}
	joined := &shape{form: objectForm, fields: fields, nullable: x.nullable || y.nullable}
	if depth > 0 {
		b.enter(joined, cmp.Or(x.name, y.name))
	}
	return joined
}
