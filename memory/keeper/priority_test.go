package keeper

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
)

// Of two declarations the one with the higher priority counts, also where it is the older one.
func TestAPriorityDecidesBetweenDeclarations(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock()
		k := r.open(withClock(now))
		ctx := t.Context()
		minutes := func(text string, n float64) memory.Node {
			node := said(text)
			node.Claim, node.At = new(memory.Between("opening.minutes", n, n, "min")), now.move(time.Hour)
			return node
		}
		first, err := k.Declare(ctx, ann, minutes("opens with 10 minutes", 10), memory.LastWins)
		must(t, err)
		for range 2 {
			must(t, k.Prioritise(ctx, ann, first.ID, 7))
		}
		later, err := k.Declare(ctx, ann, minutes("opens with 3 minutes", 3), memory.LastWins)
		must(t, err)
		if n, err := k.Get(ctx, ann, first.ID); err != nil || n.Status != memory.Active || n.Priority != 7 {
			t.Errorf("the one of higher priority is %+v, %v", n, err)
		}
		if n, err := k.Get(ctx, ann, later.ID); err != nil || n.Status != memory.Superseded {
			t.Errorf("the later one is %+v, %v", n, err)
		}
		life, err := k.Why(ctx, ann, first.ID, memory.DefaultForget(), "")
		must(t, err)
		ranked := 0
		for _, e := range life.Events {
			if e.What == Prioritised && e.Cause == "7" {
				ranked++
			}
		}
		if ranked != 1 {
			t.Errorf("its life is %+v", life.Events)
		}
		fact := k.testOnlyRemember(t, ann, memory.Node{Text: "sold 12", Layer: memory.Fact, Kind: memory.FactOf})[0]
		wantCode(t, k.Prioritise(ctx, ann, fact, 1), abi.BadValue)
		wantCode(t, k.Prioritise(ctx, ann, first.ID, MaxPriority+1), abi.BadValue)
		wantCode(t, k.Prioritise(ctx, Owner{ann.Tenant, "bob"}, first.ID, 1), abi.NotFound)
	})
}
