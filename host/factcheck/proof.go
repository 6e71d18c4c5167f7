package factcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// A deed is a call that changed something, with its text and what its tool does.
type deed struct {
	Call
	text  string // arguments and result, in lower case
	class class
}

// deeds gives the calls that succeeded and changed something, oldest first, by
// the tools' effects. A tool that is not known may have.
func (k *index) deeds() []deed {
	var list []deed
	for i, c := range k.Calls {
		if c.OK && !k.isRead(c.Tool) {
			t := k.tool(c.Tool)
			list = append(list, deed{c, k.callTexts[i], toolClass(t)})
		}
	}
	return list
}

// unbackedActions gives the claims of actions that no call bears out.
func (k *index) unbackedActions(a *answerText) []Finding {
	if len(a.claims) == 0 {
		return nil
	}
	var found []Finding
	deeds := k.deeds()
	for _, cl := range a.claims {
		c := a.clauses[cl.clause]
		if len(found) > 0 && found[len(found)-1].Start == c.start || len(found) == MaxFindings {
			continue
		}
		if why := k.refutes(a, cl, deeds); why != "" {
			found = append(found, Finding{Kind: Action, Start: c.start, End: c.end, Why: why, Known: last(deeds)})
		}
	}
	return found
}

// last tells the last call that changed something.
func last(deeds []deed) string {
	if len(deeds) == 0 {
		return ""
	}
	d := deeds[len(deeds)-1]
	return shorten(d.Tool+" "+d.Args, maxSpanBytes)
}

// refutes says why no call bears a claim out; empty if one does.
func (k *index) refutes(a *answerText, cl claim, deeds []deed) string {
	now := slices.Clone(deeds)
	now = slices.DeleteFunc(now, func(d deed) bool { return !d.Now })
	switch {
	case k.isAboutText(a, cl):
		return ""
	case cl.isNow:
		return k.onlyWished(cl)
	case slices.ContainsFunc(now, func(d deed) bool { return d.fits(cl) }):
		return missing(cl, deeds)
	case cl.done && k.servedByRead():
		return ""
	case k.fitsEarlier(cl, deeds):
		return ""
	case cl.by != assistant && (k.reported(cl) || !cl.success && k.toldByUser(cl)):
		return ""
	case len(now) > 0:
		return fmt.Sprintf("no call that succeeded for this input did this (%s); only these did something: %s", cl.class, toolsOf(now))
	}
	if open := k.unfinished(); len(open) > 0 {
		return "no call has done this: " + toolsOf(open) + " did not succeed or waits for a person"
	}
	return fmt.Sprintf("no call that succeeded for this input did this (%s)", cl.class)
}

