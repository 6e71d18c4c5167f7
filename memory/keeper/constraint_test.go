package keeper

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/memory"
)

func TestConstraintsComeWithTheUsersOwnAndTheNewestFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		rule := func(layer memory.Layer, kind memory.Kind, text string) memory.ID {
			c.move(time.Minute)
			return k.testOnlyRemember(t, ann, memory.Node{Text: text, Layer: layer, Kind: kind, Trust: .8, At: c.now()})[0]
		}
		for i := range 20 {
			rule(memory.Declared, memory.Preference, fmt.Sprintf("likes thing number %d", i*7))
		}
		old := rule(memory.Declared, memory.Constraint, "never below fifty")
		rule(memory.Fact, memory.Constraint, "planted by a skill")
		gone := rule(memory.Declared, memory.Constraint, "never on Mondays")
		rule(memory.Declared, memory.Constraint, "never without a receipt")
		must(t, k.Falsify(t.Context(), ann, gone, ""))
		if _, all, err := k.Constraints(t.Context(), Owner{ann.Tenant, "bob"}, 10); err != nil || all != 0 {
			t.Errorf("bob has %d, %v", all, err)
		}
		for limit, want := range map[int]string{10: "never without a receipt; never below fifty; planted by a skill", 1: "never without a receipt", 0: ""} {
			first, all, err := k.Constraints(t.Context(), ann, limit)
			var told []string
			for _, n := range first {
				told = append(told, n.Text)
			}
			if must(t, err); strings.Join(told, "; ") != want || all != 3 {
				t.Errorf("the first %d of %d: %v", limit, all, told)
			}
		}
		c.move(time.Hour) // said again, it is the newest
		k.testOnlyRemember(t, ann, memory.Node{Text: "never below fifty", Layer: memory.Declared, Kind: memory.Constraint, Trust: .8, At: c.now()})
		if first, _, err := k.Constraints(t.Context(), ann, 1); err != nil || len(first) != 1 || first[0].ID != old {
			t.Errorf("%+v, %v", first, err)
		}
	})
}

// What was a rule for a time only takes no other rule's place when it is over.
func TestAConstraintThatIsOverIsNeitherShownNorCounted(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		rule := func(text string, valid memory.Span) {
			c.move(time.Second)
			k.testOnlyRemember(t, ann, memory.Node{Text: text, Layer: memory.Declared, Kind: memory.Constraint, Trust: .8, At: c.now(), Valid: valid})
		}
		rule("never below fifty", memory.Span{})
		for i := range longList + 1 { // more than are read at once
			rule(fmt.Sprintf("no parcel number %d today", i*7), memory.Span{Until: c.now().Add(time.Hour)})
		}
		rule("no calls from next month on", memory.Span{From: c.now().Add(30 * 24 * time.Hour)})
		if first, all, err := k.Constraints(t.Context(), ann, 10); err != nil || len(first) != 10 || all != longList+2 || first[0].Text != fmt.Sprintf("no parcel number %d today", longList*7) {
			t.Errorf("today: the first %d of %d, %v", len(first), all, err)
		}
		c.move(2 * time.Hour)
		if first, all, err := k.Constraints(t.Context(), ann, 10); err != nil || len(first) != 1 || all != 1 || first[0].Text != "never below fifty" {
			t.Errorf("when the day is over: %+v of %d, %v", first, all, err)
		}
	})
}
