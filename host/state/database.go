package state

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sluicehq/sluice/host"
)

var _ host.Statements = (*executor)(nil)

// Database hands the database down to a room that keeps tables of its own in it.
// Their names are none of the store's, and begin with the room's. It ends with the
// store's Close.
func (s *Store) Database() host.Database {
	d := host.Database{
		Dialect: host.SQLite,
		Reads:   s.reader,
		Write: func(ctx context.Context, run func(ctx context.Context, on host.Statements) error) error {
			return s.transact(ctx, "state.Write", func(ctx context.Context, ex *executor) error { return run(ctx, ex) })
		},
		Migrate: s.migrateRoom,
	}
	if s.dialect.rowLocks {
		d.Dialect = host.MySQL
	} else {
		d.Scrub = s.scrub
	}
	return d
}

// ExecContext runs a statement that gives no rows.
func (ex *executor) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := ex.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryContext runs a statement that gives rows, which the caller closes.
func (ex *executor) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := ex.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// Tries to empty the write-ahead log: readers take milliseconds, and no writer waits
// for one that takes longer than all of them.
const (
	scrubTries  = 4
	scrubWaitMS = "1000" // for readers, in each try
)

// scrub writes the whole database anew and empties the write-ahead log, between
// two batches of the writer.
func (s *Store) scrub(ctx context.Context) error {
	u := &unit{done: make(chan error, 1), run: func(ctx context.Context, ex *executor) error {
		return errors.Join(rewrite(ctx, ex), emptyLog(ctx, ex))
	}}
	if err := s.writer.doBare(ctx, u); err != nil {
		return s.fail(ctx, "state.Scrub", err)
	}
	return nil
}

// rewrite makes a copy of the database and puts it in the place of all pages. The
// copy is too much for memory.
func rewrite(ctx context.Context, ex *executor) error {
	for _, order := range []string{"PRAGMA temp_store = 1", "VACUUM", "PRAGMA temp_store = " + sqliteTempMemory} {
		if _, err := ex.exec(ctx, order); err != nil {
			return err
		}
	}
	return nil
}

// emptyLog moves the write-ahead log into the file and cuts it to nothing.
func emptyLog(ctx context.Context, ex *executor) error {
	if _, err := ex.exec(ctx, "PRAGMA busy_timeout = "+scrubWaitMS); err != nil {
		return err
	}
	for range scrubTries {
		var busy, pages, moved int
		if _, err := ex.row(ctx, "PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, &pages, &moved); err != nil {
			return err
		}
		if busy == 0 {
			_, err := ex.exec(ctx, "PRAGMA busy_timeout = "+sqliteBusyMS)
			return err
		}
	}
	return openProblem("a reader keeps the write-ahead log of the store, and what was deleted is still in it").
		WithHint("end other programs that have the store's file open, then try again")
}
