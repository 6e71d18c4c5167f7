package memory

import "strings"

// ReadAnswer reads what a user's message answers to the question whether their
// words still hold, by rules: new numbers or words of the same topic update them, the same
// ones and "keep it" keep them, "drop it" retires them. It is false for what does not
// answer: a question back, somebody else's words, or two answers at once. The
// question then stays open.
func ReadAnswer(m Message, said Node) (Answer, bool) {
	text := cutBytes(strings.TrimSpace(m.Text), MaxHeardBytes)
	a := Answer{Text: text, At: m.At, Source: Source{Session: m.Session, Live: m.Live, Input: m.Input}}
	var found []Resolution
	for _, s := range sentences(text) {
		if s.question || supposes(s.low) || othersSpeak(s.low) {
			return Answer{}, false
		}
		claim := answeredClaim(s.low, said)
		switch kept, dropped := keeps(s.low), drops(s.low); {
		case kept && dropped:
			return Answer{}, false
		case claim != nil && Compare(*said.Claim, *claim, 0, true) == Agrees && !dropped:
			found = append(found, Kept)
		case claim != nil && !kept && !dropped:
			found = append(found, Updated)
			a.Claim = claim
		case claim == nil && kept:
			found = append(found, Kept)
		case claim == nil && dropped:
			found = append(found, Retired)
		case claim != nil:
			return Answer{}, false
		}
	}
	if len(found) != 1 {
		return Answer{}, false
	}
	a.Resolution = found[0]
	return a, true
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

func keeps(low string) bool {
	return containsAny(low, "不变", "照旧", "仍然有效", "还有效", "不用改", "不要改", "没变", "没有变", "维持", "保留", "继续按", "按原来", "还是原来") ||
		hasWord(low, "keep it", "keep that", "keep them", "still holds", "still hold", "unchanged", "no change", "hasn't changed", "has not changed", "as before", "leave it", "stays as it is")
}

func drops(low string) bool {
	return containsAny(low, "取消", "作废", "不再需要", "不需要了", "不用记", "忘掉", "忘了它", "删掉", "不算数", "不重要了") ||
		hasWord(low, "drop it", "forget it", "no longer", "cancel it", "doesn't matter", "does not matter", "never mind", "remove it", "scrap it")
}
