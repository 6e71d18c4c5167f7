package keeper

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	cut "github.com/sluicehq/sluice/memory/documents"
)

func TestAHitLeadsToWhatStandsBesideIt(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		k.testOnlyLearn(t, ann, rules(), paragraphs(0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
		other := cut.Document{ID: "other.txt", Form: cut.Plain}
		k.testOnlyLearn(t, ann, other, paragraphs(20, 21, 22))
		ids := k.testOnlyPieces(t, ann, "rules.md")
		more := k.testOnlyPieces(t, ann, "other.txt")
		alone := k.testOnlyRemember(t, ann, said("of no document"))[0]
		size := len(paragraph(1))
		for name, tt := range map[string]struct {
			hits []memory.ID
			room Room
			want []string
		}{
			"one":               {ids[4:5], Room{3 * (size + 9), 9}, []string{paragraphs(3, 4, 5)}},
			"the first":         {ids[:1], Room{3 * (size + 9), 9}, []string{paragraphs(0, 1, 2)}},
			"few pieces":        {ids[4:5], Room{1 << 20, 2}, []string{paragraphs(4, 5)}},
			"no room beside":    {ids[4:5], Room{size + 20, 9}, []string{paragraphs(4)}},
			"no room at all":    {ids[4:5], Room{size / 2, 9}, nil},
			"two that meet":     {[]memory.ID{ids[5], ids[3]}, Room{1 << 20, 5}, []string{paragraphs(2, 3, 4, 5, 6)}},
			"two that do not":   {[]memory.ID{ids[8], ids[1]}, Room{1 << 20, 4}, []string{paragraphs(1, 2) + gapMark + paragraphs(8, 9)}},
			"twice the same":    {[]memory.ID{ids[4], ids[4]}, Room{1 << 20, 1}, []string{paragraphs(4)}},
			"of two documents":  {[]memory.ID{more[0], alone, ids[0], more[1]}, Room{1 << 20, 2}, []string{paragraphs(20, 21), paragraphs(0, 1)}},
			"of no document":    {[]memory.ID{alone, "nobody's"}, Room{1 << 20, 9}, nil},
			"nothing was found": {nil, Room{1 << 20, 9}, nil},
		} {
			all, err := k.Around(t.Context(), ann, tt.hits, tt.room)
			must(t, err)
			var got []string
			for _, p := range all {
				got = append(got, p.Text)
				if len(p.Pieces) > tt.room.Pieces || len(p.Hits) == 0 || p.Part != 1 {
					t.Errorf("%s: %+v", name, p)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %q\nwant %q", name, got, tt.want)
			}
		}
		if all, err := k.Around(t.Context(), Owner{"shop", "bob"}, ids, Room{1 << 20, 9}); err != nil || len(all) != 0 {
			t.Errorf("another user sees %+v, %v", all, err)
		}
		_, err := k.Around(t.Context(), ann, make([]memory.ID, MaxRecall+1), Room{})
		wantCode(t, err, abi.BadValue)
	})
}

// widest notes the longest list of values that a statement is given.
type widest struct {
	host.Statements
	most *int
}

func (w widest) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	*w.most = max(*w.most, len(args))
	return w.Statements.QueryContext(ctx, query, args...)
}

// It is asked for each input.
func TestNoMoreIsReadAroundAHitThanThereIsRoomFor(t *testing.T) {
	r, most := sqliteRig(t), 0
	r.db.Reads = widest{r.db.Reads, &most}
	k := r.open(func(c *Config) { c.Store = nil }) // and no follower, which reads beside it
	var numbers []int
	for n := range 40 {
		numbers = append(numbers, n)
	}
	k.testOnlyLearn(t, ann, rules(), paragraphs(numbers...))
	hit := k.testOnlyPieces(t, ann, "rules.md")[20:21]
	for pieces, want := range map[int]int{5: shortList, 99: longList} {
		most = 0
		all, err := k.Around(t.Context(), ann, hit, Room{1 << 20, pieces})
		if must(t, err); len(all) != 1 || len(all[0].Pieces) != min(pieces, 2*aroundReach+1) {
			t.Fatalf("%d pieces: %+v", pieces, all)
		}
		if most > want+2 { // with the owner
			t.Errorf("with room for %d pieces a statement names %d", pieces, most)
		}
	}
}

