package state

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func lease(t testing.TB, s *Store, holder string) Fence {
	t.Helper()
	fence, err := s.Lease(t.Context(), session("shop"), holder, time.Minute)
	must(t, err)
	return fence
}

// wantHeld fails unless err is a Busy that says who has the lease.
func wantHeld(t testing.TB, err error, holder string, until time.Time) {
	t.Helper()
	problem := wantCode(t, err, abi.Busy)
	var held *HeldError
	if !errors.As(err, &held) || held.Holder != holder || !held.Until.Equal(until) || !strings.Contains(problem.Message, holder) || problem.Hint == "" {
		t.Errorf("got %v, want it held by %s until %s", err, holder, until)
	}
}

func wantLost(t testing.TB, err error) {
	t.Helper()
	if wantCode(t, err, abi.Busy); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("got %v, want a lease that is over", err)
	}
}

func TestALeaseIsBusyForOthersUntilItEndsOrIsReleased(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref := session("shop")
		first := lease(t, s, "replica-a")
		end := clock.now().Add(time.Minute)
		for _, holder := range []string{"replica-b", "replica-a"} {
			_, err := s.Lease(t.Context(), ref, holder, time.Minute)
			wantHeld(t, err, "replica-a", end)
			if problem := host.ProblemOf(err); problem.RetryAfterMS != time.Minute.Milliseconds()+1 {
				t.Errorf("try again after %d ms", problem.RetryAfterMS)
			}
		}
		clock.pass(time.Minute - time.Microsecond)
		_, err := s.Lease(t.Context(), ref, "replica-b", time.Minute)
		wantHeld(t, err, "replica-a", end)
		clock.pass(time.Microsecond)
		second := lease(t, s, "replica-b")
		must(t, s.Release(t.Context(), ref, second))
		third := lease(t, s, "replica-a")
		if first < 1 || second <= first || third <= second {
			t.Errorf("fences %d, %d, %d do not grow", first, second, third)
		}
		if _, err := s.Lease(t.Context(), session("other"), "replica-b", time.Minute); err != nil {
			t.Errorf("another tenant's session: %v", err)
		}
	})
}

func TestADeadHoldersLeaseDoesNotLastUntilAClockThatWasPutBackIsThereAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		for name, next := range map[string]func(s *Store) error{
			"a lease": func(s *Store) error {
				_, err := s.Lease(t.Context(), session("shop"), "replica-b", time.Minute)
				return err
			},
			"a write": func(s *Store) error {
				return s.SaveState(t.Context(), session("shop"), Change{Key: "k", Data: []byte("1")})
			},
		} {
			s, clock, _ := openWithClock(t, d)
			old, err := s.Lease(t.Context(), session("shop"), "replica-a", MaxLeaseTime)
			must(t, err)
			end := clock.now().Add(MaxLeaseTime)
			clock.pass(-unitTime)
			wantHeld(t, next(s), "replica-a", end)
			clock.pass(-time.Microsecond)
			if err := next(s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			wantLost(t, s.Renew(t.Context(), session("shop"), old, time.Minute))
		}
	})
}

// The database tells who waits for a row the time at which the wait began: a
// lease that was renewed meanwhile ends later after that than any lasts.
func TestWhoWaitedWhileTheLongestLeaseWasRenewedDoesNotTakeItOver(t *testing.T) {
	s, ref := mariadbDatabase().open(t), session("shop")
	fence := lease(t, s, "replica-a")
	locked, renews, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.transact(context.Background(), "state.Test", func(ctx context.Context, ex *executor) error {
			row, _, _, err := s.leaseRow(ctx, ex, ref)
			if err != nil {
				return err
			}
			close(locked)
			<-renews
			at, err := s.now(ctx, ex)
			row.until = at.Add(MaxLeaseTime).UnixMicro()
			return errors.Join(err, s.putLease(ctx, ex, ref, row, true))
		})
	}()
	<-locked
	second := make(chan error, 1)
	go func() {
		_, err := s.Lease(context.Background(), ref, "replica-b", time.Minute)
		second <- err
	}()
	time.Sleep(100 * time.Millisecond) // until it waits
	close(renews)
	must(t, <-ended)
	wantCode(t, <-second, abi.Busy)
	must(t, s.Renew(t.Context(), ref, fence, time.Minute))
}

