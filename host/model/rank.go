package model

// A Ranker says which of many tools some words are about, without a model: by
// the tools' names, descriptions, examples and arguments, in English and
// Chinese. It is the ranking of Offline. It is immutable and safe for
// concurrent use; to make one takes some ten microseconds for each tool.
type Ranker struct {
	index *index
	place []int // of a tool in the index; -1 where it has none
}

// NewRanker makes a ranker of tools. Of more than 2,000 the later ones are
// never found.
func NewRanker(tools []Tool) *Ranker {
	r := &Ranker{index: &index{holders: map[string]int{}}, place: make([]int, len(tools))}
	for i, t := range tools {
		if r.place[i] = -1; i < toolsMax {
			c, _ := newCandidate(t)
			r.place[i] = len(r.index.candidates)
			r.index.add(c)
		}
	}
	return r
}

// repeatScore is what an example that says the same is worth: more than a few
// words in common.
const repeatScore = 8.0

// Scores says for each tool, in the order in which they were given, how well
// the words fit it. 0 is not at all; there is no upper bound. Words that few
// tools know count more.
func (r *Ranker) Scores(text string) []float64 {
	scores := make([]float64, len(r.place))
	text = fold(text, utteranceRunes)
	asked := r.index.weigh(askedWords(text))
	for i, at := range r.place {
		if at < 0 {
			continue
		}
		scores[i], _ = match(r.index.candidates[at], asked)
		if r.index.candidates[at].repeats(text) {
			scores[i] += repeatScore
		}
	}
	return scores
}

// Words gives what a text is about: its words in one form each, without those
// that say nothing and without values; of Chinese each character and each pair
// of neighbours. At most the first 2,000 characters are read.
func Words(text string) []string { return askedWords(fold(text, utteranceRunes)) }
