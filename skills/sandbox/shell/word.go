package main

import (
	"errors"
	"strings"

	"github.com/sluicehq/sluice/skills/sandbox/shell/text"
	"github.com/sluicehq/sluice/skills/sandbox/shell/text/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// A builder makes the fields of words.
type builder struct {
	s      *shell
	splits bool // what is not quoted is split at blanks
	fields []string
	cur    []byte // the field that is being made
	some   bool   // there is one, empty or not
	total  int
}

// maxWords bounds the words of one command or loop.
const maxWords = 200_000

// words expands words to fields.
func (s *shell) words(list []*syntax.Word) ([]string, error) {
	b := builder{s: s, splits: true}
	for _, w := range list {
		if err := b.parts(w.Parts); err != nil {
			return nil, err
		}
		b.end()
	}
	return b.fields, b.s.budget.Stopped()
}

// text expands a word to one text.
func (s *shell) text(w *syntax.Word) (string, error) {
	if w == nil {
		return "", nil
	}
	b := builder{s: s}
	err := b.parts(w.Parts)
	return string(b.cur), firstOf(err, s.budget.Stopped())
}

// end ends a field.
func (b *builder) end() {
	if b.some {
		b.fields = append(b.fields, string(b.cur))
		b.check()
	}
	b.cur, b.some = b.cur[:0], false
}

// add adds to the field.
func (b *builder) add(text string) {
	b.cur, b.some = append(b.cur, text...), true
	b.total += len(text)
	b.check()
}

func (b *builder) check() {
	if b.total > maxValue || len(b.fields) > maxWords {
		b.s.budget.Stop(tooLarge())
	}
}

func (b *builder) parts(parts []syntax.WordPart) error {
	for _, part := range parts {
		if err := b.s.budget.Stopped(); err != nil {
			return err
		}
		switch p := part.(type) {
		case *syntax.Lit:
			b.add(unquoted(p.Value))
		case *syntax.SglQuoted:
			b.add(singleQuoted(p))
		case *syntax.DblQuoted:
			b.add("")
			if err := b.quotedParts(p.Parts, "$`\"\\\n"); err != nil {
				return err
			}
		default:
			value, err := b.s.value(part)
			if err != nil {
				return err
			}
			b.split(value)
		}
	}
	return nil
}

func singleQuoted(p *syntax.SglQuoted) string {
	if p.Dollar {
		return text.Unescape(p.Value)
	}
	return p.Value
}

// quotedParts adds what stands in double quotes, where a backslash means
// something before some characters only.
func (b *builder) quotedParts(parts []syntax.WordPart, escapes string) error {
	for _, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.add(escapesOf(lit.Value, escapes))
			continue
		}
		value, err := b.s.value(part)
		if err != nil {
			return err
		}
		b.add(value)
	}
	return nil
}

// split adds what is not quoted: at separators, fields end.
func (b *builder) split(value string) {
	if !b.splits {
		b.add(value)
		return
	}
	ifs := b.s.separators()
	for i := 0; i < len(value); {
		n := strings.IndexAny(value[i:], ifs)
		if n != 0 {
			if n < 0 {
				n = len(value) - i
			}
			b.add(value[i : i+n])
			i += n
			continue
		}
		marks := 0 // separators that are no blanks: each ends a field
		for ; i < len(value) && strings.IndexByte(ifs, value[i]) >= 0; i++ {
			if strings.IndexByte(" \t\n", value[i]) >= 0 {
				continue
			}
			if marks++; marks > 1 || !b.some {
				b.some = true
				b.end()
			} else {
				b.end()
			}
		}
		b.end()
	}
}

// value gives the value of an expansion.
func (s *shell) value(part syntax.WordPart) (string, error) {
	switch p := part.(type) {
	case *syntax.ParamExp:
		return s.parameter(p)
	case *syntax.CmdSubst:
		return s.substitute(p), s.budget.Stopped()
	case *syntax.ArithmExp:
		v, err := s.arithm(p.X)
		return decimal(v), err
	}
	return "", errors.New("this expansion is not known here")
}

// substitute runs commands and gives what they print, without the ends of the
// last lines.
func (s *shell) substitute(c *syntax.CmdSubst) string {
	defer s.leave()
	if !s.enter() {
		return ""
	}
	sub := s.fork()
	out := collector{most: maxValue}
	sink := out.sink(s.budget, new(bool))
	sub.list(c.Stmts, streams{s.io.in, sink, s.io.err})
	if out.over {
		s.budget.Stop(tooLarge())
	}
	s.status = sub.status
	return strings.TrimRight(strings.ReplaceAll(string(out.b), "\x00", ""), "\n")
}

// glob gives a word as a pattern: what is quoted in it stands for itself.
func (s *shell) glob(w *syntax.Word) (string, error) {
	var out strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.WriteString(p.Value)
		case *syntax.SglQuoted:
			out.WriteString(quoteGlob(singleQuoted(p)))
		case *syntax.DblQuoted:
			b := builder{s: s}
			if err := b.quotedParts(p.Parts, "$`\"\\\n"); err != nil {
				return "", err
			}
			out.WriteString(quoteGlob(string(b.cur)))
		default:
			value, err := s.value(part)
			if err != nil {
				return "", err
			}
			out.WriteString(value)
		}
		if out.Len() > maxValue {
			s.budget.Stop(tooLarge())
			return "", s.budget.Stopped()
		}
	}
	return out.String(), nil
}

func quoteGlob(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte(`\*?[]`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// matches reports whether all of a text matches a pattern of the shell.
func (s *shell) matches(w *syntax.Word, value string) (bool, error) {
	g, err := s.glob(w)
	if err != nil {
		return false, err
	}
	source, err := pattern.Glob(g, false)
	if err != nil {
		return false, err
	}
	re, err := pattern.Compile(`\A(?:`+source+`)\z`, pattern.Perl, false)
	return err == nil && re.MatchString(value), err
}

// matchesRegexp is [[ a =~ b ]].
func (s *shell) matchesRegexp(w *syntax.Word, value string) (bool, error) {
	var out strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out.WriteString(p.Value)
			continue
		case *syntax.SglQuoted, *syntax.DblQuoted:
			b := builder{s: s}
			if err := b.parts([]syntax.WordPart{p}); err != nil {
				return false, err
			}
			source, err := pattern.Source(string(b.cur), pattern.Fixed)
			if err != nil {
				return false, err
			}
			out.WriteString(source)
			continue
		}
		one, err := s.value(part)
		if err != nil {
			return false, err
		}
		out.WriteString(one)
	}
	re, err := pattern.Compile(out.String(), pattern.Extended, false)
	return err == nil && re.MatchString(value), err
}
