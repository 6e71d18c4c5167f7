package keeper

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
)

func TestEveryChangeIsReversible(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		for name, change := range map[string]func(k *Keeper, id memory.ID) error{
			"archived": func(k *Keeper, id memory.ID) error {
				_, err := k.Archive(t.Context(), ann, []memory.ID{id}, "score")
				return err
			},
			"falsified": func(k *Keeper, id memory.ID) error { return k.Falsify(t.Context(), ann, id, "trace") },
			"superseded": func(k *Keeper, id memory.ID) error {
				_, err := k.Supersede(t.Context(), ann, id, said("something else entirely"))
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				k := r.open()
				n := said("memory that was " + name)
				n.Valid.Until = k.now().Add(24 * time.Hour).UTC().Truncate(time.Microsecond)
				id := k.testOnlyRemember(t, ann, n)[0]
				before := k.testOnlyGet(t, ann, id)
				must(t, change(k, id))
				if got := k.testOnlyGet(t, ann, id); string(got.Status) != name {
					t.Errorf("it is %s", got.Status)
				}
				restored, err := k.Restore(t.Context(), ann, []memory.ID{id, "unknown"})
				if err != nil || !slices.Equal(restored, []memory.ID{id}) {
					t.Errorf("restored %v, %v", restored, err)
				}
				if got := recall(t, k, Query{Filter: of(ann), Text: "memory that was " + name, Limit: 1}); len(got) != 1 || got[0] != before.Text {
					t.Errorf("after it was restored it recalls %v", got)
				}
				after := k.testOnlyGet(t, ann, id)
				after.Recalls, after.LastUsed = 0, time.Time{}
				if fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("it became %+v, was %+v", after, before)
				}
			})
		}
	})
}

// What was superseded may be shown to be wrong later on; to restore it takes back both.
func TestWhatWasSupersededAndThenFalsifiedIsRestoredWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		c := newClock()
		k := r.open(withClock(c))
		id := k.testOnlyRemember(t, ann, said("likes green tea"))[0]
		before := k.testOnlyGet(t, ann, id)
		c.move(time.Hour)
		_, err := k.Supersede(t.Context(), ann, id, said("likes coffee"))
		must(t, err)
		ended := c.move(time.Hour)
		must(t, k.Falsify(t.Context(), ann, id, ""))
		wrong := c.move(time.Hour)
		_, err = k.Restore(t.Context(), ann, []memory.ID{id})
		must(t, err)
		c.move(time.Hour)
		if after := k.testOnlyGet(t, ann, id); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("it became %+v, was %+v", after, before)
		}
		if got := recall(t, k, Query{Filter: of(ann), Text: "green tea", Quiet: true}); len(got) != 1 {
			t.Errorf("it recalls %v", got)
		}
		for _, known := range []time.Time{ended.Add(-time.Minute), wrong.Add(-time.Minute)} { // what was thought meanwhile stays known
			if got := recall(t, k, Query{Filter: of(ann), Text: "green tea", Quiet: true, AsOf: &Moment{Known: known}}); len(got) != 0 {
				t.Errorf("as was known at %v it recalls %v", known, got)
			}
		}
	})
}

// Whoever restores does not wait for all questions to be read.
func TestOnlyAnArchivingLooksForQuestions(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		said := &recorder{told: map[string]bool{}}
		r.db = said.around(r.db)
		k := r.open()
		id := contradict(t, k, ann)
		for _, tt := range []struct {
			change func() ([]memory.ID, error)
			looks  bool
		}{
			{func() ([]memory.ID, error) { return k.Restore(t.Context(), ann, []memory.ID{id}) }, false},
			{func() ([]memory.ID, error) { return k.Archive(t.Context(), ann, []memory.ID{id}, "") }, true},
		} {
			said.forget(openOfOwner)
			changed, err := tt.change()
			if must(t, err); len(changed) != 0 || said.said(openOfOwner) != tt.looks {
				t.Errorf("it changed %v; it looked for questions: %t, want %t", changed, said.said(openOfOwner), tt.looks)
			}
		}
	})
}

