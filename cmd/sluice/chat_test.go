package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory/keeper"
)

func TestProgressIsOneLine(t *testing.T) {
	for _, tt := range []struct {
		report abi.ProgressReport
		json   bool
		want   string
	}{
		{abi.ProgressReport{Done: 1, Total: 3, Say: "一半"}, false, "  … 1/3 一半\n"},
		{abi.ProgressReport{Done: 7}, false, "  … 7\n"},
		{abi.ProgressReport{Done: 1, Say: "x"}, true, `{"kind":"progress","time":"0001-01-01T00:00:00Z","progress":{"done":1,"say":"x"}}` + "\n"},
	} {
		var out bytes.Buffer
		p := program{stdout: &out, json: tt.json}
		p.show(host.Event{Kind: host.EventProgress, Progress: &tt.report})
		if out.String() != tt.want {
			t.Errorf("%+v is shown as %q, want %q", tt.report, out.String(), tt.want)
		}
	}
}

// What others ended is told by a host that serves: a chat may have another policy, and
// what memory is to learn of it would be lost.
func TestAChatTellsNoEndsOfOthers(t *testing.T) {
	h := aTalkingHouse(t)
	h.on(func(s *state.Store, _ *keeper.Keeper) {
		_, err := s.StartLive(t.Context(), "acme", "night", []byte("{}"))
		h.must(err)
		_, _, err = s.EndLive(t.Context(), "acme", "night", time.Microsecond)
		h.must(err)
		_, err = s.SaveEnd(t.Context(), state.Ending{Session: in("s7"), Grace: time.Microsecond})
		h.must(err)
	})
	h.says("s8", "hello")
	h.on(func(s *state.Store, _ *keeper.Keeper) {
		owed, err := s.OwedEnds(t.Context(), 0)
		if err != nil || len(owed) != 2 || owed[0].Tries != 0 || owed[1].Tries != 0 {
			t.Errorf("after a chat these are owed: %+v, %v; want the two of others, untried", owed, err)
		}
	})
}
