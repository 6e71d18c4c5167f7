package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestTheHostReadsASessionsFilesAndNothingBeside(t *testing.T) {
	r := newRoom(t)
	tree, closes, err := r.Tree(ref)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(tree, "notes.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a session without files: %v", err)
	}
	closes()
	r.write("plan/notes.md", "first this")
	secret := filepath.Join(r.root, "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(r.treeOnDisk(), "link")); err != nil {
		t.Fatal(err)
	}
	tree, closes, err = r.Tree(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer closes()
	if text, err := fs.ReadFile(tree, "plan/notes.md"); err != nil || string(text) != "first this" {
		t.Errorf("got %q, %v", text, err)
	}
	if text, err := fs.ReadFile(tree, "link"); err == nil {
		t.Errorf("a link leads out to %q", text)
	}
	if info, err := fs.Lstat(tree, "link"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is seen as %v, %v", info, err)
	}
}

func TestTheHostReadsNothingThatALinkInPlaceOfTheFilesLeadsTo(t *testing.T) {
	r := newRoom(t)
	r.write("f", "mine")
	r.checkpoint("x")
	tree := r.treeOnDisk()
	must(t, os.RemoveAll(tree))
	must(t, os.Symlink("checkpoints", tree))
	if _, _, err := r.Tree(ref); codeOf(err) != abi.StoreFailure {
		t.Errorf("the host opens it: %v", err)
	}
}
