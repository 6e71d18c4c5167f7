package memory

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// An answer of testdata/forms: "strong" recommends, "weak" proposes, "none" gives
// evidence alone. Taken is set where the rules are known to read it otherwise.
type formAnswer struct {
	Says   string `json:"says"`
	Taken  string `json:"taken"`
	Answer string `json:"answer"`
}

// readLines reads a file of testdata with an object in each line.
func readLines[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		all = append(all, one)
	}
	return all
}

// saysOf gives what CheckForm takes an answer for.
func saysOf(answer string) string {
	switch {
	case len(CheckForm(Refer, answer)) > 0:
		return "strong"
	case len(CheckForm(EvidenceOnly, answer)) > 0:
		return "weak"
	}
	return "none"
}

func TestAnswersOfLowTrustCannotRecommend(t *testing.T) {
	for _, name := range []string{"zh.jsonl", "en.jsonl"} {
		answers := readLines[formAnswer](t, filepath.Join("forms", name))
		if len(answers) < 40 {
			t.Errorf("%s has %d answers", name, len(answers))
		}
		for _, a := range answers {
			if got := saysOf(a.Answer); got != cmp.Or(a.Taken, a.Says) {
				t.Errorf("%s: %q is taken for %s, and is %s: %+v", name, a.Answer, got, a.Says, CheckForm(EvidenceOnly, a.Answer))
			}
			if found := CheckForm(Recommend, a.Answer); len(found) > 0 {
				t.Errorf("%q may not be said with high trust: %+v", a.Answer, found)
			}
		}
	}
}

// FuzzCheckForm: a form that allows less never finds less, and what is found can be
// told.
func FuzzCheckForm(f *testing.F) {
	for _, answer := range []string{"建议降到59元。", "You said: “should", "请", "never ", "把\n“」”到", "\xff应该\u200b吧", "1. - > 降价 - 59"} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		low, middling := CheckForm(EvidenceOnly, answer), CheckForm(Refer, answer)
		if len(low) < len(middling) || len(low) > maxFormFindings || len(CheckForm(Recommend, answer)) > 0 {
			t.Fatalf("%q: %d findings with low trust, %d with middling trust", answer, len(low), len(middling))
		}
		for _, found := range low {
			if found.Words == "" || found.Cue == "" || len(found.Words) > maxToldBytes+len("…") {
				t.Fatalf("%q: %+v", answer, found)
			}
		}
	})
}
