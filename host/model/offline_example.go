package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
)

// An example is what one example of a tool shows: the user's words, and where
// in them the arguments stand.
type example struct {
	say   string // folded
	slots []slot // arguments that are said, in the order of the words
	shown map[string]shownValue
}

// A slot is the place of an argument in an example's words.
type slot struct {
	name       string
	start, end int
}

// examplesMax bounds the examples that are looked at; manifests have two or
// three for each tool.
const examplesMax = 16

// examplesOf reads the examples of a tool. One that is refused shows words as
// well as any, but what it gives without saying it may be what it is refused
// for.
func examplesOf(t Tool) []example {
	var out []example
	for _, e := range t.Examples[:min(len(t.Examples), examplesMax)] {
		args, ok := exampleArgs(e)
		if !ok {
			continue
		}
		x := newExample(fold(e.Say, sayRunes), args)
		if e.Problem != 0 {
			maps.DeleteFunc(x.shown, func(_ string, v shownValue) bool { return !v.said })
		}
		out = append(out, x)
	}
	return out
}

// exampleArgs reads the arguments of an example that says something.
func exampleArgs(e abi.Example) (map[string]any, bool) {
	d := json.NewDecoder(bytes.NewReader(e.Args))
	d.UseNumber()
	args := map[string]any{}
	if len(e.Args) > 0 && d.Decode(&args) != nil {
		return nil, false
	}
	return args, e.Say != ""
}

// newExample finds the arguments in the words, longer ones first, so that 1 is
// not found inside 1001.
func newExample(say string, args map[string]any) example {
	e := example{say: say, shown: map[string]shownValue{}}
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(said(args[b])), len(said(args[a]))), cmp.Compare(a, b))
	})
	for _, name := range names {
		value := args[name]
		start, end := e.find(value)
		if end == 0 {
			e.shown[name] = shownValue{value: value}
			continue
		}
		e.slots = append(e.slots, slot{name, start, end})
		left := tokenBefore(say[:start])
		e.shown[name] = shownValue{value: value, said: true, left: left, right: tokenAfter(say[end:]), relative: isRelative(left, say[end:])}
	}
	slices.SortFunc(e.slots, func(a, b slot) int { return cmp.Compare(a.start, b.start) })
	return e
}

// said gives a value as a user says it, or "" where it has no such form.
func said(value any) string {
	switch v := value.(type) {
	case string:
		return fold(v, sayRunes)
	case json.Number:
		return v.String()
	}
	return ""
}

// find gives the first free place where a value is said; end is 0 where there
// is none. A number may be said in another form, such as 35.50.
func (e *example) find(value any) (start, end int) {
	free := func(start, end int) bool {
		return !slices.ContainsFunc(e.slots, func(s slot) bool { return start < s.end && s.start < end })
	}
	if n, ok := value.(json.Number); ok {
		for _, s := range spansOf(e.say) {
			if s.number != "" && sameNumber(s.number, n.String()) && free(s.start, s.end) {
				return s.start, s.end
			}
		}
		return 0, 0
	}
	text := said(value)
	for from := 0; text != "" && from < len(e.say); {
		i := indexFold(e.say[from:], text)
		if i < 0 {
			return 0, 0
		}
		start, end = from+i, from+i+len(text)
		if free(start, end) && standsAlone(e.say, start, end) {
			return start, end
		}
		from = start + 1
	}
	return 0, 0
}

