package model

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// A filling is the arguments of one tool, as far as the user's words give
// them.
type filling struct {
	candidate
	text      string // the user's words
	spans     []span // of the text
	explained int    // spans that became arguments
	template  int    // letters of an example's words that the text repeats
	args      map[string]any
	missing   []property // required, and not found
	doubtful  []doubt    // several values for one argument of a write
	held      bool       // the text forbids the write, or makes it depend on something
}

// A doubt is an argument for which the user gave more than one value.
type doubt struct {
	property property
	values   []string
}

// ready reports whether the call can be made.
func (f filling) ready() bool { return len(f.missing) == 0 && len(f.doubtful) == 0 && !f.held }

// A filler fills the arguments of one tool from one text.
type filler struct {
	text  string
	props []property
	spans []span
	owner []string // of each span: the property that took it, or ""
	args  map[string]any
}

// fill finds the arguments of a tool in the user's words: from an example that
// says the same with other values, then by type and surroundings.
func fill(text string, c candidate) filling {
	f := &filler{text: text, props: c.props, spans: spansOf(text), args: map[string]any{}}
	f.owner = make([]string, len(f.spans))
	out := filling{candidate: c, text: text, args: f.args, spans: f.spans}
	out.template = f.fromExamples(c.examples)
	f.fromSpans()
	f.fromPatterns()
	f.fromWords()
	if out.template == 0 { // else the example shows that nothing more is meant
		f.fromRest(c.tool)
	}
	for _, p := range f.props {
		if _, ok := f.args[p.name]; !ok && p.required {
			if v := p.withoutWords(); v != nil {
				f.args[p.name] = v
			} else {
				out.missing = append(out.missing, p)
			}
		}
	}
	if !reads(c.tool) {
		out.doubtful = f.doubts()
		out.held = holdsBack(text)
	}
	for _, owner := range f.owner {
		if owner != "" {
			out.explained++
		}
	}
	return out
}

// fromExamples uses the example whose words, values aside, are the longest
// part of the user's words. A code that it gives without saying it comes with
// it.
func (f *filler) fromExamples(examples []example) (letters int) {
	var best example
	var match []int
	said := strings.TrimRight(f.text, endMarks)
	for _, e := range examples {
		re := e.template(said, f.props)
		if re == nil {
			continue
		}
		m := re.FindStringSubmatchIndex(said)
		if n := e.letters(); m != nil && n > letters && f.fits(e, m) {
			best, match, letters = e, m, n
		}
	}
	for i, s := range best.slots {
		start, end := match[2*i+2], match[2*i+3]
		f.args[s.name], _ = propertyNamed(f.props, s.name).valueOf(f.text[start:end])
		f.take(s.name, span{start: start, end: end})
	}
	for name, v := range best.shown {
		if !v.said && propertyNamed(f.props, name).isCode(v.value) {
			f.args[name] = v.value
		}
	}
	return letters
}

// fits reports whether every value that an example's words give is one of its
// property's kind. A number must be a whole span: 80 is not the number in 80 k,
// 80 % or 80块5.
func (f *filler) fits(e example, match []int) bool {
	for i, s := range e.slots {
		start, end, p := match[2*i+2], match[2*i+3], propertyNamed(f.props, s.name)
		if _, ok := p.valueOf(f.text[start:end]); !ok {
			return false
		}
		isIt := func(s span) bool { return s.start == start && s.end == end && p.unitFits(s) }
		if p.is("number") && !slices.ContainsFunc(f.spans, isIt) {
			return false
		}
	}
	return true
}

// take gives the spans at a place to a property.
func (f *filler) take(name string, at span) {
	for i, s := range f.spans {
		if s.overlaps(at) && f.owner[i] == "" {
			f.owner[i] = name
		}
	}
}

// A claim is a property's claim to a span.
type claim struct {
	property, span int
	score          int
}

