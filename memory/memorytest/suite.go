package memorytest

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// Dimensions is the length of the dense vectors of the suite.
const Dimensions = 8

// MaxLimit is the most that a search must be able to give; more is refused.
const MaxLimit = 10_000

// Run holds an index to the contract of memory.Store, see the package's comment.
// open gives a Store over an empty index that was never reset, for dense vectors of
// Dimensions numbers, and sees to its end with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) memory.Store) {
	for _, part := range []struct {
		name  string
		check func(r *rig)
	}{
		{"a reset empties the index and gives it its version", resets},
		{"who has the name of a filling works with it, and never with the next", namesFillings},
		{"a put replaces what is there", replaces},
		{"a delete leaves nothing of an entry", deletes},
		{"of one id in a put the last entry counts", lastCounts},
		{"a put keeps nothing of the caller's slices", copies},
		{"a hit tells what the entry said", tells},
		{"the greater weight of one term comes first", ordersByWeight},
		{"the greater weight of one term comes first, beside another tenant's", beside(ordersByWeight)},
		{"one more term of the query comes first", ordersByTerms},
		{"one more term of the query comes first, beside another tenant's", beside(ordersByTerms)},
		{"the rare term comes first", ordersByRarity},
		{"the nearest by cosine come first", ordersByCosine},
		{"the nearest by cosine come first, beside another tenant's", beside(ordersByCosine)},
		{"of equal scores the lesser id comes first", ordersTies},
		{"of equal scores the lesser id comes first, beside another tenant's", beside(ordersTies)},
		{"the limit is kept", limits},
		{"a query without terms or with unknown ones finds nothing", findsNothing},
		{"only active memories are found unless others are asked for", filtersStatus},
		{"a time filter begins with its start and ends before its end", filtersTime},
		{"every filter is exact, alone and with others", filtersExactly},
		{"no search finds another tenant's memories", keepsTenantsApart},
		{"ids of odd characters are kept apart", takesOddIDs},
		{"what cannot be kept changes nothing", refusesBadEntries},
		{"what cannot be asked is refused", refusesBadQuestions},
		{"what was stopped says so", stops},
		{"a put of thousands is whole", takesBigBatches},
		{"what was put is seen by everybody at once", showsAtOnce},
		{"many at once do not disturb each other", worksConcurrently},
		{"a closed index fails and does not break", closes},
	} {
		t.Run(part.name, func(t *testing.T) {
			r := &rig{T: t, store: open(t)}
			if part.name != "a reset empties the index and gives it its version" {
				r.must(r.store.Reset(t.Context(), "version of the suite"))
			}
			part.check(r)
		})
	}
}

// A rig is one Store with a test that ends where it fails.
type rig struct {
	*testing.T
	store memory.Store
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) put(entries ...memory.Entry) {
	r.Helper()
	r.must(r.store.Put(r.Context(), entries))
}

func (r *rig) delete(tenant host.TenantID, ids ...memory.ID) {
	r.Helper()
	r.must(r.store.Delete(r.Context(), tenant, ids))
}

func (r *rig) sparse(f memory.Filter, query tokens.Vector, limit int) []memory.Found {
	r.Helper()
	found, err := r.store.Sparse(r.Context(), f, query, limit)
	r.must(err)
	return found
}

func (r *rig) dense(f memory.Filter, query []float32, limit int) []memory.Found {
	r.Helper()
	found, err := r.store.Dense(r.Context(), f, query, limit)
	r.must(err)
	return found
}

func (r *rig) state(want memory.StoreState) {
	r.Helper()
	got, err := r.store.State(r.Context())
	r.must(err)
	if got != want {
		r.Fatalf("the state is %+v, want %+v", got, want)
	}
}

// want compares ids in order.
func (r *rig) want(what string, found []memory.Found, ids ...memory.ID) {
	r.Helper()
	if got := idsOf(found); !slices.Equal(got, ids) {
		r.Errorf("%s: found %q, want %q", what, got, ids)
	}
}

func idsOf(found []memory.Found) []memory.ID {
	ids := make([]memory.ID, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	return ids
}

// The entries of most parts are of one user.
const (
	shop host.TenantID = "shop"
	ann  host.UserID   = "ann"
)

// day is when they were said, if nothing else matters.
var day = time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)

var ofShop = memory.Filter{Tenant: shop}

// An option changes an entry.
type option func(*memory.Entry)

// entry makes one with the term 1, which every test may ask for.
func entry(id memory.ID, options ...option) memory.Entry {
	e := memory.Entry{
		ID: id, Tenant: shop, User: ann, Session: "s1", Kind: memory.Preference, Layer: memory.Declared,
		Status: memory.Active, Order: 1, At: day, Sparse: terms(1, 1),
	}
	for _, o := range options {
		o(&e)
	}
	return e
}

func with(v tokens.Vector) option { return func(e *memory.Entry) { e.Sparse = v } }

func toward(v ...float32) option { return func(e *memory.Entry) { e.Dense = direction(v...) } }

// terms makes a vector of pairs of ids, ascending, and weights.
func terms(pairs ...float32) tokens.Vector {
	v := tokens.Vector{}
	for i := 0; i < len(pairs); i += 2 {
		v = append(v, tokens.Term{ID: uint32(pairs[i]), Weight: pairs[i+1]})
	}
	return v
}

// direction makes a dense vector of length 1 of its first numbers.
func direction(first ...float32) []float32 {
	v := make([]float32, Dimensions)
	copy(v, first)
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// stopped gives a context that was cancelled, and one whose deadline is over.
func stopped(ctx context.Context) (cancelled, late context.Context) {
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancel = context.WithDeadline(ctx, time.Unix(0, 0))
	cancel()
	return cancelled, late
}
