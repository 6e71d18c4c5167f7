package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"github.com/sluicehq/sluice/abi"
)

// The parts of the hidden repository: what git knows, and what is on its way.
const (
	objectsFolder = "objects"
	openRefs      = "refs/open" // of checkpoints whose task is not at its end
	keptRefs      = "refs/kept"
	headFile      = "HEAD"
	configFile    = "config"

	incomingFolder = "incoming"   // files that are being written
	unfinishedFile = "unfinished" // says that there may be objects that no checkpoint reaches
)

// maxObjectBytes bounds an object that is read into memory: a folder, the
// modes of a tree. MaxFiles names of usual length are below a tenth of it.
const maxObjectBytes = 16 * int64(abi.MiB)

type hash = plumbing.Hash

// A repository is a bare one of git, with loose objects only. It is written
// through an os.Root and down to the disk, both of which go-git's own storage
// does not do. Whoever writes holds the session's lock.
type repository struct {
	root *os.Root
}

// damage says that an object is not what its name says, or is not there.
type damage struct {
	object hash
	cause  error
}

func (d *damage) Error() string { return fmt.Sprintf("object %s is damaged: %v", d.object, d.cause) }

func damaged(object hash, format string, args ...any) error {
	return &damage{object, fmt.Errorf(format, args...)}
}

// openRepository opens a session's repository; an error that is fs.ErrNotExist
// means that it has none.
func openRepository(session *os.Root) (*repository, error) {
	root, err := session.OpenRoot(checkpointsFolder)
	if err != nil {
		return nil, err
	}
	return &repository{root}, nil
}

// makeRepository opens a session's repository and makes it where there is none.
func makeRepository(session *os.Root) (*repository, error) {
	if err := makeDurable(session, checkpointsFolder); err != nil {
		return nil, err
	}
	r, err := openRepository(session)
	if err != nil {
		return nil, err
	}
	if err := r.initialise(); err != nil {
		_ = r.close()
		return nil, err
	}
	return r, nil
}

func (r *repository) close() error { return r.root.Close() }

// initialise makes what is missing; git's HEAD comes last and says that the
// rest is there.
func (r *repository) initialise() error {
	if ready, err := exists(r.root, headFile); ready || err != nil {
		return err
	}
	for _, folder := range []string{objectsFolder, openRefs, keptRefs} {
		if err := r.root.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if err := writeWhole(r.root, configFile+".new", configFile, []byte(config)); err != nil {
		return err
	}
	if err := writeWhole(r.root, headFile+".new", headFile, []byte("ref: refs/heads/main\n")); err != nil {
		return err
	}
	return errors.Join(syncFolder(r.root, "refs"), syncFolder(r.root, "."))
}

// A reference makes a checkpoint: what it leads to is kept.
type reference struct {
	id     string
	number int // in the order in which they were made
	open   bool
}

func (f reference) path() string {
	if f.open {
		return path.Join(openRefs, f.id)
	}
	return path.Join(keptRefs, f.id)
}

// newReference names a checkpoint by its number, for people, and by its
// commit, so that a number that comes back never means another one.
func newReference(number int, commit hash) reference {
	return reference{id: fmt.Sprintf("%d-%s", number, commit.String()[:8]), number: number, open: true}
}

// numberOf reads the number of an id, 0 where it is none.
func numberOf(id string) int {
	number, name, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || fmt.Sprintf("%d-%s", n, name) != id || len(name) != 8 || strings.Trim(name, "0123456789abcdef") != "" {
		return 0
	}
	return n
}

// references lists the checkpoints, the oldest first.
func (r *repository) references() ([]reference, error) {
	var found []reference
	for folder, open := range map[string]bool{openRefs: true, keptRefs: false} {
		names, err := r.names(folder)
		if missing(err) {
			continue // the repository was never made to its end
		}
		if err != nil {
			return nil, err
		}
		for _, id := range names {
			if number := numberOf(id); number > 0 {
				found = append(found, reference{id, number, open})
			}
		}
	}
	slices.SortFunc(found, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id))
	})
	return found, nil
}