// sameNumber compares two decimals by value. Numbers that nobody says, such as
// 1e999999999, are not looked at.
func sameNumber(a, b string) bool {
	if len(a)+len(b) > 64 || strings.ContainsAny(a+b, "eE") {
		return false
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

// indexFold is strings.Index without regard to the case of ASCII letters.
func indexFold(text, part string) int { return strings.Index(lowerASCII(text), lowerASCII(part)) }

// lowerASCII keeps the length, which strings.ToLower does not.
func lowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// standsAlone reports whether text[start:end] is not a part of a longer word
// or number of plain letters and digits.
func standsAlone(text string, start, end int) bool {
	first, last := text[start], text[end-1]
	if start > 0 && isWordByte(first) && isWordByte(text[start-1]) {
		return false
	}
	return end == len(text) || !isWordByte(last) || !isWordByte(text[end])
}

// tokenBefore gives the last word of a text, or its last one or two Chinese
// characters, or its last sign.
func tokenBefore(text string) string {
	text = strings.TrimRight(lowerASCII(text), " ")
	start := len(text)
	for n := 0; start > 0; n++ {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if !goesOn(text[start:], r, n) {
			break
		}
		start -= size
	}
	return text[start:]
}

// tokenAfter gives the first word of a text, or its first one or two Chinese
// characters, or its first sign.
func tokenAfter(text string) string {
	text = strings.TrimLeft(lowerASCII(text), " ")
	for i, r := range text {
		if !goesOn(text[:i], r, utf8.RuneCountInString(text[:i])) {
			return text[:i]
		}
	}
	return text
}

// goesOn reports whether a token of n characters takes in r, too.
func goesOn(token string, r rune, n int) bool {
	switch {
	case n == 0:
		return r != ' '
	case isHan(r):
		return n < 2 && hasHan(token)
	case unicode.IsLetter(r):
		return n < 32 && !hasHan(token) && unicode.IsLetter([]rune(token)[0])
	}
	return false
}

// template makes a pattern of the example's words: what is said around the
// arguments stands, spaces and end marks aside, and every argument may be
// another of its kind. Words that say nothing make a pattern only where they
// are all that the user says. It is nil where the text cannot match.
func (e example) template(text string, props []property) *regexp.Regexp {
	literals := e.literals()
	for _, l := range literals {
		for _, field := range strings.Fields(l) {
			if indexFold(text, field) < 0 {
				return nil
			}
		}
	}
	all := strings.Join(literals, " ")
	if strings.TrimSpace(all) == "" {
		return nil
	}
	var b strings.Builder
	for i, l := range literals {
		b.WriteString(literalPattern(l))
		if i < len(e.slots) {
			s := e.slots[i]
			b.WriteString("(" + slotPattern(propertyNamed(props, s.name), strings.Join(literals[i+1:], "") == "") + ")")
		}
	}
	pattern := b.String()
	if len(words(all)) == 0 {
		pattern = "^" + pattern + "$"
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return nil
	}
	return re
}

// literals gives what an example says before, between and after its
// arguments.
func (e example) literals() []string {
	var out []string
	at := 0
	for _, s := range e.slots {
		out = append(out, e.say[at:s.start])
		at = s.end
	}
	return append(out, strings.TrimRight(e.say[at:], endMarks))
}

// letters counts what an example says besides its values.
func (e example) letters() int {
	n := 0
	for _, l := range e.literals() {
		runs(l, func(run string, _ bool) { n += len(run) })
	}
	return n
}

// endMarks may stand at the end of what is said and change nothing.
const endMarks = " 。.!！?？,，;；"

func literalPattern(text string) string {
	var b strings.Builder
	parts := strings.Fields(text)
	if len(parts) == 0 {
		return `\s*`
	}
	for i, part := range parts {
		b.WriteString(`\s*`)
		if isWordByte(part[0]) {
			b.WriteString(`\b`)
		}
		b.WriteString(regexp.QuoteMeta(part))
		if i == len(parts)-1 && isWordByte(part[len(part)-1]) {
			b.WriteString(`\b`)
		}
	}
	b.WriteString(`\s*`)
	return b.String()
}

// slotPattern says what may stand for an argument.
func slotPattern(p property, last bool) string {
	switch {
	case p.is("number"):
		return `-?[0-9][0-9,]*(?:\.[0-9]+)?|[` + hanDigits + `]+(?:点[` + hanDigits + `]+)?`
	case !p.isFree():
		return `[A-Za-z0-9][A-Za-z0-9_.-]*|[^\s\x00-\x7f]{1,16}?`
	case last:
		return `[^,，。!！?？;；\n]+`
	}
	return `[^,，。!！?？;；\n]+?`
}

func propertyNamed(props []property, name string) property {
	for _, p := range props {
		if p.name == name {
			return p
		}
	}
	return property{name: name}
}
