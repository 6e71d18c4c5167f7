package manifest

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/sluicehq/sluice/abi"
)

// An explainer turns the library's errors about one value into problems that
// say what would fit.
type explainer struct {
	v     *validator
	root  *node
	limit int
	found []finding
	seen  map[string]bool // code and field: one finding of a kind for a field
}

func (e *explainer) add(at place, p *abi.Problem) {
	p.Field = at.path
	key := fmt.Sprint(int(p.Code), p.Field)
	if e.seen[key] || len(e.found) == e.limit {
		return
	}
	e.seen[key] = true
	e.found = append(e.found, finding{p, at.line})
}

func (e *explainer) explain(l leaf) {
	s, keyword := e.v.locate(l.ValidationError)
	at := e.root.at(pointer(l.InstanceLocation))
	if s == nil || at.node == nil {
		e.add(at, abi.NewProblem(abi.BadArguments, "%s", l.Message))
		return
	}
	code := abi.BadValue
	switch keyword {
	case "required":
		e.missing(s, at)
		return
	case "additionalProperties":
		e.unknown(s, at)
		return
	case "":
		e.add(at, abi.NewProblem(abi.UnknownField, "is not a field here"))
		return
	case "enum", "const":
		e.notAmong(s, at, l.about)
		return
	case "not", "oneOf", "dependentRequired", "uniqueItems":
		e.add(at, abi.NewProblem(code, "does not fit: %s", l.Message).WithHint("%s", l.about))
		return
	case "type", "anyOf":
		code = abi.WrongType
	}
	e.add(at, abi.NewProblem(code, "must be %s (got %s)", describe(s, 0), show(at.node)).WithHint("%s", l.about))
}

func (e *explainer) missing(s *jsonschema.Schema, at place) {
	for _, name := range s.Required {
		if at.node.get(name) != nil {
			continue
		}
		p := abi.NewProblem(abi.Missing, "is required")
		if field := s.Properties[name]; field != nil {
			p.Message += ": " + describe(field, 0)
			p.Hint = field.Description
		}
		e.add(place{path: joinField(at.path, name), line: at.line}, p)
	}
}

func (e *explainer) unknown(s *jsonschema.Schema, at place) {
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, m := range at.node.members {
		if _, ok := s.Properties[m.name]; ok || matchesPattern(s, m.name) {
			continue
		}
		p := abi.NewProblem(abi.UnknownField, "is not a field here")
		p.WithHint("%s", guess(m.name, known))
		if p.Candidates = near(m.name, known); len(p.Candidates) == 0 {
			p.Candidates = byNearness(m.name, known)
		}
		e.add(at.step(m.name), p)
	}
}

func matchesPattern(s *jsonschema.Schema, name string) bool {
	for pattern := range s.PatternProperties {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

func (e *explainer) notAmong(s *jsonschema.Schema, at place, about string) {
	allowed := append(slices.Clone(s.Constant), s.Enum...)
	values := make([]string, len(allowed))
	for i, v := range allowed {
		values[i] = showPlain(v)
	}
	p := abi.NewProblem(abi.BadValue, "must be %s (got %s)", describe(s, 0), show(at.node)).WithHint("%s", about)
	word := at.node.text
	if guesses := near(word, values); at.node.kind == text && len(guesses) > 0 {
		p.WithHint("did you mean %s?", guesses[0])
	}
	e.add(at, p.WithCandidates(byNearness(word, values)...))
}

// show gives a value for a message, shortened.
func show(n *node) string {
	switch n.kind {
	case object, list:
		return n.kind.String()
	}
	return cut(string(n.appendJSON(nil)), 60)
}

func showPlain(v any) string { return cut(fmt.Sprint(v), 60) }

// Bounds of a described shape.
const (
	maxShapeDepth = 2
	maxShapeNames = 12
)

// describe says what a schema accepts, as a part of "must be …".
func describe(s *jsonschema.Schema, depth int) string {
	switch {
	case s.Ref != nil && len(s.Types) == 0 && depth < 8:
		return describe(s.Ref, depth+1)
	case len(s.Constant) > 0:
		return showPlain(s.Constant[0])
	case len(s.Enum) > 0:
		return "one of " + joinShort(s.Enum)
	case len(s.Types) == 0 && len(s.AnyOf) > 0 && depth <= maxShapeDepth:
		return describeForms(s.AnyOf, depth)
	case len(s.Types) == 0 && len(s.OneOf) > 0 && depth <= maxShapeDepth:
		return describeForms(s.OneOf, depth)
	}
	var forms []string
	for _, t := range s.Types {
		forms = append(forms, describeType(s, t, depth))
	}
	if len(forms) == 0 {
		forms = []string{"a value"}
	}
	return strings.Join(forms, " or ") + describeBounds(s)
}

func describeForms(forms []*jsonschema.Schema, depth int) string {
	var all []string
	for _, f := range forms {
		if d := describe(f, depth+1); !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return strings.Join(all, " or ")
}

func describeType(s *jsonschema.Schema, name string, depth int) string {
	switch name {
	case "integer":
		return "an integer"
	case "boolean":
		return "true or false"
	case "null":
		return "null"
	case "array":
		if s.Items2020 != nil && depth < maxShapeDepth {
			return "an array, each " + describe(s.Items2020, depth+1)
		}
		return "an array"
	case "object":
		if len(s.Properties) > 0 && depth < maxShapeDepth {
			return "an object with " + joinNames(slices.Sorted(maps.Keys(s.Properties)))
		}
		return "an object"
	}
	if s.Format != "" {
		return "a string of the format " + s.Format
	}
	return "a " + name
}

func describeBounds(s *jsonschema.Schema) string {
	var b strings.Builder
	bound := func(set bool, format string, arg any) {
		if set {
			fmt.Fprintf(&b, format, arg)
		}
	}
	bound(s.Minimum != nil, ", at least %s", decimal(s.Minimum))
	bound(s.ExclusiveMinimum != nil, ", more than %s", decimal(s.ExclusiveMinimum))
	bound(s.Maximum != nil, ", at most %s", decimal(s.Maximum))
	bound(s.ExclusiveMaximum != nil, ", less than %s", decimal(s.ExclusiveMaximum))
	bound(s.MultipleOf != nil, ", in steps of %s", decimal(s.MultipleOf))
	bound(s.MinLength > 0, ", at least %d characters", s.MinLength)
	bound(s.MaxLength >= 0, ", at most %d characters", s.MaxLength)
	bound(s.Pattern != nil, ", matching %v", s.Pattern)
	bound(s.MinItems > 0, ", at least %d items", s.MinItems)
	bound(s.MaxItems >= 0, ", at most %d items", s.MaxItems)
	bound(s.MinProperties > 0, ", at least %d fields", s.MinProperties)
	bound(s.MaxProperties >= 0, ", at most %d fields", s.MaxProperties)
	return b.String()
}

func joinShort(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = showPlain(v)
	}
	return joinNames(words)
}

func joinNames(names []string) string {
	if more := len(names) - maxShapeNames; more > 0 {
		return strings.Join(names[:maxShapeNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// decimal writes a bound as people do; r may be nil.
func decimal(r *big.Rat) string {
	if r == nil {
		return ""
	}
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}
