package state

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// The statements for the schema's own versions.
const (
	makeSchemaVersion = "CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)"
	addSchemaVersion  = "INSERT INTO schema_version (version, applied_at) VALUES (?, ?)"
	lastSchemaVersion = "SELECT MAX(version) FROM schema_version"
)

// migrate brings the schema forward to the newest version that the files
// have. It never goes back: a store that a newer Sluice has written is refused.
// Where statements of a schema can be rolled back it is all or nothing; where
// each commits by itself, what was broken off goes on with the next Open.
func (s *Store) migrate(ctx context.Context, pool *sql.DB, files fs.FS) error {
	steps, err := migrations(files)
	if err != nil {
		return err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	ex := &executor{on: conn}
	defer discard(conn, ex) // with its transaction, if that failed
	// A store that is up to date, as almost always, is not locked.
	if have, err := schemaVersion(ctx, ex, s.dialect); err != nil || have == len(steps) {
		return err
	}
	if s.dialect.rowLocks {
		unlock, err := lockSchema(ctx, pool, s.dialect)
		if err != nil {
			return err
		}
		defer unlock()
		return migrateFrom(ctx, ex, s.dialect, steps)
	}
	if _, err := ex.exec(ctx, s.dialect.begin); err != nil {
		return err
	}
	if err := migrateFrom(ctx, ex, s.dialect, steps); err != nil {
		return err
	}
	_, err = ex.exec(ctx, "COMMIT")
	return err
}

// The statements around the migrations of a database whose schema is not in
// the transaction.
const (
	makeSchemaLock  = "CREATE TABLE IF NOT EXISTS schema_lock (id BIGINT NOT NULL PRIMARY KEY)"
	beginSchemaLock = "START TRANSACTION"
	takeSchemaLock  = "INSERT INTO schema_lock (id) VALUES (1) ON DUPLICATE KEY UPDATE id = VALUES(id)"
)

// Tries to get the schema's lock, each as long as the database waits for a
// row: minutes, in which another process may move a large table.
const schemaTries = 100

// lockSchema keeps other processes from migrating, with a row that a connection
// of its own keeps locked: a process that dies gives it back.
func lockSchema(ctx context.Context, pool *sql.DB, d dialect) (unlock func(), err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	ex := &executor{on: conn}
	unlock = func() { discard(conn, ex) }
	_, err = ex.exec(ctx, makeSchemaLock)
	for try := 0; err == nil && try < schemaTries; try++ {
		if _, err = ex.exec(ctx, beginSchemaLock); err != nil {
			break
		}
		if _, err = ex.exec(ctx, takeSchemaLock); err == nil {
			return unlock, nil
		}
		if d.fault(err) == clashed && ctx.Err() == nil {
			_, err = ex.exec(ctx, "ROLLBACK")
		}
	}
	unlock()
	if err == nil {
		err = openProblem("another process has been changing the store's schema for minutes").WithHint("wait until it is done, then start again")
	}
	return nil, err
}

func migrateFrom(ctx context.Context, ex *executor, d dialect, steps []string) error {
	have, err := schemaVersion(ctx, ex, d) // another process may have been first
	if err != nil {
		return err
	}
	if have > len(steps) {
		return openProblem("the store has schema version %d; this Sluice knows %d", have, len(steps)).WithHint("use the Sluice that wrote it, or a newer one")
	}
	for i := have; i < len(steps); i++ {
		if err := applyStep(ctx, ex, d, i+1, steps[i]); err != nil {
			return fmt.Errorf("schema version %d: %w", i+1, err)
		}
	}
	return nil
}

func applyStep(ctx context.Context, ex *executor, d dialect, version int, step string) error {
	statements := strings.Split(d.words.Replace(step), ";\n")
	if version == 1 {
		statements = slices.Insert(statements, 0, makeSchemaVersion)
	}
	for _, statement := range statements {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := ex.exec(ctx, statement); err != nil && (d.made == nil || !d.made(err)) {
			return err
		}
	}
	_, err := ex.exec(ctx, addSchemaVersion, version, time.Now().UnixMicro())
	return err
}

// schemaVersion gives 0 for an empty database and refuses one that has tables
// of somebody else.
func schemaVersion(ctx context.Context, ex *executor, d dialect) (int, error) {
	var tables []string
	err := ex.each(ctx, d.tables, nil, func(rows *sql.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		if name != "schema_lock" { // may be there before the version is
			tables = append(tables, name)
		}
		return true, err
	})
	if err != nil || len(tables) == 0 {
		return 0, err
	}
	if !slices.Contains(tables, "schema_version") {
		return 0, openProblem("the database belongs to another program: it has a table %s and no schema version", tables[0]).WithHint("give a path of its own to the store")
	}
	var version sql.NullInt64 // none while another process makes the first
	_, err = ex.row(ctx, lastSchemaVersion, nil, &version)
	return int(version.Int64), err
}

// migrations gives the files in order; their names begin with the version
// that they lead to: 0001, 0002 and so on without gaps.
func migrations(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []string
	for i, name := range names { // Glob sorts
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", i+1)) {
			return nil, fmt.Errorf("BUG: migration %s is not number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, string(text))
	}
	return steps, nil
}
