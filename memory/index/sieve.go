package index

import (
	"slices"

	"github.com/sluicehq/sluice/memory"
)

// A sieve is a filter, with its names as the numbers of one segment.
type sieve struct {
	nothing                         bool // a name of the filter is not in the segment
	session, live, entity, platform *uint16
	kinds, statuses                 []uint16 // any, where empty
	layers                          []memory.Layer
	since, until                    int64 // microseconds
	hasSince, hasUntil              bool
}

func newSieve(f memory.Filter, s *segment) *sieve {
	w := &sieve{layers: f.Layers, hasSince: !f.Since.IsZero(), hasUntil: !f.Until.IsZero(), since: f.Since.UnixMicro(), until: f.Until.UnixMicro()}
	one := func(name string) *uint16 {
		if name == "" {
			return nil
		}
		number := slices.Index(s.names, name)
		w.nothing = w.nothing || number < 0
		return new(uint16(number))
	}
	w.session, w.live, w.entity, w.platform = one(string(f.Session)), one(string(f.Live)), one(f.Entity), one(f.Platform)
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = []memory.Status{memory.Active}
	}
	w.statuses, w.kinds = numbersOf(s.names, statuses), numbersOf(s.names, f.Kinds)
	w.nothing = w.nothing || len(w.statuses) == 0 || len(f.Kinds) > 0 && len(w.kinds) == 0
	return w
}

// numbersOf gives the numbers of those names that the segment has.
func numbersOf[N ~string](names []string, wanted []N) []uint16 {
	var numbers []uint16
	for _, name := range wanted {
		if number := slices.Index(names, string(name)); number >= 0 {
			numbers = append(numbers, uint16(number))
		}
	}
	return numbers
}

func (w *sieve) passes(d doc) bool {
	is := func(want *uint16, got uint16) bool { return want == nil || *want == got }
	in := func(any []uint16, got uint16) bool { return len(any) == 0 || slices.Contains(any, got) }
	return !w.nothing &&
		is(w.session, d.session) && is(w.live, d.live) && is(w.entity, d.entity) && is(w.platform, d.platform) &&
		in(w.kinds, d.kind) && in(w.statuses, d.status) &&
		(len(w.layers) == 0 || slices.Contains(w.layers, d.layer)) &&
		(!w.hasSince || d.at >= w.since) && (!w.hasUntil || d.at < w.until)
}
