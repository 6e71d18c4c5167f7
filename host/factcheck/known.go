package factcheck

import (
	"maps"
	"slices"
	"strings"
)

// An index is what is known, folded, with its numbers.
type index struct {
	Known
	text      string   // all but Said
	low       string   // the same in lower case, byte for byte
	heard     string   // all that the user said
	callTexts []string // of each call, the arguments and the result, in lower case
	results   []string // of each call, the result alone
	values    map[int64]struct{}
	broken    []int64 // the values that have decimals
	sorted    []int64 // the values in order; made when one is looked for
	table     []int64 // numbers that were last on the table; see setTable
}

func newIndex(known Known) *index {
	k := &index{Known: known, values: make(map[int64]struct{}, 1024)}
	var all strings.Builder
	left := MaxKnownBytes
	keep := func(text string) (from int) {
		text = cutText(text, left)
		left -= len(text)
		from = all.Len()
		foldInto(&all, text)
		all.WriteByte('\n')
		return from
	}
	keep(known.User)
	for _, text := range known.Heard {
		keep(text)
	}
	heard := all.Len()
	places := make([]int, 0, 2*len(known.Calls)+1)
	for _, c := range known.Calls {
		places = append(places, keep(c.Args), keep(c.Result))
	}
	places = append(places, all.Len())
	for _, text := range known.Texts {
		keep(text)
	}
	for _, t := range known.Tools {
		keep(t.Name)
		keep(t.Summary)
	}
	k.text = all.String()
	k.low = lower(k.text)
	k.heard = k.text[:heard]
	for i := range known.Calls {
		k.callTexts = append(k.callTexts, k.low[places[2*i]:places[2*i+2]])
		k.results = append(k.results, k.low[places[2*i+1]:places[2*i+2]])
	}
	k.learn(k.text)
	for _, text := range known.Said {
		text = cutText(text, left)
		left -= len(text)
		k.learn(foldOnly(text))
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
		size := len(k.values)
		if k.values[n.value] = struct{}{}; len(k.values) > size && n.value%one != 0 {
			k.broken = append(k.broken, n.value)
		}
	})
}

// minIDDigits is how many digits of an id are told without the rest of it.
const minIDDigits = 4

func (k *index) hasValue(v int64) bool {
	_, ok := k.values[v]
	return ok
}

// nearest gives the known value that is next to one, for whoever reads a
// finding; none that is far from it.
func (k *index) nearest(v int64) string {
	if k.sorted == nil {
		k.sorted = slices.Sorted(maps.Keys(k.values))
	}
	at, _ := slices.BinarySearch(k.sorted, v)
	best := int64(-1)
	for _, known := range k.sorted[max(0, at-1):min(len(k.sorted), at+1)] {
		if best < 0 || distance(known, v) < distance(best, v) {
			best = known
		}
	}
	if best < 0 || distance(best, v) > max(v, one) {
		return ""
	}
	return decimal(best)
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// has reports whether a text stands in what is known as a whole word, however
// it is written.
func (k *index) has(text string) bool { return hasWord(k.low, lower(text)) }

// hasWord reports whether word stands in text and no letter or digit beside it.
func hasWord(text, word string) bool {
	for from := 0; word != ""; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			break
		}
		i += from
		end := i + len(word)
		if (i == 0 || !isAlnum(text[i-1]) || !isAlnum(word[0])) && (end == len(text) || !isAlnum(text[end]) || !isAlnum(word[len(word)-1])) {
			return true
		}
		from = i + 1
	}
	return false
}

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }
