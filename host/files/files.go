package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of a session's folder. They keep one listing of it in the memory and
// the time of one call.
const (
	MaxFiles = abi.SessionFiles     // a listing takes some ten milliseconds
	MaxBytes = abi.SessionFileBytes // of all files
)

// lockStripes bounds the locks of a store; sessions that share one wait for
// each other while changes are applied, and not otherwise.
const lockStripes = 256

// A Store keeps the folders of all sessions below one folder. It is safe for
// concurrent use.
type Store struct {
	root  *os.Root
	seed  maphash.Seed
	locks [lockStripes]lock // by session
}

// A lock is that of one session, and of some others.
type lock struct {
	changes sync.Mutex   // held from Apply to Keep or Undo, and by all that checkpoints do
	tree    sync.RWMutex // held while one tree takes the place of another; by readers, not for long
}

// Open opens the store in a folder and makes the folder where there is none.
func Open(root string) (*Store, error) {
	const op = "files.Open"
	if err := makeRoot(root); err != nil {
		return nil, host.Fail(op, abi.NewProblem(abi.StoreFailure, "the folder for files cannot be made"), err)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, host.Fail(op, abi.NewProblem(abi.StoreFailure, "the folder for files cannot be opened"), err)
	}
	return &Store{root: r, seed: maphash.MakeSeed()}, nil
}

// makeRoot makes the store's folder, with those above it, down to the disk.
func makeRoot(root string) error {
	above, missed := filepath.Clean(root), "."
	_, err := os.Stat(above)
	for missing(err) && filepath.Dir(above) != above {
		above, missed = filepath.Dir(above), filepath.Join(filepath.Base(above), missed)
		_, err = os.Stat(above)
	}
	if err != nil {
		return err
	}
	r, err := os.OpenRoot(above)
	if err != nil {
		return err
	}
	defer r.Close()
	return makeDurable(r, missed)
}

// Close ends the use of the store.
func (s *Store) Close() error { return s.root.Close() }

// purgedSuffix names a session's folder on its way out: to remove a large one
// takes long, and readers of other sessions do not wait for it.
const purgedSuffix = ".purged"

// PurgeSession removes everything that a session has here, checkpoints too. It
// may be repeated, and must be where it fails: what it has not removed yet,
// nobody sees any more.
func (s *Store) PurgeSession(_ context.Context, ref host.SessionRef) error {
	const op = "files.PurgeSession"
	if err := ref.Valid(); err != nil {
		return host.Fail(op, abi.NewProblem(abi.BadValue, "%v", err), nil)
	}
	l := s.lock(ref)
	l.changes.Lock()
	defer l.changes.Unlock()
	folder := folderOf(ref)
	err := discard(s.root, folder+purgedSuffix) // of a purge that did not come to its end
	if err == nil {
		l.tree.Lock()
		err = s.root.Rename(folder, folder+purgedSuffix)
		l.tree.Unlock()
	}
	if err == nil {
		err = discard(s.root, folder+purgedSuffix)
	}
	if err != nil && !missing(err) {
		return failure(op, "the session's files cannot be removed", err)
	}
	return nil
}

func (s *Store) lock(ref host.SessionRef) *lock {
	return &s.locks[maphash.Comparable(s.seed, ref)%lockStripes]
}

// openSession opens a session's folder; an error that is fs.ErrNotExist means
// that it has none.
func (s *Store) openSession(ref host.SessionRef) (*os.Root, error) {
	return s.root.OpenRoot(folderOf(ref))
}

// findSession opens a session's folder for one who holds the session's changes.
func (s *Store) findSession(ref host.SessionRef) (*os.Root, error) {
	session, err := s.openSession(ref)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ref, session); err != nil {
		_ = session.Close() // nothing is written through it
		return nil, err
	}
	return session, nil
}

// makeSession opens a session's folder and makes it where there is none. The
// caller holds the session's changes.
func (s *Store) makeSession(ref host.SessionRef) (*os.Root, error) {
	err := makeDurable(s.root, folderOf(ref))
	var session *os.Root
	if err == nil {
		session, err = s.findSession(ref)
	}
	if missing(err) { // which says elsewhere that a session has no files
		return nil, fmt.Errorf("the store's folder is gone: %v", err)
	}
	if err != nil {
		return nil, err
	}
	if err := makeDurable(session, treeFolder); err != nil {
		_ = session.Close() // nothing is written through it
		return nil, err
	}
	return session, nil
}

// openTree opens the folder of a session's files, and nothing that a link
// leads to in its place.
func openTree(session *os.Root) (*os.Root, error) {
	info, err := session.Lstat(treeFolder)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("the session's files are not in a folder")
	}
	return session.OpenRoot(treeFolder)
}

// The parts of a session's folder. The rename to restoredFolder decides a
// rollback.
const (
	treeFolder        = "files"       // what the session sees
	workFolder        = "work"        // what is on its way in, and what is set aside until a call is settled
	checkpointsFolder = "checkpoints" // the hidden repository
	restoringFolder   = "restoring"   // a tree that a rollback is making
	restoredFolder    = "restored"    // the whole tree that takes the place of the other
	replacedFolder    = "replaced"    // the tree whose place was taken
	rolledFile        = "rolled"      // names the last rollback
)

// folderOf gives a session's folder below the root. Lengths keep ids apart
// that are the same text when joined.
func folderOf(ref host.SessionRef) string {
	h := sha256.New()
	for _, id := range []string{string(ref.Tenant), string(ref.User), string(ref.Session)} {
		fmt.Fprintf(h, "%d:%s", len(id), id)
	}
	name := hex.EncodeToString(h.Sum(nil))
	return filepath.Join(name[:2], name)
}

// failure is a fault of the disk; the cause is for operators only.
func failure(op, message string, cause error) error {
	return host.Fail(op, abi.NewProblem(abi.StoreFailure, "%s", message), cause)
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
