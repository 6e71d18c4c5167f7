package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	cut "github.com/sluicehq/sluice/memory/documents"
)

// rules describes the document of the tests.
func rules() cut.Document {
	return cut.Document{ID: "rules.md", Title: "Rules of the shop", Form: cut.Markdown}
}

func (k *Keeper) testOnlyLearn(t testing.TB, o Owner, d cut.Document, text string) Learned {
	t.Helper()
	done, err := k.Learn(t.Context(), o, d, strings.NewReader(text), nil)
	must(t, err)
	return done
}

// paragraph gives one that is a piece of its own.
func paragraph(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < 380; i++ {
		fmt.Fprintf(&b, "para%d word%d ", n, i)
	}
	return b.String() + "end.\n\n"
}

func paragraphs(numbers ...int) (text string) {
	for _, n := range numbers {
		text += paragraph(n)
	}
	return text
}

// pieces gives the memories of a document that count, in the order of their places.
func (k *Keeper) testOnlyPieces(t testing.TB, o Owner, document string) (ids []memory.ID) {
	t.Helper()
	places, err := scanPlaces(t.Context(), k.db.Reads, placesNear+" ORDER BY p.piece_no", append(documentArgs(o, document), 1, 1<<40)...)
	must(t, err)
	for _, p := range places {
		if k.testOnlyGet(t, o, p.Memory).Status == memory.Active {
			ids = append(ids, p.Memory)
		}
	}
	return ids
}

// active gives the texts of an owner's memories that count.
func (k *Keeper) testOnlyActive(t testing.TB, o Owner) map[memory.ID]string {
	t.Helper()
	all := map[memory.ID]string{}
	for p, more := (Page{Statuses: []memory.Status{memory.Active}}), true; more; {
		list, err := k.List(t.Context(), o, p)
		must(t, err)
		for _, n := range list {
			all[n.ID], p.After = n.Text, n.ID
		}
		more = len(list) == MaxPage
	}
	return all
}

// whole puts a document together from the surroundings of its pieces.
func (k *Keeper) testOnlyWhole(t testing.TB, o Owner, document string) string {
	t.Helper()
	var text strings.Builder
	ids := slices.Compact(k.testOnlyPieces(t, o, document))
	for len(ids) > 0 { // those of a part, some at once, are one passage
		places, err := k.Places(t.Context(), o, ids[:min(len(ids), 30)])
		must(t, err)
		n := 1
		for n < min(len(ids), 30) && places[ids[n]].Part == places[ids[0]].Part {
			n++
		}
		all, err := k.Around(t.Context(), o, ids[:n], Room{Bytes: 1 << 20, Pieces: n})
		must(t, err)
		text.WriteString(all[0].Text)
		ids = ids[n:]
	}
	return text.String()
}

// checkPieces holds the active memories of ann against the places of the document: each has
// one, and stands under the document's title.
func checkPieces(t *testing.T, k *Keeper, d cut.Document) {
	t.Helper()
	placed := k.testOnlyPieces(t, ann, d.ID)
	active := k.testOnlyActive(t, ann)
	for id := range active {
		n := k.testOnlyGet(t, ann, id)
		if !slices.Contains(placed, id) || !strings.HasPrefix(n.IndexText, d.Title) || n.Source.Document != d.ID {
			t.Errorf("%s counts, and is %+v", id, n)
		}
	}
	slices.Sort(placed)
	if got := len(slices.Compact(placed)); got != len(active) {
		t.Errorf("%d memories have a place, %d count", got, len(active))
	}
}

// checkSuperseded wants the reason with what is gone, and that it comes back.
func checkSuperseded(t *testing.T, k *Keeper, n memory.Node, by Document) {
	t.Helper()
	life, err := k.Why(t.Context(), ann, n.ID, memory.DefaultForget(), "en")
	must(t, err)
	if last := life.Events[len(life.Events)-1]; last.What != Superseded || last.Cause != by.Digest {
		t.Errorf("it ended with %+v", last)
	}
	back, err := k.Restore(t.Context(), ann, []memory.ID{n.ID})
	if err != nil || len(back) != 1 || !k.testOnlyGet(t, ann, n.ID).Valid.Until.IsZero() {
		t.Errorf("restored %v, %v", back, err)
	}
}

