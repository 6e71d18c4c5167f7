package memorytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// descending fails where a score is not above zero, or greater than the one before.
func (r *rig) descending(found []memory.Found) {
	r.Helper()
	for i, f := range found {
		if !(f.Score > 0) || math.IsInf(f.Score, 0) || i > 0 && f.Score > found[i-1].Score {
			r.Errorf("hit %d has the score %g, after %+v", i, f.Score, found[:i])
		}
	}
}

// beside has a part hold where another tenant has many entries of the same terms. One
// word of a query, or words of which the better entry has all that the worse one has,
// are in one order whatever is rare. Which of two words is rarer is not: an index may
// count them in all tenants' entries, as Qdrant does.
func beside(part func(r *rig)) func(r *rig) {
	return func(r *rig) {
		var crowd []memory.Entry
		for i := range 300 {
			crowd = append(crowd, entry(memory.ID(fmt.Sprintf("crowd %03d", i)), toward(1, 2, 3), with(terms(2, 1, 3, 0.5)), func(e *memory.Entry) { e.Tenant = "crowd" }))
		}
		r.put(crowd...)
		part(r)
		r.want("the crowd is there", r.sparse(memory.Filter{Tenant: "crowd"}, terms(2, 1), 2), "crowd 000", "crowd 001")
	}
}

func ordersByWeight(r *rig) {
	r.put(entry("a", with(terms(1, 0.5))), entry("b", with(terms(1, 2))), entry("c", with(terms(1, 0.25, 2, 2.2))),
		entry("d", with(terms(1, 1.5))), entry("e", with(terms(2, 2.2))))
	found := r.sparse(ofShop, terms(1, 1), 10)
	r.want("by weight", found, "b", "d", "a", "c")
	r.descending(found)
	r.want("the best two", r.sparse(ofShop, terms(1, 1), 2), "b", "d")
	r.want("a heavier query", r.sparse(ofShop, terms(1, 3), 10), "b", "d", "a", "c")
}

func ordersByTerms(r *rig) {
	r.put(entry("a", with(terms(1, 1))), entry("b", with(terms(1, 1, 2, 1))), entry("c", with(terms(1, 1, 2, 1, 3, 1))), entry("d", with(terms(4, 1))))
	found := r.sparse(ofShop, terms(1, 1, 2, 1, 3, 1, 5, 1), 10)
	r.want("by terms", found, "c", "b", "a")
	r.descending(found)
}

func ordersByRarity(r *rig) {
	for i := range 30 {
		r.put(entry(memory.ID(fmt.Sprintf("frequent %02d", i)), with(terms(1, 1))))
	}
	r.put(entry("rare", with(terms(2, 1))))
	found := r.sparse(ofShop, terms(1, 1, 2, 1), 31)
	if len(found) != 31 || found[0].ID != "rare" || found[0].Score <= found[1].Score {
		r.Errorf("found %+v", found)
	}
	r.descending(found)
}

func ordersByCosine(r *rig) {
	r.put(entry("same", toward(1, 2, 3)), entry("near", toward(1, 2, 2)), entry("far", toward(3, 0, 0)),
		entry("across", toward(0, 0, 0, 1)), entry("against", toward(-1, -2, -3)), entry("none"))
	found := r.dense(ofShop, direction(1, 2, 3), 10)
	r.want("by cosine", found, "same", "near", "far", "across", "against")
	for i, want := range []float64{1, 11 / math.Sqrt(14*9), 1 / math.Sqrt(14), 0, -1} {
		if i < len(found) && math.Abs(found[i].Score-want) > 1e-4 {
			r.Errorf("%s has the cosine %g, want %g", found[i].ID, found[i].Score, want)
		}
	}
	r.want("the best two", r.dense(ofShop, direction(1, 2, 3), 2), "same", "near")
	r.want("without terms", r.dense(ofShop, direction(0, 0, 0, 1), 1), "across")
}

// ordersTies puts equal entries in another order than that of their ids, some of
// which are UUIDs and some not, and cuts through them.
func ordersTies(r *rig) {
	random := rand.New(rand.NewPCG(9, 1))
	var ids []memory.ID
	for i := range 40 {
		ids = append(ids, memory.ID(fmt.Sprintf("id %02d", i)), memory.ID(uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(i)}).String()))
	}
	var entries []memory.Entry
	for _, i := range random.Perm(len(ids)) {
		entries = append(entries, entry(ids[i], toward(1, 1)))
	}
	r.put(append(entries, entry("better", with(terms(1, 2)), toward(1)), entry("worse", with(terms(1, 0.5)), toward(0, 0, 1)))...)
	slices.Sort(ids)
	for _, limit := range []int{2, 3, 10, 40, 80, 81} {
		want := append([]memory.ID{"better"}, ids[:min(limit-1, len(ids))]...)
		r.want(fmt.Sprint("sparse, limit ", limit), r.sparse(ofShop, terms(1, 1), limit), want...)
		r.want(fmt.Sprint("dense, limit ", limit), r.dense(ofShop, direction(1), limit), want...)
	}
	r.want("one", r.sparse(ofShop, terms(1, 1), 1), "better")
	r.want("beyond", r.sparse(ofShop, terms(1, 1), 1000), append(append([]memory.ID{"better"}, ids...), "worse")...)
}

func limits(r *rig) {
	var all []memory.Entry
	for i := range 50 {
		all = append(all, entry(memory.ID(fmt.Sprintf("e%02d", i)), with(terms(1, 2-float32(i)/32)), toward(1, float32(i)/10)))
	}
	r.put(all...)
	for _, limit := range []int{1, 2, 49, 50, 51, MaxLimit} {
		n := min(limit, 50)
		if found := r.sparse(ofShop, terms(1, 1), limit); len(found) != n || found[n-1].ID != all[n-1].ID {
			r.Errorf("limit %d: found %d", limit, len(found))
		}
		if found := r.dense(ofShop, direction(1), limit); len(found) != n || found[n-1].ID != all[n-1].ID {
			r.Errorf("limit %d: found %d by cosine", limit, len(found))
		}
	}
	for _, limit := range []int{math.MinInt, -1, 0, MaxLimit + 1, math.MaxInt} {
		_, sparse := r.store.Sparse(r.Context(), ofShop, terms(1, 1), limit)
		r.refused(fmt.Sprint("limit ", limit), sparse)
		_, dense := r.store.Dense(r.Context(), ofShop, direction(1), limit)
		r.refused(fmt.Sprint("limit ", limit, " by cosine"), dense)
	}
}

func findsNothing(r *rig) {
	empty := entry("empty", with(nil), toward(1))
	neither := entry("neither", with(nil))
	r.put(entry("a"), empty, neither)
	r.state(memory.StoreState{Version: "version of the suite", Entries: 3})
	r.want("no terms", r.sparse(ofShop, nil, 10))
	r.want("unknown terms", r.sparse(ofShop, terms(7, 1, 8, 1), 10))
	r.want("known and unknown terms", r.sparse(ofShop, terms(1, 1, 7, 1), 10), "a")
	r.want("an entry without terms, by its vector", r.dense(ofShop, direction(1), 10), "empty")
	r.want("an unknown tenant", r.sparse(memory.Filter{Tenant: "nobody"}, terms(1, 1), 10))
	r.want("an unknown user", r.sparse(memory.Filter{Tenant: shop, User: host.UserID("nobody")}, terms(1, 1), 10))
}
