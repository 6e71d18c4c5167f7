package precheck

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// inC gives the files of a skill that a compiler of C builds in a moment.
func inC(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir("../skills/polyglot/c")
	must(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join("../skills/polyglot/c", e.Name()))
		must(t, err)
		files["reserve/"+e.Name()] = string(text)
	}
	return files
}

func TestTheSourceOfACleanCheckoutGivesTheSameModule(t *testing.T) {
	folder, commit := committed(t, inC(t))
	skill := filepath.Join(folder, "reserve")
	rebuilt := func(subject string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Run(t.Context(), []string{subject, "--rebuild", "--cache", sandboxtest.CacheDir(t)}, &out, &errs); code == CouldNotRun {
			return errs.String()
		}
		return out.String()
	}
	for _, subject := range []string{skill, folder + "@HEAD:reserve"} {
		if told := rebuilt(subject); !strings.Contains(told, "rebuild  "+commit.String()[:12]+" gives the same module") {
			t.Errorf("%s: %s", subject, told)
		}
	}
	source := filepath.Join(skill, "reserve.c")
	text, err := os.ReadFile(source)
	must(t, err)
	must(t, os.WriteFile(source, bytes.Replace(text, []byte("MAX_NEAR = 3"), []byte("MAX_NEAR = 2"), 1), 0o600))
	if told := rebuilt(skill); !strings.Contains(told, "failure  rebuild: the module is") {
		t.Errorf("with a change that is not committed: %s", told)
	}
	must(t, os.RemoveAll(filepath.Join(folder, ".git")))
	if told := rebuilt(skill); !strings.Contains(told, "is in no git repository") {
		t.Errorf("without a repository: %s", told)
	}
	built := t.TempDir()
	must(t, os.WriteFile(filepath.Join(built, moduleFile), good().bytes(), 0o600))
	if told := rebuilt(built); !strings.Contains(told, "has no source") {
		t.Errorf("without source: %s", told)
	}
}
