package memorytest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

func resets(r *rig) {
	r.state(memory.StoreState{})
	for _, version := range []string{"tokens/1 none", "tokens/2 none", "tokens/2 none"} {
		r.must(r.store.Reset(r.Context(), version))
		r.state(memory.StoreState{Version: version})
		r.want("after the reset", r.sparse(ofShop, terms(1, 1), 10))
		r.want("after the reset, by cosine", r.dense(ofShop, direction(1), 10))
		other := entry("b", toward(1))
		other.Tenant = "another"
		r.put(entry("a", toward(1)), other)
		r.state(memory.StoreState{Version: version, Entries: 2})
	}
}

// namesFillings is for indexes that many hosts use; one of the process has no others.
func namesFillings(r *rig) {
	shared, is := r.store.(memory.SharedStore)
	if !is {
		return
	}
	r.put(entry("a"))
	first, next := &rig{r.T, shared.Filling("version of the suite")}, &rig{r.T, shared.Filling("the next one")}
	first.state(memory.StoreState{Version: "version of the suite", Entries: 1})
	first.put(entry("b"))
	r.want("what another host put", r.sparse(ofShop, terms(1, 1), 10), "a", "b")
	next.state(memory.StoreState{})
	r.must(shared.Filling("the next one").Reset(r.Context(), "the next one"))
	next.put(entry("c"))
	next.want("the next filling", next.sparse(ofShop, terms(1, 1), 10), "c")
	first.state(memory.StoreState{})
	_, err := first.store.Sparse(r.Context(), ofShop, terms(1, 1), 10)
	for _, err := range []error{err, first.store.Put(r.Context(), []memory.Entry{entry("d")}), first.store.Delete(r.Context(), shop, []memory.ID{"c"})} {
		if problem := host.ProblemOf(err); problem == nil || problem.Code != abi.StoreConflict {
			r.Errorf("with a filling that is gone: %v", err)
		}
	}
	next.state(memory.StoreState{Version: "the next one", Entries: 1})
}

func replaces(r *rig) {
	r.put(entry("a", with(terms(1, 1, 2, 1)), toward(1)), entry("b", toward(0, 1)))
	changed := entry("a", with(terms(1, 1, 3, 1)))
	changed.Session, changed.Order = "s2", 7
	r.put(changed)
	r.state(memory.StoreState{Version: "version of the suite", Entries: 2})
	r.want("the old term", r.sparse(ofShop, terms(2, 1), 10))
	r.want("the new term", r.sparse(ofShop, terms(3, 1), 10), "a")
	r.want("the old vector", r.dense(ofShop, direction(1), 10), "b")
	r.want("the old session", r.sparse(memory.Filter{Tenant: shop, Session: "s1"}, terms(1, 1), 10), "b")
	r.want("the new session", r.sparse(memory.Filter{Tenant: shop, Session: "s2"}, terms(1, 1), 10), "a")

	changed.Status = memory.Archived
	r.put(changed)
	r.want("archived", r.sparse(ofShop, terms(3, 1), 10))
	changed.Status, changed.Dense = memory.Active, direction(0, 0, 1)
	r.put(changed)
	r.want("back", r.sparse(ofShop, terms(3, 1), 10), "a")
	r.want("back, with a vector", r.dense(ofShop, direction(0, 0, 1), 1), "a")
	r.put()
	r.state(memory.StoreState{Version: "version of the suite", Entries: 2})
}

func deletes(r *rig) {
	other := entry("a", toward(1))
	other.Tenant = "another"
	r.put(entry("a", toward(1)), entry("b", toward(1)), other)
	r.delete(shop, "a", "nobody", "a")
	r.delete(shop)
	r.want("the deleted", r.sparse(ofShop, terms(1, 1), 10), "b")
	r.want("the deleted, by cosine", r.dense(ofShop, direction(1), 10), "b")
	r.want("another tenant's of the same id", r.sparse(memory.Filter{Tenant: "another"}, terms(1, 1), 10), "a")
	r.state(memory.StoreState{Version: "version of the suite", Entries: 2})
	r.put(entry("a", with(terms(2, 1))))
	r.want("put once more", r.sparse(ofShop, terms(2, 1), 10), "a")
	r.want("put once more, without its vector", r.dense(ofShop, direction(1), 10), "b")
}

func lastCounts(r *rig) {
	r.put(entry("a", with(terms(2, 1))), entry("b"), entry("a", with(terms(3, 1))), entry("a", with(terms(4, 1))))
	r.state(memory.StoreState{Version: "version of the suite", Entries: 2})
	r.want("the first", r.sparse(ofShop, terms(2, 1, 3, 1), 10))
	r.want("the last", r.sparse(ofShop, terms(4, 1), 10), "a")
}

func copies(r *rig) {
	e := []memory.Entry{entry("a", with(terms(2, 1)), toward(1)), entry("b", with(terms(3, 1)), toward(0, 1))}
	r.put(e...)
	e[0].Sparse[0].ID, e[1].ID = 9, "changed"
	copy(e[0].Dense, direction(0, 0, 1))
	r.want("by its term", r.sparse(ofShop, terms(2, 1), 10), "a")
	r.want("by its vector", r.dense(ofShop, direction(1), 1), "a")
	r.want("by its id", r.sparse(ofShop, terms(3, 1), 10), "b")
}

