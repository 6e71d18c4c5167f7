package index

import (
	"slices"
	"strings"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// A tenant is the entries of one. Nothing of it is shared with another.
type tenant struct {
	users  map[host.UserID]*user
	owners map[memory.ID]*user
	having map[uint32]uint32 // how many entries have a term
}

func newTenant() *tenant {
	return &tenant{users: map[host.UserID]*user{}, owners: map[memory.ID]*user{}, having: map[uint32]uint32{}}
}

// A user is the entries of one user. The slice is never written to: a write puts
// another in its place, so that a search may keep it.
type user struct {
	id       host.UserID
	segments []*segment
}

// A segment that has fewer entries than this, or than growth times those of the
// one behind it, is merged with it. Most users then have two segments: more would
// slow the search of all users, fewer each write. A large one is seldom rewritten.
const (
	smallSegment = 16
	growth       = 4
)

// put adds entries of one user, of which the tenant has none.
func (t *tenant) put(owner host.UserID, entries []memory.Entry) {
	u, ok := t.users[owner]
	if !ok {
		u = &user{id: host.UserID(strings.Clone(string(owner)))}
		t.users[u.id] = u
	}
	segments := slices.Clone(u.segments)
	for part := range slices.Chunk(entries, maxSegment) {
		added := build(part)
		for w := (walk{of: &added.postings}); !w.done(); {
			term := w.term()
			t.having[term] += uint32(w.take().count())
		}
		for _, d := range added.docs {
			t.owners[d.id] = u
		}
		segments = settle(append(segments, added))
	}
	u.segments = segments
}

// settle merges the last segments as far as they should be.
func settle(segments []*segment) []*segment {
	for len(segments) >= 2 {
		last, before := segments[len(segments)-1], segments[len(segments)-2]
		small := len(before.docs) < smallSegment || len(before.docs) < growth*len(last.docs)
		if !small || len(before.docs)+len(last.docs) > maxSegment {
			break
		}
		segments = append(segments[:len(segments)-2], merge(before, last))
	}
	return segments
}

// remove takes entries out, and what was only theirs.
func (t *tenant) remove(ids []memory.ID) {
	leaving := map[*user]map[memory.ID]bool{}
	for _, id := range ids {
		u, ok := t.owners[id]
		if !ok {
			continue
		}
		if leaving[u] == nil {
			leaving[u] = map[memory.ID]bool{}
		}
		leaving[u][id] = true
		delete(t.owners, id)
	}
	for u, gone := range leaving {
		t.removeOf(u, gone)
	}
}

func (t *tenant) removeOf(u *user, gone map[memory.ID]bool) {
	var left []*segment
	for _, s := range u.segments {
		if rest := t.strip(s, gone); len(rest.docs) > 0 {
			left = settle(append(left, rest))
		}
	}
	u.segments = left
	if len(left) == 0 {
		delete(t.users, u.id)
	}
}

// strip gives a segment without some docs, and counts their terms off.
func (t *tenant) strip(s *segment, gone map[memory.ID]bool) *segment {
	drop, found := make([]bool, len(s.docs)), false
	for i, d := range s.docs {
		drop[i] = gone[d.id]
		found = found || drop[i]
	}
	if !found {
		return s
	}
	t.discount(&s.postings, drop)
	return s.without(drop)
}

// discount counts off the terms of docs that are dropped.
func (t *tenant) discount(p *postings, drop []bool) {
	for w := (walk{of: p}); !w.done(); {
		term := w.term()
		var at posting
		for l := w.take(); len(l) > 0; {
			if at, l = l.next(at.doc); drop[at.doc] {
				t.having[term]--
			}
		}
		if t.having[term] == 0 {
			delete(t.having, term)
		}
	}
}
