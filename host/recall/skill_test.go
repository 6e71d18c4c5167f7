package recall

import (
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A price that a skill remembers goes stale as one that a tool returned.
func TestPricesThatASkillRemembersGoStaleFast(t *testing.T) {
	r := newRig(t, shop)
	want := map[string]memory.Freshness{"the price of the dress is 89": memory.Fast, "连衣裙售价89元": memory.Fast, "500 are left in stock": memory.Fast,
		"the supplier is Wang": memory.Slow, "never go below a price of 80": memory.Slow}
	for text := range want {
		kind := "fact"
		if text == "never go below a price of 80" {
			kind = "constraint"
		}
		must(t, r.Remembered(t.Context(), host.CallRef{Session: session(1), Call: "c1"}, []abi.Memory{{Kind: kind, Text: text}}))
	}
	for _, n := range r.have(keeper.Page{}) {
		if n.Freshness != want[n.Text] {
			t.Errorf("%q is %q, want %q", n.Text, n.Freshness, want[n.Text])
		}
	}
}