func TestAJobArchivesNeitherConstraintsNorPinnedMemories(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		rule := said("never promise a cure")
		rule.Kind = memory.Constraint
		ids := k.testOnlyRemember(t, ann, rule, said("likes tea"), said("likes trains"))
		must(t, k.Pin(t.Context(), ann, ids[1], true))
		archived, err := k.Archive(t.Context(), ann, ids, "age")
		if err != nil || !slices.Equal(archived, ids[2:]) {
			t.Errorf("archived %v, %v", archived, err)
		}
		must(t, k.Pin(t.Context(), ann, ids[1], false))
		if archived, err = k.Archive(t.Context(), ann, ids, "age"); err != nil || !slices.Equal(archived, ids[1:2]) {
			t.Errorf("after it was unpinned: archived %v, %v", archived, err)
		}
	})
}

func TestTheJobArchivesWhatIsWorthLittleAndSaysWhy(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock()
		k := r.open(withClock(now))
		price, rule, pinned := said("price is 99"), said("never promise a cure"), said("price is 89 on mondays")
		price.Freshness, rule.Freshness, pinned.Freshness = memory.Fast, memory.Fast, memory.Fast
		rule.Kind = memory.Constraint
		ids := k.testOnlyRemember(t, ann, price, rule, pinned, said("likes tea"))
		must(t, k.Pin(t.Context(), ann, ids[2], true))
		now.move(90 * 24 * time.Hour)
		faded, err := k.Tidy(t.Context(), ann, memory.DefaultForget(), "en")
		if err != nil || len(faded) != 1 || faded[0].ID != ids[0] || faded[0].Fate.Reason != memory.FateAge || faded[0].Fate.Why == "" {
			t.Fatalf("%+v, %v", faded, err)
		}
		if again, err := k.Tidy(t.Context(), ann, memory.DefaultForget(), "en"); err != nil || len(again) != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
		life, err := k.Why(t.Context(), ann, ids[0], memory.DefaultForget(), "en")
		must(t, err)
		if last := life.Events[len(life.Events)-1]; last.What != Archived || last.Cause != memory.FateAge {
			t.Errorf("the last event is %+v", last)
		}
	})
}

func TestWhatWasArchivedLongAgoIsPurgedAndNothingElse(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		now := newClock()
		k := r.open(withClock(now))
		ids := k.testOnlyRemember(t, ann, said("archived long ago"), said("archived lately"), said("came back"), said("never archived"))
		habit := memory.Node{Text: "made of the first", Layer: memory.Behaviour, Kind: memory.Habit, Source: memory.Source{Derived: ids[:1]}}
		made := k.testOnlyRemember(t, ann, habit)[0]
		_, err := k.Archive(t.Context(), ann, []memory.ID{ids[0], ids[2]}, "age")
		must(t, err)
		now.move(48 * time.Hour)
		_, err = k.Restore(t.Context(), ann, ids[2:3])
		must(t, err)
		_, err = k.Archive(t.Context(), ann, ids[1:2], "age")
		must(t, err)
		receipts, err := k.Purge(t.Context(), ann, 24*time.Hour)
		if err != nil || len(receipts) != 1 || !slices.Equal(receipts[0].IDs, ids[:1]) {
			t.Fatalf("%+v, %v", receipts, err)
		}
		_, err = k.Get(t.Context(), ann, ids[0])
		wantCode(t, err, abi.NotFound)
		for _, id := range append(ids[1:], made) {
			k.testOnlyGet(t, ann, id)
		}
		k.testOnlySync(t)
		all := memory.Filter{Tenant: ann.Tenant, Statuses: []memory.Status{memory.Archived}}
		if hits, err := k.Recall(t.Context(), Query{Filter: all, AllUsers: true, Text: "archived"}); err != nil || len(hits) != 1 || hits[0].Node.ID != ids[1] {
			t.Errorf("the archive has %+v, %v", hits, err)
		}
		if again, err := k.Purge(t.Context(), ann, 24*time.Hour); err != nil || len(again) != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
		_, err = k.Purge(t.Context(), ann, -1)
		wantCode(t, err, abi.BadValue)
	})
}