// What stays is found by the new title.
func TestWhatADocumentSaysNoMoreIsNotRecalled(t *testing.T) {
	k := sqliteRig(t).open()
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
	d := rules()
	d.Title = "Zinfandel"
	k.testOnlyLearn(t, ann, d, paragraphs(1, 2))
	k.testOnlySync(t)
	if hits := recall(t, k, Query{Filter: of(ann), Text: "para3"}); len(hits) != 0 {
		t.Errorf("found %+v", hits)
	}
	if hits := recall(t, k, Query{Filter: of(ann), Text: "Zinfandel"}); len(hits) != 2 {
		t.Errorf("%d are found by the new title", len(hits))
	}
	if hits := recall(t, k, Query{Filter: of(ann), Text: "shop"}); len(hits) != 0 {
		t.Errorf("%d are found by the old title", len(hits))
	}
}

func TestWhatSomebodySaidOfAPieceStaysWhenTheDocumentChanges(t *testing.T) {
	k := sqliteRig(t).open()
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
	ids := k.testOnlyPieces(t, ann, "rules.md")
	must(t, k.Falsify(t.Context(), ann, ids[0], ""))
	_, err := k.Archive(t.Context(), ann, ids[1:2], "age")
	must(t, err)
	must(t, k.Pin(t.Context(), ann, ids[2], true))
	done := k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3, 4))
	if done.Kept != 1 || done.Still != 3 || done.Gone != 0 {
		t.Errorf("%+v", done)
	}
	a, b, c := k.testOnlyGet(t, ann, ids[0]), k.testOnlyGet(t, ann, ids[1]), k.testOnlyGet(t, ann, ids[2])
	if a.Status != memory.Falsified || b.Status != memory.Active || !c.Pinned {
		t.Errorf("they are %s, %s, pinned %t", a.Status, b.Status, c.Pinned)
	}
}

// A file that is imported again is there again, whatever became of it meanwhile.
func TestADocumentThatFadedIsLearnedAgain(t *testing.T) {
	for name, purged := range map[string]bool{"archived": false, "purged": true} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, r rig) {
				c := newClock()
				k := r.open(withClock(c))
				k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
				c.move(memory.DefaultForget().MaxAge[memory.Slow] + time.Hour)
				faded, err := k.Tidy(t.Context(), ann, memory.DefaultForget(), "en")
				if must(t, err); len(faded) != 3 {
					t.Fatalf("%d pieces faded", len(faded))
				}
				kept, still := 0, 3
				if purged {
					_, err := k.Restore(t.Context(), ann, []memory.ID{faded[0].ID})
					must(t, err)
					c.move(time.Hour)
					_, err = k.Purge(t.Context(), ann, 0)
					must(t, err)
					kept, still = 2, 1
				}
				c.move(time.Hour)
				if done := k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3)); done.Known || done.Kept != kept || done.Still != still {
					t.Errorf("%+v; want %d kept", done, kept)
				}
				checkPieces(t, k, rules())
				if whole := k.testOnlyWhole(t, ann, "rules.md"); whole != paragraphs(1, 2, 3) {
					t.Errorf("the document is %q", whole)
				}
				if again := k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3)); !again.Known {
					t.Errorf("once more: %+v", again)
				}
				if purged {
					return // the one that was restored is as old as it was
				}
				if faded, err = k.Tidy(t.Context(), ann, memory.DefaultForget(), "en"); err != nil || len(faded) != 0 {
					t.Errorf("the next job archived %+v, %v", faded, err)
				}
			})
		})
	}
}

