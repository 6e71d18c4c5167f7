package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Change is what Apply has put on disk and may still take back. It holds the
// lock of its session: end it, by Keep or by Undo, once and soon.
type Change struct {
	session *os.Root    // nil where there was nothing to change
	mu      *sync.Mutex // the session's changes
	steps   []step
	touched map[string]bool // folders of which an entry changed
}

// Apply puts the changes of the view on disk, durably, each file whole: all of
// them, or none where it fails. StoreConflict means that a file is not any more
// as a condition of the view asked for, or that another call has made a folder
// of it, or a file of its folder: run the call again with a new view.
func (v *View) Apply(ctx context.Context) (*Change, error) {
	const op = "files.Apply"
	if len(v.changes) == 0 {
		return &Change{}, nil
	}
	c := &Change{mu: &v.store.lock(v.ref).changes, touched: map[string]bool{}}
	c.mu.Lock()
	err := c.begin(v)
	if err == nil {
		err = c.apply(ctx, v.changes)
	}
	if err == nil {
		return c, nil
	}
	if undone := c.Undo(); undone != nil {
		err = errors.Join(err, undone)
	}
	if problem := host.ProblemOf(err); problem.Code == abi.StoreConflict || ctx.Err() != nil {
		return nil, host.Fail(op, problem, err)
	}
	return nil, failure(op, "the session's files cannot be written", err)
}

// begin opens the session with an empty folder to work in.
func (c *Change) begin(v *View) (err error) {
	if c.session, err = v.store.makeSession(v.ref); err != nil {
		return err
	}
	if err := v.current(c.session); err != nil {
		return err
	}
	if err := c.session.RemoveAll(workFolder); err != nil {
		return err
	}
	return c.session.Mkdir(workFolder, 0o700)
}

// apply stages all before it moves any.
func (c *Change) apply(ctx context.Context, changes map[string]change) error {
	if err := c.prepare(ctx, changes); err != nil {
		return err
	}
	for i := range c.steps {
		if err := c.setAside(i); err != nil {
			return err
		}
		if err := c.moveIn(i); err != nil {
			return err
		}
	}
	if err := c.sync(); err != nil {
		return err
	}
	return c.renamePlan(planFile, appliedFile)
}

// prepare does all that leaves the session's files as they are, and last puts
// down what is about to be done to them.
func (c *Change) prepare(ctx context.Context, changes map[string]change) error {
	steps := inOrder(changes)
	for i, s := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.verify(s.Name, changes[s.Name]); err != nil {
			return err
		}
		if !s.Removed {
			if err := c.stage(i, changes[s.Name].data); err != nil {
				return err
			}
		}
	}
	if err := c.writePlan(steps); err != nil {
		return err
	}
	c.steps = steps
	return nil
}

// verify holds a condition against what is on disk by now. A file that has the
// new bytes already is as good.
func (c *Change) verify(name string, want change) error {
	if want.onDisk == nil {
		return nil
	}
	hash, err := c.hashOf(name)
	if err != nil {
		return err
	}
	if hash != *want.onDisk && hash != want.hash {
		return changedByAnother(name)
	}
	return nil
}

func changedByAnother(name string) *abi.Problem {
	return abi.NewProblem(abi.StoreConflict, "the file %s was changed by another call", abi.EchoPath(name))
}

// hashOf gives the hash of a file on disk, "" where there is none, be it that
// a folder has its name or a file that of its folder.
func (c *Change) hashOf(name string) (string, error) {
	f, err := c.session.Open(path.Join(treeFolder, name))
	if missing(err) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// stage writes a new file where nobody sees it, down to the disk.
func (c *Change) stage(i int, data []byte) error {
	f, err := c.session.OpenFile(staged(i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// setAside moves the old file of a step out of the tree, or gives it a second
// name outside: where the file system has links, there is a file at any moment.
func (c *Change) setAside(i int) error {
	s, at := c.steps[i], c.steps[i].place()
	if err := c.noLinks(path.Dir(at)); err != nil {
		return err
	}
	info, err := c.session.Lstat(at)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return c.noFolder(s.Name, at, s.Removed)
	}
	if s.Removed || c.session.Link(at, aside(i)) != nil {
		if err := c.session.Rename(at, aside(i)); err != nil {
			return err
		}
	}
	c.touched[path.Dir(at)] = true
	if s.Removed {
		c.prune(path.Dir(at))
	}
	return nil
}

// moveIn puts the new file of a step in its place.
func (c *Change) moveIn(i int) error {
	if c.steps[i].Removed {
		return nil
	}
	at := c.steps[i].place()
	if err := c.makeFolder(path.Dir(at)); err != nil {
		return err
	}
	c.touched[path.Dir(at)] = true
	return c.session.Rename(staged(i), at)
}

// makeFolder makes a folder of the tree.
func (c *Change) makeFolder(folder string) error {
	return makeFolders(c.session, folder, func(above string) error {
		c.touched[above] = true
		return nil
	})
}

// noFolder makes room for a file where there is a folder, which the view did
// not see: an empty one goes, and one that another call has filled stays.
func (c *Change) noFolder(name, at string, removed bool) error {
	if removed {
		return changedByAnother(name)
	}
	err := c.session.Remove(at)
	if errors.Is(err, fs.ErrExist) { // there is something in it
		return abi.NewProblem(abi.StoreConflict, "%s was made a folder by another call", abi.EchoPath(name))
	}
	return err
}

// noLinks refuses a folder that a link leads to: a session's folder holds more
// than its files, and a link may lead there. A file in its place is another
// call's.
func (c *Change) noLinks(folder string) error {
	for ; folder != "."; folder = path.Dir(folder) {
		info, err := c.session.Lstat(folder)
		if err != nil && !missing(err) && !errors.Is(err, syscall.ENOTDIR) { // then a folder above it tells
			return err
		}
		if err == nil && info.Mode().IsRegular() {
			return changedByAnother(strings.TrimPrefix(folder, treeFolder+"/"))
		}
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%q is no folder", folder)
		}
	}
	return nil
}

// prune removes folders that have become empty. It may be repeated.
func (c *Change) prune(folder string) {
	for ; folder != treeFolder; folder = path.Dir(folder) {
		info, err := c.session.Lstat(folder)
		if err == nil && (!info.IsDir() || c.session.Remove(folder) != nil) || err != nil && !missing(err) {
			return
		}
		delete(c.touched, folder)
		c.touched[path.Dir(folder)] = true
	}
}

// sync makes the entries of the folders that changed durable. A file's bytes
// have been since it was staged.
func (c *Change) sync() error {
	for folder := range c.touched {
		if err := syncFolder(c.session, folder); err != nil && !missing(err) { // it may have been pruned
			return err
		}
	}
	return nil
}

// Keep ends a change that stays. What it had set aside is dropped; where that
// fails, the next change does it.
func (c *Change) Keep() {
	if c.mu == nil {
		return
	}
	_ = c.session.RemoveAll(workFolder)
	c.end()
}

// end gives the session back.
func (c *Change) end() {
	if c.session != nil {
		_ = c.session.Close() // nothing is written through it
	}
	c.mu.Unlock()
	c.mu = nil
}
