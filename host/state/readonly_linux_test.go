package state

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"modernc.org/sqlite"

	"github.com/sluicehq/sluice/abi"
)

// asNobody runs f with the file permissions of an unprivileged user, so that
// modes count also where the tests run as root.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	must(t, syscall.Setfsuid(65534))
	defer syscall.Setfsuid(0)
	f()
}

func TestOpenSaysThatAFolderOrFileMayNotBeWritten(t *testing.T) {
	root, err := os.MkdirTemp("", "sluice-state")
	must(t, err)
	defer os.RemoveAll(root)
	must(t, os.Chmod(root, 0o555))
	file := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), file, Options{})
	must(t, err)
	must(t, s.Close())
	must(t, os.Chmod(file, 0o444))
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(filepath.Dir(file))} {
		must(t, os.Chmod(dir, 0o755))
	}
	for name, path := range map[string]string{"a folder": filepath.Join(root, "store.db"), "a folder's folder": filepath.Join(root, "a", "store.db"), "a file": file} {
		t.Run(name, func(t *testing.T) {
			var err error
			asNobody(t, func() { _, err = Open(t.Context(), path, Options{}) })
			problem := wantCode(t, err, abi.StoreFailure)
			if !strings.Contains(problem.Message, path) || !strings.Contains(problem.Hint, "let this user") {
				t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
			}
		})
	}
}

func TestCommitsAreSyncedWithoutTheFilesTimes(t *testing.T) {
	openStore(t)
	if !sqlite.FdatasyncEnabled() {
		t.Error("SQLite syncs with fsync")
	}
}
