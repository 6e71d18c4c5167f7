package sandboxtest

import (
	"os"
	"path/filepath"
	"testing"
)

// What is taken from an earlier test is what would be made now: whatever goes
// into a module gives it another name.
func TestAModuleIsMadeAgainOfWhatIsAnother(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module skill\n\ngo 1.26\n")
	write("main.go", "package main\n\nimport \"skill/near\"\n\nfunc main() { near.Say() }\n")
	write("near/near.go", "package near\n\nimport \"skill/far\"\n\nfunc Say() { far.Say() }\n")
	write("far/far.go", "package far\n\nimport _ \"embed\"\n\n//go:embed text\nvar text string\n\n//go:noinline\nfunc Say() { print(text) }\n")
	write("far/text", "one")
	write("tagged.go", "//go:build other\n\npackage main\n\nvar other = 1\n")
	write("far/described.go", "//go:build sluice_described\n\npackage far\n\nvar Described = 1\n")
	name := func(tag string) string {
		t.Helper()
		from, err := madeOf(root, dir, tag)
		if err != nil {
			t.Fatal(err)
		}
		return from
	}
	seen := map[string]string{name(""): "as it was"}
	if first := name(""); seen[first] == "" {
		t.Error("the same has another name")
	}
	another := func(what, tag string) {
		t.Helper()
		from := name(tag)
		if before := seen[from]; before != "" {
			t.Errorf("%s: it has the name that it had %s", what, before)
		}
		seen[from] = what
	}
	another("with a tag", "other")
	write("far/described.go", "//go:build sluice_described\n\npackage far\n\nvar Described = 2\n")
	another("with another file in the second build alone", "")
	write("far/text", "two")
	another("with another file in it", "")
	write("far/far.go", "package far\n\n//go:noinline\nfunc Say() { print(3) }\n")
	another("with another function far away", "")
	write("main.go", "package main\n\nimport \"skill/near\"\n\nfunc main() { near.Say(); near.Say() }\n")
	another("with another main function", "")
}

func TestAModuleIsKeptOnlyWholeAndWithItsNote(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.wasm")
	found := func(from string) bool {
		t.Helper()
		wasm, err := kept(file, from)
		if err != nil {
			t.Fatal(err)
		}
		return wasm != nil
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("\x00asm")
	if found("a") {
		t.Error("one without a note is taken")
	}
	if wasm, err := keep(file, "a"); err != nil || string(wasm) != "\x00asm" {
		t.Fatal(wasm, err)
	}
	if !found("a") || found("b") {
		t.Error("what it was made of does not tell whether it is taken")
	}
	write("\x00as")
	if found("a") {
		t.Error("a part of one is taken")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if found("a") {
		t.Error("one that is gone is taken")
	}
}
