package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A codeCache keeps the engine's machine code on disk: one folder for each
// module, named by the module's digest. The engine trusts what it reads there
// and would run it, so every folder holds the sums of its files, and one that
// does not fit its sums is thrown away. It is only as safe as the folder:
// nobody but the host may write there.
//
// Folders are made aside and renamed, so that processes may share a cache.
// None of the methods fails: without a usable folder the code is made anew.
type codeCache struct{ dir string } // "" is no cache

const (
	sumsFile    = "sums"
	asidePrefix = "making-"
	// asideAge is when a folder that was being made is taken for abandoned: no
	// compilation takes so long.
	asideAge = time.Hour
)

// openCache makes the cache's folder and clears away what was abandoned in it.
func openCache(dir string) (codeCache, error) {
	if dir == "" {
		return codeCache{}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return codeCache{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return codeCache{}, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), asidePrefix) && time.Since(info.ModTime()) > asideAge {
			_ = os.RemoveAll(filepath.Join(dir, e.Name())) // the next start tries again
		}
	}
	return codeCache{dir}, nil
}

// find gives the folder of a digest if all of it is as it was left.
func (c codeCache) find(digest string) (dir string, ok bool) {
	if c.dir == "" {
		return "", false
	}
	dir = filepath.Join(c.dir, digest)
	want, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return "", false
	}
	got, err := sums(dir)
	return dir, err == nil && got == string(want)
}

// aside gives a new folder to make code in, if there can be one.
func (c codeCache) aside() (dir string, ok bool) {
	if c.dir == "" {
		return "", false
	}
	dir, err := os.MkdirTemp(c.dir, asidePrefix)
	return dir, err == nil
}

// drop removes a folder that is of no use. What cannot be removed is found
// not to fit its sums, or to be abandoned, later.
func (c codeCache) drop(dir string) { _ = os.RemoveAll(dir) }

// keep makes a folder from aside the one of a digest. Of two processes that
// made the same code, one wins.
func (c codeCache) keep(aside, digest string) {
	defer c.drop(aside)
	if seal(aside) != nil {
		return
	}
	dir := filepath.Join(c.dir, digest)
	if os.Rename(aside, dir) == nil {
		return
	}
	if _, ok := c.find(digest); !ok {
		c.drop(dir)
		_ = os.Rename(aside, dir) // else the next load makes the code again
	}
}

// reseal takes up the file that the engine adds to a folder which was made by
// another version of it, or on another processor.
func (c codeCache) reseal(dir string) {
	sealed, err := os.ReadFile(filepath.Join(dir, sumsFile))
	files, walkErr := codeFiles(dir)
	if err == nil && walkErr == nil && len(files) != bytes.Count(sealed, []byte("\n")) {
		_ = seal(dir) // else the folder is thrown away by the next load
	}
}

// seal writes the sums of a folder as it is now.
func seal(dir string) error {
	text, err := sums(dir)
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, sumsFile+".new")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, sumsFile))
}

// sums gives a line for every file of machine code in a folder.
func sums(dir string) (string, error) {
	files, err := codeFiles(dir)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range files {
		sum, err := sumOf(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, filepath.ToSlash(name))
	}
	return text.String(), nil
}

// codeFiles lists the files below a folder, except the sums, in order.
func codeFiles(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() || strings.HasPrefix(d.Name(), sumsFile):
			return err
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a file", path)
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	return names, err
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
