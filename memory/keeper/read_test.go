package keeper

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/memory"
)

// Kinds are open: a skill keeps those of its manifest. A page that names no kind has all
// of them, by whatever it is read.
func TestAPageHasAllThatItAsksForWhateverItIsReadBy(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open(func(c *Config) { c.Store = nil })
		kinds := []memory.Kind{memory.Preference, memory.FactOf, "note"}
		statuses := []memory.Status{memory.Active, memory.Superseded, memory.Falsified, memory.Archived}
		var nodes []memory.Node
		for i := range 3 * MaxPage {
			nodes = append(nodes, memory.Node{Text: fmt.Sprintf("word%d alone%d", i, i*i), Layer: memory.Layer(1 + i%3), Kind: kinds[i/3%3], Status: statuses[i/9%4], Entity: []string{"a", "b"}[i/36%2]})
		}
		for some := range slices.Chunk(nodes, MaxRemember) {
			k.testOnlyRemember(t, ann, some...)
		}
		all := k.all(t, ann)
		for name, p := range map[string]Page{
			"a layer":                   {Layers: []memory.Layer{memory.Fact}},
			"layers that count":         {Layers: []memory.Layer{memory.Declared, memory.Fact}, Statuses: statuses[:1]},
			"an entity":                 {Entity: "a"},
			"active facts of one":       {Entity: "b", Layers: []memory.Layer{memory.Fact}, Statuses: statuses[:1]},
			"a foreign kind":            {Kinds: kinds[2:]},
			"kinds, one of them twice":  {Kinds: []memory.Kind{"note", memory.FactOf, "note"}, Layers: []memory.Layer{memory.Behaviour}},
			"more kinds than are known": {Kinds: []memory.Kind{"a", "b", "c", "d", "e", "f", "g", "note"}},
			"a kind of an entity":       {Kinds: kinds[2:], Entity: "a", Statuses: statuses[1:3]},
		} {
			for _, limit := range []int{MaxPage, 7} {
				var got, want []memory.ID
				for _, n := range all {
					if p.wants(stored{Node: n}, k.now()) {
						want = append(want, n.ID)
					}
				}
				for p, more := p, true; more; {
					p.Limit = limit
					page, err := k.List(t.Context(), ann, p)
					must(t, err)
					for _, n := range page {
						got, p.After = append(got, n.ID), n.ID
					}
					more = len(page) == limit
				}
				if len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("%s, %d at a time: %d memories; want %d", name, limit, len(got), len(want))
				}
			}
		}
	})
}

// A page of one document, thing, kind or layer begins where the one before ended: nothing
// is put in order for it.
func TestPagesAreReadOnInTheIndex(t *testing.T) {
	k := sqliteRig(t).open()
	for query, args := range map[string][]any{
		idsFrom:    {"shop", "ann", "x", "active", 2, "x", 1},
		idsFromAny: {"shop", "ann", "active", 2, "x", 1},
		idsAbout:   {"shop", "ann", "x", "active", 2, "x", 1},
		idsOfKind:  {"shop", "ann", "x", "active", 2, "x", 1},
		idsOfLayer: {"shop", "ann", "active", 2, "x", 1},
	} {
		plan := planOf(t, k, query, args)
		if text := strings.Join(plan, "; "); len(plan) != 1 || !strings.Contains(text, "COVERING INDEX") || !strings.Contains(text, "memory_id>?") {
			t.Errorf("%s\nis done by %s", query, text)
		}
	}
}

// Who asks for a few memories of a kind does not have a page of them read.
func TestAShortPageReadsNoMoreThanItGives(t *testing.T) {
	r, long := sqliteRig(t), 0
	list, _ := inList(make([]memory.ID, MaxPage))
	r.db.Reads = asked{r.db.Reads, nodeColumns + ofOwner + " AND memory_id IN " + list, &long}
	k := r.open(func(c *Config) { c.Store = nil })
	var nodes []memory.Node
	for i := range MaxPage {
		nodes = append(nodes, said(fmt.Sprintf("word%d alone%d", i, i*i)))
	}
	k.testOnlyRemember(t, ann, nodes...)
	for limit, pages := range map[int]int{5: 0, MaxPage: 1} {
		long = 0
		page, err := k.List(t.Context(), ann, Page{Kinds: []memory.Kind{memory.Preference}, Limit: limit})
		if must(t, err); len(page) != limit || long != pages {
			t.Errorf("%d of %d memories, with %d long reads", len(page), limit, long)
		}
	}
}
