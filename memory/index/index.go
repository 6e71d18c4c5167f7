package index

import (
	"context"
	"math"
	"strings"
	"sync"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// An Index holds memories in the process. It is safe for concurrent use. Its zero
// value is not ready; use New.
type Index struct {
	mu      sync.RWMutex
	tenants map[host.TenantID]*tenant // guarded by mu
	version string                    // guarded by mu
	entries int                       // guarded by mu
	closed  bool                      // guarded by mu
	length  int                       // of each vector, 0 until the first; guarded by mu
}

var _ memory.Store = (*Index)(nil)

// New makes an empty index, whose version is "".
func New() *Index { return &Index{tenants: map[host.TenantID]*tenant{}} }

// Put adds entries, and replaces those that are there. Of entries with one id the
// last counts. Where one entry cannot be held, none is put.
func (x *Index) Put(ctx context.Context, entries []memory.Entry) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.ready(ctx, "index.Put"); err != nil {
		return err
	}
	length, problem := x.checkEntries(entries)
	if problem != nil {
		return host.Fail("index.Put", problem, nil)
	}
	x.length = length
	for owner, group := range grouped(entries) {
		x.put(owner, group)
	}
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
		x.tenants[host.TenantID(strings.Clone(string(o.tenant)))] = t
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
	if tenant == "" {
		return host.Fail("index.Delete", noTenant(), nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.ready(ctx, "index.Delete"); err != nil {
		return err
	}
	x.remove(tenant, ids)
	return nil
}

// State tells what the index holds.
func (x *Index) State(ctx context.Context) (memory.StoreState, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if err := x.ready(ctx, "index.State"); err != nil {
		return memory.StoreState{}, err
	}
	return memory.StoreState{Version: x.version, Entries: int64(x.entries)}, nil
}

// Reset empties the index of all tenants and gives it a version, which is not "".
func (x *Index) Reset(ctx context.Context, version string) error {
	if version == "" || len(version) > maxName {
		return host.Fail("index.Reset", abi.NewProblem(abi.BadValue, "the version of an index has 1 to %d bytes, not %d", maxName, len(version)), nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.ready(ctx, "index.Reset"); err != nil {
		return err
	}
	x.empty(version)
	return nil
}

func (x *Index) empty(version string) {
	x.tenants, x.version, x.entries, x.length = map[host.TenantID]*tenant{}, version, 0, 0
}

// Close lets go of the memories. Whatever is asked of the index afterwards fails.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.empty("")
	x.closed = true
	return nil
}

// A view is what one search reads. It stays as it is while the index goes on.
type view struct {
	users []*user
	parts [][]*segment // by user
	terms []weighed    // of the query, those that the tenant has
}

// A weighed is a term of a query: its weight there by its rarity.
type weighed struct {
	id     uint32
	weight float64
}

// look takes a view of the filter's user, or of all users of its tenant. It is called
// with mu held.
func (x *Index) look(filter memory.Filter, query tokens.Vector) view {
	t, ok := x.tenants[filter.Tenant]
	if !ok {
		return view{}
	}
	var v view
	for _, term := range query {
		if having := t.having[term.ID]; having > 0 {
			v.terms = append(v.terms, weighed{term.ID, float64(term.Weight) * rarity(len(t.owners), having)})
		}
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
