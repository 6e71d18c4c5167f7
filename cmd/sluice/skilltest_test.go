package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAWatchedFolderTellsWhatChanged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func() map[string]string {
		t.Helper()
		found, err := stamps(dir)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	write("skill.go", "one")
	write("src/lib.rs", "one")
	before := look()
	for _, name := range []string{"skill.wasm", "skill.yaml", ".git/index", "node_modules/a/b.js", "target/x", ".skill.go.swp"} {
		write(name, "what no author writes")
	}
	if got := differing(before, look()); got != nil {
		t.Errorf("what builds and editors write is told as %v", got)
	}
	write("skill.go", "one and more")
	write("SKILL.md", "new")
	if err := os.Remove(filepath.Join(dir, "src", "lib.rs")); err != nil {
		t.Fatal(err)
	}
	if got, want := differing(before, look()), []string{"SKILL.md", "skill.go", filepath.Join("src", "lib.rs")}; !slices.Equal(got, want) {
		t.Errorf("told is %v, want %v", got, want)
	}
	if _, err := stamps(filepath.Join(dir, "not there")); err == nil {
		t.Error("a folder that is not there is watched")
	}
}
