package tokens

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A class says what kind of run a letter belongs to.
type class int8

const (
	gap     class = iota // ends a run
	inWord               // a letter of a script that has spaces, or a digit
	inPairs              // a letter of a script that has none
	alone                // a picture: a term by itself
	skipped              // a mark upon a letter: as if it were not there
)

// terms gives the terms of a text in their order. Each is valid until the next.
func terms(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		c := cutter{yield: yield}
		for _, r := range composed(head(text, MaxTextBytes)) {
			if c.done {
				return
			}
			c.read(r)
		}
		c.end()
	}
}

// head gives the first bytes of a text, at most limit, without half a rune.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// A cutter cuts one text.
type cutter struct {
	yield func([]byte) bool
	done  bool // nobody wants more

	word []byte // of the run that is read
	held byte   // an apostrophe, point or comma that belongs to the word if the next letter does

	last   rune // of a run of pairs; 0 outside of one
	paired bool // last was part of a pair

	pair [2 * utf8.UTFMax]byte
}

func (c *cutter) read(r rune) {
	folded := fold(r)
	switch classOf(folded) {
	case inWord:
		c.endPairs()
		c.addToWord(folded)
	case inPairs:
		c.endWord()
		c.addToPairs(folded)
	case alone:
		c.end()
		c.give(utf8.AppendRune(nil, folded))
	case gap:
		c.endPairs()
		if !c.hold(folded) {
			c.endWord()
		}
	}
}

func (c *cutter) end() {
	c.endWord()
	c.endPairs()
}

// hold keeps a sign that may stand within a word, and reports whether it did.
func (c *cutter) hold(r rune) bool {
	if len(c.word) == 0 || c.held != 0 || r != '\'' && r != '.' && r != ',' {
		return false
	}
	c.held = byte(r)
	return true
}

// addToWord adds a letter, and before it settles what was held: "don't" and "1,000"
// are one word, "3.5" is one with its point, "end.Next" is two.
func (c *cutter) addToWord(r rune) {
	if c.held != 0 {
		numeric := isDigit(rune(c.word[len(c.word)-1])) && isDigit(r)
		switch {
		case c.held == '\'' && !numeric, c.held == '.' && numeric:
			c.append(rune(c.held))
		case c.held == ',' && numeric:
		default:
			c.endWord()
		}
		c.held = 0
	}
	c.append(r)
}

func (c *cutter) append(r rune) {
	if len(c.word) < maxWordBytes {
		c.word = utf8.AppendRune(c.word, r)
	}
}

func (c *cutter) endWord() {
	c.held = 0
	if len(c.word) == 0 {
		return
	}
	if word := stem(plain(c.word)); len(word) > 0 {
		c.give(word)
	}
	c.word = c.word[:0]
}

// plain takes the possessive and the apostrophes off a word.
func plain(word []byte) []byte {
	text := string(word)
	if !strings.Contains(text, "'") {
		return word
	}
	text = strings.TrimSuffix(text, "'s")
	return append(word[:0], strings.ReplaceAll(text, "'", "")...)
}

func (c *cutter) addToPairs(r rune) {
	if c.last != 0 {
		n := utf8.EncodeRune(c.pair[:], c.last)
		n += utf8.EncodeRune(c.pair[n:], r)
		c.give(c.pair[:n])
	}
	c.paired = c.last != 0
	c.last = r
}

func (c *cutter) endPairs() {
	if c.last != 0 && !c.paired {
		n := utf8.EncodeRune(c.pair[:], c.last)
		c.give(c.pair[:n])
	}
	c.last, c.paired = 0, false
}

func (c *cutter) give(term []byte) {
	if !c.done {
		c.done = !c.yield(term)
	}
}

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		if isDigit(r) || 'a' <= r && r <= 'z' {
			return inWord
		}
		return gap
	case firstHan <= r && r <= lastHan, unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー':
		return inPairs
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		return inWord
	case unicode.Is(unicode.M, r):
		return skipped
	case r >= firstPicture && r != utf8.RuneError && unicode.Is(unicode.So, r):
		return alone
	}
	return gap
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// The forms of full width, which stand in the same order as ASCII.
const (
	wideFirst = '！'
	wideLast  = '～'
	wideShift = wideFirst - '!'
)

// firstPicture is where the signs begin that people write as they write words: before it
// are those of print, such as © and °.
const firstPicture = 0x2300

// fold gives the one form of a letter that is compared.
func fold(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r < utf8.RuneSelf:
		return r
	case wideFirst <= r && r <= wideLast:
		return fold(r - wideShift)
	case r == '’' || r == '‘' || r == 'ʼ':
		return '\''
	case firstHan <= r && r <= lastHan:
		return simplify(r)
	}
	return unaccent(unicode.ToLower(r))
}

// unaccented is what the letters from à to ÿ are without their accents. Each stands
// for one letter only.
const unaccented = "aaaaaaaceeeeiiii" + "dnooooo÷ouuuuyþy"

// unaccent gives a Latin letter without its accent: who asks for a cafe means the
// café.
func unaccent(r rune) rune {
	const first, last = 'à', 'ÿ'
	if r < first || r > last {
		return r
	}
	return []rune(unaccented)[r-first]
}
