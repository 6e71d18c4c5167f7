package keeper

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/memory"
)

// What was imported leads to the calls that it was made of, and what came archived is
// purged in its time.
func TestAnImportedMemoryLeadsToItsCallsAndIsPurgedInItsTime(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c), func(c *Config) { c.Store = nil })
		source := k.testOnlyRemember(t, ann, said("the supplier is Wang"))[0]
		habit := said("opens with 3 minutes")
		habit.Source.Derived = []memory.ID{"call_1/opening.minutes", source}
		gone := k.testOnlyRemember(t, ann, habit, said("a price of last year"))[1]
		_, err := k.Archive(t.Context(), ann, []memory.ID{gone}, "age")
		must(t, err)
		var file strings.Builder
		_, err = k.Export(t.Context(), ann, &file, nil)
		must(t, err)
		bob := Owner{"shop", "bob"}
		_, err = k.Import(t.Context(), bob, strings.NewReader(file.String()), memory.DefaultReconcile(), memory.LastWins)
		must(t, err)
		page, err := k.List(t.Context(), bob, Page{})
		must(t, err)
		by := map[string]memory.Node{}
		for _, n := range page {
			by[n.Text] = n
		}
		want := []memory.ID{"call_1/opening.minutes", by["the supplier is Wang"].ID}
		if got := by["opens with 3 minutes"].Source.Derived; !slices.Equal(got, want) || want[1] == source {
			t.Errorf("it was made of %q, want %q", got, want)
		}
		c.move(time.Hour)
		receipts, err := k.Purge(t.Context(), bob, 2*time.Hour)
		must(t, err)
		if len(receipts) != 0 {
			t.Errorf("purged before its time: %+v", receipts)
		}
		c.move(2 * time.Hour)
		receipts, err = k.Purge(t.Context(), bob, 2*time.Hour)
		must(t, err)
		if len(receipts) != 1 || !slices.Equal(receipts[0].IDs, []memory.ID{by["a price of last year"].ID}) {
			t.Errorf("receipts %+v", receipts)
		}
	})
}
