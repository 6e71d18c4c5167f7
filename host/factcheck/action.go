package factcheck

import (
	"slices"
	"strings"
)

// maxClaims bounds the claims of an answer that are looked into.
const maxClaims = 100

// A claim says that something was done.
type claim struct {
	class      class
	verb       string
	by         doer
	clause     int
	start, end int
	done       bool     // nothing but "done"
	isNow      bool     // "the price is now 89"
	past       bool     // "it was cancelled": rather told than done now
	success    bool     // "successfully", 成功
	things     []string // ids and numbers that it is said of
	target     *number  // what it is said to be now
}

// A doer is who is said to have done it. What the user is said to have done is
// no claim.
type doer int

const (
	assistant doer = iota // "I've cancelled it"
	somebody              // "it has been cancelled"
	user                  // "you have cancelled it"
)

// findClaims finds the claims of all clauses.
func (a *answerText) findClaims() {
	for at, c := range a.clauses {
		if len(a.claims) < maxClaims && !(c.question && isLastOf(a, at)) {
			a.claims = append(a.claims, a.claimsOf(at)...)
		}
	}
}

// claimsOf gives the claims of a clause that are not hypothetical.
func (a *answerText) claimsOf(at int) []claim {
	list := append(a.englishClaims(at), a.chineseClaims(at)...)
	list = slices.DeleteFunc(list, func(cl claim) bool { return cl.by == user || a.isHypothetical(at, cl.start) })
	c := a.clauses[at]
	for i := range list {
		if containsAny(a.low[c.start:c.end], "refund", "payment", "charge", "退款") {
			list[i].class |= pays // whatever its verb: "the refund was issued"
		}
		list[i].things, list[i].target = a.things(list[i])
	}
	return list
}

// englishClaims finds verbs of completion with what makes them one before them.
func (a *answerText) englishClaims(at int) []claim {
	words := a.clauses[at].words
	var list []claim
	for i, w := range words {
		cl := claim{class: english(w.text), verb: w.text, clause: at, start: w.start, end: w.end}
		switch {
		case isDone(words, i):
			cl.class, cl.done = anything, true
		case w.text == "now" && i > 0 && (words[i-1].text == "is" || words[i-1].text == "are") && a.isNumberNext(at, w.end):
			cl.class, cl.by, cl.isNow = changes, somebody, true
		case cl.class == 0:
			continue
		default:
			by, ok := a.doerOf(at, words, i, list)
			if !ok {
				continue
			}
			if isPast(words[:i]) && i+1 < len(words) && words[i+1].text == "by" {
				continue // somebody else did it, some time
			}
			cl.by, cl.past, cl.success = by, isPast(words[:i]), strings.Contains(a.in(a.clauses[at]), "successfully")
		}
		list = append(list, cl)
	}
	return list
}

// isDone reports whether a clause says "done", "all set" and no more.
func isDone(words []word, i int) bool {
	w := words[i].text
	if w == "set" {
		return len(words) <= 3 && i > 0 && words[i-1].text == "all"
	}
	return w == "done" && len(words) <= 3 && i == len(words)-1 && (i == 0 || words[0].text == "all" || words[0].text == "it's" || words[0].text == "that's" || words[0].text == "it")
}

// isNumberNext reports whether a number stands at a place, a word or a sign before it.
func (a *answerText) isNumberNext(at, place int) bool {
	rest := strings.TrimLeft(a.text[place:a.clauses[at].end], " *$¥€£")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "at "), " *$¥€£")
	return rest != "" && isDigit(rest[0])
}

// doerOf says who a verb is said of. It reports false for one that only
// describes something, such as an updated price.
func (a *answerText) doerOf(at int, words []word, i int, before []claim) (doer, bool) {
	success := false
	j := i - 1
	for ; j >= 0 && isAdverb(words[j].text); j-- {
		success = success || words[j].text == "successfully"
	}
	if j < 0 {
		c := a.clauses[at]
		opens := !c.follows && c.ends != ':' && i < len(words)-1 && a.text[words[i].start] <= 'Z' // "Cancelled reservation X."
		if success || opens {
			return assistant, true
		}
		return 0, false
	}
	switch w := words[j].text; w {
	case "i", "we", "i've", "we've":
		return assistant, true
	case "you've", "you":
		return user, true
	case "have", "has", "had":
		return subject(words, j), true
	case "was", "were":
		return somebody, success || english(words[i].text) != anything // "it was completed" tells of a state
	case "been":
		return somebody, true
	case "is", "are":
		return somebody, success || hasAdverb(words[j+1:i]) || hasAdverb(words[i+1:min(i+2, len(words))]) || isYours(words[:j]) && english(words[i].text)&(cancels|removes|pays) != 0
	case "and", "then", "or":
		if len(before) > 0 && before[len(before)-1].clause == at {
			return before[len(before)-1].by, true
		}
	}
	return somebody, success
}

