package memory

import (
	"strings"
	"unicode"
)

// emoji stands in a folded text for a picture or another sign that is no letter.
const emoji = '\x01'

// oneBreak writes all that ends a line in one way.
var oneBreak = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// joined gives a folded text as it reads where lines, pictures and signs part no words:
// "建\n议" is 建议. Where a space stands between, it takes the place of what parted words that
// are written with spaces, and numbers.
func joined(text, between string) string {
	var b strings.Builder
	last, parted := rune(0), []rune(nil)
	for _, r := range text {
		if r == ' ' || r == '\n' || isSign(r) {
			parted = append(parted, r)
			continue
		}
		switch {
		case joins(last, parted, r) && (unicode.Is(unicode.Han, r) || between == ""):
		case between != "" && strings.ContainsAny(string(parted), "\n\x01"):
			b.WriteString(between)
		default:
			b.WriteString(string(parted))
		}
		b.WriteRune(r)
		last, parted = r, parted[:0]
	}
	return b.String() + string(parted)
}

// isSign reports whether a character may be put inside of a word to hide it.
func isSign(r rune) bool {
	return r == emoji || strings.ContainsRune("-·•.|/~+=^#", r)
}

// joins reports whether what stands between two letters of one script does not part
// them: a line break or a picture, or one sign without a space.
func joins(before rune, parted []rune, after rune) bool {
	if len(parted) == 0 || !(unicode.Is(unicode.Han, before) && unicode.Is(unicode.Han, after) || unicode.Is(unicode.Latin, before) && unicode.Is(unicode.Latin, after)) {
		return false
	}
	return len(parted) == 1 && parted[0] != ' ' || strings.ContainsAny(string(parted), "\n\x01")
}
