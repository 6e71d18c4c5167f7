package recall

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// Bounds of what is shown around pieces of documents, of one recall.
const (
	passagesBytes  = 3 * memory.MaxPassageBytes // of all: three pages beside a conversation
	passagePieces  = 12                         // of one: a trace has room for those of three, beside what else is recalled
	passagesPieces = 36                         // of all
	maxPassages    = 6                          // more would be a few words each: what is found beyond stands alone
)

// A shown is what a model or a skill is given: memories, and for those that are pieces of
// documents the text that they stand in.
type shown struct {
	nodes  []memory.Node
	around map[memory.ID]keeper.Passage // by the memory that stands for it
}

// surround gives memories with the text around those that are pieces of documents.
// Several of one part of a document become one. Where the text cannot be read, the
// memories stand alone, and the failure is given with them.
func (r *Recall) surround(ctx context.Context, o keeper.Owner, found []memory.Node) (shown, error) {
	s := shown{nodes: found}
	hits, parts, err := r.firstParts(ctx, o, found)
	if err != nil || parts == 0 {
		return s, err
	}
	room := keeper.Room{Bytes: min(memory.MaxPassageBytes, passagesBytes/parts), Pieces: min(passagePieces, passagesPieces/parts)}
	passages, err := r.Keeper.Around(ctx, o, hits, room)
	if err != nil {
		return s, err
	}
	s.around = map[memory.ID]keeper.Passage{}
	merged := map[memory.ID]bool{}
	for _, p := range passages {
		s.around[p.Hits[0]] = p
		for _, id := range p.Hits[1:] {
			merged[id] = true
		}
	}
	s.nodes = slices.DeleteFunc(slices.Clone(found), func(n memory.Node) bool { return merged[n.ID] })
	return s, nil
}

// firstParts gives the pieces of documents among memories that are of the first
// maxPassages parts, and how many parts these are. Each becomes a passage.
func (r *Recall) firstParts(ctx context.Context, o keeper.Owner, found []memory.Node) (hits []memory.ID, parts int, err error) {
	var pieces []memory.ID
	for _, n := range found {
		if n.Source.Document != "" && len(pieces) < keeper.MaxRecall {
			pieces = append(pieces, n.ID)
		}
	}
	if len(pieces) == 0 {
		return nil, 0, nil
	}
	places, err := r.Keeper.Places(ctx, o, pieces)
	type part struct {
		document string
		no       int
	}
	taken := map[part]bool{}
	for _, id := range pieces {
		at, has := places[id]
		if of := (part{at.Document, at.Part}); has && (taken[of] || len(taken) < maxPassages) {
			taken[of] = true
			hits = append(hits, id)
		}
	}
	return hits, len(taken), err
}

// ids gives the memories whose words are shown, each once: those that were found, and
// then what stands around them.
func (s shown) ids() (all []memory.ID) {
	all = ids(s.nodes)
	for _, n := range s.nodes {
		all = append(all, s.around[n.ID].Pieces...)
	}
	return eachOnce(all)
}

func eachOnce(list []memory.ID) (once []memory.ID) {
	seen := map[memory.ID]bool{}
	for _, id := range list {
		if !seen[id] {
			seen[id] = true
			once = append(once, id)
		}
	}
	return once
}

// sourcesOf gives what a decision rests on, as a trace holds it: of too many those that
// were heard and found, before what stands around them.
func sourcesOf(heard []memory.ID, s shown) []memory.ID {
	all := eachOnce(slices.Concat(heard, s.ids()))
	all = all[:min(len(all), keeper.MaxTraceSources)]
	slices.Sort(all)
	return all
}

// text gives what is shown of one memory.
func (s shown) text(n memory.Node) string {
	if p, has := s.around[n.ID]; has {
		return p.Text
	}
	return n.Text
}

// texts gives what an answer may quote: as much as the model reads.
func (s shown) texts() []string {
	list := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		most := memory.MaxQuotedBytes
		if _, has := s.around[n.ID]; has {
			most = memory.MaxPassageBytes
		}
		list[i] = cut(s.text(n), most)
	}
	return list
}

// memories gives what a skill reads.
func (s shown) memories(scores map[memory.ID]float64) []abi.Memory {
	out := make([]abi.Memory, len(s.nodes))
	for i, n := range s.nodes {
		out[i] = abi.Memory{Kind: string(n.Kind), Text: s.text(n), Entity: n.Entity, Score: scores[n.ID]}
	}
	return out
}