// isPast reports whether was or were stands right before a verb.
func isPast(words []word) bool {
	for len(words) > 0 && isAdverb(words[len(words)-1].text) {
		words = words[:len(words)-1]
	}
	return len(words) > 0 && (words[len(words)-1].text == "was" || words[len(words)-1].text == "were")
}

func isYours(words []word) bool { return len(words) > 0 && words[0].text == "your" }

func hasAdverb(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool { return w.text == "now" || w.text == "already" })
}

// subject gives the doer before have.
func subject(words []word, j int) doer {
	for j--; j >= 0 && isAdverb(words[j].text); j-- {
	}
	if j < 0 {
		return somebody
	}
	switch words[j].text {
	case "i", "we":
		return assistant
	case "you":
		return user
	}
	return somebody
}

func isAdverb(w string) bool {
	switch w {
	case "successfully", "just", "now", "already", "also", "both", "all", "fully", "completely", "automatically", "since", "gone", "ahead", "then", "indeed", "recently", "immediately", "properly":
		return true
	}
	return false
}

// things gives what a claim is said of: the ids and bare numbers of its clause,
// and those of the list that follows a colon.
func (a *answerText) things(cl claim) (list []string, target *number) {
	c := a.clauses[cl.clause]
	for _, id := range a.ids {
		if id.clause == cl.clause && !a.isAside(c, cl, id.start) {
			list = append(list, id.text)
		}
	}
	scanNumbers(a.in(c), func(n number) {
		n.start, n.end = n.start+c.start, n.end+c.start
		if n.inside && !n.han {
			return
		}
		before := strings.TrimRight(a.text[c.start:n.start], " *`$¥€£")
		after := strings.TrimLeft(a.text[n.end:c.end], " *`")
		switch {
		case isTime(before, after) || startsAny(after, "折", "%"):
		case n.start > cl.start && (isTargeted(before) && cl.class&changes != 0 || cl.isNow && target == nil):
			target = &n
		case !n.han && n.unit == one && n.end-n.start >= 3 && !isMoney(before, after, a.text[:n.start]) && !strings.HasSuffix(before, "ending in") && !endsAny(before, "尾号", "尾号为"):
			list = append(list, a.text[n.start:n.end])
		}
	})
	if c.ends == ':' {
		list = append(list, a.listed(cl.clause)...)
	}
	return list, target
}

// isAside reports whether what stands at a place is not what a claim is about,
// but why or for whom it was done: "for the delay of your flight X".
func (a *answerText) isAside(c clause, cl claim, place int) bool {
	from := c.start
	if place > cl.end {
		from = cl.end
	}
	for _, w := range c.words {
		if w.start < from || w.start >= place {
			continue
		}
		switch w.text {
		case "for", "as", "because", "due", "since", "caused", "regarding", "about", "by", "after", "instead":
			return true
		}
	}
	return false
}

func isTargeted(before string) bool {
	return endsAny(strings.ToLower(before), " to", " at", "now", "到", "成", "为", "至")
}

func isMoney(before, after, head string) bool {
	return isCurrencyWord(after) || endsAny(strings.TrimRight(head, " *`"), "$", "¥", "€", "£") || startsAny(after, "件", "张", "份", "个", "次", "units", "pieces", "%")
}

// maxListed bounds the clauses of a list that a claim is said of.
const maxListed = 40

// listed gives the ids at the head of each line of the list behind a clause.
func (a *answerText) listed(at int) (list []string) {
	line := a.clauses[at].line
	for i, c := range a.clauses[at+1 : min(at+1+maxListed, len(a.clauses))] {
		if c.line == line {
			continue
		}
		if head := a.text[:c.start]; c.line > line+2 || !isListLine(head[strings.LastIndexByte(head, '\n')+1:]+a.in(c)) {
			break
		}
		line = c.line
		if id := slices.IndexFunc(a.ids, func(id token) bool { return id.clause == at+1+i }); id >= 0 {
			list = append(list, a.ids[id].text)
		}
	}
	return list
}

func isListLine(line string) bool {
	line = strings.TrimLeft(line, " ")
	return startsAny(line, "-", "*", "•", "·") || line != "" && isDigit(line[0])
}
