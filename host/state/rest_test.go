package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// rests gives the sessions that have rested for longer than a minute.
func rests(t *testing.T, s *Store) (list []Rest) {
	t.Helper()
	list, _, err := s.Rests(t.Context(), time.Minute, 0)
	must(t, err)
	return list
}

func wantRests(t *testing.T, s *Store, want ...host.SessionID) []Rest {
	t.Helper()
	list := rests(t, s)
	var got []host.SessionID
	for _, r := range list {
		got = append(got, r.Ref.Session)
	}
	if len(got) != len(want) {
		t.Fatalf("%v rest, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%v rest, want %v", got, want)
		}
	}
	return list
}

func TestASessionRestsFromWhenItsLeaseIsGivenBack(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref, other := session("shop"), session("rival")
		other.Session = "s2"
		must(t, s.SaveState(t.Context(), session("none"), Change{Key: "k", Data: []byte(`1`)})) // never leased
		fence := lease(t, s, "replica-a")
		clock.pass(2 * time.Minute)
		wantRests(t, s, "s1") // its holder may have died with it
		must(t, s.Renew(t.Context(), ref, fence, time.Minute))
		must(t, s.SaveReleasing(t.Context(), ref, fence, Change{Key: "k", Data: []byte(`1`)}))
		wantRests(t, s)
		clock.pass(time.Minute)
		second, err := s.Lease(t.Context(), other, "replica-b", time.Minute)
		must(t, err)
		must(t, s.Release(t.Context(), other, second))
		wantRests(t, s)
		clock.pass(time.Microsecond)
		wantRests(t, s, "s1")
		clock.pass(time.Minute)
		list := wantRests(t, s, "s1", "s2") // the longest first
		lease(t, s, "replica-a")
		if again := rests(t, s); len(again) != 2 || again[0] != list[0] {
			t.Errorf("%+v rest, want %+v: nothing was given back", again, list)
		}
		clock.pass(time.Hour)
		must(t, s.SaveState(t.Context(), ref, Change{Key: "other", Data: []byte(`1`)})) // ends the lease of who died
		wantRests(t, s, "s1", "s2")
		if limited, _, err := s.Rests(t.Context(), time.Minute, 1); err != nil || len(limited) != 1 {
			t.Errorf("a page of 1 has %+v, %v", limited, err)
		}
		for _, span := range []time.Duration{-1, maxAge + 1} {
			_, _, err := s.Rests(t.Context(), span, 0)
			wantCode(t, err, abi.BadValue)
		}
	})
}

func TestASessionThatWasLookedAtIsOffTheListUntilItIsUsed(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		ref := session("shop")
		use := func() {
			t.Helper()
			must(t, s.Release(t.Context(), ref, lease(t, s, "replica-a")))
			clock.pass(2 * time.Minute)
		}
		use()
		seen := wantRests(t, s, "s1")[0]
		must(t, s.Looked(t.Context(), seen, true))
		wantRests(t, s)
		clock.pass(2 * time.Minute)
		again := wantRests(t, s, "s1")[0]
		must(t, s.Looked(t.Context(), seen, false)) // of a list that is old
		wantRests(t, s, "s1")
		must(t, s.Looked(t.Context(), again, false))
		clock.pass(time.Hour)
		wantRests(t, s)
		use()
		wantRests(t, s, "s1")
		wantCode(t, s.Looked(t.Context(), Rest{}, true), abi.BadValue)
	})
}

// Sessions of a store that was there before rests were kept have rested for long.
func TestSessionsOfAnOlderStoreRest(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		must(t, s.transact(t.Context(), "test", func(ctx context.Context, ex *executor) error {
			_, err := ex.exec(ctx, "INSERT INTO agent_lease (fence, holder_id, expires_at, tenant_id, user_id, session_id) VALUES (3, '', 0, 'shop', 'ann', 's1')")
			return err
		}))
		wantRests(t, s, "s1")
	})
}

// The list is read along its index, whether few sessions of many rest or all do.
func TestRestsAreFoundByTheirIndexOnMariaDB(t *testing.T) {
	s := mariadbDatabase().open(t)
	for _, rested := range []int{3, 2000} {
		must(t, s.transact(t.Context(), "test", func(ctx context.Context, ex *executor) error {
			_, err := ex.exec(ctx, "DELETE FROM agent_lease")
			for i := 0; err == nil && i < 2000; i++ {
				since := 0
				if i < rested {
					since = i + 1
				}
				_, err = ex.exec(ctx, s.queries.makeLease, 1, "", 0, since, "shop", "ann", fmt.Sprint("s", i))
			}
			return err
		}))
		rows, err := s.reads.Query("ANALYZE TABLE agent_lease")
		must(t, err)
		must(t, rows.Close())
		rows, err = s.reads.Query("EXPLAIN "+s.queries.rested, 1_000_000, 100)
		must(t, err)
		var id int
		var kind, table, access, possible, key, length, ref, count, extra sql.NullString
		for rows.Next() {
			must(t, rows.Scan(&id, &kind, &table, &access, &possible, &key, &length, &ref, &count, &extra))
		}
		must(t, errors.Join(rows.Err(), rows.Close()))
		if key.String != "agent_lease_rested" || access.String != "range" || strings.Contains(extra.String, "filesort") {
			t.Errorf("of %d: %s by %s, %s", rested, access.String, key.String, extra.String)
		}
	}
}