func TestASupersededMemoryLeavesNothingToAsk(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		for name, change := range map[string]func(k *Keeper, o Owner, id memory.ID) error{
			"updated": func(k *Keeper, o Owner, id memory.ID) error {
				_, err := k.Supersede(t.Context(), o, id, said("open with 30 minutes"))
				return err
			},
			"retired": func(k *Keeper, o Owner, id memory.ID) error { return k.Falsify(t.Context(), o, id, "") },
		} {
			k, o := r.open(), Owner{"shop", host.UserID(name)}
			must(t, change(k, o, contradict(t, k, o)))
			waiting, err := k.Waiting(t.Context(), o)
			if err != nil || len(waiting) > 0 {
				t.Errorf("%s: it still asks, %v", name, err)
			}
			gaps, err := k.Gaps(t.Context(), o)
			must(t, err)
			for _, g := range gaps {
				if g.Closed != name {
					t.Errorf("%s: gap closed by %q", name, g.Closed)
				}
			}
		}
	})
}

func TestChangesOfWhatIsNotThereOrTooMuchAreRefused(t *testing.T) {
	k := sqliteRig(t).open()
	id := k.testOnlyRemember(t, ann, said("x"))[0]
	wantCode(t, k.Pin(t.Context(), ann, "unknown", true), abi.NotFound)
	wantCode(t, k.Falsify(t.Context(), ann, "unknown", ""), abi.NotFound)
	_, err := k.Archive(t.Context(), ann, make([]memory.ID, MaxChange+1), "")
	wantCode(t, err, abi.BadValue)
	wantCode(t, k.Falsify(t.Context(), ann, id, strings.Repeat("x", host.MaxIDBytes+1)), abi.BadValue)
	_, err = k.Supersede(t.Context(), ann, id, memory.Node{})
	wantCode(t, err, abi.BadValue)
	_, err = k.Supersede(t.Context(), ann, id, said("y"))
	must(t, err)
	_, err = k.Supersede(t.Context(), ann, id, said("z"))
	wantCode(t, err, abi.BadValue)
}

func TestWhyTellsTheWholeLife(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		id := contradict(t, k, ann)
		again := said("open with 10 minutes of talk")
		claim := memory.Between("opening.minutes", 10, 10, "min")
		again.Claim, again.Domain, again.Trust, again.Source = &claim, "pacing", 0.8, memory.Source{Session: "s9", Input: "i9"}
		if got := k.testOnlyRemember(t, ann, again)[0]; got != id {
			t.Fatal("saying it again made another memory")
		}
		must(t, k.Pin(t.Context(), ann, id, true))
		decide(t, k, ann, "opening", []memory.ID{id})
		habit := memory.Node{Text: "opens late", Layer: memory.Behaviour, Kind: memory.Habit, Source: memory.Source{Derived: []memory.ID{id}}}
		made := k.testOnlyRemember(t, ann, habit)[0]
		life, err := k.Why(t.Context(), ann, id, memory.DefaultForget(), "en")
		must(t, err)
		var events []string
		for _, e := range life.Events {
			events = append(events, e.What)
		}
		if !slices.Equal(events, []string{Remembered, Verified, Pinned}) {
			t.Errorf("events %v", events)
		}
		if len(life.Gaps) != 3 || len(life.Questions) != 1 || len(life.Traces) != 1 || !slices.Equal(life.Derived, []memory.ID{made}) {
			t.Errorf("%d gaps, %d questions, %d traces, derived %v", len(life.Gaps), len(life.Questions), len(life.Traces), life.Derived)
		}
		if life.Fate.Archive || life.Fate.Reason != memory.FatePinned || len(life.Fate.Worth.Factors) != 4 || life.Node.Trust != 0.8 {
			t.Errorf("fate %+v, trust %v", life.Fate, life.Node.Trust)
		}
		evidence, err := k.Why(t.Context(), ann, life.Gaps[0].Evidence[0], memory.DefaultForget(), "en")
		if err != nil || !slices.Equal(evidence.Evidence, []string{life.Gaps[0].ID}) {
			t.Errorf("the evidence is evidence of %v, %v", evidence.Evidence, err)
		}
	})
}

