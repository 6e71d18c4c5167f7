package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestSettleCommitsStateKVClaimAndRecordsTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		req := request(session("shop"), "key", "call1")
		claimNew(t, s, req)
		prices, stock := s.View("shop", "n"), s.View("shop", "stock")
		must(t, prices.Put("sku", []byte("89")))
		must(t, stock.Put("sku", []byte("3")))
		st := settlement(req, `{"ok":true}`)
		st.Views, st.State = []*View{prices, stock}, []Change{{Key: "live.current", Data: []byte(`"sku"`)}}
		must(t, s.Settle(t.Context(), st))

		for _, ns := range []string{"n", "stock"} {
			if _, found, err := s.View("shop", ns).Get(t.Context(), "sku"); err != nil || !found {
				t.Errorf("kv %s: %v, %v", ns, found, err)
			}
		}
		if v, ok := loadOne(t, s, req.Session, "live.current"); !ok || v.Version != 1 {
			t.Errorf("state %+v", v)
		}
		wantClaim(t, s.Claim, request(req.Session, "key", "call2"), ClaimDone, "call1")
		wantRecords(t, s, "shop", "intent call1", "outcome call1")
	})
}

// Whatever part fails, no other part is kept and the claim is still held.
func TestASettlementThatFailsKeepsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		req := request(session("shop"), "key", "call1")
		claimNew(t, s, req)
		put(t, s, "shop", "read", "1")
		for name, tt := range map[string]struct {
			code  abi.Code
			spoil func(st *Settlement, view *View)
		}{
			"another holder": {abi.InFlight, func(st *Settlement, _ *View) { st.Call = "call2" }},
			"another key":    {abi.InFlight, func(st *Settlement, _ *View) { st.Key = "key2" }},
			"stale state":    {abi.StoreConflict, func(st *Settlement, _ *View) { st.State[0].Version = 7 }},
			"a stale read": {abi.StoreConflict, func(st *Settlement, view *View) {
				_, _, err := view.Get(t.Context(), "read")
				must(t, err)
				put(t, s, "shop", "read", "1") // the same value, but written again
			}},
			"a bad record":   {abi.BadValue, func(st *Settlement, _ *View) { st.Records[0].Kind = "" }},
			"a bad outcome":  {abi.BadValue, func(st *Settlement, _ *View) { st.Outcome = nil }},
			"a foreign view": {abi.BadValue, func(st *Settlement, _ *View) { st.Views = append(st.Views, s.View("shop2", "n")) }},
			"a bad view":     {abi.BadValue, func(st *Settlement, _ *View) { st.Views = append(st.Views, s.View("shop", "")) }},
			"another store's view": {abi.BadValue, func(st *Settlement, _ *View) {
				st.Views = append(st.Views, d.open(t).View("shop", "n"))
			}},
			"no call": {abi.BadValue, func(st *Settlement, _ *View) { st.Call = "" }},
		} {
			t.Run(name, func(t *testing.T) {
				view := s.View("shop", "n")
				must(t, view.Put("written", []byte("1")))
				st := settlement(req, `1`)
				st.Views, st.State = []*View{view}, []Change{{Key: "k", Data: []byte("1")}}
				tt.spoil(&st, view)
				wantCode(t, s.Settle(t.Context(), st), tt.code)
				wantKeys(t, s, "read")
				if _, ok := loadOne(t, s, req.Session, "k"); ok {
					t.Error("state was kept")
				}
				wantRecords(t, s, "shop", "intent call1")
				wantClaim(t, s.Claim, req, ClaimInFlight, "call1")
			})
		}
		must(t, s.Settle(t.Context(), settlement(req, `1`)))
	})
}

