package index

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// maxSegment bounds the entries of a segment: their numbers fit in 16 bits, so do
// the names of all their fields, and the dearest merge takes a few milliseconds.
const maxSegment = 8 << 10

// namesOfEntry is how many names an entry has.
const namesOfEntry = 6

// weightSteps is how finely a weight is kept: 16 bits for what is less than 4,
// which changes a score by less than a ten-thousandth.
const weightSteps = 1 << 14

// A segment is some entries of one user and their postings. It never changes.
type segment struct {
	names []string // of sessions, entities and so on, each once; an entry's fields point here
	docs  []doc
	dense [][]float32 // by doc; nil where none has a vector

	// The postings of terms[i] are those from ends[i-1] until ends[i].
	terms   []uint32 // ascending
	ends    []uint32
	posting []posting // by term, then by doc
}

// A doc is what a segment holds of an entry besides its terms.
type doc struct {
	id                                            memory.ID
	at                                            int64 // microseconds since 1970
	order                                         int64
	session, live, entity, platform, kind, status uint16 // in names
	layer                                         memory.Layer
}

// A posting says that a doc has a term.
type posting struct {
	doc    uint16
	weight uint16 // in weightSteps
}

// build makes a segment of entries, at most maxSegment, of one user.
func build(entries []memory.Entry) *segment {
	s := &segment{docs: make([]doc, 0, len(entries))}
	names := newNameTable(nil, namesOfEntry*len(entries))
	type occurrence struct {
		term uint32
		posting
	}
	var all []occurrence
	for _, e := range entries {
		number := uint16(len(s.docs))
		s.docs = append(s.docs, names.docOf(e))
		for _, term := range e.Sparse {
			all = append(all, occurrence{term.ID, posting{number, quantised(term.Weight)}})
		}
		if e.Dense != nil && s.dense == nil {
			s.dense = make([][]float32, len(entries))
		}
		if e.Dense != nil {
			s.dense[number] = slices.Clone(e.Dense)
		}
	}
	s.names = names.list
	for i, name := range s.names {
		s.names[i] = strings.Clone(name) // else it would keep what it was cut from
	}
	slices.SortFunc(all, func(a, b occurrence) int {
		return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.doc, b.doc))
	})
	for i, o := range all {
		s.posting = append(s.posting, o.posting)
		if i == len(all)-1 || all[i+1].term != o.term {
			s.closeTerm(o.term)
		}
	}
	return s.clip()
}

func quantised(weight float32) uint16 {
	return uint16(min(max(weight*weightSteps+0.5, 1), 1<<16-1))
}

// closeTerm ends the postings of a term.
func (s *segment) closeTerm(term uint32) {
	s.terms = append(s.terms, term)
	s.ends = append(s.ends, uint32(len(s.posting)))
}

func (s *segment) clip() *segment {
	s.names, s.docs = slices.Clone(s.names), slices.Clone(s.docs)
	s.terms, s.ends, s.posting = slices.Clone(s.terms), slices.Clone(s.ends), slices.Clone(s.posting)
	return s
}

// A nameTable gives each name a number.
type nameTable struct {
	list []string
	at   map[string]uint16 // nil while the list is short
}

// newNameTable makes a table that begins with names, for some more.
func newNameTable(names []string, more int) *nameTable {
	// Below this a look through the list costs less than a map of it.
	const fewSteps = 4096
	t := &nameTable{list: append(make([]string, 0, len(names)+more), names...)}
	if (len(names)+more)*more > fewSteps {
		t.at = make(map[string]uint16, len(names)+more)
		for i, name := range names {
			t.at[name] = uint16(i)
		}
	}
	return t
}

func (t *nameTable) number(name string) uint16 {
	if number, ok := t.find(name); ok {
		return number
	}
	number := uint16(len(t.list))
	t.list = append(t.list, name)
	if t.at != nil {
		t.at[name] = number
	}
	return number
}

func (t *nameTable) find(name string) (uint16, bool) {
	if t.at != nil {
		number, ok := t.at[name]
		return number, ok
	}
	i := slices.Index(t.list, name)
	return uint16(max(i, 0)), i >= 0
}

func (t *nameTable) docOf(e memory.Entry) doc {
	return doc{
		id:       memory.ID(strings.Clone(string(e.ID))),
		at:       e.At.UnixMicro(),
		order:    e.Order,
		session:  t.number(string(e.Session)),
		live:     t.number(string(e.Live)),
		entity:   t.number(e.Entity),
		platform: t.number(e.Platform),
		kind:     t.number(string(e.Kind)),
		status:   t.number(string(e.Status)),
		layer:    e.Layer,
	}
}