func TestListGoesThroughAllInPages(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		var nodes []memory.Node
		for i := range 30 {
			n := said(fmt.Sprintf("memory%d", i))
			if n.Entity = "a"; i%3 == 0 {
				n.Entity, n.Kind, n.Layer = "b", memory.FactOf, memory.Fact
			}
			nodes = append(nodes, n)
		}
		k.testOnlyRemember(t, ann, nodes...)
		all := 0
		for p := (Page{Limit: 7}); ; {
			page, err := k.List(t.Context(), ann, p)
			must(t, err)
			if all += len(page); len(page) < p.Limit {
				break
			}
			p.After = page[len(page)-1].ID
		}
		if all != 30 {
			t.Errorf("pages have %d memories", all)
		}
		for name, p := range map[string]Page{
			"entity": {Entity: "b"}, "kind": {Kinds: []memory.Kind{memory.FactOf}}, "layer": {Layers: []memory.Layer{memory.Fact}},
		} {
			if page, err := k.List(t.Context(), ann, p); err != nil || len(page) != 10 {
				t.Errorf("%s: %d memories, %v", name, len(page), err)
			}
		}
		if page, err := k.List(t.Context(), ann, Page{Statuses: []memory.Status{memory.Archived}}); err != nil || len(page) != 0 {
			t.Errorf("archived: %d memories, %v", len(page), err)
		}
	})
}

func TestOwnersAreAllThatHaveMemories(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		want := []Owner{{"a", "1"}, {"a", "2"}, {"b", "1"}}
		for _, o := range want {
			k.testOnlyRemember(t, o, said("x"), said("y"))
		}
		got, err := k.Owners(t.Context(), Owner{})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
		if got, err = k.Owners(t.Context(), want[0]); err != nil || !slices.Equal(got, want[1:]) {
			t.Errorf("after the first: %v, %v", got, err)
		}
	})
}

func TestWhatWasExportedIsImportedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		first := k.testOnlyRemember(t, ann, said("likes red <wine> & tea"))[0]
		second, err := k.Supersede(t.Context(), ann, first, said("likes white wine"))
		must(t, err)
		var file strings.Builder
		n, err := k.Export(t.Context(), ann, &file, nil)
		if err != nil || n != 2 || strings.Count(file.String(), "\n") != 2 || !strings.Contains(file.String(), "<wine> &") {
			t.Fatalf("exported %d, %v:\n%s", n, err, file.String())
		}
		bob := Owner{"shop", "bob"}
		for _, tt := range []struct {
			owner Owner
			want  Imported
		}{
			{ann, Imported{Lines: 2, Known: 2}},
			{bob, Imported{Lines: 2, Kept: 2}},
			{bob, Imported{Lines: 2, Known: 2}},
		} {
			if got, err := k.Import(t.Context(), tt.owner, strings.NewReader(file.String()), memory.DefaultReconcile(), memory.LastWins); err != nil || got != tt.want {
				t.Errorf("%v: %+v, %v; want %+v", tt.owner, got, err, tt.want)
			}
		}
		page, err := k.List(t.Context(), bob, Page{})
		must(t, err)
		if len(page) != 2 || page[0].ID == first || page[1].ID == second || page[0].User != "bob" {
			t.Fatalf("bob has %+v", page)
		}
		at := map[memory.ID]memory.Node{page[0].ID: page[0], page[1].ID: page[1]}
		for _, n := range page {
			if n.Status == memory.Superseded && at[n.SupersededBy].Text != "likes white wine" {
				t.Errorf("the old one leads to %q", n.SupersededBy)
			}
		}
		if got := recall(t, k, Query{Filter: of(ann), Text: "wine"}); !slices.Equal(got, []string{"likes white wine"}) {
			t.Errorf("ann recalls %v", got)
		}
	})
}

