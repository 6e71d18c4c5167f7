package index

import (
	"encoding/binary"
	"slices"
)

// postings holds, by term, which docs of a segment have it and with which of the
// doc's weights. A list of postings is bytes: its length, then for each doc the
// distance from the doc before and the number of the weight, which is small. In a
// user's memories most terms are rare and most lists take three bytes.
type postings struct {
	terms []uint32 // ascending
	skips []uint32 // where each list begins whose number is a multiple of stride
	lists []byte
}

// stride is how many lists are stepped over at most to come to one.
const stride = 8

// A list is the postings of one term.
type list []byte

// A posting says that a doc has a term.
type posting struct {
	doc   int
	level int // of the doc's weights, by size
}

// levelBits of a posting's first number hold a level that is small, and the sign
// that another number follows for one that is not.
const (
	levelBits = 2
	moreLevel = 1<<levelBits - 1
)

// add appends a posting to a list whose last doc is given; 0 for an empty one.
func (l list) add(last int, p posting) list {
	l = binary.AppendUvarint(l, uint64(p.doc-last)<<levelBits|uint64(min(p.level, moreLevel)))
	if p.level >= moreLevel {
		l = binary.AppendUvarint(l, uint64(p.level-moreLevel))
	}
	return l
}

// next takes the first posting off a list that is not empty.
func (l list) next(last int) (posting, list) {
	first, n := uvarint(l)
	p := posting{last + int(first>>levelBits), int(first & moreLevel)}
	l = l[n:]
	if p.level == moreLevel {
		more, n := uvarint(l)
		p.level += int(more)
		l = l[n:]
	}
	return p, l
}

// uvarint reads a number; most have one byte.
func uvarint(data []byte) (uint64, int) {
	if data[0] < 0x80 {
		return uint64(data[0]), 1
	}
	return binary.Uvarint(data)
}

// last gives the last doc of a list.
func (l list) last() int {
	var p posting
	for len(l) > 0 {
		p, l = l.next(p.doc)
	}
	return p.doc
}

// count gives how many docs a list has.
func (l list) count() (count int) {
	var p posting
	for ; len(l) > 0; count++ {
		p, l = l.next(p.doc)
	}
	return count
}

// then joins a list of docs that come after its own, by shift further.
func (l list) then(other list, shift int) list {
	last := 0
	if len(l) > 0 {
		last = l.last()
	}
	p, rest := other.next(0)
	return append(l.add(last, posting{p.doc + shift, p.level}), rest...)
}

// append adds the next term, whose list is not empty.
func (p *postings) append(term uint32, l list) {
	if len(p.terms)%stride == 0 {
		p.skips = append(p.skips, uint32(len(p.lists)))
	}
	p.terms = append(p.terms, term)
	p.lists = binary.AppendUvarint(p.lists, uint64(len(l)))
	p.lists = append(p.lists, l...)
}

// find gives the list of a term, empty where it has none. Terms are hashes and evenly
// spread, so that one stands near its share of all: the search begins there and widens.
func (p *postings) find(term uint32) list {
	const width = 8
	terms := p.terms
	guess := int(uint64(term) * uint64(len(terms)) >> 32)
	low, high := guess, guess
	for step := width; low > 0 && terms[low] > term; step *= 2 {
		low = max(low-step, 0)
	}
	for step := width; high < len(terms) && terms[high] < term; step *= 2 {
		high = min(high+step, len(terms))
	}
	i, ok := slices.BinarySearch(terms[low:min(high+1, len(terms))], term)
	if !ok {
		return nil
	}
	return p.list(low + i)
}

// list gives the list of the term at i.
func (p *postings) list(i int) list {
	at := int(p.skips[i/stride])
	for range i % stride {
		length, n := uvarint(p.lists[at:])
		at += n + int(length)
	}
	length, n := uvarint(p.lists[at:])
	return list(p.lists[at+n : at+n+int(length)])
}

// reserve makes room for terms and bytes.
func (p *postings) reserve(terms, bytes int) {
	p.terms = make([]uint32, 0, terms)
	p.skips = make([]uint32, 0, terms/stride+1)
	p.lists = make([]byte, 0, bytes)
}

// clip gives back the room that was not needed, where it is worth a copy.
func (p *postings) clip() {
	if spare := cap(p.lists) - len(p.lists); spare > len(p.lists)/16 {
		p.lists = slices.Clone(p.lists)
	}
	if spare := cap(p.terms) - len(p.terms); spare > len(p.terms)/16 {
		p.terms, p.skips = slices.Clone(p.terms), slices.Clone(p.skips)
	}
}

// joined gives the postings of two segments, the docs of b after the shift docs of a.
func joined(a, b *postings, shift int) (both postings) {
	both.reserve(countTerms(a.terms, b.terms), len(a.lists)+len(b.lists)+len(b.terms))
	var merged list
	for left, right := (walk{of: a}), (walk{of: b}); !left.done() || !right.done(); {
		switch {
		case right.done() || !left.done() && left.term() < right.term():
			both.append(left.term(), left.take())
			continue
		case left.done() || right.term() < left.term():
			merged = merged[:0]
		default:
			merged = append(merged[:0], left.take()...)
		}
		term := right.term()
		merged = merged.then(right.take(), shift)
		both.append(term, merged)
	}
	both.clip()
	return both
}

// countTerms counts the terms of two lists, those of both once. It is meant for a
// second one that is short.
func countTerms(a, b []uint32) int {
	count, from := len(a)+len(b), 0
	for _, term := range b {
		at, both := slices.BinarySearch(a[from:], term)
		if from += at; both {
			count--
		}
	}
	return count
}

// A walk goes through postings term by term.
type walk struct {
	of    *postings
	i, at int
}

func (w *walk) done() bool   { return w.i == len(w.of.terms) }
func (w *walk) term() uint32 { return w.of.terms[w.i] }

// take gives the list of the term and goes to the next one.
func (w *walk) take() list {
	length, n := uvarint(w.of.lists[w.at:])
	start := w.at + n
	w.i, w.at = w.i+1, start+int(length)
	return list(w.of.lists[start:w.at])
}

// kept gives the postings of those docs that have a new number, -1 being none.
func (p *postings) kept(renumbered []int) (left postings) {
	var remaining list
	for w := (walk{of: p}); !w.done(); {
		remaining = remaining[:0]
		term, last := w.term(), 0
		var at posting
		for l := w.take(); len(l) > 0; {
			at, l = l.next(at.doc)
			if number := renumbered[at.doc]; number >= 0 {
				remaining = remaining.add(last, posting{number, at.level})
				last = number
			}
		}
		if len(remaining) > 0 {
			left.append(term, remaining)
		}
	}
	left.clip()
	return left
}