func TestAReadSettlesWithoutAKeyAndWithoutBeingChecked(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "shop", "a", "1")
		view := s.View("shop", "n")
		_, _, err := view.Get(t.Context(), "a")
		must(t, err)
		put(t, s, "shop", "a", "2")
		must(t, s.Settle(t.Context(), Settlement{Session: session("shop"), Call: "call1", Views: []*View{view},
			Records: []host.Record{{Call: "call1", Kind: host.RecordOutcome}}}))
		wantRecords(t, s, "shop", "outcome call1")
	})
}

func TestAChangeOfStateAloneIsSettledAndChecksWhatWasRead(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		view := s.View("shop", "n")
		_, _, err := view.Get(t.Context(), "a")
		must(t, err)
		st := Settlement{Session: ref, Call: "call1", Views: []*View{view}, State: []Change{{Key: "k", Data: []byte("1")}}}
		must(t, s.Settle(t.Context(), st))
		if v, ok := loadOne(t, s, ref, "k"); !ok || v.Version != 1 {
			t.Errorf("state %+v", v)
		}
		put(t, s, "shop", "a", "1")
		st.State[0].Version = 1
		wantCode(t, s.Settle(t.Context(), st), abi.StoreConflict)
		if v, _ := loadOne(t, s, ref, "k"); v.Version != 1 {
			t.Errorf("state %+v", v)
		}
	})
}

// Every kind of read that another call invalidates.
func TestACallThatWritesIsRefusedIfWhatItReadHasChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t) // in which each case has a tenant of its own
		get := func(key string) func(v *View) error {
			return func(v *View) error { _, _, err := v.Get(t.Context(), key); return err }
		}
		scan := func(q abi.ScanQuery) func(v *View) error {
			return func(v *View) error { _, err := v.Scan(t.Context(), q); return err }
		}
		for name, tt := range map[string]struct {
			read     func(v *View) error
			other    []string // what the other call puts and deletes
			conflict bool
		}{
			"a key that was changed":              {get("b"), []string{"b", "9"}, true},
			"a key that was deleted":              {get("b"), []string{"b", ""}, true},
			"a key that was made":                 {get("none"), []string{"none", "9"}, true},
			"another key":                         {get("b"), []string{"a", "9", "c", ""}, false},
			"a phantom in a scan":                 {scan(abi.ScanQuery{}), []string{"bb", "9"}, true},
			"a phantom at the end of a scan":      {scan(abi.ScanQuery{}), []string{"zz", "9"}, true},
			"a phantom in an empty scan":          {scan(abi.ScanQuery{Prefix: "x"}), []string{"xx", "9"}, true},
			"a deletion in a scan":                {scan(abi.ScanQuery{}), []string{"c", ""}, true},
			"a change in a scan":                  {scan(abi.ScanQuery{}), []string{"c", "9"}, true},
			"a change in a scan of keys":          {scan(abi.ScanQuery{KeysOnly: true}), []string{"c", "9"}, true},
			"a swap in a scan":                    {scan(abi.ScanQuery{}), []string{"c", "", "cc", "9"}, true},
			"a key outside of a scan's prefix":    {scan(abi.ScanQuery{Prefix: "b"}), []string{"a", "9", "c", ""}, false},
			"a key before a scan's After":         {scan(abi.ScanQuery{After: "b"}), []string{"a", "9", "b", ""}, false},
			"a key behind a page":                 {scan(abi.ScanQuery{Limit: 2}), []string{"d", "9", "cc", "9"}, false},
			"a phantom within a page":             {scan(abi.ScanQuery{Limit: 2}), []string{"aa", "9"}, true},
			"a phantom between a page and more":   {scan(abi.ScanQuery{Limit: 2}), []string{"bb", "9"}, true},
			"the key that told that there's more": {scan(abi.ScanQuery{Limit: 2}), []string{"c", ""}, true},
			"a key at a page's After":             {scan(abi.ScanQuery{After: "b", Limit: 1}), []string{"b", "9"}, false},
		} {
			t.Run(name, func(t *testing.T) {
				tenant := host.TenantID(name)
				put(t, s, tenant, "a", "1", "b", "1", "c", "1", "d", "1")
				view := s.View(tenant, "n")
				must(t, tt.read(view))
				must(t, view.Put("mine", []byte("1")))
				put(t, s, tenant, tt.other...)
				if err := settleView(t, view); tt.conflict {
					wantCode(t, err, abi.StoreConflict)
				} else {
					must(t, err)
				}
			})
		}
	})
}

