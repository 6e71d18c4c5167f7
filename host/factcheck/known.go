package factcheck

import (
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
	values    []int64  // the numbers of all of it and of Said; see sortValues
	sorted    bool
	table     []operand // numbers that were last on the table; see setTable
}

// newIndex folds what is known. Its numbers are read only if some are to be
// looked up.
func newIndex(known Known, numbers bool) *index {
	k := &index{Known: known}
	var all strings.Builder
	all.Grow(known.size())
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
		args := c.Args
		if c.Refused { // else a model would prove its own words by asking for them
			args = ""
		}
		places = append(places, keep(args), keep(c.Result))
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
	if numbers {
		k.values = make([]int64, 0, len(k.text)/meanNumber)
		k.learn(k.text)
		for _, text := range known.Said {
			text = cutText(text, left)
			left -= len(text)
			k.learn(foldOnly(text))
		}
	}
	return k
}

// meanNumber is about how many bytes of a result stand for each number in it.
const meanNumber = 16

// size is how many bytes are kept, or a few more.
func (k Known) size() int {
	n := len(k.User) + 1
	for _, text := range slices.Concat(k.Heard, k.Texts) {
		n += len(text) + 1
	}
	for _, c := range k.Calls {
		n += len(c.Args) + len(c.Result) + 2
	}
	for _, t := range k.Tools {
		n += len(t.Name) + len(t.Summary) + 2
	}
	return min(n, MaxKnownBytes)
}

// learn takes in the numbers of a text. Of a date, a time and an id they are
// no values; but certificate_7504069 is told as certificate 7504069.
func (k *index) learn(text string) {
	scanNumbers(text, func(n number) {
		if n.inside && n.end-n.start < minIDDigits {
			return
		}
		k.values = append(k.values, n.value)
	})
}

// minIDDigits is how many digits of an id are told without the rest of it.
const minIDDigits = 4

// sortValues puts the values in order. Most answers need none but those that
// they name, and are through before that; see known.
func (k *index) sortValues() {
	if !k.sorted {
		slices.Sort(k.values)
		k.sorted = true
	}
}

// known reports for each number whether it is known as it is. It reads the
// values once, which takes less than putting them in order.
func (k *index) known(numbers []mention) []bool {
	wanted := map[int64][]int{}
	for i, m := range numbers {
		wanted[m.value] = append(wanted[m.value], i)
	}
	var maybe [1 << 10]bool // of the values' last bits: few are looked up
	for v := range wanted {
		maybe[hash(v)] = true
	}
	known := make([]bool, len(numbers))
	for _, v := range k.values {
		if maybe[hash(v)] {
			for _, i := range wanted[v] {
				known[i] = true
			}
		}
	}
	return known
}

func hash(v int64) uint64 { return uint64(v) * 0x9E3779B97F4A7C15 >> 54 }

func (k *index) hasValue(v int64) bool {
	k.sortValues()
	_, ok := slices.BinarySearch(k.values, v)
	return ok
}

// hasNear reports whether a known value, rounded to the digits of a number, is
// that.
func (k *index) hasNear(m mention) bool {
	k.sortValues()
	at, _ := slices.BinarySearch(k.values, m.value-m.unit/2)
	for ; at < len(k.values) && k.values[at] <= m.value+m.unit/2; at++ {
		if near(k.values[at], m) {
			return true
		}
	}
	return false
}

// nearest gives the known value that is next to one, for whoever reads a
// finding; none that is far from it.
func (k *index) nearest(v int64) string {
	k.sortValues()
	at, _ := slices.BinarySearch(k.values, v)
	best := int64(-1)
	for _, known := range k.values[max(0, at-1):min(len(k.values), at+1)] {
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
