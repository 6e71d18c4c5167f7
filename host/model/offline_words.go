package model

import (
	"strings"
	"unicode"
)

// Bounds of what the offline model reads. A person's instruction is far below
// them; what is longer is cut, since its tail is no instruction.
const (
	utteranceRunes = 2000
	sayRunes       = 300
)

// fold brings full-width forms to their plain ones, so that １００２ and 1002
// are one number, and cuts the text.
func fold(text string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n == most {
			break
		}
		n++
		switch {
		case r >= 0xFF01 && r <= 0xFF5E:
			r -= 0xFF01 - '!'
		case r == 0x3000:
			r = ' '
		case r == '￥':
			r = '¥'
		case r == unicode.ReplacementChar:
			r = ' '
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// hasHan reports whether the text is, in part, Chinese.
func hasHan(text string) bool { return strings.ContainsFunc(text, isHan) }

// words gives what a text is about: its words in lower case and in one form
// each, and of Chinese runs each character and each pair of neighbours. Words
// that say nothing and words with digits, which are values, are left out.
func words(text string) []string {
	var out []string
	if hasHan(text) {
		text = hanTerms.Replace(text)
	}
	runs(strings.ToLower(text), func(run string, han bool) {
		if han {
			out = append(out, characters(run)...)
		} else if !strings.ContainsFunc(run, unicode.IsDigit) && !emptyWord(run) {
			out = append(out, term(run))
		}
	})
	return out
}

// runs calls visit for each run of letters and digits; Chinese runs apart.
// Chinese digits part runs, as other digits do.
func runs(text string, visit func(run string, han bool)) {
	start, kind := 0, 0 // 0 none, 1 word, 2 han
	flush := func(end int) {
		if kind != 0 {
			visit(text[start:end], kind == 2)
		}
		kind = 0
	}
	for i, r := range text {
		k := 0
		switch {
		case strings.ContainsRune(hanDigits, r):
		case isHan(r):
			k = 2
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			k = 1
		}
		if k != kind {
			flush(i)
			start, kind = i, k
		}
	}
	flush(len(text))
}

func characters(run string) []string {
	var out []string
	r := []rune(run)
	for i := range r {
		if !emptyHan(r[i : i+1]) {
			out = append(out, string(r[i]))
		}
		if i > 0 && !emptyHan(r[i-1:i+1]) {
			out = append(out, string(r[i-1:i+1]))
		}
	}
	return out
}

// emptyHan reports whether Chinese characters say nothing about a business:
// one of them is a mark of grammar or a unit, or all of them are pronouns,
// auxiliaries and the like.
func emptyHan(chars []rune) bool {
	const marks, light = "的了吗呢吧啊呀么元块圆张和与及或者是多少什", "我你他她它们请帮把将给在有麻烦下上这那哪个想要能可以就也都还又再为从对被让份件到成怎样几"
	all := true
	for _, r := range chars {
		if strings.ContainsRune(marks, r) {
			return true
		}
		all = all && strings.ContainsRune(light, r)
	}
	return all
}

// hanTerms puts the English word for what a Chinese instruction to a business
// is usually about, so that it finds a tool that is described in English. Of
// phrases that begin alike the longer stands first.
var hanTerms = strings.NewReplacer(
	"多少钱", " price ", "价格", " price ", "价钱", " price ", "售价", " price ", "报价", " price ", "价", " price ",
	"改成", " change ", "改到", " change ", "改为", " change ", "改", " change ", "调到", " change ", "调成", " change ", "调整", " change ",
	"调", " change ", "修改", " change ", "设为", " change ", "设成", " change ", "设置", " change ",
	"降价", " change price ", "涨价", " change price ", "降到", " change ", "涨到", " change ", "降", " change ", "涨", " change ",
	"有没有", " find ", "查找", " find ", "查询", " find ", "搜索", " find ", "寻找", " find ", "查", " find ", "找", " find ", "搜", " find ",
	"有哪些", " list ", "哪些", " list ", "列出", " list ", "列", " list ", "所有", " list ", "全部", " list ",
	"详情", " show ", "看看", " show ", "看", " show ", "介绍", " show ",
	"商品", " product ", "产品", " product ", "货品", " product ", "库存", " stock ", "存货", " stock ",
	"优惠券", " coupon ", "消费券", " coupon ", "券", " coupon ", "发放", " issue ", "派发", " issue ", "发", " issue ",
	"切换", " switch ", "切到", " switch ", "切", " switch ", "下一个", " switch ", "换成", " switch ", "换", " switch ",
	"现在", " current ", "当前", " current ", "正在", " current ",
	"订单", " order ", "预订", " book ", "取消", " cancel ", "退款", " refund ", "航班", " flight ", "机票", " flight ",
	"用户", " user ", "顾客", " user ", "客户", " user ", "删除", " delete ", "新建", " add ", "添加", " add ", "创建", " add ",
	"停止", " stop ", "结束", " stop ", "开始", " start ",
)

// term gives the form in which a word is compared: without a plural s, and of
// several words for one thing the first.
func term(word string) string {
	switch word = singular(word); word {
	case "cost", "quote", "priced":
		return "price"
	case "set", "update", "modify", "adjust", "alter", "raise", "lower", "reduce", "increase":
		return "change"
	case "search", "look", "lookup":
		return "find"
	case "all":
		return "list"
	case "detail", "info", "display":
		return "show"
	case "item":
		return "product"
	case "inventory":
		return "stock"
	case "voucher":
		return "coupon"
	case "send", "grant":
		return "issue"
	case "currently":
		return "current"
	case "reserve", "reservation", "booking":
		return "book"
	case "customer":
		return "user"
	case "remove":
		return "delete"
	case "create":
		return "add"
	case "end", "close":
		return "stop"
	case "begin", "open":
		return "start"
	}
	return word
}

// isAction reports whether a term asks for something to be done, and not only
// to be told.
func isAction(term string) bool {
	switch term {
	case "change", "issue", "switch", "book", "add", "stop", "start":
		return true
	}
	return undoes(term)
}

// undoes reports whether a term asks to take something away or back.
func undoes(term string) bool {
	return term == "cancel" || term == "refund" || term == "delete"
}

// holdsBack reports whether a text says what not to do, or when or under which
// condition to do it, or asks about what was done. Nothing is written on such
// words: what they ask for cannot be told from what they forbid without
// understanding them.
func holdsBack(text string) bool {
	for _, sign := range []string{"不要", "不用", "不许", "不准", "不能", "先不", "请勿", "切勿", "别把", "别改", "别发", "别切", "别再", "先别",
		"如果", "要是", "假如", "除非", "万一", "的话", "等到", "等会", "明天", "后天", "今晚", "以后", "之后", "昨天", "上次", "刚才",
		"为什么", "为何", "什么时候", "谁", "是不是", "是否"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	held := false
	runs(strings.ToLower(strings.ReplaceAll(text, "'", "")), func(run string, _ bool) {
		switch run {
		case "not", "dont", "never", "if", "unless", "cannot", "cant", "shouldnt", "wont",
			"when", "until", "after", "before", "later", "tomorrow", "tonight", "yesterday", "why", "did", "was", "were", "who":
			held = true
		}
	})
	return held
}

func singular(word string) string {
	if len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
		return word[:len(word)-1]
	}
	return word
}

func emptyWord(word string) bool {
	switch word {
	case "a", "an", "the", "to", "of", "for", "in", "on", "at", "by", "with", "from", "and", "or", "is", "are", "be", "do", "does", "did",
		"i", "me", "my", "we", "us", "our", "you", "your", "it", "its", "that", "this", "these", "those", "there",
		"tell", "give", "let", "get", "make", "about", "up", "out", "one", "here", "use", "please", "can", "could", "would", "will", "want", "need", "like", "just", "now", "some", "any", "so", "if",
		"what", "which", "how", "who", "when", "where", "why", "s", "t", "m", "re", "ll", "d", "hi", "hello", "hey", "thanks":
		return true
	}
	return false
}

// near reports whether two words differ by little: one letter from five
// letters on, two from eight on.
func near(a, b string) bool {
	if a == b {
		return true
	}
	switch n := min(len(a), len(b)); {
	case n >= 8 && n <= 64:
		return distance(a, b) <= 2
	case n >= 5 && n <= 64:
		return distance(a, b) <= 1
	}
	return false
}

// distance counts the single-letter edits between two words, a swap of
// neighbours as one (optimal string alignment).
func distance(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			swap := 0
			if a[i-1] != b[j-1] {
				swap = 1
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+swap)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
