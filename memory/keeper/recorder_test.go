package keeper

import (
	"context"
	"database/sql"
	"sync"

	"github.com/sluicehq/sluice/host"
)

// A recorder notes what a database is told.
type recorder struct {
	mu   sync.Mutex
	told map[string]bool // guarded by mu
}

func (r *recorder) note(query string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[query] = true
}

func (r *recorder) said(query string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[query]
}

func (r *recorder) forget(query string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.told, query)
}

type recorded struct {
	host.Statements
	by *recorder
}

func (s recorded) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s.by.note(query)
	return s.Statements.ExecContext(ctx, query, args...)
}

func (s recorded) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s.by.note(query)
	return s.Statements.QueryContext(ctx, query, args...)
}

func (r *recorder) around(db host.Database) host.Database {
	write := db.Write
	db.Reads = recorded{db.Reads, r}
	db.Write = func(ctx context.Context, run func(ctx context.Context, on host.Statements) error) error {
		return write(ctx, func(ctx context.Context, on host.Statements) error { return run(ctx, recorded{on, r}) })
	}
	return db
}