func TestAChangeThatWasUndoneIsStillAChange(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "shop", "a", "1")
		view := s.View("shop", "n")
		contents(t, view)
		_, _, err := view.Get(t.Context(), "a")
		must(t, err)
		must(t, view.Put("b", []byte("1")))
		put(t, s, "shop", "a", "")
		put(t, s, "shop", "a", "1")
		wantCode(t, settleView(t, view), abi.StoreConflict)
	})
}

func TestAViewReadsAKeyAsItWasOrSaysThatItChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		put(t, s, "shop", "a", "1")
		view := s.View("shop", "n")
		for range 2 {
			if _, _, err := view.Get(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
		}
		put(t, s, "shop", "a", "2")
		_, _, err := view.Get(t.Context(), "a")
		wantCode(t, err, abi.StoreConflict)
	})
}

func TestAReadOfOneNamespaceIsCheckedWhenAnotherIsWritten(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		reading, writing := s.View("shop", "n"), s.View("shop", "other")
		contents(t, reading)
		must(t, writing.Put("k", []byte("1")))
		put(t, s, "shop", "phantom", "1")
		wantCode(t, settleView(t, reading, writing), abi.StoreConflict)
	})
}

func TestACallThatWritesMayScanSoMuchAndNoMore(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		must(t, s.Import(t.Context(), "shop", "n", manyEntries(abi.ScanPageEntries)))
		view := s.View("shop", "n")
		for range maxWatched/abi.ScanPageEntries + 1 {
			_, err := view.Scan(t.Context(), abi.ScanQuery{KeysOnly: true})
			must(t, err)
		}
		must(t, settleView(t, view))
		must(t, view.Put("k", nil))
		wantCode(t, settleView(t, view), abi.QuotaReached)
	})
}

// It is the writer that has to look at all of them again, whoever read them.
func TestWhatAllViewsOfACallScannedCounts(t *testing.T) {
	s := sqliteDatabase().open(t)
	must(t, s.Import(t.Context(), "shop", "n", manyEntries(abi.ScanPageEntries)))
	one, other := s.View("shop", "n"), s.View("shop", "n")
	for range maxWatched/abi.ScanPageEntries/2 + 1 {
		for _, view := range []*View{one, other} {
			_, err := view.Scan(t.Context(), abi.ScanQuery{KeysOnly: true})
			must(t, err)
		}
	}
	if !Settleable([]*View{one}) || Settleable([]*View{one, other}) {
		t.Errorf("it says %v of one and %v of both", Settleable([]*View{one}), Settleable([]*View{one, other}))
	}
	must(t, one.Put("k", nil))
	wantCode(t, settleView(t, one, other), abi.QuotaReached)
}

// A call with a key may have written where no view shows it, such as files.
func TestACallWithAKeyIsCheckedWhateverItWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for i, read := range []func(*View){
			func(v *View) { _, _, _ = v.Get(t.Context(), "price") },
			func(v *View) { _, _ = v.Scan(t.Context(), abi.ScanQuery{}) },
		} {
			req := request(session("shop"), host.Key(fmt.Sprint("key", i)), host.CallID(fmt.Sprint("call", i)))
			claimNew(t, s, req)
			view := s.View("shop", "n")
			read(view)
			st := settlement(req, `1`)
			st.Views = []*View{view}
			put(t, s, "shop", "price", fmt.Sprint(i))
			wantCode(t, s.Settle(t.Context(), st), abi.StoreConflict)
			view.Reset()
			read(view)
			must(t, s.Settle(t.Context(), st))
		}
	})
}

