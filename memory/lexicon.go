package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Subject is something that people in live commerce talk about: how it is called,
// and what can be said of it.
type Subject struct {
	Topic   string            // of a Claim
	Measure string            // a number counts with a unit of this measure, as of unitOf; "" for none
	Bare    bool              // a number counts without a unit too
	Domain  string            // of decisions
	Names   []string          // Chinese ones are found anywhere, English ones as words
	Words   map[string]string // what can be said of it without a number, and the canonical word
}

// Subjects gives those that are read from conversations without a model. The first
// that a text names is meant, so the more special ones come first.
func Subjects() []Subject {
	return []Subject{
		{Topic: "opening.minutes", Measure: "time", Domain: "script", Names: []string{"开场", "开播先讲", "暖场", "opening",
			"openings", "open with", "opens with", "intro", "warm-up"},
			Words: map[string]string{"故事": "story", "福利": "giveaway", "抽奖": "giveaway", "自我介绍": "introduction",
				"story": "story", "giveaway": "giveaway", "introduction": "introduction", "joke": "joke", "段子": "joke"}},
		{Topic: "pitch.minutes", Measure: "time", Domain: "script", Names: []string{"每个品", "每款", "每个商品", "单品讲解",
			"讲品", "讲解时长", "per product", "each product", "per item", "every product"}},
		{Topic: "coupon", Measure: "cny", Domain: "pricing", Names: []string{"优惠券", "满减券", "coupon", "coupons", "voucher", "vouchers"},
			Words: map[string]string{"满减": "threshold", "无门槛": "unconditional", "优惠券": "coupon", "coupon": "coupon",
				"coupons": "coupon", "voucher": "coupon", "vouchers": "coupon"}},
		{Topic: "discount", Measure: "discount", Domain: "pricing", Names: []string{"折扣", "打折", "折", "discount", "discounts"}},
		{Topic: "price.cut", Measure: percent, Domain: "pricing", Names: []string{"降价", "让利", "降幅", "price cut", "price cuts", "markdown", "markdowns"}},
		{Topic: "stock.floor", Measure: "count", Bare: true, Domain: "stock", Names: []string{"库存", "备货", "stock", "inventory"}},
		{Topic: "price", Measure: "cny", Bare: true, Domain: "pricing", Names: []string{"价格", "售价", "定价", "底价",
			"最低价", "卖价", "价位", "单价", "特价", "原价", "券后价", "price", "prices", "priced"}},
		{Topic: "giveaway", Measure: "times", Bare: true, Domain: "script", Names: []string{"抽奖", "福袋", "giveaway", "giveaways", "raffle", "raffles"},
			Words: map[string]string{"抽奖": "giveaway", "福袋": "giveaway", "giveaway": "giveaway", "giveaways": "giveaway",
				"raffle": "giveaway", "raffles": "giveaway"}},
		{Topic: "batch.size", Measure: "count", Domain: "selection", Names: []string{"选品", "上架", "上链接", "排品",
			"products in a live", "products per live", "listing"}},
		{Topic: "pace", Domain: "script", Names: []string{"节奏", "语速", "讲得", "pace", "speak"},
			Words: map[string]string{"慢": "slow", "快": "fast", "slow": "slow", "slowly": "slow", "slower": "slow",
				"fast": "fast", "faster": "fast", "quick": "fast"}},
		{Topic: "answer.style", Domain: "answers", Names: []string{"回答", "回复", "汇报", "answer", "answers", "reply", "replies", "report", "reports"},
			Words: map[string]string{"简短": "short", "短": "short", "简洁": "short", "详细": "long", "表格": "table",
				"short": "short", "brief": "short", "detailed": "long", "table": "table", "tables": "table", "中文": "chinese",
				"英文": "english", "chinese": "chinese", "english": "english"}},
		{Topic: "slot", Domain: "schedule", Names: []string{"时段", "开播时间", "档期", "开播", "time slot", "go live", "slot"},
			Words: map[string]string{"早上": "morning", "上午": "morning", "下午": "afternoon", "晚上": "evening",
				"夜里": "night", "深夜": "night", "周末": "weekend", "morning": "morning", "mornings": "morning",
				"afternoon": "afternoon", "evening": "evening", "evenings": "evening", "night": "night", "weekend": "weekend",
				"weekends": "weekend"}},
		{Topic: "live.length", Measure: "time", Domain: "schedule", Names: []string{"每场", "一场", "直播时长", "播",
			"each live", "every live", "live length", "a live"}},
	}
}

// names reports whether a clause names one of the subjects.
func names(low string, subjects []Subject) bool {
	return slices.ContainsFunc(subjects, func(s Subject) bool { return s.namedIn(low) })
}

func (s Subject) namedIn(low string) bool {
	return slices.ContainsFunc(s.Names, func(name string) bool { return namedIn(low, name) })
}

func namedIn(low, name string) bool {
	if isLatin(name[0]) {
		return wordAt(low, name) >= 0
	}
	return strings.Contains(low, name)
}

// claimOfWords reads what a declaration claims. Where something in it is denied, each
// clause is read alone: "no coupons, use raffles" does not exclude raffles. A clause
// that denies one thing for another claims nothing. The subject is that of the claim,
// or the first that is named.
func claimOfWords(low string, subjects []Subject) (*Claim, Subject) {
	if !denies(low) {
		return claimIn(low, false, subjects)
	}
	var named Subject
	for _, c := range clauses(low) {
		clause := low[c.start:c.end]
		claim, subject := claimIn(clause, denies(clause), subjects)
		if claim != nil && !prefers(clause) {
			return claim, subject
		}
		if named.Topic == "" {
			named = subject
		}
	}
	claim, subject := claimIn(low, true, subjects)
	if claim != nil && claim.Low != nil && !claim.Not { // a limit, whose subject is another clause's
		return claim, subject
	}
	return nil, named
}

