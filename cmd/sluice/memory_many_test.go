package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/recall"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A request may name more memories than the keeper goes through at a time.
func TestForgettingTakesAsManyIDsAsItIsGiven(t *testing.T) {
	h := aHouse(t)
	var ids []string
	for batch := range 2 {
		nodes := make([]memory.Node, 200)
		for i := range nodes {
			nodes[i] = declared(fmt.Sprintf("the supplier of product number %d in city %d is Wang", i, batch), memory.Source{Session: "s1", Input: "1"})
		}
		ids = append(ids, h.keeps(nodes...)...)
	}
	h.records(recordOf("s9", "c1", `{"say":"the supplier of product number 199 in city 1 is Wang"}`), recordOf("s9", "c2", `{"say":"mia takes the bus"}`))
	if said := h.forget(ids...); !strings.Contains(said, "400 memories are gone, and the payload of 1 audit records") {
		t.Errorf("it says %s", said)
	}
	if left := h.memories(); len(left) != 0 {
		t.Errorf("%d memories are left", len(left))
	}
	h.wantLeft(`{"say":"mia takes the bus"}`)
}

// One owner whose memories cannot be read keeps those behind it from nothing.
func TestOneBadOwnerKeepsNobodyFromBeingTidiedAndPurged(t *testing.T) {
	h := aHouse(t)
	h.on(func(s *state.Store, k *keeper.Keeper) {
		bad, ctx := keeper.Owner{Tenant: "local", User: "aaa"}, h.Context()
		old := memory.Node{Text: "an old price", Layer: memory.Fact, Kind: memory.FactOf, Freshness: memory.Fast, Trust: .5, At: time.Now().AddDate(-3, 0, 0)}
		archived := memory.Node{Text: "an older one", Layer: memory.Fact, Kind: memory.FactOf, Trust: .5, At: time.Now().AddDate(-3, 0, 0)}
		for _, o := range []keeper.Owner{bad, mia()} {
			kept, err := k.Remember(ctx, o, []memory.Node{old, archived})
			h.must(err)
			_, err = k.Archive(ctx, o, []memory.ID{kept[1].ID}, "job")
			h.must(err)
		}
		h.must(s.Database().Write(ctx, func(ctx context.Context, on host.Statements) error {
			for _, statement := range []string{
				"UPDATE memory_node SET detail = 'x' WHERE user_id = 'aaa'",
				"UPDATE memory_life SET happened_at = 1 WHERE event = 'archived'",
			} {
				if _, err := on.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		}))
		remembering := &hall{store: s, minding: &minding{Keeper: k}, recall: recall.New(recall.Config{Keeper: k, Store: s})}
		defer remembering.recall.Close()
		if n, err := remembering.recall.Tidy(ctx); n != 1 || err == nil || !strings.Contains(err.Error(), `user "aaa"`) {
			t.Errorf("archived %d of mia's 1, %v", n, err)
		}
		if err := remembering.purgeArchived(ctx); err == nil || !strings.Contains(err.Error(), `user "aaa"`) {
			t.Errorf("purging them says %v", err)
		}
	})
	if left := h.memories(); len(left) != 1 || left[0].Text != "an old price" {
		t.Errorf("left of mia's is %+v", left)
	}
}
