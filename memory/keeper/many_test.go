//go:build !race

// What needs hundreds or thousands of memories and one goroutine.

package keeper

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	cut "github.com/sluicehq/sluice/memory/documents"
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

// randomText makes a document of paragraphs, sentences and headings, in both languages.
func randomText(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(20) {
		switch random.IntN(6) {
		case 0:
			fmt.Fprintf(&b, "%s Heading %d\n", strings.Repeat("#", 1+random.IntN(4)), random.IntN(9))
		case 1:
			b.WriteString(strings.Repeat("\n", random.IntN(4)))
		case 2:
			b.WriteString("```\n# no heading\n```\n")
		}
		for range random.IntN(12) {
			if random.IntN(2) == 0 {
				b.WriteString(strings.Repeat([]string{"直播间的价格由系统核对，", "低于七折要批准", "👩‍👩‍👧", "优惠券每人一张；"}[random.IntN(4)], 1+random.IntN(30)) + "。")
			} else {
				b.WriteString(strings.Repeat(fmt.Sprintf("the price of item%d ", random.IntN(50)), 1+random.IntN(9)) + "is fixed. ")
			}
		}
		b.WriteString([]string{"\n", "\n\n", "\r\n\r\n", ""}[random.IntN(4)])
	}
	return b.String()
}

// blanks are what is a piece of its own and no memory: it becomes a blank line.
var blanks = regexp.MustCompile(`\s{2,}`)

func TestSurroundingsPutTogetherAreTheSource(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 2))
	k := sqliteRig(t).open()
	for i := range 60 {
		text, d := randomText(random), rules()
		d.ID = fmt.Sprintf("%d.md", i%5) // and each replaces an earlier one
		if i%2 == 0 {
			d.Form = cut.Plain
		}
		k.testOnlyLearn(t, ann, d, text)
		got := k.testOnlyWhole(t, ann, d.ID)
		if got != text && strings.TrimSpace(blanks.ReplaceAllString(got, "\n\n")) != strings.TrimSpace(blanks.ReplaceAllString(text, "\n\n")) {
			t.Fatalf("document %d: got %q\nwant %q", i, got, text)
		}
	}
}

func TestALargeDocumentIsPutTogetherOfItsParts(t *testing.T) {
	if testing.Short() {
		t.Skip("it learns a megabyte")
	}
	k := sqliteRig(t).open()
	var numbers []int
	for n := range 2800 {
		numbers = append(numbers, n)
	}
	text := paragraphs(numbers...)
	done := k.testOnlyLearn(t, ann, rules(), text)
	if len(done.Parts) != 2 || done.Pieces != 2800 {
		t.Fatalf("%d parts, %d pieces", len(done.Parts), done.Pieces)
	}
	if got := k.testOnlyWhole(t, ann, "rules.md"); got != text {
		t.Error("it is not what it was")
	}
}

// TestAnImportThatIsBrokenOffLeavesNoHole breaks each transaction of an import in turn.
// What both revisions say is recalled all the while; after a repetition all is as if
// nothing had been.
func TestAnImportThatIsBrokenOffLeavesNoHole(t *testing.T) {
	const seed = 20260301
	random := rand.New(rand.NewPCG(seed, 1))
	var numbers []int
	for n := range 300 { // three batches
		numbers = append(numbers, n)
	}
	first := paragraphs(numbers...)
	for i := range numbers { // a third is another, and some are elsewhere
		if random.IntN(3) == 0 {
			numbers[i] += 1000
		}
	}
	random.Shuffle(40, func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	second := paragraphs(numbers...)
	for broken := 1; broken <= 8; broken++ {
		after := random.IntN(2) == 0
		t.Run(fmt.Sprintf("transaction %d, committed %t", broken, after), func(t *testing.T) {
			r, power := sqliteRig(t), &fuse{}
			r.db = power.over(r.db)
			k := r.open()
			k.testOnlyLearn(t, ann, rules(), first)
			was := k.testOnlyActive(t, ann)
			power.light(broken, after)
			_, err := k.Learn(t.Context(), ann, rules(), strings.NewReader(second), nil)
			power.putOut()
			if err == nil {
				t.Fatalf("it has fewer than %d transactions", broken)
			}
			d, err := k.Document(t.Context(), ann, "rules.md")
			must(t, err)
			now := k.testOnlyActive(t, ann)
			if learned := d.Digest == host.Digest([]byte(second)); !learned {
				for id := range was {
					if _, there := now[id]; !there {
						t.Fatalf("%s is gone, and nothing is in its place", id)
					}
				}
				if whole := k.testOnlyWhole(t, ann, "rules.md"); whole != first {
					t.Fatal("the document is not what it was")
				}
			} else if whole := k.testOnlyWhole(t, ann, "rules.md"); whole != second {
				t.Fatal("the document is not what it became")
			}
			k.testOnlyLearn(t, ann, rules(), second)
			if whole := k.testOnlyWhole(t, ann, "rules.md"); whole != second {
				t.Fatal("after a repetition the document is not what it is")
			}
			checkPieces(t, k, rules())
		})
	}
}

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
