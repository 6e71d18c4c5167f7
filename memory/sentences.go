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
	pasted     bool // it is, or follows on, a text that the user hands over
}

// sentences parts a text, in order.
func sentences(text string) []sentence {
	own, quoted := blankQuotes(text)
	var parts []sentence
	start, pasted := 0, false
	add := func(end int, mark rune) {
		s := trimmed(own, start, end)
		if s.start < s.end {
			s.low = simplified.Replace(asciiLower(own[s.start:s.end]))
			s.quotes = quoted[s.start:s.end]
			pasted = pasted || handsOver(s.low)
			s.pasted = pasted
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

// handsOver reports whether a sentence hands a text over, as "翻译：" and "summarise
// this:" do. What follows is that text's, to the end of the message.
func handsOver(low string) bool {
	before, _, found := strings.Cut(strings.ReplaceAll(low, "：", ":"), ":")
	if !found || containsAny(before, "记住", "记下") || hasWord(before, "remember", "note") {
		return false
	}
	return containsAny(before, "翻译", "总结", "概括", "改写", "润色", "校对", "朗读", "看看这", "这段", "以下", "下面", "原文",
		"如下", "文案", "评论", "转发", "公告") ||
		hasWord(before, "translate", "summarise", "summarize", "rewrite", "proofread", "following", "below", "this text",
			"this page", "this message", "article", "comment", "forwarded", "pasted")
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
	if containsAny(low, "是不是", "要不要", "能不能", "可不可以", "有没有", "会不会", "该不该", "是否", "为什么", "怎么",
		"多少钱", "什么时候", "哪个", "哪款", "哪些", "几点") {
		return true
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(low), " ")
	second, _, _ := strings.Cut(rest, " ")
	switch first {
	case "what", "why", "how", "who", "where", "which", "should", "shall", "can", "could", "would", "will", "is", "are", "am",
		"did", "does", "has", "have", "may":
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

// Traditional characters of the words that are looked for, and the simplified ones in
// the same order. Each has three bytes, so that every byte stays where it is.
const (
	traditional = "議薦應該當務須優選換價漲縮長減試慮參請將調為場說過個會對開講時點歡習慣記從現後鐘許準絕總終無論庫節語聽觀眾絲顧買運營話嗎麼這萬億兩還沒於別讓給們覺認規則條讀寫報單鏈號幾樣實際據設標隨變動傳統續結顯態處預測簡詳細間貨發確"
	simple      = "议荐应该当务须优选换价涨缩长减试虑参请将调为场说过个会对开讲时点欢习惯记从现后钟许准绝总终无论库节语听观众丝顾买运营话吗么这万亿两还没于别让给们觉认规则条读写报单链号几样实际据设标随变动传统续结显态处预测简详细间货发确"
)

// simplified folds traditional characters.
var simplified = pairing(traditional, simple)

// pairing gives what replaces each character of one text by that of another one.
func pairing(from, to string) *strings.Replacer {
	var pairs []string
	for i, r := range []rune(from) {
		pairs = append(pairs, string(r), string([]rune(to)[i]))
	}
	return strings.NewReplacer(pairs...)
}

// removing gives what takes words out of a text.
func removing(words ...string) *strings.Replacer {
	pairs := make([]string, 0, 2*len(words))
	for _, w := range words {
		pairs = append(pairs, w, "")
	}
	return strings.NewReplacer(pairs...)
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
