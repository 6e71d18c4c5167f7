package memory

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// plainSigns are the pictures that judge nothing. Any other, such as a thumb or a tick
// beside an option, may be a verdict.
const plainSigns = "📈📉📊📅📆📦🕐🕗🕘🕙🌙🙂😊🙏👋📝📌📎📋🔹🔸🔍🛒💬📺🎥📢👉▪▫◾◽■□●○◆◇▲▼→←↑↓"

// sentenceEnds parts what is read at once. A line of a table is one.
var sentenceEnds = regexp.MustCompile(`\n|[.!?]+(?:\s|$)|[。！？]`)

var (
	figure = regexp.MustCompile(`[0-9][0-9.,:'/%-]*`)
	// ahead is a time that has not been, or what something leads to: a figure that only
	// is, then, is a plan.
	ahead  = regexp.MustCompile(`今晚|明天|明晚|后天|下一场|下场|接下来|所以|因此|\b(?:tonight|tomorrow|next|so (?:it|its|the|that|we|you|i|[0-9]))\b`)
	onlyIs = regexp.MustCompile(`[是为在]|\b(?:is|are|reads|it's|that's)\b`)
	// barePrice is a clause of its own with a figure and no more than its unit.
	barePrice = regexp.MustCompile(`(?:^|[^0-9])[,，:：] ?[0-9][0-9.]*(?: ?(?:\p{Han}{1,2}|[a-z]+))?$`)
	// reportsEN is what makes a report of an English sentence: a verb, or that it is the
	// user who decides.
	reportsEN = regexp.MustCompile(`\b(?:is|are|was|were|has|have|had|do|does|did|isn't|aren't|wasn't|weren't|hasn't|haven't|hadn't|don't|doesn't|didn't|cannot|can't|couldn't|` +
		`it's|that's|there's|here's|sold|rose|fell|grew|said|told|wrote|found|saw|took|ran|gave|got|made|kept|held|left|lost|paid|bought|went|came|began|spent|sent|brought|chose|` +
		`says|shows|states|reads|covers|includes|contains|lists|costs|sells|totals|differs|accounts|counts|names|agrees|allows|gives|comes|closes|opens|rests|carries|tells|means|lasts|applies|waives|requires|hold|holds|mentions|refers|yours|let me|i'll|i can|up to you|you decide|\w{3,}ed)\b`)
	// reportsZH is what makes a report of a Chinese sentence.
	reportsZH = regexp.MustCompile(`[是为有无没未了过共占达约比含属在由称]|卖出|售出|成交|显示|提到|提及|说|表示|写|记录|记载|问|下单|退货|退款|上升|下降|上涨|下跌|增加|减少|持平|高于|低于|超过|相差|不明|不到|不足|不详|来自|取自|截至|包括|分别|发生|出现|查到|请您|您来|您定|您判断|您自己|截止|留言|评论|反馈|不能|无法|曾|喜欢|习惯|偏好|要求|规定|平均|低了|高了|差|一致|相符|查|稍等|看看|只列|缺|完|其余`)
)

// What is short enough to be the answer to "which one?": a price, an option, a yes.
const (
	briefWords = 6
	briefHan   = 10
	leastRows  = 3 // that are a table, with its heading
	leastItems = 2 // that are a list of figures
)

// bareSentence gives the first sentence of a folded text that is brief and reports nothing,
// such as a price alone, which is a choice where it answers a question; or "". Rows of a
// table and figures of a list need no verb, where there are several.
func bareSentence(text string) string {
	rows, items := 0, 0
	var sentences []string
	for line := range strings.Lines(text) {
		if isRow(line) {
			rows++
		}
		if mark := listMark.FindString(line); !strings.Contains(mark, "#") && strings.TrimSpace(line) != strings.TrimSpace(mark) {
			line = line[len(mark):]
		}
		for _, sentence := range sentenceEnds.Split(line, -1) {
			if isItem(sentence) {
				items++
			}
			sentences = append(sentences, strings.TrimSpace(sentence))
		}
	}
	for _, sentence := range sentences {
		if isRow(sentence) && rows >= leastRows || isItem(sentence) && items >= leastItems {
			continue
		}
		if (isBrief(sentence) || ahead.MatchString(sentence) || barePrice.MatchString(sentence)) && !reportsSomething(sentence) {
			return sentence
		}
	}
	return ""
}

func isRow(line string) bool { return strings.Count(line, "|") >= 2 }

// isItem reports whether a sentence says of something what its figure is, or quotes it.
func isItem(sentence string) bool {
	return strings.ContainsAny(sentence, ":：") && (figure.MatchString(sentence) || strings.Contains(sentence, foundQuotation)) && !ahead.MatchString(sentence)
}

// isBrief reports whether a sentence has words or figures, and few.
func isBrief(sentence string) bool {
	words, han := 0, 0
	pieces := piecesOf(sentence)
	for _, p := range pieces {
		switch {
		case p.han:
			han += utf8.RuneCountInString(p.text)
		case !p.number:
			words++
		}
	}
	return len(pieces) > 0 && words <= briefWords && han <= briefHan
}

// reportsSomething reports whether a sentence has a verb or several figures, or is a heading.
func reportsSomething(sentence string) bool {
	figures := len(figure.FindAllString(sentence, 2))
	if figures == 0 && (strings.HasSuffix(sentence, ":") || strings.HasSuffix(sentence, "：") || strings.HasPrefix(sentence, "#") && ungrounded(sentence, groundOf(nil)) == "") {
		return true
	}
	if ahead.MatchString(sentence) && figures > 0 {
		sentence = onlyIs.ReplaceAllString(sentence, " ")
	} else if figures > 1 {
		return true
	}
	return (figures > 1 || !barePrice.MatchString(sentence)) && (reportsZH.MatchString(sentence) || reportsEN.MatchString(sentence))
}

// verdictSign gives the first picture of an answer that may be a verdict, or "".
func verdictSign(answer string) string {
	for _, r := range answer {
		if plainLetter(r) == emoji && !strings.ContainsRune(plainSigns, r) {
			return string(r)
		}
	}
	return ""
}
