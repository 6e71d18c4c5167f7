package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state/statetest"
)

// mariadb is the server of the tests that need one.
var mariadb statetest.Shared

func TestMain(m *testing.M) { os.Exit(mariadb.Main(m)) }

// A database is one that the store runs on.
type database struct {
	name  string
	fresh func(t testing.TB) string // DSN of a store that is not there yet
}

func sqliteDatabase() database {
	return database{"sqlite", func(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") }}
}

func mariadbDatabase() database { return database{"mariadb", mariadb.Database} }

// onBoth runs a test on every database that the store is for. What it waits for
// is mostly the disk, so that it goes side by side with others; those that stop
// the server or change what holds for all of it are not among them.
func onBoth(t *testing.T, test func(t *testing.T, d database)) {
	t.Parallel()
	for _, d := range []database{sqliteDatabase(), mariadbDatabase()} {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

func (d database) open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, d.fresh(t), Options{})
}

func openStore(t testing.TB) *Store {
	t.Helper()
	return sqliteDatabase().open(t)
}

func openAt(t testing.TB, dsn string, opts Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), dsn, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func session(tenant host.TenantID) host.SessionRef {
	return host.SessionRef{Tenant: tenant, User: "ann", Session: "s1"}
}

// wantCode fails unless err leaves the package as it should: a *host.Error
// with that code.
func wantCode(t testing.TB, err error, code abi.Code) *abi.Problem {
	t.Helper()
	var failed *host.Error
	if !errors.As(err, &failed) || failed.Problem.Code != code || !strings.HasPrefix(failed.Op, "state.") {
		t.Fatalf("got %v, want a problem %d", err, code)
	}
	return failed.Problem
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenCreatesFoldersAndFileForItsUserOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b %41 ?#", "store.db")
	s := openAt(t, "sqlite:"+path, Options{})
	must(t, s.Record(t.Context(), host.Record{Session: session("shop"), Kind: host.RecordNotice}))
	for name, mode := range map[string]os.FileMode{
		filepath.Dir(filepath.Dir(path)): 0o700, filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
	} {
		info, err := os.Stat(name)
		must(t, err)
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
	must(t, s.Ping(t.Context()))
}

func TestOpenRefusesWhatIsNoStoreAndSaysWhatToDo(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, tt := range []struct{ name, dsn, says string }{
		{"no path", "sqlite:", "no path"},
		{"nothing", "", "no path"},
		{"memory", ":memory:", "not a plain file"},
		{"URI", "file:" + folder + "/x.db?mode=ro", "not a plain file"},
		{"another database", "postgres://root@localhost/sluice", "no store for postgres:"},
		{"a folder", folder, "cannot be opened"},
		{"a file as folder", filepath.Join(write("plain", "x"), "store.db"), "cannot be opened"},
		{"text", write("text.db", strings.Repeat("this is not a database. ", 400)), "not a store"},
		{"a damaged header", write("header.db", "SQLite format 3\x00"+strings.Repeat("\xff", 8000)), "store"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(t.Context(), tt.dsn, Options{})
			if err == nil {
				s.Close()
			}
			problem := wantCode(t, err, abi.StoreFailure)
			if !strings.Contains(problem.Message, tt.says) || problem.Hint == "" {
				t.Errorf("says %q, hint %q; want %q and a hint", problem.Message, problem.Hint, tt.says)
			}
		})
	}
}

func TestCloseLeavesOneWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	must(t, s.SaveState(t.Context(), session("shop"), Change{Key: "k", Data: []byte("1")}))
	_, err = s.LoadState(t.Context(), session("shop"), "k")
	must(t, err)
	must(t, s.Close())
	files, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(files) != 1 {
		t.Errorf("%v are left; the write-ahead log was not folded into the file", files)
	}
}

func TestADamagedFileIsReportedWhereItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	must(t, s.Import(t.Context(), "shop", "prices", manyEntries(2000)))
	must(t, s.Close())
	file, err := os.ReadFile(path)
	must(t, err)
	for i := 40 * 4096; i < len(file); i++ {
		file[i] = 0xa5
	}
	must(t, os.WriteFile(path, file, 0o600))

	s = openAt(t, path, Options{})
	_, err = s.Changes(t.Context(), "shop", "prices")
	problem := wantCode(t, err, abi.StoreFailure)
	if !strings.Contains(problem.Message, "damaged") || !strings.Contains(problem.Hint, "backup") {
		t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
	}
}

func TestManyOpensOfOneNewFileAgree(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		path := d.fresh(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := Open(context.Background(), path, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func TestOpenWaitsForAnotherProcessThatIsAtANewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	must(t, createSQLite(path))
	other, err := sqlitePool(path, 1)
	must(t, err)
	defer other.Close()
	_, err = other.Exec("BEGIN IMMEDIATE")
	must(t, err)
	opened := make(chan error)
	go func() {
		s, err := Open(context.Background(), path, Options{})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	_, err = other.Exec("ROLLBACK")
	must(t, err)
	must(t, <-opened)
}

func TestAClosedStoreRefusesAndClosesOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		must(t, s.Close())
		must(t, s.Close())
		wantCode(t, s.SaveState(t.Context(), session("shop"), Change{Key: "k", Data: []byte("1")}), abi.StoreFailure)
		_, err := s.LoadState(t.Context(), session("shop"), "k")
		if problem := wantCode(t, err, abi.StoreFailure); problem.Message != "the store is closed" {
			t.Errorf("says %q", problem.Message)
		}
		wantCode(t, s.Ping(t.Context()), abi.StoreFailure)
	})
}

func TestACancelledCallerGetsCancelled(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantCode(t, s.SaveState(ctx, session("shop"), Change{Key: "k", Data: []byte("1")}), abi.Cancelled)
		_, err := s.LoadState(ctx, session("shop"), "k")
		wantCode(t, err, abi.Cancelled)
		_, err = Open(ctx, d.fresh(t), Options{})
		wantCode(t, err, abi.Cancelled)
	})
}
