package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestRecordsComeBackWholeInOrderWithTheStoresSeqAndTime(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
		s := openAt(t, d.fresh(t), Options{Now: func() time.Time { return at }})
		want := host.Record{Seq: 99, Time: time.Unix(0, 0), Session: session("shop"), Call: "call1", Kind: host.RecordIntent,
			Tool: "set_price", Release: "shop.pricing@1.4.0", Key: "key", Detail: json.RawMessage(`{ "args" : "价" }`)}
		must(t, s.Record(t.Context(), want, host.Record{Session: host.SessionRef{Tenant: "shop"}, Kind: host.RecordRelease}))
		got, err := s.Records(t.Context(), "shop", RecordFilter{})
		must(t, err)
		if len(got) != 2 || got[0].Seq < 1 || got[1].Seq <= got[0].Seq || !got[0].Time.Equal(at) || got[1].Detail != nil {
			t.Fatalf("got %+v", got)
		}
		want.Seq, want.Time = got[0].Seq, got[0].Time
		if fmt.Sprint(got[0]) != fmt.Sprint(want) {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
	})
}

func TestRecordsAreFilteredAndPaged(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for i := range 6 {
			ref := host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(fmt.Sprint("s", i%2))}
			call := host.CallID(fmt.Sprint("call", i/2))
			must(t, s.Record(t.Context(), host.Record{Session: ref, Call: call, Kind: host.RecordIntent, Tool: fmt.Sprint("tool", i/2)}, host.Record{Session: ref, Call: call, Kind: host.RecordOutcome}))
		}
		all, err := s.Records(t.Context(), "shop", RecordFilter{})
		must(t, err)
		for _, tt := range []struct {
			name string
			f    RecordFilter
			want int
		}{
			{"all", RecordFilter{}, 12},
			{"a session", RecordFilter{Session: host.SessionRef{User: "ann", Session: "s1"}}, 6},
			{"a session with its tenant", RecordFilter{Session: host.SessionRef{Tenant: "shop", User: "ann", Session: "s1"}}, 6},
			{"another user's", RecordFilter{Session: host.SessionRef{User: "bob", Session: "s1"}}, 0},
			{"a call", RecordFilter{Call: "call1"}, 4},
			{"a kind", RecordFilter{Kinds: []host.RecordKind{host.RecordOutcome}}, 6},
			{"kinds", RecordFilter{Kinds: []host.RecordKind{host.RecordOutcome, host.RecordIntent, host.RecordNotice}}, 12},
			{"a tool", RecordFilter{Tools: []string{"tool1"}}, 2},
			{"tools", RecordFilter{Tools: []string{"tool1", "tool2"}, Kinds: []host.RecordKind{host.RecordIntent}}, 4},
			{"no tool", RecordFilter{Tools: []string{""}}, 6},
			{"an end without its tool", RecordFilter{Tools: []string{"tool1"}, Kinds: []host.RecordKind{host.RecordOutcome}}, 0},
			{"the newest", RecordFilter{Newest: true, UpToSeq: all[4].Seq, AfterSeq: all[1].Seq}, 3},
			{"later ones", RecordFilter{AfterSeq: all[8].Seq}, 3},
			{"some", RecordFilter{Limit: 5}, 5},
			{"everything at once", RecordFilter{Session: host.SessionRef{User: "ann", Session: "s0"}, Call: "call1", Kinds: []host.RecordKind{host.RecordIntent}, AfterSeq: all[0].Seq, Limit: 9}, 1},
		} {
			got, err := s.Records(t.Context(), "shop", tt.f)
			must(t, err)
			if len(got) != tt.want {
				t.Errorf("%s: %d records, want %d", tt.name, len(got), tt.want)
			}
			if ordered := slices.IsSortedFunc(got, func(a, b host.Record) int { return cmp.Compare(a.Seq, b.Seq) }); ordered == tt.f.Newest {
				t.Errorf("%s: in the order %+v", tt.name, got)
			}
		}
	})
}

func TestARecordOfWhatAModelWroteIsNeverRefusedForIt(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		must(t, s.Record(t.Context(), host.Record{Session: session("shop"), Kind: host.RecordRefusal, Tool: strings.Repeat("\xff价\x00\n", 1000)}))
		got, err := s.Records(t.Context(), "shop", RecordFilter{})
		must(t, err)
		if len(got) != 1 || len(got[0].Tool) > abi.KeyBytes || !strings.HasPrefix(got[0].Tool, "?价?\n?价?") {
			t.Errorf("got %+v", got)
		}
	})
}

func TestRecordsRefuseBadInputAndKeepNoneOfIt(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s, ref := d.open(t), session("shop")
		good := host.Record{Session: ref, Kind: host.RecordNotice}
		for name, bad := range map[string][]host.Record{
			"no tenant": {good, {Kind: host.RecordNotice}},
			"no kind":   {good, {Session: ref}},
			"not JSON":  {good, {Session: ref, Kind: host.RecordNotice, Detail: []byte("{")}},
			"a long id": {good, {Session: ref, Kind: host.RecordNotice, Call: host.CallID(strings.Repeat("c", host.MaxIDBytes+1))}},
			"too many":  make([]host.Record, MaxRecords+1),
		} {
			t.Run(name, func(t *testing.T) { wantCode(t, s.Record(t.Context(), bad...), abi.BadValue) })
		}
		_, err := s.Records(t.Context(), "", RecordFilter{})
		wantCode(t, err, abi.BadValue)
		_, err = s.Records(t.Context(), "shop", RecordFilter{Kinds: make([]host.RecordKind, maxKinds+1)})
		wantCode(t, err, abi.BadValue)
		_, err = s.Records(t.Context(), "shop", RecordFilter{Tools: make([]string, maxTools+1)})
		wantCode(t, err, abi.BadValue)
		wantRecords(t, s, "shop")
	})
}
