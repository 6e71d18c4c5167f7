package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/sluicehq/sluice/abi"
)

// A checkpoint's commit leads to a folder of two: the tree as git keeps one,
// and the modes that git cannot keep.
const (
	recordedTree  = "files"
	recordedModes = "modes"
)

// A note is what a checkpoint says of itself: the last line of its commit's
// message, as JSON.
type note struct {
	Number  int       `json:"number"`
	Label   string    `json:"label"`
	Time    time.Time `json:"time"`
	Files   int       `json:"files"`
	Folders int       `json:"folders"`
	Links   int       `json:"links"`
	Bytes   int64     `json:"bytes"`
}

// A recorder writes the objects of one checkpoint. What is there already it
// does not write again.
type recorder struct {
	repo *repository
	tree *os.Root // what is recorded
	crew *crew

	mu      sync.Mutex
	claimed map[hash]bool // guarded by mu: written, or about to be
	made    []hash        // guarded by mu: objects that were not there before
}

// record begins a checkpoint of a tree. End it by done or by abandon.
func (r *repository) record(ctx context.Context, tree *os.Root) (*recorder, error) {
	w := &recorder{repo: r, tree: tree, crew: newCrew(ctx), claimed: map[hash]bool{}}
	f, err := r.root.Create(unfinishedFile)
	if err != nil {
		return nil, err
	}
	err = errors.Join(f.Close(), r.root.RemoveAll(incomingFolder))
	if err == nil {
		err = r.root.Mkdir(incomingFolder, 0o700)
	}
	if err != nil {
		w.abandon(reference{})
		return nil, err
	}
	return w, nil
}

// done ends a checkpoint that was made.
func (w *recorder) done() {
	// What stays, the next sweep removes.
	_ = w.repo.root.RemoveAll(incomingFolder)
	_ = w.repo.root.Remove(unfinishedFile)
}

// abandon takes back what was written. What cannot be removed, the next sweep
// removes.
func (w *recorder) abandon(ref reference) {
	_ = w.crew.wait()
	if ref.id != "" {
		if err := w.repo.root.Remove(ref.path()); err != nil && !missing(err) {
			return
		}
	}
	for _, object := range w.made {
		if w.repo.drop(object) != nil {
			return
		}
	}
	w.done()
}

// write writes a tree and a commit of it, all of it down to the disk.
func (w *recorder) write(list listing, n note) (hash, error) {
	for i := range list {
		if e := &list[i]; !e.mode.IsDir() {
			w.crew.do(func() error { return w.leaf(e) })
		}
	}
	if err := w.crew.wait(); err != nil {
		return hash{}, err
	}
	tree, err := w.folders(list)
	if err != nil {
		return hash{}, err
	}
	modes, err := w.bytes(plumbing.BlobObject, encodeModes(list))
	if err != nil {
		return hash{}, err
	}
	top, err := w.encoded(&object.Tree{Entries: []object.TreeEntry{
		{Name: recordedTree, Mode: filemode.Dir, Hash: tree},
		{Name: recordedModes, Mode: filemode.Regular, Hash: modes},
	}})
	if err != nil {
		return hash{}, err
	}
	commit, err := w.commit(top, n)
	if err != nil {
		return hash{}, err
	}
	if err := w.crew.wait(); err != nil {
		return hash{}, err
	}
	return commit, w.sync()
}

// leaf writes what a file holds or where a link leads.
func (w *recorder) leaf(e *entry) (err error) {
	if e.mode&fs.ModeSymlink != 0 {
		target, err := w.tree.Readlink(e.path)
		if err != nil {
			return err
		}
		e.hash, err = w.put(plumbing.BlobObject, int64(len(target)), func(do func(io.Reader) error) error {
			return do(strings.NewReader(target))
		})
		return err
	}
	if e.hash, err = w.file(e); errors.Is(err, errOtherBytes) {
		return changedMeanwhile(e.path)
	}
	return err
}

// heldBytes is what is kept of a file in memory, to read it only once.
const heldBytes = 256 << 10

func (w *recorder) file(e *entry) (object hash, err error) {
	if e.size > heldBytes {
		return w.put(plumbing.BlobObject, e.size, func(do func(io.Reader) error) error { return w.read(e, do) })
	}
	var data []byte
	err = w.read(e, func(r io.Reader) error {
		data, err = io.ReadAll(io.LimitReader(r, e.size+1))
		return err
	})
	if err != nil {
		return hash{}, err
	}
	return w.put(plumbing.BlobObject, e.size, func(do func(io.Reader) error) error { return do(bytes.NewReader(data)) })
}

