package index

import (
	"context"
	"math"
	"sync"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// Bounds of an index and of what it is asked.
const (
	maxEntries = 4 << 20             // some 2 GB; more need a server
	maxTerms   = tokens.MaxTextBytes // of an entry or a question: a term has a byte at least
	maxName    = 1 << 10             // bytes of an id or a name: ids have 36, entities memory.MaxEntityBytes
	maxLimit   = 10_000              // of a search: 30 times the longest list, and room
)

// An Index holds memories in the process. It is safe for concurrent use. Its zero
// value is not ready; use New.
type Index struct {
	mu      sync.RWMutex
	tenants map[host.TenantID]*tenant // guarded by mu
	version string                    // guarded by mu
	entries int                       // guarded by mu
	length  int                       // of each vector, 0 until the first; guarded by mu
}

var _ memory.Store = (*Index)(nil)

// New makes an empty index, whose version is "".
func New() *Index { return &Index{tenants: map[host.TenantID]*tenant{}} }

// Put adds entries, and replaces those that are there. Of entries with one id the
// last counts. Where one entry cannot be held, none is put.
func (x *Index) Put(ctx context.Context, entries []memory.Entry) error {
	if err := ctx.Err(); err != nil {
		return host.Fail("index.Put", nil, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if problem := x.check(entries); problem != nil {
		return host.Fail("index.Put", problem, nil)
	}
	for owner, group := range grouped(entries) {
		x.put(owner, group)
	}
	return nil
}

// check refuses what would break the index, and learns the length of vectors.
func (x *Index) check(entries []memory.Entry) *abi.Problem {
	if x.entries+len(entries) > maxEntries {
		return abi.NewProblem(abi.SystemFailure, "the embedded index is full: it holds %d memories of at most %d; use a Qdrant server", x.entries, maxEntries)
	}
	length := x.length
	for _, e := range entries {
		if e.ID == "" || e.Tenant == "" || e.User == "" {
			return abi.NewProblem(abi.SystemFailure, "a memory cannot be indexed without an id, a tenant and a user (id %q)", string(e.ID))
		}
		for _, name := range []string{string(e.ID), string(e.Session), string(e.Live), e.Entity, e.Platform, string(e.Kind), string(e.Status)} {
			if len(name) > maxName {
				return abi.NewProblem(abi.SystemFailure, "memory %.40s cannot be indexed: a name of it has %d bytes, and %d are the most", string(e.ID), len(name), maxName)
			}
		}
		if len(e.Sparse) > maxTerms {
			return abi.NewProblem(abi.SystemFailure, "memory %.40s cannot be indexed: it has %d terms, and %d are the most", string(e.ID), len(e.Sparse), maxTerms)
		}
		if e.Dense == nil {
			continue
		}
		if length == 0 {
			length = len(e.Dense)
		}
		if length != len(e.Dense) || length == 0 {
			return abi.NewProblem(abi.SystemFailure, "memory %.40s cannot be indexed: its vector has %d numbers, those of this index have %d; rebuild the index", string(e.ID), len(e.Dense), length)
		}
	}
	x.length = length
	return nil
}

// An owner is a user of a tenant.
type owner struct {
	tenant host.TenantID
	user   host.UserID
}

// grouped gives the entries of each user, of each id the last one.
func grouped(entries []memory.Entry) map[owner][]memory.Entry {
	type key struct {
		tenant host.TenantID
		id     memory.ID
	}
	last := make(map[key]int, len(entries))
	for i, e := range entries {
		last[key{e.Tenant, e.ID}] = i
	}
	groups := map[owner][]memory.Entry{}
	for i, e := range entries {
		if last[key{e.Tenant, e.ID}] == i {
			groups[owner{e.Tenant, e.User}] = append(groups[owner{e.Tenant, e.User}], e)
		}
	}
	return groups
}

func (x *Index) put(o owner, entries []memory.Entry) {
	ids := make([]memory.ID, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	x.remove(o.tenant, ids)
	t, ok := x.tenants[o.tenant]
	if !ok {
		t = newTenant()
		x.tenants[o.tenant] = t
	}
	t.put(o.user, entries)
	x.entries += len(entries)
}

func (x *Index) remove(from host.TenantID, ids []memory.ID) {
	t, ok := x.tenants[from]
	if !ok {
		return
	}
	before := len(t.owners)
	t.remove(ids)
	x.entries -= before - len(t.owners)
	if len(t.owners) == 0 {
		delete(x.tenants, from)
	}
}

// Delete removes entries with all that the index made of them. Unknown ids are none.
func (x *Index) Delete(ctx context.Context, tenant host.TenantID, ids []memory.ID) error {
	if err := ctx.Err(); err != nil {
		return host.Fail("index.Delete", nil, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(tenant, ids)
	return nil
}

// State tells what the index holds.
func (x *Index) State(context.Context) (memory.StoreState, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return memory.StoreState{Version: x.version, Entries: int64(x.entries)}, nil
}

// Reset empties the index of all tenants and gives it a version.
func (x *Index) Reset(_ context.Context, version string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tenants, x.version, x.entries, x.length = map[host.TenantID]*tenant{}, version, 0, 0
	return nil
}

// Close lets go of the memories. The index can be used no more but for Reset.
func (x *Index) Close() error { return x.Reset(context.Background(), "") }

// A view is what one search reads. It stays as it is while the index goes on.
type view struct {
	users   []*user
	parts   [][]*segment // by user
	weights []float64    // of the query's terms, with their rarity
}

// look takes a view of the filter's user, or of all users of its tenant.
func (x *Index) look(filter memory.Filter, query tokens.Vector) view {
	x.mu.RLock()
	defer x.mu.RUnlock()
	t, ok := x.tenants[filter.Tenant]
	if !ok {
		return view{}
	}
	var v view
	for _, term := range query {
		v.weights = append(v.weights, float64(term.Weight)*rarity(len(t.owners), t.having[term.ID]))
	}
	if filter.User != "" {
		if u, ok := t.users[filter.User]; ok {
			v.users, v.parts = []*user{u}, [][]*segment{u.segments}
		}
		return v
	}
	for _, u := range t.users {
		v.users, v.parts = append(v.users, u), append(v.parts, u.segments)
	}
	return v
}

// rarity is the inverse document frequency of BM25, as Qdrant computes it.
func rarity(entries int, having uint32) float64 {
	n, f := float64(entries), float64(having)
	return math.Log((n-f+0.5)/(f+0.5) + 1)
}
