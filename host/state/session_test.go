package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func loadOne(t testing.TB, s *Store, ref host.SessionRef, key string) (Value, bool) {
	t.Helper()
	values, err := s.LoadState(t.Context(), ref, key)
	must(t, err)
	v, ok := values[key]
	return v, ok
}

func TestStateKeepsBytesVersionAndTheStoresTime(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		at := time.Date(2026, 3, 1, 8, 0, 0, 123456000, time.UTC)
		s := openAt(t, d.fresh(t), Options{Now: func() time.Time { return at }})
		ref := session("shop")
		data := json.RawMessage("{ \"名\": 1.50,\n \"b\":\"\\u0000\" }")
		must(t, s.SaveState(t.Context(), ref, Change{Key: "live.current", Data: data}))
		v, _ := loadOne(t, s, ref, "live.current")
		if string(v.Data) != string(data) || v.Version != 1 || !v.UpdatedAt.Equal(at) || v.Key != "live.current" {
			t.Errorf("loaded %+v", v)
		}
		must(t, s.SaveState(t.Context(), ref, Change{Key: "live.current", Version: 1, Data: []byte("2")}))
		if v, _ := loadOne(t, s, ref, "live.current"); v.Version != 2 || string(v.Data) != "2" {
			t.Errorf("loaded %+v", v)
		}
		if values, err := s.LoadState(t.Context(), ref); err != nil || len(values) != 0 {
			t.Errorf("no keys give %v, %v", values, err)
		}
	})
}

func TestAChangeOfAnotherVersionIsAConflictThatNamesTheKey(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		must(t, s.SaveState(t.Context(), ref, Change{Key: "a", Data: []byte("1")}, Change{Key: "b", Data: []byte("1")}))
		for _, tt := range []struct {
			name   string
			change Change
		}{
			{"made again", Change{Key: "b", Data: []byte("9")}},
			{"too old", Change{Key: "b", Version: 2, Data: []byte("9")}},
			{"never was", Change{Key: "c", Version: 1, Data: []byte("9")}},
			{"deleted at another version", Change{Key: "b", Version: 3}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				err := s.SaveState(t.Context(), ref, Change{Key: "a", Version: 1, Data: []byte("9")}, tt.change)
				if problem := wantCode(t, err, abi.StoreConflict); problem.Field != tt.change.Key {
					t.Errorf("names %q", problem.Field)
				}
				if v, _ := loadOne(t, s, ref, "a"); v.Version != 1 || string(v.Data) != "1" {
					t.Errorf("the other change of the same save was kept: %+v", v)
				}
			})
		}
	})
}

func TestAChangeThatKeepsOnlyChecksTheVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		must(t, s.SaveState(t.Context(), ref, Change{Key: "a", Data: []byte("1")}))
		must(t, s.SaveState(t.Context(), ref, Change{Key: "a", Version: 1, Keep: true}, Change{Key: "none", Keep: true}, Change{Key: "b", Data: []byte("2")}))
		if v, _ := loadOne(t, s, ref, "a"); v.Version != 1 || string(v.Data) != "1" {
			t.Errorf("kept is %+v", v)
		}
		if v, found := loadOne(t, s, ref, "none"); found {
			t.Errorf("made is %+v", v)
		}
		for _, stale := range []Change{{Key: "a", Version: 2, Keep: true}, {Key: "a", Keep: true}, {Key: "none", Version: 1, Keep: true}} {
			err := s.SaveState(t.Context(), ref, stale, Change{Key: "b", Version: 1, Data: []byte("3")})
			if problem := wantCode(t, err, abi.StoreConflict); problem.Field != stale.Key {
				t.Errorf("it names %q", problem.Field)
			}
		}
		if v, _ := loadOne(t, s, ref, "b"); v.Version != 1 {
			t.Errorf("beside a stale one was kept %+v", v)
		}
	})
}

func TestADeletedKeyDoesNotComeBackUnderAnOldVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		must(t, s.SaveState(t.Context(), ref, Change{Key: "a", Data: []byte("1")}))
		must(t, s.SaveState(t.Context(), ref, Change{Key: "a", Version: 1}))
		if _, ok := loadOne(t, s, ref, "a"); ok {
			t.Error("a deleted key is still there")
		}
		must(t, s.SaveState(t.Context(), ref, Change{Key: "a"}, Change{Key: "never"})) // deleting nothing is nothing
		must(t, s.SaveState(t.Context(), ref, Change{Key: "a", Data: []byte("2")}))
		if v, _ := loadOne(t, s, ref, "a"); v.Version == 1 {
			t.Error("the new value passes for the deleted one")
		}
		wantCode(t, s.SaveState(t.Context(), ref, Change{Key: "a", Version: 1, Data: []byte("3")}), abi.StoreConflict)
	})
}