// retry runs a call as its caller would: again, while others are faster.
func retry(t *testing.T, view *View, attempt func() error) {
	for {
		view.Reset()
		err := attempt()
		if err == nil {
			err = view.store.Settle(t.Context(), Settlement{Session: session(view.tenant), Call: "call", Views: []*View{view}})
		}
		var failed *host.Error
		if errors.As(err, &failed) && failed.Problem.Code == abi.StoreConflict {
			continue
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
}

func TestConcurrentIncrementsLoseNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		const callers, each = 8, 25
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					view := s.View("shop", "n")
					retry(t, view, func() error {
						value, _, err := view.Get(t.Context(), "counter")
						if err != nil {
							return err
						}
						n, _ := strconv.Atoi(string(value))
						return view.Put("counter", strconv.AppendInt(nil, int64(n+1), 10))
					})
				}
			})
		}
		wg.Wait()
		if got := contents(t, s.View("shop", "n")); got["counter"] != strconv.Itoa(callers*each) {
			t.Errorf("counted %s of %d", got["counter"], callers*each)
		}
	})
}

// Each call may take a seat only while fewer than the limit are taken, which
// it learns by a scan. Without a check of phantoms more would be taken.
func TestConcurrentScansDoNotMissEachOthersPhantoms(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		const callers, seats = 16, 5
		var wg sync.WaitGroup
		var taken atomic.Int64
		for i := range callers {
			wg.Go(func() {
				view, took := s.View("shop", "n"), false
				retry(t, view, func() error {
					page, err := view.Scan(t.Context(), abi.ScanQuery{Prefix: "seat/"})
					if took = err == nil && len(page.Entries) < seats; !took {
						return err
					}
					return view.Put(fmt.Sprint("seat/", i), []byte("taken"))
				})
				if took {
					taken.Add(1)
				}
			})
		}
		wg.Wait()
		if stored := len(contents(t, s.View("shop", "n"))); taken.Load() != seats || stored != seats {
			t.Errorf("%d calls took a seat, %d are stored; there are %d", taken.Load(), stored, seats)
		}
	})
}

// Two accounts that may not be empty together: each call reads both and takes
// from one (write skew).
func TestCallsThatReadWhatEachOtherWriteAreSerialised(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for round := range 20 {
			put(t, s, "shop", "x", "1", "y", "1")
			var wg sync.WaitGroup
			for _, mine := range []string{"x", "y"} {
				wg.Go(func() {
					view := s.View("shop", "n")
					retry(t, view, func() error {
						x, _, err := view.Get(t.Context(), "x")
						y, _, err2 := view.Get(t.Context(), "y")
						if string(x) != "1" || string(y) != "1" {
							return errors.Join(err, err2)
						}
						return view.Put(mine, []byte("0"))
					})
				})
			}
			wg.Wait()
			if got := contents(t, s.View("shop", "n")); maps.Equal(got, map[string]string{"x": "0", "y": "0"}) {
				t.Fatalf("round %d: both are empty", round)
			}
		}
	})
}

func TestConcurrentStateChangesLoseNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		const callers, each = 6, 15
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for done := 0; done < each; {
					values, err := s.LoadState(t.Context(), ref, "counter")
					if err != nil {
						t.Error(err)
						return
					}
					n, _ := strconv.Atoi(string(values["counter"].Data))
					err = s.SaveState(t.Context(), ref, Change{Key: "counter", Version: values["counter"].Version, Data: json.RawMessage(strconv.Itoa(n + 1))})
					if err == nil {
						done++
					} else if host.ProblemOf(err).Code != abi.StoreConflict {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if v, _ := loadOne(t, s, ref, "counter"); string(v.Data) != strconv.Itoa(callers*each) || v.Version != callers*each {
			t.Errorf("counted %+v", v)
		}
	})
}
