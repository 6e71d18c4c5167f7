package state

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

const setPrice = "shop.pricing.set_price"

// write does a whole write of a session.
func write(t *testing.T, s *Store, ref host.SessionRef, call host.CallID, done Done) {
	t.Helper()
	req := request(ref, host.Key(call), call)
	claimNew(t, s, req)
	st := settlement(req, `1`)
	st.Done = &done
	must(t, s.Settle(t.Context(), st))
}

func wantLast(t *testing.T, s *Store, tool, target string, call host.CallID, ago time.Duration) LastDone {
	t.Helper()
	last, found, err := s.LastDone(t.Context(), session("shop"), tool, target)
	must(t, err)
	if found != (call != "") || last.Call != call || last.Ago != ago {
		t.Fatalf("last %s on %q: %v, %s %s ago; want %s %s ago", tool, target, found, last.Call, last.Ago, call, ago)
	}
	return last
}

func wantCount(t *testing.T, s *Store, ref host.SessionRef, within time.Duration, want DoneCount) {
	t.Helper()
	if count, err := s.CountDone(t.Context(), ref, setPrice, within); err != nil || count != want {
		t.Errorf("%+v within %s, %v; want %+v", count, within, err, want)
	}
}

func TestTheTotalsOfASessionAreWhatItsWritesSettled(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, dsn := openWithClock(t, d)
		ref := session("shop")
		wantLast(t, s, setPrice, "1001", "", 0)
		write(t, s, ref, "call1", Done{Tool: setPrice, Targets: []string{"1001"}, Args: []byte(`{"price":89}`), Data: []byte(`{"ok":true}`)})
		clock.pass(time.Minute)
		write(t, s, ref, "call2", Done{Tool: setPrice, Targets: []string{"1002", "1003", "1002"}})
		clock.pass(time.Minute)
		write(t, s, ref, "call3", Done{Tool: "shop.live.switch"})
		other := ref
		other.Session = "s2"
		write(t, s, other, "call4", Done{Tool: setPrice, Targets: []string{"1001"}})

		replica := openAt(t, dsn, Options{Now: clock.now})
		last := wantLast(t, replica, setPrice, "1001", "call1", 2*time.Minute)
		if string(last.Args) != `{"price":89}` || string(last.Data) != `{"ok":true}` || !last.At.Equal(clock.now().Add(-2*time.Minute)) {
			t.Errorf("%+v", last)
		}
		if last := wantLast(t, s, setPrice, "1003", "call2", time.Minute); last.Args != nil || last.Data != nil {
			t.Errorf("%+v", last)
		}
		wantLast(t, s, setPrice, "", "call2", time.Minute)
		wantLast(t, s, setPrice, "1004", "", 0)
		wantLast(t, s, "shop.live.switch", "", "call3", 0)
		wantCount(t, s, ref, 2*time.Minute, DoneCount{Calls: 2, Targets: 3})
		wantCount(t, s, ref, 2*time.Minute-time.Microsecond, DoneCount{Calls: 1, Targets: 2})
		wantCount(t, s, ref, time.Second, DoneCount{})
		wantCount(t, s, other, time.Second, DoneCount{Calls: 1, Targets: 1})
	})
}

func TestAWriteThatDoesNotSettleIsInNoTotal(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, clock, _ := openWithClock(t, d)
		req := request(session("shop"), "key", "call1")
		claimNew(t, s, req)
		st := settlement(req, `1`)
		st.Done, st.State = &Done{Tool: setPrice, Targets: []string{"1001"}}, []Change{{Key: "k", Version: 7, Data: []byte("1")}}
		wantCode(t, s.Settle(t.Context(), st), abi.StoreConflict)
		clock.pass(time.Hour)
		wantClaim(t, s.Reclaim, request(session("shop"), "key", "call2"), ClaimNew, "call2")
		st.State = nil
		wantCode(t, s.Settle(t.Context(), st), abi.InFlight)
		wantLast(t, s, setPrice, "", "", 0)
		wantCount(t, s, session("shop"), time.Hour, DoneCount{})
	})
}

func TestTargetsThatDoNotFitAreFoundAndLargeArgumentsAreLeftOut(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, _, _ := openWithClock(t, d)
		long, broken := strings.Repeat("价", abi.KeyBytes), "\xff\x00"
		large := json.RawMessage(`"` + strings.Repeat("x", MaxDoneBytes) + `"`)
		write(t, s, session("shop"), "call1", Done{Tool: setPrice, Targets: []string{long, broken, "a b\n"}, Args: large, Data: []byte(`1`)})
		for _, target := range []string{long, broken, "a b\n"} {
			if last := wantLast(t, s, setPrice, target, "call1", 0); last.Args != nil || string(last.Data) != `1` {
				t.Errorf("%+v", last)
			}
		}
		wantLast(t, s, setPrice, long+"x", "", 0)
		wantCount(t, s, session("shop"), time.Minute, DoneCount{Calls: 1, Targets: 3})
	})
}

func TestACountEndsAtItsBoundAndSaysSo(t *testing.T) {
	s, clock, _ := openWithClock(t, sqliteDatabase())
	for call := range 5 {
		var targets []string
		for i := range MaxDoneTargets {
			targets = append(targets, fmt.Sprint(i))
		}
		write(t, s, session("shop"), host.CallID(fmt.Sprint("call", call)), Done{Tool: setPrice, Targets: targets})
		clock.pass(time.Second)
	}
	wantCount(t, s, session("shop"), time.Minute, DoneCount{Calls: 4, Targets: MaxCounted, More: true})
}

func TestTotalsRefuseBadInput(t *testing.T) {
	s := openStore(t)
	req := request(session("shop"), "key", "call1")
	claimNew(t, s, req)
	for name, change := range map[string]func(st *Settlement){
		"no claim":         func(st *Settlement) { st.Key = "" },
		"no tool":          func(st *Settlement) { st.Done.Tool = "" },
		"a long tool":      func(st *Settlement) { st.Done.Tool = strings.Repeat("t", abi.KeyBytes+1) },
		"too many targets": func(st *Settlement) { st.Done.Targets = make([]string, MaxDoneTargets+1) },
		"broken arguments": func(st *Settlement) { st.Done.Args = []byte("{") },
		"broken data":      func(st *Settlement) { st.Done.Data = []byte("{") },
	} {
		t.Run(name, func(t *testing.T) {
			st := settlement(req, `1`)
			st.Done = &Done{Tool: setPrice}
			change(&st)
			wantCode(t, s.Settle(t.Context(), st), abi.BadValue)
		})
	}
	_, _, err := s.LastDone(t.Context(), session("shop"), "", "")
	wantCode(t, err, abi.BadValue)
	_, err = s.CountDone(t.Context(), session("shop"), setPrice, 0)
	wantCode(t, err, abi.BadValue)
	_, err = s.CountDone(t.Context(), host.SessionRef{}, setPrice, time.Minute)
	wantCode(t, err, abi.BadValue)
}
