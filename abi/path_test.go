package abi_test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func FuzzCheckPath(f *testing.F) {
	for _, name := range []string{"a", "a/b", "../a", "/a", "a\x00", "con", "COM¹.txt", "a//b", ".git", "é/ü"} {
		f.Add(name)
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, name string) {
		if abi.CheckPath(name) != nil {
			return
		}
		rel, err := filepath.Rel(root, filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || filepath.ToSlash(rel) != name || !filepath.IsLocal(name) || !fs.ValidPath(name) {
			t.Errorf("%q is %q: %v", name, rel, err)
		}
	})
}
