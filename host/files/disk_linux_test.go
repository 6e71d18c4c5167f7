package files_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/files"
)

func TestAFullDiskLeavesTheTree(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	cmd := child("full", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	runChild(t, cmd)
}

// What stands in the way of a purge: a folder that something is mounted on.
func TestAPurgeThatCannotRemoveAllIsGoneOnWith(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a disk")
	}
	cmd := child("purge", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	runChild(t, cmd)
}

func purgeAMount(root string, _ []string) error {
	store, err := files.Open(root)
	if err != nil {
		return err
	}
	if err := keep(store, "in/f", []byte("x")); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found %q, %w", found, err)
	}
	session := found[0]
	if err := syscall.Mount("none", filepath.Join(session, "files", "in"), "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("%w: a mount: %w", errSkip, err)
	}
	for range 2 {
		if err := store.PurgeSession(ctx, ref); codeOf(err) != abi.StoreFailure {
			return fmt.Errorf("the purge says %w", err)
		}
		if _, err := os.Stat(session); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the session is still there: %w", err)
		}
	}
	if err := keep(store, "new", []byte("y")); err != nil {
		return err
	}
	mounted, err := filepath.Glob(filepath.Join(root, "*", "*", "files", "in"))
	if err != nil || len(mounted) != 1 {
		return fmt.Errorf("mounted are %q, %w", mounted, err)
	}
	if err := errors.Join(syscall.Unmount(mounted[0], 0), store.PurgeSession(ctx, ref)); err != nil {
		return err
	}
	if left, err := filepath.Glob(filepath.Join(root, "*", "*")); err != nil || len(left) > 0 {
		return fmt.Errorf("left are %q, %w", left, err)
	}
	return nil
}

// walked is everything without a test.
func walked(root string) (all map[string]string, err error) {
	err = failing(func(t *quietly) { all = everything(t, root) })
	return all, err
}

// quietly lets what takes a testing.TB run in a child, which is no test.
type quietly struct {
	testing.TB
}

func (*quietly) Helper()           {}
func (*quietly) Fatal(args ...any) { panic(errors.New(fmt.Sprint(args...))) }

func failing(do func(t *quietly)) (err error) {
	defer func() {
		if caught, ok := recover().(error); ok {
			err = caught
		}
	}()
	do(&quietly{})
	return nil
}

func onAFullDisk(root string, _ []string) error {
	if err := syscall.Mount("none", root, "tmpfs", 0, "size=2m"); err != nil {
		return fmt.Errorf("%w: a mount: %w", errSkip, err)
	}
	store, err := files.Open(filepath.Join(root, "files"))
	if err != nil {
		return err
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 700_000/16) // it shrinks as an object, and not as a file
	if err := keep(store, "big", big); err != nil {
		return err
	}
	made, err := store.Checkpoint(ctx, ref, "first")
	if err != nil {
		return err
	}
	noise := make([]byte, 700_000)
	random, err := os.Open("/dev/urandom")
	if err != nil {
		return err
	}
	if _, err := random.Read(noise); err != nil {
		return err
	}
	if err := keep(store, "noise", noise); err != nil {
		return err
	}
	before, err := walked(root)
	if err != nil {
		return err
	}
	if _, err := store.Checkpoint(ctx, ref, "too much"); codeOf(err) != abi.StoreFailure || !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the checkpoint says %w", err)
	}
	if err := store.Rollback(ctx, ref, made.ID); codeOf(err) != abi.StoreFailure || !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the rollback says %w", err)
	}
	after, err := walked(root)
	if err != nil {
		return err
	}
	for name := range maps.Clone(after) {
		if before[name] != after[name] {
			return fmt.Errorf("changed or left over is %s", name)
		}
	}
	if len(after) != len(before) {
		return fmt.Errorf("there are %d files and folders, and there were %d", len(after), len(before))
	}
	if err := syscall.Mount("none", root, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		return err
	}
	return store.Rollback(ctx, ref, made.ID)
}