// adopt gives a doc of another segment as one of this table's.
func (t *nameTable) adopt(d doc, names []string) doc {
	d.session, d.live, d.entity = t.number(names[d.session]), t.number(names[d.live]), t.number(names[d.entity])
	d.platform, d.kind, d.status = t.number(names[d.platform]), t.number(names[d.kind]), t.number(names[d.status])
	return d
}

// merge makes one segment of two, the docs of b after those of a.
func merge(a, b *segment) *segment {
	shift := uint16(len(a.docs))
	terms := countTerms(a, b)
	s := &segment{
		terms:   make([]uint32, 0, terms),
		ends:    make([]uint32, 0, terms),
		posting: make([]posting, 0, len(a.posting)+len(b.posting)),
	}
	s.takeDocs(a, b)
	for i, j := 0, 0; i < len(a.terms) || j < len(b.terms); {
		term := leastTerm(a, i, b, j)
		if i < len(a.terms) && a.terms[i] == term {
			s.posting = append(s.posting, a.postings(i)...)
			i++
		}
		if j < len(b.terms) && b.terms[j] == term {
			for _, p := range b.postings(j) {
				s.posting = append(s.posting, posting{p.doc + shift, p.weight})
			}
			j++
		}
		s.closeTerm(term)
	}
	return s
}

// countTerms counts the terms of two segments, those of both once.
func countTerms(a, b *segment) int {
	count, from := len(a.terms)+len(b.terms), 0
	for _, term := range b.terms {
		at, both := slices.BinarySearch(a.terms[from:], term)
		if from += at; both {
			count--
		}
	}
	return count
}

// takeDocs takes the docs of both. Those of a keep the numbers of their names.
func (s *segment) takeDocs(a, b *segment) {
	names := newNameTable(a.names, len(b.names))
	numbers := make([]uint16, len(b.names))
	for i, name := range b.names {
		numbers[i] = names.number(name)
	}
	s.names = slices.Clip(names.list)
	s.docs = make([]doc, 0, len(a.docs)+len(b.docs))
	s.docs = append(s.docs, a.docs...)
	for _, d := range b.docs {
		d.session, d.live, d.entity = numbers[d.session], numbers[d.live], numbers[d.entity]
		d.platform, d.kind, d.status = numbers[d.platform], numbers[d.kind], numbers[d.status]
		s.docs = append(s.docs, d)
	}
	if a.dense != nil || b.dense != nil {
		s.dense = make([][]float32, len(s.docs))
		copy(s.dense, a.dense)
		copy(s.dense[len(a.docs):], b.dense)
	}
}

func leastTerm(a *segment, i int, b *segment, j int) uint32 {
	switch {
	case i == len(a.terms):
		return b.terms[j]
	case j == len(b.terms):
		return a.terms[i]
	}
	return min(a.terms[i], b.terms[j])
}

// without makes a segment of the docs that are not dropped.
func (s *segment) without(drop []bool) *segment {
	left := &segment{}
	names := newNameTable(nil, len(s.names))
	renumbered := make([]uint16, len(s.docs))
	for i, d := range s.docs {
		if drop[i] {
			continue
		}
		renumbered[i] = uint16(len(left.docs))
		left.docs = append(left.docs, names.adopt(d, s.names))
		if s.dense != nil {
			left.dense = append(left.dense, s.dense[i])
		}
	}
	left.names = names.list
	for i, term := range s.terms {
		before := len(left.posting)
		for _, p := range s.postings(i) {
			if !drop[p.doc] {
				left.posting = append(left.posting, posting{renumbered[p.doc], p.weight})
			}
		}
		if len(left.posting) > before {
			left.closeTerm(term)
		}
	}
	return left.clip()
}

// postings gives those of the term at i.
func (s *segment) postings(i int) []posting {
	start := uint32(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.posting[start:s.ends[i]]
}

// find gives the postings of a term. Terms are hashes and evenly spread, so that one
// stands near its share of the list: the search begins there and widens.
func (s *segment) find(term uint32) []posting {
	const width = 8
	guess := int(uint64(term) * uint64(len(s.terms)) >> 32)
	low, high := guess, guess
	for step := width; low > 0 && s.terms[low] > term; step *= 2 {
		low = max(low-step, 0)
	}
	for step := width; high < len(s.terms) && s.terms[high] < term; step *= 2 {
		high = min(high+step, len(s.terms))
	}
	if i, ok := slices.BinarySearch(s.terms[low:min(high+1, len(s.terms))], term); ok {
		return s.postings(low + i)
	}
	return nil
}

// found tells of a doc to who searched.
func (s *segment) found(user *user, number int, score float64) memory.Found {
	d := s.docs[number]
	return memory.Found{
		ID: d.id, Score: score, User: user.id, Session: host.SessionID(s.names[d.session]), Order: d.order, At: time.UnixMicro(d.at).UTC(),
	}
}
