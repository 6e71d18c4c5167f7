//go:build !race

// What needs thousands of memories and one goroutine.

package keeper

import (
	"fmt"
	"testing"

	"github.com/sluicehq/sluice/memory"
)

func TestALongChainIsForgottenByItsLastAndInSmallSteps(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Store = nil })
	ids := chain(t, k, 4200)
	f, err := k.Forget(t.Context(), ann, Wish{IDs: ids[len(ids)-1:]})
	must(t, err)
	n := 0
	for _, r := range f.Receipts {
		if n += len(r.IDs); len(r.IDs) > forgetBatch {
			t.Errorf("%d memories were removed in one transaction", len(r.IDs))
		}
	}
	if page, err := k.List(t.Context(), ann, Page{}); n != len(ids) || err != nil || len(page) != 0 {
		t.Errorf("%d of %d were forgotten; %d are left, %v", n, len(ids), len(page), err)
	}
}

// What a tool returned does not push out what the user said.
func TestWordsAreComparedHoweverManyFactsThereAre(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Store = nil })
	contradict(t, k, ann)
	for round := range maxClaims/MaxRemember + 1 {
		var facts []memory.Node
		for i := range MaxRemember {
			facts = append(facts, priced(fmt.Sprint("sku", i), float64(round), k.now()))
		}
		k.testOnlyRemember(t, ann, facts...)
	}
	observe(t, k, ann, 9, 30)
	gaps, err := k.Gaps(t.Context(), ann)
	if must(t, err); len(gaps) != 4 {
		t.Errorf("%d gaps; want 4", len(gaps))
	}
}
