package model

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scores of a claim, by what speaks for it. They are relative: a unit or a
// shape that fits weighs more than a neighbour that resembles the example's.
const (
	scoreNever    = -100
	scoreUnit     = 3
	scoreShape    = 3
	scorePattern  = 3
	scoreNeighbor = 2
	scoreLoose    = 1
)

// leastScore is what a claim needs: an argument that need not be given is not
// guessed.
func (p property) leastScore() int {
	switch {
	case !p.required:
		return scoreNeighbor
	case p.is("number"):
		return 0
	}
	return scoreLoose
}

// score says how well a span would do for the property.
func (p property) score(s span) int {
	if p.is("array") {
		return p.item().scoreOne(s)
	}
	return p.scoreOne(s)
}

func (p property) scoreOne(s span) int {
	if kind := p.kindScore(s); kind != scoreNever {
		return kind + p.scoreNeighbors(s)
	}
	return scoreNever
}

// kindScore says how well a span would do, by what it is alone.
func (p property) kindScore(s span) int {
	switch {
	case p.is("number"):
		return p.scoreNumber(s)
	case len(p.Enum) > 0 || !p.is("string"):
	case p.wantsDate():
		if s.date != "" {
			return scoreShape
		}
	case s.unit == unitNone && s.date == "":
		return p.scoreID(s)
	}
	return scoreNever
}

func (p property) scoreNumber(s span) int {
	isShown := func(v shownValue) bool { return v.relative }
	if s.number == "" || s.relative && !slices.ContainsFunc(p.shown, isShown) {
		return scoreNever
	}
	score := 0
	if p.kind() == "integer" && strings.Contains(s.number, ".") {
		score--
	}
	switch {
	case !p.unitFits(s):
		score -= scoreUnit + 1
	case s.unit != unitNone && s.unit == p.wantsUnit():
		score += scoreUnit
	}
	return score
}

// unitFits reports whether the number's unit, if it has one, is not another
// than the property's.
func (p property) unitFits(s span) bool {
	wants := p.wantsUnit()
	return wants == unitNone || s.unit == unitNone || wants == s.unit
}

// wantsUnit guesses from the property's name and description what it counts.
func (p property) wantsUnit() unit {
	switch {
	case p.about("percent", "discount", "折扣"):
		return unitPercent
	case p.about("count", "quantity", "qty", "number of", "how many", "数量", "张数", "份数", "件数", "多少张", "几张"):
		return unitCount
	case p.about("price", "amount", "money", "cost", "fee", "yuan", "价", "金额", "面额", "元"):
		return unitMoney
	}
	return unitNone
}

func (p property) wantsDate() bool {
	return p.Format == "date" || p.Format == "date-time" || p.Format == "" && p.Pattern == "" && p.about("date", "日期")
}

// scoreID says how much a word looks like an identifier of the property: by
// the schema's pattern, or by the shape of the examples' values.
func (p property) scoreID(s span) int {
	if p.Pattern != "" {
		if p.accepts(s.text) {
			return scorePattern
		}
		return scoreNever
	}
	for _, v := range p.shown {
		text, _ := v.value.(string)
		switch {
		case shapeOf(text) == "":
		case shapeOf(text) == shapeOf(s.text):
			return scoreShape
		case looseShape(text) == looseShape(s.text):
			return scoreLoose
		}
	}
	return scoreNever
}

// scoreNeighbors compares what stands beside the span with what stands beside
// the property's value in the examples, and with the property's own name.
func (p property) scoreNeighbors(s span) int {
	left, right := 0, 0
	for _, v := range p.shown {
		if v.said {
			left = max(left, likeness(lastRune, v.left, s.left))
			right = max(right, likeness(firstRune, v.right, s.right))
		}
	}
	if s.left != "" && slices.Contains(words(p.name+" "+p.Title), singular(s.left)) {
		left = scoreNeighbor
	}
	return left + right
}

