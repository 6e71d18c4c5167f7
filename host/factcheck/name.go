package factcheck

import (
	"fmt"
	"slices"
	"strings"
)

// unbackedNames gives the names that stand nowhere in what is known.
func (k *index) unbackedNames(a *answerText) []Finding {
	var found []Finding
	for _, name := range a.names {
		if len(found) == MaxFindings || k.hasName(name.text) || a.proposes(name.clause, name.start) {
			continue
		}
		found = append(found, Finding{Kind: Name, Start: name.start, End: name.end,
			Why: fmt.Sprintf("no fact and no result of a call has the name %s", shorten(name.text, maxSpanBytes))})
	}
	return found
}

// findNames finds quoted names that are said to be something's, and capitalised
// ones behind a word such as passenger.
func (a *answerText) findNames() {
	for at, c := range a.clauses {
		if len(a.names) < maxTokens && !(c.question && isLastOf(a, at)) {
			a.quoted(at)
			a.people(at)
		}
	}
}

// maxNameBytes bounds a name; what is longer in quotes is a quotation.
const maxNameBytes = 90

// quoted finds the quoted names of a clause.
func (a *answerText) quoted(at int) {
	c := a.clauses[at]
	for _, pair := range [...][2]string{{"「", "」"}, {"『", "』"}, {"《", "》"}, {"“", "”"}, {`"`, `"`}} {
		for rest := c.start; ; {
			before, inside, after, ok := between(a.text[c.start:c.end], rest-c.start, pair)
			if !ok {
				break
			}
			start := c.start + len(before) + len(pair[0])
			end := start + len(inside)
			rest = end + len(pair[1])
			if inside != "" && len(inside) <= maxNameBytes && isNamed(before, after) {
				a.names = append(a.names, token{word{inside, start, end}, at})
			}
		}
	}
}

// between parts a text at the first pair of marks from a place on.
func between(text string, from int, pair [2]string) (before, inside, after string, ok bool) {
	i := strings.Index(text[from:], pair[0])
	if i < 0 {
		return "", "", "", false
	}
	before = text[:from+i]
	inside, after, ok = strings.Cut(text[from+i+len(pair[0]):], pair[1])
	return before, inside, after, ok
}

// isNamed reports whether what stands about a quotation makes it a name of
// something that is there.
func isNamed(before, after string) bool {
	before, after = strings.TrimRight(before, " *"), strings.TrimLeft(after, " *")
	return endsAny(before, "商品", "产品", "客户", "用户", "优惠券", "主播", "供应商", "店铺", "活动", "会员", "活动为", "名为", "名称是", "名称为") ||
		endsAny(strings.ToLower(before), "product", "item", "customer", "passenger", "coupon", "campaign", "supplier", "named", "called") ||
		startsAny(after, "已", "现在", "目前", "的价格", "的库存", "的订单", "库存", "售价", "现价", "卖", "还有", "还剩", "has ", "is now", "costs", "is priced", "is in stock", "was ")
}

// people finds capitalised names of two or three words behind what says that
// they are somebody's.
func (a *answerText) people(at int) {
	c := a.clauses[at]
	labelled := c.follows && a.clauses[at-1].ends == ':' && isPersonWord(a.low[a.clauses[at-1].start:a.clauses[at-1].end])
	for _, w := range c.words {
		if len(a.names) > 0 && w.start < a.names[len(a.names)-1].end || a.text[w.start] < 'A' || a.text[w.start] > 'Z' {
			continue
		}
		end, words := capitalised(a.text[:c.end], w.start)
		if words >= 2 && words <= 3 && (labelled && w.start == c.start || isPersonWord(strings.TrimRight(a.low[c.start:w.start], " *:"))) {
			a.names = append(a.names, token{word{a.text[w.start:end], w.start, end}, at})
		}
	}
}

// capitalised gives the end of the capitalised words from i on, and how many
// they are.
func capitalised(text string, i int) (end, words int) {
	end = i
	for i < len(text) && text[i] >= 'A' && text[i] <= 'Z' {
		for i < len(text) && (isLetter(text[i]) || text[i] == '\'' || text[i] == '-') {
			i++
		}
		words++
		end = i
		if i < len(text) && text[i] == ' ' {
			i++
		}
	}
	return end, words
}

func isPersonWord(before string) bool {
	return endsAny(before, "passenger", "passengers", "passenger name", "customer", "customer name", "traveler", "traveller", "recipient", "contact", "host", "streamer", "seller", "supplier", "mr.", "ms.", "mrs.", "dr.", "named", "agent", "agent name", "representative")
}

// hasName reports whether a name is known: as it is, or all its words.
func (k *index) hasName(name string) bool {
	name = lower(name)
	if strings.Contains(k.low, name) {
		return true
	}
	return !hasHan(name) && !slices.ContainsFunc(strings.Fields(name), func(part string) bool { return !hasWord(k.low, part) })
}
