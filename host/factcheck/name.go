package factcheck

import (
	"fmt"
	"strings"
)

// unbackedNames gives the names that stand nowhere in what is known.
func (k *index) unbackedNames(a *answerText) []Finding {
	var found []Finding
	for at := range a.clauses {
		for _, name := range a.names(at) {
			if k.hasName(name.text) || a.proposes(at, name.start) {
				continue
			}
			found = append(found, Finding{Kind: Name, Start: name.start, End: name.end,
				Why: fmt.Sprintf("no fact and no result of a call has the name %s", shorten(name.text, maxSpanBytes))})
		}
	}
	return found
}

// maxNameBytes bounds a name; what is longer in quotes is a quotation.
const maxNameBytes = 90

// names gives the quoted names of a clause that are said to be something's, and
// the capitalised ones behind a word such as passenger.
func (a *answerText) names(at int) []word {
	c := a.clauses[at]
	if c.question && isLastOf(a, at) {
		return nil
	}
	var list []word
	for _, pair := range [][2]string{{"「", "」"}, {"『", "』"}, {"《", "》"}, {"“", "”"}, {`"`, `"`}} {
		for from := c.start; ; {
			i := strings.Index(a.text[from:c.end], pair[0])
			if i < 0 {
				break
			}
			start := from + i + len(pair[0])
			j := strings.Index(a.text[start:c.end], pair[1])
			if j < 0 {
				break
			}
			end := start + j
			from = end + len(pair[1])
			if end > start && end-start <= maxNameBytes && isNamed(a.text[c.start:start-len(pair[0])], a.text[from:c.end]) {
				list = append(list, word{a.text[start:end], start, end})
			}
		}
	}
	return append(list, a.people(at)...)
}

// isNamed reports whether what stands about a quotation makes it a name of
// something that is there.
func isNamed(before, after string) bool {
	before, after = strings.TrimRight(before, " *"), strings.TrimLeft(after, " *")
	return endsAny(before, "商品", "产品", "客户", "用户", "优惠券", "主播", "供应商", "店铺", "活动", "会员", "活动为", "名为", "名称是", "名称为") ||
		endsAny(strings.ToLower(before), "product", "item", "customer", "passenger", "coupon", "campaign", "supplier", "named", "called") ||
		startsAny(after, "已", "现在", "目前", "的价格", "的库存", "的订单", "库存", "售价", "现价", "卖", "还有", "还剩", "has ", "is now", "costs", "is priced", "is in stock", "was ")
}

// people gives capitalised names of two or three words behind what says that
// they are somebody's.
func (a *answerText) people(at int) []word {
	c := a.clauses[at]
	text := a.in(c)
	labelled := at > 0 && a.clauses[at-1].sentence == c.sentence && a.clauses[at-1].ends == ':' && isPersonWord(strings.ToLower(a.in(a.clauses[at-1])))
	var list []word
	for i := 0; i < len(text); i++ {
		if text[i] < 'A' || text[i] > 'Z' || i > 0 && isWord(text[i-1]) {
			continue
		}
		end, words := capitalised(text, i)
		if words >= 2 && words <= 3 && (labelled && i == 0 || isPersonWord(strings.ToLower(strings.TrimRight(text[:i], " *:")))) {
			list = append(list, word{text[i:end], c.start + i, c.start + end})
		}
		i = end
	}
	return list
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
	return endsAny(before, "passenger", "passengers", "passenger name", "customer", "customer name", "traveler", "traveller", "recipient", "contact", "host", "streamer", "seller", "supplier", "mr.", "ms.", "mrs.", "dr.", "named", "agent name")
}

// hasName reports whether a name is known: as it is, or all its words.
func (k *index) hasName(name string) bool {
	if strings.Contains(k.lower(), strings.ToLower(name)) {
		return true
	}
	if hasHan(name) {
		return false
	}
	for _, part := range strings.Fields(name) {
		if !hasWord(k.lower(), strings.ToLower(part)) {
			return false
		}
	}
	return true
}
