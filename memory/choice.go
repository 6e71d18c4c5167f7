package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A choice is a question which of two declarations (L1) counts that contradict each
// other. Both stand until it is answered, so that what either forbids is forbidden.

// Resolutions of a choice.
const (
	First  Resolution = "first"  // the one that was said first counts, and supersedes the other
	Second Resolution = "second" // the other way round
	Both   Resolution = "both"   // they are for different situations, and stand
)

// NewChoice makes the question which of two declarations counts. A pair has one, in
// whichever order it is given: its id is that of the pair.
func NewChoice(a, b Node, now time.Time) Question {
	if order := a.At.Compare(b.At); order > 0 || order == 0 && a.ID > b.ID {
		a, b = b, a
	}
	pair := []string{string(a.ID), string(b.ID)}
	slices.Sort(pair)
	return Question{ID: "ask_" + host.Digest([]byte(strings.Join(pair, "/")))[:32], Tenant: a.Tenant, User: a.User, Memory: a.ID, Other: b.ID, Topic: a.Claim.Topic,
		Domain: cmp.Or(a.Domain, b.Domain), Scene: a.Scene, Said: *a.Claim, Seen: *b.Claim, Evidence: []ID{a.ID, b.ID}, Raised: now}
}

// IsChoice reports whether the question is which of two declarations counts, and not
// whether one still holds.
func (q Question) IsChoice() bool { return q.Other != "" }

// Settled reports whether an answer has left nothing to choose, however both stand.
func (q Question) Settled() bool { return !q.Answered.IsZero() && q.Answer == Both }

// ChoiceText words a choice for the user, in Chinese for a Chinese locale and else in
// English, with the user's own words.
func (q Question) ChoiceText(first, second Node, locale string) string {
	const day = "2006-01-02"
	return speakIn(locale).pick(
		"You told me two things that contradict each other: (1) \"%[1]s\" (%[2]s); (2) \"%[3]s\" (%[4]s). Which one counts? "+
			"Say \"the first\" or \"the second\", or \"both\" if they are for different situations. Until then I keep to both.",
		"您说过两条互相矛盾的要求：①“%[1]s”（%[2]s）；②“%[3]s”（%[4]s）。以哪条为准？"+
			"请说“第一条”或“第二条”；如果分别用于不同情况，请说“都保留”。在您决定之前，两条都会遵守。",
		cutText(oneLine(first.Text), maxChoiceBytes), first.At.Format(day), cutText(oneLine(second.Text), maxChoiceBytes), second.At.Format(day))
}

// maxChoiceBytes bounds each of the user's words in a choice: with both of them it is
// quoted whole.
const maxChoiceBytes = maxToldBytes / 2

// ReadChoice reads what a user's message answers to a choice, by rules: which of the
// two is named, by its place, its age or a number that it alone has, or said again. It is
// false for what does not answer: what ReadAnswer does not take, a denial, both at once
// but for "both", and an answer beside which anything else is said that does not tell
// when each holds. The question then stays open.
func ReadChoice(m Message, first, second Node) (Answer, bool) {
	text := cutBytes(strings.TrimSpace(m.Text), MaxHeardBytes)
	a := Answer{Text: text, At: m.At, Source: Source{Session: m.Session, Live: m.Live, Input: m.Input}}
	parts := sentences(text)
	if len(parts) > maxAnswerSentences || first.Claim == nil || second.Claim == nil {
		return Answer{}, false
	}
	said := false // one of the two, again
	for _, s := range parts {
		if noAnswer(s, first) {
			return Answer{}, false
		}
		chosen, ok := saidAgain(s.low, first, second), true
		if said = said || chosen != ""; chosen == "" {
			chosen, ok = chosenIn(s.low, first, second)
		}
		if !ok || chosen != "" && a.Resolution != "" {
			return Answer{}, false
		}
		if chosen != "" {
			a.Resolution = chosen
		}
	}
	if a.Resolution == "" || a.Resolution != Both && !said && !namesNoMore(parts, first, second) {
		return Answer{}, false
	}
	return a, true
}

// saidAgain tells which of the two a sentence claims once more, if it does just one.
func saidAgain(low string, first, second Node) Resolution {
	claim, _ := claimOfWords(low, Subjects())
	if claim == nil {
		return ""
	}
	is := func(n Node) bool {
		return Compare(*claim, *n.Claim, 0, true) == Agrees && Compare(*n.Claim, *claim, 0, true) == Agrees
	}
	switch one, other := is(first), is(second); {
	case one && !other:
		return First
	case other && !one:
		return Second
	}
	return ""
}

