package state

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// A schema is tables that are brought forward together: the store's own, or a room's.
type schema struct {
	host.Schema
	steps []string
	first bool // the store's: before its first version the database has no tables
}

func ownSchema(files fs.FS) (schema, error) {
	sc, err := schemaOf(host.Schema{Of: "the store", Versions: "schema_version", Files: files})
	sc.first = true
	return sc, err
}

func schemaOf(of host.Schema) (schema, error) {
	steps, err := migrations(of.Files)
	if of.Words == nil {
		of.Words = strings.NewReplacer()
	}
	return schema{Schema: of, steps: steps}, err
}

// The statements for a schema's versions.
func (sc schema) makeVersions() string {
	return "CREATE TABLE " + sc.Versions + " (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)"
}
func (sc schema) addVersion() string {
	return "INSERT INTO " + sc.Versions + " (version, applied_at) VALUES (?, ?)"
}
func (sc schema) lastVersion() string { return "SELECT MAX(version) FROM " + sc.Versions }

// migrate brings the store's schema forward to the newest version that the files
// have. It never goes back: a store that a newer Sluice has written is refused.
// Where statements of a schema can be rolled back it is all or nothing; where
// each commits by itself, what was broken off goes on with the next Open.
func (s *Store) migrate(ctx context.Context, pool *sql.DB, files fs.FS) error {
	sc, err := ownSchema(files)
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
	if have, err := sc.version(ctx, ex, s.dialect); err != nil || have == len(sc.steps) {
		return err
	}
	if s.dialect.rowLocks {
		return migrateLocked(ctx, pool, ex, s.dialect, sc)
	}
	if _, err := ex.exec(ctx, s.dialect.begin); err != nil {
		return err
	}
	if err := sc.migrateFrom(ctx, ex, s.dialect); err != nil {
		return err
	}
	_, err = ex.exec(ctx, "COMMIT")
	return err
}

// migrateRoom does the same for the schema of a room, beside the store's work.
func (s *Store) migrateRoom(ctx context.Context, of host.Schema) error {
	const op = "state.Migrate"
	sc, err := schemaOf(of)
	if err != nil {
		return s.fail(ctx, op, err)
	}
	if have, err := sc.version(ctx, s.reader, s.dialect); err != nil || have == len(sc.steps) {
		return s.fail(ctx, op, err)
	}
	if !s.dialect.rowLocks { // the schema is in the transaction, and the writer has the only connection that writes
		return s.transact(ctx, op, func(ctx context.Context, ex *executor) error { return sc.migrateFrom(ctx, ex, s.dialect) })
	}
	return s.fail(ctx, op, s.migrateBeside(ctx, sc))
}

// migrateBeside uses connections of its own: it may take longer than others may.
func (s *Store) migrateBeside(ctx context.Context, sc schema) error {
	pool, err := s.schemaPool()
	if err != nil {
		return err
	}
	conn, err := pool.Conn(ctx)
	if err == nil {
		ex := &executor{on: conn}
		err = migrateLocked(ctx, pool, ex, s.dialect, sc)
		discard(conn, ex)
	}
	return errors.Join(err, pool.Close())
}

func migrateLocked(ctx context.Context, pool *sql.DB, ex *executor, d dialect, sc schema) error {
	unlock, err := lockSchema(ctx, pool, d)
	if err != nil {
		return err
	}
	defer unlock()
	return sc.migrateFrom(ctx, ex, d)
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

func (sc schema) migrateFrom(ctx context.Context, ex *executor, d dialect) error {
	have, err := sc.version(ctx, ex, d) // another process may have been first
	if err != nil {
		return err
	}
	if have > len(sc.steps) {
		return openProblem("%s: schema version %d is newer than this Sluice, which knows %d", sc.Of, have, len(sc.steps)).WithHint("use the Sluice that wrote it, or a newer one")
	}
	for i := have; i < len(sc.steps); i++ {
		if err := sc.apply(ctx, ex, d, i+1, sc.steps[i]); err != nil {
			return fmt.Errorf("%s: schema version %d: %w", sc.Of, i+1, err)
		}
	}
	return nil
}

func (sc schema) apply(ctx context.Context, ex *executor, d dialect, version int, step string) error {
	statements := statementsOf(d.words.Replace(sc.Words.Replace(step)))
	if version == 1 {
		statements = slices.Insert(statements, 0, sc.makeVersions())
	}
	for _, statement := range statements {
		if _, err := ex.exec(ctx, statement); err != nil && (d.made == nil || !d.made(err)) {
			return err
		}
	}
	_, err := ex.exec(ctx, sc.addVersion(), version, time.Now().UnixMicro())
	return err
}

// statementsOf gives the statements of a file, without the lines that are comments: a
// database that is given nothing else gives no answer.
func statementsOf(text string) (list []string) {
	var bare strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			bare.WriteString(line)
		}
	}
	for statement := range strings.SplitSeq(bare.String(), ";\n") {
		if strings.TrimSpace(statement) != "" {
			list = append(list, statement)
		}
	}
	return list
}

// version gives 0 where nothing was made yet. The store's own schema refuses a
// database that has tables of somebody else then.
func (sc schema) version(ctx context.Context, ex *executor, d dialect) (int, error) {
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
	if !slices.Contains(tables, sc.Versions) {
		if sc.first {
			err = openProblem("the database belongs to another program: it has a table %s and no schema version", tables[0]).WithHint("give a path of its own to the store")
		}
		return 0, err
	}
	var version sql.NullInt64 // none while another process makes the first
	_, err = ex.row(ctx, sc.lastVersion(), nil, &version)
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