// read gives a file's bytes to do, if it is still the file that was listed.
func (w *recorder) read(e *entry, do func(io.Reader) error) error {
	f, err := openSame(w.tree, e.path, e.info)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}

// folders writes the folders of a listing, whose other hashes are known, and
// gives that of the first.
func (w *recorder) folders(list listing) (top hash, err error) {
	inside := map[string][]object.TreeEntry{}
	for i := range slices.Backward(list) { // what is in a folder comes before it
		e := &list[i]
		if e.mode.IsDir() {
			entries := inside[e.path]
			sort.Sort(object.TreeEntrySorter(entries))
			if e.hash, err = w.encoded(&object.Tree{Entries: entries}); err != nil {
				return hash{}, err
			}
		}
		if e.path == "." {
			return e.hash, nil
		}
		inside[e.parent()] = append(inside[e.parent()], object.TreeEntry{Name: path.Base(e.path), Mode: gitMode(e.mode), Hash: e.hash})
	}
	panic("BUG: a listing without its own folder")
}

func (w *recorder) commit(top hash, n note) (hash, error) {
	about, err := json.Marshal(n)
	if err != nil {
		panic("BUG: a note does not encode: " + err.Error())
	}
	by := object.Signature{Name: "sluice", Email: "sluice@localhost", When: n.Time}
	return w.encoded(&object.Commit{Author: by, Committer: by, TreeHash: top, Message: n.Label + "\n\n" + string(about) + "\n"})
}

func (w *recorder) encoded(from interface {
	Encode(plumbing.EncodedObject) error
}) (hash, error) {
	o := &plumbing.MemoryObject{}
	if err := from.Encode(o); err != nil {
		return hash{}, err
	}
	r, err := o.Reader()
	if err != nil {
		return hash{}, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return hash{}, err
	}
	return w.bytes(o.Type(), data)
}

// bytes writes an object that is in memory, sooner or later.
func (w *recorder) bytes(kind plumbing.ObjectType, data []byte) (hash, error) {
	if int64(len(data)) > maxObjectBytes {
		return hash{}, abi.NewProblem(abi.QuotaReached, "the names of the session's files are too long for a checkpoint").
			WithHint("give shorter names, or fewer files in one folder")
	}
	w.crew.do(func() error {
		_, err := w.put(kind, int64(len(data)), func(do func(io.Reader) error) error {
			return do(bytes.NewReader(data))
		})
		return err
	})
	return plumbing.ComputeHash(kind, data), nil
}

// errOtherBytes says that the bytes of an object were not the same twice.
var errOtherBytes = errors.New("the bytes changed while they were read")

// put writes an object if it is not there. It reads the bytes once for their
// hash and once more for a new object, so that no file has to fit into memory.
func (w *recorder) put(kind plumbing.ObjectType, size int64, open func(do func(io.Reader) error) error) (object hash, err error) {
	hasher := plumbing.NewHasher(kind, size)
	err = open(func(r io.Reader) error {
		n, err := io.Copy(hasher, io.LimitReader(r, size+1))
		if err == nil && n != size {
			err = errOtherBytes
		}
		return err
	})
	if err != nil {
		return hash{}, err
	}
	object = hasher.Sum()
	if !w.claim(object) {
		return object, nil
	}
	there, err := exists(w.repo.root, objectPath(object))
	if there || err != nil {
		return object, err
	}
	return object, open(func(r io.Reader) error { return w.create(object, kind, size, r) })
}

// claim reports whether the caller is the one to write an object.
func (w *recorder) claim(object hash) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claimed[object] {
		return false
	}
	w.claimed[object] = true
	return true
}

// create writes a new object where nobody looks, down to the disk, and moves
// it into place.
func (w *recorder) create(object hash, kind plumbing.ObjectType, size int64, r io.Reader) error {
	temp := path.Join(incomingFolder, object.String())
	f, err := w.repo.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o400)
	if err != nil {
		return err
	}
	err = deflate(f, object, kind, size, r)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	w.mu.Lock()
	w.made = append(w.made, object)
	w.mu.Unlock()
	err = w.repo.root.Rename(temp, objectPath(object))
	if missing(err) {
		if err := w.repo.root.MkdirAll(path.Dir(objectPath(object)), 0o700); err != nil {
			return err
		}
		err = w.repo.root.Rename(temp, objectPath(object))
	}
	return err
}

