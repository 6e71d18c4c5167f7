package host

import (
	"context"
	"database/sql"
	"io/fs"
	"strings"
)

// The dialects of a Database.
const (
	SQLite = "sqlite"
	MySQL  = "mysql"
)

// A Database is the host's own database, as it is handed to a room that keeps
// tables of its own in it. A room reads and writes no other room's tables. It is
// safe for concurrent use, and ends with the store that gave it.
type Database struct {
	Dialect string     // SQLite or MySQL: what its statements must be written in
	Reads   Statements // each statement on its own; on SQLite it cannot write

	// Write runs a transaction in the line of all writers, and shares their
	// commits: all of run is kept, durably, or on an error nothing of it. run
	// touches nothing but the database, keeps to milliseconds, begins and ends no
	// transaction, closes the rows that it reads, and may be run again from its
	// beginning. Errors have a problem.
	Write func(ctx context.Context, run func(ctx context.Context, on Statements) error) error

	// Migrate brings a room's tables forward to the newest version that its files
	// have, and refuses those that a newer Sluice has written with StoreFailure. It may
	// take as long as large tables take, and processes that do it at once do it after
	// one another. On SQLite it is all or nothing; on MySQL, where each statement
	// commits by itself, what was broken off goes on with the next Migrate.
	Migrate func(ctx context.Context, s Schema) error

	// Scrub takes out of the database's files what deleted rows left in them, or
	// fails. It rewrites the whole database while other writers wait: 3.5 s for
	// 140 MB, measured on two busy cores. Nil where the database has no such order: then
	// what was deleted leaves its files when the server gets to it.
	Scrub func(ctx context.Context) error
}

// A Schema is the tables of one room, as its files make them.
type Schema struct {
	Of       string // what they keep, as messages name it
	Versions string // the name of the table that the versions are kept in; it is made with the first
	// Files are migrations/0001_name.sql, 0002_name.sql and so on without gaps, each
	// with the statements that lead from the version before to its own, ended by ";\n".
	// A file that is released is never edited.
	Files fs.FS
	// Words puts the room's own words in braces into the dialect's. Nil for none: every
	// schema has {id} and {key} for text that is compared byte by byte, {bytes} for any
	// bytes, and {clustered} for a table that is kept in the order of its primary key.
	Words *strings.Replacer
}

// Statements run statements, each prepared once: their texts come from a small
// fixed set.
type Statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