// Every way to write for a session.
func fencedWrites(s *Store, fence Fence) map[string]func(ctx context.Context, n string) error {
	ref := session("shop")
	return map[string]func(ctx context.Context, n string) error{
		"SaveState": func(ctx context.Context, n string) error {
			return s.SaveStateUnder(ctx, ref, fence, Change{Key: "saved" + n, Data: []byte("1")})
		},
		"Settle": func(ctx context.Context, n string) error {
			view := s.View(ref.Tenant, "n")
			return errors.Join(view.Put("settled"+n, []byte("1")), s.Settle(ctx, Settlement{Session: ref, Call: "call", Fence: fence, Views: []*View{view},
				State: []Change{{Key: "settled" + n, Data: []byte("1")}}, Records: []host.Record{{Kind: host.RecordOutcome}}}))
		},
		"Claim": func(ctx context.Context, n string) error {
			req := request(ref, host.Key("key"+n), "call")
			req.Fence = fence
			_, err := s.Claim(ctx, req)
			return err
		},
		"Reclaim": func(ctx context.Context, n string) error {
			req := request(ref, host.Key("again"+n), "call")
			req.Fence = fence
			_, err := s.Reclaim(ctx, req)
			return err
		},
	}
}

// wantNothingOf fails if a refused write left anything.
func wantNothingOf(t *testing.T, s *Store, n string) {
	t.Helper()
	values, err := s.LoadState(t.Context(), session("shop"), "saved"+n, "settled"+n)
	must(t, err)
	_, found, err := s.View("shop", "n").Get(t.Context(), "settled"+n)
	must(t, err)
	records, err := s.Records(t.Context(), "shop", RecordFilter{})
	must(t, err)
	if len(values) > 0 || found || len(records) > 0 {
		t.Errorf("left are %v, kv: %v, %d records", values, found, len(records))
	}
	for _, key := range []host.Key{"key", "again"} {
		var digest string
		if found, err := s.reader.row(t.Context(), "SELECT digest FROM agent_claim WHERE claim_key = ?", []any{string(key) + n}, &digest); err != nil || found {
			t.Errorf("claim %s is there: %v, %v", key, found, err)
		}
	}
}

func TestAStalledHoldersLateWriteIsRefusedByTheStore(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, dsn := openWithClock(t, d)
		old := lease(t, s, "replica-a")
		clock.pass(time.Hour) // it stalls
		other := openAt(t, dsn, Options{Now: clock.now})
		current := lease(t, other, "replica-b")
		for name, write := range fencedWrites(s, old) {
			wantLost(t, write(t.Context(), "1"))
			wantNothingOf(t, s, "1")
			if t.Failed() {
				t.Fatal(name)
			}
		}
		wantLost(t, s.Renew(t.Context(), session("shop"), old, time.Minute))
		wantLost(t, s.Release(t.Context(), session("shop"), old))
		for _, write := range fencedWrites(s, current+1) { // nobody has that one yet
			wantLost(t, write(t.Context(), "1"))
		}
		wantNothingOf(t, s, "1")
		for name, write := range fencedWrites(other, current) {
			if err := write(t.Context(), "1"); err != nil {
				t.Errorf("%s of the holder: %v", name, err)
			}
		}
	})
}

func TestAHolderWhoIsLateButNotReplacedGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		fence := lease(t, s, "replica-a")
		clock.pass(time.Hour)
		for name, write := range fencedWrites(s, fence) {
			if err := write(t.Context(), "1"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, s.Renew(t.Context(), session("shop"), fence, time.Minute))
		_, err := s.Lease(t.Context(), session("shop"), "replica-b", time.Minute)
		wantHeld(t, err, "replica-a", clock.now().Add(time.Minute))
	})
}

