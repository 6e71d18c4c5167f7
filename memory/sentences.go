package memory

import (
	"strings"
	"unicode/utf8"
)

// A sentence is a piece of a text between marks that end one. Quoted words are
// blanked in low, byte for byte, so that what is found there is the speaker's own.
type sentence struct {
	start, end int    // bytes of the text
	low        string // in lower case letters
	quotes     string // as long, with a 'q' wherever it is quoted
	question   bool
}

// sentences parts a text, in order.
func sentences(text string) []sentence {
	own, quoted := blankQuotes(text)
	var parts []sentence
	start := 0
	add := func(end int, mark rune) {
		s := trimmed(own, start, end)
		if s.start < s.end {
			s.low = asciiLower(own[s.start:s.end])
			s.quotes = quoted[s.start:s.end]
			s.question = mark == '?' || mark == '？' || asks(s.low)
			parts = append(parts, s)
		}
	}
	for i, r := range own {
		if endsSentence(own, i, r) {
			add(i, r)
			start = i + utf8.RuneLen(r)
		}
	}
	add(len(own), 0)
	return parts
}

func trimmed(text string, start, end int) sentence {
	for start < end && (text[start] == ' ' || text[start] == '\t' || text[start] == '\r') {
		start++
	}
	for start < end && (text[end-1] == ' ' || text[end-1] == '\t' || text[end-1] == '\r') {
		end--
	}
	return sentence{start: start, end: end}
}

func endsSentence(text string, i int, r rune) bool {
	switch r {
	case '\n', '!', '?', ';', '。', '！', '？', '；', '…':
		return true
	case '.':
		return i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' || text[i+1] >= utf8.RuneSelf
	}
	return false
}

// asciiLower keeps every byte where it is, also of what is not UTF-8.
func asciiLower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// quoteEnd gives the mark that closes a quotation which a mark opens, or 0.
func quoteEnd(open rune) rune {
	switch open {
	case '“', '”':
		return '”'
	case '「':
		return '」'
	case '『':
		return '』'
	case '"':
		return '"'
	case '`':
		return '`'
	}
	return 0
}

// blankQuotes gives a text with what stands in quotation marks, in code and on
// quoted lines as spaces, and a map of the same length with 'q' where that is. A
// mark that is never closed quotes the rest: whoever pastes a text may forget to
// close it.
func blankQuotes(text string) (own, quoted string) {
	blank, marks := []byte(text), []byte(strings.Repeat(" ", len(text)))
	hide := func(start, end int) {
		for i := start; i < end; i++ {
			if blank[i] != '\n' {
				blank[i] = ' '
			}
			marks[i] = 'q'
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		lineStart := i == 0 || text[i-1] == '\n'
		switch end := quoteEnd(r); {
		case lineStart && strings.HasPrefix(strings.TrimLeft(text[i:], " "), ">"):
			stop := len(text)
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				stop = i + n
			}
			hide(i, stop)
			i = max(stop, i+size)
		case end != 0:
			stop := len(text)
			if n := strings.IndexRune(text[i+size:], end); n >= 0 {
				stop = i + size + n + utf8.RuneLen(end)
			}
			hide(i, stop)
			i = stop
		default:
			i += size
		}
	}
	return string(blank), string(marks)
}

// asks reports whether a sentence is a question by its words.
func asks(low string) bool {
	for _, end := range [...]string{"吗", "呢", "么", "不是吗", "对吧", "行不行", "好不好", "可以不"} {
		if strings.HasSuffix(low, end) && !strings.HasSuffix(low, "什么") && !strings.HasSuffix(low, "那么") && !strings.HasSuffix(low, "这么") {
			return true
		}
	}
	if containsAny(low, "是不是", "要不要", "能不能", "可不可以", "有没有", "会不会", "该不该", "是否", "为什么", "怎么", "多少钱", "什么时候", "哪个", "哪款", "哪些", "几点") {
		return true
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(low), " ")
	second, _, _ := strings.Cut(rest, " ")
	switch first {
	case "what", "why", "how", "who", "where", "which", "should", "shall", "can", "could", "would", "will", "is", "are", "am", "did", "does", "has", "have", "may":
		return true
	case "do":
		return second == "i" || second == "you" || second == "we" || second == "they"
	case "when":
		return second == "is" || second == "do" || second == "should" || second == "will" || second == "did"
	}
	return false
}

func containsAny(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// hasWord reports whether a text in lower case has one of some English words or
// phrases, not inside of other words. An apostrophe may be written either way.
func hasWord(low string, phrases ...string) bool {
	for _, p := range phrases {
		if wordAt(low, p) >= 0 || strings.Contains(p, "'") && wordAt(low, strings.ReplaceAll(p, "'", "’")) >= 0 {
			return true
		}
	}
	return false
}

// wordAt gives where a phrase stands between the ends of words, or -1.
func wordAt(low, phrase string) int {
	for from := 0; ; {
		n := strings.Index(low[from:], phrase)
		if n < 0 {
			return -1
		}
		at := from + n
		end := at + len(phrase)
		if (at == 0 || !inWord(low[at-1])) && (end == len(low) || !inWord(low[end])) {
			return at
		}
		from = at + 1
	}
}

func inWord(c byte) bool { return isLatin(c) || isDigit(c) || c == '_' || c == '\'' }

func hasHan(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 0x4E00 && r <= 0x9FFF })
}
