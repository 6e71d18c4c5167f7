package manifest

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/sluicehq/sluice/abi"
)

// A validator holds values against one compiled schema and explains what does
// not fit. It is safe for concurrent use.
//
// The library compiles the schema; the values are held against it here, since
// the library gathers every error of a value before it answers: a megabyte of
// wrong items would take a gigabyte. This stops at a limit, and its findings
// say what would fit. The tests hold the verdicts of both against each other.
type validator struct {
	schema *jsonschema.Schema
}

// A finding is a problem, and the line that it is about.
type finding struct {
	*abi.Problem
	line int
}

// check gives what does not fit, at most limit findings, nil if everything
// does.
func (v *validator) check(n *node, limit int) []finding {
	f := fitter{quiet: true}
	if f.fits(v.schema, n, &spot{line: n.line}, "") {
		return nil
	}
	f = fitter{limit: limit}
	f.fits(v.schema, n, &spot{line: n.line}, "")
	return f.found
}

// A spot is a place in the value that is held against the schema: the path is
// spelt out only when there is something to say about it.
type spot struct {
	parent *spot
	name   string // of a member
	index  int    // of an item, where name is empty
	isItem bool
	line   int
}

func (at *spot) member(m member) *spot { return &spot{parent: at, name: m.name, line: m.line} }

func (at *spot) path() string {
	switch {
	case at.parent == nil:
		return ""
	case at.isItem:
		return at.parent.path() + "[" + strconv.Itoa(at.index) + "]"
	}
	return joinField(at.parent.path(), at.name)
}

func (at *spot) depth() int {
	if at.parent == nil {
		return 0
	}
	return at.parent.depth() + 1
}

// A fitter holds one value against a schema. Quiet, it stops at the first
// misfit and says nothing; else it gathers findings up to its limit.
type fitter struct {
	quiet bool
	limit int
	found []finding
}

// toMember gives the place of a member. Quiet, there is nothing to say about any
// place, and none is made.
func (f *fitter) toMember(at *spot, m member) *spot {
	if f.quiet {
		return at
	}
	return at.member(m)
}

// toItem gives the place of an item likewise.
func (f *fitter) toItem(at *spot, i int, n *node) *spot {
	if f.quiet {
		return at
	}
	return &spot{parent: at, index: i, isItem: true, line: n.line}
}

// done reports whether there is nothing more to learn.
func (f *fitter) done() bool { return f.quiet || len(f.found) >= f.limit }

// fail notes a finding, one of a code for each field, and is always false. The
// problem is made only where somebody hears it.
func (f *fitter) fail(at *spot, problem func() *abi.Problem) bool {
	if f.done() {
		return false
	}
	p := problem()
	p.Field = at.path()
	if !slices.ContainsFunc(f.found, func(have finding) bool { return have.Code == p.Code && have.Field == p.Field }) {
		f.found = append(f.found, finding{p, at.line})
	}
	return false
}

// quietly gives the verdict about n alone.
func quietly(s *jsonschema.Schema, n *node) bool {
	f := fitter{quiet: true}
	return f.fits(s, n, &spot{}, "")
}

// nearestForm tells what is missing to the form that n is nearest to: the one
// with the fewest findings, where a wrong type or a wrong constant on top says
// that another form is meant. It reports false if every form wants another
// type, so that the types can be told together.
func (f *fitter) nearestForm(forms []*jsonschema.Schema, n *node, at *spot, about string) bool {
	const another = 100
	var best []finding
	bestScore := 10 * another
	for _, form := range forms {
		try := fitter{limit: f.limit}
		try.fits(form, n, at, about)
		score := len(try.found)
		for _, p := range try.found {
			onTop := p.Field == at.path()
			switch {
			case p.Code == abi.WrongType && onTop:
				score += 10 * another
			case p.Code == abi.WrongType || p.Candidates != nil && p.Code == abi.BadValue:
				score += another
			}
		}
		if score < bestScore {
			best, bestScore = try.found, score
		}
	}
	if best == nil {
		return false
	}
	f.found = append(f.found, best[:min(len(best), f.limit-len(f.found))]...)
	return true
}

// aboutOf gives what a schema says of a value in words, or what is inherited.
func aboutOf(s *jsonschema.Schema, inherited string) string {
	return cmp.Or(s.Description, inherited)
}
