package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
)

// filesWith gives the files of a folder that have a marker in them.
func filesWith(t testing.TB, folder, marker string) (files []string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(marker)) {
			files = append(files, filepath.Base(path))
		}
		return err
	}))
	return files
}

// TestAForgottenMemoryIsInNoFile keeps many memories whose pages are split and
// rewritten, forgets some and looks for their words in every file of the store.
func TestAForgottenMemoryIsInNoFile(t *testing.T) {
	const marker = "Zinfandel"
	r := sqliteRig(t)
	folder := filepath.Dir(r.dsn)
	vectors := &fakeEmbedder{}
	k := r.open(func(c *Config) { c.Embedder, c.Unjudged = vectors, true })
	reader := r.again().open() // another process has the file open
	var gone []memory.ID
	for round := range 8 {
		var nodes []memory.Node
		for i := range 50 {
			n := said(fmt.Sprintf("filler%d of round%d ", i, round) + strings.Repeat("x", 40*(i%17)))
			if i%5 == 0 {
				n = said(fmt.Sprintf("drinks %s number%d round%d ", marker, i, round) + strings.Repeat("y", 300*(i%13)))
				n.IndexText, n.Entity = n.Text, "wine"
				n.Claim = &memory.Claim{Topic: "wine", Words: []string{marker}}
			}
			nodes = append(nodes, n)
		}
		ids := k.testOnlyRemember(t, ann, nodes...)
		for i, id := range ids {
			if i%5 == 0 {
				gone = append(gone, id)
			}
			must(t, k.Pin(t.Context(), ann, id, i%2 == 0))
		}
	}
	decide(t, k, ann, marker, gone[:2])
	k.testOnlySync(t)
	if len(filesWith(t, folder, marker)) == 0 {
		t.Fatal("the words are in no file before they are forgotten: the test sees nothing")
	}
	f, err := k.Forget(t.Context(), ann, Wish{Entity: "wine"})
	must(t, err)
	if files := filesWith(t, folder, marker); len(files) != 0 || !f.Scrubbed {
		t.Errorf("the words are in %v; scrubbed %v", files, f.Scrubbed)
	}
	wantForgotten(t, k, f, gone)
	k.testOnlySync(t)
	reader.testOnlySync(t)
	for _, store := range []memory.Store{k.store, reader.store} {
		if found := finds(t, store, ann, marker); len(found) != 0 {
			t.Errorf("an index finds %d of them", len(found))
		}
	}
	if page, err := k.List(t.Context(), ann, Page{Limit: MaxPage}); err != nil || len(page) != MaxPage {
		t.Errorf("%d of the others are left, %v", len(page), err)
	}
}

func wantForgotten(t *testing.T, k *Keeper, f Forgotten, ids []memory.ID) {
	t.Helper()
	var told []memory.ID
	receipts, err := k.Receipts(t.Context(), ann, "")
	must(t, err)
	for _, r := range receipts {
		if r.Digest != digestOf(r.IDs) || r.Owner != ann || r.At.IsZero() {
			t.Errorf("receipt %+v", r)
		}
		told = append(told, r.IDs...)
	}
	slices.Sort(told)
	slices.Sort(ids)
	if !slices.Equal(told, ids) || len(f.Receipts) != len(receipts) || len(f.Sources) != len(ids) {
		t.Errorf("receipts tell of %d memories, %d sources; want %d", len(told), len(f.Sources), len(ids))
	}
	for _, table := range append(tablesOfMemory(), "memory_outbox") {
		left, err := texts[memory.ID](t.Context(), k.db.Reads, "SELECT memory_id FROM "+table)
		must(t, err)
		for _, id := range left {
			if table != "memory_outbox" && slices.Contains(ids, id) {
				t.Errorf("%s has a row of %s", table, id)
			}
		}
	}
}

// decide makes a trace that quotes memories, and has it attributed.
func decide(t testing.TB, k *Keeper, o Owner, words string, sources []memory.ID) memory.Trace {
	t.Helper()
	trace, err := k.Show(t.Context(), memory.Trace{Tenant: o.Tenant, User: o.User, Domain: "gifts", Point: "gift", Question: "which " + words, Output: "take " + words, Sources: sources})
	must(t, err)
	_, err = k.Act(t.Context(), o, trace.ID, memory.Modify, "other "+words)
	must(t, err)
	right := true
	trace, err = k.Attribute(t.Context(), o, trace.ID, nil, &right)
	must(t, err)
	return trace
}

func TestForgettingTakesWhatWasMadeOfAMemory(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		first := k.testOnlyRemember(t, ann, said("drinks red wine"))[0]
		second, err := k.Supersede(t.Context(), ann, first, said("drinks white wine"))
		must(t, err)
		habit := memory.Node{Text: "buys wine on fridays", Layer: memory.Behaviour, Kind: memory.Habit, Source: memory.Source{Derived: []memory.ID{second}}}
		made := k.testOnlyRemember(t, ann, habit)[0]
		other := k.testOnlyRemember(t, ann, said("likes trains"))[0]
		trace := decide(t, k, ann, "wine", []memory.ID{second, other})
		before, err := k.Trust(t.Context(), ann, "gifts")
		must(t, err)

		f, err := k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{second}})
		must(t, err)
		for _, id := range []memory.ID{first, second, made} {
			if !slices.Contains(f.Receipts[0].IDs, id) {
				t.Errorf("%s is not in the receipt", id)
			}
			_, err := k.Get(t.Context(), ann, id)
			wantCode(t, err, abi.NotFound)
		}
		k.testOnlyGet(t, ann, other)
		traces, err := k.Traces(t.Context(), ann, "")
		must(t, err)
		if got := traces[0]; got.ID != trace.ID || got.Question+got.Output+got.Alternative+got.Point != "" || len(got.Sources) != 0 || got.TrustDelta != trace.TrustDelta {
			t.Errorf("the trace is %+v", got)
		}
		_, err = k.ReplayTrust(t.Context(), ann)
		must(t, err)
		if after, err := k.Trust(t.Context(), ann, "gifts"); err != nil || after != before {
			t.Errorf("trust was %v and is %v, %v", before, after, err)
		}
		again, err := k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{second}})
		if err != nil || len(again.Receipts) != 0 {
			t.Errorf("forgotten again: %+v, %v", again, err)
		}
	})
}