// What was known between two changes of mind stays what it was, here and in a copy.
func TestWhatWasThoughtBeforeIsNeitherRewrittenNorLostInACopy(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		const day = 24 * time.Hour
		now := newClock()
		k, start, bob := r.open(withClock(now)), now.now(), Owner{"shop", "bob"}
		ids := k.testOnlyRemember(t, ann, said("tea is wrong"), said("tea is replaced"), said("tea went"))
		now.move(day) // 1
		must(t, k.Falsify(t.Context(), ann, ids[0], ""))
		for _, id := range ids[1:] {
			_, err := k.Supersede(t.Context(), ann, id, said("coffee in place of "+string(id)))
			must(t, err)
		}
		now.move(day) // 2
		_, err := k.Restore(t.Context(), ann, ids[:2])
		must(t, err)
		now.move(day) // 3
		var file strings.Builder
		_, err = k.Export(t.Context(), ann, &file, nil)
		must(t, err)
		_, err = k.Import(t.Context(), bob, strings.NewReader(file.String()), memory.DefaultReconcile(), memory.LastWins)
		must(t, err)
		known := func(hours int) *Moment {
			return &Moment{True: start.Add(3 * day), Known: start.Add(time.Duration(hours) * time.Hour)}
		}
		for _, o := range []Owner{ann, bob} {
			for _, tt := range []struct {
				asOf *Moment
				want []string
			}{
				{known(12), []string{"tea is replaced", "tea is wrong", "tea went"}},
				{known(36), nil},
				{known(60), []string{"tea is replaced", "tea is wrong"}},
				{&Moment{True: start.Add(time.Hour), Known: start.Add(36 * time.Hour)}, []string{"tea is replaced", "tea went"}},
			} {
				got := recall(t, k, Query{Filter: of(o), Text: "tea", AsOf: tt.asOf})
				if slices.Sort(got); !slices.Equal(got, tt.want) {
					t.Errorf("%s as of %v: %q, want %q", o.User, *tt.asOf, got, tt.want)
				}
			}
		}
	})
}

func TestAMaskedExportHasNoText(t *testing.T) {
	k := sqliteRig(t).open()
	n := said("secret text")
	n.IndexText, n.Entity, n.Source.Speaker, n.Claim = "secret index", "secret entity", "secret speaker", &memory.Claim{Topic: "secret topic", Words: []string{"secret word"}, Low: new(4711.5), High: new(4711.5), Unit: "secret unit"}
	n.Domain, n.Source.Document, n.Source.Device = "secret domain", "/home/secret/plan.md", "secret phone"
	k.testOnlyRemember(t, ann, n)
	var file strings.Builder
	_, err := k.Export(t.Context(), ann, &file, func(text string) string { return strings.ReplaceAll(text, "secret", "***") })
	if err != nil || strings.Contains(file.String(), "secret") || strings.Contains(file.String(), "4711") || !strings.Contains(file.String(), "*** text") {
		t.Errorf("%v:\n%s", err, file.String())
	}
}

// What a memory superseded goes with it, also where both came as a copy.
func TestOfAnImportWhatWasSupersededIsForgottenToo(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k, bob := r.open(), Owner{"shop", "bob"}
		old := k.testOnlyRemember(t, ann, said("lives in the old street"))[0]
		_, err := k.Supersede(t.Context(), ann, old, said("lives in the new street"))
		must(t, err)
		var file strings.Builder
		_, err = k.Export(t.Context(), ann, &file, nil)
		must(t, err)
		_, err = k.Import(t.Context(), bob, strings.NewReader(file.String()), memory.DefaultReconcile(), memory.LastWins)
		must(t, err)
		counts, err := k.List(t.Context(), bob, Page{Statuses: []memory.Status{memory.Active}})
		must(t, err)
		if len(counts) != 1 || counts[0].Text != "lives in the new street" {
			t.Fatalf("%+v count", counts)
		}
		_, err = k.Forget(t.Context(), bob, Wish{IDs: []memory.ID{counts[0].ID}})
		must(t, err)
		if left, err := k.List(t.Context(), bob, Page{}); err != nil || len(left) != 0 {
			t.Errorf("left is %+v, %v", left, err)
		}
	})
}