func (r *repository) names(folder string) ([]string, error) {
	f, err := r.root.Open(folder)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// commitOf reads where a reference leads.
func (r *repository) commitOf(ref reference) (hash, error) {
	text, err := r.root.ReadFile(ref.path())
	if err != nil {
		return hash{}, err
	}
	commit := strings.TrimSuffix(string(text), "\n")
	if !plumbing.IsHash(commit) {
		return hash{}, damaged(hash{}, "the checkpoint %s leads nowhere", ref.id)
	}
	return plumbing.NewHash(commit), nil
}

// setReference makes a checkpoint of a commit, of which all is on disk.
func (r *repository) setReference(ref reference, commit hash) error {
	temp := path.Join(incomingFolder, ref.id)
	if err := writeWhole(r.root, temp, ref.path(), []byte(commit.String()+"\n")); err != nil {
		return err
	}
	return syncFolder(r.root, path.Dir(ref.path()))
}

// keep says of checkpoints that their task is at its end.
func (r *repository) keep(refs []reference) error {
	for _, ref := range refs {
		kept := ref
		kept.open = false
		if err := r.root.Rename(ref.path(), kept.path()); err != nil {
			return err
		}
	}
	if len(refs) == 0 {
		return nil
	}
	return errors.Join(syncFolder(r.root, keptRefs), syncFolder(r.root, openRefs))
}

func objectPath(object hash) string {
	name := object.String()
	return path.Join(objectsFolder, name[:2], name[2:])
}

// copyObject writes the bytes of an object to w. That they are not what the
// object's name says, it knows only when all are written: the error is a
// damage then.
func (r *repository) copyObject(w io.Writer, object hash, kind plumbing.ObjectType, limit int64) (size int64, err error) {
	f, err := r.root.Open(objectPath(object))
	if missing(err) {
		return 0, damaged(object, "it is not there")
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	disk, to := &faults{reader: f}, &faults{writer: w}
	size, err = copyChecked(to, disk, object, kind, limit)
	if fault := errors.Join(disk.err, to.err); fault != nil {
		return size, fault
	}
	if err != nil {
		return size, &damage{object, err}
	}
	return size, nil
}

func copyChecked(w io.Writer, from io.Reader, object hash, kind plumbing.ObjectType, limit int64) (int64, error) {
	reader, err := objfile.NewReader(from)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	is, size, err := reader.Header()
	switch {
	case err != nil:
		return 0, err
	case is != kind:
		return 0, fmt.Errorf("it is a %v and no %v", is, kind)
	case size > limit:
		return 0, fmt.Errorf("it has %d bytes, more than %d", size, limit)
	}
	n, err := io.Copy(w, io.LimitReader(reader, size+1))
	switch {
	case err != nil:
		return n, err
	case n != size:
		return n, fmt.Errorf("it has %d bytes of %d", n, size)
	case reader.Hash() != object:
		return n, errors.New("its bytes are not those that it was made of")
	}
	return n, nil
}

// faults remembers an error of what it reads or writes, to tell a fault of the
// disk from damage.
type faults struct {
	reader io.Reader
	writer io.Writer
	err    error
}

func (f *faults) Read(p []byte) (int, error) {
	n, err := f.reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func (f *faults) Write(p []byte) (int, error) {
	n, err := f.writer.Write(p)
	if err != nil {
		f.err = err
	}
	return n, err
}

// object reads an object into memory.
func (r *repository) object(object hash, kind plumbing.ObjectType) (*plumbing.MemoryObject, error) {
	o := &plumbing.MemoryObject{}
	o.SetType(kind)
	if _, err := r.copyObject(o, object, kind, maxObjectBytes); err != nil {
		return nil, err
	}
	return o, nil
}

// mend removes an object that an error says is damaged, so that the next
// checkpoint of the same content writes it again.
func (r *repository) mend(err error) {
	var d *damage
	if errors.As(err, &d) && !d.object.IsZero() {
		_ = r.root.Remove(objectPath(d.object)) // it is of no use in either case
	}
}

// visitObjects calls visit for every object, with its bytes on disk.
func (r *repository) visitObjects(visit func(object hash, size int64) error) error {
	folders, err := r.names(objectsFolder)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		names, err := r.names(path.Join(objectsFolder, folder))
		if err != nil {
			return err
		}
		for _, name := range names {
			if !plumbing.IsHash(folder + name) {
				continue
			}
			object := plumbing.NewHash(folder + name)
			info, err := r.root.Lstat(objectPath(object))
			if err != nil {
				return err
			}
			if err := visit(object, info.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}

// usage gives the bytes of all objects on disk.
func (r *repository) usage() (total int64, err error) {
	err = r.visitObjects(func(_ hash, size int64) error {
		total += size
		return nil
	})
	return total, err
}