// onlyWished says that a value which something is said to have now is in the
// user's words alone; empty if it is elsewhere. What is nowhere is a number
// without ground.
func (k *index) onlyWished(cl claim) string {
	if cl.target == nil || !hasNumber(k.User, *cl.target) {
		return ""
	}
	known := slices.ContainsFunc(k.Heard, func(text string) bool { return hasNumber(text, *cl.target) }) ||
		slices.ContainsFunc(k.Texts, func(text string) bool { return hasNumber(text, *cl.target) })
	for i, c := range k.Calls {
		known = known || c.OK && hasNumber(k.callTexts[i], *cl.target)
	}
	if known {
		return ""
	}
	return fmt.Sprintf("the user asked for %s, and no result shows that it is so", decimal(cl.target.value))
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

// fits reports whether a call may be what a claim tells of: its tool does such
// things, or it names all that the claim names.
func (d deed) fits(cl claim) bool {
	return cl.class&(implied(d.class)|anything) != 0 || len(cl.things) > 0 && d.touches(cl.things)
}

func (d deed) touches(things []string) bool {
	return !slices.ContainsFunc(things, func(thing string) bool { return !hasWord(d.text, lower(thing)) })
}

// missing says what of a claim the calls do not show.
func missing(cl claim, deeds []deed) string {
	for _, thing := range cl.things {
		if !slices.ContainsFunc(deeds, func(d deed) bool { return d.touches([]string{thing}) }) {
			return fmt.Sprintf("no call that succeeded names %s; those that did something: %s", thing, toolsOf(deeds))
		}
	}
	if cl.target != nil && !slices.ContainsFunc(deeds, func(d deed) bool { return hasNumber(d.text, *cl.target) }) {
		return fmt.Sprintf("no call that succeeded has the value %s", decimal(cl.target.value))
	}
	return ""
}

// hasNumber reports whether a text has a value, as it is or in cents.
func hasNumber(text string, want number) bool {
	found := false
	m := mention{number: want, kind: Amount}
	scanNumbers(foldOnly(text), func(n number) {
		found = found || near(n.value, m) || n.value == want.value*100 || n.value*100 == want.value
	})
	return found
}

// fitsEarlier reports whether a write for an earlier input is what a claim
// tells of again: it must show all that the claim names, or else all that the
// user names now.
func (k *index) fitsEarlier(cl claim, deeds []deed) bool {
	things := cl.things
	if len(things) == 0 && cl.target == nil {
		things = k.thingsOfUser()
	}
	return slices.ContainsFunc(deeds, func(d deed) bool {
		return d.fits(cl) && d.touches(things) && (cl.target == nil || hasNumber(d.text, *cl.target))
	})
}

// thingsOfUser gives the ids and numbers of the words that are answered.
func (k *index) thingsOfUser() (list []string) {
	text := foldOnly(cutText(k.User, MaxAnswerBytes))
	u := parted(folded{text: text})
	u.findIDs()
	for _, id := range u.ids {
		list = append(list, id.text)
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
	return len(k.unfinished()) == 0 && !slices.ContainsFunc(k.Tools, func(t Tool) bool {
		return t.Effect != abi.Read && k.asksFor(toolClass(t))
	})
}

// asksFor reports whether the user's words ask for an action of a class.
func (k *index) asksFor(c class) bool {
	user := lower(k.User)
	for _, row := range toolWords() {
		if row.class&c != 0 && containsAny(user, row.words...) {
			return true
		}
	}
	return false
}

// unfinished gives the writes for this input that did not succeed.
func (k *index) unfinished() (list []deed) {
	for _, c := range k.Calls {
		if c.Now && !c.OK && !k.isRead(c.Tool) {
			list = append(list, deed{Call: c})
		}
	}
	return list
}

func toolsOf(deeds []deed) string {
	var names []string
	for _, d := range deeds {
		if !slices.Contains(names, d.Tool) {
			names = append(names, d.Tool)
		}
	}
	return strings.Join(names, ", ")
}

// reported reports whether a result says of something that it is so: cancelled
// by the airline, shipped by the shop.
func (k *index) reported(cl claim) bool {
	for i, c := range k.Calls {
		if !c.OK {
			continue
		}
		r := k.results[i]
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
	heard := &answerText{folded: folded{text: k.heard}, low: lower(k.heard)}
	words := heard.wordsIn(0, len(k.heard))
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
	verb := cl.verb
	if len(verb) == len("改") {
		verb = "已" + verb
	}
	for _, states := range [...][]string{
		{"取消", "cancelled", "canceled"},
		{"预订", "已订", "booked", "reserved", "confirmed"},
		{"下单", "ordered", "placed", "created"},
		{"发货", "寄出", "已发", "已寄", "shipped", "dispatched", "sent", "delivered", "in_transit"},
		{"发放", "派发", "赠送", "已发", "issued", "granted", "sent"},
		{"付款", "支付", "paid", "charged", "已付"},
		{"退款", "退还", "已退", "refunded", "credited"},
		{"上架", "上线", "发布", "启用", "开启", "published", "activated", "enabled", "opened", "started", "launched", "active", "on_sale", "open", "online", "live"},
		{"下架", "关闭", "停用", "暂停", "已关", "unpublished", "delisted", "deactivated", "disabled", "closed", "paused", "stopped", "offline", "off_shelf", "inactive"},
		{"完成", "completed", "processed", "done"},
		{"删除", "移除", "deleted", "removed"},
	} {
		if slices.Contains(states, verb) {
			return states
		}
	}
	return []string{verb}
}

// isAboutText reports whether a claim is about words that the answer itself
// gives, such as a draft, and that no tool that changes something speaks of.
func (k *index) isAboutText(a *answerText, cl claim) bool {
	if cl.class&(creates|changes|anything|removes) == 0 || len(cl.things) > 0 || cl.target != nil {
		return false
	}
	c := a.clauses[cl.clause]
	if (c.line > 0 || cl.by != assistant) && containsAny(lower(k.User), "write", "draft", "compose", "translat", "写", "起草", "翻译", "文案") {
		return true // it stands in what the user wanted to have written
	}
	text := a.low[c.start:c.end]
	for _, noun := range []string{"draft", "summary", "outline", "translation", "paragraph", "wording", "sentence", "script", "list of", "function", "code", "snippet", "query", "below", "here is", "here are",
		"文案", "草稿", "总结", "摘要", "话术", "译文", "表格", "措辞", "提纲", "脚本", "方案", "一段", "一版", "整理", "代码", "如下", "以下"} {
		if strings.Contains(text, noun) && !k.toolsSpeakOf(noun) {
			return true
		}
	}
	return false
}

func (k *index) toolsSpeakOf(noun string) bool {
	return slices.ContainsFunc(k.Tools, func(t Tool) bool {
		return t.Effect != abi.Read && strings.Contains(lower(t.Name+" "+t.Summary), noun)
	})
}
