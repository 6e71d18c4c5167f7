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

const makeSchemaVersion = "CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)"

// migrate brings the schema forward to the newest version that the files
// have, all in one transaction. It never goes back: a store that a newer
// Sluice has written is refused.
func (s *Store) migrate(ctx context.Context, files fs.FS) error {
	steps, err := migrations(files)
	if err != nil {
		return err
	}
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return err
	}
	ex := &executor{on: conn}
	defer discard(conn, ex) // with its transaction, if that failed
	// A store that is up to date, as almost always, is not locked.
	if have, err := schemaVersion(ctx, ex, s.dialect); err != nil || have == len(steps) {
		return err
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
		if _, err := ex.exec(ctx, statement); err != nil {
			return err
		}
	}
	_, err := ex.exec(ctx, "INSERT INTO schema_version (version, applied_at) VALUES (?, ?)", version, time.Now().UnixMicro())
	return err
}

// schemaVersion gives 0 for an empty database and refuses one that has tables
// of somebody else.
func schemaVersion(ctx context.Context, ex *executor, d dialect) (int, error) {
	var tables []string
	err := ex.each(ctx, d.tables, nil, func(rows *sql.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		tables = append(tables, name)
		return true, err
	})
	if err != nil || len(tables) == 0 {
		return 0, err
	}
	if !slices.Contains(tables, "schema_version") {
		return 0, openProblem("the database belongs to another program: it has a table %s and no schema version", tables[0]).WithHint("give a path of its own to the store")
	}
	var version int
	_, err = ex.row(ctx, "SELECT MAX(version) FROM schema_version", nil, &version)
	return version, err
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
