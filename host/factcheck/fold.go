package factcheck

import (
	"strings"
	"unicode/utf8"
)

// A folded text is brought to plain forms: full-width and ornamental letters
// and digits, the digits of other scripts, letters that only look Latin, and
// characters that nobody sees. So １００１, 𝟭𝟬𝟬𝟭 and 1001 are one number.
type folded struct {
	text string
	at   []int // where each byte stood, and the end; nil where nothing moved
}

// fold folds a text and remembers where its bytes were.
func fold(text string) folded {
	if !needsFold(text) {
		return folded{text: text}
	}
	var b strings.Builder
	b.Grow(len(text))
	at := make([]int, 0, len(text)+1)
	for i, r := range text {
		if r = plain(r); r == gone {
			continue
		}
		n := b.Len()
		b.WriteRune(r)
		for range b.Len() - n {
			at = append(at, i)
		}
	}
	return folded{b.String(), append(at, len(text))}
}

// foldOnly is fold for a text whose places nobody asks for.
func foldOnly(text string) string {
	if !needsFold(text) {
		return text
	}
	var b strings.Builder
	foldInto(&b, text)
	return b.String()
}

func foldInto(b *strings.Builder, text string) {
	if !needsFold(text) {
		b.WriteString(text)
		return
	}
	b.Grow(len(text))
	for _, r := range text {
		if r = plain(r); r != gone {
			b.WriteRune(r)
		}
	}
}

// place gives where a piece of the folded text stood.
func (f folded) place(start, end int) (int, int) {
	if f.at == nil {
		return start, end
	}
	return f.at[start], f.at[end]
}

// needsFold looks for the first bytes of what fold changes. Han characters and
// most of what stands between them begin otherwise.
func needsFold(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < 0xC2 || c >= 0xE3 && c <= 0xE9:
		case c == 0xC2 && i+1 < len(text) && text[i+1] != 0xA0 && text[i+1] != 0xAD:
		case c >= 0xC3 && c <= 0xCD:
		case c == 0xE2 && i+1 < len(text) && text[i+1] == 0x80 && i+2 < len(text) && text[i+2] >= 0x90 && text[i+2] <= 0xA7 && text[i+2]&^1 != 0x98: // dashes, quotes, dots
		default:
			return true
		}
	}
	return false
}

// gone stands for a character that is left out.
const gone rune = -1

// digitRows are the zeros of digits that are folded.
const digitRows = "٠۰०০"

// lookalikes are letters of other scripts and, in the same order, the Latin
// ones that they pass for.
const (
	lookalikes = "АВЕЅІЈКМНОРСТХУЗавеѕіјкморстхуΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"
	latin      = "ABESIJKMHOPCTXY3abesijkmopctxyABEZHIKMNOPTYXo"
)

func plain(r rune) rune {
	switch {
	case r < 0x80 || r >= 0x4E00 && r <= 0x9FFF:
		return r
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFF01 + '!'
	case r == 0x3000 || r == 0xA0 || r >= 0x2000 && r <= 0x200A || r == 0x202F:
		return ' '
	case r == 0xAD || r >= 0x200B && r <= 0x200F || r == 0x2060 || r == 0xFEFF || r >= 0xFE00 && r <= 0xFE0F:
		return gone
	case r == '￥':
		return '¥'
	case r == '’' || r == '‘':
		return '\''
	case r >= 0x1D7CE && r <= 0x1D7FF:
		return '0' + (r-0x1D7CE)%10
	case r >= 0x1D400 && r <= 0x1D6A3:
		return rune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(r-0x1D400)%52])
	case r >= 0x0400 && r <= 0x04FF || r >= 0x0370 && r <= 0x03FF:
		return looksLatin(r)
	}
	for _, zero := range digitRows {
		if r >= zero && r <= zero+9 {
			return '0' + r - zero
		}
	}
	return r
}

// looksLatin gives the Latin letter that one of another script passes for.
func looksLatin(r rune) rune {
	at := strings.IndexRune(lookalikes, r)
	if at < 0 {
		return r
	}
	return rune(latin[utf8.RuneCountInString(lookalikes[:at])])
}