func TestSurroundingsHaveNothingThatDoesNotCount(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		k.testOnlyLearn(t, ann, rules(), paragraphs(0, 1, 2, 3, 4, 5, 6))
		ids := k.testOnlyPieces(t, ann, "rules.md")
		_, err := k.Forget(t.Context(), ann, Wish{IDs: ids[2:3]})
		must(t, err)
		must(t, k.Falsify(t.Context(), ann, ids[5], ""))
		all, err := k.Around(t.Context(), ann, []memory.ID{ids[3], ids[1], ids[6]}, Room{1 << 20, 9})
		must(t, err)
		if len(all) != 1 || all[0].Text != paragraphs(0, 1)+gapMark+paragraphs(3, 4)+gapMark+paragraphs(6) {
			t.Errorf("got %+v", all)
		}
	})
}

// The end of a forgotten piece stands in the piece behind it, of this revision and of one before.
func TestWhatIsForgottenIsAlsoGoneFromThePieceBehindIt(t *testing.T) {
	r := sqliteRig(t)
	k := r.open(func(c *Config) { c.Embedder = &fakeEmbedder{} })
	secret := strings.Replace(paragraph(2), "end.", "Zinfandel.", 1)
	k.testOnlyLearn(t, ann, rules(), paragraph(1)+secret+paragraph(3))
	k.testOnlyLearn(t, ann, rules(), paragraph(1)+secret+paragraph(4))
	ids := k.testOnlyPieces(t, ann, "rules.md")
	if files := filesWith(t, filepath.Dir(r.dsn), "Zinfandel"); len(files) == 0 {
		t.Fatal("the words are in no file")
	}
	_, err := k.Forget(t.Context(), ann, Wish{IDs: ids[1:2]})
	must(t, err)
	if files := filesWith(t, filepath.Dir(r.dsn), "Zinfandel"); len(files) != 0 {
		t.Errorf("the words are in %v", files)
	}
	n := k.testOnlyGet(t, ann, ids[2])
	if n.Text != paragraph(4) || n.IndexText != "Rules of the shop\n"+strings.TrimSpace(paragraph(4)) {
		t.Errorf("what stood behind is %q, searched as %q", n.Text, n.IndexText)
	}
	all, err := k.Around(t.Context(), ann, ids[2:], Room{1 << 20, 9})
	if err != nil || len(all) != 1 || all[0].Text != paragraph(4) {
		t.Errorf("its surroundings are %+v, %v", all, err)
	}
}

func TestForgettingADocumentLeavesNothingOfIt(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		bob := Owner{"shop", "bob"}
		for _, o := range []Owner{ann, bob} {
			for _, text := range []string{paragraphs(1, 2, 3), paragraphs(1, 4), ""} {
				k.testOnlyLearn(t, o, rules(), text)
			}
			k.testOnlyLearn(t, o, rules(), paragraphs(1, 4))
		}
		kept := k.testOnlyRemember(t, ann, said("of no document"))
		f, err := k.Forget(t.Context(), ann, Wish{Document: "rules.md"})
		must(t, err)
		if len(f.Receipts) == 0 {
			t.Error("there is no receipt")
		}
		left, err := k.List(t.Context(), ann, Page{})
		if err != nil || len(left) != 1 || left[0].ID != kept[0] {
			t.Errorf("left are %+v, %v", left, err)
		}
		for _, table := range []string{"memory_document", "memory_piece"} {
			for o, want := range map[Owner]bool{ann: false, bob: true} {
				var n int
				_, err := row(t.Context(), r.db.Reads, "SELECT COUNT(*) FROM "+table+ofOwner, ownerArgs(o), &n)
				if must(t, err); n > 0 != want {
					t.Errorf("%s has %d rows of %s", table, n, o.User)
				}
			}
		}
		if again, err := k.Forget(t.Context(), ann, Wish{Document: "rules.md"}); err != nil || len(again.Receipts) != 0 {
			t.Errorf("forgotten again: %+v, %v", again, err)
		}
	})
}

func TestADocumentGoesWithTheLastOfItsPieces(t *testing.T) {
	k := sqliteRig(t).open()
	d := rules()
	d.Entity = "1001"
	k.testOnlyLearn(t, ann, d, paragraphs(1, 2, 3))
	ids := k.testOnlyPieces(t, ann, d.ID)
	_, err := k.Forget(t.Context(), ann, Wish{IDs: ids[:1]})
	must(t, err)
	if _, err := k.Document(t.Context(), ann, d.ID); err != nil {
		t.Errorf("with two pieces left: %v", err)
	}
	_, err = k.Forget(t.Context(), ann, Wish{Entity: "1001"})
	must(t, err)
	_, err = k.Document(t.Context(), ann, d.ID)
	wantCode(t, err, abi.NotFound)
}
