package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Writers add records in many transactions at once, by two stores; whoever
// follows the log from the last Seq that it saw must see every one.
func TestWhoFollowsTheRecordsMissesNone(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fresh(t)
		stores := []*Store{openAt(t, dsn, Options{}), openAt(t, dsn, Options{})}
		const writers, each = 12, 40
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					r := host.Record{Session: session("shop"), Call: host.CallID(fmt.Sprint(w, "/", i)), Kind: host.RecordNotice}
					if err := stores[w%2].Record(t.Context(), r, r); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var over atomic.Bool
		go func() {
			wg.Wait()
			over.Store(true)
		}()
		seen, after := map[host.CallID]int{}, int64(0)
		for last := false; ; {
			records, err := stores[0].Records(t.Context(), "shop", RecordFilter{AfterSeq: after, Limit: 50})
			must(t, err)
			for _, r := range records {
				seen[r.Call]++
				after = r.Seq
			}
			if len(records) == 0 {
				if last {
					break
				}
				last = over.Load()
			}
		}
		whole := 0
		for _, n := range seen {
			if n == 2 {
				whole++
			}
		}
		if whole != writers*each {
			t.Errorf("%d of %d calls were seen whole", whole, writers*each)
		}
	})
}

// uncommitted runs something in a transaction that stays open until release is
// called, which gives its end.
func uncommitted(t *testing.T, s *Store, run func(ctx context.Context, ex *executor, at time.Time) error) (release func() error) {
	t.Helper()
	ran, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		ended <- s.write(context.Background(), "state.Test", func(ctx context.Context, ex *executor, at time.Time) error {
			err := run(ctx, ex, at)
			if first {
				first = false
				close(ran)
				<-end
			}
			return err
		})
	}()
	<-ran
	return func() error {
		close(end)
		return <-ended
	}
}

// meets has a second transaction meet an open one, and gives both ends. The
// second must wait for the first.
func meets(t *testing.T, s *Store, first func(ctx context.Context, ex *executor, at time.Time) error, second func() error) (firstEnd, secondEnd error) {
	t.Helper()
	release := uncommitted(t, s, first)
	ended := make(chan error, 1)
	go func() { ended <- second() }()
	select {
	case err := <-ended:
		t.Errorf("the second did not wait for the first: %v", err)
		return release(), err
	case <-time.After(100 * time.Millisecond):
	}
	return release(), <-ended
}

// A call that depends on what another, uncommitted one changes, without any row
// that both could lock.
func TestCallsMeetWhereThereIsNoRow(t *testing.T) {
	t.Parallel()
	get := func(key string) func(v *View) error {
		return func(v *View) error { _, _, err := v.Get(context.Background(), key); return err }
	}
	scan := func(v *View) error {
		_, err := v.Scan(context.Background(), abi.ScanQuery{Prefix: "seat/"})
		return err
	}
	for name, tt := range map[string]struct {
		first, second         func(v *View) error
		firstPuts, secondPuts string
	}{
		"each found the other's key missing": {get("y"), get("x"), "x", "y"},
		"each scanned where the other puts":  {scan, scan, "seat/1", "seat/2"},
		"one scanned where the other puts":   {get("x"), scan, "seat/1", "other"},
		"one read what the other makes":      {get("z"), get("x"), "x", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			s := mariadbDatabase().open(t)
			settlement := func(read func(v *View) error, puts string) Settlement {
				view := s.View("shop", "n")
				must(t, errors.Join(read(view), view.Put(puts, []byte("1"))))
				return Settlement{Session: session("shop"), Call: host.CallID(puts), Views: []*View{view}}
			}
			one, two := settlement(tt.first, tt.firstPuts), settlement(tt.second, tt.secondPuts)
			two.Session.Session = "s2"
			firstEnd, secondEnd := meets(t, s, func(ctx context.Context, ex *executor, at time.Time) error {
				return s.settle(ctx, ex, one, at)
			}, func() error { return s.Settle(t.Context(), two) })
			must(t, firstEnd)
			wantCode(t, secondEnd, abi.StoreConflict)
		})
	}
}

func TestAForkWaitsForCallsThatAreAboutToWrite(t *testing.T) {
	s := mariadbDatabase().open(t)
	view := s.View("base", "n")
	must(t, view.Put("k", []byte("1")))
	firstEnd, secondEnd := meets(t, s, func(ctx context.Context, ex *executor, at time.Time) error {
		return s.settle(ctx, ex, Settlement{Session: session("base"), Call: "call", Views: []*View{view}}, at)
	}, func() error { return s.Fork(t.Context(), "base", "child") })
	must(t, errors.Join(firstEnd, secondEnd))
	if got := contents(t, s.View("child", "n")); got["k"] != "1" {
		t.Errorf("the fork has %v", got)
	}
}

func TestCallsThatAreAboutToWriteWaitForAFork(t *testing.T) {
	s := mariadbDatabase().open(t)
	view := s.View("base", "n")
	must(t, view.Put("k", []byte("1")))
	firstEnd, secondEnd := meets(t, s, func(ctx context.Context, ex *executor, _ time.Time) error {
		return s.fork(ctx, ex, "base", "child")
	}, func() error { return settleView(t, view) })
	must(t, firstEnd)
	wantCode(t, secondEnd, abi.NotAllowed)
	wantKeysOf(t, s, "child")
}

// The first lease on a session has no row to be locked before it is there.
func TestTheFirstLeaseWaitsForAWriteWithoutOne(t *testing.T) {
	s := mariadbDatabase().open(t)
	firstEnd, secondEnd := meets(t, s, func(ctx context.Context, ex *executor, at time.Time) error {
		_, err := s.checkFence(ctx, ex, session("shop"), 0)
		return err
	}, func() error {
		_, err := s.Lease(t.Context(), session("shop"), "replica-a", time.Minute)
		return err
	})
	must(t, errors.Join(firstEnd, secondEnd))
}

func TestEverySlotIsUsed(t *testing.T) {
	var set slotSet
	for i := range 2000 {
		set |= slotOf("n", fmt.Sprint("key", i))
	}
	if set != allSlots {
		t.Errorf("slots %x", set)
	}
	if slotOf("ab", "c") == slotOf("a", "bc") && slotOf("ab", "d") == slotOf("a", "bd") {
		t.Error("a namespace runs into its keys")
	}
	// Other processes of other releases on the same database have the same.
	if got := slotOf("prices", "sku/1001"); got != 1<<23 {
		t.Errorf("a key's slot has become %x", got)
	}
}
