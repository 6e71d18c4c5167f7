package memory

import (
	"strings"
	"unicode/utf8"
)

// Instruction tells the model how much it may say. It is given for each question
// that asks for a decision, and CheckForm holds the answer to it.
func (f Form) Instruction(locale string) string {
	speak := speakIn(locale)
	switch f {
	case Recommend:
		return speak.pick(
			"Trust in this domain is high. Recommend one thing, and give with it: the evidence by its ids, one counter-example from the record, one alternative, and your confidence in percent.",
			"该领域的信任度高。请给出一条建议，并同时给出：证据（附编号）、记录中的一个反例、一个备选方案，以及以百分比表示的置信度。")
	case Refer:
		return speak.pick(
			"Trust in this domain is middling. Give the evidence by its ids, and at most one weak reference, such as \"for reference, ...\" or \"you could consider ...\". Do not recommend, advise, instruct or say what should be done; the user decides.",
			"该领域的信任度中等。请给出证据（附编号），最多再给一条弱参考，例如“供参考……”或“可以考虑……”。不要推荐、建议、下指令，也不要说应该怎么做；由用户决定。")
	}
	return speak.pick(
		"Trust in this domain is low. Give evidence only: what was said, measured and done, by its ids. Do not recommend, suggest, advise, propose, instruct or say what could or should be done; the user decides.",
		"该领域的信任度低。只给出证据：说过什么、测得什么、做过什么（附编号）。不要推荐、建议、提议、下指令，也不要说可以或应该怎么做；由用户决定。")
}

// MaxFormBytes bounds an answer that is checked for its form. What is longer is a
// finding of its own: nobody can tell what its rest says.
const MaxFormBytes = 32 << 10

// maxFormFindings bounds the findings of one answer: more than anybody reads.
const maxFormFindings = 20

// A FormFinding is a piece of an answer that says more than the trust allows.
type FormFinding struct {
	Words string `json:"words"` // the clause, shortened
	Cue   string `json:"cue"`   // what in it recommends
	Weak  bool   `json:"weak"`  // it proposes, and does not recommend
}

// CheckForm gives the pieces of an answer that a form does not allow: under
// EvidenceOnly whatever recommends or proposes, under Refer whatever recommends,
// under Recommend nothing. It reads English and Chinese by rules; the same answer
// gives the same findings. What users, platforms or brands advise is evidence, as is
// what was recommended earlier. An unknown form is taken for EvidenceOnly.
func CheckForm(f Form, answer string) []FormFinding {
	if f == Recommend {
		return nil
	}
	if len(answer) > MaxFormBytes {
		return []FormFinding{{Words: cutText(oneLine(answer), maxToldBytes), Cue: "too long to be checked"}}
	}
	var found []FormFinding
	for _, clause := range formClauses(answer) {
		cue, weak := advises(clause)
		if cue == "" || weak && f == Refer {
			continue
		}
		found = append(found, FormFinding{Words: cutText(strings.TrimSpace(clause), maxToldBytes), Cue: cue, Weak: weak})
		if len(found) == maxFormFindings {
			break
		}
	}
	return found
}

// formClauses gives the clauses of an answer, folded, in lower case, without what is
// quoted as somebody's words.
func formClauses(answer string) []string {
	text := withoutCited(foldForm(answer))
	return strings.FieldsFunc(endSentences(text), func(r rune) bool {
		return strings.ContainsRune("\n\x00,;!，；。！、…()（）", r)
	})
}

// endSentences marks the ends of English sentences, and leaves the dots of numbers.
func endSentences(text string) string {
	text = strings.NewReplacer(". ", "\x00", ".\n", "\x00", " - ", "\x00", " – ", "\x00", " — ", "\x00", "——", "\x00").Replace(text + "\n")
	b := []byte(text)
	for i, c := range b {
		if c == ',' && i > 0 && i+1 < len(b) && isDigit(b[i-1]) && isDigit(b[i+1]) {
			b[i] = '\''
		}
	}
	return string(b)
}

