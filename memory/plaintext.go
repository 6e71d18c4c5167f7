package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLine brings a text to one line without characters that nobody sees: they can
// hide words from people, or turn their direction.
func oneLine(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || r == utf8.RuneError || r >= 0xFE00 && r <= 0xFE0F:
		default:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// cutText cuts a text at a character, and says so.
func cutText(text string, mostBytes int) string {
	if len(text) <= mostBytes {
		return text
	}
	for mostBytes > 0 && !utf8.RuneStart(text[mostBytes]) {
		mostBytes--
	}
	return text[:mostBytes] + "…"
}
