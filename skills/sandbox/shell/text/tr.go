package text

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSet bounds the characters of a set: all of Unicode's planes that are in
// use would be a range that nobody means.
const maxSet = 70_000

// A set is the characters of an operand of tr: in their order, and as classes.
type set struct {
	list    []rune
	classes []func(rune) bool
	names   []string
	fill    int // where [c*] stands in list and fills up; -1 for nowhere
}

func (s *set) has(r rune) bool {
	for _, in := range s.classes {
		if in(r) {
			return true
		}
	}
	for _, c := range s.list {
		if c == r {
			return true
		}
	}
	return false
}

// setClass gives a class of characters by its name.
func setClass(name string) func(rune) bool {
	return map[string]func(rune) bool{
		"alpha": unicode.IsLetter, "digit": func(r rune) bool { return '0' <= r && r <= '9' }, "upper": unicode.IsUpper, "lower": unicode.IsLower,
		"alnum": func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }, "space": unicode.IsSpace,
		"blank": func(r rune) bool { return r == ' ' || r == '\t' }, "punct": func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) },
		"cntrl": unicode.IsControl, "print": unicode.IsPrint, "graph": unicode.IsGraphic,
		"xdigit": func(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", r) },
	}[name]
}

// parseSet reads a set: characters, escapes, ranges, [:classes:] and [c*n].
func parseSet(text string) (s set, err error) {
	s.fill = -1
	for text != "" {
		if name, rest, ok := cutClass(text); ok {
			class := setClass(name)
			if class == nil {
				return s, fmt.Errorf("there is no class [:%s:]", name)
			}
			s.classes, s.names, text = append(s.classes, class), append(s.names, name), rest
			continue
		}
		if c, n, rest, ok := cutRepeat(text); ok {
			if n == 0 {
				s.fill, n = len(s.list), 1
			}
			s.list, text = append(s.list, []rune(strings.Repeat(string(c), min(n, maxSet)))...), rest
			continue
		}
		low, rest := cutRune(text)
		high := low
		if len(rest) > 1 && rest[0] == '-' {
			high, rest = cutRune(rest[1:])
		}
		if high < low || int(high-low) > maxSet-len(s.list) {
			return s, fmt.Errorf("the range %c-%c is out of order, or too long", low, high)
		}
		for c := low; c <= high; c++ {
			s.list = append(s.list, c)
		}
		text = rest
	}
	return s, nil
}

func cutClass(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, "[:") {
		return "", "", false
	}
	return strings.Cut(text[2:], ":]")
}

func cutRepeat(text string) (c rune, n int, rest string, ok bool) {
	if len(text) < 4 || text[0] != '[' {
		return 0, 0, "", false
	}
	c, after := cutRune(text[1:])
	count, rest, ok := strings.Cut(after, "]")
	if !ok || count == "" || count[0] != '*' {
		return 0, 0, "", false
	}
	if count = count[1:]; count != "" {
		var err error
		if n, err = parseCount(count); err != nil {
			return 0, 0, "", false
		}
	}
	return c, n, rest, true
}

func cutRune(text string) (rune, string) {
	if text[0] == '\\' && len(text) > 1 {
		c, n := escaped(text)
		return c, text[n:]
	}
	c, n := utf8.DecodeRuneInString(text)
	return c, text[n:]
}

// A translator is one call of tr.
type translator struct {
	from, to   set
	squeezed   set
	complement bool
	remove     bool
	translates bool
	squeeze    bool
	into       map[rune]rune
	ascii      [utf8.RuneSelf]rune // what a character becomes; -1 for nothing
	last       rune                // that was written
}

func tr(e *Env, args []string) int {
	t, err := newTranslator(args)
	if err != nil {
		return e.fail(1, "%v", err)
	}
	for c := range rune(utf8.RuneSelf) {
		t.ascii[c] = t.becomes(c)
	}
	t.last = -1
	var carry, out []byte
	for {
		piece := e.In.Piece()
		text := append(carry, piece...)
		var n int
		out, n = t.all(out[:0], text, len(piece) == 0)
		if !e.Out.Write(out) || len(piece) == 0 {
			return 0
		}
		carry = append([]byte(nil), text[n:]...)
	}
}