// Who had a piece forgotten does not get it back with the same file.
func TestADocumentIsKnownWhenAPieceOfItIsForgotten(t *testing.T) {
	k := sqliteRig(t).open()
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
	_, err := k.Forget(t.Context(), ann, Wish{IDs: k.testOnlyPieces(t, ann, "rules.md")[1:2]})
	must(t, err)
	if again := k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3)); !again.Known {
		t.Errorf("%+v", again)
	}
}

func TestADocumentIsLearnedAgainAfterAForgettingThatWasBrokenOff(t *testing.T) {
	for broken := 1; ; broken++ {
		r, power := sqliteRig(t), &fuse{}
		r.db = power.over(r.db)
		k := r.open()
		k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
		power.light(broken, true)
		_, err := k.Forget(t.Context(), ann, Wish{All: true})
		power.putOut()
		if err == nil {
			break
		}
		k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
		if whole := k.testOnlyWhole(t, ann, "rules.md"); whole != paragraphs(1, 2, 3) {
			t.Errorf("after transaction %d the document is %q", broken, whole)
		}
	}
}

func TestMemoriesOfAnExportBecomeTheDocuments(t *testing.T) {
	k := sqliteRig(t).open()
	bob := Owner{"shop", "bob"}
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
	var file strings.Builder
	_, err := k.Export(t.Context(), ann, &file, nil)
	must(t, err)
	_, err = k.Import(t.Context(), bob, strings.NewReader(file.String()), memory.DefaultReconcile(), memory.LastWins)
	must(t, err)
	if _, err := k.Document(t.Context(), bob, "rules.md"); host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("bob's document: %v", err)
	}
	if done := k.testOnlyLearn(t, bob, rules(), paragraphs(1, 2, 3)); done.Kept != 0 || done.Still != 3 {
		t.Errorf("%+v", done)
	}
	if n := len(k.testOnlyActive(t, bob)); n != 3 {
		t.Errorf("bob has %d memories", n)
	}
}

// Whoever imports one more document does not read all that there is.
func TestAnImportReadsNoOtherPieceAndNoPrice(t *testing.T) {
	r, times := sqliteRig(t), 0
	list, _ := inList([]memory.ID{""})
	r.db.Reads = asked{r.db.Reads, nodeColumns + ofOwner + " AND memory_id IN " + list, &times}
	k := r.open(func(c *Config) { c.Store = nil })
	k.testOnlyLearn(t, ann, cut.Document{ID: "other.md", Form: cut.Markdown}, paragraphs(1, 2, 3))
	k.testOnlyRemember(t, ann, priced("1001", 80, k.now()), said("drinks wine"))
	times = 0
	if done := k.testOnlyLearn(t, ann, rules(), paragraphs(4, 5)); done.Kept != 2 || times != 0 {
		t.Errorf("%d kept; memories are read %d times", done.Kept, times)
	}
}

var errFault = errors.New("the power is out")

// A fuse breaks a database that it was put over, for all who have it: from the n-th
// transaction after it was lit they fail, the first of them before it runs, or after it
// was committed and nobody learnt so.
type fuse struct {
	mu    sync.Mutex
	left  int // 0 for a fuse that is out
	after bool
}

func (f *fuse) light(n int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after = n, after
}

func (f *fuse) putOut() { f.light(0, false) }

// burn tells whether a transaction fails, and whether it runs all the same.
func (f *fuse) burn() (fails, runs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.left {
	case 0:
		return false, true
	case 1:
		runs, f.after = f.after, false
		return true, runs
	}
	f.left--
	return false, true
}

func (f *fuse) over(db host.Database) host.Database {
	write := db.Write
	db.Write = func(ctx context.Context, run func(ctx context.Context, on host.Statements) error) error {
		fails, runs := f.burn()
		if runs {
			if err := write(ctx, run); err != nil {
				return err
			}
		}
		if fails {
			return errFault
		}
		return nil
	}
	return db
}

