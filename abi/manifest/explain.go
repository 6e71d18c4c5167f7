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

// misfit says what would have fit in place of n.
func misfit(code abi.Code, s *jsonschema.Schema, n *node, about string) *abi.Problem {
	return abi.NewProblem(code, "must be %s (got %s)", describe(s, 0), show(n)).WithHint("%s", about)
}

// missing says what is to stand where nothing stands; field may be nil.
func missing(field *jsonschema.Schema) *abi.Problem {
	p := abi.NewProblem(abi.Missing, "is required")
	if field != nil {
		p.Message += ": " + describe(field, 0)
		p.Hint = field.Description
	}
	return p
}

func notAField() *abi.Problem { return abi.NewProblem(abi.UnknownField, "is not a field here") }

// unknown names the fields that may have been meant.
func unknown(s *jsonschema.Schema, name string) *abi.Problem {
	known := slices.Sorted(maps.Keys(s.Properties))
	p := notAField().WithHint("%s", guess(name, known))
	if p.Candidates = near(name, known); len(p.Candidates) == 0 {
		p.Candidates = byNearness(name, known)
	}
	return p
}

// notAmong gives the values that would do, nearest first.
func notAmong(s *jsonschema.Schema, n *node, about string) *abi.Problem {
	allowed := append(slices.Clone(s.Constant), s.Enum...)
	values := make([]string, len(allowed))
	for i, v := range allowed {
		values[i] = showPlain(v)
	}
	p := misfit(abi.BadValue, s, n, about).WithCandidates(byNearness(n.text, values)...)
	if guesses := near(n.text, values); n.kind == text && len(guesses) > 0 {
		p.WithHint("did you mean %s?", guesses[0])
	}
	return p
}

func wrongCount(s *jsonschema.Schema) *abi.Problem {
	few := fmt.Sprintf("must hold at least %d items that are %s", s.MinContains, describe(s.Contains, 0))
	if s.MaxContains >= 0 {
		few += fmt.Sprintf(", and at most %d", s.MaxContains)
	}
	return abi.NewProblem(abi.BadValue, "%s", few)
}

// show gives a value for a message, shortened.
func show(n *node) string {
	if n.kind == object || n.kind == list {
		return n.kind.String()
	}
	return cut(string((&node{kind: n.kind, text: cut(n.text, maxShownBytes)}).appendJSON(nil)), maxShownBytes)
}

func showPlain(v any) string { return cut(fmt.Sprint(v), maxShownBytes) }

// Bounds of what a message shows.
const (
	maxShownBytes = 60 // of one value
	maxShapeDepth = 2
	maxShapeNames = 12
	maxRefDepth   = 8
)

// describe says what a schema accepts, as a part of "must be …".
func describe(s *jsonschema.Schema, depth int) string {
	switch {
	case s.Ref != nil && len(s.Types) == 0 && depth < maxRefDepth:
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
		if d := describe(f, depth+1); !slices.Contains(all, d) && len(all) < maxShapeNames {
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

// decimal writes a bound as people do; r may be nil.
func decimal(r *big.Rat) string {
	if r == nil {
		return ""
	}
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
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