func tells(r *rig) {
	for i, at := range []time.Time{day, day.Add(123456 * time.Microsecond), time.Unix(0, 0), time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), {}} {
		e := entry(memory.ID(fmt.Sprint("a", i)), toward(1))
		e.User, e.Session, e.Order, e.At = "用户 7", "场次/3", math.MaxInt64-int64(i), at
		r.put(e)
		for leg, found := range map[string][]memory.Found{"sparse": r.sparse(ofShop, terms(1, 1), 1), "dense": r.dense(ofShop, direction(1), 1)} {
			if len(found) != 1 || found[0].Score <= 0 {
				r.Fatalf("%s: found %+v", leg, found)
			}
			f := found[0]
			if f.ID != e.ID || f.User != e.User || f.Session != e.Session || f.Order != e.Order || !f.At.Equal(at) {
				r.Errorf("%s: found %+v of %+v", leg, f, e)
			}
		}
		r.delete(shop, e.ID)
	}
}

// oddIDs are texts that a careless index would take for another, or for syntax.
func oddIDs() []string {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte("odd"))
	return []string{
		id.String(), strings.ToUpper(id.String()), strings.ReplaceAll(id.String(), "-", ""), "urn:uuid:" + id.String(), "{" + id.String() + "}",
		"1", "01", " 1", "1 ", "a", "A", "a/b", "a:b", "a.b", "a b", "a\tb", "'; DROP TABLE memories; --", `"quoted"`, `\`, "%", "_", "*", "?",
		"${jndi:x}", "<b>", "[]", "{}", "null", "true", "买家 1", "買家 1", "👩‍👩‍👧", "é", "e\u0301", "\u200b", "\u202e1", strings.Repeat("长", host.MaxIDBytes/3),
	}
}

func takesOddIDs(r *rig) {
	const everybodys = "7d444840-9dc0-11d1-b245-5ffdce74fad2" // a UUID that each tenant has
	const cut = "a:b/c|d"                                     // falls into a tenant and an id at each place
	tenants := oddIDs()
	var entries []memory.Entry
	add := func(tenant, id string) {
		e := entry(memory.ID(id))
		e.Tenant, e.User, e.Session, e.Live, e.Entity, e.Platform = host.TenantID(tenant), host.UserID(tenant), host.SessionID(tenant), host.LiveID(tenant), tenant, tenant
		e.Order = int64(len(entries))
		entries = append(entries, e)
	}
	for _, tenant := range tenants {
		add(tenant, tenant)
		add(tenant, everybodys)
		add(tenant, ":"+tenant)
	}
	for i := range len(cut) - 1 {
		tenant := "cut " + cut[:i+1]
		tenants = append(tenants, tenant)
		add(tenant, cut[i+1:])
	}
	r.put(entries...)
	r.findsOdd(tenants, entries)
	for _, text := range tenants {
		r.delete(host.TenantID(text), everybodys, memory.ID(text))
		entries = slices.DeleteFunc(entries, func(e memory.Entry) bool {
			return string(e.Tenant) == text && (e.ID == everybodys || string(e.ID) == text)
		})
	}
	r.findsOdd(tenants, entries)
}

// findsOdd asks for what each tenant has, by every filter that is a text.
func (r *rig) findsOdd(tenants []string, entries []memory.Entry) {
	for _, text := range tenants {
		f := memory.Filter{Tenant: host.TenantID(text)}
		want := expected(entries, f)
		r.same(fmt.Sprintf("tenant %q", text), r.sparse(f, terms(1, 1), 100), want)
		f.User, f.Session, f.Live, f.Entity, f.Platform = host.UserID(text), host.SessionID(text), host.LiveID(text), text, text
		r.same(fmt.Sprintf("everything %q", text), r.sparse(f, terms(1, 1), 100), want)
		f.Entity += "x"
		r.same(fmt.Sprintf("another entity than %q", text), r.sparse(f, terms(1, 1), 100), nil)
	}
}

func takesBigBatches(r *rig) {
	const n = 3000 // more than one request of any store
	entries := make([]memory.Entry, n)
	for i := range entries {
		entries[i] = entry(memory.ID(fmt.Sprintf("e%04d", i)), with(terms(1, 1)), toward(1, float32(i)))
		entries[i].Order = int64(i)
	}
	entries[17].Sparse, entries[n-1].Sparse = terms(1, 1, 2, 1), terms(1, 1, 2, 2)
	r.put(entries...)
	r.state(memory.StoreState{Version: "version of the suite", Entries: n})
	r.same("all of them", r.sparse(ofShop, terms(1, 1), n+1), entries)
	r.want("the few with a term", r.sparse(ofShop, terms(2, 1), 3), "e2999", "e0017")
	r.want("the nearest", r.dense(ofShop, direction(1, 0), 2), "e0000", "e0001")
	ids := []memory.ID{}
	for _, e := range entries[:n-1] {
		ids = append(ids, e.ID)
	}
	r.delete(shop, ids...)
	r.state(memory.StoreState{Version: "version of the suite", Entries: 1})
	r.want("the one that is left", r.sparse(ofShop, terms(1, 1), n), "e2999")
}