func TestAnImportOfAnotherTextAfterOneThatWasBrokenOffLeavesNothingOfIt(t *testing.T) {
	r, power := sqliteRig(t), &fuse{}
	r.db = power.over(r.db)
	k := r.open()
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
	power.light(3, true) // completed in all but name
	if _, err := k.Learn(t.Context(), ann, rules(), strings.NewReader(paragraphs(1, 7, 8)), nil); err == nil {
		t.Fatal("it was not broken off")
	}
	power.light(2, true)
	if _, err := k.Learn(t.Context(), ann, rules(), strings.NewReader(paragraphs(1, 9)), nil); err == nil {
		t.Fatal("it was not broken off")
	}
	power.putOut()
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2, 3))
	checkPieces(t, k, rules())
	if whole := k.testOnlyWhole(t, ann, "rules.md"); whole != paragraphs(1, 2, 3) {
		t.Errorf("the document is %q", whole)
	}
}

// A meddler does something in the middle of the second reading.
type meddler struct {
	*strings.Reader
	begun int
	do    func()
}

func (m *meddler) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		if m.begun++; m.begun == 2 {
			m.do()
		}
	}
	return m.Reader.Seek(offset, whence)
}

func TestOfTwoImportsTheOneThatBeganLastWins(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k, other := r.open(), rig{t, r.dsn, r.again().db}.open()
		k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2))
		m := &meddler{Reader: strings.NewReader(paragraphs(1, 3)), do: func() { other.testOnlyLearn(t, ann, rules(), paragraphs(1, 4)) }}
		_, err := k.Learn(t.Context(), ann, rules(), m, nil)
		wantCode(t, err, abi.Conflict)
		if whole := k.testOnlyWhole(t, ann, "rules.md"); whole != paragraphs(1, 4) {
			t.Errorf("the document is %q", whole)
		}
		checkPieces(t, k, rules())
	})
}

func TestAnImportStopsWhereItsDocumentIsForgotten(t *testing.T) {
	k := sqliteRig(t).open()
	for name, wish := range map[string]Wish{"the document": {Document: "rules.md"}, "all": {All: true}} {
		k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2))
		m := &meddler{Reader: strings.NewReader(paragraphs(1, 3)), do: func() {
			_, err := k.Forget(t.Context(), ann, wish)
			must(t, err)
		}}
		_, err := k.Learn(t.Context(), ann, rules(), m, nil)
		wantCode(t, err, abi.Conflict)
		if left := k.testOnlyActive(t, ann); len(left) != 0 {
			t.Errorf("%s: left are %v", name, left)
		}
	}
}

func TestASourceThatChangesWhileItIsReadIsNotLearned(t *testing.T) {
	k := sqliteRig(t).open()
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 2))
	m := &meddler{Reader: strings.NewReader(paragraphs(1, 3))}
	m.do = func() { m.Reader.Reset(paragraphs(1, 4)) }
	_, err := k.Learn(t.Context(), ann, rules(), m, nil)
	wantCode(t, err, abi.Conflict)
	if whole := k.testOnlyWhole(t, ann, "rules.md"); whole != paragraphs(1, 2) {
		t.Errorf("the document is %q", whole)
	}
	k.testOnlyLearn(t, ann, rules(), paragraphs(1, 4))
	checkPieces(t, k, rules())
}

func TestWhatIsNoTextToItsEndIsKeptInNoPart(t *testing.T) {
	k := sqliteRig(t).open()
	_, err := k.Learn(t.Context(), ann, rules(), strings.NewReader(paragraphs(1, 2, 3)+"\xff"), nil)
	wantCode(t, err, abi.BadValue)
	if left := k.testOnlyActive(t, ann); len(left) != 0 {
		t.Errorf("kept are %v", left)
	}
	if _, err := k.Document(t.Context(), ann, "rules.md"); host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("the document: %v", err)
	}
}
