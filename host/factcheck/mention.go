package factcheck

import (
	"strings"
)

// A mention is a number of the answer that claims something.
type mention struct {
	number
	kind    Kind
	percent bool // or a discount
	clause  int
}

// maxMentions bounds the numbers of an answer that are looked into.
const maxMentions = 500

// findNumbers finds the numbers that stand for money, shares, stocks and prices.
func (a *answerText) findNumbers() {
	at := 0
	scanNumbers(a.text, func(n number) {
		for at < len(a.clauses)-1 && a.clauses[at].end <= n.start {
			at++
		}
		if len(a.clauses) == 0 || n.start < a.clauses[at].start {
			return
		}
		if len(a.numbers) == maxMentions {
			return
		}
		if m, ok := a.mention(n, at); ok {
			a.numbers = append(a.numbers, m)
		}
	})
}

// mention says what a number of a clause stands for. It reports false for
// what claims nothing that could be checked: dates, times, places in a list.
func (a *answerText) mention(n number, at int) (mention, bool) {
	c := a.clauses[at]
	m := mention{number: n, clause: at}
	before := strings.TrimRight(a.text[c.start:n.start], " *`")
	after := strings.TrimLeft(a.text[n.end:c.end], " *`")
	switch {
	case n.inside:
		return m, false
	case startsAny(after, "%", "percent", "折", "个点") || strings.HasSuffix(before, "百分之"):
		m.kind, m.percent = Amount, true
		if strings.HasPrefix(after, "折") {
			m.value, m.unit = zhe(n)
		}
	case endsAny(before, "$", "¥", "€", "£", "USD", "CNY", "RMB", "EUR") || isCurrencyWord(after):
		m.kind = Amount
	case n.han && n.value < 11*one && !startsAny(after, "件", "份", "张"):
		return m, false // 一个, 两天
	case isTime(before, after):
		return m, false
	case a.isAboutStock(n.value, before, after, at):
		m.kind = Quantity
	case isAboutPrice(before) && !startsAny(after, "个", "张", "件", "次", "档", "款"):
		m.kind = Amount
	default:
		return m, false
	}
	return m, true
}

// zhe gives a discount as per cent of the price: 8 折 and 85 折.
func zhe(n number) (value, unit int64) {
	if n.value >= 10*one {
		return n.value, n.unit
	}
	return n.value * 10, n.unit * 10
}

func isCurrencyWord(after string) bool {
	return startsAny(after, "元", "块", "美元", "人民币", "美金", "欧元", "港币", "€", "dollar", "USD", "usd", "CNY", "RMB", "rmb", "yuan", "euro", "bucks", "EUR")
}

// isTime reports whether a number is a part of a date, a time or a span of time.
func isTime(before, after string) bool {
	return endsWithMonth(before) || startsAny(after, "年", "月", "日", "号", "点", "时", "分钟", "秒", "小时", "天", "周", "个月", "个小时", "个工作日", "am", "pm", "AM", "PM", "a.m", "p.m",
		"day", "hour", "minute", "second", "week", "month", "year", "business day", "-hour", "-day", "o'clock")
}

func endsWithMonth(before string) bool {
	return endsAny(strings.TrimSuffix(before, "."), "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
		" Jan", " Feb", " Mar", " Apr", " Jun", " Jul", " Aug", " Sep", " Sept", " Oct", " Nov", " Dec")
}

// isAboutStock reports whether a number counts what there is of something.
func (a *answerText) isAboutStock(value int64, before, after string, at int) bool {
	if startsAny(after, "in stock", "left", "available", "remaining", "units", "unit ", "pieces", "seats", "items left", "件", "份", "张", "双", "瓶", "盒", "箱", "套", "台", "袋", "包") {
		return true
	}
	behind := after[:min(len(after), nearBytes)]
	if strings.Contains(behind, " in stock") || value > manyThings && containsAny(behind, " left", " available", " remaining") {
		return true
	}
	near := before
	if before == "" && at > 0 && a.clauses[at].follows && a.clauses[at-1].ends == ':' {
		near = a.in(a.clauses[at-1]) // "Available seats: 12"
	}
	near = lower(near[max(0, len(near)-nearBytes):])
	return containsAny(near, "库存", "剩", "余量", "现货", "存量", "stock", "available", "remaining", "inventory", "left ")
}

// manyThings is more than an answer counts by itself: "two flights are left".
const manyThings = 12 * one

// nearBytes is how far before a number its subject stands.
const nearBytes = 36

func isAboutPrice(before string) bool {
	near := lower(before[max(0, len(before)-nearBytes):])
	return containsAny(near, "价", "卖", "售", "price", "costs", "cost is", "fare")
}

func startsAny(text string, starts ...string) bool {
	for _, s := range starts {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	return false
}

func endsAny(text string, ends ...string) bool {
	for _, s := range ends {
		if strings.HasSuffix(text, s) {
			return true
		}
	}
	return false
}

func containsAny(text string, parts ...string) bool {
	for _, s := range parts {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
