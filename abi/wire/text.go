package wire

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendText appends a text as JSON. Invalid UTF-8 becomes U+FFFD; <, > and &
// stay as they are.
func AppendText(out []byte, text string) []byte {
	out = append(out, '"')
	done := 0
	for i := 0; i < len(text); {
		b := text[i]
		if b >= ' ' && b < utf8.RuneSelf && b != '"' && b != '\\' {
			i++
			continue
		}
		r, size := rune(b), 1
		if b >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		if escape := escapeOf(r, size); escape != "" {
			out = append(append(out, text[done:i]...), escape...)
			done = i + size
		}
		i += size
	}
	return append(append(out, text[done:]...), '"')
}

// escapeOf gives how a character is written, or nothing where it is as it is.
// One byte of U+FFFD was no UTF-8.
func escapeOf(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`
	case r == '\u2028':
		return `\u2028` // JavaScript takes it, and the next, for the end of a line
	case r == '\u2029':
		return `\u2029`
	case r >= utf8.RuneSelf:
		return ""
	}
	switch r {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return `\u00` + hexDigits[r>>4:r>>4+1] + hexDigits[r&0xf:r&0xf+1]
}

// unquote gives what a JSON text reads as, with U+FFFD for invalid UTF-8 and
// lone surrogates. It is a part of b where nothing in it needs another form.
// It reports false for what is not a JSON text, and takes \' for an
// apostrophe, as encoding/json does where text stands inside text.
func unquote(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return nil, false
	}
	b = b[1 : len(b)-1]
	plain := plainPrefix(b)
	if plain == len(b) {
		return b, true
	}
	out := append(make([]byte, 0, len(b)+utf8.UTFMax), b[:plain]...)
	for i := plain; i < len(b); {
		var ok bool
		if out, i, ok = unquoteNext(out, b, i); !ok {
			return nil, false
		}
	}
	return out, true
}

// plainPrefix gives how much of the inside of a text reads as it stands.
func plainPrefix(b []byte) int {
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if c == '\\' || c == '"' || c < ' ' {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// unquoteNext appends the character at i, and gives the index after it.
func unquoteNext(out, b []byte, i int) ([]byte, int, bool) {
	switch c := b[i]; {
	case c == '\\':
		return unescape(out, b, i)
	case c == '"' || c < ' ':
		return out, i, false
	case c < utf8.RuneSelf:
		return append(out, c), i + 1, true
	}
	r, size := utf8.DecodeRune(b[i:])
	return utf8.AppendRune(out, r), i + size, true
}

// unescape appends what the backslash at i begins.
func unescape(out, b []byte, i int) ([]byte, int, bool) {
	if i+1 >= len(b) {
		return out, i, false
	}
	c := b[i+1]
	switch c {
	case '"', '\\', '/', '\'':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return unescapeRune(out, b, i)
	default:
		return out, i, false
	}
	return append(out, c), i + 2, true
}

const escapedRune = len(`\u0000`)

func unescapeRune(out, b []byte, i int) ([]byte, int, bool) {
	r := runeAt(b, i)
	if r < 0 {
		return out, i, false
	}
	i += escapedRune
	if utf16.IsSurrogate(r) {
		r = utf16.DecodeRune(r, runeAt(b, i))
		if r != unicode.ReplacementChar {
			i += escapedRune
		}
	}
	return utf8.AppendRune(out, r), i, true
}

// runeAt gives the number of the \uXXXX at i, or -1 where there is none.
func runeAt(b []byte, i int) rune {
	if len(b)-i < escapedRune || b[i] != '\\' || b[i+1] != 'u' {
		return -1
	}
	return hexRune(b[i+2 : i+escapedRune])
}

// hexRune gives the number that four hexadecimal digits are, or -1.
func hexRune(digits []byte) rune {
	var r rune
	for _, c := range digits {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// Fold gives the form of a text that is the same for texts that differ in case
// only, as the names of members are compared. It is not for people to read.
func Fold(text string) string { return string(fold(nil, []byte(text))) }

// fold gives the form of a member's name that is the same for names that
// differ in case only. It appends to out, which saves an allocation.
func fold(out, name []byte) []byte {
	for i := 0; i < len(name); {
		if c := name[i]; c < utf8.RuneSelf {
			out = append(out, upper(c))
			i++
			continue
		}
		r, size := utf8.DecodeRune(name[i:])
		out = utf8.AppendRune(out, foldRune(r))
		i += size
	}
	return out
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// foldRune gives the smallest rune of those that differ in case only.
func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
