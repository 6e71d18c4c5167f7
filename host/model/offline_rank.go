package model

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Weights of where a word of the user stands in what is known of a tool.
const (
	weightName    = 3.0
	weightSay     = 2.5
	weightSummary = 2.0
	weightMore    = 1.0 // the rest of the description
	weightArgs    = 1.0
	weightInside  = 0.4 // of a Chinese character inside a longer run: a part of the above
)

// Bounds of ranking. Only the best few tools are looked at closely.
const (
	toolsMax     = 2000
	closeLookMax = 12
	readShare    = 0.12 // of the weight of the user's words that a tool must know
	writeShare   = 0.20 // likewise, for a tool that changes something
	otherAction  = 0.6  // what a tool is worth that does not know the action that the user names
)

// A candidate is a tool with what is known of it.
type candidate struct {
	tool     Tool
	examples []example
	props    []property
	known    map[string]float64 // its words, each with the weight of its best place
}

// An index holds the tools of one request.
type index struct {
	candidates []candidate
	holders    map[string]int // how many tools know a word
}

func newIndex(tools []Tool) *index {
	x := &index{holders: map[string]int{}}
	for _, t := range tools[:min(len(tools), toolsMax)] {
		c, ok := newCandidate(t)
		if !ok {
			continue // a tool whose arguments are not understood is not called
		}
		x.candidates = append(x.candidates, c)
		for w := range c.known {
			x.holders[w]++
		}
	}
	return x
}

// rarity weighs a word: one that many tools know says less (inverse document
// frequency).
func (x *index) rarity(w string) float64 {
	return math.Log(1 + float64(len(x.candidates)+1)/float64(x.holders[w]+1))
}

// A ranked tool is one that the user may mean.
type ranked struct {
	candidate
	score float64
}

// rank gives the tools that know enough of the user's words, or have an
// example that says the same, best first.
func (x *index) rank(text string) []ranked {
	asked := words(withoutValues(text))
	slices.Sort(asked)
	asked = slices.Compact(asked)
	if slices.ContainsFunc(asked, func(w string) bool { return undoes(w) && x.holders[w] == 0 }) {
		return nil // there is no tool for it, and looking at the thing instead is no answer
	}
	var out []ranked
	for _, c := range x.candidates {
		score, share := x.match(c, asked)
		if share >= leastShare(c.tool) || c.repeats(text) {
			out = append(out, ranked{c, score})
		}
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	return out[:min(len(out), closeLookMax)]
}

// match gives the tool's score for the user's words, and which share of their
// weight it knows.
func (x *index) match(c candidate, asked []string) (score, share float64) {
	whole, action, knowsAction := 0.0, false, false
	for _, w := range asked {
		rarity, weight := x.rarity(w), c.known[w]
		score += weight * rarity
		if isAction(w) {
			action, knowsAction = true, knowsAction || weight > 0
		}
		if isHan(firstRune(w)) && utf8.RuneCountInString(w) == 1 {
			continue // it stands in a pair as well
		}
		whole += rarity
		if weight > 0 {
			share += rarity
		}
	}
	if action && !knowsAction {
		score *= otherAction
	}
	return score * nameFit(c.tool, asked), share / max(whole, 1e-9)
}

// nameFit is 1 where the user says everything that the tool's own name says,
// and less the more of it is left unsaid.
func nameFit(t Tool, asked []string) float64 {
	name := words(t.Name[strings.LastIndexByte(t.Name, '.')+1:])
	if len(name) == 0 {
		return 1
	}
	said := 0
	for _, w := range name {
		if slices.Contains(asked, w) {
			said++
		}
	}
	return 0.6 + 0.4*float64(said)/float64(len(name))
}

func leastShare(t Tool) float64 {
	if reads(t) {
		return readShare
	}
	return writeShare
}

// withoutValues blanks the numbers, dates and identifiers of a text.
func withoutValues(text string) string {
	b := []byte(text)
	for _, s := range spansOf(text) {
		copy(b[s.start:s.end], strings.Repeat(" ", s.end-s.start))
	}
	return string(b)
}

// newCandidate reads a tool; it reports false where the schema cannot be read.
// Values in its examples are not words of the tool, and what it warns of is
// not what it is for.
func newCandidate(t Tool) (candidate, bool) {
	c := candidate{tool: t, examples: examplesOf(t), known: map[string]float64{}}
	props, ok := propertiesOf(t, c.examples)
	if !ok {
		return candidate{}, false
	}
	c.props = props
	c.learn(t.Name, weightName)
	first, more := whatItIs(t.Description)
	c.learn(first, weightSummary)
	c.learn(more, weightMore)
	for _, e := range c.examples {
		c.learn(strings.Join(e.literals(), "\n"), weightSay)
	}
	for _, p := range c.props {
		c.learn(p.name+" "+p.Title+" "+p.Description, weightArgs)
		for _, v := range p.Enum {
			c.learn(said(v), weightArgs)
		}
	}
	return c, true
}

func (c candidate) learn(text string, weight float64) {
	for _, w := range words(text) {
		if isHan(firstRune(w)) && utf8.RuneCountInString(w) == 1 && !standsApart(text, w) {
			c.known[w] = max(c.known[w], weight*weightInside)
		} else {
			c.known[w] = max(c.known[w], weight)
		}
	}
}

// repeats reports whether the text says what an example says, with whatever
// values.
func (c candidate) repeats(text string) bool {
	text = strings.TrimRight(text, endMarks)
	return slices.ContainsFunc(c.examples, func(e example) bool {
		re := e.template(text, c.props)
		return re != nil && re.MatchString(text)
	})
}

// standsApart reports whether a Chinese character is a run by itself.
func standsApart(text, char string) bool {
	found := false
	runs(text, func(run string, _ bool) { found = found || run == char })
	return found
}

// descriptionRunes bounds what is read of a description.
const descriptionRunes = 2000

// whatItIs gives the first sentence of a description, and the others, without
// those that say what the tool is not for.
func whatItIs(description string) (first, more string) {
	for i, s := range sentences(fold(description, descriptionRunes)) {
		switch {
		case isWarning(s):
		case i == 0:
			first = s
		default:
			more += s + "\n"
		}
	}
	return first, more
}

func isWarning(sentence string) bool {
	s := " " + strings.ToLower(sentence) + " "
	for _, sign := range []string{" never ", " not ", "don't", "不要", "不能", "不用于", "不得", "禁止", "切勿", "请勿"} {
		if strings.Contains(s, sign) {
			return true
		}
	}
	return false
}

// sentences parts a text at its full stops and line ends.
func sentences(text string) []string {
	text = strings.NewReplacer(". ", ".\n", "。", "。\n", "! ", "!\n", "；", "；\n", "; ", ";\n").Replace(text)
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// firstSentence gives what a description says first.
func firstSentence(description string) string {
	if all := sentences(fold(description, descriptionRunes)); len(all) > 0 {
		return strings.TrimRight(all[0], ";；")
	}
	return ""
}