func TestStateIsListedByPrefixInByteOrderPageByPage(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		keys := []string{"a", "live", "live.", "live.b", "live.é", "live.\U0010ffff", "live/", "m"}
		for _, key := range keys {
			must(t, s.SaveState(t.Context(), ref, Change{Key: key, Data: []byte("1")}))
		}
		must(t, s.SaveState(t.Context(), ref, Change{Key: "live.gone", Data: []byte("1")}))
		must(t, s.SaveState(t.Context(), ref, Change{Key: "live.gone", Version: 1}))
		for _, tt := range []struct {
			prefix, after string
			limit         int
			want          []string
		}{
			{"", "", 0, keys},
			{"live.", "", 0, keys[2:6]},
			{"live.", "", 2, keys[2:4]},
			{"live.", "live.", 2, keys[3:5]},
			{"live.", "a", 1, keys[2:3]},
			{"live.", "live.\U0010ffff", 5, nil},
			{"live.", "m", 5, nil},
			{"", "live", 3, keys[2:5]},
			{"nothing", "", 5, nil},
		} {
			values, err := s.ListState(t.Context(), ref, tt.prefix, tt.after, tt.limit)
			must(t, err)
			var got []string
			for _, v := range values {
				got = append(got, v.Key)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("prefix %q after %q limit %d gives %q, want %q", tt.prefix, tt.after, tt.limit, got, tt.want)
			}
		}
	})
}

func TestALongListEndsEarlyAndGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		big := json.RawMessage(`"` + strings.Repeat("x", 7<<20) + `"`)
		for i := range 4 {
			must(t, s.SaveState(t.Context(), ref, Change{Key: fmt.Sprint("k", i), Data: big}))
		}
		var got []string
		for after := ""; ; {
			values, err := s.ListState(t.Context(), ref, "", after, 0)
			must(t, err)
			if len(values) == 0 {
				break
			}
			if len(values) > 3 {
				t.Errorf("a list of %d MiB", 7*len(values))
			}
			for _, v := range values {
				got, after = append(got, v.Key), v.Key
			}
		}
		if !slices.Equal(got, []string{"k0", "k1", "k2", "k3"}) {
			t.Errorf("listed %q", got)
		}
	})
}

func TestSessionsOfAUserAreListed(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for _, ref := range []host.SessionRef{
			{Tenant: "shop", User: "ann", Session: "s1"}, {Tenant: "shop", User: "ann", Session: "s2"}, {Tenant: "shop", User: "ann", Session: "s3"},
			{Tenant: "shop", User: "bob", Session: "s4"}, {Tenant: "other", User: "ann", Session: "s5"},
		} {
			must(t, s.SaveState(t.Context(), ref, Change{Key: "a", Data: []byte("1")}, Change{Key: "b", Data: []byte("1")}))
		}
		must(t, s.SaveState(t.Context(), session("shop"), Change{Key: "a", Version: 1}, Change{Key: "b", Version: 1}))
		refs, err := s.Sessions(t.Context(), "shop", "ann", "", 0)
		must(t, err)
		if fmt.Sprint(refs) != "[shop/ann/s2 shop/ann/s3]" {
			t.Errorf("sessions %v", refs)
		}
		if refs, err = s.Sessions(t.Context(), "shop", "ann", "s2", 5); err != nil || fmt.Sprint(refs) != "[shop/ann/s3]" {
			t.Errorf("after s2 %v, %v", refs, err)
		}
		if refs, err = s.Sessions(t.Context(), "shop", "ann", "", 1); err != nil || fmt.Sprint(refs) != "[shop/ann/s2]" {
			t.Errorf("one %v, %v", refs, err)
		}
	})
}