// chosenIn reads one sentence: "" where it chooses nothing, and not ok where what it
// says must not be taken for a choice.
func chosenIn(low string, first, second Node) (chosen Resolution, ok bool) {
	one, other := says(low, firstZH(), firstEN()), says(low, secondZH(), secondEN())
	switch denied := denies(limitWords.Replace(low)); {
	case says(low, bothZH(), bothEN()):
		return Both, !denied
	case one && other:
		return "", false
	case one:
		return First, !denied
	case other:
		return Second, !denied
	case denied || !says(low, []string{"按", "以", "用", "听", "选"}, []string{"go with", "use", "take", "stick to", "keep", "counts", "make it"}):
		return "", true
	}
	numbers := numerals(low)
	one, other = ownsOne(*first.Claim, *second.Claim, numbers), ownsOne(*second.Claim, *first.Claim, numbers)
	switch {
	case one && !other:
		return First, true
	case other && !one:
		return Second, true
	}
	return "", !one
}

// ownsOne reports whether one of some numbers is an end of a claim, and of no other
// one.
func ownsOne(c, other Claim, numbers []numeral) bool {
	return slices.ContainsFunc(numbers, func(n numeral) bool { return hasEnd(c, n.value) && !hasEnd(other, n.value) })
}

func hasEnd(c Claim, number float64) bool {
	return c.Low != nil && (*c.Low == number || *c.High == number)
}

func says(low string, chinese, english []string) bool {
	return containsAny(low, chinese...) || hasWord(low, english...)
}

func firstZH() []string {
	return []string{"第一条", "第一个", "第一句", "第1条", "前一条", "前一个", "前面那条", "前者", "旧的", "早的", "原来那条", "之前那条", "①"}
}

func firstEN() []string {
	return []string{"the first one", "the first", "first one", "number one", "option 1", "the former", "the old one", "the older one", "the earlier one", "(1)"}
}

func secondZH() []string {
	return []string{"第二条", "第二个", "第二句", "第2条", "后一条", "后一个", "后面那条", "后者", "新的", "晚的", "刚才那条", "刚说的", "②"}
}

func secondEN() []string {
	return []string{"the second one", "the second", "second one", "number two", "option 2", "the latter", "the new one", "the newer one", "the later one", "(2)"}
}

func bothZH() []string {
	return []string{"都保留", "都有效", "都算", "都留着", "都留", "两条都要", "两个都要", "都遵守", "都按", "都用"}
}

func bothEN() []string {
	return []string{"keep both", "both hold", "both count", "both apply", "both of them", "both"}
}

// limitWords takes out the denials by which people name a limit.
var limitWords = removing("不低于", "不超过", "不高于", "不少于", "no more than", "no less than", "not below", "not above", "not exceed")

