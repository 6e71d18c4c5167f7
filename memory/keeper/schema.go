package keeper

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// The statements for the schema's own versions.
const (
	makeSchema    = "CREATE TABLE IF NOT EXISTS memory_schema (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)"
	schemaVersion = "SELECT COUNT(*) FROM memory_schema"
	addVersion    = "INSERT INTO memory_schema (version, applied_at) VALUES (?, ?)"
	makeHead      = "INSERT INTO memory_head (head_no, last_no, trimmed, scrub_to, scrubbed) VALUES (1, 0, 0, 0, 0)"
)

// wordsOf gives the words in braces of the migrations.
func wordsOf(dialect string) *strings.Replacer {
	if dialect == host.SQLite {
		return strings.NewReplacer("{id}", "TEXT", "{entity}", "TEXT", "{key}", "TEXT", "{bytes}", "BLOB",
			"{number}", "INTEGER PRIMARY KEY", "{clustered}", "WITHOUT ROWID", "{engine}", "")
	}
	binary := func(n int) string { return "VARBINARY(" + strconv.Itoa(n) + ")" }
	return strings.NewReplacer("{id}", binary(host.MaxIDBytes), "{entity}", binary(memory.MaxEntityBytes), "{key}", binary(abi.KeyBytes), "{bytes}", "LONGBLOB",
		"{number}", "BIGINT NOT NULL PRIMARY KEY", "{clustered}", "ENGINE=InnoDB", "{engine}", "ENGINE=InnoDB")
}

// migrate brings the keeper's tables forward to the newest version, and refuses
// those of a newer Sluice. Each statement is safe to repeat and safe beside
// another process that does the same.
func (k *Keeper) migrate(ctx context.Context) error {
	steps, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	if k.db.Dialect == host.SQLite { // its schema is in the transaction, and nothing but a transaction writes
		return k.db.Write(ctx, func(ctx context.Context, on host.Statements) error { return k.migrateOn(ctx, on, on, steps) })
	}
	if _, err := k.db.Reads.ExecContext(ctx, makeSchema); err != nil {
		return err
	}
	return k.db.Write(ctx, func(ctx context.Context, on host.Statements) error { return k.migrateOn(ctx, k.db.Reads, on, steps) })
}

func (k *Keeper) migrateOn(ctx context.Context, schema, rows host.Statements, steps []string) error {
	if _, err := schema.ExecContext(ctx, makeSchema); err != nil {
		return err
	}
	var have int
	if _, err := row(ctx, rows, schemaVersion, nil, &have); err != nil {
		return err
	}
	if have > len(steps) {
		return abi.NewProblem(abi.StoreFailure, "the memories have schema version %d; this Sluice knows %d", have, len(steps)).WithHint("use the Sluice that wrote them, or a newer one")
	}
	for i, step := range steps[have:] {
		for statement := range strings.SplitSeq(wordsOf(k.db.Dialect).Replace(step), ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := schema.ExecContext(ctx, statement); err != nil && !isMade(err) {
				return fmt.Errorf("schema version %d of the memories: %w", have+i+1, err)
			}
		}
		if _, err := exec(ctx, rows, addVersion, have+i+1, k.now().UnixMicro()); err != nil {
			return err
		}
	}
	var head int
	found, err := row(ctx, rows, "SELECT head_no FROM memory_head WHERE head_no = 1", nil, &head)
	if err == nil && !found {
		_, err = exec(ctx, rows, makeHead)
	}
	return err
}

// isMade reports whether an index is there already: schemas of the MySQL family commit by
// themselves, and another process may have been first.
func isMade(err error) bool { return strings.Contains(err.Error(), "Duplicate key name") }

// migrations gives the files in order; their names begin with the version that
// they lead to.
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
