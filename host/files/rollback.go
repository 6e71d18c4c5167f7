package files

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// restore makes the tree of a checkpoint beside the session's files, down to
// the disk. Where it fails, nothing is left.
func (r *repository) restore(ctx context.Context, session *os.Root, commit hash) error {
	list, err := r.listing(ctx, commit)
	if err != nil {
		return err
	}
	if err := discard(session, restoringFolder); err != nil {
		return err
	}
	if err := session.Mkdir(restoringFolder, 0o700); err != nil {
		return err
	}
	if err := r.restoreInto(ctx, session, list); err != nil {
		return errors.Join(err, discard(session, restoringFolder))
	}
	return nil
}

func (r *repository) restoreInto(ctx context.Context, session *os.Root, list listing) error {
	tree, err := session.OpenRoot(restoringFolder)
	if err != nil {
		return err
	}
	defer tree.Close()
	b := builder{repo: r, tree: tree, crew: newCrew(ctx)}
	if err := b.build(list); err != nil {
		return err
	}
	made, err := scan(ctx, tree)
	if err != nil {
		return err
	}
	if name, differ := list.differs(made); differ {
		return abi.NewProblem(abi.StoreFailure, "%s cannot be restored exactly: the file system does not keep its name or mode", abi.EchoPath(name))
	}
	return nil
}

// A builder makes the files, folders and links of a checkpoint.
type builder struct {
	repo *repository
	tree *os.Root
	crew *crew
}

// build makes a tree of a listing and fills in the sizes. Folders get their
// modes last, the deepest first, since one that is closed takes no files.
func (b builder) build(list listing) error {
	levels := make([]listing, maxDepth+1)
	for _, e := range list {
		if !e.mode.IsDir() {
			continue
		}
		levels[e.depth()] = append(levels[e.depth()], e)
		if e.path == "." {
			continue
		}
		if err := b.tree.Mkdir(e.path, 0o700); err != nil {
			return err
		}
	}
	for i := range list {
		if e := &list[i]; !e.mode.IsDir() {
			b.crew.do(func() error { return b.leaf(e) })
		}
	}
	for depth := maxDepth; depth >= 0; depth-- {
		if err := b.crew.wait(); err != nil {
			return err
		}
		for _, e := range levels[depth] {
			b.crew.do(func() error { return b.close(e) })
		}
	}
	return b.crew.wait()
}

func (b builder) leaf(e *entry) error {
	if e.mode.IsRegular() {
		return b.file(e)
	}
	var target strings.Builder
	if _, err := b.repo.copyObject(&target, e.hash, plumbing.BlobObject, maxPathBytes); err != nil {
		return err
	}
	return b.tree.Symlink(target.String(), e.path)
}

func (b builder) file(e *entry) error {
	f, err := b.tree.OpenFile(e.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	e.size, err = b.repo.copyObject(io.Writer(f), e.hash, plumbing.BlobObject, int64(MaxBytes))
	if err == nil {
		err = f.Chmod(e.mode & modeBits)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// close gives a folder its mode when all that is in it is there.
func (b builder) close(e entry) error {
	if runtime.GOOS == "windows" {
		return nil // folders have no modes there, and cannot be synced
	}
	f, err := b.tree.Open(e.path)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(e.mode&modeBits), f.Sync(), f.Close())
}

// swap puts the tree that restore has made in the place of the session's
// files. The caller holds the session's changes.
func (s *Store) swap(ref host.SessionRef, session *os.Root) error {
	l := s.lock(ref)
	l.tree.Lock()
	defer l.tree.Unlock()
	err := session.Rename(restoringFolder, restoredFolder)
	if err == nil {
		err = syncFolder(session, ".")
	}
	if err == nil {
		err = finish(session)
	}
	if err != nil {
		err = errors.Join(err, withdraw(session))
	}
	return err
}

// withdraw takes back what a swap that failed has done, up to its last rename.
// Where that fails, too, the next use of the session finishes the rollback.
func withdraw(session *os.Root) error {
	there, err := exists(session, treeFolder)
	if err == nil && !there {
		err = session.Rename(replacedFolder, treeFolder)
	}
	if err == nil {
		err = session.Rename(restoredFolder, restoringFolder)
	}
	if err == nil || missing(err) { // it was never renamed, or has become the tree
		err = discard(session, restoringFolder)
	}
	return err
}

// finish does what is left of a rollback that was decided, from whatever point
// it was left at. It may be repeated. The caller holds the session's lock.
func finish(session *os.Root) error {
	// First, so that a view that listed the old tree never takes the new one for it.
	if err := writeWhole(session, rolledFile+".new", rolledFile, []byte(rand.Text())); err != nil {
		return err
	}
	if there, err := exists(session, treeFolder); err != nil {
		return err
	} else if there {
		if err := discard(session, replacedFolder); err != nil {
			return err
		}
		if err := session.Rename(treeFolder, replacedFolder); err != nil {
			return err
		}
	}
	if err := session.Rename(restoredFolder, treeFolder); err != nil {
		return err
	}
	return syncFolder(session, ".")
}

// settle takes back a change that was not applied to its end, finishes a
// rollback that was decided and never ended, and removes what others have left.
// The caller holds the session's changes.
func (s *Store) settle(ref host.SessionRef, session *os.Root) error {
	if err := recoverChange(session); err != nil { // first: it is of the tree that a rollback replaces
		return err
	}
	pending, err := exists(session, restoredFolder)
	if err == nil && pending {
		err = s.finishPending(ref, session)
	}
	if err != nil {
		return err
	}
	// They only take room, and whoever needs their names removes them again.
	_ = discard(session, restoringFolder)
	_ = discard(session, replacedFolder)
	return nil
}

// finishPending is finish for a rollback that somebody else decided. What would
// take long, it does before readers have to wait.
func (s *Store) finishPending(ref host.SessionRef, session *os.Root) error {
	there, err := exists(session, treeFolder)
	if err == nil && there { // else the old tree is the only one
		err = discard(session, replacedFolder)
	}
	if err != nil {
		return err
	}
	l := s.lock(ref)
	l.tree.Lock()
	defer l.tree.Unlock()
	return finish(session)
}

// reading opens a session's folder to read from its tree, which no rollback
// changes until do is done. An error that is fs.ErrNotExist may mean that the
// session has none.
func (s *Store) reading(ref host.SessionRef, do func(session *os.Root) error) error {
	session, err := s.openSession(ref)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := s.settleReading(ref, session); err != nil {
		return err
	}
	l := s.lock(ref)
	l.tree.RLock()
	defer l.tree.RUnlock()
	if pending, err := exists(session, restoredFolder); pending || err != nil {
		return errors.Join(errors.New("a rollback of the session is not at its end"), err)
	}
	return do(session)
}

// settleReading is settle for a reader. A rollback that is going on, it waits
// for; a change that is being applied, it does not.
func (s *Store) settleReading(ref host.SessionRef, session *os.Root) error {
	rollback, err := exists(session, restoredFolder)
	if err != nil {
		return err
	}
	change, err := exists(session, planFile)
	if err != nil || !rollback && !change {
		return err
	}
	l := s.lock(ref)
	if rollback {
		l.changes.Lock()
	} else if !l.changes.TryLock() {
		return nil // whoever holds it is about to apply it, or to take it back
	}
	defer l.changes.Unlock()
	return s.settle(ref, session)
}

// lastRollback names the last rollback of a session, "" where there was none.
func lastRollback(session *os.Root) (string, error) {
	name, err := session.ReadFile(rolledFile)
	if missing(err) {
		return "", nil
	}
	return string(name), err
}