// namesNoMore reports whether sentences name one of two, and nothing else but the words
// that people put around it and the numbers of the two.
func namesNoMore(parts []sentence, first, second Node) bool {
	for _, s := range parts {
		low := aroundChoice.Replace(limitWords.Replace(s.low))
		for _, phrase := range slices.Concat(firstEN(), secondEN(), []string{"go with", "stick to", "make it"}) {
			for at := wordAt(low, phrase); at >= 0; at = wordAt(low, phrase) {
				low = low[:at] + low[at+len(phrase):]
			}
		}
		words := strings.FieldsFunc(low, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
		if slices.ContainsFunc(words, func(w string) bool { return !aroundEN(w) && !chooses(w) && !isOf(w, first, second) }) {
			return false
		}
	}
	return true
}

// isOf reports whether a word is a number of one of two claims or a name of what they
// are about, or both, with or without a unit.
func isOf(word string, first, second Node) bool {
	for _, s := range Subjects() {
		if sameTopic(s.Topic, first.Claim.Topic) {
			for _, name := range s.Names {
				word = strings.TrimPrefix(word, name)
			}
		}
	}
	for _, number := range numerals(word) {
		_, unit := unitAt(word[number.end:])
		if number.start == 0 && number.end+unit == len(word) && (hasEnd(*first.Claim, number.value) || hasEnd(*second.Claim, number.value)) {
			return true
		}
	}
	name, end := unitAt(word)
	return word == "" || name != "" && end == len(word)
}

// aroundChoice takes out what is said around a choice, and the choice. Longer words
// come first.
var aroundChoice = removing(slices.Concat(firstZH(), secondZH(), []string{
	"这个要求", "这条要求", "没问题", "为准", "为主", "算数", "执行", "要求", "规则", "那条", "那个", "说的", "来做", "就行", "即可", "吧", "以后", "继续", "还是",
	"直接", "可以", "麻烦", "谢谢", "好的", "好吧", "是的", "对的", "按照", "请", "就", "那", "也", "了", "啊", "哦", "嗯", "的", "好", "对", "是", "按", "以", "用", "听", "选",
	"做", "来", "我", "您", "你", "把", "给", "先", "说",
})...)

// chooses reports whether an English word is one that is said around a choice.
func chooses(w string) bool {
	return slices.Contains([]string{"count", "counts", "use", "take", "keep", "holds", "hold", "applies", "rule", "with", "go", "for", "of", "at", "by", "follow"}, w)
}

// Choose applies the user's answer to a choice. What does not count any more is
// superseded by the other one, with the evidence kept, and comes back by being
// restored; its open gaps are closed. Of Both each stands. Problems are BadArguments:
// an answer to other memories, to a choice that was answered, about a memory that does
// not count any more, or one that chooses nothing.
func Choose(set ReconcileConfig, q Question, first, second Node, gaps []Gap, a Answer) (Resolved, error) {
	if problem := q.refusesChoice(first, second, a); problem != nil {
		return Resolved{}, host.Fail("memory.Choose", problem, nil)
	}
	q.Answered, q.Answer = a.At, a.Resolution
	r := Resolved{Question: q, Memory: first, Other: &second}
	loser, winner := &r.Memory, r.Other
	switch a.Resolution {
	case Both:
		r.Memory, second = set.affirmed(first, a.At), set.affirmed(second, a.At)
		return r, nil
	case First:
		loser, winner = winner, loser
	}
	*winner = set.affirmed(*winner, a.At)
	r.Gaps = CloseGaps(gaps, *loser, Updated)
	loser.Status, loser.SupersededBy, loser.Valid.Until = Superseded, winner.ID, a.At
	return r, nil
}

// affirmed gives a memory that its user has said again.
func (set ReconcileConfig) affirmed(n Node, at time.Time) Node {
	n.Trust, n.Agreed = exact(unit01(n.Trust+(1-n.Trust)*set.Gain)), at
	n.Verified++
	return n
}

func (q Question) refusesChoice(first, second Node, a Answer) *abi.Problem {
	switch {
	case !q.IsChoice() || q.Memory != first.ID || q.Other != second.ID:
		return abi.NewProblem(abi.BadArguments, "question %s is about the memories %s and %s, and not about %s and %s", q.ID, q.Memory, q.Other, first.ID, second.ID).
			WithHint("answer it with the memories that it names")
	case q.Tenant != first.Tenant || q.User != first.User || q.Tenant != second.Tenant || q.User != second.User || first.Layer != Declared || second.Layer != Declared:
		return abi.NewProblem(abi.BadArguments, "question %s is about what its user declared", q.ID)
	case !q.Answered.IsZero():
		return abi.NewProblem(abi.BadArguments, "question %s was answered at %s", q.ID, q.Answered.Format(time.RFC3339)).WithHint("say what holds now; that makes a memory of its own")
	case first.Status != Active || second.Status != Active:
		return abi.NewProblem(abi.BadArguments, "one of the memories %s and %s does not count any more", first.ID, second.ID).WithHint("there is nothing left to choose")
	case a.Resolution != First && a.Resolution != Second && a.Resolution != Both:
		return abi.NewProblem(abi.BadArguments, "%q chooses nothing", a.Resolution).WithHint("give %s, %s or %s", First, Second, Both)
	}
	return nil
}

// TopicsIn gives the topics that a text is about, of those that are read without a
// model: what a question of these topics fits.
func TopicsIn(text string) (topics []string) {
	low := simplified.Replace(asciiLower(cutBytes(text, MaxHeardBytes)))
	for _, s := range Subjects() {
		if s.namedIn(low) {
			topics = append(topics, s.Topic)
		}
	}
	return topics
}