// prefers reports whether a clause names one thing in the place of another.
func prefers(low string) bool {
	return containsAny(low, "改用", "换成", "改成", "而是", "只用", "代替") || hasWord(low, "instead", "rather", "but", "only", "except")
}

// claimIn reads the range or the words of the first subject that has any. Without one the
// text is remembered and not compared.
func claimIn(low string, negated bool, subjects []Subject) (*Claim, Subject) {
	var named Subject
	for _, s := range subjects {
		if !s.namedIn(low) {
			continue
		}
		if c, ok := s.rangeIn(low, negated); ok {
			return &c, s
		}
		if words := s.wordsIn(low); len(words) > 0 {
			return &Claim{Topic: s.Topic, Words: words, Not: negated}, s
		}
		if named.Topic == "" {
			named = s
		}
	}
	return nil, named
}

func (s Subject) wordsIn(low string) []string {
	var words []string
	for name, word := range s.Words {
		if namedIn(low, name) {
			words = addWord(words, word)
		}
	}
	return words
}

// addWord keeps words in order, each once.
func addWord(words []string, word string) []string {
	for i, w := range words {
		if w == word {
			return words
		}
		if w > word {
			return append(words[:i], append([]string{word}, words[i:]...)...)
		}
	}
	return append(words, word)
}

// rangeIn reads "10 分钟", "10 到 12 分钟", "at least 10 minutes", "不低于 59". A number
// with its unit comes before one without.
func (s Subject) rangeIn(low string, negated bool) (Claim, bool) {
	if s.Measure == "" {
		return Claim{}, false
	}
	found := numerals(low)
	for _, bare := range [...]bool{false, true} {
		for i, n := range found {
			high := n
			if i+1 < len(found) && joinsRange(low[n.end:found[i+1].start]) {
				high = found[i+1]
			}
			name, end := unitAt(low[high.end:])
			if bare && s.Bare && name == "" && standsAlone(low, n.start, high.end) || !bare && unitOf(name).measure == s.Measure {
				c := s.bounded(n, high, limitOf(low[:n.start], low[high.end+end:]), name)
				c.Not = negated && !isLimit(c)
				return c, true
			}
		}
	}
	return Claim{}, false
}

// standsAlone reports whether a number belongs to no other word: 1001号 and SKU 1001
// are products, 4分 is a mark.
func standsAlone(low string, start, end int) bool {
	before := strings.TrimRight(low[:start], " :：#")
	for _, name := range [...]string{"sku", "商品", "链接", "product", "item", "号", "no"} {
		if strings.HasSuffix(before, name) {
			return false
		}
	}
	next, _ := utf8.DecodeRuneInString(low[end:])
	return startsAny(low[end:], "以上", "以下", "以内", "之内", "起", "封顶") || !unicode.IsLetter(next)
}

// joinsRange tells what stands between the ends of a range, with the unit that the
// lower one may have too.
func joinsRange(between string) bool {
	if _, end := unitAt(between); end > 0 {
		between = between[end:]
	}
	switch strings.TrimSpace(between) {
	case "到", "至", "-", "–", "—", "~", "～", "to":
		return true
	}
	return false
}

func (s Subject) bounded(n, high numeral, is limit, unit string) Claim {
	switch is {
	case least:
		return AtLeast(s.Topic, n.value, unit)
	case most:
		return AtMost(s.Topic, high.value, unit)
	}
	return Between(s.Topic, min(n.value, high.value), max(n.value, high.value), unit)
}

// A limit says that a number is the end of a range that is open.
type limit int8

const (
	noLimit limit = iota
	least
	most
)

// limitOf reads the words of a limit before and after a number. What must not be
// below it makes it the least; what is kept below makes it the most.
func limitOf(before, after string) limit {
	negated := denies(before)
	switch {
	case containsAny(before, "低于", "少于", "小于") || hasWord(before, "below", "under", "less than", "lower than", "fewer than", "shorter than"):
		return limitWhere(negated, least, most)
	case containsAny(before, "超过", "高于", "多于", "大于", "超出") || hasWord(before, "above", "over", "more than",
		"higher than", "longer than", "exceed", "beyond"):
		return limitWhere(negated, most, least)
	case containsAny(before, "至少", "最少", "起码", "最低", "底价") || hasWord(before, "at least", "minimum", "min"):
		return least
	case containsAny(before, "最多", "至多", "最高", "最长", "顶多") || hasWord(before, "at most", "maximum", "max", "up to"):
		return most
	case startsAny(after, "以上", "起", "or more", "and up", "minimum"):
		return limitWhere(negated, most, least)
	case startsAny(after, "以内", "以下", "之内", "封顶", "or less", "tops", "maximum"):
		return limitWhere(negated, least, most)
	}
	return noLimit
}

func limitWhere(negated bool, then, otherwise limit) limit {
	if negated {
		return then
	}
	return otherwise
}

// denies reports whether a text in lower case denies what it speaks of.
func denies(low string) bool {
	low = notDenials.Replace(low)
	return containsAny(low, "不", "别", "勿", "禁止", "严禁", "没", "讨厌", "受不了", "避免") ||
		hasWord(low, "not", "never", "no", "don't", "dont", "do not", "cannot", "can't", "mustn't", "shouldn't", "without", "hate", "dislike", "avoid", "stop")
}

// notDenials takes out words that hold a character of a denial and deny nothing.
var notDenials = removing(
	"不错", "不过", "差不多", "特别", "级别", "类别", "分别", "不管", "不论", "别的", "不仅", "不但",
)

func startsAny(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) || strings.HasPrefix(strings.TrimLeft(text, " "), p) {
			return true
		}
	}
	return false
}
