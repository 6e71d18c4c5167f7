package registry

import (
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
)

// A builder makes the git objects of one release in memory.
type builder struct {
	objects   *memory.Storage
	signature object.Signature
	message   string
}

// release gives the ids of the tag object and of the commit.
func (b builder) release(v Version, files []file) (tagged, commit plumbing.Hash, err error) {
	tree, err := b.tree(files)
	if err != nil {
		return tagged, commit, err
	}
	// Without parents: a release stands on no other.
	commit, err = b.store(&object.Commit{Author: b.signature, Committer: b.signature, Message: b.message, TreeHash: tree})
	if err != nil {
		return tagged, commit, err
	}
	tagged, err = b.store(&object.Tag{
		Name: strings.TrimPrefix(v.ref(), tagPrefix), Tagger: b.signature, Message: b.message,
		TargetType: plumbing.CommitObject, Target: commit,
	})
	return tagged, commit, err
}

// tree stores the files of one folder, which are sorted, and its subfolders.
func (b builder) tree(files []file) (plumbing.Hash, error) {
	var tree object.Tree
	for len(files) > 0 {
		folder, _, nested := strings.Cut(files[0].name, "/")
		if !nested {
			id, err := b.blob(files[0].data)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			tree.Entries = append(tree.Entries, object.TreeEntry{Name: files[0].name, Mode: filemode.Regular, Hash: id})
			files = files[1:]
			continue
		}
		var inside, rest []file
		for _, f := range files {
			if name, ok := strings.CutPrefix(f.name, folder+"/"); ok {
				inside = append(inside, file{name, f.data})
			} else {
				rest = append(rest, f)
			}
		}
		id, err := b.tree(inside)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: folder, Mode: filemode.Dir, Hash: id})
		files = rest
	}
	slices.SortFunc(tree.Entries, func(x, y object.TreeEntry) int { return strings.Compare(treeOrder(x), treeOrder(y)) })
	return b.store(&tree)
}

// treeOrder is what git sorts the entries of a tree by.
func treeOrder(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

func (b builder) blob(data []byte) (plumbing.Hash, error) {
	o := b.objects.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if _, err := w.Write(data); err != nil {
		return plumbing.ZeroHash, err
	}
	return b.objects.SetEncodedObject(o)
}

func (b builder) store(encoded interface {
	Encode(plumbing.EncodedObject) error
}) (plumbing.Hash, error) {
	o := b.objects.NewEncodedObject()
	if err := encoded.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return b.objects.SetEncodedObject(o)
}