func TestAReleasedLeaseWritesNoMore(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		fence := lease(t, s, "replica-a")
		must(t, s.Release(t.Context(), session("shop"), fence))
		wantLost(t, s.Release(t.Context(), session("shop"), fence))
		wantLost(t, s.Renew(t.Context(), session("shop"), fence, time.Minute))
		for _, write := range fencedWrites(s, fence) {
			wantLost(t, write(t.Context(), "1"))
		}
		wantNothingOf(t, s, "1")
	})
}

func TestAWriteWithoutALeaseIsRefusedWhileSomebodyHasOneAndEndsOneThatRanOut(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref := session("shop")
		fence := lease(t, s, "replica-a")
		for _, write := range fencedWrites(s, 0) {
			wantHeld(t, write(t.Context(), "1"), "replica-a", clock.now().Add(time.Minute))
		}
		wantHeld(t, s.SaveState(t.Context(), ref, Change{Key: "k", Data: []byte("1")}), "replica-a", clock.now().Add(time.Minute))
		wantNothingOf(t, s, "1")
		clock.pass(time.Minute)
		must(t, s.SaveState(t.Context(), ref, Change{Key: "k", Data: []byte("1")}))
		wantLost(t, s.Renew(t.Context(), ref, fence, time.Minute))
		if next := lease(t, s, "replica-b"); next <= fence+1 {
			t.Errorf("fence %d after %d and a write without", next, fence)
		}
	})
}

func TestWithoutLeasesEverybodyWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for _, n := range []string{"1", "2"} {
			for name, write := range fencedWrites(s, 0) {
				if err := write(t.Context(), n); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		wantLost(t, s.SaveStateUnder(t.Context(), session("shop"), 1, Change{Key: "k", Data: []byte("1")}))
	})
}

// However a renewal and a takeover meet, one of them wins and the other is told.
func TestARenewalThatRacesItsEndEitherHoldsOrIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, dsn := openWithClock(t, d)
		other := openAt(t, dsn, Options{Now: clock.now})
		ref := session("shop")
		fence := lease(t, s, "replica-a")
		for round := range 20 {
			clock.pass(time.Minute) // it has just run out
			var renewed, taken error
			var next Fence
			var wg sync.WaitGroup
			wg.Go(func() { renewed = s.Renew(t.Context(), ref, fence, time.Minute) })
			wg.Go(func() { next, taken = other.Lease(t.Context(), ref, "replica-b", time.Minute) })
			wg.Wait()
			if (renewed == nil) == (taken == nil) {
				t.Fatalf("round %d: renewed %v, taken %v", round, renewed, taken)
			}
			if renewed == nil {
				wantHeld(t, taken, "replica-a", clock.now().Add(time.Minute))
				continue
			}
			wantLost(t, renewed)
			must(t, other.Release(t.Context(), ref, next))
			fence = lease(t, s, "replica-a")
		}
	})
}

func TestOneOfManyReplicasGetsALease(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fresh(t)
		stores := []*Store{openAt(t, dsn, Options{}), openAt(t, dsn, Options{})}
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, err := stores[i%2].Lease(t.Context(), session("shop"), host.NewID("holder_"), time.Minute)
				if err == nil {
					won.Add(1)
				} else if host.ProblemOf(err).Code != abi.Busy {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d replicas have the lease", won.Load())
		}
	})
}

// A transaction takes its time from the database and not from this process, so
// that replicas whose clocks differ agree about the end of a lease.
func TestTheDatabasesClockDecides(t *testing.T) {
	s := mariadbDatabase().open(t)
	want := time.Unix(5000, 0).UTC()
	must(t, s.writer.do(t.Context(), func(ctx context.Context, ex *executor) error {
		_, err := ex.exec(ctx, "SET SESSION timestamp = 5000") // the server's clock, for this connection
		at, failed := s.now(ctx, ex)
		if !at.Equal(want) {
			t.Errorf("it is %s, and the database's clock says %s", at, want)
		}
		_, reset := ex.exec(ctx, "SET SESSION timestamp = DEFAULT")
		return errors.Join(err, failed, reset)
	}))
}

