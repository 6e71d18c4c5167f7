package state

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// A dialect is everything in which the databases differ. The statements
// themselves are written in what SQLite, MySQL, MariaDB, TiDB and Vitess have
// in common: point reads and ranges over primary keys, no joins, no returning
// clauses, no shared locks, no functions of dates or JSON.
type dialect struct {
	words   *strings.Replacer                                          // the words in braces of the migrations
	begin   string                                                     // begins a transaction that will write; empty where every statement is in one
	lock    string                                                     // ends a SELECT whose rows this transaction will write
	tables  string                                                     // selects the names of all tables of the database
	upsert  func(table string, key, values []string) string            // writes a row, whether it is there or not
	now     func(ctx context.Context, ex *executor) (time.Time, error) // the store's own clock
	clock   string                                                     // the same as a column, in microseconds; of no use where now asks nobody
	explain func(err error) (message, hint string)                     // a failure in words for the user and for operators

	// Of a database that locks as a whole, transactions run one after another
	// and share commits; see batch.go. Of one that locks rows, several run at
	// once, each in a transaction of its own; see alone.go and lock.go.
	rowLocks bool
	lanes    int                   // transactions that run at once
	fault    func(err error) fault // what a failure means for the transaction; only where rows are locked
	taken    func(err error) bool  // a row could not be made because its key is there; the transaction goes on
	made     func(err error) bool  // a migration's statement had run before; only where those commit by themselves
}

// A fault is what a failure means for a transaction.
type fault int

const (
	plain   fault = iota // the statement cannot be done
	clashed              // another transaction was in the way: run it again
	lost                 // the connection is gone, and with it what was not committed
)

// A source is a database that a store can be opened on.
type source struct {
	name    string // for messages: without a password
	dialect dialect
	connect func(ctx context.Context) (pools, error)
}

// pools are the connections of a store.
type pools struct {
	writes *sql.DB // one for each lane
	reads  *sql.DB
	schema *sql.DB // for migrations, which may take long; closed after them unless it is writes

	schemaPool func() (*sql.DB, error) // makes another such pool; nil where it is writes
}

// sourceOf tells by a DSN's beginning which database it means.
func sourceOf(dsn string, opts Options) (source, error) {
	if strings.HasPrefix(dsn, mysqlScheme) {
		return mysqlSource(dsn, opts.getenv())
	}
	return sqliteSource(dsn)
}

// marks gives n placeholders: "?, ?, ?".
func marks(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// insertInto begins the upserts of both databases.
func insertInto(table string, columns []string) string {
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + marks(len(columns)) + ")"
}
