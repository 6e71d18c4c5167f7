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
	var hits []memory.ID
	documents := map[string]bool{}
	for _, n := range found {
		if n.Source.Document != "" && len(hits) < keeper.MaxRecall {
			hits = append(hits, n.ID)
			documents[n.Source.Document] = true
		}
	}
	if len(hits) == 0 {
		return s, nil
	}
	room := keeper.Room{Bytes: min(memory.MaxPassageBytes, passagesBytes/len(documents)), Pieces: min(passagePieces, passagesPieces/len(documents))}
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

// ids gives the memories whose words are shown, each once.
func (s shown) ids() (all []memory.ID) {
	seen := map[memory.ID]bool{}
	for _, n := range s.nodes {
		for _, id := range append([]memory.ID{n.ID}, s.around[n.ID].Pieces...) {
			if !seen[id] {
				seen[id] = true
				all = append(all, id)
			}
		}
	}
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