func TestForgettingAUserLeavesReceiptsAndNothingElse(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		bob, elsewhere := Owner{"shop", "bob"}, Owner{"other", "ann"}
		for _, o := range []Owner{ann, bob, elsewhere} {
			for i := range 3 {
				k.testOnlyRemember(t, o, said(fmt.Sprintf("likes thing%d", i)))
			}
			decide(t, k, o, "thing", nil)
			contradict(t, k, o)
			k.testOnlyLearn(t, o, rules(), paragraph(1))
		}
		_, err := k.Forget(t.Context(), ann, Wish{All: true})
		must(t, err)
		for _, table := range allTables() {
			for _, o := range []Owner{ann, bob, elsewhere} {
				var n int
				_, err := row(t.Context(), r.db.Reads, "SELECT COUNT(*) FROM "+table+ofOwner, ownerArgs(o), &n)
				must(t, err)
				kept := o != ann || table == "memory_outbox" || table == "memory_receipt"
				if o == ann && !kept && n != 0 {
					t.Errorf("%s has %d rows of a forgotten user", table, n)
				}
				if o != ann && n == 0 && table != "memory_receipt" && table != "memory_unembedded" && table != "memory_vector" {
					t.Errorf("%s has no row of %v, who was not forgotten", table, o)
				}
			}
		}
	})
}

// allTables are those with an owner.
func allTables() []string {
	return append(tablesOfMemory(), "memory_outbox", "memory_trace", "memory_trust", "memory_receipt", "memory_document")
}

func TestForgetRefusesWhatIsNotClear(t *testing.T) {
	k := sqliteRig(t).open()
	for _, wish := range []Wish{{}, {All: true, Entity: "x"}, {IDs: []memory.ID{"a"}, All: true}} {
		_, err := k.Forget(t.Context(), ann, wish)
		wantCode(t, err, abi.BadValue)
	}
}

func TestAScrubThatFailedIsMadeUpFor(t *testing.T) {
	r := sqliteRig(t)
	scrub, failures := r.db.Scrub, 1
	r.db.Scrub = func(ctx context.Context) error {
		if failures--; failures >= 0 {
			return errors.New("a reader is in the way")
		}
		return scrub(ctx)
	}
	k := r.open()
	id := k.testOnlyRemember(t, ann, said("drinks Zinfandel"))[0]
	f, err := k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{id}})
	if err == nil || f.Scrubbed || len(f.Receipts) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	must(t, k.scrubLeft(t.Context())) // as it is done from time to time
	if files := filesWith(t, filepath.Dir(r.dsn), "Zinfandel"); len(files) != 0 {
		t.Errorf("the words are in %v", files)
	}
	must(t, k.scrubLeft(t.Context()))
	if failures != -1 {
		t.Errorf("it was scrubbed %d times", 1-failures)
	}
}

// However many ids there are, the files are scrubbed once, behind the last of them: where
// that fails, all are gone.
func TestManyAreForgottenWithOneScrub(t *testing.T) {
	r, scrubs := sqliteRig(t), 0
	r.db.Scrub = func(context.Context) error { scrubs++; return errors.New("a reader is in the way") }
	k := r.open(func(c *Config) { c.Store = nil })
	var nodes []memory.Node
	for i := range 2*maxForget + 1 {
		nodes = append(nodes, said(fmt.Sprintf("drinks wine number%d", i)))
	}
	var ids []memory.ID
	for some := range slices.Chunk(nodes, MaxRemember) {
		ids = append(ids, k.testOnlyRemember(t, ann, some...)...)
	}
	f, err := k.Forget(t.Context(), ann, Wish{IDs: ids})
	if err == nil || f.Scrubbed || scrubs != 1 {
		t.Errorf("scrubbed %d times: %v, %v", scrubs, f.Scrubbed, err)
	}
	gone := 0
	for _, r := range f.Receipts {
		gone += len(r.IDs)
	}
	left, err := k.List(t.Context(), ann, Page{})
	must(t, err)
	if gone != len(ids) || len(left) != 0 {
		t.Errorf("%d of %d are gone, %d are left", gone, len(ids), len(left))
	}
}

// The words of a session that is silenced leave the files, as forgotten ones do; where
// nothing was silenced, nobody waits for that.
func TestASilencedSessionIsScrubbed(t *testing.T) {
	r := sqliteRig(t)
	scrub, scrubs := r.db.Scrub, 0
	r.db.Scrub = func(ctx context.Context) error { scrubs++; return scrub(ctx) }
	k := r.open(func(c *Config) { c.Store = nil })
	_, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "d", Session: "s1", Question: "which zinfandel"})
	must(t, err)
	must(t, k.Silence(t.Context(), ann, "s2"))
	if scrubs != 0 {
		t.Error("files are scrubbed where nothing was silenced")
	}
	for range 2 {
		must(t, k.Silence(t.Context(), ann, "s1"))
	}
	files := filesWith(t, filepath.Dir(r.dsn), "zinfandel")
	if scrubs != 1 || len(files) != 0 {
		t.Errorf("scrubbed %d times; the words are in %v", scrubs, files)
	}
}
