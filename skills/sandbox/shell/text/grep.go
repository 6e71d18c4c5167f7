package text

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/skills/sandbox/shell/text/pattern"
)

const grepFlags = "i,ignore-case y v,invert-match c,count n,line-number o,only-matching E,extended-regexp F,fixed-strings G,basic-regexp " +
	"P,perl-regexp w,word-regexp x,line-regexp A:,after-context B:,before-context C:,context m:,max-count q,quiet e:,regexp " +
	"h,no-filename H,with-filename l,files-with-matches L,files-without-match s,no-messages a,text"

// maxContext bounds the lines around a match that are kept.
const maxContext = 10_000

// A grepper is one call of grep.
type grepper struct {
	*Env
	flags
	re            *regexp.Regexp
	literal       []byte // where the pattern is one, which is found quicker
	words         bool   // the match is the second group of re
	before, after int
	most          int
	named         bool // lines have the name of their stream before them
	selected      bool // there was a line in any stream
}

func grep(e *Env, args []string) int { return grepIn(pattern.Basic, e, args) }

func egrep(e *Env, args []string) int { return grepIn(pattern.Extended, e, args) }

func fgrep(e *Env, args []string) int { return grepIn(pattern.Fixed, e, args) }

func grepIn(d pattern.Dialect, e *Env, args []string) int {
	g := grepper{Env: e}
	if err := g.begin(d, args); err != nil {
		return e.fail(2, "%v", err)
	}
	if g.most == 0 {
		return 1
	}
	status := e.inputs(g.args, g.search)
	switch {
	case g.selected && g.has('q'):
		return 0
	case status != 0:
		return 2
	case !g.selected:
		return 1
	}
	return 0
}

func (g *grepper) begin(d pattern.Dialect, args []string) (err error) {
	if g.flags, err = parseFlags(grepFlags, contextFlags(args)); err != nil {
		return err
	}
	patterns := g.all('e')
	if len(patterns) == 0 {
		if len(g.args) == 0 {
			return errors.New("there is no pattern: write grep [flags] PATTERN [blob:ID ...]")
		}
		patterns, g.args = g.args[:1], g.args[1:]
	}
	for _, f := range g.given {
		if at := strings.IndexByte("GEPF", f.letter); at >= 0 {
			d = []pattern.Dialect{pattern.Basic, pattern.Extended, pattern.Perl, pattern.Fixed}[at]
		}
	}
	g.named = (len(g.args) > 1 || g.has('H')) && !g.has('h')
	context, err0 := g.count('C', 0)
	before, err1 := g.count('B', context)
	after, err2 := g.count('A', context)
	most, err3 := g.count('m', maxCount)
	g.before, g.after, g.most = min(before, maxContext), after, most
	if err := errors.Join(err0, err1, err2, err3); err != nil {
		return err
	}
	return g.compile(strings.Join(patterns, "\n"), d)
}

// contextFlags writes -5 as -C5.
func contextFlags(args []string) []string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "0123456789") == "" {
			a = "-C" + a[1:]
		}
		out = append(out, a)
	}
	return out
}

func (g *grepper) compile(text string, d pattern.Dialect) error {
	fold := g.has('i') || g.has('y')
	source, err := pattern.Source(text, d)
	if err == nil && (g.has('w') || g.has('x')) {
		if _, err = pattern.Compile(text, d, fold); err == nil { // by itself it must be whole
			source = "(?:" + source + ")"
		}
	}
	switch {
	case err != nil:
		return err
	case g.has('x'):
		source = "^" + source + "$"
	case g.has('w'):
		source, g.words = `(^|[^\p{L}\p{M}\p{N}_])(`+source+`)($|[^\p{L}\p{M}\p{N}_])`, true
	case !fold:
		g.literal = literalOf(source)
	}
	if g.has('w') || g.has('x') {
		text, d = source, pattern.Perl
	}
	if g.re, err = pattern.Compile(text, d, fold); err == nil && (g.has('o') || g.words) {
		g.re.Longest()
	}
	return err
}

// literalOf gives the text that a regular expression is, if it is one.
func literalOf(source string) []byte {
	re, err := regexp.Compile(source)
	if err != nil {
		return nil
	}
	text, all := re.LiteralPrefix()
	if !all || text == "" {
		return nil
	}
	return []byte(text)
}

