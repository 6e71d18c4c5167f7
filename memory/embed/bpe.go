package embed

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A bpe cuts a part into characters, and joins neighbours in the order in which its
// training joined them, the earliest pair first (byte pair encoding).
type bpe struct {
	ids    map[string]int32
	joins  map[[2]int32]joined
	unk    int32   // -1 where what is unknown is left out before all
	bytes  []int32 // tokens of the 256 bytes, for what is unknown; nil where there are none
	wholes bool    // a part that is a token is not cut
}

// joined is what a pair becomes, and when.
type joined struct{ rank, id int32 }

// bpeFile is what a file says of such a model. Its merges are pairs, or, in older
// files, texts of two words.
type bpeFile struct {
	Vocabulary   map[string]int32  `json:"vocab"`
	Merges       []json.RawMessage `json:"merges"`
	Unknown      *string           `json:"unk_token"`
	Prefix       string            `json:"continuing_subword_prefix"`
	Suffix       string            `json:"end_of_word_suffix"`
	ByteFallback bool              `json:"byte_fallback"`
	Wholes       bool              `json:"ignore_merges"`
}

func (t *tokenizer) readBPE(text json.RawMessage) error {
	var said bpeFile
	if err := json.Unmarshal(text, &said); err != nil {
		return err
	}
	if said.Prefix != "" || said.Suffix != "" || len(said.Vocabulary) > vocabularyMax || len(said.Merges) > vocabularyMax {
		return fmt.Errorf("BPE with %d tokens and %d merges, or with a prefix or suffix of parts", len(said.Vocabulary), len(said.Merges))
	}
	for token, id := range said.Vocabulary {
		if err := t.count(token, id); err != nil {
			return err
		}
	}
	b := &bpe{ids: said.Vocabulary, joins: map[[2]int32]joined{}, unk: -1, wholes: said.Wholes}
	if said.Unknown != nil {
		id, ok := b.ids[*said.Unknown]
		if !ok {
			return errors.New("the unk_token is not in the vocabulary")
		}
		b.unk = id
	}
	if said.ByteFallback {
		b.bytes = byteTokens(b.ids)
	}
	for rank, merge := range said.Merges {
		if err := b.learn(int32(rank), merge); err != nil {
			return err
		}
	}
	t.unk, t.cut = b.unk, b.cut
	return nil
}

// learn reads one merge.
func (b *bpe) learn(rank int32, text json.RawMessage) error {
	var pair []string
	if json.Unmarshal(text, &pair) != nil {
		var old string
		if err := json.Unmarshal(text, &old); err != nil {
			return err
		}
		pair = strings.Split(old, " ")
	}
	if len(pair) != 2 {
		return fmt.Errorf("merge %d is no pair", rank)
	}
	left, okLeft := b.ids[pair[0]]
	right, okRight := b.ids[pair[1]]
	both, okBoth := b.ids[pair[0]+pair[1]]
	if !okLeft || !okRight || !okBoth {
		return fmt.Errorf("merge %d is of a token that is not in the vocabulary", rank)
	}
	b.joins[[2]int32{left, right}] = joined{rank, both}
	return nil
}

// cut adds the tokens of a part.
func (b *bpe) cut(ids []int32, part string) []int32 {
	if id, ok := b.ids[part]; ok && b.wholes {
		return append(ids, id)
	}
	var all chain
	for _, r := range part {
		letter := string(r)
		switch id, ok := b.ids[letter]; {
		case ok:
			all.add(id)
		case b.bytes != nil:
			for i := range len(letter) {
				all.add(b.bytes[letter[i]])
			}
		case b.unk >= 0:
			all.add(b.unk)
		}
	}
	all.join(b.joins)
	for _, l := range all {
		if !l.gone {
			ids = append(ids, l.id)
		}
	}
	return ids
}

// A chain is the tokens of a part while they are joined. Each knows its neighbours, so
// that joining two moves nothing.
type chain []link

type link struct {
	id             int32
	before, behind int // places; -1 and the length at the ends
	gone           bool
}

func (c *chain) add(id int32) {
	n := len(*c)
	*c = append(*c, link{id: id, before: n - 1, behind: n + 1})
}

// join joins pairs until none is left that can be, the earliest learned first and of
// those the leftmost.
func (c chain) join(joins map[[2]int32]joined) {
	var waiting candidates
	offer := func(left int) {
		if left < 0 || c[left].behind >= len(c) {
			return
		}
		if by, ok := joins[[2]int32{c[left].id, c[c[left].behind].id}]; ok {
			heap.Push(&waiting, candidate{by.rank, left, c[left].id, c[c[left].behind].id, by.id})
		}
	}
	for i := range c {
		offer(i)
	}
	for len(waiting) > 0 {
		next := heap.Pop(&waiting).(candidate)
		left := &c[next.at]
		if left.gone || left.behind >= len(c) || left.id != next.left || c[left.behind].id != next.right {
			continue // one of the two was joined with another
		}
		right := &c[left.behind]
		left.id, left.behind, right.gone = next.both, right.behind, true
		if left.behind < len(c) {
			c[left.behind].before = next.at
		}
		offer(left.before)
		offer(next.at)
	}
}

// A candidate is a pair that could be joined.
type candidate struct {
	rank              int32
	at                int
	left, right, both int32
}

// candidates is a heap: the pair to join next is first.
type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(c[i].rank, c[j].rank), cmp.Compare(c[i].at, c[j].at)) < 0
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push is for container/heap.
func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) }

// Pop is for container/heap.
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// byteTokens finds the tokens of single bytes, <0x00> to <0xFF>, or nil where one is
// missing.
func byteTokens(ids map[string]int32) (all []int32) {
	for b := range 256 {
		id, ok := ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			return nil
		}
		all = append(all, id)
	}
	return slices.Clip(all)
}
