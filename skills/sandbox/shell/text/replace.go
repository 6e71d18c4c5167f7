package text

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/skills/sandbox/shell/text/pattern"
)

// A substitution puts a text in place of what a pattern matches.
type substitution struct {
	re    *regexp.Regexp
	with  []fill
	from  int  // the match from which on; 1 is the first
	every bool // also those that follow
}

// A fill is a part of a replacement: a text, or what a group matched.
type fill struct {
	text  string
	group int // -1 for a text
}

// parseFills reads a replacement, in which & is the match and \1 a group.
func parseFills(text string, groups int) (fills []fill, err error) {
	literal := func(s string) {
		if n := len(fills); n > 0 && fills[n-1].group < 0 {
			fills[n-1].text += s
			return
		}
		fills = append(fills, fill{s, -1})
	}
	for text != "" {
		switch c := text[0]; {
		case c == '&':
			fills, text = append(fills, fill{group: 0}), text[1:]
		case c != '\\' || len(text) == 1:
			_, n := utf8.DecodeRuneInString(text)
			literal(text[:n])
			text = text[n:]
		case '0' <= text[1] && text[1] <= '9':
			group := int(text[1] - '0')
			if group > groups {
				return nil, errors.New(`the replacement has \` + text[1:2] + `, but the pattern has not as many groups`)
			}
			fills, text = append(fills, fill{group: group}), text[2:]
		case strings.IndexByte("LUElu", text[1]) >= 0:
			return nil, errors.New(`\` + text[1:2] + ` is not known here; use tr '[:lower:]' '[:upper:]'`)
		case strings.IndexByte("nt", text[1]) >= 0:
			literal(Unescape(text[:2]))
			text = text[2:]
		default:
			_, n := utf8.DecodeRuneInString(text[1:])
			literal(text[1 : 1+n])
			text = text[1+n:]
		}
	}
	return fills, nil
}

// apply gives the line with the replacement, and whether anything matched.
func (s *substitution) apply(line []byte) (out []byte, changed bool) {
	at := 0
	most := s.from
	if s.every {
		most = -1
	}
	for i, m := range s.re.FindAllSubmatchIndex(line, most) {
		if i+1 < s.from {
			continue
		}
		out = append(out, line[at:m[0]]...)
		for _, f := range s.with {
			switch {
			case f.group < 0:
				out = append(out, f.text...)
			case m[2*f.group] >= 0:
				out = append(out, line[m[2*f.group]:m[2*f.group+1]]...)
			}
		}
		at, changed = m[1], true
	}
	if !changed {
		return line, false
	}
	return append(out, line[at:]...), true
}

const replaceFlags = "i,ignore-case F,fixed-strings E,extended-regexp G,basic-regexp P,perl-regexp 1,first n,quiet"

// replace is replace [flags] PATTERN TEXT [blob ...].
func replace(e *Env, args []string) int {
	f, err := parseFlags(replaceFlags, args)
	if err == nil && len(f.args) < 2 {
		err = errors.New("write replace [-i] [-F] [--first] PATTERN TEXT [blob:ID ...]")
	}
	if err != nil {
		return e.fail(2, "%v", err)
	}
	d := pattern.Extended
	for _, given := range f.given {
		if at := strings.IndexByte("GEPF", given.letter); at >= 0 {
			d = []pattern.Dialect{pattern.Basic, pattern.Extended, pattern.Perl, pattern.Fixed}[at]
		}
	}
	s := substitution{from: 1, every: !f.has('1')}
	if s.re, err = pattern.Compile(f.args[0], d, f.has('i')); err == nil {
		if d == pattern.Fixed {
			s.with = []fill{{f.args[1], -1}}
		} else {
			s.with, err = parseFills(f.args[1], s.re.NumSubexp())
		}
	}
	if err != nil {
		return e.fail(2, "%v", err)
	}
	return e.inputs(f.args[2:], func(_ string, in *Source) bool {
		for {
			line, ended, ok := in.Line()
			if !ok {
				return true
			}
			out, changed := s.apply(line)
			if (changed || !f.has('n')) && !e.Out.as(out, ended) {
				return false
			}
		}
	})
}
