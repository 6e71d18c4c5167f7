package wire

import "errors"

// MaxDepth is how deep lists and objects may be nested: as in encoding/json.
const MaxDepth = 10_000

// ErrSyntax is what text that is not one JSON value is answered with.
var ErrSyntax = errors.New("json: invalid syntax")

// Valid reports whether b is exactly one JSON value with no more than space
// around it, nested no deeper than MaxDepth.
func Valid(b []byte) bool {
	valid, _ := check(b)
	return valid
}

// check reports whether b is one JSON value, and whether it has space that can
// be left out.
func check(b []byte) (valid, spaced bool) {
	c := checker{b: b}
	i := c.space(0)
	if i = c.value(i); i < 0 {
		return false, false
	}
	return c.space(i) == len(b), c.spaced
}

// A checker checks text that may be anything. Its methods take the index where
// something begins and give the one after it, or -1 where it is not right.
type checker struct {
	b      []byte
	spaced bool
}

// at gives the byte at i, or 0, which is nowhere right, after the end.
func (c *checker) at(i int) byte {
	if i < len(c.b) {
		return c.b[i]
	}
	return 0
}

func (c *checker) space(i int) int {
	end := skipSpace(c.b, i)
	c.spaced = c.spaced || end > i
	return end
}

// value keeps what is open in a list: in a guest, calls as deep as text may be
// nested would overflow the stack of the engine.
func (c *checker) value(i int) int {
	var room [32]byte // as deep as most text is
	open := room[:0]
	for i >= 0 {
		b := c.at(i)
		if b == '{' || b == '[' {
			if len(open) == MaxDepth {
				return -1
			}
			if i = c.space(i + 1); c.at(i) != closing(b) {
				open, i = append(open, b), c.label(b, i)
				continue
			}
			i++
		} else {
			i = c.single(i)
		}
		if open, i = c.behind(open, i); len(open) == 0 {
			return i
		}
	}
	return -1
}

// closing gives } for { and ] for [.
func closing(b byte) byte { return b + 2 }

// behind goes from the end of a value to the next, and closes what ends there.
func (c *checker) behind(open []byte, i int) ([]byte, int) {
	for len(open) > 0 && i >= 0 {
		b := open[len(open)-1]
		switch i = c.space(i); c.at(i) {
		case ',':
			return open, c.label(b, c.space(i+1))
		case closing(b):
			open = open[:len(open)-1]
			i++
		default:
			return open, -1
		}
	}
	return open, i
}

// label goes to the value of a list, which is at i, or of an object, which is
// behind its name and a colon.
func (c *checker) label(b byte, i int) int {
	if b == '[' {
		return i
	}
	if i = c.text(i); i < 0 {
		return -1
	}
	if i = c.space(i); c.at(i) != ':' {
		return -1
	}
	return c.space(i + 1)
}

// single checks what is neither a list nor an object.
func (c *checker) single(i int) int {
	switch b := c.at(i); {
	case b == '"':
		return c.text(i)
	case b == '-' || isDigit(b):
		return c.number(i)
	case b == 't':
		return c.word(i, "true")
	case b == 'f':
		return c.word(i, "false")
	case b == 'n':
		return c.word(i, "null")
	}
	return -1
}

func (c *checker) text(i int) int {
	if c.at(i) != '"' {
		return -1
	}
	for i++; i < len(c.b); i++ {
		switch b := c.b[i]; {
		case b == '"':
			return i + 1
		case b < ' ':
			return -1
		case b == '\\':
			if i++; !c.escape(i) {
				return -1
			}
		}
	}
	return -1
}

// escape reports whether what follows a backslash is right.
func (c *checker) escape(i int) bool {
	switch c.at(i) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		return i+4 < len(c.b) && hexRune(c.b[i+1:i+5]) >= 0
	}
	return false
}

func (c *checker) number(i int) int {
	if c.at(i) == '-' {
		i++
	}
	switch b := c.at(i); {
	case b == '0':
		i++
	case isDigit(b):
		i = c.digits(i)
	default:
		return -1
	}
	if c.at(i) == '.' {
		if i = c.digits(i + 1); i < 0 {
			return -1
		}
	}
	if b := c.at(i); b == 'e' || b == 'E' {
		if i++; c.at(i) == '+' || c.at(i) == '-' {
			i++
		}
		i = c.digits(i)
	}
	return i
}

// digits needs at least one.
func (c *checker) digits(i int) int {
	if !isDigit(c.at(i)) {
		return -1
	}
	for isDigit(c.at(i)) {
		i++
	}
	return i
}

func (c *checker) word(i int, word string) int {
	if len(c.b)-i < len(word) || string(c.b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func isDigit(b byte) bool { return b-'0' <= 9 }

func isSpace(b byte) bool { return b <= ' ' && (b == ' ' || b == '\n' || b == '\t' || b == '\r') }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// appendCompact appends JSON without the space that can be left out. It
// reports false for what is not JSON.
func appendCompact(out, b []byte) ([]byte, bool) {
	valid, spaced := check(b)
	if !valid {
		return out, false
	}
	if !spaced {
		return append(out, b...), true
	}
	for i := 0; i < len(b); {
		switch {
		case isSpace(b[i]):
			i++
		case b[i] == '"':
			end := skipText(b, i)
			out = append(out, b[i:end]...)
			i = end
		default:
			out = append(out, b[i])
			i++
		}
	}
	return out, true
}
