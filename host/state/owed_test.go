package state

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// ends keeps the end of a session, with a change and a record.
func ends(t *testing.T, s *Store, ref host.SessionRef, key string) Owed {
	t.Helper()
	owed, err := s.SaveEnd(t.Context(), Ending{Session: ref, Grace: time.Minute, Changes: []Change{{Key: key, Data: []byte("1")}},
		Records: []host.Record{{Kind: host.RecordEvent, Call: host.CallID(key)}}})
	must(t, err)
	return owed
}

// wantDue fails unless these ends are to be told by now, by their sessions and lives.
func wantDue(t *testing.T, s *Store, want string) []Owed {
	t.Helper()
	list, err := s.DueEnds(t.Context(), 0)
	must(t, err)
	if got := namesOf(list); got != want {
		t.Errorf("due are %q, want %q", got, want)
	}
	return list
}

func namesOf(list []Owed) string {
	var names []string
	for _, o := range list {
		names = append(names, string(o.Session.Session)+string(o.Live))
	}
	return strings.Join(names, " ")
}

func wantOwed(t *testing.T, s *Store, want string) []Owed {
	t.Helper()
	list, err := s.OwedEnds(t.Context(), 0)
	must(t, err)
	if got := namesOf(list); got != want {
		t.Errorf("owed are %q, want %q", got, want)
	}
	return list
}

func TestAnEndIsOwedUntilItIsTold(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref := session("shop")
		saved := ends(t, s, ref, "k")
		if _, there := loadOne(t, s, ref, "k"); !there {
			t.Error("the change is not kept with the end")
		}
		wantRecords(t, s, "shop", "event k")
		wantDue(t, s, "") // who saved it tells first
		clock.pass(time.Minute)
		listed := wantDue(t, s, "s1")[0]
		if listed != saved || !listed.EndedAt.Equal(clock.now().Add(-time.Minute)) {
			t.Errorf("%+v is listed, %+v was saved", listed, saved)
		}
		taken, mine, err := s.TakeOwed(t.Context(), listed, time.Hour)
		if err != nil || !mine || taken.Tries != 1 || !taken.Next.Equal(clock.now().Add(time.Hour)) {
			t.Fatalf("%+v, %v, %v", taken, mine, err)
		}
		wantDue(t, s, "") // also if its teller has died
		must(t, s.SettleOwed(t.Context(), taken, "the database is away"))
		clock.pass(time.Hour)
		again := wantDue(t, s, "s1")[0]
		if again.Tries != 1 || again.Failure != "the database is away" {
			t.Errorf("after a failure it is %+v", again)
		}
		must(t, s.PostponeOwed(t.Context(), again, time.Hour))
		wantDue(t, s, "")
		if found, owed, err := s.OwedEnd(t.Context(), ref); err != nil || !owed || found.Tries != 1 {
			t.Errorf("postponed it is %+v, %v, %v", found, owed, err)
		}
		must(t, s.SettleOwed(t.Context(), again, ""))
		wantOwed(t, s, "")
		if _, owed, err := s.OwedEnd(t.Context(), ref); owed || err != nil {
			t.Errorf("told it is owed: %v, %v", owed, err)
		}
	})
}

func TestATryIsGivenToOneCallerOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, dsn := openWithClock(t, d)
		other := openAt(t, dsn, Options{Now: clock.now})
		ends(t, s, session("shop"), "k")
		clock.pass(time.Hour)
		listed := wantDue(t, s, "s1")[0]
		var got atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, mine, err := []*Store{s, other}[i%2].TakeOwed(t.Context(), listed, time.Hour)
				if err != nil {
					t.Error(err)
				}
				if mine {
					got.Add(1)
				}
			})
		}
		all.Wait()
		if got.Load() != 1 {
			t.Errorf("%d callers have it", got.Load())
		}
	})
}

// An end is kept with its changes and records, or none of it is.
func TestAnEndThatCannotBeSavedIsNotOwed(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref := session("shop")
		must(t, s.SaveState(t.Context(), ref, Change{Key: "k", Data: []byte("1")}))
		ending := Ending{Session: ref, Grace: time.Minute, Changes: []Change{{Key: "k", Data: []byte("2")}}, Records: []host.Record{{Kind: host.RecordEvent}}}
		_, err := s.SaveEnd(t.Context(), ending)
		wantCode(t, err, abi.StoreConflict)
		fence := lease(t, s, "replica-a")
		ending.Changes[0].Version = 1
		_, err = s.SaveEnd(t.Context(), ending)
		wantCode(t, err, abi.Busy)
		clock.pass(time.Hour)
		newer := lease(t, s, "replica-b")
		ending.Fence = fence
		_, err = s.SaveEnd(t.Context(), ending)
		wantLost(t, err)
		wantOwed(t, s, "")
		wantRecords(t, s, "shop")
		ending.Fence = newer
		_, err = s.SaveEnd(t.Context(), ending)
		must(t, err)
		wantOwed(t, s, "s1")
		wantRecords(t, s, "shop", "event ")
		must(t, s.Renew(t.Context(), ref, newer, time.Minute)) // the lease is its holder's still
	})
}

