package measure

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
)

// labelled is where the labelled folders lie: beside the repository.
const labelled = "../../../shared/data"

// TestRecallIsWhatItMustBe holds every half to the figures, so that constants that
// fit the tuned half alone are seen.
func TestRecallIsWhatItMustBe(t *testing.T) {
	for _, name := range []string{"locomo", "cmrc2018"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(labelled, name)
			if _, err := os.Stat(filepath.Join(path, "queries.jsonl")); err != nil {
				t.Skip("recall is NOT measured: the labelled data are not here: ", err)
			}
			report := NewReport([]Recalled{recall(t, path)}, nil, nil)
			for _, row := range report.Rows {
				t.Logf("%s, %s: %.4f", row.Measure, row.Of, row.Value)
				if row.Missed() {
					t.Errorf("%s of %s is %.4f, and must be %.3f", row.Measure, row.Of, row.Value, row.Must)
				}
			}
			if len(report.Rows) < 6 {
				t.Errorf("%d figures, want three halves of two or three", len(report.Rows))
			}
		})
	}
}

func recall(t *testing.T, path string) Recalled {
	t.Helper()
	folder, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	recalled, err := Recall(t.Context(), index.New(), folder, memory.Measured())
	if err != nil {
		t.Fatal(err)
	}
	return recalled
}

// write makes a folder of two scopes, whose answers are known.
func write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small")
	files := map[string]string{
		"docs.jsonl": `{"id":1,"scope":"a","session":1,"text":"Ann: Where do you live?"}
{"id":2,"scope":"a","session":1,"text":"Bob: In Lisbon."}
{"id":3,"scope":"a","session":2,"text":"Ann: I bought a bicycle."}
{"id":4,"scope":"b","session":1,"text":"Eve: I bought a bicycle."}`,
		"queries.jsonl": `{"id":1,"scope":"a","cat":"c1","text":"Where does Bob live?","rel":[2]}
{"id":2,"scope":"a","cat":"c1","text":"Who bought a bicycle?","rel":[3,2]}
{"id":3,"scope":"b","cat":"c2","text":"What was bought?","rel":[4]}
{"id":4,"scope":"b","cat":"c2","text":"What was never said?","rel":[]}`,
		"sessions.jsonl": `{"scope":"a","session":1,"date":"1:56 pm on 8 May, 2023"}`,
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestRecallCountsWhatIsFoundInEachHalf(t *testing.T) {
	r := recall(t, write(t))
	tuned, heldOut := r.Halves[Tuned], r.Halves[HeldOut]
	if tuned.Questions != 2 || tuned.At5 != 0.75 || tuned.SessionsAt5 != 1 || tuned.SessionsIn10 != 1 {
		t.Errorf("of the tuned half %+v, want two questions and 0.75: of one half is found", tuned)
	}
	if heldOut.Questions != 1 || heldOut.At5 != 1 || heldOut.At10 != 1 {
		t.Errorf("of the held-out half %+v, want one question, found", heldOut)
	}
	if all := r.Halves[All]; all.Questions != 3 || len(r.Categories) != 2 {
		t.Errorf("of all %+v, of the categories %v", all, r.Categories)
	}
}

func TestAFolderIsFoundInsideItsParent(t *testing.T) {
	path := write(t)
	for _, at := range []string{path, filepath.Dir(path)} {
		folders, err := Folders(at)
		if err != nil || !slices.Equal(folders, []string{path}) {
			t.Errorf("in %s are %v, %v", at, folders, err)
		}
	}
	if _, err := Folders(t.TempDir()); err == nil {
		t.Error("an empty folder has labelled data")
	}
}

func TestABrokenFolderIsRefused(t *testing.T) {
	for name, text := range map[string]string{"docs.jsonl": "{", "queries.jsonl": `{"id":"one"}`, "sessions.jsonl": `{"date":"yesterday"}`} {
		path := write(t)
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil {
			t.Errorf("a broken %s was read", name)
		}
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("an empty folder was read")
	}
}

func TestScaleFindsNothingForeign(t *testing.T) {
	size := Size{Memories: 2000, Users: 20, OneUser: 20, AllUsers: 20, Puts: 20, Foreign: 2000}
	scaled, err := Scale(t.Context(), func() memory.Store { return index.New() }, size, 1)
	if err != nil {
		t.Fatal(err)
	}
	if scaled.Foreign != 0 || scaled.Found == 0 || scaled.Asked != size.Foreign {
		t.Errorf("of %d memories found by %d questions %d are foreign", scaled.Found, scaled.Asked, scaled.Foreign)
	}
}

func TestAReportShowsMustAndAim(t *testing.T) {
	half := func(at5 float64) Recalled {
		return Recalled{Folder: "cmrc2018", Halves: map[Half]Figures{All: {Questions: 9, At5: at5, At10: 1}}}
	}
	for at5, want := range map[float64]string{0.98: "MISSED", 0.991: "must", 0.996: "aim"} {
		var text strings.Builder
		report := NewReport([]Recalled{half(at5)}, &Scaled{Size: Usual(), Foreign: 1, Heap: 50e6}, &Kept{Size: Usual(), Rebuild: 3 * time.Second, Foreign: 1})
		if err := report.Write(&text); err != nil {
			t.Fatal(err)
		}
		if report.Rows[0].verdict() != want || report.Rows[0].Missed() != (want == "MISSED") {
			t.Errorf("%v is %q, want %q", at5, report.Rows[0].verdict(), want)
		}
		for _, line := range []string{"cmrc2018 recall@5", "50 MB", "index: foreign memories found", "rebuild from the truth", "foreign memories recalled"} {
			if !strings.Contains(text.String(), line) {
				t.Errorf("the table lacks %q:\n%s", line, text.String())
			}
		}
		if last := report.Rows[len(report.Rows)-1]; last.verdict() != "MISSED" {
			t.Error("a foreign memory was let pass")
		}
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsKeptIsMeasuredAndFoundByItsOwnerAlone(t *testing.T) {
	s, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k, err := keeper.Open(t.Context(), keeper.Config{DB: s.Database(), Store: index.New()})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	size := Size{Memories: 400, Users: 20, OneUser: 20, AllUsers: 5, Puts: 5, Foreign: 300}
	told := 0
	kept, err := Keep(t.Context(), k, size, 1, func(int) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	if kept.Foreign != 0 || kept.Found == 0 || kept.Asked != size.Foreign || told != size.Users*11/10+size.Foreign {
		t.Errorf("of %d memories found by %d questions %d are foreign; told %d times", kept.Found, kept.Asked, kept.Foreign, told)
	}
	if kept.Remember == 0 || kept.OneUser == 0 || kept.AllUsers == 0 || kept.Rebuild == 0 {
		t.Errorf("measured %+v", kept)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Keep(stopped, k, size, 1, nil); err == nil {
		t.Error("it goes on when it is stopped")
	}
}
