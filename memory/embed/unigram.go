package embed

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// unknownPenalty is how far an unknown character is below the rarest token, as
// SentencePiece has it.
const unknownPenalty = 10

// A unigram cuts a text into the tokens that are likeliest together.
type unigram struct {
	ids     map[string]int32
	scores  []float64
	longest int // token, in bytes
	unk     int32
	worst   float64 // score of an unknown character
	bytes   []int32 // tokens of the 256 bytes, for what is unknown; nil where there are none
}

func (t *tokenizer) readUnigram(vocabulary json.RawMessage, unknown *int32, byteFallback bool) error {
	var tokens []scored
	if err := json.Unmarshal(vocabulary, &tokens); err != nil {
		return fmt.Errorf("its vocabulary: %w", err)
	}
	if unknown == nil || *unknown < 0 || int(*unknown) >= len(tokens) || len(tokens) > vocabularyMax {
		return fmt.Errorf("Unigram with %d tokens, and perhaps no unk_id among them", len(tokens))
	}
	u := &unigram{ids: make(map[string]int32, len(tokens)), unk: *unknown, worst: math.Inf(1)}
	for i, token := range tokens {
		if err := t.count(token.text, int32(i)); err != nil {
			return err
		}
		u.ids[token.text] = int32(i)
		u.scores = append(u.scores, token.score)
		u.longest = max(u.longest, len(token.text))
		u.worst = min(u.worst, token.score-unknownPenalty)
	}
	if byteFallback {
		u.bytes = byteTokens(u.ids)
	}
	t.unk, t.cut = u.unk, u.cut
	return nil
}

// A scored is a token and the logarithm of its probability: ["▁the", -3.5].
type scored struct {
	text  string
	score float64
}

// UnmarshalJSON reads a pair.
func (s *scored) UnmarshalJSON(text []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errors.New("a token that is no pair of a text and a score")
	}
	if err := json.Unmarshal(pair[0], &s.text); err != nil {
		return err
	}
	return json.Unmarshal(pair[1], &s.score)
}

// A way is the best one to a place of a text.
type way struct {
	score float64
	from  int // where its last token begins; -1 where no way leads
	id    int32
}

// cut adds the tokens of a text. It goes by the best way to each place, which is that
// to an earlier place and one token.
func (u *unigram) cut(ids []int32, text string) []int32 {
	best := make([]way, len(text)+1)
	for i := range best {
		best[i].from = -1
	}
	for from := 0; from < len(text); {
		_, size := utf8.DecodeRuneInString(text[from:])
		single := false
		for to := from + size; to <= min(len(text), from+u.longest); {
			if id, ok := u.ids[text[from:to]]; ok {
				best[to].improve(way{best[from].score + u.scores[id], from, id})
				single = single || to == from+size
			}
			_, next := utf8.DecodeRuneInString(text[to:])
			to += max(next, 1)
		}
		if !single {
			best[from+size].improve(way{best[from].score + u.worst, from, u.unk})
		}
		from += size
	}
	return u.back(ids, text, best)
}

func (w *way) improve(by way) {
	if w.from < 0 || by.score > w.score {
		*w = by
	}
}

// back follows the ways from the end, and adds their tokens in order.
func (u *unigram) back(ids []int32, text string, best []way) []int32 {
	begin := len(ids)
	for to := len(text); to > 0; to = best[to].from {
		w := best[to]
		if w.id != u.unk || u.bytes == nil {
			ids = append(ids, w.id)
			continue
		}
		for i := to - 1; i >= w.from; i-- {
			ids = append(ids, u.bytes[text[i]])
		}
	}
	for i, j := begin, len(ids)-1; i < j; i, j = i+1, j-1 {
		ids[i], ids[j] = ids[j], ids[i]
	}
	return ids
}
