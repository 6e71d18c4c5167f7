package host

import (
	"context"
	"database/sql"
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

	// Scrub takes out of the database's files what deleted rows left in them, or
	// fails. It rewrites the whole database while other writers wait: 3.5 s for
	// 140 MB, measured on two busy cores. Nil where the database has no such order: then
	// what was deleted leaves its files when the server gets to it.
	Scrub func(ctx context.Context) error
}

// Statements run statements, each prepared once: their texts come from a small
// fixed set.
type Statements interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
