package state

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// maxExamined bounds the keys that one scan goes over, deleted ones included;
// the page then ends early.
const maxExamined = 10 * abi.ScanPageEntries

// Scan gives a page of the keys with a prefix, in the order of their bytes,
// from the first one greater than After, with the view's own writes merged
// in. A page ends early, perhaps empty, rather than exceed abi.ScanPageBytes
// when encoded or go over too many deleted keys; it is the last one only if its
// After is empty.
func (v *View) Scan(ctx context.Context, q abi.ScanQuery) (abi.Page, error) {
	page, err := v.scan(ctx, q)
	if err != nil {
		return abi.Page{}, v.store.fail(ctx, "state.Scan", err)
	}
	return page, nil
}

func (v *View) scan(ctx context.Context, q abi.ScanQuery) (abi.Page, error) {
	m, limit, err := v.merge(ctx, q)
	if err != nil {
		return abi.Page{}, err
	}
	var page abi.Page
	seen := watched{from: m.from, skip: q.After, end: m.end}
	last, size := "", 4+abi.KeyBytes // the count and After, as Page.Encode writes them
	for examined := 0; ; examined++ {
		it, ok, err := m.next(ctx)
		if err != nil {
			return abi.Page{}, err
		}
		if !ok {
			break
		}
		entry := 8 + len(it.key) + len(it.value)
		if examined == maxExamined || it.visible && (len(page.Entries) == limit || size+entry > int(abi.ScanPageBytes)) {
			// The page tells that there is more: that is a read, too.
			page.After, seen.end = last, it.key
			if err := v.remember(it.key, it.ownStamp); err != nil {
				return abi.Page{}, err
			}
			break
		}
		if it.ownStamp != 0 {
			seen.rows, seen.sum = seen.rows+1, seen.sum+it.ownStamp
		}
		if it.visible {
			page.Entries, size = append(page.Entries, abi.Entry{Key: it.key, Value: it.value}), size+entry
		}
		last = it.key
	}
	return page, v.watch(seen)
}

func (v *View) watch(w watched) error {
	if len(v.ranges) >= abi.HostCalls {
		return abi.NewProblem(abi.QuotaReached, "the call scanned more than %d times", abi.HostCalls)
	}
	v.ranges = append(v.ranges, w)
	v.scanned += w.rows
	return nil
}

// verifyRange reads the tenant's own rows of a range again. The layers below
// are sealed.
func (v *View) verifyRange(ctx context.Context, ex *executor, w watched) error {
	now := watched{from: w.from, skip: w.skip, end: w.end}
	args := []any{string(v.tenant), v.namespace, w.from, w.end, w.rows + 2} // the skipped one, and one too many
	err := ex.each(ctx, v.store.queries.kvRangeStamps, args, func(rows *sql.Rows) (bool, error) {
		var key string
		var stamp int64
		err := rows.Scan(&key, &stamp)
		if key != w.skip {
			now.rows, now.sum = now.rows+1, now.sum+stamp
		}
		return true, err
	})
	if err == nil && now != w {
		return abi.NewProblem(abi.StoreConflict, "another call changed a key from %q on, which this one had scanned", w.from)
	}
	return err
}

// A merge walks over the keys of a range in all layers at once.
type merge struct {
	from, end string
	keysOnly  bool
	writes    map[string]pending
	own       []string // keys of writes in the range, in order; cut off as they are used
	cursors   []*cursor
}

// An item is one key of a merge.
type item struct {
	key      string
	value    []byte
	visible  bool  // not deleted
	ownStamp int64 // of the tenant's own row, 0 for none
}

