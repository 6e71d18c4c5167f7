package state

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Settings of every connection to SQLite.
const (
	sqliteBusyMS          = "10000"    // wait for another process's transaction; ours take milliseconds
	sqliteCheckpointPages = "4000"     // of the write-ahead log between checkpoints: 16 MiB, so that they are rare and short
	sqliteJournalBytes    = "67108864" // what the log is cut back to after a burst: 64 MiB
	sqliteTempMemory      = "2"        // a batch's savepoints keep what they changed in memory: it is little, and a file of it costs a third of the system's time
	sqliteReaders         = 4          // connections for reads; more than cores only queue inside SQLite
)

// sqliteDialect is SQLite's. A transaction that writes locks the whole
// database from its start, so that rows need no locks of their own; the store
// is on this machine, so that its clock is this machine's.
func sqliteDialect() dialect {
	return dialect{
		words: strings.NewReplacer("{id}", "TEXT", "{key}", "TEXT", "{bytes}", "BLOB",
			"{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{ordered}", "", "{clustered}", "WITHOUT ROWID"),
		begin:   "BEGIN IMMEDIATE",
		tables:  "SELECT name FROM sqlite_master WHERE type = 'table'",
		upsert:  upsertOnConflict,
		now:     func(context.Context, *executor) (time.Time, error) { return time.Now(), nil },
		clock:   "0",
		explain: explainSQLite,
		lanes:   1,
	}
}

func upsertOnConflict(table string, key, values []string) string {
	sets := make([]string, len(values))
	for i, column := range values {
		sets[i] = column + " = excluded." + column
	}
	return insertInto(table, slices.Concat(key, values)) + " ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// Tries to turn the write-ahead log of a new file on: 5 s.
const (
	openAttempts = 500
	openPause    = 10 * time.Millisecond
)

func sqliteSource(dsn string) (source, error) {
	path, err := sqlitePath(dsn)
	return source{name: path, dialect: sqliteDialect(), connect: func(ctx context.Context) (pools, error) {
		if err := createSQLite(path); err != nil {
			return pools{}, err
		}
		return openSQLite(ctx, path)
	}}, err
}

// sqlitePath takes the path out of a DSN: "sqlite:/path/file.db",
// "sqlite:///path/file.db" or a path.
func sqlitePath(dsn string) (string, error) {
	path, _ := strings.CutPrefix(dsn, "sqlite:")
	if rest, ok := strings.CutPrefix(path, "//"); ok && path != dsn {
		path = rest
	}
	switch scheme := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`).FindString(path); {
	case path == "" || strings.ContainsRune(path, 0):
		return "", openProblem("the store has no path").WithHint("give one such as sqlite:/var/lib/sluice/store.db")
	case path == ":memory:" || strings.HasPrefix(path, "file:"):
		return "", openProblem("the store %s is not a plain file", path).WithHint("give the path of a file; a store that survives nothing is not offered")
	case scheme != "":
		return "", openProblem("there is no store for %s", scheme).WithHint("give a path, sqlite:/path/file.db or mysql://user@host/database")
	}
	return filepath.Abs(path)
}

// createSQLite makes the folders (0700) and the file (0600) where they are
// missing. SQLite gives its side files the file's own mode.
func createSQLite(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fileProblem(path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fileProblem(path, err)
	}
	return f.Close()
}

// fileProblem keeps the cause for operators beside words for everybody.
func fileProblem(path string, cause error) error {
	problem := openProblem("the store %s cannot be opened or created", path).WithHint("check the path and the permissions")
	switch {
	case errors.Is(cause, fs.ErrPermission):
		problem.WithHint("let this user read and write the file and its folder, or give another path")
	case errors.Is(cause, errors.ErrUnsupported):
		problem.WithHint("give a path on a local disk")
	}
	return host.Fail("state.Open", problem, cause)
}

func openProblem(format string, args ...any) *abi.Problem {
	return abi.NewProblem(abi.StoreFailure, format, args...)
}

// openSQLite opens one connection that writes and a pool of connections that
// cannot.
func openSQLite(ctx context.Context, path string) (pools, error) {
	// A sync of data and size is what a commit needs, and what SQLite uses where
	// C builds it; a file's times take a write to the file system's journal. The
	// driver has it for the whole process; where a system lacks it, fsync stays.
	_, _ = sqlite.Fdatasync(true)
	writes, err := sqlitePool(path, 1)
	if err != nil {
		return pools{}, err
	}
	if err := keepLog(ctx, writes, path); err != nil {
		return pools{}, errors.Join(err, writes.Close())
	}
	reads, err := sqlitePool(path, sqliteReaders, "_query_only=1")
	if err != nil {
		return pools{}, errors.Join(err, writes.Close())
	}
	return pools{writes: writes, reads: reads, schema: writes}, nil
}

// keepLog turns the write-ahead log on, which the file then remembers. SQLite
// does not wait where several processes do so at once to a new file, so we do.
func keepLog(ctx context.Context, writer *sql.DB, path string) error {
	for attempt := 0; ; attempt++ {
		var mode string
		err := writer.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return openProblem("the store %s cannot keep a write-ahead log", path).WithHint("give a path on a local disk that supports shared memory")
		case sqliteCode(err) != sqlite3.SQLITE_BUSY || attempt == openAttempts:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(openPause):
		}
	}
}

func sqlitePool(path string, size int, extra ...string) (*sql.DB, error) {
	settings := append([]string{
		"mode=rw", "_busy_timeout=" + sqliteBusyMS, "_synchronous=FULL", "_foreign_keys=off", "_defensive=1", "_dqs=0", "_error_rc=1",
		"_pragma=wal_autocheckpoint(" + sqliteCheckpointPages + ")", "_pragma=journal_size_limit(" + sqliteJournalBytes + ")",
		"_pragma=temp_store(" + sqliteTempMemory + ")",
	}, extra...)
	name := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(settings, "&")}
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// sqliteCode gives SQLite's primary result code, 0 for other errors.
func sqliteCode(err error) int {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return 0
	}
	return failed.Code() & 0xff
}

// explainSQLite says in words what a failure of SQLite means.
func explainSQLite(err error) (message, hint string) {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another process keeps the store locked", "find the process that holds the file, or try again later"
	case sqlite3.SQLITE_FULL:
		return "the disk of the store is full", "make room on the disk, then try again"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return "the store cannot be written", "let this user read and write the store's file and its folder"
	case sqlite3.SQLITE_CORRUPT:
		return "the store is damaged", "stop, keep a copy of the file, and restore the last backup"
	case sqlite3.SQLITE_NOTADB:
		return "the file is not a store", "give the path of a store, or of a file that does not exist yet"
	case sqlite3.SQLITE_IOERR:
		return "the disk of the store fails", "check the disk, then start again"
	case sqlite3.SQLITE_TOOBIG:
		return "a value is larger than the store can hold", "store less at a time"
	}
	return "the store could not do this", ""
}
