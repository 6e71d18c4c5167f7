package state

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of one call to the store.
const (
	MaxPage          = 1000              // entries of one list; more come with the next one
	MaxKeys          = 100               // state keys of one load or save: a session has a dozen
	MaxRecords       = 256               // audit records of one transaction
	MaxDocumentBytes = 65 * int(abi.MiB) // one state value, outcome or record's detail: a tool's output at its ceiling, in its envelope
	maxPageBytes     = 16 * int(abi.MiB) // a list ends early rather than exceed it by more than one entry
)

// Options are how a store is opened. The zero value is right for production.
type Options struct {
	// Now is the store's clock: leases and times come from it. Tests set it; by
	// default the database's own clock decides, so that the clocks of several
	// processes on one store need not agree.
	Now func() time.Time

	// Getenv finds the password that a URL names; by default in this process's
	// environment.
	Getenv func(name string) string
}

func (o Options) getenv() func(string) string {
	if o.Getenv != nil {
		return o.Getenv
	}
	return os.Getenv
}

// A Store keeps what must survive: session state, kv, claims and audit
// records. It is safe for concurrent use, also by several processes on one
// database. Every error that it gives is a *host.Error: StoreFailure where the
// database failed and nothing was changed (safe to repeat), unless ErrUnknownEnd
// is in its chain; StoreConflict where other transactions were in the way until
// the store gave up (likewise safe); BadValue where the caller's own ids or sizes
// are out of bounds (not); and what each method names.
type Store struct {
	dialect dialect
	queries queries
	writer  *writer
	reader  *executor
	writes  *sql.DB // the writer's
	reads   *sql.DB

	schemaPool func() (*sql.DB, error) // connections for more migrations; nil where the writer does them
	owner      string                  // of the claims that this store takes; see Reclaim
	options    Options
}

// Open opens a store and brings its schema up to date:
//
//   - "sqlite:/path/file.db", or a bare path. Missing folders are created with
//     mode 0700 and a missing file with 0600.
//   - "mysql://user@host:port/database?password_env=NAME" of MariaDB, MySQL or
//     what speaks their protocol. The database must be there, be the store's own
//     and be written through one server. The password is in that environment
//     variable, or in the URL; connections to other machines are encrypted and
//     the server's certificate is checked, unless it says tls=off; ca=/path.pem
//     names the authorities for that; socket=/path is a Unix socket instead of
//     a host. A store has up to 24 connections, and the user needs all rights
//     on the database.
//
// It fails with StoreFailure and a hint if the database cannot be used, is not a
// store or is damaged, or a newer Sluice wrote it. No message has a password.
// The caller closes the store.
func Open(ctx context.Context, dsn string, opts Options) (*Store, error) {
	const op = "state.Open"
	s := &Store{owner: host.NewID("store_"), options: opts}
	from, err := sourceOf(dsn, opts)
	s.dialect = from.dialect
	if err == nil {
		err = s.open(ctx, from)
	}
	if err == nil {
		return s, nil
	}
	err = s.fail(ctx, op, err)
	if problem := host.ProblemOf(err); from.name != "" && !strings.Contains(problem.Message, from.name) {
		problem.Message = from.name + ": " + problem.Message
	}
	return nil, err
}

func (s *Store) open(ctx context.Context, from source) error {
	p, err := from.connect(ctx)
	if err != nil {
		return err
	}
	s.writes, s.reads = p.writes, p.reads
	s.queries = newQueries(s.dialect)
	s.reader = &executor{on: s.reads}
	s.schemaPool = p.schemaPool
	err = s.migrate(ctx, p.schema, migrationFiles)
	if p.schema != p.writes {
		err = errors.Join(err, p.schema.Close())
	}
	if err == nil {
		err = s.sweepLanes(ctx)
	}
	if err != nil {
		return errors.Join(err, s.reads.Close(), s.writes.Close())
	}
	s.writer = startWriter(s.writes, s.dialect, s.queries)
	return nil
}

// Close ends the store: transactions that wait are still done, later ones are
// refused. Calling it again does nothing.
func (s *Store) Close() error {
	if !s.writer.drain() {
		return nil
	}
	// The writer's connection goes last: it may fold the write-ahead log into
	// the file, which readers may not.
	err := s.reads.Close()
	s.writer.disconnect()
	if err = errors.Join(err, s.writes.Close()); err != nil {
		return s.fail(context.Background(), "state.Close", err)
	}
	return nil
}

// Ping reads from the store and gives StoreFailure if that fails.
func (s *Store) Ping(ctx context.Context) error {
	own, err := ownSchema(migrationFiles)
	if err == nil {
		_, err = own.version(ctx, s.reader, s.dialect)
	}
	return s.fail(ctx, "state.Ping", err)
}

// write runs one transaction on the writer; see there. The time at which it
// runs is by the store's clock.
func (s *Store) write(ctx context.Context, op string, run func(ctx context.Context, ex *executor, at time.Time) error) error {
	return s.transact(ctx, op, func(ctx context.Context, ex *executor) error {
		at, err := s.now(ctx, ex)
		if err != nil {
			return err
		}
		return run(ctx, ex, at)
	})
}

func (s *Store) transact(ctx context.Context, op string, run func(ctx context.Context, ex *executor) error) error {
	if err := s.writer.do(ctx, run); err != nil {
		return s.fail(ctx, op, err)
	}
	return nil
}

func (s *Store) now(ctx context.Context, ex *executor) (time.Time, error) {
	if s.options.Now != nil {
		return s.options.Now(), nil
	}
	return s.dialect.now(ctx, ex)
}

// timeOfRow gives the time by the store's clock, which the database told with a
// row that was found, where it has a clock of its own.
func (s *Store) timeOfRow(ctx context.Context, ex *executor, found bool, micros int64) (time.Time, error) {
	if found && s.options.Now == nil && s.dialect.rowLocks {
		return timeOf(micros), nil
	}
	return s.now(ctx, ex)
}

// timeOrNone takes 0 for no time.
func timeOrNone(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return timeOf(micros)
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// fail gives every error that leaves the store its problem.
func (s *Store) fail(ctx context.Context, op string, err error) error {
	var failed *host.Error
	var problem *abi.Problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed) && failed.Op == "":
		return host.Fail(op, failed.Problem, failed.Cause)
	case errors.As(err, &failed):
		return failed
	case errors.As(err, &problem):
		return host.Fail(op, problem, nil)
	case s.writer != nil && s.writer.isClosed():
		return host.Fail(op, closedProblem(), err)
	case ctx.Err() != nil:
		return host.Fail(op, host.ProblemOf(ctx.Err()), errors.Join(ctx.Err(), err))
	}
	if s.dialect.fault != nil && s.dialect.fault(err) == clashed {
		return host.Fail(op, abi.NewProblem(abi.StoreConflict, "others changed the same at the same time, again and again").WithHint("try again"), err)
	}
	message, hint := s.dialect.explain(err)
	if errors.Is(err, ErrUnknownEnd) {
		message, hint = "the connection to the store was lost while it kept a change", "look whether the change is there before you make it again"
	}
	return host.Fail(op, abi.NewProblem(abi.StoreFailure, "%s", message).WithHint("%s", hint), err)
}
