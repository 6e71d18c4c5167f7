package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/skills/sandbox/shell/text/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// parameter gives the value of an expansion of a variable.
func (s *shell) parameter(p *syntax.ParamExp) (string, error) {
	name := p.Param.Value
	if name == "?" {
		return strconv.Itoa(s.status), nil
	}
	value, isSet := s.vars[name]
	switch {
	case p.Length:
		return strconv.Itoa(utf8.RuneCountInString(value)), nil
	case p.Slice != nil:
		return s.slice(p.Slice, value)
	case p.Repl != nil:
		return s.replaced(p.Repl, value)
	case p.Exp != nil:
		return s.expanded(p.Exp, name, value, isSet)
	}
	return value, nil
}

func (s *shell) expanded(e *syntax.Expansion, name, value string, isSet bool) (string, error) {
	switch e.Op {
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull, syntax.AlternateUnsetOrNull:
		isSet = value != ""
	}
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if isSet {
			return value, nil
		}
		return s.text(e.Word)
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if isSet {
			return value, nil
		}
		other, err := s.text(e.Word)
		if err == nil {
			s.assign(name, other)
		}
		return other, err
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if !isSet {
			return "", nil
		}
		return s.text(e.Word)
	case syntax.UpperAll:
		return strings.ToUpper(value), nil
	case syntax.LowerAll:
		return strings.ToLower(value), nil
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return s.trimmed(e, value)
	}
	return "", errors.New("this expansion is not known here")
}

// trimmed takes the shortest or longest prefix or suffix that matches away.
func (s *shell) trimmed(e *syntax.Expansion, value string) (string, error) {
	if e.Word == nil {
		return value, nil
	}
	g, err := s.glob(e.Word)
	if err != nil {
		return "", err
	}
	prefix := e.Op == syntax.RemSmallPrefix || e.Op == syntax.RemLargePrefix
	small := e.Op == syntax.RemSmallPrefix || e.Op == syntax.RemSmallSuffix
	source, err := pattern.Glob(g, small)
	if err != nil {
		return "", err
	}
	switch { // the leftmost suffix that matches is the longest; the text before it takes as much as it can for the shortest
	case prefix:
		source = `\A(?:` + source + `)`
	case small:
		source = `\A(?s:(.*))(?:` + source + `)\z`
	default:
		source = `(?:` + source + `)\z`
	}
	re, err := pattern.Compile(source, pattern.Perl, false)
	if err != nil {
		return "", err
	}
	m := re.FindStringSubmatchIndex(value)
	switch {
	case m == nil:
		return value, nil
	case prefix:
		return value[m[1]:], nil
	case small:
		return value[:m[3]], nil
	}
	return value[:m[0]], nil
}

// replaced is ${x/a/b} and ${x//a/b}.
func (s *shell) replaced(r *syntax.Replace, value string) (string, error) {
	g, err := s.glob(r.Orig)
	if err != nil || g == "" {
		return value, err
	}
	with, err := s.text(r.With)
	if err != nil {
		return "", err
	}
	head, tail := "", ""
	switch {
	case r.All:
	case strings.HasPrefix(g, "#"):
		head, g = `\A`, g[1:]
	case strings.HasPrefix(g, "%"):
		tail, g = `\z`, g[1:]
	}
	source, err := pattern.Glob(g, false)
	if err != nil {
		return "", err
	}
	re, err := pattern.Compile(head+"(?:"+source+")"+tail, pattern.Perl, false)
	if err != nil {
		return "", err
	}
	re.Longest()
	most := 1
	if r.All {
		most = -1
	}
	b := builder{s: s}
	at := 0
	for _, m := range re.FindAllStringIndex(value, most) {
		if m[0] == m[1] && len(value) > 0 {
			continue
		}
		b.add(value[at:m[0]] + with)
		if at = m[1]; s.budget.Stopped() != nil {
			return "", s.budget.Stopped()
		}
	}
	b.add(value[at:])
	return string(b.cur), nil
}

// slice is ${x:from:length}, in characters.
func (s *shell) slice(sl *syntax.Slice, value string) (string, error) {
	runes := []rune(value)
	from, err := s.arithm(sl.Offset)
	if err != nil {
		return "", err
	}
	size := int64(len(runes))
	if from < 0 {
		from += size
	}
	if from < 0 || from > size {
		return "", nil
	}
	to := size
	if sl.Length != nil {
		n, err := s.arithm(sl.Length)
		switch {
		case err != nil:
			return "", err
		case n < 0:
			to = size + n
		default:
			to = from + min(n, size-from)
		}
		if to < from {
			return "", fmt.Errorf("%d: the length ends before it begins", n)
		}
	}
	return string(runes[from:to]), nil
}
