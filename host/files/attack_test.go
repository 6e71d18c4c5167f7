package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/sluicehq/sluice/abi"
)

// objectOf gives the file of the object that holds a text.
func (r room) objectOf(text string) string {
	name := plumbing.ComputeHash(plumbing.BlobObject, []byte(text)).String()
	return r.at("checkpoints", "objects", name[:2], name[2:])
}

func TestDamageIsNoticedBeforeAnythingIsTouched(t *testing.T) {
	for name, harm := range map[string]func(r room, object string) error{
		"gone":  func(r room, object string) error { return os.Remove(object) },
		"empty": func(r room, object string) error { return overwrite(object, nil) },
		"cut":   func(r room, object string) error { return os.Truncate(object, 10) },
		"another's": func(r room, object string) error {
			other, err := os.ReadFile(r.objectOf("other"))
			if err != nil {
				return err
			}
			return overwrite(object, other)
		},
		"noise": func(r room, object string) error { return overwrite(object, []byte("no zlib at all")) },
		"a bit": func(r room, object string) error {
			data, err := os.ReadFile(object)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 4
			return overwrite(object, data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			const text = "what the user had written before"
			r.write("a", text)
			r.write("b", "other")
			id := r.checkpoint("x").ID
			r.write("a", "since")
			must(t, harm(r, r.objectOf(text)))
			before := everything(t, r.treeOnDisk())
			if err := r.Rollback(ctx, ref, id); codeOf(err) != abi.Broken || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("%v", err)
			}
			same(t, everything(t, r.treeOnDisk()), before, "after it")
			if rest := r.rest(); len(rest) > 0 {
				t.Errorf("left are %q", rest)
			}
			r.write("a", text) // the next checkpoint of the same text mends it
			r.checkpoint("y")
			r.write("a", "since")
			r.rollback(id)
			r.want("a="+text, "b=other")
		})
	}
}

func overwrite(name string, data []byte) error {
	if err := os.Chmod(name, 0o600); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}

func TestADamagedCheckpointIsListedAndForgotten(t *testing.T) {
	r := newRoom(t)
	r.write("a", "1")
	whole := r.checkpoint("whole").ID
	r.write("b", "2")
	other := r.checkpoint("commit gone").ID
	garbage := r.checkpoint("garbage").ID
	commit, err := os.ReadFile(r.at("checkpoints", "refs", "open", other))
	must(t, err)
	must(t, os.Remove(r.at("checkpoints", "objects", string(commit[:2]), strings.TrimSpace(string(commit[2:])))))
	must(t, os.WriteFile(r.at("checkpoints", "refs", "open", garbage), []byte("garbage"), 0o600))
	all, err := r.Checkpoints(ctx, ref)
	if err != nil || len(all) != 3 || !all[0].Damaged || !all[1].Damaged || all[2].Damaged {
		t.Errorf("listed %+v, %v", all, err)
	}
	for _, id := range []string{other, garbage} {
		if err := r.Rollback(ctx, ref, id); codeOf(err) != abi.Broken {
			t.Errorf("rollback: %v", err)
		}
		must(t, r.Forget(ctx, ref, id))
	}
	r.reachable()
	r.rollback(whole)
	r.want("a=1")
}

func TestALinkInTheFoldersPlaceIsALink(t *testing.T) {
	r := newRoom(t)
	r.write("a/secret", "mine")
	tree := r.treeOnDisk()
	folder := r.checkpoint("a folder")
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("theirs"), 0o600))
	must(t, os.RemoveAll(filepath.Join(tree, "a")))
	must(t, os.Symlink(outside, filepath.Join(tree, "a")))
	link := r.checkpoint("a link")
	if link.Files != 0 || link.Links != 1 {
		t.Errorf("made %+v", link)
	}
	r.rollback(folder.ID)
	r.want("a/secret=mine")
	r.rollback(link.ID)
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "theirs" {
		t.Errorf("outside is %q, %v", b, err)
	}
	if got, err := os.Readlink(filepath.Join(tree, "a")); err != nil || got != outside {
		t.Errorf("the link leads to %q, %v", got, err)
	}

	// A link to what lies beside the files: no call writes through it.
	must(t, os.Remove(filepath.Join(tree, "a")))
	must(t, os.Symlink("../checkpoints", filepath.Join(tree, "a")))
	v := r.View(ref)
	r.put(v, "a/HEAD", "mine")
	r.refused(v, abi.StoreFailure)
	r.rollback(folder.ID)

	must(t, os.RemoveAll(tree))
	must(t, os.Symlink("checkpoints", tree))
	if _, err := r.Checkpoint(ctx, ref, "x"); codeOf(err) != abi.StoreFailure {
		t.Errorf("a link in the place of all files: %v", err)
	}
	r.rollback(folder.ID)
	r.want("a/secret=mine")
}

// Names that only somebody who writes the repository by hand can put there.
func TestAForgedNameLeadsNowhere(t *testing.T) {
	for _, name := range []string{"..", ".", "../escaped", "a/b", "/escaped"} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.write("a", "1")
			made := r.checkpoint("x")
			repo, err := git.PlainOpen(r.at("checkpoints"))
			must(t, err)
			old, err := repo.CommitObject(r.commit(made.ID))
			must(t, err)
			top, err := old.Tree()
			must(t, err)
			inner := &object.Tree{Entries: []object.TreeEntry{{Name: name, Mode: 0o100644, Hash: plumbing.ComputeHash(plumbing.BlobObject, []byte("1"))}}}
			top.Entries[0].Hash = put(t, repo, inner)
			old.TreeHash = put(t, repo, top)
			must(t, os.WriteFile(r.at("checkpoints", "refs", "open", made.ID), []byte(put(t, repo, old).String()+"\n"), 0o600))
			if err := r.Rollback(ctx, ref, made.ID); codeOf(err) != abi.Broken {
				t.Errorf("%v", err)
			}
			r.want("a=1")
			if rest := r.rest(); len(rest) > 0 {
				t.Errorf("left are %q", rest)
			}
		})
	}
}

func (r room) commit(id string) plumbing.Hash {
	data, err := os.ReadFile(r.at("checkpoints", "refs", "open", id))
	must(r.T, err)
	return plumbing.NewHash(strings.TrimSpace(string(data)))
}

func put(t *testing.T, repo *git.Repository, from interface {
	Encode(plumbing.EncodedObject) error
}) plumbing.Hash {
	t.Helper()
	o := repo.Storer.NewEncodedObject()
	must(t, from.Encode(o))
	hash, err := repo.Storer.SetEncodedObject(o)
	must(t, err)
	return hash
}
