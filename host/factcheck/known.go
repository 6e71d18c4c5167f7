package factcheck

import (
	"strings"
)

// An index is what is known, folded, with its numbers.
type index struct {
	Known
	heard   string   // all that the user said
	results []string // of calls that ended well, in the order of the calls
	all     []string // every text of Known but Said
	low     string   // all, in lower case; made when it is needed
	values  map[int64]bool
	broken  []int64 // the values that have decimals
}

func newIndex(known Known) *index {
	k := &index{Known: known, values: map[int64]bool{}}
	left := MaxKnownBytes
	keep := func(text string) string {
		text = foldOnly(cutText(text, left))
		left -= len(text)
		k.all = append(k.all, text)
		k.learn(text)
		return text
	}
	k.heard = keep(known.User)
	for _, text := range known.Heard {
		k.heard += "\n" + keep(text)
	}
	for _, c := range known.Calls {
		keep(c.Args)
		if result := keep(c.Result); c.OK {
			k.results = append(k.results, result)
		}
	}
	for _, text := range known.Texts {
		keep(text)
	}
	for _, t := range known.Tools {
		keep(t.Name + " " + t.Summary)
	}
	for _, text := range known.Said {
		if text = cutText(text, left); text != "" {
			left -= len(text)
			k.learn(foldOnly(text))
		}
	}
	return k
}

// learn takes in the numbers of a text. Of a date, a time and an id they are
// no values; but certificate_7504069 is told as certificate 7504069.
func (k *index) learn(text string) {
	scanNumbers(text, func(n number) {
		if n.inside && n.end-n.start < minIDDigits {
			return
		}
		if k.values[n.value] {
			return
		}
		k.values[n.value] = true
		if n.value%one != 0 {
			k.broken = append(k.broken, n.value)
		}
	})
}

// minIDDigits is how many digits of an id are told without the rest of it.
const minIDDigits = 4

// lower gives all of what is known in lower case.
func (k *index) lower() string {
	if k.low == "" {
		k.low = strings.ToLower(strings.Join(k.all, "\n")) + "\n"
	}
	return k.low
}

// has reports whether a text stands in what is known as a whole word, however
// it is written.
func (k *index) has(text string) bool {
	for _, known := range k.all {
		if hasWord(known, text) {
			return true
		}
	}
	return hasWord(k.lower(), strings.ToLower(text))
}

// hasWord reports whether word stands in text and no letter or digit beside it.
func hasWord(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !isAlnum(text[i-1]) || !isAlnum(word[0])) && (end == len(text) || !isAlnum(text[end]) || !isAlnum(word[len(word)-1])) {
			return true
		}
		from = i + 1
	}
}

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }
