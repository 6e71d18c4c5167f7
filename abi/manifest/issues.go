package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// maxIssues bounds the findings of one manifest: nobody reads more at once.
const maxIssues = 30

// An Issue is one finding about a manifest: where, what is wrong, what to do.
type Issue struct {
	File    string `json:"file,omitempty"`  // empty where the manifest was no file
	Line    int    `json:"line,omitempty"`  // from 1; 0 where unknown
	Field   string `json:"field,omitempty"` // such as "tools[0].rules[1].when"
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String gives the finding as "skill.yaml:12: tools[0].effect: must be one of
// read, write (hint)".
func (i Issue) String() string {
	var b strings.Builder
	if i.File != "" {
		b.WriteString(i.File)
		if i.Line > 0 {
			fmt.Fprintf(&b, ":%d", i.Line)
		}
		b.WriteString(": ")
	}
	if i.Field != "" {
		b.WriteString(i.Field + ": ")
	}
	b.WriteString(i.Message)
	if i.Hint != "" {
		b.WriteString(" (" + i.Hint + ")")
	}
	return b.String()
}

// Errors are all findings about one manifest, at most thirty, in the order of
// the file. It is the error that Load, Parse and Compile return.
type Errors []Issue

// Error gives one line for each finding.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, issue := range e {
		lines[i] = issue.String()
	}
	return strings.Join(lines, "\n")
}

// Problem gives the findings as one problem with the code InvalidManifest: the
// first in full, and how many more there are.
func (e Errors) Problem() *abi.Problem {
	if len(e) == 0 {
		return abi.NewProblem(abi.InvalidManifest, "the manifest is not valid")
	}
	first := e[0]
	field, hint := first.Field, first.Hint
	first.Field, first.Hint = "", ""
	p := abi.NewProblem(abi.InvalidManifest, "%s", first).WithField(field)
	p.Hint = hint
	if more := len(e) - 1; more > 0 {
		p.Message += fmt.Sprintf("; and %d more", more)
	}
	return p
}

// As lets errors.As find the problem of the findings.
func (e Errors) As(target any) bool {
	p, ok := target.(**abi.Problem)
	if ok {
		*p = e.Problem()
	}
	return ok
}

// inFile names the file of the findings that have none yet.
func (e Errors) inFile(name string) Errors {
	for i := range e {
		if e[i].File == "" {
			e[i].File = name
		}
	}
	return e
}

// settle puts the findings of file in order, each once, within the bound; nil
// if there are none. Without a file, lines mean nothing.
func (e Errors) settle(file string) error {
	if len(e) == 0 {
		return nil
	}
	for i := range e {
		if e[i].File == "" {
			e[i].Line = 0
		}
	}
	slices.SortStableFunc(e, func(a, b Issue) int {
		if own, other := a.File != file, b.File != file; own != other {
			if other {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	e = slices.Compact(e)
	if len(e) > maxIssues {
		more := len(e) - maxIssues + 1
		e = append(e[:maxIssues-1:maxIssues-1], Issue{File: file, Message: fmt.Sprintf("and %d more findings", more)})
	}
	return e
}
