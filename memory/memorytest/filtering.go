package memorytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// passes is the contract of a filter, as plainly as can be.
func passes(f memory.Filter, e memory.Entry) bool {
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = []memory.Status{memory.Active}
	}
	return e.Tenant == f.Tenant &&
		(f.User == "" || e.User == f.User) &&
		(f.Session == "" || e.Session == f.Session) &&
		(f.Live == "" || e.Live == f.Live) &&
		(f.Entity == "" || e.Entity == f.Entity) &&
		(f.Platform == "" || e.Platform == f.Platform) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) &&
		(len(f.Layers) == 0 || slices.Contains(f.Layers, e.Layer)) &&
		slices.Contains(statuses, e.Status) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) &&
		(f.Until.IsZero() || e.At.Before(f.Until))
}

// expected gives the entries that a filter lets through.
func expected(entries []memory.Entry, f memory.Filter) []memory.Entry {
	var out []memory.Entry
	for _, e := range entries {
		if passes(f, e) {
			out = append(out, e)
		}
	}
	return out
}

// same compares hits with entries, whatever their order. Tenants and orders of
// the entries tell those of one id apart.
func (r *rig) same(what string, got []memory.Found, want []memory.Entry) {
	r.Helper()
	var a, b []string
	for _, f := range got {
		a = append(a, fmt.Sprintf("%q/%q/%q/%d", f.ID, f.User, f.Session, f.Order))
	}
	for _, e := range want {
		b = append(b, fmt.Sprintf("%q/%q/%q/%d", e.ID, e.User, e.Session, e.Order))
	}
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		r.Errorf("%s:\nfound %d %.2000v\nwant  %d %.2000v", what, len(a), a, len(b), b)
	}
}

func filtersStatus(r *rig) {
	var all []memory.Entry
	for _, s := range []memory.Status{memory.Active, memory.Superseded, memory.Falsified, memory.Archived} {
		e := entry(memory.ID(s), toward(1))
		e.Status = s
		all = append(all, e)
	}
	r.put(all...)
	for _, statuses := range [][]memory.Status{nil, {memory.Active}, {memory.Archived}, {memory.Superseded, memory.Falsified},
		{memory.Active, memory.Superseded, memory.Falsified, memory.Archived}, {"another"}} {
		f := memory.Filter{Tenant: shop, Statuses: statuses}
		r.same(fmt.Sprint(statuses), r.sparse(f, terms(1, 1), 10), expected(all, f))
		r.same(fmt.Sprint(statuses, " by cosine"), r.dense(f, direction(1), 10), expected(all, f))
	}
}

