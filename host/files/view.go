package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// MaxReadBytes bounds one read: what one call may write, so that whatever is
// written can be read.
const MaxReadBytes = abi.CallWriteBytes

// maxListed bounds one listing. Calls that run side by side may bring a session
// above MaxFiles together, each with up to abi.CallWrites: then it can still be
// read and made smaller, and only not grow.
const maxListed = 2 * MaxFiles

// A View is what one attempt of a call sees of its session's files: what is
// stored, with the call's own changes over it. Changes stay in the view, in
// memory, until Apply. It is for one goroutine.
//
// A path that no file may have is BadHostCall, one that leads to nothing is
// NotFound with what is near it, a condition that does not hold and a name that
// is taken are Conflict, too much is QuotaReached. After a rollback, whatever
// needs the disk is StoreConflict: begin with a new view. Failures of the disk
// are StoreFailure.
type View struct {
	store *Store
	ref   host.SessionRef

	files   map[string]file // what the call sees, by path; nil until the first use
	rolled  string          // the last rollback when files were listed
	total   int64           // bytes of files
	changes map[string]change
	written int64 // bytes of the data in changes
}

// A file is one that the call sees.
type file struct {
	size  int64
	hash  string // empty until it was needed
	fresh bool   // the call has written it: its data is in changes
}

// A change is what the call made of one path.
type change struct {
	data    []byte
	hash    string // of data; empty where the file is removed
	removed bool
	onDisk  *string // the hash that the file on disk must have by then, "" for none; nil where it does not matter
}

// View gives a new view of a session's files. It reads nothing yet; ids that
// are none are reported by every use.
func (s *Store) View(ref host.SessionRef) *View { return &View{store: s, ref: ref} }

// Read gives the bytes of a file, up to MaxReadBytes. The caller must not
// change them.
func (v *View) Read(ctx context.Context, name string) ([]byte, error) {
	const op = "files.Read"
	f, err := v.find(ctx, op, name)
	if err != nil {
		return nil, err
	}
	if f.fresh {
		return v.changes[name].data, nil
	}
	if f.size > int64(MaxReadBytes) {
		return nil, refuse(op, abi.NewProblem(abi.QuotaReached, "the file %s has %d bytes; at most %d are read", abi.EchoPath(name), f.size, int64(MaxReadBytes)))
	}
	var data []byte
	err = v.open(op, name, func(r io.Reader) (err error) {
		data, err = io.ReadAll(io.LimitReader(r, int64(MaxReadBytes)))
		return err
	})
	return data, err
}

// List gives the files and folders in a folder, sorted by name; "" is the
// session's own. A folder without a file does not exist, but for that one.
func (v *View) List(ctx context.Context, folder string) ([]abi.FileEntry, error) {
	const op = "files.List"
	if problem := abi.CheckFolder(folder); problem != nil {
		return nil, refuse(op, problem)
	}
	if err := v.load(ctx, op); err != nil {
		return nil, err
	}
	prefix := ""
	if folder != "" && folder != "." {
		prefix = folder + "/"
	}
	entries, err := v.entries(ctx, op, prefix)
	if err == nil && len(entries) == 0 && prefix != "" {
		return nil, refuse(op, v.notThere(folder, "folder"))
	}
	return entries, err
}

