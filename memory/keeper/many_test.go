//go:build !race

// What needs hundreds or thousands of memories and one goroutine.

package keeper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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

// However often a recall looks wider, it reads each memory once, and maxRead at most.
func TestARecallReadsNoMemoryTwiceAndNotWithoutEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const versions = 300
		c, read := newClock(), &readings{Statements: r.db.Reads, asked: map[any]int{}}
		r.db.Reads = read
		k := r.open(withClock(c), func(c *Config) { c.Poll = time.Hour })
		for i := range versions {
			n := said(fmt.Sprintf("the stock is as of hour %d", i))
			n.Valid = memory.Span{From: c.now().Add(time.Duration(i) * time.Hour), Until: c.now().Add(time.Duration(i+1) * time.Hour)}
			k.testOnlyRemember(t, ann, n)
		}
		k.testOnlySync(t)
		read.taken()
		q := Query{Filter: of(ann), Text: "stock", Limit: 2, AsOf: &Moment{True: c.now().Add(versions * time.Hour / 2)}, Quiet: true}
		hits, err := k.Recall(t.Context(), q)
		asked := read.taken()
		if must(t, err); len(hits) != 1 || len(asked) != versions {
			t.Errorf("%d hits of %d that were read", len(hits), len(asked))
		}
		for id, times := range asked {
			if times != 1 {
				t.Errorf("memory %v was read %d times", id, times)
			}
		}
		full := looks{}
		for i := range maxRead - 1 {
			full[key{ann, memory.ID(fmt.Sprint(i))}] = nil
		}
		ranked := []memory.Hit{{Found: memory.Found{User: ann.User, ID: "one"}}, {Found: memory.Found{User: ann.User, ID: "one too many"}}}
		_, err = k.read(t.Context(), q, ranked, full)
		if asked = read.taken(); err != nil || len(asked) != 1 || asked["one"] != 1 {
			t.Errorf("with one left to read it asks for %v, %v", asked, err)
		}
	})
}

// Many memories go in few statements, however they are asked for.
func TestForgettingManyTakesFewStatements(t *testing.T) {
	for name, wish := range map[string]Wish{"by what they are about": {Entity: "hat"}, "by their document": {Document: "hats.md"}, "all": {All: true}} {
		t.Run(name, func(t *testing.T) {
			r, said := sqliteRig(t), 0
			write := r.db.Write
			r.db.Write = func(ctx context.Context, run func(ctx context.Context, on host.Statements) error) error {
				return write(ctx, func(ctx context.Context, on host.Statements) error { return run(ctx, counted{on, &said}) })
			}
			k := r.open(func(c *Config) { c.Store, c.Poll = nil, time.Hour })
			var facts []memory.Node
			for i := range 4 * forgetBatch {
				facts = append(facts, memory.Node{Text: fmt.Sprintf("price%d of a hat", i), Layer: memory.Fact, Kind: memory.FactOf, Entity: "hat", Source: memory.Source{Session: "s1", Input: host.InputID(fmt.Sprint(i)), Document: "hats.md"}})
			}
			k.testOnlyRemember(t, ann, facts...)
			said = 0
			f, err := k.Forget(t.Context(), ann, wish)
			must(t, err)
			if most := len(facts); len(f.Sources) != len(facts) || said > most {
				t.Errorf("%d memories are forgotten in %d statements; at most %d", len(f.Sources), said, most)
			}
		})
	}
}

// TestNoLinkDanglesWhateverHappens changes chains of memories at random: nothing ever
// points to what is gone.
func TestNoLinkDanglesWhateverHappens(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		r.db.Scrub = nil // takes long, and moves no link
		relinked := 0
		for seed := range uint64(8) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				p := newPlay(t, r, seed)
				for range 80 {
					did := p.step(t.Context())
					p.k.wantNothingDangles(t, p.o)
					if t.Failed() {
						t.Fatalf("after %s", did)
					}
				}
				relinked += p.relinked(t.Context())
			})
		}
		if relinked < 5 {
			t.Errorf("%d memories were relinked: the test shows little", relinked)
		}
	})
}