func deflate(to io.Writer, object hash, kind plumbing.ObjectType, size int64, r io.Reader) (err error) {
	o := objfile.NewWriter(to)
	defer func() { err = errors.Join(err, o.Close()) }()
	if err := o.WriteHeader(kind, size); err != nil {
		return err
	}
	if _, err := io.Copy(o, io.LimitReader(r, size)); err != nil {
		return err
	}
	if o.Hash() != object {
		return errOtherBytes
	}
	return nil
}

// sync makes the names of all new objects durable. Their bytes are.
func (w *recorder) sync() error {
	folders := map[string]bool{}
	for _, object := range w.made {
		folders[path.Dir(objectPath(object))] = true
	}
	for folder := range folders {
		w.crew.do(func() error { return syncFolder(w.repo.root, folder) })
	}
	if err := w.crew.wait(); err != nil {
		return err
	}
	return syncFolder(w.repo.root, objectsFolder)
}

// note reads what a checkpoint says of itself.
func (r *repository) note(of hash) (n note, err error) {
	commit, err := r.commit(of)
	if err != nil {
		return note{}, err
	}
	message := strings.TrimSuffix(commit.Message, "\n")
	if err := json.Unmarshal([]byte(message[strings.LastIndex(message, "\n")+1:]), &n); err != nil {
		return note{}, damaged(hash{}, "what the checkpoint says of itself: %w", err)
	}
	return n, nil
}

func (r *repository) commit(of hash) (*object.Commit, error) {
	c := &object.Commit{}
	return c, r.decode(of, plumbing.CommitObject, c)
}

func (r *repository) folder(of hash) ([]object.TreeEntry, error) {
	t := &object.Tree{}
	err := r.decode(of, plumbing.TreeObject, t)
	return t.Entries, err
}

func (r *repository) decode(of hash, kind plumbing.ObjectType, into interface {
	Decode(plumbing.EncodedObject) error
}) error {
	o, err := r.object(of, kind)
	if err != nil {
		return err
	}
	if err := into.Decode(o); err != nil {
		return &damage{of, err}
	}
	return nil
}

// A recorded is what a commit of a checkpoint leads to.
type recorded struct {
	tree, modes hash
}

func (r *repository) recorded(commit hash) (recorded, error) {
	c, err := r.commit(commit)
	if err != nil {
		return recorded{}, err
	}
	top, err := r.folder(c.TreeHash)
	if err != nil {
		return recorded{}, err
	}
	if len(top) != 2 || top[0].Name != recordedTree || top[1].Name != recordedModes {
		return recorded{}, damaged(hash{}, "it is not the top of a checkpoint")
	}
	return recorded{top[0].Hash, top[1].Hash}, nil
}

// listing reads the tree of a checkpoint. Sizes are not known yet: they come
// with the files' bytes.
func (r *repository) listing(ctx context.Context, commit hash) (listing, error) {
	rec, err := r.recorded(commit)
	if err != nil {
		return nil, err
	}
	o, err := r.object(rec.modes, plumbing.BlobObject)
	if err != nil {
		return nil, err
	}
	reader, err := o.Reader()
	if err != nil {
		return nil, err
	}
	modes, err := parseModes(reader)
	if err != nil {
		return nil, &damage{rec.modes, err}
	}
	l := lister{ctx: ctx, repo: r, modes: modes}
	err = l.visit(entry{path: ".", mode: fs.ModeDir | plainMode(filemode.Dir), hash: rec.tree})
	return l.found, err
}

type lister struct {
	ctx   context.Context
	repo  *repository
	modes map[string]fs.FileMode
	found listing
}

func (l *lister) visit(e entry) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if len(l.found) == maxEntries || e.depth() > maxDepth {
		return damaged(hash{}, "the checkpoint is larger than any that is made")
	}
	if mode, named := l.modes[e.path]; named && e.mode&fs.ModeSymlink == 0 {
		e.mode = e.mode.Type() | mode
	}
	l.found = append(l.found, e)
	if !e.mode.IsDir() {
		return nil
	}
	inside, err := l.repo.folder(e.hash)
	if err != nil {
		return err
	}
	slices.SortFunc(inside, func(a, b object.TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range inside {
		kind, known := kindOfGit(t.Mode)
		if !known || t.Name == "." || t.Name == ".." || strings.ContainsAny(t.Name, "/\x00") {
			return damaged(hash{}, "a folder holds %q, which no folder can", t.Name)
		}
		err := l.visit(entry{path: path.Join(e.path, t.Name), mode: kind | plainMode(t.Mode), hash: t.Hash})
		if err != nil {
			return err
		}
	}
	return nil
}
