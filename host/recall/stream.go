package recall

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// streamPage is how many records one statement reads of a stream: there are two for each
// tool that is observed, and each holds that many.
const streamPage = 250

// A stream is a part of a log that the store finds by an index, from its newest record
// down.
type stream struct {
	tenant host.TenantID
	filter state.RecordFilter
	page   []host.Record // read, and not taken yet
	over   bool          // nothing comes behind the page
}

// streams gives the parts of a log that a passage is made of. Of some tools the calls
// are found by their names, and with them the events, of which one may be a purge: the
// rest of the log, which may be nearly all of it, is not read.
func (p passage) streams(after, upTo int64) (list []*stream) {
	add := func(kinds []host.RecordKind, tools ...string) {
		list = append(list, &stream{tenant: p.tenant, filter: state.RecordFilter{Session: p.session, Kinds: kinds, Tools: tools, AfterSeq: after, UpToSeq: upTo, Newest: true, Limit: streamPage}})
	}
	if p.tools == nil {
		add([]host.RecordKind{host.RecordIntent, host.RecordOutcome, host.RecordEvent})
		return list
	}
	names := map[string]bool{} // as records may have them
	for tool := range p.tools {
		names[tool], names[tool[strings.LastIndexByte(tool, '.')+1:]] = true, true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		add([]host.RecordKind{host.RecordIntent}, name)
		add([]host.RecordKind{host.RecordOutcome}, name)
	}
	add([]host.RecordKind{host.RecordEvent}, "")
	return list
}

// newest takes the newest record that is left in some streams, nil where there is none.
func newest(ctx context.Context, store *state.Store, streams []*stream) (*host.Record, error) {
	var first *stream
	for _, s := range streams {
		if err := s.fill(ctx, store); err != nil {
			return nil, err
		}
		if len(s.page) > 0 && (first == nil || s.page[0].Seq > first.page[0].Seq) {
			first = s
		}
	}
	if first == nil {
		return nil, nil
	}
	record := &first.page[0]
	first.page = first.page[1:]
	return record, nil
}

// fill reads on, where all that was read is taken.
func (s *stream) fill(ctx context.Context, store *state.Store) (err error) {
	if s.over || len(s.page) > 0 {
		return nil
	}
	if s.page, err = store.Records(ctx, s.tenant, s.filter); err != nil {
		return err
	}
	if n := len(s.page); n > 0 {
		s.filter.UpToSeq = s.page[n-1].Seq - 1
	}
	s.over = len(s.page) == 0 || s.filter.UpToSeq <= s.filter.AfterSeq // 0 would mean all
	return nil
}
