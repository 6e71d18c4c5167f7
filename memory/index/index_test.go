package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// A shelf is the plainest index that is right: what the other is compared with.
type shelf map[host.TenantID]map[memory.ID]memory.Entry

func (s shelf) put(entries []memory.Entry) {
	for _, e := range entries {
		if s[e.Tenant] == nil {
			s[e.Tenant] = map[memory.ID]memory.Entry{}
		}
		s[e.Tenant][e.ID] = e
	}
}

func (s shelf) sparse(f memory.Filter, query tokens.Vector, limit int) []memory.Found {
	having := map[uint32]uint32{}
	for _, e := range s[f.Tenant] {
		for _, term := range e.Sparse {
			having[term.ID]++
		}
	}
	return s.search(f, limit, func(e memory.Entry) (score float64, ok bool) {
		for _, term := range query {
			weight := e.Sparse.Find(term.ID)
			score += rarity(len(s[f.Tenant]), having[term.ID]) * float64(term.Weight) * float64(weight)
		}
		return score, score > 0
	})
}

func (s shelf) dense(f memory.Filter, query []float32, limit int) []memory.Found {
	return s.search(f, limit, func(e memory.Entry) (score float64, ok bool) {
		for i := range e.Dense {
			score += float64(e.Dense[i]) * float64(query[i])
		}
		return score, e.Dense != nil
	})
}

func (s shelf) search(f memory.Filter, limit int, leg func(memory.Entry) (float64, bool)) (list []memory.Found) {
	for _, e := range s[f.Tenant] {
		if score, ok := leg(e); ok && passes(f, e) {
			list = append(list, memory.Found{ID: e.ID, Score: score, User: e.User, Session: e.Session, Order: e.Order, At: e.At})
		}
	}
	slices.SortFunc(list, func(a, b memory.Found) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(limit, len(list))]
}

func passes(f memory.Filter, e memory.Entry) bool {
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = []memory.Status{memory.Active}
	}
	return e.Tenant == f.Tenant &&
		(f.User == "" || f.User == e.User) && (f.Session == "" || f.Session == e.Session) &&
		(f.Live == "" || f.Live == e.Live) && (f.Entity == "" || f.Entity == e.Entity) &&
		(f.Platform == "" || f.Platform == e.Platform) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) &&
		(len(f.Layers) == 0 || slices.Contains(f.Layers, e.Layer)) && slices.Contains(statuses, e.Status) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) && (f.Until.IsZero() || e.At.Before(f.Until))
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A maker makes entries and searches from a seed.
type maker struct{ *rand.Rand }

func seeded(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 1))} }

func pick[T any](m maker, from ...T) T { return from[m.IntN(len(from))] }

func (m maker) name(kind string, n int) string { return fmt.Sprintf("%s%d", kind, m.IntN(n)) }

// text gives words of which some are much more frequent than others.
func (m maker) text(words int) (text string) {
	for range words {
		text += fmt.Sprintf("w%d ", int(m.ExpFloat64()*40))
	}
	return text
}

