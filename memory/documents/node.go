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
	MaxIDBytes    = 256 // a path or the id of a blob
	MaxTitleBytes = 512
)

// A Document is what all memories of one text have in common. ID, Tenant, User and
// Form are required; Trust is 1 and Freshness memory.Slow if they are left out.
type Document struct {
	ID        string // of the source, one line; chunks have "ID#1" and so on as Source.Document
	Title     string // context of every chunk; may be empty
	Form      Form
	Tenant    host.TenantID
	User      host.UserID
	At        time.Time // when it was given
	Valid     memory.Span
	Freshness memory.Freshness
	Trust     float64
	Entity    string // what it is about
	Domain    string
	Scene     string
}

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
	case d.Tenant == "" || d.User == "":
		return abi.NewProblem(abi.Missing, "%s has no tenant or no user that its memories belong to", d.ID).
			WithHint("say whose document it is").WithField("user")
	case !(d.Trust >= 0 && d.Trust <= 1): // NaN included
		return abi.NewProblem(abi.BadValue, "the trust in %s is not between 0 and 1 (got %v)", d.ID, d.Trust).
			WithHint("leave it out for 1").WithField("trust")
	}
	return nil
}

// Nodes gives a memory for each chunk that is not blank, in order, as Chunks does. The
// memories have no id and no Known: who keeps them gives both. What was given
// before an error is a part of a document, and should not be kept.
func (s *Splitter) Nodes() iter.Seq2[memory.Node, error] {
	return func(yield func(memory.Node, error) bool) {
		order := int64(0)
		for chunk, err := range s.Chunks() {
			if err != nil {
				yield(memory.Node{}, err)
				return
			}
			if strings.TrimSpace(chunk.Own) == "" {
				continue
			}
			order++
			if !yield(s.node(chunk, order), nil) {
				return
			}
		}
	}
}

// Parents gives the document's parents, in order, when all of it was read.
func (s *Splitter) Parents() []Parent { return slices.Clone(s.parents.done) }

func (s *Splitter) node(c Chunk, order int64) memory.Node {
	d := s.doc
	return memory.Node{
		Tenant: d.Tenant, User: d.User,
		Text: strings.TrimSpace(c.Text()), IndexText: d.indexText(c),
		Layer: memory.Fact, Kind: memory.FactOf, Status: memory.Active,
		Entity: d.Entity, Domain: d.Domain, Scene: d.Scene,
		Source: memory.Source{Document: parentID(d.ID, c.Parent), Order: order},
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
