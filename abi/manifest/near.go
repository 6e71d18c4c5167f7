package manifest

import (
	"cmp"
	"slices"

	"github.com/sluicehq/sluice/abi"
)

// maxCandidates bounds the candidates of one problem: more than a model, or a
// person, takes in.
const maxCandidates = 12

// near gives the words that somebody who wrote word may have meant, nearest
// first.
func near(word string, words []string) []string {
	return abi.Nearest(cut(word, maxWordBytes), words, maxCandidates)
}

// maxWordBytes bounds what is compared letter by letter.
const maxWordBytes = 100

// byNearness gives the words nearest to word first, at most maxCandidates.
func byNearness(word string, words []string) []string {
	type scored struct {
		word     string
		distance int
	}
	all := make([]scored, len(words))
	for i, w := range words {
		all[i] = scored{w, abi.EditDistance(cut(word, maxWordBytes), w)}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.distance, b.distance) })
	sorted := make([]string, min(len(all), maxCandidates))
	for i := range sorted {
		sorted[i] = all[i].word
	}
	return sorted
}

// guess gives a hint that names the nearest of several words, or all of them.
func guess(word string, words []string) string {
	if found := near(word, words); len(found) > 0 {
		return "did you mean " + found[0] + "?"
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return "there is " + words[0]
	}
	return "there are " + joinNames(words)
}
