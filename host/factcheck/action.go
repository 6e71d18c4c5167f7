package factcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// A claim says that something was done.
type claim struct {
	class      class
	verb       string
	by         doer
	clause     int
	start, end int
	done       bool     // nothing but "done"
	past       bool     // "it was cancelled": rather told than done now
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

// unbackedActions gives the claims of actions that no call bears out.
func (k *index) unbackedActions(a *answerText) []Finding {
	var found []Finding
	for at, c := range a.clauses {
		if c.question && isLastOf(a, at) {
			continue
		}
		for _, cl := range a.claimsOf(at) {
			if why := k.refutes(a, cl); why != "" {
				found = append(found, Finding{Kind: Action, Start: c.start, End: c.end, Why: why, Known: k.lastWrite()})
				break
			}
		}
	}
	return found
}

// claimsOf gives the claims of a clause that are not hypothetical.
func (a *answerText) claimsOf(at int) []claim {
	var list []claim
	text := a.in(a.clauses[at])
	list = a.englishClaims(at)
	if hasHan(text) {
		list = append(list, a.chineseClaims(at)...)
	}
	list = slices.DeleteFunc(list, func(cl claim) bool { return cl.by == user || a.isHypothetical(at, cl.start) })
	for i := range list {
		list[i].things, list[i].target = a.things(list[i])
	}
	return list
}

// englishClaims finds verbs of completion with what makes them one before them.
func (a *answerText) englishClaims(at int) []claim {
	words := a.words(a.clauses[at])
	var list []claim
	for i, w := range words {
		cl := claim{class: english(w.text), verb: w.text, clause: at, start: w.start, end: w.end}
		switch {
		case isDone(words, i):
			cl.class, cl.done = anything, true
		case w.text == "now" && i > 0 && (words[i-1].text == "is" || words[i-1].text == "are") && a.isNumberNext(at, w.end):
			cl.class, cl.by = changes, somebody
		case cl.class == 0:
			continue
		default:
			by, ok := a.doerOf(at, words, i, list)
			if !ok {
				continue
			}
			cl.by, cl.past = by, isPast(words[:i])
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
		if success || opens && !isLabel(a, c) {
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
		return somebody, success || hasAdverb(words[j+1:i]) || isYours(words[:j]) && english(words[i].text)&(cancels|removes|pays) != 0
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

func isLabel(a *answerText, c clause) bool { return strings.Contains(a.in(c), ":") }

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
	case "successfully", "just", "now", "already", "also", "both", "all", "fully", "completely", "automatically", "since", "gone", "ahead", "been", "then", "indeed", "recently", "immediately", "properly":
		return w != "been"
	}
	return false
}

// chineseClaims finds verbs with a mark of completion.
func (a *answerText) chineseClaims(at int) []claim {
	c := a.clauses[at]
	text := otherWords().Replace(a.in(c))
	if !containsAny(text, "已", "了", "好", "成功", "完成", "完毕", "成", "搞定", "刚") || isQuestionZH(text) {
		return nil
	}
	var list []claim
	taken := 0
	for _, v := range chineseVerbs() {
		if i := strings.Index(text, v.text); i >= 0 && isComplete(text, i, i+len(v.text), false) {
			list = append(list, claim{class: v.class, verb: v.text, by: doerZH(text, i), clause: at, start: c.start + i, end: c.start + i + len(v.text)})
			taken++
		}
	}
	if taken > 0 {
		return list
	}
	for _, v := range shortVerbs() {
		for from := 0; ; {
			i := strings.Index(text[from:], v.text)
			if i < 0 {
				break
			}
			i += from
			from = i + len(v.text)
			if isComplete(text, i, from, true) {
				list = append(list, claim{class: v.class, verb: v.text, by: doerZH(text, i), clause: at, start: c.start + i, end: c.start + from})
				break
			}
		}
	}
	return list
}

func isQuestionZH(text string) bool {
	return endsAny(text, "吗", "么", "呢", "没", "没有") || containsAny(text, "了吗", "了没", "是不是")
}

// isComplete reports whether the verb at text[i:end] is said to be done.
func isComplete(text string, i, end int, short bool) bool {
	after := strings.TrimLeft(text[end:], " ")
	before := text[:i]
	if startsAny(after, "了", "好了", "好啦", "完了", "掉了", "成功", "完成", "完毕", "到位", "出去了", "过了", "妥了", "回来了") {
		return true
	}
	done := containsAny(before, "已", "刚刚", "刚才", "刚帮", "刚给", "成功")
	if !short {
		return done || text[i:end] == "搞定" || endsAny(text, "了", "啦", "完成", "完毕", "成功") && !startsAny(after, "的")
	}
	moved := startsAny(after, "到", "成", "为", "至", "给", "回", "出", "好", "完", "入", "上", "下") || after == "" || !startsAny(after, "的") && hasHanStart(after)
	if done {
		return moved && !startsAny(after, "的")
	}
	return startsAny(after, "到", "成", "为", "至", "给") && endsAny(text, "了", "啦")
}

func hasHanStart(text string) bool { return text != "" && text[0] >= 0xE3 }

// doerZH says whose doing the words before a Chinese verb make it.
func doerZH(text string, i int) doer {
	before := text[:i]
	switch {
	case containsAny(before, "我", "帮您", "为您", "给您", "替您", "帮你", "为你", "给你", "把"):
		return assistant
	case strings.HasPrefix(before, "您") || strings.HasPrefix(before, "你") && !strings.Contains(before, "的"):
		return user
	}
	return somebody
}

// things gives what a claim is said of: the ids and bare numbers of its clause,
// and those of the list that follows a colon.
func (a *answerText) things(cl claim) (list []string, target *number) {
	c := a.clauses[cl.clause]
	for _, id := range a.ids(c) {
		if !a.isAside(c, cl, id.start) {
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
		case isTargeted(before) && n.start > cl.start && cl.class&changes != 0:
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
	for _, w := range a.words(clause{start: from, end: place}) {
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
	for _, c := range a.clauses[at+1 : min(at+1+maxListed, len(a.clauses))] {
		if c.line == line {
			continue
		}
		if head := a.text[:c.start]; c.line > line+2 || !isListLine(head[strings.LastIndexByte(head, '\n')+1:]+a.in(c)) {
			break
		}
		line = c.line
		if ids := a.ids(c); len(ids) > 0 {
			list = append(list, ids[0].text)
		}
	}
	return list
}

func isListLine(line string) bool {
	line = strings.TrimLeft(line, " ")
	return startsAny(line, "-", "*", "•", "·") || line != "" && isDigit(line[0])
}

// refutes says why no call bears a claim out; empty if one does.
func (k *index) refutes(a *answerText, cl claim) string {
	writes := k.writes(func(c Call) bool { return true })
	now := slices.DeleteFunc(slices.Clone(writes), func(c Call) bool { return !c.Now })
	if k.isAboutText(a, cl) {
		return ""
	}
	fits := slices.ContainsFunc(now, func(c Call) bool { return k.fits(c, cl) })
	switch {
	case fits:
		return k.missing(cl, writes)
	case cl.done && k.servedByRead():
		return ""
	case k.fitsEarlier(a, cl, writes):
		return ""
	case cl.by != assistant && (k.reported(cl) || k.toldByUser(cl)):
		return ""
	}
	if len(now) > 0 {
		return fmt.Sprintf("no call that succeeded for this input did this (%s); only these did: %s", cl.class, toolsOf(now))
	}
	if failed := k.unfinished(); failed != "" {
		return "no call has done this: " + failed + " did not succeed or waits for a person"
	}
	return fmt.Sprintf("no call that succeeded for this input did this (%s)", cl.class)
}

// writes gives the calls that changed something, by the tools' effects. A tool
// that is not known may have.
func (k *index) writes(keep func(Call) bool) (list []Call) {
	for _, c := range k.Calls {
		if c.OK && !k.isRead(c.Tool) && keep(c) {
			list = append(list, c)
		}
	}
	return list
}

func (k *index) isRead(tool string) bool { return k.tool(tool).Effect == abi.Read }

func (k *index) tool(name string) Tool {
	for _, t := range k.Tools {
		if t.Name == name {
			return t
		}
	}
	return Tool{Name: name}
}

// fits reports whether a call may be what a claim tells of.
func (k *index) fits(c Call, cl claim) bool {
	t := k.tool(c.Tool)
	if cl.class&(implied(toolClass(t.Name+" "+t.Summary))|anything) != 0 {
		return true
	}
	return len(cl.things) > 0 && touches(c, cl.things)
}

func touches(c Call, things []string) bool {
	text := foldOnly(c.Args + "\n" + c.Result)
	return !slices.ContainsFunc(things, func(thing string) bool {
		return !hasWord(text, thing) && !hasWord(strings.ToLower(text), strings.ToLower(thing))
	})
}

// missing says what of a claim the calls do not show.
func (k *index) missing(cl claim, writes []Call) string {
	var text strings.Builder
	for _, c := range writes {
		text.WriteString(c.Args + "\n" + c.Result + "\n")
	}
	all := foldOnly(text.String())
	for _, thing := range cl.things {
		if !hasWord(all, thing) && !hasWord(strings.ToLower(all), strings.ToLower(thing)) {
			return fmt.Sprintf("no call that succeeded names %s; those that did: %s", thing, toolsOf(writes))
		}
	}
	if cl.target != nil && !hasNumber(all, *cl.target) {
		return fmt.Sprintf("no call that succeeded has the value %s", decimal(cl.target.value))
	}
	return ""
}

func hasNumber(text string, want number) bool {
	found := false
	m := mention{number: want, kind: Amount}
	scanNumbers(text, func(n number) {
		found = found || near(n.value, m) || n.value == want.value*100 || n.value*100 == want.value
	})
	return found
}

// fitsEarlier reports whether a write for an earlier input is what a claim
// tells of again: it must show all that the claim names, or else all that the
// user names now.
func (k *index) fitsEarlier(a *answerText, cl claim, writes []Call) bool {
	things := cl.things
	if len(things) == 0 && cl.target == nil {
		things = thingsOfUser(foldOnly(k.User))
	}
	for _, c := range writes {
		if k.fits(c, cl) && touches(c, things) && (cl.target == nil || hasNumber(foldOnly(c.Args+"\n"+c.Result), *cl.target)) {
			return true
		}
	}
	return false
}

func thingsOfUser(text string) (list []string) {
	u := &answerText{folded: folded{text: text}}
	u.split()
	for _, c := range u.clauses {
		for _, id := range u.ids(c) {
			list = append(list, id.text)
		}
	}
	scanNumbers(text, func(n number) {
		if !n.inside && !n.han {
			list = append(list, text[n.start:n.end])
		}
	})
	return list
}

// servedByRead: where the user asked for something to be looked up or written,
// "done" says that this is the answer.
func (k *index) servedByRead() bool {
	if k.unfinished() != "" {
		return false
	}
	for _, t := range k.Tools {
		if t.Effect != abi.Read && k.asksFor(toolClass(t.Name)) {
			return false
		}
	}
	return true
}

// asksFor reports whether the user's words ask for an action of a class.
func (k *index) asksFor(c class) bool {
	user := strings.ToLower(k.User)
	for _, row := range toolWords() {
		if row.class&c != 0 && containsAny(user, row.words...) {
			return true
		}
	}
	return false
}

// unfinished gives the tools whose writes for this input did not succeed.
func (k *index) unfinished() string {
	var list []Call
	for _, c := range k.Calls {
		if c.Now && !c.OK && !k.isRead(c.Tool) {
			list = append(list, c)
		}
	}
	return toolsOf(list)
}

func toolsOf(calls []Call) string {
	var names []string
	for _, c := range calls {
		if !slices.Contains(names, c.Tool) {
			names = append(names, c.Tool)
		}
	}
	return strings.Join(names, ", ")
}

// lastWrite tells the last call that changed something.
func (k *index) lastWrite() string {
	writes := k.writes(func(Call) bool { return true })
	if len(writes) == 0 {
		return ""
	}
	last := writes[len(writes)-1]
	return shorten(last.Tool+" "+last.Args, maxSpanBytes)
}

// reported reports whether a result says of something that it is so: cancelled
// by the airline, shipped by the shop.
func (k *index) reported(cl claim) bool {
	for _, r := range k.results {
		r = strings.ToLower(r)
		for _, state := range statesOf(cl) {
			if hasWord(r, state) && !strings.Contains(r, state+"_") {
				return true
			}
		}
		if cl.past && cl.class&(creates|changes|pays) != 0 && containsAny(r, "created", "reserv", "order", "payment", "updated") {
			return true
		}
	}
	return false
}

// toldByUser reports whether the user said that something is so, and not only
// that it is to be.
func (k *index) toldByUser(cl claim) bool {
	words := (&answerText{folded: folded{text: k.heard}}).words(clause{end: len(k.heard)})
	for i, w := range words {
		if i > 0 && english(w.text) == cl.class {
			switch words[i-1].text {
			case "was", "were", "been", "got", "already":
				return true
			}
		}
	}
	return strings.Contains(k.heard, "已经"+cl.verb) || strings.Contains(k.heard, "被"+cl.verb)
}

// statesOf gives the words by which a result tells what a claim tells.
func statesOf(cl claim) []string {
	list := []string{cl.verb}
	if len(cl.verb) == len("改") {
		list = []string{"已" + cl.verb}
	}
	switch cl.class {
	case cancels:
		return append(list, "cancelled", "canceled", "取消")
	case creates, creates | changes:
		return append(list, "created", "booked", "confirmed", "placed", "已订", "已下单")
	case sends:
		return append(list, "shipped", "sent", "delivered", "issued", "发货", "已发")
	case pays:
		return append(list, "paid", "refunded", "charged", "已付", "已退款")
	case switches, switches | removes, switches | creates:
		return append(list, "active", "published", "on_sale", "offline", "closed", "上架", "下架")
	case anything:
		return append(list, "completed", "processed", "done", "confirmed", "完成")
	}
	return list
}

// isAboutText reports whether a claim is about words that the answer itself
// gives, such as a draft, and that no tool that changes something speaks of.
func (k *index) isAboutText(a *answerText, cl claim) bool {
	if cl.class&(creates|changes|anything|removes) == 0 || len(cl.things) > 0 || cl.target != nil {
		return false
	}
	text := strings.ToLower(a.in(a.clauses[cl.clause]))
	for _, noun := range []string{"draft", "summary", "outline", "translation", "table", "paragraph", "wording", "sentence", "script", "list of", "version", "example", "text", "plan",
		"文案", "草稿", "总结", "摘要", "话术", "译文", "表格", "措辞", "提纲", "脚本", "方案", "一段", "一版", "整理"} {
		if strings.Contains(text, noun) && !k.toolsSpeakOf(noun) {
			return true
		}
	}
	return false
}

func (k *index) toolsSpeakOf(noun string) bool {
	return slices.ContainsFunc(k.Tools, func(t Tool) bool {
		return t.Effect != abi.Read && strings.Contains(strings.ToLower(t.Name+" "+t.Summary), noun)
	})
}