func TestALaterEndOfASessionStaysOwed(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		first := ends(t, s, session("shop"), "a")
		clock.pass(time.Hour)
		taken, _, err := s.TakeOwed(t.Context(), first, 0)
		must(t, err)
		second := ends(t, s, session("shop"), "b")
		must(t, s.SettleOwed(t.Context(), taken, ""))
		must(t, s.SettleOwed(t.Context(), taken, "late"))
		if _, mine, err := s.TakeOwed(t.Context(), taken, time.Hour); mine || err != nil {
			t.Errorf("the end of before is given: %v, %v", mine, err)
		}
		if left := wantOwed(t, s, "s1"); left[0] != second {
			t.Errorf("owed is %+v, want %+v", left[0], second)
		}
	})
}

func TestEndsWithoutANextTryStandFirstUntilTheyAreRevived(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		for i := range 3 {
			ref := session("shop")
			ref.Session = host.SessionID(fmt.Sprint("s", i))
			ends(t, s, ref, "k")
			clock.pass(time.Second)
		}
		_, err := s.StartLive(t.Context(), "shop", "l1", []byte(`{}`))
		must(t, err)
		live, first, err := s.EndLive(t.Context(), "shop", "l1", time.Minute)
		if err != nil || !first || live.Live != "l1" || live.Session != (host.SessionRef{Tenant: "shop"}) {
			t.Errorf("the live's end is %+v, %v, %v", live, first, err)
		}
		if again, first, err := s.EndLive(t.Context(), "shop", "l1", time.Minute); err != nil || first || again != (Owed{}) {
			t.Errorf("again it is %+v, %v, %v", again, first, err)
		}
		clock.pass(time.Hour)
		list := wantDue(t, s, "s0 s1 s2 l1")
		for _, o := range list[2:] {
			taken, mine, err := s.TakeOwed(t.Context(), o, 0)
			if err != nil || !mine || !taken.Next.IsZero() {
				t.Errorf("%+v, %v, %v", taken, mine, err)
			}
			must(t, s.SettleOwed(t.Context(), taken, "broken"))
		}
		wantDue(t, s, "s0 s1")
		if page, err := s.DueEnds(t.Context(), 1); err != nil || namesOf(page) != "s0" {
			t.Errorf("a page of 1 has %q, %v", namesOf(page), err)
		}
		dead, err := s.OwedEnds(t.Context(), 2)
		if must(t, err); len(dead) != 2 || !dead[0].Next.IsZero() || !dead[1].Next.IsZero() || dead[0].Failure != "broken" {
			t.Errorf("first stand %+v", dead)
		}
		if n, err := s.ReviveOwed(t.Context()); n != 2 || err != nil {
			t.Errorf("%d revived, %v", n, err)
		}
		if n, err := s.ReviveOwed(t.Context()); n != 0 || err != nil {
			t.Errorf("again %d revived, %v", n, err)
		}
		for _, o := range wantDue(t, s, "s2 l1 s0 s1") {
			if o.Tries != 0 {
				t.Errorf("%+v has its tries used up", o)
			}
		}
	})
}

func TestEndsRefuseBadInput(t *testing.T) {
	s := openStore(t)
	ref := session("shop")
	for name, ask := range map[string]func() error{
		"no session": func() error { _, err := s.SaveEnd(t.Context(), Ending{Grace: time.Minute}); return err },
		"no grace":   func() error { _, err := s.SaveEnd(t.Context(), Ending{Session: ref}); return err },
		"a foreign record": func() error {
			_, err := s.SaveEnd(t.Context(), Ending{Session: ref, Grace: time.Minute, Records: []host.Record{{Session: session("rival"), Kind: host.RecordEvent}}})
			return err
		},
		"a live without grace": func() error { _, _, err := s.EndLive(t.Context(), "shop", "l", 0); return err },
		"a wait of before":     func() error { _, _, err := s.TakeOwed(t.Context(), Owed{Session: ref}, -1); return err },
		"a long wait": func() error {
			_, _, err := s.TakeOwed(t.Context(), Owed{Session: ref}, MaxJobPause+1)
			return err
		},
		"no wait":      func() error { return s.PostponeOwed(t.Context(), Owed{Session: ref}, 0) },
		"nobody's end": func() error { _, _, err := s.OwedEnd(t.Context(), host.SessionRef{}); return err },
		"too many changes": func() error {
			_, err := s.SaveEnd(t.Context(), Ending{Session: ref, Grace: time.Minute, Changes: make([]Change, MaxKeys+1)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, ask(), abi.BadValue) })
	}
}
