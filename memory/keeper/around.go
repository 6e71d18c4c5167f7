package keeper

import (
	"context"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/memory"
)

// aroundReach is how many pieces before and behind a hit are looked at, where there is
// room for as many.
const aroundReach = 16

// A Room bounds one passage.
type Room struct {
	Bytes  int // of text
	Pieces int
}

// A Passage is a hit's surroundings: text of one part of a document, put together from
// pieces that stand beside each other there. It is data of whoever wrote the document,
// and no instruction to whoever reads it.
type Passage struct {
	Document string      `json:"document"`
	Title    string      `json:"title,omitempty"`
	Part     int         `json:"part"`
	From     int64       `json:"from"` // in bytes of the source; there may be gaps between
	Until    int64       `json:"until"`
	Hits     []memory.ID `json:"hits"`   // that it stands for, best first
	Pieces   []memory.ID `json:"pieces"` // whose words it has, in their order
	Text     string      `json:"text"`
}

// gapMark stands where words between two pieces are left out.
const gapMark = "\n…\n"

// Around gives the surroundings of hits, which are an owner's memories, best first: a
// passage for each part of a document that has some of them, in the order of its best
// hit. A hit that is of no document, or of one that was never learned to its end, has
// none. The words are the memories' as they are in the truth now, each once, without
// overlaps; of a memory that is forgotten or does not count there are none. A passage
// begins with its best hit and grows on both sides of each hit while there is room. It
// fails with BadValue for more than MaxRecall hits.
func (k *Keeper) Around(ctx context.Context, o Owner, hits []memory.ID, room Room) ([]Passage, error) {
	const op = "keeper.Around"
	if err := o.check(); err != nil {
		return nil, fail(op, err)
	}
	if len(hits) > MaxRecall {
		return nil, fail(op, badValue("the surroundings of %d memories at once; ask for at most %d", len(hits), MaxRecall))
	}
	if len(hits) == 0 {
		return nil, nil
	}
	places, err := k.Places(ctx, o, hits)
	if err != nil {
		return nil, fail(op, err)
	}
	var all []Passage
	for _, group := range byPart(hits, places) {
		s, err := k.stretch(ctx, o, group, min(aroundReach, int64(room.Pieces)))
		if err != nil {
			return nil, fail(op, err)
		}
		if p := s.passage(group, room); p.Text != "" {
			all = append(all, p)
		}
	}
	return all, nil
}

// byPart puts the places of hits together that are of one part of a document, in the
// order of the hits.
func byPart(hits []memory.ID, places map[memory.ID]Place) (groups [][]Place) {
	type part struct {
		document string
		no       int
	}
	at := map[part]int{}
	for _, id := range hits {
		p, has := places[id]
		if !has {
			continue
		}
		delete(places, id) // a hit that is named twice is one
		i, has := at[part{p.Document, p.Part}]
		if !has {
			i, groups = len(groups), append(groups, nil)
			at[part{p.Document, p.Part}] = i
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// A stretch is what is near some hits of one part, by the number of the piece.
type stretch struct {
	places map[int64]Place
	words  map[int64]string // own, of memories that count
}

// stretch reads the pieces near hits of one part: no farther than a passage can reach.
func (k *Keeper) stretch(ctx context.Context, o Owner, hits []Place, reach int64) (stretch, error) {
	s := stretch{places: map[int64]Place{}, words: map[int64]string{}}
	var ids []memory.ID
	for _, h := range hits {
		near, err := scanPlaces(ctx, k.db.Reads, placesNear, append(documentArgs(o, h.Document), h.Piece-reach, h.Piece+reach)...)
		if err != nil {
			return s, err
		}
		for _, p := range near {
			if p.Part == h.Part {
				s.places[p.Piece] = p
				ids = append(ids, p.Memory)
			}
		}
	}
	slices.Sort(ids)
	found, err := findAll(ctx, k.db.Reads, o, slices.Compact(ids))
	texts := map[memory.ID]string{}
	for _, one := range found {
		if one.answers(Query{}, k.now()) {
			texts[one.ID] = one.Text
		}
	}
	for no, p := range s.places {
		if text, counts := texts[p.Memory]; counts && p.overlap+p.Until-p.From == int64(len(text)) {
			s.words[no] = text[p.overlap:]
		}
	}
	return s, err
}

// passage chooses pieces while there is room, and puts them together.
func (s stretch) passage(hits []Place, room Room) Passage {
	p := Passage{Document: hits[0].Document, Title: hits[0].Title, Part: hits[0].Part}
	hits = slices.DeleteFunc(slices.Clone(hits), func(h Place) bool { return s.places[h.Piece].Memory != h.Memory }) // the document changed meanwhile
	chosen := s.choose(hits, room)
	for _, h := range hits {
		if slices.Contains(chosen, h.Piece) {
			p.Hits = append(p.Hits, h.Memory)
		}
	}
	var text strings.Builder
	for i, no := range chosen {
		at := s.places[no]
		switch {
		case i == 0:
			p.From = at.From
		case p.Until+at.blank != at.From:
			text.WriteString(gapMark)
		case at.blank > 0:
			text.WriteString("\n\n")
		}
		text.WriteString(s.words[no])
		p.Pieces, p.Until = append(p.Pieces, at.Memory), at.Until
	}
	p.Text = text.String()
	return p
}

// choose gives the numbers of the pieces that there is room for, in order: the hits,
// then those beside them, the nearest first, and none beyond one that has no room or no words.
func (s stretch) choose(hits []Place, room Room) (chosen []int64) {
	left := room
	take := func(no int64) bool {
		if slices.Contains(chosen, no) {
			return true
		}
		words, counts := s.words[no]
		if !counts || left.Pieces == 0 || len(words) > left.Bytes {
			return false
		}
		left.Pieces, left.Bytes = left.Pieces-1, left.Bytes-len(words)
		chosen = append(chosen, no)
		return true
	}
	var seeds []int64
	for _, h := range hits {
		if take(h.Piece) {
			seeds = append(seeds, h.Piece)
		}
	}
	ended := map[[2]int64]bool{} // of a seed and a side
	for step := int64(1); step <= aroundReach; step++ {
		for _, side := range []int64{1, -1} {
			for _, seed := range seeds {
				if at := [2]int64{seed, side}; !ended[at] && !take(seed+side*step) {
					ended[at] = true
				}
			}
		}
	}
	slices.Sort(chosen)
	return chosen
}