func filtersTime(r *rig) {
	const step = time.Microsecond
	var all []memory.Entry
	for i, at := range []time.Time{{}, day.Add(-step), day, day.Add(step), day.Add(24 * time.Hour), time.Date(1969, 7, 20, 20, 17, 0, 0, time.UTC)} {
		e := entry(memory.ID(fmt.Sprint("at", i)), toward(1))
		e.At, e.Order = at, int64(i)
		all = append(all, e)
	}
	r.put(all...)
	ends := []time.Time{{}, day.Add(-step), day, day.Add(step), day.Add(2 * step), day.Add(24 * time.Hour), time.Unix(-1, 0),
		day.In(time.FixedZone("CST", 8*3600)), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, since := range ends {
		for _, until := range ends {
			f := memory.Filter{Tenant: shop, Since: since, Until: until}
			r.same(fmt.Sprint(since, " until ", until), r.sparse(f, terms(1, 1), 10), expected(all, f))
			r.same(fmt.Sprint(since, " until ", until, " by cosine"), r.dense(f, direction(1), 10), expected(all, f))
		}
	}
}

// A pool is what random entries and filters are made of: few of each, so that
// they meet.
type pool struct{ *rand.Rand }

func (p pool) entry(id memory.ID, tenants int) memory.Entry {
	e := entry(id, toward(1, p.Float32()))
	e.Tenant = host.TenantID(fmt.Sprint("tenant ", p.IntN(tenants)))
	e.User, e.Session, e.Live = host.UserID(p.one("ann", "bob", "eve")), host.SessionID(p.one("s1", "s2")), host.LiveID(p.one("", "l1", "l2"))
	e.Entity, e.Platform = p.one("", "sku 1", "sku 2"), p.one("", "douyin")
	e.Kind, e.Layer, e.Status = p.kind(), memory.Layer(1+p.IntN(3)), p.status()
	e.At, e.Order = day.Add(time.Duration(p.IntN(6))*time.Hour), p.Int64N(1<<40)
	return e
}

// filter sets the fields of which the bits are set, from the lowest.
func (p pool) filter(tenants int, fields uint) memory.Filter {
	f := memory.Filter{Tenant: host.TenantID(fmt.Sprint("tenant ", p.IntN(tenants)))}
	for i, set := range []func(){
		func() { f.User = host.UserID(p.one("ann", "bob", "eve")) },
		func() { f.Session = host.SessionID(p.one("s1", "s2")) },
		func() { f.Live = host.LiveID(p.one("l1", "l2", "l3")) },
		func() { f.Entity = p.one("sku 1", "sku 2") },
		func() { f.Platform = p.one("douyin", "taobao") },
		func() { f.Kinds = []memory.Kind{p.kind(), p.kind()} },
		func() { f.Layers = []memory.Layer{memory.Layer(1 + p.IntN(3)), memory.Layer(1 + p.IntN(3))} },
		func() { f.Statuses = []memory.Status{p.status(), p.status()} },
		func() { f.Since = day.Add(time.Duration(p.IntN(6)) * time.Hour) },
		func() { f.Until = day.Add(time.Duration(p.IntN(6)) * time.Hour) },
	} {
		if fields>>i&1 == 1 {
			set()
		}
	}
	return f
}

const filterFields = 10 // of pool.filter

func (p pool) one(of ...string) string { return of[p.IntN(len(of))] }

func (p pool) kind() memory.Kind {
	return memory.Kind(p.one(string(memory.Preference), string(memory.Constraint), string(memory.Habit)))
}

// status is active half of the time, as what is found mostly is.
func (p pool) status() memory.Status {
	return memory.Status(p.one(string(memory.Active), string(memory.Active), string(memory.Superseded), string(memory.Archived)))
}

func filtersExactly(r *rig) {
	p := pool{rand.New(rand.NewPCG(9, 2))}
	all := make([]memory.Entry, 600)
	for i := range all {
		all[i] = p.entry(memory.ID(fmt.Sprintf("e%03d", i)), 1)
	}
	r.put(all...)
	fields := []uint{0, 1<<filterFields - 1}
	for i := range filterFields {
		for j := range i + 1 {
			fields = append(fields, 1<<i|1<<j) // one alone where both are the same
		}
	}
	for range 150 {
		fields = append(fields, uint(p.IntN(1<<filterFields)))
	}
	for _, set := range fields {
		f := p.filter(1, set)
		want := expected(all, f)
		r.same(fmt.Sprintf("%+v", f), r.sparse(f, terms(1, 1), len(all)), want)
		r.same(fmt.Sprintf("%+v by cosine", f), r.dense(f, direction(1), len(all)), want)
	}
}

// keepsTenantsApart lets twenty tenants use the same ids, users, sessions and
// words, changes some of them, and asks at random.
func keepsTenantsApart(r *rig) {
	const tenants, ids, questions = 20, 25, 1500
	p := pool{rand.New(rand.NewPCG(9, 3))}
	type key struct {
		tenant host.TenantID
		id     memory.ID
	}
	kept := map[key]memory.Entry{}
	for range 4 {
		var batch []memory.Entry
		for range tenants * ids / 2 {
			e := p.entry(memory.ID(fmt.Sprintf("id %d", p.IntN(ids))), tenants)
			batch = append(batch, e)
			kept[key{e.Tenant, e.ID}] = e
		}
		r.put(batch...)
		for range 20 {
			k := key{host.TenantID(fmt.Sprint("tenant ", p.IntN(tenants))), memory.ID(fmt.Sprintf("id %d", p.IntN(ids)))}
			r.delete(k.tenant, k.id)
			delete(kept, k)
		}
	}
	var all []memory.Entry
	for _, e := range kept {
		all = append(all, e)
	}
	r.state(memory.StoreState{Version: "version of the suite", Entries: int64(len(all))})
	for range questions {
		// Two fields at a time on average: what is found is mostly not nothing.
		f := p.filter(tenants, uint(p.IntN(1<<filterFields))&uint(p.IntN(1<<filterFields)))
		want := expected(all, f)
		r.same(fmt.Sprintf("%+v", f), r.sparse(f, terms(1, 1), len(all)), want)
		r.same(fmt.Sprintf("%+v by cosine", f), r.dense(f, direction(1), len(all)), want)
		if r.Failed() {
			return
		}
	}
}
