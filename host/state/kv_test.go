package state

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func manyEntries(n int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("key/%06d", i), fmt.Appendf(nil, `{"n":%d,"pad":"%0100d"}`, i, i)) {
				return
			}
		}
	}
}

// put settles a call that writes some keys of namespace n; an empty value
// deletes.
func put(t testing.TB, s *Store, tenant host.TenantID, pairs ...string) {
	t.Helper()
	must(t, tryPut(t, s, tenant, pairs...))
}

func tryPut(t testing.TB, s *Store, tenant host.TenantID, pairs ...string) error {
	t.Helper()
	view := s.View(tenant, "n")
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			must(t, view.Delete(pairs[i]))
		} else {
			must(t, view.Put(pairs[i], []byte(pairs[i+1])))
		}
	}
	return settleView(t, view)
}

func settleView(t testing.TB, views ...*View) error {
	t.Helper()
	return views[0].store.Settle(t.Context(), Settlement{Session: session(views[0].tenant), Call: "call", Views: views})
}

// contents reads all of namespace n through a view, page by page.
func contents(t testing.TB, view *View) map[string]string {
	t.Helper()
	all := map[string]string{}
	for after := ""; ; {
		page, err := view.Scan(t.Context(), abi.ScanQuery{After: after, Limit: 7})
		must(t, err)
		for _, e := range page.Entries {
			all[e.Key] = string(e.Value)
		}
		if after = page.After; after == "" {
			return all
		}
	}
}

func TestAViewShowsItsOwnWritesAndNobodyElseSeesThemBeforeSettle(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "shop", "a", "1", "b", "1")
		view := s.View("shop", "n")
		must(t, view.Put("a", []byte("2")))
		must(t, view.Delete("b"))
		must(t, view.Put("empty", nil))
		want := map[string]string{"a": "2", "empty": ""}
		if got := contents(t, view); !maps.Equal(got, want) {
			t.Errorf("the view shows %v", got)
		}
		for key, value := range map[string]string{"a": "2", "b": "-", "empty": "", "none": "-"} {
			got, found, err := view.Get(t.Context(), key)
			must(t, err)
			if found != (value != "-") || found && (string(got) != value || got == nil) {
				t.Errorf("%s: got %q, %v", key, got, found)
			}
		}
		if got := contents(t, s.View("shop", "n")); !maps.Equal(got, map[string]string{"a": "1", "b": "1"}) {
			t.Errorf("another view shows %v", got)
		}
		must(t, settleView(t, view))
		if got := contents(t, s.View("shop", "n")); !maps.Equal(got, want) {
			t.Errorf("after settle %v", got)
		}
		if got, found, err := s.View("shop", "n").Get(t.Context(), "empty"); err != nil || !found || got == nil || len(got) != 0 {
			t.Errorf("an empty value is read as %v, %v, %v", got, found, err)
		}
		if got := contents(t, s.View("shop", "n2")); len(got) != 0 {
			t.Errorf("another namespace shows %v", got)
		}
	})
}

func TestResetForgetsReadsAndWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "shop", "a", "1")
		view := s.View("shop", "n")
		_, _, err := view.Get(t.Context(), "a")
		must(t, err)
		must(t, view.Put("b", []byte("2")))
		put(t, s, "shop", "a", "9")
		wantCode(t, settleView(t, view), abi.StoreConflict)
		view.Reset()
		if got := contents(t, view); !maps.Equal(got, map[string]string{"a": "9"}) {
			t.Errorf("after Reset %v", got)
		}
		must(t, view.Put("b", []byte("2")))
		must(t, settleView(t, view))
	})
}

