package keeper

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// priced is a fact of a price, as a call of a tool at a time returned it.
func priced(sku string, price float64, at time.Time) memory.Node {
	return memory.Node{Text: fmt.Sprintf("%s price: %v CNY", sku, price), Layer: memory.Fact, Kind: memory.FactOf, Entity: sku, At: at, Valid: memory.Span{From: at},
		Claim: new(memory.Between("price", price, price, "CNY")), Trust: memory.FactTrust, Freshness: memory.Fast, Source: memory.Source{Session: "s1", Call: host.CallID(at.Format("call_150405"))}}
}

// opens is a habit over some lives.
func opens(lives int, low, high float64, at time.Time) memory.Node {
	return memory.Node{Text: fmt.Sprintf("opening.minutes: %v to %v in the last %d lives", low, high, lives), Layer: memory.Behaviour, Kind: memory.Habit, At: at, Lives: lives,
		Claim: new(memory.Between("opening.minutes", low, high, "minutes")), Trust: 0.7, Source: memory.Source{Session: host.SessionID(at.Format("s_0102"))}}
}

// active gives the texts of what counts, of a layer.
func active(t testing.TB, k *Keeper, layer memory.Layer) (texts []string) {
	t.Helper()
	page, err := k.List(t.Context(), ann, Page{Layers: []memory.Layer{layer}, Statuses: []memory.Status{memory.Active}})
	must(t, err)
	for _, n := range page {
		texts = append(texts, n.Text)
	}
	return texts
}

func TestOfAMatterTheNewestCounts(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k, day := r.open(), newClock().now()
		renew := func(n memory.Node, kept bool) memory.ID {
			t.Helper()
			all, err := k.Renew(t.Context(), ann, []memory.Node{n})
			must(t, err)
			if len(all) != 1 || all[0].Kept != kept {
				t.Errorf("%q gives %+v", n.Text, all)
			}
			return all[0].ID
		}
		first := renew(priced("1001", 89, day), true)
		if renew(priced("1001", 89, day), false) != first || k.testOnlyGet(t, ann, first).Verified != 0 {
			t.Error("the very same one again is another one")
		}
		if renew(priced("1001", 89, day.Add(time.Hour)), false) != first || k.testOnlyGet(t, ann, first).Verified != 1 {
			t.Error("the same price seen again is not one more verification")
		}
		renew(priced("1002", 50, day), true)
		second := renew(priced("1001", 79, day.Add(2*time.Hour)), true)
		if renew(priced("1001", 99, day.Add(time.Minute)), false) != second {
			t.Error("what is older than what is known is kept")
		}
		old := k.testOnlyGet(t, ann, first)
		if old.Status != memory.Superseded || old.SupersededBy != second || !old.Valid.Until.Equal(day.Add(2*time.Hour)) {
			t.Errorf("the price before is %+v", old)
		}
		if got := active(t, k, memory.Fact); !slices.Equal(got, []string{"1002 price: 50 CNY", "1001 price: 79 CNY"}) {
			t.Errorf("%q count", got)
		}
	})
}

// One result may name several prices of one product. One of them counts, whatever is
// renewed again, and nothing is superseded by what does not count.
func TestOfOneResultWithSeveralPricesOneCounts(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k, day := r.open(), newClock().now()
		result := memory.Result{Tenant: ann.Tenant, User: ann.User, Session: "s1", Call: "c1", At: day, Data: []byte(`{"sku":"1001","price":99,"variants":[{"price":89},{"price":99}]}`)}
		facts, err := memory.Facts(memory.ShopFacts(), result)
		must(t, err)
		for range 3 {
			_, err := k.Renew(t.Context(), ann, facts)
			must(t, err)
			if got := active(t, k, memory.Fact); !slices.Equal(got, []string{"1001 price: 89 CNY"}) {
				t.Errorf("%q count", got)
			}
		}
		k.testOnlyChainsEnd(t, 2)
	})
}

// A call that is told again at a later time says that its price counts now.
func TestACallThatIsRenewedLaterCountsAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k, day := r.open(), newClock().now()
		again := priced("1001", 99, day)
		for i, n := range []memory.Node{again, priced("1001", 89, day.Add(time.Hour)), again, again} {
			if i == 3 {
				n.At = day.Add(2 * time.Hour)
				n.Valid.From = n.At
			}
			_, err := k.Renew(t.Context(), ann, []memory.Node{n})
			must(t, err)
		}
		if got := active(t, k, memory.Fact); !slices.Equal(got, []string{"1001 price: 99 CNY"}) {
			t.Errorf("%q count", got)
		}
		k.testOnlyChainsEnd(t, 3)
	})
}