func newTranslator(args []string) (t translator, err error) {
	f, err := parseFlags("c,complement C d,delete s,squeeze-repeats t,truncate-set1", args)
	if err != nil {
		return t, err
	}
	t.complement, t.remove, t.squeeze = f.has('c') || f.has('C'), f.has('d'), f.has('s')
	if len(f.args) == 0 || len(f.args) > 2 || len(f.args) == 1 && !t.remove && !t.squeeze || len(f.args) == 2 && t.remove && !t.squeeze {
		return t, errors.New("write tr SET1 SET2, tr -d SET1, tr -s SET1 or tr -ds SET1 SET2; it reads standard input")
	}
	if t.from, err = parseSet(f.args[0]); err != nil {
		return t, err
	}
	if len(f.args) == 2 {
		if t.to, err = parseSet(f.args[1]); err != nil {
			return t, err
		}
	}
	t.squeezed = t.from
	if len(f.args) == 2 {
		t.squeezed = t.to
	}
	if t.translates = len(f.args) == 2 && !t.remove; !t.translates {
		return t, nil
	}
	return t, t.prepare(f.has('t'))
}

// prepare makes the table of what becomes what.
func (t *translator) prepare(truncate bool) error {
	cases := len(t.to.names) == 1 && (t.to.names[0] == "upper" || t.to.names[0] == "lower") && len(t.to.list) == 0
	switch {
	case cases && len(t.from.names) == 1 && len(t.from.list) == 0 && !t.complement:
		return nil // becomes knows
	case len(t.to.classes) > 0:
		return errors.New("of classes only [:lower:] and [:upper:] can be translated into, from each other")
	case len(t.to.list) == 0:
		return errors.New("the second set is empty; to delete, write tr -d SET1")
	case t.complement || len(t.from.classes) > 0:
		if len(t.to.list) > 1 {
			return errors.New("all characters of a class or of -c become one character: the second set must be one")
		}
		return nil
	}
	t.into = make(map[rune]rune, len(t.from.list))
	to := t.to.list
	if at := t.to.fill; at >= 0 {
		n := max(0, len(t.from.list)-len(to)+1)
		to = append(append(append([]rune(nil), to[:at]...), []rune(strings.Repeat(string(to[at]), n))...), to[at+1:]...)
	}
	for i, c := range t.from.list {
		if truncate && i >= len(to) {
			break
		}
		t.into[c] = to[min(i, len(to)-1)]
	}
	return nil
}

// becomes gives what a character becomes, -1 for nothing.
func (t *translator) becomes(c rune) rune {
	if t.into != nil {
		if to, ok := t.into[c]; ok {
			return to
		}
		return c
	}
	switch in := t.from.has(c) != t.complement; {
	case !in:
		return c
	case t.remove:
		return -1
	case !t.translates:
		return c
	case len(t.to.names) > 0 && t.to.names[0] == "upper":
		return unicode.ToUpper(c)
	case len(t.to.names) > 0:
		return unicode.ToLower(c)
	}
	return t.to.list[len(t.to.list)-1]
}

// all translates whole characters, and gives where the rest begins.
func (t *translator) all(out, text []byte, end bool) ([]byte, int) {
	n := 0
	for n < len(text) {
		c := text[n]
		if c < utf8.RuneSelf {
			n++
			out = t.put(out, t.ascii[c])
			continue
		}
		if !end && !utf8.FullRune(text[n:]) {
			break
		}
		r, size := utf8.DecodeRune(text[n:])
		if r == utf8.RuneError && size == 1 {
			out = append(out, c) // no character: it stays as it is
			t.last = -1
		} else {
			out = t.put(out, t.becomes(r))
		}
		n += size
	}
	return out, n
}

func (t *translator) put(out []byte, c rune) []byte {
	if c < 0 || t.squeeze && c == t.last && t.squeezes(c) {
		return out
	}
	t.last = c
	return utf8.AppendRune(out, c)
}

// squeezes reports whether several of a character become one. The complement
// is of the first set only.
func (t *translator) squeezes(c rune) bool {
	return t.squeezed.has(c) != (t.complement && !t.translates && !t.remove)
}
