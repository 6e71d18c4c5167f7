package registry

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/sluicehq/sluice/abi"
)

// A file is one plain file of a release, by its slash-separated path.
type file struct {
	name string
	data []byte
}

// readTree reads the files behind a tag, in the order of the tree. It looks at
// names, kinds and sizes before it reads contents, and proves that every object
// has the id that it was asked for by.
func readTree(ctx context.Context, objects storer.EncodedObjectStorer, t tag, most limits) ([]file, error) {
	id, err := peel(objects, t.object)
	if err != nil {
		return nil, err
	}
	if id != t.commit {
		return nil, fmt.Errorf("%w: the tag stands on commit %s and was announced on %s", errNotRelease, id, t.commit)
	}
	o, err := readObject(objects, id, plumbing.CommitObject, maxMetaBytes)
	if err != nil {
		return nil, err
	}
	var commit object.Commit
	if err := commit.Decode(o); err != nil {
		return nil, fmt.Errorf("%w: commit %s: %v", errNotRelease, id, err)
	}
	w := walk{objects: objects, most: most, left: most.total}
	if err := w.tree(ctx, commit.TreeHash, ""); err != nil {
		return nil, err
	}
	return w.read(ctx)
}

// maxTagChain bounds tags that stand on tags.
const maxTagChain = 4

// peel gives the commit that a tag object stands on.
func peel(objects storer.EncodedObjectStorer, id plumbing.Hash) (plumbing.Hash, error) {
	for range maxTagChain {
		o, err := readObject(objects, id, plumbing.AnyObject, maxMetaBytes)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if o.Type() == plumbing.CommitObject {
			return id, nil
		}
		var t object.Tag
		if err := t.Decode(o); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%w: the tag stands on a %s", errNotRelease, o.Type())
		}
		if id = t.Target; t.TargetType == plumbing.CommitObject {
			return id, nil
		}
	}
	return plumbing.ZeroHash, fmt.Errorf("%w: the tag stands on too many tags", errNotRelease)
}

// A walk lists the blobs of a tree, and then reads them.
type walk struct {
	objects storer.EncodedObjectStorer
	most    limits
	left    abi.Size // bytes that may still be read
	entries int
	blobs   []blob
}

type blob struct {
	name string
	id   plumbing.Hash
}

func (w *walk) tree(ctx context.Context, id plumbing.Hash, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o, err := readObject(w.objects, id, plumbing.TreeObject, maxMetaBytes)
	if err != nil {
		return err
	}
	var tree object.Tree
	if err := tree.Decode(o); err != nil {
		return fmt.Errorf("%w: tree %s: %v", errNotRelease, id, err)
	}
	seen := map[string]bool{}
	for _, entry := range tree.Entries {
		name := dir + entry.Name
		if !validName(entry.Name) || seen[entry.Name] {
			return fmt.Errorf("%w: the tree holds the name %.80q", errNotRelease, name)
		}
		seen[entry.Name] = true
		if err := w.entry(ctx, entry, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(ctx context.Context, entry object.TreeEntry, name string) error {
	if w.entries++; w.entries > maxFiles {
		return fmt.Errorf("%w: the tree holds more than %d files and folders", errNotRelease, maxFiles)
	}
	switch entry.Mode {
	case filemode.Dir:
		if strings.Count(name, "/") >= maxDepth {
			return fmt.Errorf("%w: the tree is more than %d folders deep", errNotRelease, maxDepth)
		}
		return w.tree(ctx, entry.Hash, name+"/")
	case filemode.Regular, filemode.Deprecated, filemode.Executable:
		return w.blob(entry.Hash, name)
	case filemode.Symlink:
		return fmt.Errorf("%w: %.80q is a symbolic link; a release holds plain files", errNotRelease, name)
	case filemode.Submodule:
		return fmt.Errorf("%w: %.80q is a submodule; a release holds plain files", errNotRelease, name)
	}
	return fmt.Errorf("%w: %.80q has the mode %s", errNotRelease, name, entry.Mode)
}

func (w *walk) blob(id plumbing.Hash, name string) error {
	size, err := w.objects.EncodedObjectSize(id)
	if err != nil {
		return err
	}
	if abi.Size(size) > w.most.file {
		return fmt.Errorf("%w: %.80q has %d bytes and may have %s", errTooLarge, name, size, w.most.file)
	}
	if w.left -= abi.Size(size); w.left < 0 {
		return fmt.Errorf("%w: the files have more than %s together", errTooLarge, w.most.total)
	}
	w.blobs = append(w.blobs, blob{name, id})
	return nil
}

func (w *walk) read(ctx context.Context) ([]file, error) {
	files := make([]file, 0, len(w.blobs))
	for _, b := range w.blobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o, err := readObject(w.objects, b.id, plumbing.BlobObject, w.most.file)
		if err != nil {
			return nil, err
		}
		data, err := contents(o)
		if err != nil {
			return nil, err
		}
		files = append(files, file{b.name, data})
	}
	return files, nil
}

// validName refuses what some system takes for something else than the name of
// one file in a folder.
func validName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > maxNameBytes || strings.EqualFold(name, ".git") {
		return false
	}
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune(`/\:`, r)
	})
}

// readObject reads one object of at most so many bytes and proves its id.
func readObject(objects storer.EncodedObjectStorer, id plumbing.Hash, kind plumbing.ObjectType, most abi.Size) (plumbing.EncodedObject, error) {
	size, err := objects.EncodedObjectSize(id)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", id, err)
	}
	if abi.Size(size) > most {
		return nil, fmt.Errorf("%w: object %s has %d bytes and may have %s", errTooLarge, id, size, most)
	}
	o, err := objects.EncodedObject(plumbing.AnyObject, id)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", id, err)
	}
	data, err := contents(o)
	if err != nil {
		return nil, err
	}
	if plumbing.ComputeHash(o.Type(), data) != id {
		return nil, fmt.Errorf("%w: object %s has other content", errDamaged, id)
	}
	if kind != plumbing.AnyObject && o.Type() != kind {
		return nil, fmt.Errorf("%w: object %s is a %s and not a %s", errNotRelease, id, o.Type(), kind)
	}
	return o, nil
}

func contents(o plumbing.EncodedObject) ([]byte, error) {
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, o.Size()))
}