// likeness compares two neighbours: of Chinese ones the nearest character
// counts.
func likeness(nearest func(string) rune, a, b string) int {
	switch {
	case a == "" || b == "" || unicode.IsPunct(nearest(a)):
		return 0
	case singular(a) == singular(b), hasHan(a) && nearest(a) == nearest(b):
		return scoreNeighbor
	}
	return 0
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

func lastRune(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

// shape gives the shape of the property's values in the examples, or "" where
// they look like words.
func (p property) shape() string {
	for _, v := range p.shown {
		if text, ok := v.value.(string); ok {
			if shape := shapeOf(text); shape != "" {
				return shape
			}
		}
	}
	return ""
}

var upperWord = regexp.MustCompile(`^[A-Z]{2,}$`)

// shapeOf gives the shape of an identifier: 0 for a digit, A and a for a
// letter, anything else as it is. It is "" for what does not look like one.
func shapeOf(text string) string {
	if len(text) > 64 || strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e || r <= ' ' }) ||
		!strings.ContainsAny(text, "0123456789") && !upperWord.MatchString(text) {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '0'
		case unicode.IsUpper(r):
			return 'A'
		case unicode.IsLower(r):
			return 'a'
		}
		return r
	}, text)
}

// looseShape is the shape without the lengths of its runs.
func looseShape(text string) string {
	shape := []rune(shapeOf(text))
	return string(slices.Compact(shape))
}

// namedIn gives the value of the property that the text names, or nil.
func (p property) namedIn(text string) any {
	switch {
	case p.is("boolean"):
		return p.saidYes(text)
	case len(p.Enum) > 0:
		return p.allowedIn(text)
	case p.is("string") && p.about("currency", "币种"):
		return p.currencyIn(text)
	}
	return nil
}

// allowed gives the allowed value that the text is, near misses included.
func (p property) allowed(text string) any {
	for _, miss := range []bool{false, true} {
		for _, v := range p.Enum {
			if name, ok := v.(string); ok && (lowerASCII(name) == lowerASCII(text) || miss && near(lowerASCII(name), lowerASCII(text))) {
				return v
			}
		}
	}
	if code := currencyIn(text); code != "" && slices.Contains(p.Enum, any(code)) {
		return code
	}
	return nil
}

// allowedIn gives the longest allowed value that the text contains; where it
// contains none, one that a word of the text nearly is.
func (p property) allowedIn(text string) any {
	var best any
	longest := 0
	for _, v := range p.Enum {
		name, ok := v.(string)
		if !ok || len(name) <= longest {
			continue
		}
		for _, form := range []string{name, strings.ReplaceAll(name, "_", " ")} {
			if i := indexFold(text, form); form != "" && i >= 0 && standsAlone(text, i, i+len(form)) {
				best, longest = v, len(name)
			}
		}
	}
	if best != nil {
		return best
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
		if v := p.allowed(word); v != nil {
			return v
		}
	}
	if code := currencyIn(text); code != "" && slices.Contains(p.Enum, any(code)) {
		return code
	}
	return nil
}

// saidYes reads yes or no from the way the property's name is used: with
// insurance, without insurance. Elsewhere it is nil.
func (p property) saidYes(text string) any {
	text = lowerASCII(text)
	for _, w := range words(p.name) {
		i := strings.Index(text, w)
		if i < 0 {
			continue
		}
		switch tokenBefore(text[:i]) {
		case "no", "without", "not":
			return false
		}
		return true
	}
	return nil
}

// currencyIn gives the currency that the text names, where the examples show
// that the property holds such codes.
func (p property) currencyIn(text string) any {
	if code := currencyIn(text); code != "" && p.shape() == "AAA" {
		return code
	}
	return nil
}

// currencyIn gives the ISO 4217 code of the currency that the text names, or
// "". Longer names stand first: 元 alone is the yuan, 美元 is not.
func currencyIn(text string) string {
	var named []string
	runs(strings.ToLower(text), func(run string, _ bool) { named = append(named, singular(strings.TrimLeft(run, "0123456789"))) })
	for _, c := range []struct{ code, words, signs string }{
		{"USD", "usd dollar", "美元 美金 $"},
		{"EUR", "eur euro", "欧元 €"},
		{"HKD", "hkd", "港元 港币"},
		{"JPY", "jpy yen", "日元 日币"},
		{"KRW", "krw", "韩元"},
		{"CAD", "cad", "加元"},
		{"AUD", "aud", "澳元"},
		{"CNY", "cny rmb yuan", "人民币 元 块 ¥"},
	} {
		isNamed := func(word string) bool { return slices.Contains(named, word) }
		isThere := func(sign string) bool { return strings.Contains(text, sign) }
		if slices.ContainsFunc(strings.Fields(c.words), isNamed) || slices.ContainsFunc(strings.Fields(c.signs), isThere) {
			return c.code
		}
	}
	return ""
}
