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
	name     []string // the words of its own name, without its skill's
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
		x.add(c)
	}
	return x
}

func (x *index) add(c candidate) {
	x.candidates = append(x.candidates, c)
	for w := range c.known {
		x.holders[w]++
	}
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
	asked := askedWords(text)
	if slices.ContainsFunc(asked, func(w string) bool { return undoes(w) && x.holders[w] == 0 }) {
		return nil // there is no tool for it, and looking at the thing instead is no answer
	}
	weighed := x.weigh(asked)
	var out []ranked
	for _, c := range x.candidates {
		score, share := match(c, weighed)
		if share >= leastShare(c.tool) || c.repeats(text) {
			out = append(out, ranked{c, score})
		}
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	return out[:min(len(out), closeLookMax)]
}

// askedWords gives the words of a text without its values, each once.
func askedWords(text string) []string {
	asked := words(withoutValues(text))
	slices.Sort(asked)
	return slices.Compact(asked)
}

// An askedWord is a word of the user with what it weighs among the tools.
type askedWord struct {
	word   string
	rarity float64
	action bool
	inside bool // a Chinese character that stands in a pair as well
}

func (x *index) weigh(asked []string) []askedWord {
	weighed := make([]askedWord, len(asked))
	for i, w := range asked {
		inside := isHan(firstRune(w)) && utf8.RuneCountInString(w) == 1
		weighed[i] = askedWord{w, x.rarity(w), isAction(w), inside}
	}
	return weighed
}

// match gives the tool's score for the user's words, and which share of their
// weight it knows.
func match(c candidate, asked []askedWord) (score, share float64) {
	whole, action, knowsAction := 0.0, false, false
	for _, a := range asked {
		weight := c.known[a.word]
		score += weight * a.rarity
		if a.action {
			action, knowsAction = true, knowsAction || weight > 0
		}
		if a.inside {
			continue
		}
		whole += a.rarity
		if weight > 0 {
			share += a.rarity
		}
	}
	if action && !knowsAction {
		score *= otherAction
	}
	return score * c.nameFit(asked), share / max(whole, 1e-9)
}

// nameFit is 1 where the user says everything that the tool's own name says,
// and less the more of it is left unsaid.
func (c candidate) nameFit(asked []askedWord) float64 {
	if len(c.name) == 0 {
		return 1
	}
	said := 0
	for _, w := range c.name {
		if slices.ContainsFunc(asked, func(a askedWord) bool { return a.word == w }) {
			said++
		}
	}
	return 0.6 + 0.4*float64(said)/float64(len(c.name))
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

// newCandidate reads a tool; it reports false where the schema cannot be read,
// and knows the tool by its description alone. Values in its examples are not
// words of the tool, and what it warns of is not what it is for.
func newCandidate(t Tool) (candidate, bool) {
	c := candidate{tool: t, examples: examplesOf(t), known: map[string]float64{}}
	c.name = words(t.Name[strings.LastIndexByte(t.Name, '.')+1:])
	c.learn(t.Name, weightName)
	first, more := whatItIs(t.Description)
	c.learn(first, weightSummary)
	c.learn(more, weightMore)
	for _, e := range c.examples {
		c.learn(strings.Join(e.literals(), "\n"), weightSay)
	}
	props, ok := propertiesOf(t, c.examples)
	c.props = props
	for _, p := range c.props {
		c.learn(p.name+" "+p.Title+" "+p.Description, weightArgs)
		for _, v := range p.Enum {
			c.learn(said(v), weightArgs)
		}
	}
	return c, ok
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