func TestKeysAreBoundedAndOrderedByTheirBytes(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		view := s.View("shop", "n")
		longest := strings.Repeat("k", abi.KeyBytes)
		for _, bad := range []string{"", longest + "k", "a\x00b", "\xff", "a\xc3"} {
			wantCode(t, view.Put(bad, nil), abi.BadHostCall)
			wantCode(t, view.Delete(bad), abi.BadHostCall)
			_, _, err := view.Get(t.Context(), bad)
			wantCode(t, err, abi.BadHostCall)
		}
		for _, bad := range []abi.ScanQuery{{Prefix: "\xff"}, {After: "a\x00"}, {Prefix: longest + "k"}, {Limit: -1}, {Limit: abi.ScanPageEntries + 1}} {
			_, err := view.Scan(t.Context(), bad)
			wantCode(t, err, abi.BadHostCall)
		}
		keys := []string{"\x01", "1", "10", "9", "A", "a", "a\x7f", longest, "é", "\uffff", "\U0010ffff"}
		for _, key := range keys {
			must(t, view.Put(key, []byte(key)))
		}
		must(t, settleView(t, view))
		page, err := s.View("shop", "n").Scan(t.Context(), abi.ScanQuery{})
		must(t, err)
		var got []string
		for _, e := range page.Entries {
			got = append(got, e.Key)
		}
		if !slices.Equal(got, keys) {
			t.Errorf("order %q", got)
		}
		for _, bad := range []*View{s.View("", "n"), s.View("shop", ""), s.View("shop", "a\nb")} {
			wantCode(t, bad.Put("k", nil), abi.BadValue)
			_, err := bad.Scan(t.Context(), abi.ScanQuery{})
			wantCode(t, err, abi.BadValue)
		}
	})
}

func TestOneCallWritesSoMuchAndNoMore(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		view := s.View("shop", "n")
		for i := range abi.CallWrites {
			must(t, view.Put(fmt.Sprint(i), nil))
		}
		must(t, view.Put("0", []byte("again")))
		wantCode(t, view.Put("more", nil), abi.QuotaReached)
		wantCode(t, view.Delete("more"), abi.QuotaReached)

		view.Reset()
		whole := make([]byte, abi.ValueBytes)
		wantCode(t, view.Put("k", append(whole, 0)), abi.QuotaReached)
		for i := range int(abi.CallWriteBytes / abi.ValueBytes) {
			must(t, view.Put(fmt.Sprint(i), whole))
		}
		wantCode(t, view.Put("more", []byte("1")), abi.QuotaReached)
		must(t, view.Put("0", nil)) // smaller than before makes room
		must(t, view.Put("more", []byte("1")))
		must(t, settleView(t, view))
	})
}

func TestAPageEndsEarlyRatherThanBeTooLarge(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		view := s.View("shop", "n")
		value := make([]byte, abi.ValueBytes)
		for i := range 10 {
			must(t, view.Put(fmt.Sprint("k", i), value))
		}
		for name, v := range map[string]*View{"its own": view, "stored": func() *View { must(t, settleView(t, view)); return s.View("shop", "n") }()} {
			keys := 0
			for after := ""; ; {
				page, err := v.Scan(t.Context(), abi.ScanQuery{Prefix: "k", After: after})
				must(t, err)
				if size := len(page.Encode()); size > int(abi.ScanPageBytes) || len(page.Entries) == 0 {
					t.Fatalf("%s: a page of %d bytes with %d entries", name, size, len(page.Entries))
				}
				keys += len(page.Entries)
				if after = page.After; after == "" {
					break
				}
			}
			page, err := v.Scan(t.Context(), abi.ScanQuery{Prefix: "k", KeysOnly: true})
			must(t, err)
			if keys != 10 || len(page.Entries) != 10 || page.Entries[0].Value != nil {
				t.Errorf("%s: %d keys with values, %d without", name, keys, len(page.Entries))
			}
		}
	})
}