// foldForm brings an answer to plain lower case: full-width letters, emphasis and
// characters that nobody sees may not hide a word.
func foldForm(answer string) string {
	lines := strings.Split(answer, "\n")
	for i, line := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			switch {
			case r >= 0xFF21 && r <= 0xFF5A || r >= 0xFF10 && r <= 0xFF19: // letters and digits
				return r - 0xFF01 + '!'
			case r == '’' || r == '‘':
				return '\''
			case r == '*' || r == '_' || r == '`':
				return -1
			}
			return r
		}, oneLine(line))
	}
	return simplified.Replace(strings.ToLower(strings.Join(lines, "\n")))
}

// withoutCited blanks the quotations that an answer gives as somebody's words, and
// leaves others: a recommendation in quotation marks is one.
func withoutCited(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		at := strings.IndexAny(text, "“「『\"")
		if at < 0 {
			break
		}
		open, size := utf8.DecodeRuneInString(text[at:])
		length := strings.IndexRune(text[at+size:], quoteEnd(open))
		if length < 0 {
			break
		}
		end := at + size + length + utf8.RuneLen(quoteEnd(open))
		b.WriteString(text[:at])
		if cites(text[:at]) {
			b.WriteString(" … ")
		} else {
			b.WriteString(text[at:end])
		}
		text = text[end:]
	}
	return b.String() + text
}

// cites reports whether the words just before a quotation give it as somebody's.
func cites(before string) bool {
	if at := strings.LastIndexAny(before, "\n。.!！?？;；"); at >= 0 {
		before = before[at:]
	}
	return containsAny(before, "您说", "你说", "说过", "提到", "原话", "您在", "你在", "记录", "写道", "规定", "要求", "评论",
		"反馈", "声明", "标题", "问") && !containsAny(before, "我说", "我的") ||
		hasWord(before, "you said", "you told", "you wrote", "your words", "you asked", "said", "wrote", "record", "records",
			"titled", "rule", "comment", "commented", "declared", "memory") && !hasWord(before, "i said", "my record")
}

// advises tells what in a clause recommends or proposes, if anything does.
func advises(clause string) (cue string, weak bool) {
	clause = strings.TrimSpace(strings.TrimLeft(clause, " -•·#>0123456789.)）"))
	clause = notAdviceEN.Replace(notAdviceZH.Replace(clause))
	for _, find := range [...]func(string) (string, bool){strongZH, strongEN, imperativeZH, imperativeEN} {
		if cue, ok := find(clause); ok {
			return cue, false
		}
	}
	for _, find := range [...]func(string) (string, bool){weakZH, weakEN} {
		if cue, ok := find(clause); ok {
			return cue, true
		}
	}
	return "", false
}

// The parts that a recommendation comes with.
const (
	PartCounter     = "counter-example"
	PartAlternative = "alternative"
	PartConfidence  = "confidence"
)

// MissingParts gives the parts that an answer of the form Recommend lacks, if it
// recommends at all. It looks for the words that introduce them, so it is a reminder for
// the model and no ground to withhold an answer.
func MissingParts(answer string) []string {
	if len(answer) > MaxFormBytes || len(CheckForm(Refer, answer)) == 0 {
		return nil
	}
	low := foldForm(answer)
	var missing []string
	for _, part := range [...]struct {
		name string
		is   bool
	}{
		{PartCounter, containsAny(low, "反例", "例外", "但也有", "相反", "不利") || hasWord(low, "counter-example",
			"counterexample", "exception", "however", "on the other hand", "against it")},
		{PartAlternative, containsAny(low, "备选", "替代", "另一", "或者", "其他方案") || hasWord(low, "alternative",
			"alternatively", "otherwise", "another option")},
		{PartConfidence, containsAny(low, "置信", "把握", "可信度") || hasWord(low, "confidence", "confident", "sure")},
	} {
		if !part.is {
			missing = append(missing, part.name)
		}
	}
	return missing
}