func (v *View) merge(ctx context.Context, q abi.ScanQuery) (*merge, int, error) {
	if v.bad != nil {
		return nil, 0, v.bad
	}
	from, end, problem := keyRange(q.Prefix, q.After)
	if problem != nil {
		return nil, 0, problem
	}
	limit := q.Limit
	if limit == 0 {
		limit = abi.ScanPageEntries
	}
	if limit < 0 || limit > abi.ScanPageEntries {
		return nil, 0, abi.NewProblem(abi.BadHostCall, "a page of %d entries; ask for 1 to %d", limit, abi.ScanPageEntries)
	}
	if err := v.resolve(ctx); err != nil {
		return nil, 0, err
	}
	m := &merge{from: from, end: end, keysOnly: q.KeysOnly, writes: v.writes}
	for _, key := range slices.Sorted(maps.Keys(v.writes)) {
		if key >= from && key < end && key != q.After {
			m.own = append(m.own, key)
		}
	}
	for _, layer := range v.layers {
		m.cursors = append(m.cursors, &cursor{
			store: v.store, tenant: layer, namespace: v.namespace, keysOnly: q.KeysOnly,
			from: from, end: end, skip: q.After, batch: limit + 2, // one to skip and one to see that there is more
		})
	}
	return m, limit, nil
}

// next gives the least key that is left, as the nearest layer has it.
func (m *merge) next(ctx context.Context) (it item, ok bool, err error) {
	if len(m.own) > 0 {
		it.key, ok = m.own[0], true
	}
	for _, c := range m.cursors {
		row, err := c.head(ctx)
		if err != nil {
			return item{}, false, err
		}
		if row != nil && (!ok || row.key < it.key) {
			it.key, ok = row.key, true
		}
	}
	if !ok {
		return item{}, false, nil
	}
	return m.take(it.key), true, nil
}

// take removes a key from all layers. The order of precedence is the view's
// own write, then the nearest layer.
func (m *merge) take(key string) item {
	it := item{key: key}
	decided := false
	if len(m.own) > 0 && m.own[0] == key {
		w := m.writes[key]
		it.value, it.visible, decided = w.value, !w.deleted, true
		m.own = m.own[1:]
	}
	for i, c := range m.cursors {
		row := c.pop(key)
		if row == nil {
			continue
		}
		if i == 0 {
			it.ownStamp = row.stamp
		}
		if !decided {
			it.value, it.visible, decided = bytesOf(row.value), !row.deleted, true
		}
	}
	if m.keysOnly {
		it.value = nil
	}
	return it
}

// A cursor reads the rows of one layer in batches.
type cursor struct {
	store     *Store
	tenant    host.TenantID
	namespace string
	keysOnly  bool
	from, end string
	skip      string // a key at the start of the range that is not wanted
	batch     int    // rows of one read, the skipped one included; 2 or more
	rows      []kvRow
	ended     bool
}

// head gives the next row without removing it, or nil at the end.
func (c *cursor) head(ctx context.Context) (*kvRow, error) {
	for len(c.rows) == 0 && !c.ended {
		if err := c.fill(ctx); err != nil {
			return nil, err
		}
	}
	if len(c.rows) == 0 {
		return nil, nil
	}
	return &c.rows[0], nil
}

// pop removes the next row if it has the key; head has been called.
func (c *cursor) pop(key string) *kvRow {
	if len(c.rows) == 0 || c.rows[0].key != key {
		return nil
	}
	row := c.rows[0]
	c.rows = c.rows[1:]
	return &row
}

// fill reads a batch, which ends early rather than hold more than a page.
func (c *cursor) fill(ctx context.Context) error {
	query := c.store.queries.kvRange
	if c.keysOnly {
		query = c.store.queries.kvRangeKeys
	}
	read, size := 0, 0
	args := []any{string(c.tenant), c.namespace, c.from, c.end, c.batch}
	err := c.store.reader.each(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		var row kvRow
		dest := []any{&row.key, &row.stamp, &row.deleted, &row.value}
		if c.keysOnly {
			dest = dest[:3]
		}
		if err := rows.Scan(dest...); err != nil {
			return false, err
		}
		read++
		c.from = row.key
		if row.key != c.skip {
			c.rows = append(c.rows, row)
			size += len(row.key) + len(row.value)
		}
		return size < int(abi.ScanPageBytes), nil
	})
	c.skip = c.from
	c.ended = read < c.batch && size < int(abi.ScanPageBytes)
	return err
}
