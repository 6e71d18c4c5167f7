package registry

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A constraint says which versions will do: those that every comparator
// accepts. Without comparators it is every version.
type constraint []comparator

// A comparator compares a version with a bound, such as >= v1.2.0.
type comparator struct {
	op    string // = > >= < <=
	bound string // as x/mod/semver writes it, with a v
}

// Bounds of what a constraint may be. People write one or two terms.
const (
	maxConstraintBytes = 256
	maxConstraintTerms = 16
)

// parseConstraint reads terms joined by spaces or commas, all of which must
// hold: 1.2.3, 1.2 and 1.x (any that begins so), ^1.2 (no breaking change),
// ~1.2 (patches only), and > >= < <= =. Nothing, * and latest mean any.
func parseConstraint(text string) (constraint, error) {
	var c constraint
	terms := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
	if len(text) > maxConstraintBytes || len(terms) > maxConstraintTerms {
		return nil, badConstraint(text)
	}
	if len(terms) == 1 && terms[0] == "latest" {
		return nil, nil
	}
	pending := ""
	for _, term := range terms {
		term, pending = pending+term, ""
		op, version := cutOperator(term)
		if version == "" {
			pending = op // ">= 1.0": the operator stands alone
			continue
		}
		p, ok := parsePartial(version)
		if !ok || len(p.numbers) == 0 && op != "" {
			return nil, badConstraint(text)
		}
		c = append(c, p.comparators(op)...)
	}
	if pending != "" {
		return nil, badConstraint(text)
	}
	return c, nil
}

func badConstraint(text string) error {
	return host.Fail("registry", abi.NewProblem(abi.BadArguments, "%.80q is not a version range", text).
		WithHint("write one such as 1.2.3, ^1.2, ~1.2.3, 1.x or \">=1.0 <2\""), nil)
}

func cutOperator(term string) (op, version string) {
	for _, op := range []string{">=", "<=", ">", "<", "=", "^", "~"} {
		if rest, ok := strings.CutPrefix(term, op); ok {
			return op, rest
		}
	}
	return "", term
}

// allows reports whether a version will do. A pre-release only does where the
// constraint names a pre-release of the same version: nobody gets one by
// asking for the newest.
func (c constraint) allows(version string) bool {
	v := "v" + version
	named := semver.Prerelease(v) == ""
	for _, one := range c {
		if !one.allows(v) {
			return false
		}
		named = named || semver.Prerelease(one.bound) != "" && core(one.bound) == core(v)
	}
	return named
}

// exact gives the one version that the constraint names, if it is such a one.
func (c constraint) exact() (version string, ok bool) {
	if len(c) != 1 || c[0].op != "=" {
		return "", false
	}
	return c[0].bound[1:], true
}

func (c comparator) allows(v string) bool {
	d := semver.Compare(v, c.bound)
	switch c.op {
	case ">":
		return d > 0
	case ">=":
		return d >= 0
	case "<":
		return d < 0
	case "<=":
		return d <= 0
	}
	return d == 0
}

func core(v string) string { return strings.TrimSuffix(v, semver.Prerelease(v)) }

// A partial is a version of which only the first numbers may be given.
type partial struct {
	numbers    []int64 // 0 to 3
	prerelease string  // with its hyphen; only after three numbers
}

func parsePartial(text string) (partial, bool) {
	numbers, prerelease, cut := strings.Cut(strings.TrimPrefix(text, "v"), "-")
	var p partial
	if cut {
		p.prerelease = "-" + prerelease
	}
	parts := strings.Split(numbers, ".")
	wild := false
	for _, part := range parts {
		if part == "x" || part == "X" || part == "*" {
			wild = true
			continue
		}
		// 18 digits fit with room for one more: the range's end.
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || wild || len(part) > 18 || n < 0 || strconv.FormatInt(n, 10) != part {
			return partial{}, false
		}
		p.numbers = append(p.numbers, n)
	}
	ok := len(parts) <= 3 && (!cut || len(p.numbers) == 3 && validVersion(p.floor()[1:]))
	return p, ok
}

// comparators gives what an operator before the version means.
func (p partial) comparators(op string) []comparator {
	last := len(p.numbers) - 1
	whole := last == 2
	switch {
	case last < 0:
		return nil
	case op == "^":
		return []comparator{{">=", p.floor()}, {"<", p.after(p.leading())}}
	case op == "~":
		return []comparator{{">=", p.floor()}, {"<", p.after(min(last, 1))}}
	case op == ">=", op == "<", whole && op != "":
		return []comparator{{op, p.floor()}}
	case op == ">":
		return []comparator{{">=", p.after(last)}}
	case op == "<=":
		return []comparator{{"<", p.after(last)}}
	case whole:
		return []comparator{{"=", p.floor()}}
	}
	return []comparator{{">=", p.floor()}, {"<", p.after(last)}}
}

// floor is the least version that begins so.
func (p partial) floor() string {
	var n [3]int64
	copy(n[:], p.numbers)
	return fmt.Sprintf("v%d.%d.%d%s", n[0], n[1], n[2], p.prerelease)
}

// after is the least version in which the number at i has grown.
func (p partial) after(i int) string {
	var n [3]int64
	copy(n[:], p.numbers[:i+1])
	n[i]++
	return fmt.Sprintf("v%d.%d.%d", n[0], n[1], n[2])
}

// leading is the index of the first number that is not 0, at which a change
// breaks callers; the last one given where all are 0.
func (p partial) leading() int {
	for i, n := range p.numbers {
		if n != 0 {
			return i
		}
	}
	return len(p.numbers) - 1
}
