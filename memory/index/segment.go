package index

import (
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// maxSegment bounds the entries of a segment: their numbers fit in 16 bits, so do
// the names of all their fields, and the dearest merge takes a few milliseconds.
const maxSegment = 8 << 10

// namesOfEntry is how many names an entry has.
const namesOfEntry = 6

// A segment is some entries of one user and their postings. It never changes.
type segment struct {
	names    []string // of sessions, entities and so on, each once; an entry's fields point here
	docs     []doc
	weights  []float32   // the different weights of each doc's terms, ascending
	dense    [][]float32 // by doc; nil where none has a vector
	postings postings
}

// A doc is what a segment holds of an entry besides its terms.
type doc struct {
	id                                            memory.ID
	at                                            int64 // microseconds since 1970
	order                                         int64
	weights                                       uint32 // where its own begin
	session, live, entity, platform, kind, status uint16 // in names
	layer                                         memory.Layer
}

// build makes a segment of entries, at most maxSegment, of one user.
func build(entries []memory.Entry) *segment {
	s := &segment{docs: make([]doc, 0, len(entries))}
	names := newNameTable(nil, namesOfEntry*len(entries))
	var all []occurrence
	for _, e := range entries {
		number := len(s.docs)
		d := names.docOf(e)
		d.weights = uint32(len(s.weights))
		s.docs = append(s.docs, d)
		all = s.weigh(all, number, e.Sparse)
		if e.Dense != nil && s.dense == nil {
			s.dense = make([][]float32, len(entries))
		}
		if e.Dense != nil {
			s.dense[number] = slices.Clone(e.Dense)
		}
	}
	s.names = slices.Clone(names.list)
	for i, name := range s.names {
		s.names[i] = strings.Clone(name) // else it would keep what it was cut from
	}
	s.weights = slices.Clone(s.weights) // the room that appending left is not kept
	s.postings = collected(all)
	return s
}

// An occurrence is a posting that has not found its list: the term, the doc and the
// level in one number, so that sorting is quick.
type occurrence uint64

// levelRoom is the bits of an occurrence for its level, of which an entry has at most
// one for each term. What is left to 32 is for the doc.
const levelRoom = 18

func occurs(term uint32, p posting) occurrence {
	return occurrence(term)<<32 | occurrence(p.doc)<<levelRoom | occurrence(p.level)
}

func (o occurrence) term() uint32 { return uint32(o >> 32) }
func (o occurrence) posting() posting {
	return posting{int(uint32(o) >> levelRoom), int(o & (1<<levelRoom - 1))}
}

// weigh takes the different weights of a doc, and appends its terms with their numbers.
func (s *segment) weigh(all []occurrence, number int, terms tokens.Vector) []occurrence {
	weights := make([]float32, 0, 8) // most texts have three or four
	for _, term := range terms {
		if level, known := slices.BinarySearch(weights, term.Weight); !known {
			weights = slices.Insert(weights, level, term.Weight)
		}
	}
	s.weights = append(s.weights, weights...)
	for _, term := range terms {
		level, _ := slices.BinarySearch(weights, term.Weight)
		all = append(all, occurs(term.ID, posting{number, level}))
	}
	return all
}

// collected makes postings of occurrences, which it sorts.
func collected(all []occurrence) (p postings) {
	slices.Sort(all)
	p.reserve(len(all), 3*len(all)) // a list of one posting has three bytes
	var l list
	last := 0
	for i, o := range all {
		l = l.add(last, o.posting())
		last = o.posting().doc
		if i == len(all)-1 || all[i+1].term() != o.term() {
			p.append(o.term(), l)
			l, last = l[:0], 0
		}
	}
	p.clip()
	return p
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
	s := &segment{postings: joined(&a.postings, &b.postings, len(a.docs))}
	s.weights = slices.Concat(a.weights, b.weights)
	s.takeDocs(a, b)
	return s
}

// takeDocs takes the docs of both. Those of a keep the numbers of their names.
func (s *segment) takeDocs(a, b *segment) {
	names := newNameTable(a.names, len(b.names))
	numbers := make([]uint16, len(b.names))
	for i, name := range b.names {
		numbers[i] = names.number(name)
	}
	s.names = slices.Clone(names.list) // the room for what both had is not kept
	s.docs = make([]doc, 0, len(a.docs)+len(b.docs))
	s.docs = append(s.docs, a.docs...)
	for _, d := range b.docs {
		d.weights += uint32(len(a.weights))
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

// without makes a segment of the docs that are not dropped.
func (s *segment) without(drop []bool) *segment {
	left := &segment{}
	names := newNameTable(nil, len(s.names))
	renumbered := make([]int, len(s.docs))
	for i, d := range s.docs {
		renumbered[i] = -1
		if drop[i] {
			continue
		}
		renumbered[i] = len(left.docs)
		d = names.adopt(d, s.names)
		own := s.weightsOf(i)
		d.weights = uint32(len(left.weights))
		left.weights = append(left.weights, own...)
		left.docs = append(left.docs, d)
		if s.dense != nil {
			left.dense = append(left.dense, s.dense[i])
		}
	}
	left.names, left.docs, left.weights = slices.Clone(names.list), slices.Clone(left.docs), slices.Clone(left.weights)
	left.postings = s.postings.kept(renumbered)
	return left
}

// weightsOf gives the different weights of the doc at i.
func (s *segment) weightsOf(i int) []float32 {
	if i == len(s.docs)-1 {
		return s.weights[s.docs[i].weights:]
	}
	return s.weights[s.docs[i].weights:s.docs[i+1].weights]
}

// found tells of a doc to who searched.
func (s *segment) found(user *user, number int, score float64) memory.Found {
	d := s.docs[number]
	return memory.Found{
		ID: d.id, Score: score, User: user.id, Session: host.SessionID(s.names[d.session]), Order: d.order, At: time.UnixMicro(d.at).UTC(),
	}
}