func TestAnImportStopsAtALineThatCannotBeKept(t *testing.T) {
	fine, _ := json.Marshal(said("fine"))
	for name, line := range map[string]string{
		"no JSON": "{", "no memory": `{"layer":1}`, "another form": `{"text":1}`, "too long": `{"text":"` + strings.Repeat("x", MaxLineBytes) + `"}`, "a long text": `{"layer":1,"kind":"fact","text":"` + strings.Repeat("x", memory.MaxTextBytes+1) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			k := sqliteRig(t).open()
			done, err := k.Import(t.Context(), ann, strings.NewReader(string(fine)+"\n\n"+line+"\n"+string(fine)), memory.DefaultReconcile(), memory.LastWins)
			problem := wantCode(t, err, abi.BadValue)
			if done != (Imported{Lines: 2, Kept: 1}) || !strings.Contains(problem.Message, "line 3") {
				t.Errorf("%+v, %q", done, problem.Message)
			}
		})
	}
}

func FuzzParseLine(f *testing.F) {
	fine, _ := json.Marshal(said("fine"))
	f.Add(string(fine))
	f.Add(" ")
	f.Add(`{"text":"x","layer":3,"kind":"habit","claim":{"topic":"t","low":1e999}}`)
	f.Fuzz(func(t *testing.T, line string) {
		n, ok, err := parseLine([]byte(line))
		if ok && err == nil && (n.Text == "" || n.Kind == "" || n.Layer < 1 || n.Layer > 3) {
			t.Errorf("took %+v", n)
		}
	})
}

func TestManyOpensOfOneNewDatabaseAgree(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		rigs := []rig{r, r.again(), r.again()}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				k, err := Open(context.Background(), Config{DB: rigs[i%3].db})
				if err != nil {
					t.Error(err)
					return
				}
				if err := k.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var versions, heads int
		_, err := row(t.Context(), r.db.Reads, "SELECT COUNT(*) FROM memory_schema", nil, &versions)
		must(t, err)
		_, err = row(t.Context(), r.db.Reads, "SELECT COUNT(*) FROM memory_head", nil, &heads)
		must(t, err)
		files, err := fs.Glob(migrationFiles, "migrations/*.sql")
		must(t, err)
		if versions != len(files) || heads != 1 {
			t.Errorf("%d versions, %d heads", versions, heads)
		}
	})
}

func TestTablesOfANewerSluiceAreRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		must(t, k.db.Write(t.Context(), func(ctx context.Context, on host.Statements) error {
			_, err := exec(ctx, on, "INSERT INTO memory_schema (version, applied_at) VALUES (99, 0)")
			return err
		}))
		_, err := r.tryOpen()
		if problem := wantCode(t, err, abi.StoreFailure); problem.Hint == "" {
			t.Error("it does not say what to do")
		}
	})
}

func TestOpenNeedsADatabase(t *testing.T) {
	_, err := Open(t.Context(), Config{})
	wantCode(t, err, abi.BadValue)
}

func TestAClosedKeeperSaysSoAndClosesOnce(t *testing.T) {
	k := sqliteRig(t).open()
	must(t, k.Close())
	must(t, k.Close())
	k.testOnlyRemember(t, ann, said("the truth is still there")) // its index is not
	wantCode(t, k.Sync(t.Context()), abi.StoreFailure)
}

// A patient store puts nothing in until whoever waits for that gives up.
type patient struct {
	memory.Store
	begun chan struct{}
}

func (s *patient) Put(ctx context.Context, entries []memory.Entry) error {
	if len(entries) == 0 {
		return s.Store.Put(ctx, entries)
	}
	close(s.begun)
	<-ctx.Done()
	return ctx.Err()
}

func TestWhatCloseBreaksOffIsNoFailureOfTheIndex(t *testing.T) {
	store := &patient{Store: index.New(), begun: make(chan struct{})}
	k := sqliteRig(t).open(func(c *Config) { c.Store = store })
	k.testOnlyRemember(t, ann, said("prefers jasmine tea"))
	<-store.begun
	must(t, k.Close())
	wantCode(t, k.Sync(t.Context()), abi.StoreFailure) // and not Cancelled
	if err := k.lastFailure(); err != nil {
		t.Errorf("the index is said to have failed: %v", err)
	}
}
