package agent

import (
	"context"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// The records of reads may wait for a batch, but not beyond their turn, however
// it ends.
func TestATurnsReadsAreOnRecordWhenItIsOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    *script
		ends bool
	}{
		{"answered", answers(calls(`total {"item":"pen"}`), says("none")), true},
		{"broken off", answers(calls(`total {"item":"pen"}`), fails(abi.ModelInterrupted)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, tt.m)
			h.agent.Dispatch.BatchReads = true
			if _, err := h.turn("1", "how many pens"); (err == nil) != tt.ends {
				t.Fatal(err)
			}
			records, err := h.store.Records(context.Background(), "acme", state.RecordFilter{Kinds: []host.RecordKind{host.RecordOutcome}})
			if err != nil || len(records) != 1 || records[0].Tool != "total" {
				t.Errorf("on record are %+v, %v", records, err)
			}
		})
	}
}