// fromSpans gives the spans to the properties that claim them most.
func (f *filler) fromSpans() {
	var claims []claim
	for i, p := range f.props {
		if _, has := f.args[p.name]; has {
			continue
		}
		for j, s := range f.spans {
			if score := p.score(s); f.owner[j] == "" && score >= p.leastScore() {
				claims = append(claims, claim{i, j, score})
			}
		}
	}
	slices.SortStableFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.span, b.span), cmp.Compare(a.property, b.property))
	})
	for _, c := range claims {
		p, s := f.props[c.property], f.spans[c.span]
		if f.owner[c.span] != "" || f.isContested(c, claims) {
			continue
		}
		if p.is("array") {
			f.append(p, s, c.span)
		} else if _, has := f.args[p.name]; !has {
			f.args[p.name], _ = p.valueOfSpan(s)
			f.owner[c.span] = p.name
		}
	}
}

// isContested reports whether a number would do as well for another argument
// that has none yet: then it is for neither.
func (f *filler) isContested(c claim, claims []claim) bool {
	return f.props[c.property].is("number") && slices.ContainsFunc(claims, func(o claim) bool {
		_, has := f.args[f.props[o.property].name]
		return o.span == c.span && o.property != c.property && o.score == c.score && !has
	})
}

func (f *filler) append(p property, s span, at int) {
	value, _ := p.item().valueOfSpan(s)
	list, _ := f.args[p.name].([]any)
	f.args[p.name] = append(list, value)
	f.owner[at] = p.name
}

// doubts finds arguments for which another span would have done as well. A
// write on one of two things that the user named is not what the user said.
func (f *filler) doubts() []doubt {
	var out []doubt
	for _, p := range f.props {
		taken := slices.Index(f.owner, p.name)
		if taken < 0 || p.is("array") {
			continue
		}
		d := doubt{property: p, values: []string{f.spans[taken].text}}
		for j, s := range f.spans {
			if f.owner[j] == "" && s.text != f.spans[taken].text && p.kindScore(s) >= max(0, p.kindScore(f.spans[taken])) {
				d.values = append(d.values, s.text)
			}
		}
		if len(d.values) > 1 {
			out = append(out, d)
		}
	}
	return out
}

// fromPatterns looks for what the schema's patterns describe and no span is,
// such as ORD#123. Where a pattern finds several things it has found none.
func (f *filler) fromPatterns() {
	for _, p := range f.props {
		if _, has := f.args[p.name]; has || p.Pattern == "" {
			continue
		}
		if found := p.patternIn(f.text, f.spans); len(found) == 1 {
			f.args[p.name] = found[0].text
			f.take(p.name, found[0])
		}
	}
}

// fromWords fills what is said in words: one of the allowed values, a
// currency, yes or no.
func (f *filler) fromWords() {
	for _, p := range f.props {
		if _, has := f.args[p.name]; has {
			continue
		}
		if v := p.namedIn(f.text); v != nil {
			f.args[p.name] = v
		}
	}
}

// fromRest fills the one free text: with what the user put in quotation marks,
// or for a read with what is left of the words.
func (f *filler) fromRest(t Tool) {
	var free []property
	for _, p := range f.props {
		if _, has := f.args[p.name]; !has && p.isFree() && p.withoutWords() == nil {
			free = append(free, p)
		}
	}
	if len(free) == 0 || len(free) > 1 && !free[0].required {
		return
	}
	p := free[0]
	if quotes := quotesIn(f.text); len(quotes) > 0 {
		f.args[p.name] = quotes[0].text
		f.take(p.name, quotes[0])
		return
	}
	if rest := f.rest(t); reads(t) && rest != "" {
		f.args[p.name] = rest
	}
}

