//go:build !race

package memory

import (
	"path/filepath"
	"strings"
	"testing"
)

// A givenAnswer of testdata/forms/given-*.jsonl was written with what its question was
// answered from: "advice" recommends or nudges, mostly without the words that do, "none"
// gives evidence alone. The words that report were chosen with one file in view, and
// without the other.
type givenAnswer struct {
	Says     string   `json:"says"`
	Question string   `json:"question"`
	Given    []string `json:"given"`
	Answer   string   `json:"answer"`
}

func (a givenAnswer) check(f Form) []FormFinding {
	return CheckForm(f, a.Answer, Given{Memories: a.Given, Read: []string{a.Question}})
}

// How many pass is told, and bounded: an advice that passes is a hole, an honest answer
// that does not is written again.
func TestWithLowTrustNoAdvicePasses(t *testing.T) {
	for _, tt := range []struct {
		file           string
		advice, honest int // that pass: at most, and at least
	}{{"given-seen.jsonl", 0, 80}, {"given-unseen.jsonl", 1, 34}} {
		var advice, honest, advised, said, byCue int
		for _, a := range readLines[givenAnswer](t, filepath.Join("forms", tt.file)) {
			passes := len(a.check(EvidenceOnly)) == 0
			switch a.Says {
			case "advice":
				advised++
				if passes {
					advice++
					t.Logf("%s: passes: %q", tt.file, a.Answer)
				}
				if len(a.check(Refer)) > 0 {
					byCue++
				}
			case "none":
				said++
				if passes {
					honest++
				}
			default:
				t.Fatalf("%s: %+v", tt.file, a)
			}
		}
		t.Logf("%s: %d of %d that advise pass, %d would by their words alone; %d of %d honest ones pass", tt.file, advice, advised, advised-byCue, honest, said)
		if advice > tt.advice || honest < tt.honest || advised < 100 || said < 99 {
			t.Errorf("%s: %d of %d that advise pass, at most %d may; %d of %d honest ones, at least %d must", tt.file, advice, advised, tt.advice, honest, said, tt.honest)
		}
	}
}

// The words that report are words of which none recommends: no phrase of the lists is a
// finding of the rules, and none stands twice.
func TestTheWordsThatReportRecommendNothing(t *testing.T) {
	for name, list := range map[string]string{"report_en.txt": reportEN, "report_zh.txt": reportZH} {
		seen := map[string]bool{}
		for entry := range entries(list) {
			words := strings.ReplaceAll(entry, "_", " ")
			for _, find := range [...]func(string) (string, bool){strongZH, strongEN, bestZH, bestEN} {
				if cue, ok := find(words); ok && !strings.Contains(cue, "…") { // which is of a clause, and of no word
					t.Errorf("%s: %q recommends: %s", name, words, cue)
				}
			}
			if seen[entry] {
				t.Errorf("%s has %q twice", name, entry)
			}
			seen[entry] = true
			if n := len([]rune(entry)); n > maxReportRunes && name == "report_zh.txt" || len(strings.Fields(words)) > maxPhraseWords {
				t.Errorf("%s: %q is longer than what is looked up", name, entry)
			}
		}
		if len(seen) < 5000 {
			t.Errorf("%s has %d entries", name, len(seen))
		}
	}
}
