package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Dialect is the way in which a pattern is written.
type Dialect int

// Dialects.
const (
	Basic    Dialect = iota // grep, sed
	Extended                // grep -E, sed -E
	Perl                    // grep -P, as far as Go has it
	Fixed                   // grep -F: to the letter
)

// maxBytes bounds a pattern: people write less than a hundred characters, and
// what Go makes of one takes a multiple of its length of memory.
const maxBytes = 4 << 10

// Compile gives the regular expression of a pattern, which matches as POSIX
// wants it: of the leftmost matches the longest, but for Perl's. Several
// patterns, one a line, match where one of them does. The error says what
// cannot be read, and what to write instead.
func Compile(text string, d Dialect, ignoreCase bool) (*regexp.Regexp, error) {
	source, err := Source(text, d)
	if err != nil {
		return nil, err
	}
	if ignoreCase {
		source = "(?i)" + source
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be read: %s", text, reason(err, d))
	}
	if d != Perl {
		re.Longest()
	}
	return re, nil
}

// Source gives the text of the regular expression in Go's own syntax.
func Source(text string, d Dialect) (string, error) {
	if len(text) > maxBytes {
		return "", fmt.Errorf("the pattern has %d bytes; the most is %d", len(text), maxBytes)
	}
	var all []string
	for _, line := range strings.Split(text, "\n") {
		one, err := translate(line, d)
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return "(?:" + strings.Join(all, ")|(?:") + ")", nil
}

func translate(text string, d Dialect) (string, error) {
	switch d {
	case Fixed:
		return regexp.QuoteMeta(text), nil
	case Perl:
		return text, nil
	}
	t := translator{text: text, extended: d == Extended, starts: true}
	return t.all()
}

// reason says what Go does not like, in words for whoever wrote the pattern.
func reason(err error, d Dialect) string {
	text := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	if d == Perl && (strings.Contains(text, "(?") || strings.Contains(text, "escape sequence")) {
		text += "; look-around and back-references are not known here: match more, and filter it with a second grep"
	}
	return text
}

var errBackReference = errors.New("back-references such as \\1 are not known in a pattern; write out what repeats")

// A translator writes a POSIX pattern as Go's.
type translator struct {
	text     string
	at       int
	extended bool
	starts   bool  // at the start of a branch, where a star is a star
	groups   []int // where the open ones begin in out
	last     int   // where the last atom begins in out
	repeated bool  // it has a repetition
	out      []byte
}

func (t *translator) all() (string, error) {
	for t.at < len(t.text) {
		if err := t.one(); err != nil {
			return "", err
		}
	}
	if len(t.groups) > 0 {
		return "", fmt.Errorf("%q has a group that does not end", t.text)
	}
	return string(t.out), nil
}

func (t *translator) one() error {
	c := t.text[t.at]
	switch {
	case c == '\\':
		return t.escape()
	case c == '[':
		return t.class()
	case c == '*' && t.starts:
		t.literal(1)
	case c == '*':
		t.repeat("*", 1)
	case c == '.':
		t.atom(".", 1)
	case c == '^' || c == '$':
		t.anchor(c)
	case t.extended && strings.IndexByte("(|)+?{", c) >= 0:
		return t.operator(c, 1)
	default:
		t.literal(1)
	}
	return nil
}

// operator writes what extended patterns have plain and basic ones escaped; n
// is how long it is written.
func (t *translator) operator(c byte, n int) error {
	switch c {
	case '(':
		t.groups = append(t.groups, len(t.out))
		t.out = append(t.out, '(')
		t.at, t.starts = t.at+n, true
	case '|':
		t.out = append(t.out, '|')
		t.at, t.starts = t.at+n, true
	case ')':
		if len(t.groups) == 0 {
			if t.extended {
				t.literal(n)
				return nil
			}
			return fmt.Errorf("%q ends a group that did not begin", t.text)
		}
		begin := t.groups[len(t.groups)-1]
		t.groups = t.groups[:len(t.groups)-1]
		t.atom(")", n)
		t.last = begin
	case '{':
		return t.interval(n)
	default:
		if t.starts {
			t.literal(n)
			return nil
		}
		t.repeat(string(c), n)
	}
	return nil
}

// atom writes something that can be repeated.
func (t *translator) atom(as string, n int) {
	t.last, t.repeated = len(t.out), false
	t.out = append(t.out, as...)
	t.at, t.starts = t.at+n, false
}

// repeat writes a repetition. What is repeated already is put in a group, since
// Go reads a*? otherwise.
func (t *translator) repeat(as string, n int) {
	if t.repeated {
		t.out = slices.Concat(t.out[:t.last], []byte("(?:"), t.out[t.last:], []byte(")"))
	}
	t.out = append(t.out, as...)
	t.at, t.repeated = t.at+n, true
}

func (t *translator) literal(n int) {
	c := t.text[t.at+n-1]
	size := 1
	if c >= 0x80 { // all of the character, so that a repetition is of all of it
		for t.at+n-1+size < len(t.text) && t.text[t.at+n-1+size]&0xc0 == 0x80 {
			size++
		}
	}
	from := t.at + n - 1
	t.atom(regexp.QuoteMeta(t.text[from:from+size]), n-1+size)
}

// anchor writes ^ and $, which basic patterns have at the ends of a branch only.
func (t *translator) anchor(c byte) {
	rest := t.text[t.at+1:]
	isAnchor := t.extended || c == '^' && t.starts || c == '$' && (rest == "" || strings.HasPrefix(rest, `\)`) || strings.HasPrefix(rest, `\|`))
	if !isAnchor {
		t.literal(1)
		return
	}
	t.out = append(t.out, c)
	t.at++
}

// maxRepeat is the most that a {} may repeat; Go's own limit is the same.
const maxRepeat = 1000

// interval writes {m}, {m,} {,n} or {m,n}. n is how long the opening is.
func (t *translator) interval(n int) error {
	closing := "}"
	if !t.extended {
		closing = `\}`
	}
	inside, _, ok := strings.Cut(t.text[t.at+n:], closing)
	low, high, ranged := strings.Cut(inside, ",")
	if !ok || t.starts || !digits(low) || !digits(high) || low == "" && !ranged {
		if t.extended {
			t.literal(n)
			return nil
		}
		return fmt.Errorf("%q has a repetition that cannot be read", t.text)
	}
	if low == "" {
		low = "0"
	}
	as := "{" + low + "}"
	if ranged {
		as = "{" + low + "," + high + "}"
	}
	t.repeat(as, n+len(inside)+len(closing))
	return nil
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" && len(s) <= 4 }
