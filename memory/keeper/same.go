package keeper

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// Two memories mean the same if they have the same target, the same numbers and
// negations, and the same words in the same order, since "A before B" has the terms of
// "B before A": what the user said in all words, what was seen in all but those that
// name nothing. To find such a one among many, each has a few bands: hashes of the least hashes of its terms (MinHash, Broder 1997). Two
// texts that share nine terms of ten share a band with a probability of 0.995; two
// that share one of ten with 0.004.
const (
	bands       = 4
	bandHashes  = 3
	sameMatches = 64 // candidates that are looked at
)

// bandsOf gives the bands of a memory's text. They are kept, so that they never
// change.
func bandsOf(n memory.Node) [bands]int64 {
	var least [bands * bandHashes]uint64
	for i := range least {
		least[i] = math.MaxUint64
	}
	for _, term := range tokens.Bag(n.Text) {
		for i := range least {
			least[i] = min(least[i], mix(uint64(term.ID)|uint64(i+1)<<32))
		}
	}
	var out [bands]int64
	target := targetOf(n)
	for b := range out {
		h := target + uint64(b)
		for _, l := range least[b*bandHashes : (b+1)*bandHashes] {
			h = mix(h ^ l)
		}
		out[b] = int64(h)
	}
	return out
}

// targetOf is a hash of what sameTarget compares: memories of different targets do
// not meet.
func targetOf(n memory.Node) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %q %q %q %q %q %q", n.Layer, n.Kind, n.Entity, n.Domain, n.Scene, n.Source.Document, otherSpeaker(n))
	return h.Sum64()
}

// mix spreads a number over 64 bits (the finaliser of SplitMix64, Steele 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// sameMeaning tells whether b says nothing that a does not say. In doubt they
// differ: a double is a nuisance, a lost statement is a fault.
func sameMeaning(a, b memory.Node) bool {
	return sameTarget(a, b) && a.Lives == b.Lives && reflect.DeepEqual(a.Claim, b.Claim) &&
		slices.Equal(marksOf(a.Text), marksOf(b.Text)) && sameText(a, b)
}

func sameText(a, b memory.Node) bool {
	x, y := sequenceOf(a.Text), sequenceOf(b.Text)
	if a.Layer != memory.Declared {
		x, y = slices.DeleteFunc(x, namesNothing), slices.DeleteFunc(y, namesNothing)
	}
	return slices.Equal(x, y)
}

// namesNothing tells whether a word may be there or not, and a text says the same.
func namesNothing(word string) bool {
	switch word {
	case "a", "an", "the", "的", "了":
		return true
	}
	return false
}

// sequenceOf gives the words, the Han letters and the signs that count of a text, in
// order and folded. Spaces and punctuation say nothing; a percent sign does. A text
// of signs alone is one word.
func sequenceOf(text string) (sequence []string) {
	word := ""
	end := func() {
		if word != "" {
			sequence = append(sequence, word)
		}
		word = ""
	}
	for _, r := range tokens.Fold(text) {
		switch {
		case unicode.Is(unicode.Han, r) || unicode.IsSymbol(r) || r == '%':
			end()
			sequence = append(sequence, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			word += string(r)
		default:
			end()
		}
	}
	if end(); len(sequence) == 0 {
		return []string{strings.TrimSpace(text)}
	}
	return sequence
}

// sameTarget compares what two memories are, and of what. Layers stay apart: what a
// user said and what was seen of him are two things, even in the same words.
func sameTarget(a, b memory.Node) bool {
	return a.Layer == b.Layer && a.Kind == b.Kind && a.Entity == b.Entity && a.Domain == b.Domain && a.Scene == b.Scene &&
		a.Source.Document == b.Source.Document && otherSpeaker(a) == otherSpeaker(b)
}

// otherSpeaker gives who speaks, unless it is the user, whose words those are of which
// nobody says whose.
func otherSpeaker(n memory.Node) string {
	if n.Source.Speaker == memory.UserSpeaks {
		return ""
	}
	return n.Source.Speaker
}

// marksOf gives the few marks of a text that turn its meaning while nearly all of
// its terms stay: its numbers and its negations, in order.
func marksOf(text string) (marks []string) {
	word := strings.FieldsFunc(foldMarks(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '.' && r != '-'
	})
	for _, w := range word {
		if isNegation(w) {
			marks = append(marks, "not")
			continue
		}
		marks = append(marks, marksIn(w)...)
	}
	return marks
}

// foldMarks gives one form to what is compared, as tokens does for terms.
func foldMarks(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case '！' <= r && r <= '～':
			return unicode.ToLower(r - '！' + '!')
		case r == '’':
			return '\''
		}
		if i := strings.IndexRune("沒無別萬億兩", r); i >= 0 {
			return []rune("没无别万亿两")[i/3]
		}
		return unicode.ToLower(r)
	}, text)
}

func isNegation(word string) bool {
	switch word {
	case "no", "not", "never", "none", "nothing", "without", "cannot", "neither", "nor":
		return true
	}
	return strings.HasSuffix(word, "n't")
}

// Letters that deny or count in Chinese.
const turningLetters = "不没无非别勿未莫零一二三四五六七八九十百千万亿半两"

// marksIn gives the numbers and the turning letters of a run.
func marksIn(run string) (marks []string) {
	number := ""
	for _, r := range run + " " {
		switch {
		case unicode.IsDigit(r), number != "" && r == '.':
			number += string(r)
			continue
		case number != "":
			marks = append(marks, strings.TrimSuffix(number, "."))
			number = ""
		}
		if strings.ContainsRune(turningLetters, r) {
			marks = append(marks, string(r))
		}
	}
	return marks
}
