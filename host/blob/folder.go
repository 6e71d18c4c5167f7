package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// A folder is the disk behind a bucket that is one. The bucket moves whole files
// into place, but leaves when they reach the disk to the system: after a power
// cut a settled call could name a blob that is empty or not there.
type folder struct {
	root  string
	above []string                          // the folders whose entries lead to the root, as far as they may be new
	sync  func(name string, dir bool) error // brings a file's bytes, or a folder's entries, to the disk
}

// newFolder is for a root that is there or will be made.
func newFolder(root string, sync func(name string, dir bool) error) (*folder, error) {
	root, err := filepath.Abs(root) // the process may change its own folder
	if err != nil {
		return nil, err
	}
	return &folder{root: root, above: foldersAbove(root), sync: sync}, nil
}

// foldersAbove gives the folders that get an entry where a root is made with all
// that leads to it: from the deepest one that is there down to its parent.
func foldersAbove(root string) (above []string) {
	for dir := filepath.Dir(root); ; dir = filepath.Dir(dir) {
		above = append(above, dir)
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			slices.Reverse(above)
			return above
		}
	}
}

// made makes the entries that lead to the root durable.
func (f *folder) made() error {
	if f == nil {
		return nil
	}
	for i, dir := range f.above {
		err := f.sync(dir, true)
		if i == 0 && errors.Is(err, fs.ErrPermission) {
			err = nil // whoever made the root there is not this process
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attributes is how the bucket ends the name of the file with a blob's metadata.
const attributes = ".attrs"

// keep makes a blob that was written durable: its bytes, its metadata, both
// names, and that of the session's folder, which this blob or one beside it has
// made.
func (f *folder) keep(key string) error {
	if f == nil {
		return nil
	}
	file := f.path(key)
	for _, part := range []struct {
		name string
		dir  bool
	}{{file, false}, {file + attributes, false}, {filepath.Dir(file), true}, {f.root, true}} {
		if err := f.sync(part.name, part.dir); err != nil {
			return err
		}
	}
	return nil
}

// purge removes the folder of a session, durably, with what the bucket does not
// list: metadata whose blob was never moved into place. A folder that is gone
// already may be so only in memory, after a purge that failed.
func (f *folder) purge(prefix string) error {
	if f == nil {
		return nil
	}
	if err := os.RemoveAll(f.path(prefix)); err != nil {
		return err
	}
	return f.sync(f.root, true)
}

// path gives where the bucket keeps a key, all of whose characters stand for
// themselves in a file's name.
func (f *folder) path(key string) string { return filepath.Join(f.root, filepath.FromSlash(key)) }

func syncFile(name string, dir bool) error {
	mode := os.O_RDWR // some systems bring only to the disk what they may write
	if dir {
		if runtime.GOOS == "windows" {
			return nil // it cannot sync a folder, and need not
		}
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile(name, mode, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
