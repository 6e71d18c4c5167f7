package state

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A model is what kv should be: a whole copy for each tenant.
type model struct {
	t       testing.TB
	s       *Store
	pick    func(n int) int // a number below n
	tenants []*modelTenant
}

type modelTenant struct {
	id     host.TenantID
	parent map[string]string
	rows   map[string]string
	depth  int
	sealed bool
}

// TestScansForksAndViewsAgreeWithAModel plays random calls and compares every
// page with sorted maps.
func TestScansForksAndViewsAgreeWithAModel(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for seed := range uint64(30) {
			rng := rand.New(rand.NewPCG(seed, 1))
			m := &model{t: t, s: s, pick: rng.IntN}
			m.run(fmt.Sprint("seed", seed), 12)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

func FuzzScanMerge(f *testing.F) {
	s := openStore(f)
	f.Add([]byte("\x00\x05\x01\x02\x03\x04\x05\x06\x07\x08"))
	f.Add([]byte(strings.Repeat("\x03\x01\x09\x04\x07\x02\x08", 30)))
	runs := 0
	f.Fuzz(func(t *testing.T, choices []byte) {
		runs++
		m := &model{t: t, s: s, pick: func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			choice := int(choices[0]) % n
			choices = choices[1:]
			return choice
		}}
		m.run(fmt.Sprint("run", runs), min(12, len(choices)/4))
	})
}

func (m *model) run(name string, steps int) {
	m.tenants = []*modelTenant{{id: host.TenantID(name), rows: map[string]string{}}}
	for step := range steps {
		tenant := m.tenants[m.pick(len(m.tenants))]
		if m.pick(4) == 0 && tenant.depth < MaxForkDepth {
			m.fork(tenant, host.TenantID(fmt.Sprint(name, ".", step)))
			continue
		}
		m.call(tenant)
	}
	for _, tenant := range m.tenants {
		m.compareChanges(tenant)
	}
}

func (m *model) fork(parent *modelTenant, id host.TenantID) {
	must(m.t, m.s.Fork(m.t.Context(), parent.id, id))
	parent.sealed = true
	m.tenants = append(m.tenants, &modelTenant{id: id, parent: parent.rows, rows: maps.Clone(parent.rows), depth: parent.depth + 1})
}

// call writes and reads in one view and settles it, or not.
func (m *model) call(tenant *modelTenant) {
	view, want := m.s.View(tenant.id, "n"), maps.Clone(tenant.rows)
	for range m.pick(8) {
		key := m.key()
		if m.pick(3) == 0 {
			must(m.t, view.Delete(key))
			delete(want, key)
		} else {
			value := fmt.Sprint(m.pick(5))
			must(m.t, view.Put(key, []byte(value)))
			want[key] = value
		}
		m.compareGet(view, want, m.key())
	}
	for range 3 {
		m.compareScan(view, want)
	}
	if m.pick(5) == 0 {
		return
	}
	err := m.s.Settle(m.t.Context(), Settlement{Session: session(tenant.id), Call: "call", Views: []*View{view}})
	if len(view.writes) > 0 && tenant.sealed {
		wantCode(m.t, err, abi.NotAllowed)
		return
	}
	must(m.t, err)
	tenant.rows = want
}

// key draws from few keys, so that they meet, and from the edges of the order.
func (m *model) key() string {
	parts := []string{"a", "b", "ab", "/", "\x01", "\x7f", "é", "\U0010ffff", "z"}
	key := parts[m.pick(len(parts))]
	for range m.pick(3) {
		key += parts[m.pick(len(parts))]
	}
	return key
}

func (m *model) compareGet(view *View, want map[string]string, key string) {
	m.t.Helper()
	got, found, err := view.Get(m.t.Context(), key)
	must(m.t, err)
	if value, ok := want[key]; ok != found || string(got) != value {
		m.t.Errorf("get %q: %q, %v; want %q, %v", key, got, found, value, ok)
	}
}

// compareScan walks all pages of a random query.
func (m *model) compareScan(view *View, want map[string]string) {
	m.t.Helper()
	q := abi.ScanQuery{Limit: 1 + m.pick(6), KeysOnly: m.pick(3) == 0}
	if m.pick(2) == 0 {
		q.Prefix = string([]rune(m.key())[:1])
	}
	if m.pick(3) == 0 {
		q.After = m.key()
	}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if strings.HasPrefix(key, q.Prefix) && key > q.After {
			keys = append(keys, key)
		}
	}
	for {
		page, err := view.Scan(m.t.Context(), q)
		must(m.t, err)
		expected := keys[:min(q.Limit, len(keys))]
		keys = keys[len(expected):]
		m.comparePage(q, page, want, expected, len(keys) > 0)
		if page.After == "" || m.t.Failed() {
			return
		}
		q.After = page.After
	}
}

func (m *model) comparePage(q abi.ScanQuery, page abi.Page, want map[string]string, keys []string, more bool) {
	m.t.Helper()
	var got []string
	for _, e := range page.Entries {
		got = append(got, e.Key)
		if q.KeysOnly != (e.Value == nil) || !q.KeysOnly && string(e.Value) != want[e.Key] {
			m.t.Errorf("scan %+v: %q has value %q, want %q", q, e.Key, e.Value, want[e.Key])
		}
	}
	if !slices.Equal(got, keys) || more != (page.After != "") {
		m.t.Errorf("scan %+v: %q then %q; want %q and more: %v", q, got, page.After, keys, more)
	}
}

func (m *model) compareChanges(tenant *modelTenant) {
	m.t.Helper()
	var want []string
	for key, value := range tenant.rows {
		if below, ok := tenant.parent[key]; !ok || below != value {
			want = append(want, key+"="+value)
		}
	}
	for key := range tenant.parent {
		if _, ok := tenant.rows[key]; !ok {
			want = append(want, key+" deleted")
		}
	}
	slices.Sort(want)
	changes, err := m.s.Changes(m.t.Context(), tenant.id, "n")
	must(m.t, err)
	var got []string
	for _, c := range changes {
		if c.Deleted {
			got = append(got, c.Key+" deleted")
		} else {
			got = append(got, c.Key+"="+string(c.Value))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.t.Errorf("changes of %s: %q, want %q", tenant.id, got, want)
	}
}

func TestAScanOverManyDeletedKeysEndsItsPageEarlyAndGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		const keys = maxExamined + 500
		must(t, s.Import(t.Context(), "base", "n", manyEntries(keys)))
		must(t, s.Fork(t.Context(), "base", "child"))
		must(t, s.writer.do(t.Context(), func(ctx context.Context, ex *executor) error {
			_, err := ex.exec(ctx, "INSERT INTO kv SELECT 'child', namespace, kv_key, stamp, 1, '' FROM kv WHERE tenant_id = 'base' AND kv_key < ?", fmt.Sprintf("key/%06d", keys-3))
			return err
		}))
		view, found, pages := s.View("child", "n"), 0, 0
		for after := ""; ; pages++ {
			page, err := view.Scan(t.Context(), abi.ScanQuery{After: after})
			must(t, err)
			found += len(page.Entries)
			if after = page.After; after == "" {
				break
			}
		}
		if found != 3 || pages != 1 {
			t.Errorf("found %d keys with %d further pages", found, pages)
		}
		must(t, view.Put("key/x", []byte("1")))
		must(t, settleView(t, view))
	})
}
