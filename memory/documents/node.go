package documents

import (
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of a document's names, in bytes.
const (
	MaxIDBytes    = 240 // a path or the id of a blob; with the number of a part it is an id of a memory's source
	MaxTitleBytes = 512
)

// A Document is what all memories of one text have in common. ID and Form are
// required; Trust is 1 and Freshness memory.Slow if they are left out.
type Document struct {
	ID        string           `json:"id"`              // of the source, one line; what its memories have as Source.Document
	Title     string           `json:"title,omitempty"` // context of every chunk
	Form      Form             `json:"form"`
	At        time.Time        `json:"at,omitzero"` // when it was given
	Valid     memory.Span      `json:"valid,omitzero"`
	Freshness memory.Freshness `json:"freshness,omitempty"`
	Trust     float64          `json:"trust,omitempty"`
	Entity    string           `json:"entity,omitempty"` // what it is about
	Domain    string           `json:"domain,omitempty"`
	Scene     string           `json:"scene,omitempty"`
}

// A Piece is a memory of a chunk, with its place in the document.
type Piece struct {
	Node    memory.Node // its Text is the chunk's, to the letter
	Parent  int         // which part of the document it is from, from 1
	Start   int64       // of its own text, in bytes of the source
	Blank   int64       // bytes before Start that are in no piece: nothing but space
	Overlap int         // bytes at the beginning of the Text that are from the piece before
}

// End is where the piece's own text ends, in bytes of the source.
func (p Piece) End() int64 { return p.Start + int64(len(p.Node.Text)-p.Overlap) }

// NewSplitter makes a splitter of the document that r gives. It reads nothing yet. It
// fails, with an error of host.Fail, on a description that cannot be used.
func NewSplitter(r io.Reader, d Document) (*Splitter, error) {
	if problem := d.problem(); problem != nil {
		return nil, host.Fail("documents.NewSplitter", problem, nil)
	}
	if d.Trust == 0 {
		d.Trust = 1
	}
	if d.Freshness == "" {
		d.Freshness = memory.Slow
	}
	from := newSource(r)
	return &Splitter{from: from, cut: newSegmenter(from, d.Form), doc: d, parents: parents{document: d.ID}}, nil
}

// problem says what is wrong with a description, or nil.
func (d Document) problem() *abi.Problem {
	switch {
	case d.ID == "" || len(d.ID) > MaxIDBytes || strings.ContainsFunc(d.ID, unicode.IsControl):
		return abi.NewProblem(abi.BadValue, "the document needs an id of one line, of up to %d bytes", MaxIDBytes).
			WithHint("give the path of its file or the id of its blob").WithField("id")
	case len(d.Title) > MaxTitleBytes || strings.ContainsFunc(d.Title, unicode.IsControl):
		return abi.NewProblem(abi.BadValue, "the title of %s is not one line of up to %d bytes", d.ID, MaxTitleBytes).
			WithHint("give a shorter title, or none").WithField("title")
	case !slices.Contains([]Form{Plain, Markdown}, d.Form):
		return abi.NewProblem(abi.BadValue, "%s is of the form %q, which is not read", d.ID, d.Form).
			WithHint("turn it into plain text or Markdown").WithField("form").WithCandidates(string(Plain), string(Markdown))
	case !(d.Trust >= 0 && d.Trust <= 1): // NaN included
		return abi.NewProblem(abi.BadValue, "the trust in %s is not between 0 and 1 (got %v)", d.ID, d.Trust).
			WithHint("leave it out for 1").WithField("trust")
	}
	return nil
}

// Pieces gives a memory for each chunk that is not blank, in order, as Chunks does. The
// memories have no owner, no id and no Known: who keeps them gives these. What was given
// before an error is a part of a document, and should not be kept.
func (s *Splitter) Pieces() iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		blank, parent := int64(0), 0
		for chunk, err := range s.Chunks() {
			if err != nil {
				yield(Piece{}, err)
				return
			}
			if chunk.Parent != parent { // what is blank before it is of the part before
				blank, parent = 0, chunk.Parent
			}
			if strings.TrimSpace(chunk.Own) == "" {
				blank += int64(len(chunk.Own))
				continue
			}
			if !yield(Piece{Node: s.node(chunk), Parent: parent, Start: chunk.Start, Blank: blank, Overlap: len(chunk.Overlap)}, nil) {
				return
			}
			blank = 0
		}
	}
}

// Parents gives the document's parents, in order, when all of it was read.
func (s *Splitter) Parents() []Parent { return slices.Clone(s.parents.done) }

func (s *Splitter) node(c Chunk) memory.Node {
	d := s.doc
	return memory.Node{
		Text: c.Text(), IndexText: d.indexText(c),
		Layer: memory.Fact, Kind: memory.FactOf, Status: memory.Active,
		Entity: d.Entity, Domain: d.Domain, Scene: d.Scene,
		Source: memory.Source{Document: d.ID},
		At:     d.At, Valid: d.Valid, Freshness: d.Freshness, Trust: d.Trust,
	}
}

// indexText is the chunk's text under its title and headings; "" where it has none.
func (d Document) indexText(c Chunk) string {
	context := c.Headings
	if d.Title != "" && (len(context) == 0 || context[0] != d.Title) {
		context = append([]string{d.Title}, context...)
	}
	if len(context) == 0 {
		return ""
	}
	return strings.Join(context, " > ") + "\n" + strings.TrimSpace(c.Text())
}
