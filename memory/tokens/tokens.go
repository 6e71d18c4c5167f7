package tokens

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Bounds of one text.
const (
	// MaxTextBytes is how much of a text is read; the rest is not found. It is four
	// times what a memory may hold, so that nothing of one is lost.
	MaxTextBytes = 64 << 10
	// maxWordBytes cuts what is no word, such as an encoded picture, and keeps a
	// long address apart from another one.
	maxWordBytes = 64
)

// The constants of BM25, and the weights of words that say little. They were chosen
// on half of the scopes that memory/measure reads.
const (
	saturation = 0.45 // k1: how much a second occurrence adds
	lengthBias = 0.45 // b: how far a long text counts less
	usualTerms = 40   // the length of a text that is neither long nor short. An average of what an index holds would change the weights of what it already holds

	askingShare     = 0.8  // of a text that ends with a question: who asks does not tell
	functionShare   = 0.33 // of a word such as "the": not 0, since it may be a name
	questionShare   = 0.1  // of a word such as 什么, which is rare in what answers it
	momentShare     = 0.25 // of a word such as "yesterday", to a question of when
	leadingShare    = 0.25 // of a letter that may be a name, or else says nothing
	letterShare     = 0.25 // of a letter that stands alone in a question, where a text has it within a word
	longestQuestion = 4 << 10
)

// A Term is one term of a text: the hash of its letters, and its weight.
type Term struct {
	ID     uint32
	Weight float32
}

// A Vector is the terms of a text, by ascending id, each id once.
type Vector []Term

// Document gives the terms of a text that is to be found, weighed by how often they
// occur and how long the text is. The rarity of a term is for the index to add.
func Document(text string) Vector {
	ids := termIDs(text)
	length := len(ids) // letters say the same again
	ids = append(ids, letters(text)...)
	share := 1.0
	if asks(text) {
		share = askingShare
	}
	norm := saturation * (1 - lengthBias + lengthBias*float64(length)/usualTerms)
	return collect(ids, func(_ uint32, count int) float32 {
		return float32(share * float64(count) * (saturation + 1) / (float64(count) + norm))
	})
}

// asks reports whether a text ends with a question.
func asks(text string) bool {
	text = strings.TrimSpace(head(text, MaxTextBytes))
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// Bag gives the terms of a text, weighed by how often they occur: for who compares
// texts with each other.
func Bag(text string) Vector {
	return collect(termIDs(text), func(_ uint32, count int) float32 { return float32(count) })
}

// collect makes a vector of ids, and sorts them for that.
func collect(ids []uint32, weigh func(id uint32, count int) float32) Vector {
	slices.Sort(ids)
	vector := make(Vector, 0, len(ids))
	for start := 0; start < len(ids); {
		end := start + 1
		for end < len(ids) && ids[end] == ids[start] {
			end++
		}
		vector = append(vector, Term{ID: ids[start], Weight: weigh(ids[start], end-start)})
		start = end
	}
	return slices.Clip(vector)
}

// Fold gives a text in the one form of its letters that terms are made of: lower case,
// simplified, of usual width, composed (NFKC) and without accents. Nothing else of it changes.
func Fold(text string) string { return strings.Map(fold, norm.NFKC.String(text)) }

// Find gives the weight of a term, 0 where the vector lacks it.
func (v Vector) Find(id uint32) float32 {
	at, ok := slices.BinarySearchFunc(v, id, func(t Term, id uint32) int { return cmp.Compare(t.ID, id) })
	if !ok {
		return 0
	}
	return v[at].Weight
}

func termIDs(text string) []uint32 {
	ids := make([]uint32, 0, len(text)/4)
	for term := range terms(text) {
		ids = append(ids, termID(term))
	}
	return ids
}

// termID is FNV-1a, 32 bits: indexes keep it, so it never changes.
func termID(term []byte) uint32 {
	const start, prime = 2166136261, 16777619
	hash := uint32(start)
	for _, b := range term {
		hash = (hash ^ uint32(b)) * prime
	}
	return hash
}

// MaxWeight is more than any weight that [Document] gives.
const MaxWeight = saturation + 1
