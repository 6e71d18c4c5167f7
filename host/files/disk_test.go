package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestEveryFolderThatGetsANewEntryIsToldOf(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, tt := range []struct {
		make string
		told []string
		fail bool
	}{
		{".", nil, false},
		{"a", []string{"."}, false},
		{"a", nil, false},
		{"a/b/c", []string{"a", "a/b"}, false},
		{"d/e", []string{".", "d"}, false},
		{"file", nil, true},
		{"file/x", nil, true},
	} {
		var told []string
		err := makeFolders(root, tt.make, func(folder string) error {
			told = append(told, folder)
			return nil
		})
		if (err != nil) != tt.fail || !slices.Equal(told, tt.told) {
			t.Errorf("%s: %v, told of %q, want %q", tt.make, err, told, tt.told)
		}
	}
}

func TestAChangeSyncsEveryFolderOfItsNewFolders(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "a", "b"))
	must(t, err)
	defer s.Close()
	v := s.View(host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"})
	_, err = v.Write(ctx, "a/b/c", []byte("x"), abi.FileCondition{})
	must(t, err)
	c, err := v.Apply(ctx)
	must(t, err)
	for _, folder := range []string{"files", "files/a", "files/a/b"} {
		if !c.touched[folder] {
			t.Errorf("%s is not synced", folder)
		}
	}
	c.Keep()
}
