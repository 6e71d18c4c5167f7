package precheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/toolchain"
)

// What this repository holds up as skills must pass, with nothing waived.
func TestEverySkillOfTheRepositoryPasses(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./skills/...")
	list.Dir = ".."
	out, err := list.Output()
	must(t, err)
	for _, path := range strings.Fields(string(out)) {
		folder := strings.TrimPrefix(path, "github.com/sluicehq/sluice/")
		t.Run(folder, func(t *testing.T) { passes(t, folder, sandboxtest.Build(t, folder)) })
	}
	for _, language := range []string{"rust", "assemblyscript", "c"} {
		folder := "skills/polyglot/" + language
		t.Run(folder, func(t *testing.T) { passes(t, folder, compiledFrom(t, folder)) })
	}
}

func passes(t *testing.T, folder string, module []byte) {
	t.Helper()
	found, all := judged(t, config(t), Subject{Name: folder, Module: module})
	for _, m := range all {
		if m.Finding != nil {
			t.Logf("%s: %+v", m.Rule, *m.Finding)
		}
	}
	if !all[len(all)-1].Verdict.Passes() {
		t.Errorf("found %q", found)
	}
}

// compiledFrom makes a module as an author does, in a copy with what its package.json
// asks for, if it has one.
func compiledFrom(t *testing.T, folder string) []byte {
	t.Helper()
	t.Setenv("CARGO_TARGET_DIR", filepath.Join(sandboxtest.CacheDir(t), "cargo"))
	dir := filepath.Join(t.TempDir(), "skill")
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", folder))))
	if _, err := os.Stat(filepath.Join(dir, "package.json")); err == nil {
		_ = os.RemoveAll(filepath.Join(dir, "node_modules")) // an author's own
		must(t, os.Symlink(sandboxtest.Packages(t, folder), filepath.Join(dir, "node_modules")))
	}
	module := filepath.Join(t.TempDir(), moduleFile)
	must(t, toolchain.Compile(t.Context(), dir, module, sandboxtest.Description))
	wasm, err := os.ReadFile(module)
	must(t, err)
	sandboxtest.Warm(t, wasm)
	return wasm
}