func TestImportWritesManyEntriesOverWhatIsThere(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "shop", "key/000000", "old", "other", "kept")
		must(t, s.Import(t.Context(), "shop", "n", manyEntries(1234)))
		must(t, s.Import(t.Context(), "shop", "n", manyEntries(0)))
		got := contents(t, s.View("shop", "n"))
		if len(got) != 1235 || got["other"] != "kept" || !strings.HasPrefix(got["key/000000"], `{"n":0,`) {
			t.Errorf("%d entries, key 0 is %q", len(got), got["key/000000"])
		}
		for code, entries := range map[abi.Code]map[string][]byte{
			abi.BadHostCall: {"": nil}, abi.QuotaReached: {"big": make([]byte, abi.ValueBytes+1)},
		} {
			wantCode(t, s.Import(t.Context(), "shop", "n", maps.All(entries)), code)
		}
		wantCode(t, s.Import(t.Context(), "", "n", manyEntries(1)), abi.BadValue)
	})
}

func TestAForkSeesItsParentUntilItWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "base", "a", "1", "b", "1", "c", "1")
		must(t, s.Fork(t.Context(), "base", "left"))
		must(t, s.Fork(t.Context(), "base", "right"))
		put(t, s, "left", "a", "2", "b", "", "d", "2", "never", "")
		for tenant, want := range map[host.TenantID]map[string]string{
			"base":  {"a": "1", "b": "1", "c": "1"},
			"right": {"a": "1", "b": "1", "c": "1"},
			"left":  {"a": "2", "c": "1", "d": "2"},
		} {
			if got := contents(t, s.View(tenant, "n")); !maps.Equal(got, want) {
				t.Errorf("%s has %v, want %v", tenant, got, want)
			}
		}
		if _, found, err := s.View("left", "n").Get(t.Context(), "b"); err != nil || found {
			t.Errorf("a key that the fork deleted is found: %v, %v", found, err)
		}
		put(t, s, "left", "b", "3")
		if got, _, err := s.View("left", "n").Get(t.Context(), "b"); err != nil || string(got) != "3" {
			t.Errorf("a key that was made again is %q, %v", got, err)
		}
	})
}

func TestChangesAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "shop", "k", "1")
		have := int64(1)
		grow := func(to int64) { // every row again under a longer key, until there are enough
			for suffix := 'a'; have < to; suffix++ {
				must(t, s.writer.do(t.Context(), func(ctx context.Context, ex *executor) error {
					made, err := ex.exec(ctx, "INSERT INTO kv SELECT tenant_id, namespace, CONCAT(kv_key, ?), stamp, deleted, value FROM kv WHERE tenant_id = 'shop' ORDER BY kv_key LIMIT ?",
						fmt.Sprint(to, string(suffix)), to-have)
					have += made
					return err
				}))
			}
		}
		grow(MaxChanges)
		changes, err := s.Changes(t.Context(), "shop", "n")
		if err != nil || len(changes) != MaxChanges {
			t.Errorf("%d changes, %v", len(changes), err)
		}
		grow(MaxChanges + 1)
		_, err = s.Changes(t.Context(), "shop", "n")
		wantCode(t, err, abi.QuotaReached)
	})
}

func TestADeletedKeyLeavesARowOnlyWhereItHidesTheParents(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "base", "a", "1", "b", "1")
		put(t, s, "base", "b", "")
		must(t, s.Fork(t.Context(), "base", "child"))
		put(t, s, "child", "a", "", "b", "1", "c", "1", "never", "")
		put(t, s, "child", "b", "", "c", "")
		var rows string
		must(t, s.reads.QueryRow("SELECT GROUP_CONCAT(CONCAT(tenant_id, ' ', kv_key, ' ', deleted)) FROM (SELECT * FROM kv ORDER BY tenant_id, kv_key LIMIT 9) AS ordered").Scan(&rows))
		if rows != "base a 0,child a 1" {
			t.Errorf("rows %s", rows)
		}
	})
}

func TestAParentTakesNoMoreWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		view := s.View("base", "n")
		must(t, view.Put("a", []byte("1")))
		must(t, s.Fork(t.Context(), "base", "child"))
		wantCode(t, settleView(t, view), abi.NotAllowed)
		wantCode(t, s.Import(t.Context(), "base", "n", manyEntries(1)), abi.NotAllowed)
		wantKeysOf(t, s, "child")
		reading := s.View("base", "n")
		contents(t, reading)
		must(t, settleView(t, reading)) // reading goes on
	})
}

func TestForksAreBoundedAndNeedAFreshTenant(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "0", "k", "0")
		for depth := range MaxForkDepth {
			must(t, s.Fork(t.Context(), host.TenantID(fmt.Sprint(depth)), host.TenantID(fmt.Sprint(depth+1))))
		}
		deepest := host.TenantID(fmt.Sprint(MaxForkDepth))
		if got, _, err := s.View(deepest, "n").Get(t.Context(), "k"); err != nil || string(got) != "0" {
			t.Errorf("the deepest fork reads %q, %v", got, err)
		}
		put(t, s, deepest, "k", "")
		wantKeysOf(t, s, deepest, "-k")
		wantCode(t, s.Fork(t.Context(), deepest, "too deep"), abi.QuotaReached)
		put(t, s, "used", "k", "1")
		for _, child := range []host.TenantID{"used", "0", "1", deepest} {
			wantCode(t, s.Fork(t.Context(), "root", child), abi.Conflict)
		}
		wantCode(t, s.Fork(t.Context(), "new", "new"), abi.Conflict)
		wantCode(t, s.Fork(t.Context(), "", "x"), abi.BadValue)
		put(t, s, "root", "k", "1") // a fork that failed seals nothing
	})
}

func TestATenantThatBecomesAForkUnderACallIsAConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "base", "a", "1")
		view := s.View("child", "n")
		if _, found, err := view.Get(t.Context(), "a"); found || err != nil {
			t.Fatal(found, err)
		}
		must(t, view.Put("b", []byte("1")))
		must(t, s.Fork(t.Context(), "base", "child"))
		wantCode(t, settleView(t, view), abi.StoreConflict)
	})
}

// wantKeysOf checks Changes in short form: "key" for a value, "-key" for a
// deletion.
func wantKeysOf(t testing.TB, s *Store, tenant host.TenantID, want ...string) {
	t.Helper()
	changes, err := s.Changes(t.Context(), tenant, "n")
	must(t, err)
	var got []string
	for _, c := range changes {
		if c.Deleted {
			got = append(got, "-"+c.Key)
		} else {
			got = append(got, c.Key)
		}
		if c.Deleted != (c.Value == nil) {
			t.Errorf("%s: deleted %v with value %q", c.Key, c.Deleted, c.Value)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes of %s: %q, want %q", tenant, got, want)
	}
}

func TestChangesAreWhatDiffersFromTheParent(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "base", "a", "1", "b", "1", "c", "1", "d", "1")
		must(t, s.Fork(t.Context(), "base", "mid"))
		put(t, s, "mid", "d", "")
		must(t, s.Fork(t.Context(), "mid", "child"))
		put(t, s, "child", "a", "2", "b", "", "new", "2", "tried", "2")
		put(t, s, "child", "tried", "", "c", "1", "d", "") // as if nothing had been
		wantKeysOf(t, s, "child", "a", "-b", "new")
		put(t, s, "child", "a", "1", "b", "1", "new", "", "d", "1")
		wantKeysOf(t, s, "child", "d")
		wantKeysOf(t, s, "mid", "-d")
		wantKeysOf(t, s, "base", "a", "b", "c", "d")
		must(t, s.Import(t.Context(), "child", "n", maps.All(map[string][]byte{"e": []byte("1")})))
		changes, err := s.Changes(t.Context(), "child", "n")
		must(t, err)
		if len(changes) != 2 || changes[1].Key != "e" || !bytes.Equal(changes[1].Value, []byte("1")) {
			t.Errorf("after import %v", changes)
		}
	})
}