func TestADocumentThatIsImportedAgainReplacesWhatItWas(t *testing.T) {
	first := paragraphs(1, 2, 3, 4, 5)
	for name, tt := range map[string]struct {
		text              string
		alter             func(*cut.Document)
		kept, still, gone int
		known             bool
	}{
		"the same":                    {text: first, known: true},
		"another time":                {text: first, alter: func(d *cut.Document) { d.At = time.Unix(1e9, 0) }, known: true},
		"a paragraph at the front":    {text: paragraph(9) + first, kept: 2, still: 4, gone: 1}, // what was first begins with the end of the new one
		"a paragraph at the end":      {text: first + paragraph(9), kept: 1, still: 5},
		"one out of the middle":       {text: paragraphs(1, 2, 4, 5), kept: 1, still: 3, gone: 2},
		"in another order":            {text: paragraphs(5, 4, 3, 2, 1), kept: 5, gone: 5},
		"halves in another order":     {text: paragraphs(4, 5, 1, 2, 3), kept: 2, still: 3, gone: 2},
		"the same paragraph twice":    {text: first + paragraph(5), kept: 1, still: 5},
		"nothing is left":             {text: "", gone: 5},
		"blanks are left":             {text: "\n\n \n", gone: 5},
		"another title":               {text: first, alter: func(d *cut.Document) { d.Title = "Order of the house" }, still: 5},
		"another form":                {text: first, alter: func(d *cut.Document) { d.Form = cut.Plain }, still: 5},
		"it is about another thing":   {text: first, alter: func(d *cut.Document) { d.Entity = "1001" }, kept: 5, gone: 5},
		"a word of one is another":    {text: strings.Replace(first, "para3 word7", "para3 wordX", 1), kept: 1, still: 4, gone: 1},
		"a word at the end of one is": {text: strings.Replace(first, "end.\n\npara4", "END.\n\npara4", 1), kept: 2, still: 3, gone: 2},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r rig) {
				k := r.open()
				was := k.testOnlyLearn(t, ann, rules(), first)
				if was.Known || was.Kept != 5 || was.Still+was.Gone != 0 || was.Pieces != 5 {
					t.Fatalf("the first time: %+v", was)
				}
				old := k.testOnlyPieces(t, ann, "rules.md")
				d := rules()
				if tt.alter != nil {
					tt.alter(&d)
				}
				done := k.testOnlyLearn(t, ann, d, tt.text)
				if done.Known != tt.known || done.Kept != tt.kept || done.Still != tt.still || done.Gone != tt.gone {
					t.Errorf("%d kept, %d still there, %d gone, known %t; want %d, %d, %d, %t", done.Kept, done.Still, done.Gone, done.Known, tt.kept, tt.still, tt.gone, tt.known)
				}
				if again := k.testOnlyLearn(t, ann, d, tt.text); !again.Known || again.Gone != 0 {
					t.Errorf("once more: %+v", again)
				}
				if got := k.testOnlyWhole(t, ann, "rules.md"); strings.TrimSpace(got) != strings.TrimSpace(tt.text) {
					t.Errorf("the document is %q\nwant %q", got, tt.text)
				}
				checkPieces(t, k, d)
				gone := 0
				for _, id := range old {
					if n := k.testOnlyGet(t, ann, id); n.Status == memory.Superseded {
						gone++
						checkSuperseded(t, k, n, done.Document)
					}
				}
				if gone != tt.gone {
					t.Errorf("%d of the memories that were there are superseded", gone)
				}
			})
		})
	}
}

func TestTheNewestAreAmongManyFoundInABound(t *testing.T) {
	k := sqliteRig(t).open(func(c *Config) { c.Store = nil })
	at := time.Now().Add(-MaxNewest * time.Hour).UTC()
	for base := 0; base < MaxNewest+MaxRemember; base += MaxRemember {
		var some []memory.Node
		for i := range MaxRemember {
			some = append(some, memory.Node{Text: fmt.Sprintf("likes number %d", base+i), Layer: memory.Declared, Kind: memory.Preference, Trust: .8, At: at.Add(time.Duration(base+i) * time.Second)})
		}
		k.testOnlyRemember(t, ann, some...)
	}
	all, err := k.Newest(t.Context(), ann, memory.Declared, memory.Preference)
	must(t, err)
	for i, n := range all {
		if i > 0 && !n.At.Before(all[i-1].At) {
			t.Fatalf("%s is behind what was said before it", n.Text)
		}
	}
	if len(all) != MaxNewest {
		t.Errorf("%d are looked at", len(all))
	}
}

// Whatever is said, seen, asked and answered in whichever order: no declaration changes but
// by an answer or a newer word of the user's own, a pair has one open question at most,
// and two constraints that contradict each other have one, or stand by the user's word.
func TestNoOrderOfWordsAndAnswersChangesADeclarationByItself(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c, random := newClock(), rand.New(rand.NewPCG(seed, 7))
			p := &pairing{T: t, clock: c, keeper: sqliteRig(t).open(withClock(c)), random: random, set: memory.DefaultReconcile()}
			for range 40 {
				c.move(time.Minute)
				before := p.all()
				p.check(before, p.step())
			}
		})
	}
}

// All versions of a matter have the same terms, and one of them held at a moment.
func TestAsOfFindsOneVersionAmongHundreds(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const versions = 700
		now := newClock()
		k := r.open(withClock(now))
		stock := func(i int) memory.Node {
			n := memory.Node{Text: "1001 stock: some", Layer: memory.Fact, Kind: memory.FactOf, Entity: "1001", Status: memory.Superseded}
			n.Valid = memory.Span{From: now.now().Add(time.Duration(i) * time.Hour), Until: now.now().Add(time.Duration(i+1) * time.Hour)}
			return n
		}
		ids := make([]memory.ID, versions)
		must(t, k.change(t.Context(), func(ctx context.Context, tx *tx) error {
			for i := range ids {
				n := tx.fresh(ann, stock(i))
				if ids[i] = n.ID; tx.add(ctx, stored{Node: n}) != nil {
					t.Error("it is not kept")
				}
			}
			return nil
		}))
		k.testOnlySync(t)
		for _, i := range []int{0, 310, 600, 690} {
			hits, err := k.Recall(t.Context(), Query{Filter: of(ann), Text: "stock 1001", AsOf: &Moment{True: now.now().Add(time.Duration(i)*time.Hour + time.Minute)}})
			must(t, err)
			if len(hits) != 1 || hits[0].Node.ID != ids[i] {
				t.Errorf("as of version %d there are %d", i, len(hits))
			}
		}
	})
}