// rest gives the user's words without the values that were used, the words
// that say nothing, and those that the tool itself is described with.
func (f *filler) rest(t Tool) string {
	text := []byte(f.text)
	for i, s := range f.spans {
		if f.owner[i] != "" {
			copy(text[s.start:s.end], strings.Repeat(" ", s.end-s.start))
		}
	}
	own := map[string]bool{}
	for _, w := range words(t.Name + " " + firstSentence(t.Description)) {
		own[w] = true
	}
	left := string(text)
	for _, filler := range hanFillers() {
		left = strings.ReplaceAll(left, filler, " ")
	}
	var kept []string
	for _, field := range strings.FieldsFunc(left, isSeparator) {
		w := strings.ToLower(field)
		if !emptyWord(w) && !own[term(w)] {
			kept = append(kept, field)
		}
	}
	return strings.Join(kept, " ")
}

func isSeparator(r rune) bool { return r == ' ' || strings.ContainsRune(endMarks+"\t\n、:：", r) }

// hanFillers are the phrases around what a Chinese user looks for, longer ones
// first.
func hanFillers() []string {
	return []string{"有没有", "有什么", "有哪些", "帮我", "给我", "我想", "我要", "想要", "麻烦", "看看", "看一下", "搜索", "查询", "查找", "寻找",
		"搜一下", "查一下", "找一下", "一下", "商品", "产品", "请", "找", "查", "搜", "的", "吗", "呢", "吧", "么"}
}

// valueOf makes a value of the property's type of a piece of text.
func (p property) valueOf(text string) (any, bool) {
	text = strings.Trim(text, " ")
	switch {
	case text == "":
		return nil, false
	case p.is("number"):
		number := plainNumber(text)
		return json.Number(number), number != ""
	case len(p.Enum) > 0:
		v := p.allowed(text)
		return v, v != nil
	case !p.is("string"):
		return nil, false
	case p.isFree():
		if quotes := quotesIn(text); len(quotes) > 0 {
			text = quotes[0].text
		}
		return text, true
	}
	return text, p.accepts(text) && (p.shape() == "" || shapeOf(text) != "")
}

func plainNumber(text string) string {
	negative := strings.HasPrefix(text, "-")
	digits := strings.TrimPrefix(text, "-")
	if numberPattern.MatchString(digits) {
		digits = plain(digits)
	} else if number, ok := hanNumber(digits); ok && hasHan(digits) {
		digits = number
	} else {
		return ""
	}
	if negative {
		return "-" + digits
	}
	return digits
}

// valueOfSpan makes a value of a span that the property claimed.
func (p property) valueOfSpan(s span) (any, bool) {
	switch {
	case p.is("number"):
		return json.Number(s.number), s.number != ""
	case s.date != "":
		return s.date, true
	}
	return s.text, true
}

// accepts reports whether the schema's pattern, if it can be read, allows the
// text.
func (p property) accepts(text string) bool {
	if p.Pattern == "" {
		return true
	}
	re, err := regexp.Compile(p.Pattern)
	return err != nil || re.MatchString(text)
}

// patternIn finds the words of a text that the schema's pattern describes and
// that look like an identifier, apart from the spans.
func (p property) patternIn(text string, spans []span) []span {
	re, err := regexp.Compile(strings.TrimSuffix(strings.TrimPrefix(p.Pattern, "^"), "$"))
	if err != nil {
		return nil
	}
	var found []span
	for _, m := range re.FindAllStringIndex(text, -1) {
		s := span{start: m[0], end: m[1], text: text[m[0]:m[1]]}
		isSpan := func(o span) bool { return o.start == s.start && o.end == s.end }
		if shapeOf(s.text) != "" && p.accepts(s.text) && standsAlone(text, s.start, s.end) && !slices.ContainsFunc(spans, isSpan) {
			found = append(found, s)
		}
	}
	return found
}

func (p property) item() property {
	if p.Items == nil {
		return property{name: p.name, shown: p.shown}
	}
	return property{schema: *p.Items, name: p.name}
}

// reads reports whether a tool is known to change nothing.
func reads(t Tool) bool { return t.Effect == abi.Read }
