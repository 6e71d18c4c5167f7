package embed

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// byteLevel splits as GPT-2 did, if the step says so, and then writes each byte as one
// visible character, so that no text is unknown.
func byteLevel(s *step) func([]string) []string {
	prefix := s.AddPrefix == nil || *s.AddPrefix
	words := s.UseRegex == nil || *s.UseRegex
	letters := byteLetters()
	return func(parts []string) (all []string) {
		for _, part := range parts {
			if prefix && !strings.HasPrefix(part, " ") {
				part = " " + part
			}
			for part != "" {
				n := len(part)
				if words {
					n = gptWord(part)
				}
				all = append(all, visible(part[:n], &letters))
				part = part[n:]
			}
		}
		return all
	}
}

// byteLetters gives the character that each byte is written as: itself where it is
// visible in Latin-1, else one from U+0100 on, in order.
func byteLetters() (letters [256]rune) {
	next := rune(256)
	for b := range letters {
		r := rune(b)
		if r >= '!' && r <= '~' || r >= 0xa1 && r <= 0xff && r != 0xad {
			letters[b] = r
			continue
		}
		letters[b] = next
		next++
	}
	return letters
}

func visible(text string, letters *[256]rune) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(letters[text[i]])
	}
	return b.String()
}

// gptWord gives the bytes of the first word of a text, by the pattern of GPT-2:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func gptWord(text string) int {
	for _, ending := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(text, ending) {
			return len(ending)
		}
	}
	space := 0
	if text[0] == ' ' {
		space = 1
	}
	for _, of := range []func(rune) bool{unicode.IsLetter, unicode.IsNumber, isOther} {
		if n := run(text[space:], of); n > 0 {
			return space + n
		}
	}
	n := run(text, unicode.IsSpace)
	_, last := utf8.DecodeLastRuneInString(text[:n])
	if n < len(text) && n > last {
		return n - last // the last space is the next word's
	}
	return n
}

// run gives the bytes at the beginning of a text that are of one kind.
func run(text string, of func(rune) bool) int {
	if i := strings.IndexFunc(text, func(r rune) bool { return !of(r) }); i >= 0 {
		return i
	}
	return len(text)
}

func isOther(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r)
}
