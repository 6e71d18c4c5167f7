package keeper

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// A declaration is found by what was said before it, and that is forgotten with the
// memory that it is, while the declaration stays.
func TestWhatStandsBeforeADeclarationIsForgottenWithItsMemory(t *testing.T) {
	const marker = "Zinfandel"
	r := sqliteRig(t)
	k := r.open()
	m := memory.Message{Session: "s", Input: "3", Text: "I love " + marker + " wine! Openings take 10 minutes from now on."}
	wine, opening := said("I love "+marker+" wine"), said("Openings take 10 minutes")
	ids := k.testOnlyRemember(t, ann, m.Indexed(wine), m.Indexed(opening))
	other := said("Prices end in nine")
	other.IndexText = "hats\n" + other.Text
	ids = append(ids, k.testOnlyRemember(t, ann, other)...)
	k.testOnlySync(t)
	if found := finds(t, k.store, ann, marker); len(found) != 2 {
		t.Fatalf("%d of two memories are found by the words before", len(found))
	}
	f, err := k.Forget(t.Context(), ann, Wish{IDs: ids[:1]})
	must(t, err)
	k.testOnlySync(t)
	if files := filesWith(t, filepath.Dir(r.dsn), marker); len(files) != 0 || !f.Scrubbed {
		t.Errorf("the words are in %v; scrubbed %v", files, f.Scrubbed)
	}
	if found := finds(t, k.store, ann, marker); len(found) != 0 {
		t.Errorf("the index finds %v by the words that were forgotten", found)
	}
	if found := finds(t, k.store, ann, "openings minutes"); len(found) != 1 {
		t.Errorf("the declaration is found %d times by its own words", len(found))
	}
	if found := finds(t, k.store, ann, "hats"); len(found) != 1 {
		t.Error("another declaration lost what stands before it")
	}
}

// A declaration that was kept before speakers were named is the same when it is said
// again; and a message counts once, whatever its place.
func TestTheUserIsTheSpeakerOfWhatNobodyNames(t *testing.T) {
	k := sqliteRig(t).open()
	old := said("Prices end in nine")
	old.Source = memory.Source{Session: "s", Input: "1"}
	ids := k.testOnlyRemember(t, ann, old)
	for n, input := range []host.InputID{"1", "2"} {
		again := old
		again.Source.Input = input
		again = memory.Message{Session: "s", Input: input, Text: old.Text}.Indexed(again)
		if got := k.testOnlyRemember(t, ann, again); got[0] != ids[0] {
			t.Fatalf("said again it is %v, not %v", got, ids)
		}
		kept, err := k.Get(t.Context(), ann, ids[0])
		must(t, err)
		if kept.Verified != n {
			t.Errorf("after input %s it is verified %d times", input, kept.Verified)
		}
	}
}

// asked counts how often something is asked.
type asked struct {
	host.Statements
	query string
	times *int
}

func (a asked) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if query == a.query {
		*a.times++
	}
	return a.Statements.QueryContext(ctx, query, args...)
}

// The last memory of many about a thing still has its words taken out of what they stand
// before; the declarations are read for the first.
func TestAForgettingReadsTheDeclarationsOnce(t *testing.T) {
	r, times := sqliteRig(t), 0
	r.db.Reads = asked{r.db.Reads, idsOfLayer, &times}
	k := r.open(func(c *Config) { c.Store = nil })
	var facts []memory.Node
	for i := range 2*maxForget + 1 {
		facts = append(facts, memory.Node{Text: fmt.Sprintf("price%d of a hat", i), Layer: memory.Fact, Kind: memory.FactOf, Entity: "hat"})
	}
	for some := range slices.Chunk(facts, MaxRemember) {
		k.testOnlyRemember(t, ann, some...)
	}
	first, last := said("openings are short"), said("endings are long")
	first.IndexText, last.IndexText = facts[0].Text+"\n"+first.Text, facts[len(facts)-1].Text+"\n"+last.Text
	ids := k.testOnlyRemember(t, ann, first, last)
	_, err := k.Forget(t.Context(), ann, Wish{Entity: "hat"})
	must(t, err)
	if times != 4 { // one for each status
		t.Errorf("they are asked for %d times", times)
	}
	for _, id := range ids {
		if n := k.testOnlyGet(t, ann, id); n.IndexText != "" {
			t.Errorf("%q stands before %q", n.IndexText, n.Text)
		}
	}
}
