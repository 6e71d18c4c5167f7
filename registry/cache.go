package registry

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A cache keeps verified releases on disk: the files under their digest, and
// for each version one line that pins it to its commit and to that digest. Any
// number of processes share it without a lock: contents appear by rename and
// are the same whoever writes them; the first pin of a version stands. It may
// be deleted at any time; with it goes the memory of what a version was.
type cache struct {
	contents string // empty keeps nothing
	pins     string // of one repository
}

// A pin says what a version is. Its zero value means that nobody knows.
type pin struct {
	commit string
	digest string // of the packed files
}

func newCache(dir, repository string) cache {
	if dir == "" {
		return cache{}
	}
	return cache{
		contents: filepath.Join(dir, "releases"),
		pins:     filepath.Join(dir, "pins", host.Digest([]byte(repository))[:16]),
	}
}

func (c cache) pinFile(v Version) string { return filepath.Join(c.pins, v.Skill, "v"+v.Version) }

func (c cache) contentFile(digest string) string { return filepath.Join(c.contents, digest+".zip") }

// pinned gives the pin of a version. One that cannot be read counts as none.
func (c cache) pinned(v Version) pin {
	if c.pins == "" {
		return pin{}
	}
	line, err := readFile(c.pinFile(v), 256)
	commit, digest, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
	if err != nil || !ok || !validCommit(commit) || len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		return pin{}
	}
	return pin{commit, digest}
}

// read gives the packed files with a digest, or nil where they are not there,
// too large or damaged.
func (c cache) read(digest string, most int64) []byte {
	if digest == "" {
		return nil
	}
	packed, err := readFile(c.contentFile(digest), most)
	if err != nil || host.Digest(packed) != digest {
		return nil
	}
	return packed
}

// keep stores a release and pins its version. It gives the pin that stands,
// which is another one if somebody else was faster.
func (c cache) keep(v Version, packed []byte) (pin, error) {
	made := pin{v.Commit, host.Digest(packed)}
	if c.pins == "" {
		return made, nil
	}
	if err := writeFile(c.contentFile(made.digest), packed); err != nil {
		return pin{}, notKept(err)
	}
	err := createFile(c.pinFile(v), made.line())
	if !errors.Is(err, fs.ErrExist) {
		return made, notKept(err)
	}
	if stands := c.pinned(v); stands == made || stands.commit != "" && stands.commit != v.Commit {
		return stands, nil
	}
	return made, notKept(writeFile(c.pinFile(v), made.line())) // damaged, or for an archive that is laid out otherwise
}

func (p pin) line() []byte { return fmt.Appendf(nil, "%s %s\n", p.commit, p.digest) }

func notKept(cause error) error {
	if cause == nil {
		return nil
	}
	return host.Fail("registry", abi.NewProblem(abi.StoreFailure, "the folder for fetched releases cannot be written").
		WithHint("check the rights and the space of the registry's cache folder"), cause)
}

func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(&bounded{f, most})
}

// writeFile puts a file in place whole, or not at all.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	err = settle(f, data)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// createFile makes a file that nobody else has made. A crash may leave it
// empty, which readers take for damage.
func createFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return settle(f, data)
}

func settle(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
