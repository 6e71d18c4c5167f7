package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func standing(session host.SessionID, tool string) StandingGrant {
	return StandingGrant{Tenant: "shop", User: "ann", Session: session, Tool: tool, Condition: "args.price <= 100", MaxTier: abi.HardGate, GrantedBy: "boss"}
}

func addGrant(t *testing.T, s *Store, g StandingGrant, lasts time.Duration) StandingGrant {
	t.Helper()
	g, err := s.AddStandingGrant(t.Context(), g, lasts, func(kept StandingGrant) host.Record {
		return host.Record{Kind: "grant", Detail: fmt.Appendf(nil, `"%s %s %s"`, kept.ID, kept.GrantedAt, kept.Until)}
	})
	must(t, err)
	return g
}

func wantGrants(t *testing.T, s *Store, session host.SessionID, tools string) {
	t.Helper()
	list, err := s.StandingGrants(t.Context(), host.SessionRef{Tenant: "shop", User: "ann", Session: session})
	must(t, err)
	var got []string
	for _, g := range list {
		got = append(got, g.Tool)
	}
	if strings.Join(got, " ") != tools {
		t.Errorf("in session %s hold %q, want %q", session, got, tools)
	}
}

func TestAStandingGrantHoldsInItsSessionUntilItsEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, dsn := openWithClock(t, d)
		one := addGrant(t, s, standing("s1", "one"), 0)
		clock.pass(time.Second)
		all := addGrant(t, s, standing("", "all"), time.Minute)
		other := openAt(t, dsn, Options{Now: clock.now})
		wantGrants(t, other, "s1", "one all")
		wantGrants(t, other, "s2", "all")
		clock.pass(time.Minute - time.Microsecond)
		wantGrants(t, s, "s2", "all")
		clock.pass(time.Microsecond)
		wantGrants(t, s, "s2", "")
		wantGrants(t, s, "s1", "one")
		kept, err := s.StandingGrantsOf(t.Context(), "shop", "ann", "", 0)
		if err != nil || len(kept) != 2 || kept[0] != one || kept[1] != all || !all.Until.Equal(clock.now()) {
			t.Errorf("%+v, %v; want %+v", kept, err, []StandingGrant{one, all})
		}
		if rest, err := s.StandingGrantsOf(t.Context(), "shop", "ann", one.ID, 1); err != nil || len(rest) != 1 || rest[0] != all {
			t.Errorf("%+v, %v", rest, err)
		}
		wantRecords(t, s, "shop", "grant ", "grant ")
	})
}

func TestARevokedGrantIsGone(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		g := addGrant(t, s, standing("s1", "one"), 0)
		for _, who := range []struct {
			tenant host.TenantID
			user   host.UserID
			gone   bool
		}{{"other", "ann", false}, {"shop", "bob", false}, {"shop", "ann", true}, {"shop", "ann", false}} {
			revoked, err := s.RevokeStandingGrant(t.Context(), who.tenant, who.user, g.ID, host.Record{Kind: "revoke"})
			if err != nil || revoked != who.gone {
				t.Errorf("%+v revokes: %v, %v", who, revoked, err)
			}
		}
		wantGrants(t, s, "s1", "")
		wantRecords(t, s, "shop", "grant ", "revoke ")
	})
}

func TestStandingGrantsAreBoundedAndThoseThatRanOutDoNotCount(t *testing.T) {
	s, clock, _ := openWithClock(t, sqliteDatabase())
	for range MaxStandingGrants {
		addGrant(t, s, standing("", "tool"), time.Minute)
	}
	_, err := s.AddStandingGrant(t.Context(), standing("", "tool"), time.Minute)
	wantCode(t, err, abi.QuotaReached)
	clock.pass(time.Minute)
	addGrant(t, s, standing("", "tool"), time.Minute)
}

// Each of two that add one finds room for it where the other's is not counted.
func TestGrantsThatAreAddedAtTheSameTimeDoNotPassTheirBound(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		dsn := d.fresh(t)
		stores := []*Store{openAt(t, dsn, Options{}), openAt(t, dsn, Options{})}
		for range MaxStandingGrants - 1 {
			addGrant(t, stores[0], standing("", "tool"), time.Hour)
		}
		var added atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, err := stores[i%2].AddStandingGrant(t.Context(), standing("", "tool"), time.Hour)
				if err == nil {
					added.Add(1)
				} else {
					wantCode(t, err, abi.QuotaReached)
				}
			})
		}
		wg.Wait()
		if added.Load() != 1 {
			t.Errorf("%d grants found room for one", added.Load())
		}
	})
}

func TestWhoAddsAGrantWaitsForAnotherOfTheSameUser(t *testing.T) {
	s := mariadbDatabase().open(t)
	firstEnd, secondEnd := meets(t, s, func(ctx context.Context, ex *executor, _ time.Time) error {
		_, err := s.roomForGrant(ctx, ex, "shop", "ann")
		return err
	}, func() error {
		_, err := s.AddStandingGrant(t.Context(), standing("", "tool"), time.Hour)
		return err
	})
	must(t, errors.Join(firstEnd, secondEnd))
}

func TestTheRecordOfAGrantTellsItAsItIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		g := addGrant(t, s, standing("s1", "tool"), time.Minute)
		records, err := s.Records(t.Context(), "shop", RecordFilter{Session: host.SessionRef{User: "ann", Session: "s1"}})
		must(t, err)
		if want := fmt.Sprintf(`"%s %s %s"`, g.ID, g.GrantedAt, g.Until); len(records) != 1 || string(records[0].Detail) != want || g.ID == "" || g.GrantedAt.IsZero() {
			t.Errorf("records %+v, want one that says %s", records, want)
		}
		_, err = s.AddStandingGrant(t.Context(), standing("s1", "tool"), time.Minute, func(StandingGrant) host.Record {
			return host.Record{Session: session("other"), Kind: "grant"}
		})
		wantCode(t, err, abi.BadValue)
		wantGrants(t, s, "s1", "tool")
	})
}

func TestStandingGrantsRefuseBadInput(t *testing.T) {
	s := openStore(t)
	for name, tt := range map[string]struct {
		change func(g *StandingGrant)
		lasts  time.Duration
	}{
		"no user":                   {func(g *StandingGrant) { g.User = "" }, time.Minute},
		"no tool":                   {func(g *StandingGrant) { g.Tool = "" }, time.Minute},
		"nobody who grants":         {func(g *StandingGrant) { g.GrantedBy = "" }, time.Minute},
		"a tier that never runs":    {func(g *StandingGrant) { g.MaxTier = abi.Block }, time.Minute},
		"an unknown tier":           {func(g *StandingGrant) { g.MaxTier = "" }, time.Minute},
		"a long condition":          {func(g *StandingGrant) { g.Condition = strings.Repeat("x", MaxGrantCondition+1) }, time.Minute},
		"all sessions for ever":     {func(g *StandingGrant) { g.Session = "" }, 0},
		"longer than a word counts": {func(g *StandingGrant) {}, MaxGrantTime + 1},
		"an end in the past":        {func(g *StandingGrant) {}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			g := standing("s1", "tool")
			tt.change(&g)
			_, err := s.AddStandingGrant(t.Context(), g, tt.lasts)
			wantCode(t, err, abi.BadValue)
		})
	}
	wantGrants(t, s, "s1", "")
}