// testOnlyChainsEnd fails unless all memories of a number lead to one that counts.
func (k *Keeper) testOnlyChainsEnd(t testing.TB, memories int) {
	t.Helper()
	page, err := k.List(t.Context(), ann, Page{})
	must(t, err)
	if len(page) != memories {
		t.Errorf("there are %d memories, want %d", len(page), memories)
	}
	for _, n := range page {
		for steps := 0; n.Status != memory.Active && steps <= memories; steps++ {
			n = k.testOnlyGet(t, ann, n.SupersededBy)
		}
		if n.Status != memory.Active {
			t.Errorf("memory %s leads to none that counts", n.ID)
		}
	}
}

// A habit is found among any number of others, with claims and without.
func TestAHabitRenewsItsOlderOneAmongMany(t *testing.T) {
	k, day := sqliteRig(t).open(), newClock().now()
	var others []memory.Node
	for i := range MaxRemember {
		others = append(others, memory.Node{Text: fmt.Sprintf("session %d: calls done", i), Layer: memory.Behaviour, Kind: memory.Profile, At: day})
	}
	k.testOnlyRemember(t, ann, others...)
	for i := range 3 {
		_, err := k.Renew(t.Context(), ann, []memory.Node{opens(5, float64(i), float64(i), day.Add(time.Duration(i)*24*time.Hour))})
		must(t, err)
	}
	page, err := k.List(t.Context(), ann, Page{Layers: []memory.Layer{memory.Behaviour}, Statuses: []memory.Status{memory.Active}, Kinds: []memory.Kind{memory.Habit}})
	must(t, err)
	if len(page) != 1 || page[0].Text != "opening.minutes: 2 to 2 in the last 5 lives" {
		t.Errorf("%d habits count: %+v", len(page), page)
	}
}

func TestAHabitOfOneLiveStandsBesideOneOfSeveral(t *testing.T) {
	k, day := sqliteRig(t).open(), newClock().now()
	for i, n := range []memory.Node{opens(5, 10, 12, day), opens(1, 4, 4, day.Add(time.Hour)), opens(1, 5, 5, day.Add(48*time.Hour)), opens(4, 9, 12, day.Add(72*time.Hour))} {
		all, err := k.Renew(t.Context(), ann, []memory.Node{n})
		must(t, err)
		if !all[0].Kept {
			t.Errorf("habit %d is not kept", i)
		}
	}
	want := []string{"opening.minutes: 5 to 5 in the last 1 lives", "opening.minutes: 9 to 12 in the last 4 lives"}
	if got := active(t, k, memory.Behaviour); !slices.Equal(got, want) {
		t.Errorf("%q count", got)
	}
}

func TestOfAMatterThatManyRenewAtOnceOneCounts(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		day := newClock().now()
		keepers := []*Keeper{r.open(), r.again().open()}
		var done sync.WaitGroup
		for i := range 8 {
			done.Go(func() {
				nodes := []memory.Node{priced("1001", float64(i), day.Add(time.Duration(i)*time.Second)), priced("1002", float64(i), day.Add(time.Duration(i)*time.Second))}
				if all, err := keepers[i%2].Renew(t.Context(), ann, nodes); err != nil || len(all) != 2 {
					t.Errorf("%+v, %v", all, err)
				}
			})
		}
		done.Wait()
		got := active(t, keepers[0], memory.Fact)
		slices.Sort(got)
		if !slices.Equal(got, []string{"1001 price: 7 CNY", "1002 price: 7 CNY"}) {
			t.Errorf("%q count", got)
		}
	})
}

func TestWordsAreNotRenewed(t *testing.T) {
	k := sqliteRig(t).open()
	_, err := k.Renew(t.Context(), ann, []memory.Node{priced("1001", 1, time.Now()), said("never below 50")})
	wantCode(t, err, abi.BadValue)
	_, err = k.Renew(t.Context(), ann, make([]memory.Node, MaxRenew+1))
	wantCode(t, err, abi.BadValue)
	if page, err := k.List(t.Context(), ann, Page{}); err != nil || len(page) != 0 {
		t.Errorf("%+v is kept, %v", page, err)
	}
}

func TestAWholeForgettingTellsUntilWhen(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		until := func() time.Time {
			t.Helper()
			at, err := k.ForgottenUntil(t.Context(), ann)
			must(t, err)
			return at
		}
		ids := k.testOnlyRemember(t, ann, said("likes tea"))
		_, err := k.Forget(t.Context(), ann, Wish{IDs: ids})
		must(t, err)
		if !until().IsZero() {
			t.Error("one memory that was forgotten is taken for all")
		}
		for range 2 { // also where there is nothing any more: the log still has words
			at := c.move(time.Hour)
			f, err := k.Forget(t.Context(), ann, Wish{All: true})
			must(t, err)
			if !until().Equal(at) || len(f.Receipts) != 1 || !f.Receipts[0].Whole {
				t.Errorf("forgotten until %v, want %v; receipts %+v", until(), at, f.Receipts)
			}
		}
		if at, err := k.ForgottenUntil(t.Context(), Owner{"shop", "bob"}); err != nil || !at.IsZero() {
			t.Errorf("another user's are forgotten until %v, %v", at, err)
		}
	})
}
