package state

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// An executor runs queries, each prepared once, on the readers' pool or on
// the writer's connection. It is safe for concurrent use as far as what it
// runs on is. The texts come from the fixed set of queries, so that the map
// stays small.
type executor struct {
	on interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	mu       sync.Mutex
	prepared map[string]*sql.Stmt // guarded by mu
}

func (ex *executor) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if stmt, ok := ex.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := ex.on.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if ex.prepared == nil {
		ex.prepared = map[string]*sql.Stmt{}
	}
	ex.prepared[query] = stmt
	return stmt, nil
}

// exec gives the number of rows that the statement wrote.
func (ex *executor) exec(ctx context.Context, query string, args ...any) (int64, error) {
	stmt, err := ex.prepare(ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row scans the only row into dest and reports whether there was one.
func (ex *executor) row(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	stmt, err := ex.prepare(ctx, query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls take with one row after another until there are none or take
// wants no more.
func (ex *executor) each(ctx context.Context, query string, args []any, take func(rows *sql.Rows) (more bool, err error)) error {
	stmt, err := ex.prepare(ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := take(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// discard closes a connection for good instead of giving it back to its pool,
// so that whatever it was in the middle of is rolled back. SQLite keeps a
// connection alive, locks and all, as long as one of its statements is, and
// database/sql leaves the statements of a single connection to us.
func discard(conn *sql.Conn, ex *executor) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	for _, stmt := range ex.prepared {
		stmt.Close()
	}
	conn.Raw(func(any) error { return driver.ErrBadConn })
}