func (m maker) vector() []float32 {
	v := make([]float32, 5)
	var sum float64
	for i := range v {
		v[i] = float32(m.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (m maker) entry() memory.Entry {
	e := memory.Entry{
		ID: memory.ID(m.name("m", 600)), Tenant: host.TenantID(m.name("t", 3)), User: host.UserID(m.name("u", 4)),
		Session: host.SessionID(m.name("s", 5)), Live: host.LiveID(pick(m, "", "live")), Entity: pick(m, "", "sku1", "sku2"),
		Platform: pick(m, "", "taobao"), Kind: pick(m, memory.Preference, memory.Habit), Layer: pick(m, memory.Declared, memory.Fact),
		Status: pick(m, memory.Active, memory.Active, memory.Active, memory.Archived), Order: m.Int64N(50),
		At: start.Add(time.Duration(m.IntN(1000)) * time.Minute), Sparse: tokens.Document(m.text(1 + m.IntN(20))),
	}
	if m.IntN(4) > 0 {
		e.Dense = m.vector()
	}
	return e
}

func (m maker) filter() memory.Filter {
	f := memory.Filter{Tenant: host.TenantID(m.name("t", 3))}
	maybe := func(set func()) {
		if m.IntN(6) == 0 {
			set()
		}
	}
	if m.IntN(2) == 0 {
		f.User = host.UserID(m.name("u", 5))
	}
	maybe(func() { f.Session = host.SessionID(m.name("s", 6)) })
	maybe(func() { f.Live = "live" })
	maybe(func() { f.Entity = m.name("sku", 4) })
	maybe(func() { f.Platform = "taobao" })
	maybe(func() { f.Kinds = []memory.Kind{memory.Habit, memory.Profile} })
	maybe(func() { f.Layers = []memory.Layer{memory.Declared} })
	maybe(func() { f.Statuses = []memory.Status{memory.Archived, memory.Active} })
	maybe(func() { f.Since = start.Add(time.Duration(m.IntN(1000)) * time.Minute) })
	maybe(func() { f.Until = start.Add(time.Duration(m.IntN(1000)) * time.Minute) })
	return f
}

func TestTheIndexFindsWhatAPlainSearchFinds(t *testing.T) {
	ctx := t.Context()
	m, x, plain := seeded(7), New(), shelf{}
	for range 300 {
		entries := make([]memory.Entry, m.IntN(30))
		for i := range entries {
			entries[i] = m.entry()
		}
		must(t, x.Put(ctx, entries))
		plain.put(entries)
		if m.IntN(3) == 0 {
			tenant, id := host.TenantID(m.name("t", 3)), memory.ID(m.name("m", 600))
			must(t, x.Delete(ctx, tenant, []memory.ID{id, "unknown"}))
			delete(plain[tenant], id)
		}
		filter, limit := m.filter(), 1+m.IntN(20)
		query := tokens.Query(m.text(1 + m.IntN(5)))
		got, err := x.Sparse(ctx, filter, query, limit)
		must(t, err)
		same(t, got, plain.sparse(filter, query, limit+10), limit)
		vector := m.vector()
		got, err = x.Dense(ctx, filter, vector, limit)
		must(t, err)
		same(t, got, plain.dense(filter, vector, limit+10), limit)
	}
	state, err := x.State(ctx)
	must(t, err)
	if want := len(plain["t0"]) + len(plain["t1"]) + len(plain["t2"]); state.Entries != int64(want) {
		t.Errorf("the index holds %d entries, want %d", state.Entries, want)
	}
}

// same compares lists but for the order of scores that differ by less than sums do
// that are added up in another order. Want may go on after the limit, for what is equal there.
func same(t *testing.T, got, want []memory.Found, limit int) {
	t.Helper()
	if len(got) != min(limit, len(want)) {
		t.Fatalf("found %d, want %d", len(got), min(limit, len(want)))
	}
	for i, g := range got {
		at := slices.IndexFunc(want, func(w memory.Found) bool { return w.ID == g.ID })
		const close = 1e-6
		if at < 0 || math.Abs(want[at].Score-g.Score) > close || math.Abs(want[i].Score-g.Score) > close {
			t.Fatalf("at %d found %s with %v, want %s with %v", i, g.ID, g.Score, want[i].ID, want[i].Score)
		}
		g.Score = want[at].Score
		if g != want[at] {
			t.Fatalf("found %+v, want %+v", g, want[at])
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsLeftOfWhatIsDeleted(t *testing.T) {
	ctx, m, x := t.Context(), seeded(3), New()
	var ids []memory.ID
	for i := range 2000 {
		e := m.entry()
		e.ID, e.Tenant, e.Entity = memory.ID(fmt.Sprint(i)), "t", fmt.Sprint("entity", i)
		ids = append(ids, e.ID)
		must(t, x.Put(ctx, []memory.Entry{e}))
	}
	kept := ids[77]
	must(t, x.Delete(ctx, "t", slices.DeleteFunc(slices.Clone(ids), func(id memory.ID) bool { return id == kept })))
	tenant := x.tenants["t"]
	if len(tenant.users) != 1 || len(tenant.owners) != 1 {
		t.Fatalf("%d users and %d owners are left, want one of each", len(tenant.users), len(tenant.owners))
	}
	for _, u := range tenant.users {
		s := u.segments[0]
		if len(u.segments) != 1 || len(s.docs) != 1 || len(s.postings.terms) != len(tenant.having) {
			t.Errorf("%d segments, %d docs, %d terms, %d counted", len(u.segments), len(s.docs), len(s.postings.terms), len(tenant.having))
		}
		for w := (walk{of: &s.postings}); !w.done(); {
			if count := w.take().count(); count != 1 {
				t.Errorf("a term has %d postings, want one", count)
			}
		}
		if !slices.Contains(s.names, "entity77") || len(s.names) > 6 {
			t.Errorf("the names %q are left, want those of one entry", s.names)
		}
	}
	must(t, x.Delete(ctx, "t", []memory.ID{kept}))
	if len(x.tenants) != 0 || x.entries != 0 {
		t.Errorf("%d tenants and %d entries are left", len(x.tenants), x.entries)
	}
}

func TestEqualScoresComeByID(t *testing.T) {
	ctx, x := t.Context(), New()
	for _, id := range []memory.ID{"c", "a", "d", "b"} {
		must(t, x.Put(ctx, []memory.Entry{{ID: id, Tenant: "t", User: host.UserID(id), Status: memory.Active, Sparse: tokens.Document("same")}}))
	}
	found, err := x.Sparse(ctx, memory.Filter{Tenant: "t"}, tokens.Query("same"), 3)
	must(t, err)
	if len(found) != 3 || found[0].ID != "a" || found[1].ID != "b" || found[2].ID != "c" {
		t.Errorf("found %v, want a, b and c", found)
	}
}

func TestAnEntryMovesToAnotherUser(t *testing.T) {
	ctx, x := t.Context(), New()
	e := memory.Entry{ID: "m", Tenant: "t", User: "u1", Status: memory.Active, Sparse: tokens.Document("word")}
	must(t, x.Put(ctx, []memory.Entry{e}))
	e.User = "u2"
	must(t, x.Put(ctx, []memory.Entry{e}))
	for user, want := range map[host.UserID]int{"u1": 0, "u2": 1, "": 1} {
		found, err := x.Sparse(ctx, memory.Filter{Tenant: "t", User: user}, tokens.Query("word"), 9)
		must(t, err)
		if len(found) != want {
			t.Errorf("user %q finds %d, want %d", user, len(found), want)
		}
	}
}

func TestTheIndexRefuses(t *testing.T) {
	ctx, x := t.Context(), New()
	good := memory.Entry{ID: "m", Tenant: "t", User: "u", Dense: []float32{1, 0}}
	must(t, x.Put(ctx, []memory.Entry{good}))
	with := func(change func(*memory.Entry)) error {
		e := good
		e.ID = "n"
		change(&e)
		return x.Put(ctx, []memory.Entry{{ID: "o", Tenant: "t", User: "u"}, e})
	}
	_, noTenant := x.Sparse(ctx, memory.Filter{User: "u"}, nil, 1)
	_, noLimit := x.Sparse(ctx, memory.Filter{Tenant: "t"}, nil, 0)
	_, tooMany := x.Dense(ctx, memory.Filter{Tenant: "t"}, []float32{1, 0}, maxLimit+1)
	_, otherLength := x.Dense(ctx, memory.Filter{Tenant: "t"}, []float32{1}, 1)
	_, unordered := x.Sparse(ctx, memory.Filter{Tenant: "t"}, tokens.Vector{{ID: 2, Weight: 1}, {ID: 1, Weight: 1}}, 1)
	_, endless := x.Sparse(ctx, memory.Filter{Tenant: "t"}, make(tokens.Vector, maxTerms+1), 1)
	for name, err := range map[string]error{
		"an entry without an id":      with(func(e *memory.Entry) { e.ID = "" }),
		"an entry without a tenant":   with(func(e *memory.Entry) { e.Tenant = "" }),
		"an entry without a user":     with(func(e *memory.Entry) { e.User = "" }),
		"a vector of another length":  with(func(e *memory.Entry) { e.Dense = []float32{1} }),
		"an entry without an end":     with(func(e *memory.Entry) { e.Sparse = make(tokens.Vector, maxTerms+1) }),
		"a question without an end":   endless,
		"a question in disorder":      unordered,
		"a weight of zero":            with(func(e *memory.Entry) { e.Sparse = tokens.Vector{{ID: 1}} }),
		"a vector of no number":       with(func(e *memory.Entry) { e.Dense = []float32{1, float32(math.NaN())} }),
		"a delete of no tenant":       x.Delete(ctx, "", []memory.ID{"m"}),
		"a version of none":           x.Reset(ctx, ""),
		"a name without an end":       with(func(e *memory.Entry) { e.Entity = string(make([]byte, maxName+1)) }),
		"a search of no tenant":       noTenant,
		"a search of nothing":         noLimit,
		"a search of too many":        tooMany,
		"a question of other vectors": otherLength,
	} {
		if host.ProblemOf(err) == nil {
			t.Errorf("%s was let pass", name)
		}
	}
	if state, _ := x.State(ctx); state.Entries != 1 {
		t.Errorf("the index holds %d entries, want one: of a refused batch none is put", state.Entries)
	}
}

func TestResetEmptiesAndNamesTheVersion(t *testing.T) {
	ctx, x := t.Context(), New()
	must(t, x.Put(ctx, []memory.Entry{{ID: "m", Tenant: "t", User: "u", Dense: []float32{1}}}))
	must(t, x.Reset(ctx, "2"))
	if state, _ := x.State(ctx); state != (memory.StoreState{Version: "2"}) {
		t.Errorf("the state is %+v", state)
	}
	must(t, x.Put(ctx, []memory.Entry{{ID: "m", Tenant: "t", User: "u", Dense: []float32{1, 0}}}))
}

// TestNoSearchFindsAForeignMemory asks as many users of several tenants, while
// memories come and go. Each memory carries whose it is in its id.
func TestNoSearchFindsAForeignMemory(t *testing.T) {
	const askers, questions, writes = 4, 25_000, 5_000
	ctx, x := t.Context(), New()
	m := seeded(1)
	for range 500 {
		must(t, x.Put(ctx, []memory.Entry{m.owned()}))
	}
	var all sync.WaitGroup
	all.Go(func() {
		w := seeded(2)
		for range writes {
			e := w.owned()
			err := x.Put(ctx, []memory.Entry{e})
			if err = cmp.Or(err, x.Delete(ctx, e.Tenant, []memory.ID{w.owned().ID})); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for asker := range askers {
		all.Go(func() { ask(ctx, t, x, seeded(uint64(10+asker)), questions) })
	}
	all.Wait()
}

func (m maker) owned() memory.Entry {
	e := m.entry()
	e.ID = memory.ID(fmt.Sprintf("%s/%s/%d", e.Tenant, e.User, m.IntN(40)))
	return e
}

func ask(ctx context.Context, t *testing.T, x *Index, m maker, questions int) {
	foreign, found := 0, 0
	for range questions {
		filter := m.filter()
		list, err := x.Sparse(ctx, filter, tokens.Query(m.text(2)), 10)
		if m.IntN(4) == 0 {
			list, err = x.Dense(ctx, filter, m.vector(), 10)
		}
		if err != nil {
			t.Error(err)
			return
		}
		for _, f := range list {
			found++
			whose := fmt.Sprintf("%s/%s/", filter.Tenant, cmp.Or(filter.User, f.User))
			if len(f.ID) < len(whose) || string(f.ID[:len(whose)]) != whose {
				foreign++
			}
		}
	}
	if foreign > 0 || found == 0 {
		t.Errorf("%d of %d memories found were foreign", foreign, found)
	}
}

func TestAListKeepsWhatIsAdded(t *testing.T) {
	m := seeded(5)
	for range 200 {
		var want []posting
		var l list
		last := 0
		for doc := m.IntN(300); doc < maxSegment; doc += 1 + m.IntN(1+m.IntN(2000)) {
			p := posting{doc, int(m.ExpFloat64() * 2 * float64(1+m.IntN(100)))}
			want, l, last = append(want, p), l.add(last, p), doc
		}
		if l.count() != len(want) || len(want) > 0 && l.last() != last {
			t.Fatalf("a list of %d ending with %d counts %d and ends with %d", len(want), last, l.count(), l.last())
		}
		var p posting
		for i, rest := 0, l; len(rest) > 0; i++ {
			if p, rest = rest.next(p.doc); p != want[i] {
				t.Fatalf("at %d is %v, want %v", i, p, want[i])
			}
		}
	}
}

func TestAUserHasMoreMemoriesThanASegment(t *testing.T) {
	ctx, x := t.Context(), New()
	entries := make([]memory.Entry, 2*maxSegment+100)
	for i := range entries {
		entries[i] = memory.Entry{
			ID: memory.ID(fmt.Sprintf("%06d", i)), Tenant: "t", User: "u", Session: host.SessionID(fmt.Sprint(i)), Entity: fmt.Sprint("e", i),
			Status: memory.Active, Sparse: tokens.Document(fmt.Sprintf("same n%d", i%100)),
		}
	}
	must(t, x.Put(ctx, entries))
	must(t, x.Put(ctx, entries[:300])) // the same once more
	for _, i := range []int{0, 299, maxSegment - 1, maxSegment, len(entries) - 1} {
		filter := memory.Filter{Tenant: "t", User: "u", Entity: fmt.Sprint("e", i)}
		found, err := x.Sparse(ctx, filter, tokens.Query("same"), 5)
		must(t, err)
		if len(found) != 1 || found[0].ID != entries[i].ID || found[0].Session != entries[i].Session {
			t.Errorf("of entity %d are found %v", i, found)
		}
	}
	found, err := x.Sparse(ctx, memory.Filter{Tenant: "t"}, tokens.Query("n7"), maxLimit)
	must(t, err)
	if want := len(entries)/100 + 1; len(found) != want {
		t.Errorf("found %d, want %d", len(found), want)
	}
	for _, s := range x.tenants["t"].users["u"].segments {
		if len(s.docs) > maxSegment {
			t.Errorf("a segment of %d", len(s.docs))
		}
	}
}

func TestAClosedIndexSaysSo(t *testing.T) {
	ctx, x := t.Context(), New()
	must(t, x.Close())
	_, sparse := x.Sparse(ctx, memory.Filter{Tenant: "t"}, nil, 1)
	_, dense := x.Dense(ctx, memory.Filter{Tenant: "t"}, nil, 1)
	_, state := x.State(ctx)
	for name, err := range map[string]error{
		"Put": x.Put(ctx, nil), "Delete": x.Delete(ctx, "t", nil), "Reset": x.Reset(ctx, "1"), "Sparse": sparse, "Dense": dense, "State": state,
	} {
		if err == nil {
			t.Errorf("%s of a closed index is well", name)
		}
	}
}
