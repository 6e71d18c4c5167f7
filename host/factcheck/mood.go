package factcheck

import (
	"slices"
	"strings"
)

// governs reports whether an English word makes the rest of its sentence a
// condition, a time to come or a question.
func governs(word string) bool {
	switch word {
	case "if", "once", "unless", "whether", "when", "until", "after", "before", "whenever", "assuming", "suppose", "provided":
		return true
	}
	return false
}

// withholds reports whether an English word makes the rest of its clause a
// wish, a plan, an ability or a denial.
func withholds(word string) bool {
	switch word {
	case "will", "would", "can", "could", "may", "might", "shall", "should", "must", "need", "needs", "want", "wants", "wish", "not", "never", "cannot", "can't", "won't",
		"don't", "doesn't", "didn't", "haven't", "hasn't", "hadn't", "isn't", "aren't", "wasn't", "weren't", "couldn't", "unable", "failed", "fails", "please", "let", "let's", "i'll", "we'll", "it'll",
		"yet", "without", "none", "nothing", "no", "neither", "nor", "pending", "awaiting", "waiting", "going", "about", "ready", "cause", "like", "requires", "require", "required", "says", "said", "which", "who", "to", "wouldn't", "i'd", "you'd", "did":
		return true
	}
	return false
}

// isHypothetical reports whether what stands at a place of a clause is no
// claim: it is asked, wished, planned, denied or bound to a condition.
func (a *answerText) isHypothetical(at, place int) bool {
	for i := at; i >= 0 && a.clauses[i].sentence == a.clauses[at].sentence; i-- {
		c := a.clauses[i]
		for _, w := range c.words {
			if w.start < place && (governs(w.text) && !isOpening(a, w) || i == at && withholds(w.text)) {
				return true
			}
		}
		if text := a.text[c.start:min(c.end, max(place, c.start))]; conditionZH(text) || i == at && denialZH(text) {
			return true
		}
	}
	return false
}

// isOpening: "After reviewing your booking, I've changed it" is no condition.
func isOpening(a *answerText, w word) bool {
	next, _, _ := strings.Cut(strings.TrimSpace(a.low[w.end:]), " ")
	return strings.HasSuffix(strings.TrimRight(next, ","), "ing") && (w.text == "after" || w.text == "before" || w.text == "when")
}

// conditionZH reports whether Chinese words make what follows them a condition.
func conditionZH(text string) bool {
	return containsAny(text, "如果", "要是", "假如", "假设", "倘若", "若", "一旦", "只要", "是否", "要不要", "等您", "等你", "等待", "确认后", "确认之后", "审批后", "通过后", "批准后", "同意后", "之前", "待您", "待审", "可否", "能否", "万一")
}

// denialZH reports whether Chinese words deny, plan or wish what follows them.
func denialZH(text string) bool {
	if !hasHan(text) {
		return false
	}
	return containsAny(denialLookalikes.Replace(text), "没", "未", "不", "别", "无法", "失败", "将会", "即将", "将于", "将在", "将被", "会", "能", "可以", "想", "准备", "马上", "立即", "需要", "请", "应该",
		"建议", "打算", "稍后", "正在", "尝试", "要", "等", "待", "尚", "曾", "怎么", "如何", "为什么", "计划", "预计", "拟")
}

// denialLookalikes takes out words that hold a character of a denial and deny
// nothing.
var denialLookalikes = strings.NewReplacer("不过", "", "不错", "", "会员", "", "社会", "", "机会", "", "功能", "", "智能", "", "能量", "", "未来", "", "要求", "", "主要", "", "重要", "",
	"特别", "", "级别", "", "类别", "", "分别", "", "别的", "", "不仅", "", "不但", "", "不久前", "", "没问题", "", "不客气", "")

// proposes reports whether words before a place in its sentence make it a
// proposal or an example.
func (a *answerText) proposes(at, place int) bool {
	c := a.clauses[at]
	if slices.ContainsFunc(c.words, func(w word) bool { return w.start < place && (w.text == "if" || w.text == "unless") }) || containsAny(a.text[c.start:max(place, c.start)], "如果", "要是", "假如", "若", "万一") {
		return true
	}
	first := at
	for first > 0 && a.clauses[first-1].sentence == c.sentence {
		first--
	}
	text := a.low[a.clauses[first].start:max(place, a.clauses[first].start)]
	return containsAny(text, "suggest", "recommend", "for example", "for instance", "e.g.", "such as", "suppose", "imagine", "hypothetical", "would you like", "do you want", "how about",
		"建议", "例如", "比如", "假设", "譬如", "假如", "要不要", "是否", "举例", "不妨")
}

// isLastOf reports whether a clause is the last one of its sentence.
func isLastOf(a *answerText, at int) bool {
	return at+1 == len(a.clauses) || a.clauses[at+1].sentence != a.clauses[at].sentence
}
