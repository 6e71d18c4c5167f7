package memory

import (
	"slices"
	"strings"
	"unicode"
)

// maxAnswerSentences bounds an answer to a question: who says more speaks of
// something else.
const maxAnswerSentences = 3

// ReadAnswer reads what a user's message answers to the question whether their
// words still hold, by rules: new numbers or words of the same topic update them, the same
// ones and "keep it" keep them, "drop it" retires them. It is false for what does not
// answer: a question back, somebody else's words or a text that is handed over, what is
// for the moment only or about something else, two answers at once, and a "keep it" or
// "drop it" beside which anything else is said: "cancel order 1234" is no answer. The
// question then stays open.
func ReadAnswer(m Message, said Node) (Answer, bool) {
	text := cutBytes(strings.TrimSpace(m.Text), MaxHeardBytes)
	a := Answer{Text: text, At: m.At, Source: Source{Session: m.Session, Live: m.Live, Input: m.Input}}
	parts := sentences(text)
	if len(parts) > maxAnswerSentences {
		return Answer{}, false
	}
	var found []Resolution
	for _, s := range parts {
		if noAnswer(s, said) {
			return Answer{}, false
		}
		r, claim, ok := resolutionIn(s.low, said)
		switch {
		case !ok:
			return Answer{}, false
		case r != "":
			found = append(found, r)
			a.Claim = claim
		}
	}
	if len(found) != 1 || a.Claim == nil && !saysNoMore(parts) {
		return Answer{}, false
	}
	if a.Resolution = found[0]; a.Resolution != Updated {
		a.Claim = nil
	}
	return a, true
}

// resolutionIn reads one sentence: "" where it answers nothing, and not ok where it
// answers two things. A claim comes with what it was read by.
func resolutionIn(low string, said Node) (r Resolution, claim *Claim, ok bool) {
	claim = answeredClaim(low, said)
	switch kept, dropped := keeps(low), drops(low); {
	case kept && dropped:
		return "", nil, false
	case claim != nil && Compare(*said.Claim, *claim, 0, true) == Agrees && !dropped:
		return Kept, claim, true
	case claim != nil && !kept && !dropped:
		return Updated, claim, true
	case claim != nil:
		return "", nil, false
	case kept:
		return Kept, nil, true
	case dropped:
		return Retired, nil, true
	}
	return "", nil, true
}

// asNow takes out the words by which people speak of what was asked: which one, and
// what holds now. Elsewhere they mean the moment.
var asNow = removing("现在", "这条")

// noAnswer refuses a sentence that makes the whole message none.
func noAnswer(s sentence, said Node) bool {
	if s.question || s.pasted || supposes(s.low) || othersSpeak(s.low) || forNow(asNow.Replace(s.low)) {
		return true
	}
	if entity := entityIn(s.low); entity != "" && entity != said.Entity {
		return true
	}
	_, about := claimOfWords(s.low, Subjects())
	return about.Topic != "" && said.Claim != nil && !sameTopic(about.Topic, said.Claim.Topic)
}

// answeredClaim reads a claim of the topic that was asked about, which the answer
// need not name.
func answeredClaim(low string, said Node) *Claim {
	if said.Claim == nil {
		return nil
	}
	for _, s := range Subjects() {
		if !sameTopic(s.Topic, said.Claim.Topic) {
			continue
		}
		if c, ok := s.rangeIn(low, false); ok {
			return &c
		}
		if words := s.wordsIn(low); len(words) > 0 {
			return &Claim{Topic: s.Topic, Words: words, Not: denies(low)}
		}
	}
	return nil
}

func keeps(low string) bool { return containsAny(low, keepZH()...) || hasWord(low, keepEN()...) }

func drops(low string) bool { return containsAny(low, dropZH()...) || hasWord(low, dropEN()...) }

func keepZH() []string {
	return []string{"不变", "照旧", "仍然有效", "还有效", "不用改", "不要改", "没变", "没有变", "维持", "保留", "继续按", "按原来", "还是原来"}
}

func keepEN() []string {
	return []string{"keep it", "keep that", "keep them", "still holds", "still hold", "unchanged", "no change", "hasn't changed",
		"has not changed", "as before", "leave it", "stays as it is"}
}

func dropZH() []string {
	return []string{"取消", "作废", "不再需要", "不需要了", "不用记", "忘掉", "忘了它", "删掉", "不算数", "不重要了"}
}

func dropEN() []string {
	return []string{"drop it", "forget it", "no longer", "cancel it", "doesn't matter", "does not matter", "remove it", "scrap it"}
}

// saysNoMore reports whether sentences say "keep it" or "drop it", and nothing else
// but the words that people put around it.
func saysNoMore(parts []sentence) bool {
	for _, s := range parts {
		low := aroundZH.Replace(strings.ReplaceAll(s.low, "’", "'"))
		for _, phrase := range slices.Concat(keepEN(), dropEN()) {
			for at := wordAt(low, phrase); at >= 0; at = wordAt(low, phrase) {
				low = low[:at] + low[at+len(phrase):]
			}
		}
		words := strings.FieldsFunc(low, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
		if slices.ContainsFunc(words, func(w string) bool { return !aroundEN(w) }) {
			return false
		}
	}
	return true
}

// aroundZH takes out what is said around an answer, and the answer. Longer words
// come first.
var aroundZH = removing(slices.Concat(keepZH(), dropZH(), []string{
	"这个要求", "这条要求", "之前的话", "我的话", "没问题", "不需要", "不需", "原来的", "要求", "规则", "偏好", "说法", "设置", "这条", "这个", "那条", "那个",
	"保持", "原来", "原样", "继续", "还是", "仍然", "仍旧", "之前", "以前", "上次", "一直", "直接", "已经", "可以", "麻烦", "谢谢", "好的", "好吧", "是的", "对的",
	"它", "请", "就", "那", "都", "也", "了", "吧", "啊", "哦", "嗯", "的", "好", "对", "是", "不", "按", "做", "我", "您", "你", "把", "给", "先", "说", "仍",
})...)

// aroundEN reports whether an English word is one that is said around an answer.
func aroundEN(w string) bool {
	switch w {
	case "please", "ok", "okay", "yes", "yeah", "no", "just", "thanks", "thank", "you", "the", "my", "words", "rule", "preference",
		"they", "it", "that", "this", "one", "them", "still", "i", "want", "let's", "let", "us", "then", "same", "old", "so", "and",
		"well", "sure", "now", "anymore", "is", "are", "all", "good", "fine", "matter", "matters", "needed", "valid", "right":
		return true
	}
	return false
}
