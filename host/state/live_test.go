package state

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestALiveStartsAndEndsOnceWithItsRecords(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		record := func(call host.CallID) host.Record { return host.Record{Kind: host.RecordNotice, Call: call} }
		wantCode(t, func() error { _, _, err := s.EndLive(t.Context(), "shop", "l1", time.Minute); return err }(), abi.NotFound)
		for i, want := range []bool{true, false} {
			first, err := s.StartLive(t.Context(), "shop", "l1", []byte(`{"title":"夜场"}`), record(host.CallID(fmt.Sprint("start", i))))
			if err != nil || first != want {
				t.Errorf("start %d: %v, %v", i, first, err)
			}
			clock.pass(time.Second)
		}
		live, found, err := s.Live(t.Context(), "shop", "l1")
		must(t, err)
		if !found || live.ID != "l1" || string(live.Detail) != `{"title":"夜场"}` || !live.StartedAt.Equal(clock.now().Add(-2*time.Second)) || !live.EndedAt.IsZero() {
			t.Errorf("on: %+v, %v", live, found)
		}
		for i, want := range []bool{true, false} {
			_, first, err := s.EndLive(t.Context(), "shop", "l1", time.Minute, record(host.CallID(fmt.Sprint("end", i))))
			if err != nil || first != want {
				t.Errorf("end %d: %v, %v", i, first, err)
			}
			clock.pass(time.Second)
		}
		if live, _, err = s.Live(t.Context(), "shop", "l1"); err != nil || !live.EndedAt.Equal(clock.now().Add(-2*time.Second)) {
			t.Errorf("ended: %+v, %v", live, err)
		}
		_, err = s.StartLive(t.Context(), "shop", "l1", []byte(`{}`))
		wantCode(t, err, abi.Conflict)
		wantRecords(t, s, "shop", "notice start0", "notice end0")
		if _, found, err := s.Live(t.Context(), "other", "l1"); err != nil || found {
			t.Errorf("another tenant sees it: %v, %v", found, err)
		}
	})
}

func TestLivesAreListedPageByPage(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for _, id := range []host.LiveID{"b", "a", "c"} {
			_, err := s.StartLive(t.Context(), "shop", id, []byte(`{}`))
			must(t, err)
		}
		for after, want := range map[host.LiveID]string{"": "a b", "a": "b c", "b": "c", "c": ""} {
			lives, err := s.Lives(t.Context(), "shop", after, 2)
			must(t, err)
			var got []string
			for _, live := range lives {
				got = append(got, string(live.ID))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("after %q: %q, want %q", after, got, want)
			}
		}
	})
}

func TestLivesRefuseBadInput(t *testing.T) {
	s := openStore(t)
	for name, ask := range map[string]func() error{
		"no tenant": func() error { _, err := s.StartLive(t.Context(), "", "l", []byte(`{}`)); return err },
		"no live":   func() error { _, _, err := s.EndLive(t.Context(), "shop", "", time.Minute); return err },
		"no detail": func() error { _, err := s.StartLive(t.Context(), "shop", "l", nil); return err },
		"a foreign record": func() error {
			_, _, err := s.EndLive(t.Context(), "shop", "l", time.Minute, host.Record{Session: session("other"), Kind: host.RecordNotice})
			return err
		},
		"no tenant's list": func() error { _, err := s.Lives(t.Context(), "", "", 0); return err },
		"a control id":     func() error { _, _, err := s.Live(t.Context(), "shop", "a\nb"); return err },
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, ask(), abi.BadValue) })
	}
}
