package state

import (
	"context"
	"strings"
	"time"
)

// A dialect is everything in which the databases differ. The statements
// themselves are written in what SQLite, MySQL, TiDB and Vitess have in common:
// point reads and ranges over primary keys, no joins, no returning clauses, no
// functions of dates or JSON.
type dialect struct {
	words   *strings.Replacer                                          // the words in braces of the migrations
	begin   string                                                     // begins a transaction that will write
	lock    string                                                     // ends a SELECT whose rows this transaction will write
	hold    string                                                     // ends a SELECT whose rows must not change before the commit
	tables  string                                                     // selects the names of all tables of the database
	upsert  func(table string, key, values []string) string            // writes a row, whether it is there or not
	now     func(ctx context.Context, ex *executor) (time.Time, error) // the store's own clock
	explain func(err error) (message, hint string)                     // a failure in words for the user and for operators
}

// sqliteDialect is SQLite's. A transaction that writes locks the whole
// database from its start, so that rows need no locks of their own; the store
// is on this machine, so that its clock is this machine's.
func sqliteDialect() dialect {
	return dialect{
		words: strings.NewReplacer("{id}", "TEXT", "{key}", "TEXT", "{bytes}", "BLOB",
			"{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{clustered}", "WITHOUT ROWID"),
		begin:   "BEGIN IMMEDIATE",
		tables:  "SELECT name FROM sqlite_master WHERE type = 'table'",
		upsert:  upsertOnConflict,
		now:     func(context.Context, *executor) (time.Time, error) { return time.Now(), nil },
		explain: explainSQLite,
	}
}

func upsertOnConflict(table string, key, values []string) string {
	columns := append(append([]string(nil), key...), values...)
	sets := make([]string, len(values))
	for i, column := range values {
		sets[i] = column + " = excluded." + column
	}
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + marks(len(columns)) +
		") ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// marks gives n placeholders: "?, ?, ?".
func marks(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}
