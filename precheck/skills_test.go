package precheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/toolchain"
)

// wrongOnPurpose is the skill that the demo shows to be caught.
const wrongOnPurpose = "skills/shop/broken"

// What this repository holds up as skills must pass, with nothing waived, but for
// the one that is there to be caught: by what its example says, and nothing else.
// Beside each lies the skill.yaml that `sluice skill build` writes.
func TestEverySkillOfTheRepositoryPasses(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./skills/...")
	list.Dir = ".."
	out, err := list.Output()
	must(t, err)
	caught := false
	for _, path := range strings.Fields(string(out)) {
		folder := strings.TrimPrefix(path, "github.com/sluicehq/sluice/")
		if folder == wrongOnPurpose {
			caught = true
			t.Run(folder, func(t *testing.T) { fails(t, folder, sandboxtest.Build(t, folder), "examples") })
			continue
		}
		t.Run(folder, func(t *testing.T) { fails(t, folder, sandboxtest.Build(t, folder)) })
	}
	if !caught {
		t.Errorf("%s is not there any more", wrongOnPurpose)
	}
	for _, language := range []string{"rust", "assemblyscript", "c"} {
		folder := "skills/polyglot/" + language
		t.Run(folder, func(t *testing.T) { fails(t, folder, compiledFrom(t, folder)) })
	}
}

// fails demands the failures of a module, and lets warnings be.
func fails(t *testing.T, folder string, module []byte, want ...string) {
	t.Helper()
	subject, _, err := besideModule(filepath.Join("..", folder)) // a skill.yaml that is stale, or missing, fails, too
	must(t, err)
	subject.Source, subject.Module = true, module
	_, all := judged(t, config(t), subject)
	var failed []string
	for _, m := range all {
		if m.Finding != nil && m.Finding.Fails() {
			failed = append(failed, m.Rule)
			t.Logf("%s: %s", m.Rule, m.Finding.Message)
		}
	}
	if !slices.Equal(failed, want) {
		t.Errorf("failed by %q, want %q", failed, want)
	}
}

// compiledFrom makes a module as an author does, where it lies; or in a copy with what
// its package.json asks for, if it has one.
func compiledFrom(t *testing.T, folder string) []byte {
	t.Helper()
	for name, value := range sandboxtest.Cargo(t) {
		t.Setenv(name, value)
	}
	dir := filepath.Join("..", folder)
	if _, err := os.Stat(filepath.Join(dir, "package.json")); err == nil {
		copied := filepath.Join(t.TempDir(), "skill")
		must(t, os.CopyFS(copied, os.DirFS(dir)))
		_ = os.RemoveAll(filepath.Join(copied, "node_modules")) // an author's own
		must(t, os.Symlink(sandboxtest.Packages(t, folder), filepath.Join(copied, "node_modules")))
		dir = copied
	}
	module := filepath.Join(t.TempDir(), moduleFile)
	must(t, toolchain.Compile(t.Context(), dir, module, sandboxtest.Description))
	wasm, err := os.ReadFile(module)
	must(t, err)
	sandboxtest.Warm(t, wasm)
	return wasm
}