func keep(store *files.Store, name string, data []byte) error {
	v := store.View(ref)
	if _, err := v.Write(ctx, name, data, abi.FileCondition{}); err != nil {
		return err
	}
	change, err := v.Apply(ctx)
	if err == nil {
		change.Keep()
	}
	return err
}

// An owner who is not root is kept out by modes: of the folder that a rollback
// writes in, and of folders that it removes.
func TestAnOwnerWithoutRights(t *testing.T) {
	runChild(t, child("owner", t.TempDir()))
}

const nobody = 65534

func asAnOwner(root string, _ []string) error {
	if err := os.Chdir(root); err != nil { // nobody need not get to it by its path
		return err
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chown(".", nobody, nobody), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			return fmt.Errorf("%w: another user: %w", errSkip, err)
		}
	}
	store, err := files.Open("files")
	if err != nil {
		return err
	}
	if err := notDurable(store); err != nil {
		return err
	}
	if err := keep(store, "closed/f", []byte("x")); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join("files", "*", "*", "files"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found %q, %w", found, err)
	}
	tree, session := found[0], filepath.Dir(found[0])
	for name, mode := range map[string]os.FileMode{"closed/f": 0o400, "closed": 0o500, "": 0o500} {
		if err := os.Chmod(filepath.Join(tree, name), mode); err != nil {
			return err
		}
	}
	made, err := store.Checkpoint(ctx, ref, "closed")
	if err != nil {
		return err
	}
	want, err := walked(tree)
	if err != nil {
		return err
	}
	for range 2 { // the folder that goes is closed, and so is the one that comes
		if err := store.Rollback(ctx, ref, made.ID); err != nil {
			return err
		}
	}
	if got, err := walked(tree); err != nil || !maps.Equal(got, want) {
		return fmt.Errorf("restored is %q, %w", got, err)
	}
	if entries, err := os.ReadDir(session); err != nil || len(entries) != 3 {
		return fmt.Errorf("the session's folder has %v, %w", entries, err)
	}
	if err := keptOut(store, made.ID, tree); err != nil {
		return err
	}
	if got, err := walked(tree); err != nil || !maps.Equal(got, want) {
		return fmt.Errorf("left is %q, %w", got, err)
	}
	return store.PurgeSession(ctx, ref)
}

// notDurable keeps the owner from reading a folder, and so from syncing it: what
// gets a new folder in it must say so.
func notDurable(store *files.Store) error {
	if err := keep(store, "f", []byte("x")); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join("files", "*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found %q, %w", found, err)
	}
	for _, folder := range []string{found[0], "files"} {
		if err := store.PurgeSession(ctx, ref); err != nil {
			return err
		}
		if folder == "files" {
			if err := os.Remove(found[0]); err != nil {
				return err
			}
		}
		if err := os.Chmod(folder, 0o300); err != nil {
			return err
		}
		if _, err := store.Checkpoint(ctx, ref, "first"); codeOf(err) != abi.StoreFailure {
			return fmt.Errorf("the first checkpoint with %s closed: %w", folder, err)
		}
		if err := os.Chmod(folder, 0o700); err != nil {
			return err
		}
	}
	return store.PurgeSession(ctx, ref)
}

// keptOut closes one thing after the other that a use needs.
func keptOut(store *files.Store, id, tree string) error {
	session := filepath.Dir(tree)
	checkpoint := func() error {
		_, err := store.Checkpoint(ctx, ref, "x")
		return err
	}
	for _, tt := range []struct {
		closed string
		to     os.FileMode
		use    func() error
	}{
		{session, 0o500, func() error { return store.Rollback(ctx, ref, id) }},
		{filepath.Join(session, "checkpoints"), 0o500, checkpoint},
		{filepath.Join(tree, "closed", "f"), 0, checkpoint},
	} {
		info, err := os.Stat(tt.closed)
		if err != nil {
			return err
		}
		if err := os.Chmod(tt.closed, tt.to); err != nil {
			return err
		}
		if err := tt.use(); codeOf(err) != abi.StoreFailure {
			return fmt.Errorf("with %s closed: %w", filepath.Base(tt.closed), err)
		}
		if err := os.Chmod(tt.closed, info.Mode()); err != nil {
			return err
		}
	}
	return nil
}
