package memory

import (
	"regexp"
	"slices"
	"strings"
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
		"Trust in this domain is low. Give evidence only, in plain sentences that report: figures with the names that results and memories use, quotations of memories word for word in quotation marks with their ids, and what is not on record. "+
			"Each word is checked against what you were given; opinions, comparisons that judge, plans, figures of speech and signs such as thumbs are withheld. Do not recommend, suggest, advise, propose, instruct or say what could or should be done: the user decides. Answer in English or Chinese.",
		"该领域的信任度低。只给出证据，用平实的陈述句：数字配结果和记忆里的原有名称，记忆逐字引用并加引号和编号，以及哪些没有记录。"+
			"每个词都会与您得到的材料核对；看法、带评判的比较、计划、比喻和拇指之类的符号都不会显示。不要推荐、建议、提议、下指令，也不要说可以或应该怎么做：由用户决定。请用中文或英文回答。")
}

// Withheld tells the user that an answer in a domain was not shown because it said more
// than the form allows: what was held back, why, and what the user can do. Of Recommend,
// under which nothing is held back, it is empty.
func (f Form) Withheld(domain string, trust float64, locale string) string {
	speak := speakIn(locale)
	var what, may string
	switch f {
	case Recommend:
		return ""
	case Refer:
		what = speak.pick("a recommendation", "明确的建议")
		may = speak.pick("middling, so I may show you evidence and at most one weak reference", "中等，我只能列出依据，最多再给一条参考")
	default:
		what = speak.pick("advice", "建议")
		may = speak.pick("low, so I may show you evidence alone: what was said, measured and done", "较低，我只能列出依据：说过什么、测得什么、做过什么")
	}
	return speak.pick(
		"I held my answer back: it gave %[1]s. Your trust in me for \"%[2]s\" is %.2[3]f of 1, which is %[4]s. The decision is yours. "+
			"You can ask me for the figures and the record alone, or tell me what you have decided, and I do it. "+
			"Trust grows with decisions whose outcome was good; from %.2[5]f on I may recommend.",
		"我的回答没有发给您：其中含有%[1]s。您在“%[2]s”方面对我的信任度目前是 %.2[3]f（满分 1），%[4]s。决定由您来做。"+
			"您可以让我只列出数据和记录，或者直接告诉我您的决定，由我去执行。"+
			"采纳后效果好的决策会提高信任度，达到 %.2[5]f 后我才可以给出建议。",
		what, plainWord(domain), trust, may, RecommendFrom)
}

// maxOnRecordBytes bounds each line of OnRecord.
const maxOnRecordBytes = 300

// unquoted keeps what stands in quotation marks from ending them.
var unquoted = strings.NewReplacer("\"", "'", "“", "'", "”", "'", "「", "'", "」", "'", "『", "'", "』", "'")