func TestStateRefusesBadInput(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		one := []byte("1")
		many := make([]Change, MaxKeys+1)
		for i := range many {
			many[i] = Change{Key: fmt.Sprint(i), Data: one}
		}
		for name, save := range map[string]func() error{
			"no tenant": func() error {
				return s.SaveState(t.Context(), host.SessionRef{User: "a", Session: "b"}, Change{Key: "k", Data: one})
			},
			"a control id":   func() error { return s.SaveState(t.Context(), session("a\nb"), Change{Key: "k", Data: one}) },
			"an empty key":   func() error { return s.SaveState(t.Context(), ref, Change{Data: one}) },
			"a long key":     func() error { return s.SaveState(t.Context(), ref, Change{Key: strings.Repeat("k", 513), Data: one}) },
			"a key with NUL": func() error { return s.SaveState(t.Context(), ref, Change{Key: "a\x00", Data: one}) },
			"not JSON":       func() error { return s.SaveState(t.Context(), ref, Change{Key: "k", Data: []byte("{")}) },
			"empty data":     func() error { return s.SaveState(t.Context(), ref, Change{Key: "k", Data: []byte{}}) },
			"too large": func() error {
				return s.SaveState(t.Context(), ref, Change{Key: "k", Data: make([]byte, MaxDocumentBytes+1)})
			},
			"a key twice": func() error {
				return s.SaveState(t.Context(), ref, Change{Key: "k", Data: one}, Change{Key: "k", Data: one})
			},
			"too many":        func() error { return s.SaveState(t.Context(), ref, many...) },
			"too many loaded": func() error { _, err := s.LoadState(t.Context(), ref, make([]string, MaxKeys+1)...); return err },
			"a bad prefix":    func() error { _, err := s.ListState(t.Context(), ref, "\xff", "", 0); return err },
			"no user":         func() error { _, err := s.Sessions(t.Context(), "shop", "", "", 0); return err },
		} {
			t.Run(name, func(t *testing.T) { wantCode(t, save(), abi.BadValue) })
		}
	})
}

// Everything under the same ids, and another tenant sees nothing of it.
func TestTenantsDoNotSeeEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, mine, theirs := d.open(t), session("shop"), session("shop2")
		must(t, s.SaveState(t.Context(), mine, Change{Key: "k", Data: []byte("1")}))
		claimNew(t, s, request(mine, "key1", "call1"))
		view := s.View(mine.Tenant, "n")
		must(t, view.Put("k", []byte("1")))
		must(t, s.Settle(t.Context(), Settlement{Session: mine, Call: "call1", Key: "key1", Outcome: []byte("1"), Views: []*View{view},
			Records: []host.Record{{Call: "call1", Kind: host.RecordOutcome}}}))

		if _, ok := loadOne(t, s, theirs, "k"); ok {
			t.Error("state is seen")
		}
		if values, err := s.ListState(t.Context(), theirs, "", "", 0); err != nil || len(values) > 0 {
			t.Errorf("state is listed: %v, %v", values, err)
		}
		if refs, err := s.Sessions(t.Context(), theirs.Tenant, theirs.User, "", 0); err != nil || len(refs) > 0 {
			t.Errorf("sessions are listed: %v, %v", refs, err)
		}
		other := s.View(theirs.Tenant, "n")
		if _, found, err := other.Get(t.Context(), "k"); err != nil || found {
			t.Errorf("kv is read: %v, %v", found, err)
		}
		if page, err := other.Scan(t.Context(), abi.ScanQuery{}); err != nil || len(page.Entries) > 0 {
			t.Errorf("kv is scanned: %v, %v", page, err)
		}
		if records, err := s.Records(t.Context(), theirs.Tenant, RecordFilter{Call: "call1"}); err != nil || len(records) > 0 {
			t.Errorf("records are read: %v, %v", records, err)
		}
		if claim, err := s.Claim(t.Context(), request(theirs, "key1", "call1")); err != nil || claim.State != ClaimNew {
			t.Errorf("a claim is in the way: %v, %v", claim, err)
		}
		wantCode(t, s.Settle(t.Context(), Settlement{Session: theirs, Call: "call2", Views: []*View{view}}), abi.BadValue)
		wantCode(t, s.Settle(t.Context(), Settlement{Session: theirs, Call: "call2", Records: []host.Record{{Session: mine, Kind: host.RecordNotice}}}), abi.BadValue)
		_, err := s.Records(t.Context(), theirs.Tenant, RecordFilter{Session: mine})
		wantCode(t, err, abi.BadValue)
	})
}

func TestLoadedKeysAreThoseThatExist(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		must(t, s.SaveState(t.Context(), ref, Change{Key: "a", Data: []byte("1")}, Change{Key: "b", Data: []byte("2")}))
		values, err := s.LoadState(t.Context(), ref, "a", "none", "b")
		must(t, err)
		if got := slices.Sorted(maps.Keys(values)); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("loaded %q", got)
		}
	})
}

func TestKeysAndPrefixesAreReadAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		for _, key := range []string{"a", "b", "live", "live.a", "live.b", "live/", "m.x", "gone", "live.gone"} {
			must(t, s.SaveState(t.Context(), ref, Change{Key: key, Data: []byte(`"` + key + `"`)}))
		}
		must(t, s.SaveState(t.Context(), ref, Change{Key: "gone", Version: 1}, Change{Key: "live.gone", Version: 1}))
		must(t, s.SaveState(t.Context(), session("another shop"), Change{Key: "a", Data: []byte("1")}, Change{Key: "live.c", Data: []byte("1")}))
		for _, tt := range []struct {
			keys, prefixes, want []string
		}{
			{nil, nil, nil},
			{[]string{"a"}, nil, []string{"a"}},
			{[]string{"b", "none", "gone"}, nil, []string{"b"}},
			{nil, []string{"live."}, []string{"live.a", "live.b"}},
			{nil, []string{"m.", "live.", "none."}, []string{"live.a", "live.b", "m.x"}},
			{[]string{"a", "live.a"}, []string{"live."}, []string{"a", "live.a", "live.a", "live.b"}},
		} {
			values, all, err := s.ReadState(t.Context(), ref, tt.keys, tt.prefixes)
			must(t, err)
			var got []string
			for _, v := range values {
				if got = append(got, v.Key); string(v.Data) != `"`+v.Key+`"` || v.Version != 1 {
					t.Errorf("read is %+v", v)
				}
			}
			if slices.Sort(got); !all || !slices.Equal(got, tt.want) {
				t.Errorf("keys %q and prefixes %q give %q, %v; want %q", tt.keys, tt.prefixes, got, all, tt.want)
			}
		}
		for _, bad := range []string{"", "a\x00", strings.Repeat("k", abi.KeyBytes+1)} {
			_, _, err := s.ReadState(t.Context(), ref, []string{"a", bad}, nil)
			wantCode(t, err, abi.BadValue)
		}
		_, _, err := s.ReadState(t.Context(), ref, nil, []string{"\xff"})
		wantCode(t, err, abi.BadValue)
	})
}

// TestMoreThanOneAnswerHoldsIsNotReadInPart: half of a state would be a wrong
// answer to a rule.
func TestMoreThanOneAnswerHoldsIsNotReadInPart(t *testing.T) {
	s, ref := openStore(t), session("shop")
	wantNotAll := func(what string, keys, prefixes []string) {
		t.Helper()
		if values, all, err := s.ReadState(t.Context(), ref, keys, prefixes); all || len(values) != 0 || err != nil {
			t.Errorf("%s: %d values, %v, %v", what, len(values), all, err)
		}
	}
	few := []string{"a", "b", "c", "d", "e"}
	wantNotAll("many keys", few, nil)
	wantNotAll("many prefixes", nil, few)
	big := json.RawMessage(`"` + strings.Repeat("x", 7<<20) + `"`)
	for i := range 3 {
		must(t, s.SaveState(t.Context(), ref, Change{Key: fmt.Sprint("big.", i), Data: big}))
	}
	wantNotAll("large values", nil, []string{"big."})
	for from := 0; from <= MaxPage; from += MaxKeys {
		var changes []Change
		for i := range MaxKeys {
			changes = append(changes, Change{Key: fmt.Sprint("many.", from+i), Data: []byte("1")})
		}
		must(t, s.SaveState(t.Context(), ref, changes...))
	}
	wantNotAll("many values", nil, []string{"many."})
}

// TestAPageSaysWhetherThereMayBeMore: only then it need be asked for again.
func TestAPageSaysWhetherThereMayBeMore(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		must(t, s.SaveState(t.Context(), ref, Change{Key: "k1", Data: []byte("1")}, Change{Key: "k2", Data: []byte("1")}, Change{Key: "k3", Data: []byte("1")}))
		for _, tt := range []struct {
			after string
			limit int
			want  int
			more  bool
		}{{"", 0, 3, false}, {"", 4, 3, false}, {"", 3, 3, true}, {"k1", 1, 1, true}, {"k1", 3, 2, false}, {"k3", 1, 0, false}} {
			values, more, err := s.StatePage(t.Context(), ref, "k", tt.after, tt.limit)
			if must(t, err); len(values) != tt.want || more != tt.more {
				t.Errorf("after %q limit %d: %d values, more %v; want %d, %v", tt.after, tt.limit, len(values), more, tt.want, tt.more)
			}
		}
	})
}
