package factcheck

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An answerText is an answer, folded and parted.
type answerText struct {
	folded
	low     string // the folded text in lower case, byte for byte
	clauses []clause
	words   []word // of all clauses

	numbers []mention // that claim something
	ids     []token
	names   []token
	claims  []claim
}

// A clause is a piece of a sentence.
type clause struct {
	start, end int
	sentence   int
	question   bool // the sentence asks
	follows    bool // on another clause of the same sentence
	ends       byte // what ends it: ':' where a list may follow
	line       int
	words      []word // of Latin letters
}

// A word is one word of Latin letters, in lower case.
type word struct {
	text       string
	start, end int
}

// A token is an id or a name, as it is written, in a clause.
type token struct {
	word
	clause int
}

// readAnswer folds an answer and parts it into clauses.
func readAnswer(answer string) *answerText {
	answer = cutText(answer, MaxAnswerBytes)
	a := parted(fold(answer))
	a.findNumbers()
	a.findIDs()
	a.findNames()
	a.findClaims()
	return a
}

// parted parts a folded text into clauses and words.
func parted(text folded) *answerText {
	a := &answerText{folded: text, low: lower(text.text), words: make([]word, 0, len(text.text)/meanWord)}
	a.split()
	for i := range a.clauses {
		a.clauses[i].words = a.wordsIn(a.clauses[i].start, a.clauses[i].end)
	}
	return a
}

// meanWord is about as long as a word with its space, so that the list of words
// seldom grows.
const meanWord = 5

// lower gives a text with Latin letters in lower case: as many bytes, and fast.
func lower(text string) string {
	for i := range len(text) {
		if c := text[i]; c >= 'A' && c <= 'Z' {
			b := []byte(text)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return text
}

// cutText cuts a text at a character.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// claimsNothing reports whether there is nothing to be proved.
func (a *answerText) claimsNothing() bool {
	return len(a.numbers) == 0 && len(a.ids) == 0 && len(a.names) == 0 && len(a.claims) == 0
}

// split parts the text at marks that end a sentence or a part of one.
func (a *answerText) split() {
	start, sentence, line, first := 0, 0, 0, 0
	for i, r := range a.text {
		end, whole := a.endsAt(i, r)
		if !end {
			continue
		}
		a.add(clause{start: start, end: i, sentence: sentence, ends: a.text[i], line: line, follows: len(a.clauses) > first})
		start = i + utf8.RuneLen(r)
		if whole {
			for j := first; r == '?' && j < len(a.clauses); j++ {
				a.clauses[j].question = true
			}
			first = len(a.clauses)
			sentence++
		}
		if r == '\n' {
			line++
		}
	}
	a.add(clause{start: start, end: len(a.text), sentence: sentence, line: line, follows: len(a.clauses) > first})
}

func (a *answerText) add(c clause) {
	for c.start < c.end && isSpace(a.text[c.start]) {
		c.start++
	}
	for c.start < c.end && isSpace(a.text[c.end-1]) {
		c.end--
	}
	if c.start < c.end {
		a.clauses = append(a.clauses, c)
	}
}

// isSpace also takes the marks of bold and quoted text for space.
func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '*' || c == '`' || c == '#' || c == '>'
}

// endsAt reports whether a clause ends at a character, and whether the sentence
// does.
func (a *answerText) endsAt(i int, r rune) (end, whole bool) {
	switch r {
	case '\n', '!', '?', ';', '。', '…':
		return true, true
	case '.':
		return a.endsSentence(i), true
	case ',':
		return !(i > 0 && i+1 < len(a.text) && isDigit(a.text[i-1]) && isDigit(a.text[i+1])), false
	case ':':
		return !(i > 0 && i+1 < len(a.text) && isDigit(a.text[i-1]) && isDigit(a.text[i+1])), false
	case '(', ')', '—':
		return true, false
	}
	return false, false
}

// endsSentence tells the end of a sentence from the dot of a number, of an
// abbreviation, and of a number that begins a line of a list.
func (a *answerText) endsSentence(i int) bool {
	if i+1 < len(a.text) && !strings.ContainsRune(" \n\t*\"')”", rune(a.text[i+1])) && a.text[i+1] < 0x80 {
		return false
	}
	if i > 0 && isDigit(a.text[i-1]) && isFirstNumber(a.text[:i]) {
		return false
	}
	for _, short := range [...]string{"e.g", "i.e", "No", "Mr", "Ms", "Mrs", "Dr", "approx", "vs", "St"} {
		if strings.HasSuffix(a.text[:i], short) && !letterBefore(a.text, i-len(short)) {
			return false
		}
	}
	return true
}

// isFirstNumber reports whether nothing but one short number stands on the last
// line of a text.
func isFirstNumber(text string) bool {
	rest := strings.TrimRight(text[max(0, len(text)-nearBytes):], "0123456789")
	rest = strings.TrimRight(rest, " *")
	return rest == "" || rest[len(rest)-1] == '\n'
}

func (a *answerText) in(c clause) string { return a.text[c.start:c.end] }

// wordsIn gives the words of Latin letters of a piece of the text, with their
// apostrophes.
func (a *answerText) wordsIn(start, end int) []word {
	from := len(a.words)
	for i := start; i < end; i++ {
		if !isLetter(a.text[i]) {
			continue
		}
		begin := i
		for i < end && (isWord(a.text[i]) || a.text[i] == '\'' || a.text[i] == '-') {
			i++
		}
		a.words = append(a.words, word{a.low[begin:i], begin, i})
	}
	return a.words[from:len(a.words):len(a.words)]
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isWord(c byte) bool   { return isDigit(c) || isLetter(c) || c == '_' }

func letterBefore(text string, i int) bool { return i > 0 && isLetter(text[i-1]) }

func isHan(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r > 0x9FFF && unicode.Is(unicode.Han, r)
}

func hasHan(text string) bool { return strings.ContainsFunc(text, isHan) }

// shorten cuts a text for a finding.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return cutText(text, most) + "…"
}