func (v *View) entries(ctx context.Context, op, prefix string) ([]abi.FileEntry, error) {
	entries := []abi.FileEntry{}
	folders := map[string]bool{}
	for name, f := range v.files {
		rest, inside := strings.CutPrefix(name, prefix)
		if !inside {
			continue
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			folders[first] = true
			continue
		}
		hash, err := v.hash(ctx, op, name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, abi.FileEntry{Name: rest, Size: f.size, Hash: hash})
	}
	for name := range folders {
		entries = append(entries, abi.FileEntry{Name: name, Dir: true})
	}
	slices.SortFunc(entries, func(a, b abi.FileEntry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

// Write puts a file with the given bytes in place of any other and gives its
// hash. With a condition it does so only where the file has that hash, or is
// not there for "". A write that finds its own bytes there already has
// succeeded, whatever its condition: it may be repeated. The view keeps data.
func (v *View) Write(ctx context.Context, name string, data []byte, condition abi.FileCondition) (hash string, err error) {
	const op = "files.Write"
	if problem := abi.CheckPath(name); problem != nil {
		return "", refuse(op, problem)
	}
	if err := v.load(ctx, op); err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	c := change{data: data, hash: hex.EncodeToString(sum[:])}
	if problem := v.room(name, len(data)); problem != nil {
		return "", refuse(op, problem)
	}
	if c.onDisk, err = v.held(ctx, op, name, c.hash, condition); err != nil {
		return "", err
	}
	v.set(name, c)
	return c.hash, nil
}

// Remove removes a file.
func (v *View) Remove(ctx context.Context, name string) error {
	const op = "files.Remove"
	if _, err := v.find(ctx, op, name); err != nil {
		return err
	}
	if problem := v.roomForChange(name, 0); problem != nil {
		return refuse(op, problem)
	}
	c := change{removed: true}
	if earlier, again := v.changes[name]; again {
		c.onDisk = earlier.onDisk
	}
	v.set(name, c)
	return nil
}

// set makes a change that has been checked.
func (v *View) set(name string, c change) {
	v.written += int64(len(c.data) - len(v.changes[name].data))
	v.total -= v.files[name].size
	if v.changes == nil {
		v.changes = map[string]change{}
	}
	v.changes[name] = c
	if c.removed {
		delete(v.files, name)
		return
	}
	v.files[name] = file{size: int64(len(c.data)), hash: c.hash, fresh: true}
	v.total += int64(len(c.data))
}

// room says why a file of so many bytes cannot be written there, or nothing.
func (v *View) room(name string, size int) *abi.Problem {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if _, taken := v.files[folder]; taken {
			return abi.NewProblem(abi.Conflict, "%s cannot be written: %s is a file and not a folder", abi.EchoPath(name), abi.EchoPath(folder)).WithField("path")
		}
	}
	old, exists := v.files[name]
	if !exists && v.isFolder(name) {
		return abi.NewProblem(abi.Conflict, "%s cannot be written: it is a folder", abi.EchoPath(name)).WithField("path").WithHint("choose a name inside it")
	}
	if !exists && len(v.files) >= MaxFiles {
		return abi.NewProblem(abi.QuotaReached, "the session has %d files, which is all that it may have", len(v.files)).WithHint("remove what is not needed first")
	}
	if total := v.total - old.size + int64(size); total > int64(MaxBytes) && int64(size) > old.size {
		return abi.NewProblem(abi.QuotaReached, "the session's files would have %d bytes; they may have %s", total, MaxBytes).WithHint("remove what is not needed first")
	}
	return v.roomForChange(name, size)
}

func (v *View) roomForChange(name string, size int) *abi.Problem {
	old, again := v.changes[name]
	if !again && len(v.changes) >= abi.CallWrites {
		return abi.NewProblem(abi.QuotaReached, "one call may change %d files", abi.CallWrites)
	}
	if v.written+int64(size-len(old.data)) > int64(abi.CallWriteBytes) {
		return abi.NewProblem(abi.QuotaReached, "one call may write %s to files", abi.CallWriteBytes)
	}
	return nil
}

func (v *View) isFolder(name string) bool {
	for other := range v.files {
		if strings.HasPrefix(other, name) && strings.HasPrefix(other[len(name):], "/") {
			return true
		}
	}
	return false
}

// held checks a write's condition and gives what it asks of the disk when the
// write is applied.
func (v *View) held(ctx context.Context, op, name, hash string, condition abi.FileCondition) (onDisk *string, err error) {
	earlier, again := v.changes[name]
	if condition.IfHash == nil {
		return earlier.onDisk, nil
	}
	current := ""
	if _, exists := v.files[name]; exists {
		if current, err = v.hash(ctx, op, name); err != nil {
			return nil, err
		}
	}
	if current != *condition.IfHash && current != hash {
		return nil, refuse(op, conflict(name, current))
	}
	if again {
		return earlier.onDisk, nil
	}
	return &current, nil
}

func conflict(name, current string) *abi.Problem {
	if current == "" {
		return abi.NewProblem(abi.Conflict, "there is no file %s, and the write asks for one with a certain hash", abi.EchoPath(name)).
			WithField("if_hash").WithHint(`give "" as the hash of a file that is not there`)
	}
	return abi.NewProblem(abi.Conflict, "the file %s has another hash than the write asks for", abi.EchoPath(name)).
		WithField("if_hash").WithHint("read the file again, and decide on what it says now").WithCandidates(current)
}

// find gives a file that is there.
func (v *View) find(ctx context.Context, op, name string) (file, error) {
	if problem := abi.CheckPath(name); problem != nil {
		return file{}, refuse(op, problem)
	}
	if err := v.load(ctx, op); err != nil {
		return file{}, err
	}
	f, exists := v.files[name]
	if !exists {
		return file{}, refuse(op, v.notThere(name, "file"))
	}
	return f, nil
}

// Bounds of what a message lists, and of what is compared for it.
const (
	candidates = 10
	compared   = 500 // names: a comparison takes a microsecond or more
)

// notThere says what is there instead: the names that are near, nearest first,
// and then others that exist.
func (v *View) notThere(name, what string) *abi.Problem {
	p := abi.NewProblem(abi.NotFound, "there is no %s %s", what, abi.EchoPath(name)).WithField("path")
	if _, isFile := v.files[name]; isFile {
		return p.WithHint("it is a file; read it, or list the folder that it is in")
	}
	if v.isFolder(name) {
		return p.WithHint("it is a folder; list it, and name a file in it")
	}
	if len(v.files) == 0 {
		return p.WithHint("the session has no files yet")
	}
	known := v.neighbours(name, what)
	near := abi.Nearest(name, known, candidates)
	if len(near) > 0 {
		p.WithHint("did you mean %s? The candidates after it are others that there are", abi.EchoPath(near[0]))
	} else {
		p.WithHint("the session has %d files; the candidates are some of what there is", len(v.files))
	}
	others := slices.DeleteFunc(known, func(k string) bool { return slices.Contains(near, k) })
	return p.WithCandidates(append(near, others[:min(len(others), candidates-len(near))]...)...)
}

// neighbours gives names to compare with, of files or of folders: those in the
// same folder first.
func (v *View) neighbours(name, what string) []string {
	all := slices.Sorted(maps.Keys(v.files))
	if what == "folder" {
		all = foldersOf(all)
	}
	slices.SortStableFunc(all, func(a, b string) int {
		return cmp.Compare(distant(a, name), distant(b, name))
	})
	return all[:min(len(all), compared)]
}

// foldersOf gives the folders that files lie in, sorted.
func foldersOf(names []string) []string {
	folders := map[string]bool{}
	for _, name := range names {
		for folder := path.Dir(name); folder != "." && !folders[folder]; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
	return slices.Sorted(maps.Keys(folders))
}

func distant(a, b string) int {
	if path.Dir(a) == path.Dir(b) || path.Base(a) == path.Base(b) {
		return 0
	}
	return 1
}

// hash gives the hash of a file that is there.
func (v *View) hash(ctx context.Context, op, name string) (string, error) {
	f := v.files[name]
	if f.hash != "" {
		return f.hash, nil
	}
	if err := ctx.Err(); err != nil {
		return "", host.Fail(op, nil, err)
	}
	h := sha256.New()
	err := v.open(op, name, func(r io.Reader) error {
		_, err := io.Copy(h, io.LimitReader(r, int64(MaxBytes)))
		return err
	})
	if err != nil {
		return "", err
	}
	f.hash = hex.EncodeToString(h.Sum(nil))
	v.files[name] = f
	return f.hash, nil
}

// open gives a stored file's bytes to do.
func (v *View) open(op, name string, do func(io.Reader) error) error {
	err := v.store.reading(v.ref, func(session *os.Root) error {
		if err := v.current(session); err != nil {
			return err
		}
		tree, err := openTree(session)
		if err != nil {
			return err
		}
		defer tree.Close()
		f, err := tree.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return do(f)
	})
	if missing(err) {
		return refuse(op, abi.NewProblem(abi.StoreConflict, "the file %s was removed by another call", abi.EchoPath(name)))
	}
	return v.failed(op, "the file "+abi.EchoPath(name)+" cannot be read", err)
}

// current reports whether the tree is still the one that the view has listed,
// with the changes of calls.
func (v *View) current(session *os.Root) error {
	rolled, err := lastRollback(session)
	if err == nil && rolled != v.rolled {
		err = abi.NewProblem(abi.StoreConflict, "the session's files were rolled back meanwhile")
	}
	return err
}

func (v *View) failed(op, message string, err error) error {
	switch problem := host.ProblemOf(err); {
	case err == nil:
		return nil
	case problem.Code == abi.SystemFailure:
		return failure(op, message, err)
	default:
		return host.Fail(op, problem, err)
	}
}

// load lists the session's files, once. What is no plain file, and what has a
// name that no path may have, is not there.
func (v *View) load(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return host.Fail(op, nil, err)
	}
	if v.files != nil {
		return nil
	}
	if err := v.ref.Valid(); err != nil {
		return refuse(op, abi.NewProblem(abi.BadValue, "%v", err))
	}
	v.files, v.total = map[string]file{}, 0
	err := v.store.reading(v.ref, func(session *os.Root) (err error) {
		if v.rolled, err = lastRollback(session); err != nil {
			return err
		}
		return v.walk(ctx, session.FS())
	})
	if err != nil && !missing(err) { // a session without a folder has no files
		v.files = nil
		return v.failed(op, "the session's files cannot be listed", err)
	}
	return nil
}

func (v *View) walk(ctx context.Context, session fs.FS) error {
	return fs.WalkDir(session, treeFolder, func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(name, treeFolder), "/")
		switch {
		case missing(err):
			return nil // removed while we looked, or never made
		case err != nil:
			return err
		case rel == "":
			return nil
		case abi.CheckPath(rel) != nil && d.IsDir():
			return fs.SkipDir
		case abi.CheckPath(rel) != nil || !d.Type().IsRegular():
			return nil
		case len(v.files) == maxListed:
			return abi.NewProblem(abi.QuotaReached, "the session has more than %d files", maxListed)
		}
		info, err := d.Info()
		if missing(err) {
			return nil // removed while we looked
		}
		if err == nil {
			v.files[rel] = file{size: info.Size()}
			v.total += info.Size()
		}
		return err
	})
}

func refuse(op string, problem *abi.Problem) error { return host.Fail(op, problem, nil) }