// OnRecord gives the user what an answer that was withheld could have reported, as the
// host has it: a line each, cut; or "" where there is nothing.
func OnRecord(locale string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	speak := speakIn(locale)
	text := "\n" + speak.pick("What is on record:", "记录里有：")
	for _, line := range lines {
		text += "\n- " + speak.pick("\"", "“") + cutText(unquoted.Replace(oneLine(line)), maxOnRecordBytes) + speak.pick("\"", "”")
	}
	return text
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

// Given is what an answer was given: only that may it report.
type Given struct {
	Memories []string // that were recalled: it may quote them; 64 of MaxPassageBytes are read
	Read     []string // what else: the user's words, results of tools, the last ones first; 128 KiB are read with the memories
}

// CheckForm gives the pieces of an answer that a form does not allow: under
// EvidenceOnly whatever recommends or proposes, under Refer whatever recommends,
// under Recommend nothing. It reads English and Chinese by rules; the same answer
// gives the same findings. Line breaks, pictures and other shapes of letters hide no
// word. What users, platforms or brands advise is evidence, as is what was recommended
// earlier, where the answer names them right beside it. So are quotations of memories that
// the answer was given.
//
// Wordings that recommend have no end, so under EvidenceOnly that is not enough: each word
// must be one with which is reported (report_en.txt, report_zh.txt), or stand in what the
// answer was given; each sentence must report something; and a picture may be no verdict.
// Whatever else it says is a finding, in any language. It does not see what true figures
// are chosen or left out for. An unknown form is taken for EvidenceOnly.
func CheckForm(f Form, answer string, given Given) []FormFinding {
	if f == Recommend {
		return nil
	}
	if len(answer) > MaxFormBytes {
		return []FormFinding{{Words: cutText(oneLine(answer), maxToldBytes), Cue: "too long to be checked"}}
	}
	laid := plainForm(answer)
	found := findingsIn(f, laid, given.Memories)
	for _, one := range slices.Concat(hiddenIn(f, laid, "", given.Memories), hiddenIn(f, laid, " ", given.Memories)) {
		if !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	if f != Refer {
		found = append(found, notEvidence(answer, laid, given)...)
	}
	return found[:min(len(found), maxFormFindings)]
}

// notEvidence gives what makes more than a report of an answer: a picture that judges, the
// first word of each clause that is in nothing that it was given, a sentence that tells
// of nothing.
func notEvidence(answer, laid string, given Given) (found []FormFinding) {
	note := func(words, cue string) {
		found = append(found, FormFinding{Words: cutText(strings.TrimSpace(words), maxToldBytes), Cue: cue, Weak: true})
	}
	if sign := verdictSign(answer); sign != "" {
		note(sign, "a sign that may be a verdict")
	}
	memories := foldRecalled(given.Memories)
	text := withoutFound(laid, memories)
	g := groundOf(slices.Concat(memories, foldRead(given.Read)))
	for _, clause := range clausesOf(text) {
		if word := ungrounded(clause, g); word != "" && len(found) < maxFormFindings {
			note(clause, word)
		}
	}
	if bare := bareSentence(text); bare != "" {
		note(bare, "a sentence that reports nothing")
	}
	return found
}

// findingsIn gives what the clauses of a folded answer say that a form does not allow.
func findingsIn(f Form, text string, recalled []string) (found []FormFinding) {
	for _, clause := range formClauses(text, recalled) {
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

// hiddenIn gives what is found only where an answer is read without its breaks: words that
// are whole in it as it stands were read there, with what lets them off. A cue with "…"
// is a form of a clause, and no word.
func hiddenIn(f Form, laid, between string, recalled []string) []FormFinding {
	text := joined(laid, between)
	return slices.DeleteFunc(findingsIn(f, text, recalled), func(one FormFinding) bool {
		return !strings.Contains(one.Cue, "…") && strings.Count(text, one.Cue) <= strings.Count(laid, one.Cue)
	})
}

// formClauses gives the clauses of a folded answer, without what is quoted as somebody's
// words or from a memory.
func formClauses(text string, recalled []string) []string {
	return clausesOf(withoutCited(text, foldRecalled(recalled)))
}

func clausesOf(text string) []string {
	return strings.FieldsFunc(endSentences(text), func(r rune) bool {
		return r == emoji || strings.ContainsRune("\n\x00"+foundQuotation+",;!，；。！、…()（）", r)
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

// listMark is what lines of a list begin with.
var listMark = regexp.MustCompile(`^[ •·#>~-]*(?:[0-9]{1,2}[.)）] ?)?[ •·#>~-]*`)

// advises tells what in a clause recommends or proposes, if anything does.
func advises(clause string) (cue string, weak bool) {
	clause = strings.TrimSpace(listMark.ReplaceAllString(clause, ""))
	clause = notAdviceEN.Replace(notAdviceZH.Replace(clause))
	for _, find := range [...]func(string) (string, bool){strongZH, strongEN, bestZH, bestEN, imperativeZH, imperativeEN, adviseElsewhere} {
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
// recommends at all. It looks for the words that introduce them, so it is ground to
// remind the model once, and none to withhold an answer for good.
func MissingParts(answer string) []string {
	if len(answer) > MaxFormBytes || len(CheckForm(Refer, answer, Given{})) == 0 {
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