func (g *grepper) matches(line []byte) bool {
	if g.literal != nil {
		return bytes.Contains(line, g.literal)
	}
	return g.re.Match(line)
}

// search goes through one stream, and reports whether to go on with the next.
func (g *grepper) search(name string, in *Source) bool {
	if name == "-" {
		name = "(standard input)"
	}
	s := grepping{grepper: g, name: name}
	defer func() { g.Budget.Held += int64(s.held) }()
	for s.found < g.most || s.trailing > 0 {
		line, _, ok := in.Line()
		if !ok {
			break
		}
		s.number++
		if s.found == g.most {
			if g.matches(line) != g.has('v') { // what follows the last is shown up to the next
				break
			}
			s.context(line)
			continue
		}
		if !s.line(line) {
			break
		}
	}
	g.selected = g.selected || (s.found > 0) != g.has('L')
	switch {
	case g.has('q'):
		return s.found == 0
	case g.has('L') || g.has('l'):
		return (s.found > 0) != g.has('l') || g.Out.Text(name+"\n")
	case g.has('c'):
		return g.Out.Text(s.prefix(':') + strconv.Itoa(s.found) + "\n")
	}
	return true
}

// Grepping is the search through one stream.
type grepping struct {
	*grepper
	name     string
	number   int      // of the line
	found    int      // lines
	recent   [][]byte // lines before, that may be shown
	trailing int      // lines that are still shown behind a match
	shown    int      // the number of the last line that was shown
	held     int
}

// line looks at a line, and reports whether to go on.
func (s *grepping) line(line []byte) bool {
	if s.matches(line) == s.has('v') {
		return s.context(line)
	}
	s.found++
	switch {
	case s.has('q') || s.has('l') || s.has('L'):
		return false
	case s.has('c'):
		return true
	case s.has('o'):
		return s.has('v') || s.parts(line)
	}
	first := s.number - len(s.recent)
	if !s.gap(first) {
		return false
	}
	for i, before := range s.recent {
		if !s.show(first+i, '-', before) {
			return false
		}
	}
	s.forget()
	s.trailing = s.after
	return s.show(s.number, ':', line)
}

// context shows or keeps a line that is none of those looked for.
func (s *grepping) context(line []byte) bool {
	switch {
	case s.has('c') || s.has('o') || s.has('q') || s.has('l') || s.has('L'):
	case s.trailing > 0:
		s.trailing--
		return s.show(s.number, '-', line)
	case s.before > 0 && s.found < s.most:
		if len(s.recent) == s.before {
			s.release(len(s.recent[0]))
			s.recent = s.recent[1:]
		}
		s.held += len(line)
		s.recent = append(s.recent, bytes.Clone(line))
		return s.hold(len(line))
	}
	return true
}

func (s *grepping) forget() {
	s.release(s.held)
	s.recent = s.recent[:0]
}

func (s *grepping) release(n int) {
	s.held -= n
	s.Budget.Held += int64(n)
}

// gap writes what stands between lines that do not follow each other.
func (s *grepping) gap(first int) bool {
	if s.before+s.after == 0 || s.shown == 0 || first == s.shown+1 {
		return true
	}
	return s.Out.Text("--\n")
}

func (s *grepping) show(number int, mark byte, line []byte) bool {
	s.shown = number
	head := s.prefix(mark)
	if s.has('n') {
		head += strconv.Itoa(number) + string(mark)
	}
	return (head == "" || s.Out.Text(head)) && s.Out.line(line)
}

func (s *grepping) prefix(mark byte) string {
	if !s.named {
		return ""
	}
	return s.name + string(mark)
}

// parts shows what matched, each on a line.
func (s *grepping) parts(line []byte) bool {
	for _, m := range s.places(line) {
		if m[0] < m[1] && !s.show(s.number, ':', line[m[0]:m[1]]) {
			return false
		}
	}
	return true
}

func (s *grepping) places(line []byte) (places [][]int) {
	if !s.words {
		return s.re.FindAllIndex(line, -1)
	}
	for at := 0; at <= len(line); {
		m := s.re.FindSubmatchIndex(line[at:])
		if m == nil {
			break
		}
		places = append(places, []int{at + m[4], at + m[5]})
		at += max(m[5], 1)
	}
	return places
}
