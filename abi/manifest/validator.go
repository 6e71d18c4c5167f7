package manifest

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/sluicehq/sluice/abi"
)

// A validator holds values against one compiled schema and explains what does
// not fit. It is safe for concurrent use.
type validator struct {
	schema *jsonschema.Schema
	at     map[string]*jsonschema.Schema // every schema within, by its absolute location
}

func newValidator(schema *jsonschema.Schema) *validator {
	v := &validator{schema: schema, at: map[string]*jsonschema.Schema{}}
	v.index(schema)
	return v
}

func (v *validator) index(s *jsonschema.Schema) {
	if v.at[s.Location] != nil {
		return
	}
	v.at[s.Location] = s
	for _, e := range edgesOf(s) {
		v.index(e.to)
	}
}

// A finding is a problem and the line that it is about.
type finding struct {
	*abi.Problem
	line int
}

// check gives what does not fit, at most limit findings, nil if everything
// does.
func (v *validator) check(n *node, limit int) []finding {
	err := v.schema.Validate(n.plain())
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []finding{{abi.NewProblem(abi.BadArguments, "cannot be held against the schema: %v", err), n.line}}
	}
	e := explainer{v: v, root: n, limit: limit, seen: map[string]bool{}}
	for _, l := range v.leaves(invalid, "") {
		e.explain(l)
	}
	return e.found
}

// A leaf is an error that says something by itself, and what the schema says
// about the value in words, if it does.
type leaf struct {
	*jsonschema.ValidationError
	about string
}

// leaves gives the leaves of an error. Where a value fits none of several
// forms, only those of the nearest form are told.
func (v *validator) leaves(e *jsonschema.ValidationError, about string) []leaf {
	s, keyword := v.locate(e)
	if s != nil {
		about = cmp.Or(s.Description, about)
	}
	if len(e.Causes) == 0 {
		return []leaf{{e, about}}
	}
	below := make([][]leaf, len(e.Causes))
	for i, cause := range e.Causes {
		inherited := ""
		if cause.InstanceLocation == e.InstanceLocation {
			inherited = about
		}
		below[i] = v.leaves(cause, inherited)
	}
	if keyword != "anyOf" && keyword != "oneOf" {
		return slices.Concat(below...)
	}
	if best := v.nearestForm(e, below); best != nil {
		return best
	}
	return []leaf{{e, about}}
}

// nearestForm gives the leaves of the form that the value is nearest to: the
// one with the fewest findings, where a wrong type or a wrong constant on top
// says that another form is meant. It gives nil if every form wants another
// type, so that the types can be told together.
func (v *validator) nearestForm(e *jsonschema.ValidationError, forms [][]leaf) []leaf {
	const another = 100
	var best []leaf
	bestScore := 10 * another
	for _, found := range forms {
		score := len(found)
		for _, l := range found {
			depth := strings.Count(l.InstanceLocation, "/") - strings.Count(e.InstanceLocation, "/")
			switch _, k := v.locate(l.ValidationError); {
			case k == "type" && depth == 0:
				score += 10 * another
			case (k == "const" || k == "enum" || k == "type") && depth <= 1:
				score += another
			}
		}
		if score < bestScore {
			best, bestScore = found, score
		}
	}
	return best
}

// locate gives the schema and the keyword that an error is about; the keyword
// is empty where the schema itself allows nothing.
func (v *validator) locate(e *jsonschema.ValidationError) (s *jsonschema.Schema, keyword string) {
	location := e.AbsoluteKeywordLocation
	for {
		if s := v.at[location]; s != nil {
			return s, keyword
		}
		cut := strings.LastIndexByte(location, '/')
		if cut < strings.IndexByte(location, '#') {
			return nil, keyword
		}
		location, keyword = location[:cut], location[cut+1:]
	}
}

// pointer splits a JSON pointer as the library writes it into its tokens.
func pointer(p string) []string {
	p = strings.TrimPrefix(p, "/")
	if p == "" {
		return nil
	}
	tokens := strings.Split(p, "/")
	for i, t := range tokens {
		if plain, err := url.PathUnescape(t); err == nil {
			t = plain
		}
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens
}
