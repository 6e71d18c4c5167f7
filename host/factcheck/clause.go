package factcheck

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An answerText is an answer, folded and parted.
type answerText struct {
	folded
	clauses []clause
	numbers []mention // that claim something
}

// A clause is a piece of a sentence.
type clause struct {
	start, end int
	sentence   int
	question   bool // the sentence asks
	follows    bool // on another clause of the same sentence
	ends       byte // what ends it: ':' where a list may follow
	line       int
}

// A word is one word of Latin letters, in lower case.
type word struct {
	text       string
	start, end int
}

// readAnswer folds an answer and parts it into clauses.
func readAnswer(answer string) *answerText {
	answer = cutText(answer, MaxAnswerBytes)
	a := &answerText{folded: fold(answer)}
	a.split()
	a.findNumbers()
	return a
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

// claims reports whether there is anything to be proved, in a way that costs
// less than the proof.
func (a *answerText) claims() bool { return len(a.clauses) > 0 }

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
	line := strings.TrimLeft(a.text[strings.LastIndexByte(a.text[:i], '\n')+1:i], " *")
	if line != "" && strings.Trim(line, "0123456789") == "" {
		return false
	}
	for _, short := range []string{"e.g", "i.e", "No", "Mr", "Ms", "Mrs", "Dr", "approx", "vs", "St"} {
		if strings.HasSuffix(a.text[:i], short) && !letterBefore(a.text, i-len(short)) {
			return false
		}
	}
	return true
}

func (a *answerText) in(c clause) string { return a.text[c.start:c.end] }

// words gives a clause's words of Latin letters, with their apostrophes.
func (a *answerText) words(c clause) []word {
	var list []word
	for i := c.start; i < c.end; i++ {
		if !isLetter(a.text[i]) {
			continue
		}
		from := i
		for i < c.end && (isLetter(a.text[i]) || isDigit(a.text[i]) || a.text[i] == '_' || a.text[i] == '\'' || a.text[i] == '-') {
			i++
		}
		list = append(list, word{strings.ToLower(a.text[from:i]), from, i})
	}
	return list
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
