package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
)

// syncFolder makes the entries of a folder durable.
func syncFolder(root *os.Root, folder string) error {
	if runtime.GOOS == "windows" {
		return nil // it cannot sync a folder, and need not
	}
	f, err := root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// writeWhole puts a small file in place, so that there is all of it or none
// after a crash, once its folder is synced. It writes at temp first.
func writeWhole(root *os.Root, temp, name string, data []byte) error {
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

// exists reports whether there is something of that name, be it a link.
func exists(root *os.Root, name string) (bool, error) {
	_, err := root.Lstat(name)
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

// discard removes a tree, be it one of folders that are closed to their owner.
func discard(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	openUp(root, name)
	return root.RemoveAll(name)
}

// openUp lets the owner into all folders of a tree. What it cannot change,
// the removal that follows reports.
func openUp(root *os.Root, name string) {
	for todo := []string{name}; len(todo) > 0; {
		folder := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		info, err := root.Lstat(folder)
		if err != nil || !info.IsDir() || root.Chmod(folder, 0o700) != nil {
			continue
		}
		f, err := root.Open(folder)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(-1) // as many as can be read
		_ = f.Close()
		for _, e := range entries {
			if e.IsDir() {
				todo = append(todo, path.Join(folder, e.Name()))
			}
		}
	}
}
