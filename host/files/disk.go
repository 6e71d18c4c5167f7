package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"syscall"
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

// makeFolders makes a folder, with those above it, where there is none. It tells
// of each folder that has a new entry, which is durable when that is synced.
func makeFolders(root *os.Root, name string, changed func(folder string) error) error {
	switch info, err := root.Stat(name); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	case !missing(err) || name == ".":
		return err
	}
	above := path.Dir(filepath.ToSlash(name))
	if err := makeFolders(root, above, changed); err != nil {
		return err
	}
	if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // another session has the same folder above it
		return err
	}
	return changed(above)
}

// makeDurable makes a folder, with those above it, down to the disk.
func makeDurable(root *os.Root, name string) error {
	return makeFolders(root, name, func(folder string) error { return syncFolder(root, folder) })
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