func TestLeasesRefuseBadInput(t *testing.T) {
	s, ref := openStore(t), session("shop")
	for name, ask := range map[string]func() error{
		"no session":    func() error { _, err := s.Lease(t.Context(), host.SessionRef{}, "a", time.Minute); return err },
		"no holder":     func() error { _, err := s.Lease(t.Context(), ref, "", time.Minute); return err },
		"no time":       func() error { _, err := s.Lease(t.Context(), ref, "a", 0); return err },
		"too long":      func() error { _, err := s.Lease(t.Context(), ref, "a", MaxLeaseTime+1); return err },
		"no fence":      func() error { return s.Renew(t.Context(), ref, 0, time.Minute) },
		"release of no": func() error { return s.Release(t.Context(), ref, 0) },
		"renew of none": func() error { return s.Renew(t.Context(), ref, 1, -time.Minute) },
		"a first save twice at once": func() error {
			_, err := s.SaveLeasing(t.Context(), ref, "a", time.Minute, Change{Key: "k"}, Change{Key: "k"})
			return err
		},
		"a last save without a key": func() error { return s.SaveReleasing(t.Context(), ref, 1, Change{}) },
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, ask(), abi.BadValue) })
	}
}

func TestALeaseAndAFirstSaveAreOne(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref := session("shop")
		_, err := s.SaveLeasing(t.Context(), ref, "replica-a", time.Minute, Change{Key: "k", Version: 7, Data: []byte("0")})
		wantCode(t, err, abi.StoreConflict)
		fence, err := s.SaveLeasing(t.Context(), ref, "replica-b", time.Minute, Change{Key: "k", Data: []byte("1")})
		must(t, err) // so a save that is refused takes no lease
		for name, save := range map[string]func() error{
			"another's first save": func() error {
				_, err := s.SaveLeasing(t.Context(), ref, "replica-a", time.Minute, Change{Key: "k", Version: 1, Data: []byte("2")})
				return err
			},
			"a save without a lease": func() error { return s.SaveState(t.Context(), ref, Change{Key: "k", Version: 1, Data: []byte("2")}) },
		} {
			wantHeld(t, save(), "replica-b", clock.now().Add(time.Minute))
			if v, _ := loadOne(t, s, ref, "k"); string(v.Data) != "1" || v.Version != 1 {
				t.Errorf("%s left %s at version %d", name, v.Data, v.Version)
			}
		}
		must(t, s.SaveStateUnder(t.Context(), ref, fence, Change{Key: "k", Version: 1, Data: []byte("2")}))
	})
}

func TestALastSaveAndTheLeasesEndAreOne(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		ref := session("shop")
		old := lease(t, s, "replica-a")
		wantCode(t, s.SaveReleasing(t.Context(), ref, old, Change{Key: "k", Version: 7, Data: []byte("0")}), abi.StoreConflict)
		must(t, s.Renew(t.Context(), ref, old, time.Minute)) // so a save that is refused gives no lease back
		must(t, s.SaveReleasing(t.Context(), ref, old, Change{Key: "k", Data: []byte("1")}))
		wantLost(t, s.Renew(t.Context(), ref, old, time.Minute))

		next := lease(t, s, "replica-b")
		wantLost(t, s.SaveReleasing(t.Context(), ref, old, Change{Key: "k", Version: 1, Data: []byte("2")}))
		if v, _ := loadOne(t, s, ref, "k"); string(v.Data) != "1" {
			t.Errorf("a holder that is over left %s", v.Data)
		}
		must(t, s.Renew(t.Context(), ref, next, time.Minute))
	})
}

func TestAHolderWhoWasNotToldOfItsLeaseFindsItsFence(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		fence := lease(t, s, "replica-a")
		_, err := s.Lease(t.Context(), session("shop"), "replica-a", time.Minute)
		var held *HeldError
		if !errors.As(err, &held) || held.Holder != "replica-a" || held.Fence != fence {
			t.Fatalf("got %v, want fence %d", err, fence)
		}
		must(t, s.Renew(t.Context(), session("shop"), held.Fence, time.Minute))
	})
}
