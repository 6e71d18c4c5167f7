package newskill

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/goskill"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

func TestNamesAndFoldersAreChecked(t *testing.T) {
	full := t.TempDir()
	must(t, os.WriteFile(filepath.Join(full, "mine"), []byte("x"), 0o600))
	file := filepath.Join(full, "mine")
	cloned := t.TempDir()
	must(t, os.Mkdir(filepath.Join(cloned, ".git"), 0o700))
	for _, tt := range []struct {
		name, lang, dir string
		want            abi.Code
	}{
		{"shop.notes", "go", filepath.Join(t.TempDir(), "deeper", "new"), 0},
		{"notes", "c", t.TempDir(), 0},
		{"notes2", "rust", cloned, 0},
		{"", "go", t.TempDir(), abi.BadValue},
		{"Shop.notes", "go", t.TempDir(), abi.BadValue},
		{"shop..notes", "go", t.TempDir(), abi.BadValue},
		{"shop/notes", "go", t.TempDir(), abi.BadValue},
		{"../notes", "go", t.TempDir(), abi.BadValue},
		{"shop.notes\n", "go", t.TempDir(), abi.BadValue},
		{strings.Repeat("a", mostName+1), "go", t.TempDir(), abi.BadValue},
		{"shop.notes", "cobol", t.TempDir(), abi.BadValue},
		{"shop.notes", "go", full, abi.Conflict},
		{"shop.notes", "go", file, abi.Conflict},
	} {
		_, err := Write(tt.name, tt.lang, tt.dir)
		if (err == nil) != (tt.want == 0) || err != nil && host.ProblemOf(err).Code != tt.want {
			t.Errorf("Write(%q, %s, %s) gives %v, want %d", tt.name, tt.lang, tt.dir, err, tt.want)
		}
	}
	if left, err := os.ReadDir(full); err != nil || len(left) != 1 {
		t.Errorf("a refused folder has %v, %v", left, err)
	}
}

// The library's sources are those of the version that go.mod names. To make the
// archive again after another version: KEEP_LIBRARY=1 go test -run Library.
func TestTheLibraryIsTheOneOfGoMod(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", libraryPath).Output()
	must(t, err)
	dir := strings.TrimSpace(string(out))
	want := files{}
	must(t, want.add(os.DirFS(dir), ".", func(path string) string {
		if path == "LICENSE" || path == "go.mod" || !strings.Contains(path, "/") && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			return path
		}
		return ""
	}))
	if os.Getenv("KEEP_LIBRARY") != "" {
		keep(t, want)
		return
	}
	packed, err := zip.NewReader(bytes.NewReader(library), int64(len(library)))
	must(t, err)
	got := files{}
	must(t, got.add(packed, ".", func(path string) string { return path }))
	if len(got) != len(want) {
		t.Errorf("the archive has %d files, want %d", len(got), len(want))
	}
	for path, text := range want {
		if !bytes.Equal(got[path], text) {
			t.Errorf("%s differs", path)
		}
	}
}

func TestTheModFilesAgreeWithThisRepositorys(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	must(t, err)
	own, err := modfile.Parse("go.mod", text, nil)
	must(t, err)
	if own.Module.Mod.Path != modulePath || own.Go.Version != goVersion {
		t.Errorf("go.mod is of %s and Go %s, new skills are told %s and %s", own.Module.Mod.Path, own.Go.Version, modulePath, goVersion)
	}
	if !strings.HasPrefix(goImage, strings.TrimSuffix(goVersion, "0")) {
		t.Errorf("new skills are built with Go %s where they are reviewed, and need %s", goImage, goVersion)
	}
	if !slices.ContainsFunc(own.Require, func(r *modfile.Require) bool {
		return r.Mod == module.Version{Path: libraryPath, Version: libraryVersion}
	}) {
		t.Errorf("go.mod does not require %s %s, as new skills do", libraryPath, libraryVersion)
	}
}

func keep(t *testing.T, all files) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for path, text := range all {
		f, err := w.Create(path)
		must(t, err)
		_, err = f.Write(text)
		must(t, err)
	}
	must(t, w.Close())
	must(t, os.WriteFile("jsonschema.zip", b.Bytes(), 0o600))
}

// offline is the environment of somebody who has the go command and nothing else:
// no modules, no proxy.
func offline(t *testing.T) []string {
	empty := t.TempDir()
	return append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local",
		"GOPATH="+filepath.Join(empty, "path"), "GOMODCACHE="+filepath.Join(empty, "modules"))
}

func TestASkillInGoBuildsAndTestsWithoutNetworkAndTheSameAnywhere(t *testing.T) {
	env := offline(t)
	var modules [][]byte
	for _, dir := range []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "another", "place")} {
		if _, err := Write("shop.notes", "go", dir); err != nil {
			t.Fatal(err)
		}
		modules = append(modules, compile(t, dir, env))
	}
	if !bytes.Equal(modules[0], modules[1]) {
		t.Error("two folders give two modules")
	}

	dir := filepath.Join(t.TempDir(), "tested")
	if _, err := Write("shop.notes", "go", dir); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"vet", ".", modulePath + "/..."}, {"test", "."}} { // the SDK that was laid, too
		run := exec.Command("go", args...)
		run.Dir, run.Env = dir, env
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if sums, err := os.ReadFile(filepath.Join(dir, "go.sum")); err == nil && len(sums) > 0 {
		t.Errorf("it depends on modules of elsewhere:\n%s", sums)
	}
	formatted := exec.Command("gofmt", "-l", ".")
	formatted.Dir = dir
	if out, err := formatted.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("not formatted: %s, %v", out, err)
	}
}

func compile(t *testing.T, dir string, env []string) []byte {
	t.Helper()
	module := filepath.Join(t.TempDir(), "skill.wasm")
	err := goskill.Compile(t.Context(), goskill.Skill{Dir: dir, Env: env, Describe: sandboxtest.Description, Run: func(c *exec.Cmd) error {
		var said bytes.Buffer
		c.Dir, c.Stderr = dir, &said
		if c.Stdout == nil {
			c.Stdout = io.Discard
		}
		if err := c.Run(); err != nil {
			t.Errorf("%v: %v\n%s", c.Args, err, said.String())
			return err
		}
		return nil
	}}, module)
	must(t, err)
	wasm, err := os.ReadFile(module)
	must(t, err)
	return wasm
}

// A new skill has nothing of another's name left.
func TestEveryLanguageGetsTheName(t *testing.T) {
	for _, l := range languages() {
		all, err := l.files("new.name")
		must(t, err)
		for path, text := range all {
			if strings.HasPrefix(path, sdkFolder+"/") {
				continue
			}
			for _, old := range []string{placeholder, polyglotName, polyglotNamespace, polyglotTwin, polyglotTwinLong, polyglotCrate, "to the byte"} {
				if bytes.Contains(text, []byte(old)) {
					t.Errorf("%s: %s has %q", l.name, path, old)
				}
			}
		}
		for _, path := range []string{"package.json", "package-lock.json"} {
			if bytes.Contains(all[path], []byte(polyglotPackage)) {
				t.Errorf("%s: %s has the name of another package", l.name, path)
			}
		}
		if !slices.ContainsFunc(mapValues(all), func(text []byte) bool { return bytes.Contains(text, []byte(`"new.name"`)) }) {
			t.Errorf("%s: no file has the name", l.name)
		}
	}
}

func mapValues(all files) (values [][]byte) {
	for _, text := range all {
		values = append(values, text)
	}
	return values
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
