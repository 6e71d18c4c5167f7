package text

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Unescape gives a text with its escapes filled in.
func Unescape(text string) string {
	var out []byte
	for text != "" {
		if text[0] != '\\' || len(text) == 1 {
			out, text = append(out, text[0]), text[1:]
			continue
		}
		c, n := escaped(text)
		out, text = appendEscaped(out, text[:n], c), text[n:]
	}
	return string(out)
}

// appendEscaped appends what an escape stands for: numbers stand for bytes.
func appendEscaped(out []byte, escape string, c rune) []byte {
	if c < 0x100 && len(escape) > 1 && (escape[1] == 'x' || '0' <= escape[1] && escape[1] <= '7') {
		return append(out, byte(c))
	}
	return utf8.AppendRune(out, c)
}

// escaped gives the character of the escape that a text begins with, and how
// long it is. What is no escape stands for the character behind the backslash.
func escaped(text string) (c rune, n int) {
	if i := strings.IndexByte("abefnrtv\\", text[1]); i >= 0 {
		return rune("\a\b\x1b\f\n\r\t\v\\"[i]), 2
	}
	switch text[1] {
	case 'x':
		return number(text, 2, 2, 16)
	case 'u':
		return number(text, 2, 4, 16)
	case 'U':
		return number(text, 2, 8, 16)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return number(text, 1, 3, 8)
	}
	c, n = utf8.DecodeRuneInString(text[1:])
	return c, n + 1
}

// number reads at most so many digits from a place on.
func number(text string, at, most, base int) (c rune, n int) {
	end := at
	for end < len(text) && end < at+most {
		if _, err := strconv.ParseUint(text[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	v, err := strconv.ParseUint(text[at:end], base, 32)
	if err != nil {
		return rune(text[1]), 2 // no digits: the letter itself
	}
	if base == 8 {
		v &= 0xff
	}
	return rune(v), end
}
