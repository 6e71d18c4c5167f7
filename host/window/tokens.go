package window

import (
	"unicode"
	"unicode/utf8"
)

// Tokens estimates how many tokens a text has, without a vocabulary. It cuts
// the text as the byte pair encoders of today do before they look anything up
// (a word with the blank before it, three digits, a run of marks), and counts
// for each piece what such pieces cost on the average in English, Chinese,
// JSON and code, measured against the vocabulary o200k. On texts of some
// hundred tokens of those kinds it is within 10 %; a Meter corrects it for
// other vocabularies. It allocates nothing.
func Tokens(text string) int {
	s := scanner{text: text}
	milli := 0
	for s.at < len(s.text) {
		milli += s.piece()
	}
	return (milli + 500) / 1000
}

// A runeClass is what a character is to an encoder.
type runeClass byte

const (
	small  runeClass = 'a' // a to z
	big    runeClass = 'A' // A to Z
	digit  runeClass = '0'
	blank  runeClass = ' '
	line   runeClass = 'n' // the end of a line
	mark   runeClass = '.' // of ASCII
	han    runeClass = 'H'
	letter runeClass = 'L' // of any other script
	symbol runeClass = '*' // a mark beyond ASCII
	none   runeClass = 0   // behind the end
)

// classes gives the class of every character of ASCII.
const classes = "........." + " n..n" + ".................." + " " + "..............." + "0000000000" + "......." +
	"AAAAAAAAAAAAAAAAAAAAAAAAAA" + "......" + "aaaaaaaaaaaaaaaaaaaaaaaaaa" + "....."

// A scanner stands before the next piece of a text.
type scanner struct {
	text string
	at   int
}

// class gives the class of the character at a place, and its size.
func (s *scanner) class(at int) (runeClass, int) {
	if at >= len(s.text) {
		return none, 0
	}
	if b := s.text[at]; b < utf8.RuneSelf {
		return runeClass(classes[b]), 1
	}
	r, size := utf8.DecodeRuneInString(s.text[at:])
	switch {
	case r >= 0x4E00 && r <= 0x9FFF, unicode.Is(unicode.Han, r):
		return han, size
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return letter, size
	case unicode.IsSpace(r):
		return blank, size
	}
	return symbol, size
}

// run passes over the characters of a class and counts them.
func (s *scanner) run(c runeClass) int {
	n := 0
	for {
		start := s.at
		for s.at < len(s.text) && s.text[s.at] < utf8.RuneSelf && runeClass(classes[s.text[s.at]]) == c {
			s.at++
		}
		n += s.at - start
		if s.at == len(s.text) || s.text[s.at] < utf8.RuneSelf {
			return n
		}
		class, size := s.class(s.at)
		if class != c {
			return n
		}
		s.at += size
		n++
	}
}

// piece passes over the next piece and gives its cost in thousandths of a
// token.
func (s *scanner) piece() int {
	class, size := s.class(s.at)
	lead := none
	switch class {
	case blank, mark, symbol: // it goes with the word behind it
		switch next, _ := s.class(s.at + size); next {
		case small, big, han, letter:
			s.at += size
			lead, class = class, next
		case mark, symbol:
			if class == blank {
				s.at += size
				return s.marks()
			}
		}
	}
	switch class {
	case small, big:
		return s.word(lead)
	case han:
		return hanCost(s.run(han), lead)
	case letter:
		return letterCost(s.run(letter))
	case digit:
		return 1000 * ((s.run(digit) + 2) / 3)
	case blank, line:
		return s.space()
	}
	return s.marks()
}

// word passes over capitals and the small letters behind them.
func (s *scanner) word(lead runeClass) int {
	capitals := s.run(big)
	n := capitals + s.run(small)
	switch {
	case n == capitals:
		return capitalsCost(n)
	case n > 12:
		return 1100 + 250*(n-12) // no word of every day
	case lead == mark || lead == symbol:
		return 1000 + 90*max(0, n-2) // a mark begins few words of a vocabulary
	case lead == none:
		return 1000 + 25*max(0, n-2)
	}
	return 1000 + 8*n
}

// capitalsCost: abbreviations and codes are in a vocabulary up to two letters.
func capitalsCost(n int) int {
	if n <= 2 {
		return 1000
	}
	return 1000 + 550*(n-2)
}

// hanCost: of Chinese about one pair in six is in the vocabulary as a whole. A
// mark before it has a token of its own, a blank has part of one.
func hanCost(n int, lead runeClass) int {
	cost := 100 + 880*n
	if lead != none {
		cost += 700
	}
	return max(cost, 1000)
}

// letterCost: other scripts have two characters in a token, more or less.
func letterCost(n int) int { return max(550*n, 1000) }

// space passes over blanks and ends of lines. The last blank goes with what
// follows; ends of lines are apart from the blanks behind them.
func (s *scanner) space() int {
	start, cost := s.at, 0
	for {
		blanks := s.run(blank)
		lines := s.run(line)
		if blanks+lines == 0 {
			break
		}
		cost = 1000
		if lines == 0 {
			if next, _ := s.class(s.at); blanks > 1 && next != none && next != digit && s.text[s.at-1] < utf8.RuneSelf {
				s.at--
			}
			if s.at > start && s.text[start] == '\n' {
				cost += 300
			}
			break
		}
	}
	return cost
}

// marks passes over a run of marks and the ends of lines behind it.
func (s *scanner) marks() int {
	ascii, wide := 0, 0
	for {
		n, m := s.run(mark), s.run(symbol)
		if n+m == 0 {
			break
		}
		ascii, wide = ascii+n, wide+m
	}
	s.run(line)
	cost := 550 * wide
	switch {
	case ascii == 0:
	case ascii <= 2:
		cost += 1030
	default:
		cost += 1150 + 420*max(0, ascii-3)
	}
	return max(cost, 1000)
}
