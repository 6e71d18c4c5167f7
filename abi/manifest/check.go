package manifest

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/sluicehq/sluice/abi"
)

// maxProblems bounds the findings about the arguments or data of one call.
const maxProblems = 16

// Problems are what does not fit in one value, the most telling first, at most
// sixteen.
type Problems []*abi.Problem

// One gives the problems as one: the only one, or the first with the others in
// its message; nil if there are none.
func (ps Problems) One() *abi.Problem {
	if len(ps) == 0 {
		return nil
	}
	one := *ps[0]
	for _, p := range ps[1:] {
		one.Message += "; " + joinMessage(p)
	}
	return &one
}

func joinMessage(p *abi.Problem) string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + " " + p.Message
}

// CheckArgs holds the arguments of a call against the tool's input schema. It
// gives nil if they fit, and else problems with the codes NotJSON, Missing,
// UnknownField, WrongType and BadValue; each says in Field where, in its
// message what would fit, and in Candidates what is near. Nothing else than
// one JSON object passes. Safe for concurrent use.
func (t *Tool) CheckArgs(raw json.RawMessage) Problems {
	n, err := readJSON(raw)
	if err == nil && halfCharacter(raw) {
		err = errors.New("an escape such as \\ud800 is half of a character")
	}
	if err != nil {
		return Problems{abi.NewProblem(abi.NotJSON, "the arguments are not JSON that can be used: %v", err).
			WithHint("Send the arguments as one JSON object.")}
	}
	found := problemsOf(t.input.check(n, maxProblems))
	slices.SortStableFunc(found, func(a, b *abi.Problem) int { return telling(a.Code) - telling(b.Code) })
	return found
}

func problemsOf(found []finding) Problems {
	var ps Problems
	for _, f := range found {
		ps = append(ps, f.Problem)
	}
	return ps
}

// telling orders the findings: a name that is not known explains what is
// missing, and both explain more than a value.
func telling(c abi.Code) int {
	switch c {
	case abi.UnknownField:
		return 0
	case abi.Missing:
		return 1
	case abi.WrongType:
		return 2
	}
	return 3
}

// CheckOutput holds the data of a call against the tool's output schema; a
// tool without one may give any JSON. It gives nil if the data fit, and else
// one problem with the code BrokenOutput. Safe for concurrent use.
func (t *Tool) CheckOutput(raw json.RawMessage) *abi.Problem {
	n, err := readJSON(raw)
	if err != nil {
		return abi.NewProblem(abi.BrokenOutput, "%s gave data that are not JSON: %v", t.Name, err)
	}
	if t.output == nil {
		return nil
	}
	found := problemsOf(t.output.check(n, maxProblems)).One()
	if found == nil {
		return nil
	}
	return abi.NewProblem(abi.BrokenOutput, "%s gave data that break its output schema: %s", t.Name, joinMessage(found)).WithField(found.Field)
}
