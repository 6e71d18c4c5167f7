package keeper

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/memory"
)

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
