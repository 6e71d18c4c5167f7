package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Value is one state key of a session as it is stored.
type Value struct {
	Key       string
	Version   int64 // 1 for a new key, one more with every change; see SaveState
	Data      json.RawMessage
	UpdatedAt time.Time // by the store's clock
}

// A Change writes or deletes one state key.
type Change struct {
	Key     string          // UTF-8 without NUL, 1 to abi.KeyBytes bytes
	Version int64           // the current version, as it was loaded; 0 if the key must not exist
	Data    json.RawMessage // up to MaxDocumentBytes; nil deletes
	Keep    bool            // changes nothing: only the version must be the current one
}

// LoadState gives the values of those keys that exist, as they are together at
// one moment. Without keys it gives none; at most MaxKeys may be asked for.
func (s *Store) LoadState(ctx context.Context, ref host.SessionRef, keys ...string) (map[string]Value, error) {
	const op = "state.LoadState"
	if err := checkLoad(ref, keys); err != nil {
		return nil, s.fail(ctx, op, err)
	}
	values := map[string]Value{}
	if len(keys) == 0 {
		return values, nil
	}
	query, args := s.loadStateQuery(ref, keys)
	err := s.reader.each(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		v, err := scanValue(rows)
		values[v.Key] = v
		return true, err
	})
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return values, nil
}

func (s *Store) loadStateQuery(ref host.SessionRef, keys []string) (query string, args []any) {
	if len(keys) <= fewReads {
		return s.queries.readState[len(keys)][0], append(readStateArgs(ref, keys), len(keys))
	}
	args = sessionArgs(ref)
	for _, key := range keys {
		args = append(args, key)
	}
	return fmt.Sprintf(s.queries.loadState, marks(len(keys))), args
}

// readStateArgs are those of the part of a statement of readState that is about
// keys.
func readStateArgs(ref host.SessionRef, keys []string) (args []any) {
	for _, key := range keys {
		args = append(append(args, sessionArgs(ref)...), key)
	}
	return args
}

// fewReads bounds the keys, and the prefixes, that one statement reads without a
// list: there is a statement for each number of both.
const fewReads = 4

// ReadState gives the values of keys and of all keys that begin with prefixes,
// as they are together at one moment, in no order; what two of them name comes
// twice. It reports false, and gives nothing, where this is too much for one
// answer: LoadState and ListState give it in parts.
func (s *Store) ReadState(ctx context.Context, ref host.SessionRef, keys, prefixes []string) (values []Value, all bool, err error) {
	const op = "state.ReadState"
	if err := checkLoad(ref, keys); err != nil {
		return nil, false, s.fail(ctx, op, err)
	}
	switch {
	case len(keys) > fewReads || len(prefixes) > fewReads:
		return nil, false, nil
	case len(keys)+len(prefixes) == 0:
		return nil, true, nil
	}
	args := readStateArgs(ref, keys)
	for _, prefix := range prefixes {
		from, end, problem := keyRange(prefix, "")
		if problem != nil {
			return nil, false, s.fail(ctx, op, badValue("state: %s", problem.Message))
		}
		args = append(append(args, sessionArgs(ref)...), from, end)
	}
	size := 0
	err = s.reader.each(ctx, s.queries.readState[len(keys)][len(prefixes)], append(args, MaxPage+1), func(rows *sql.Rows) (bool, error) {
		v, err := scanValue(rows)
		values = append(values, v)
		size += len(v.Key) + len(v.Data)
		return size < maxPageBytes, err
	})
	switch {
	case err != nil:
		return nil, false, s.fail(ctx, op, err)
	case len(values) > MaxPage || size >= maxPageBytes:
		return nil, false, nil
	}
	return values, true, nil
}

func checkLoad(ref host.SessionRef, keys []string) error {
	if len(keys) > MaxKeys {
		return badValue("%d state keys at once; at most %d are loaded", len(keys), MaxKeys)
	}
	for _, key := range keys {
		if err := checkStateKey(key); err != nil {
			return err
		}
	}
	return checkRef(ref)
}

// ListState gives the values whose keys begin with the prefix and are greater
// than after, in the order of the keys' bytes. A limit of 0 means MaxPage, the
// most. A list may end early because of its size: only an empty one is the end.
func (s *Store) ListState(ctx context.Context, ref host.SessionRef, prefix, after string, limit int) ([]Value, error) {
	values, _, err := s.StatePage(ctx, ref, prefix, after, limit)
	return values, err
}

// StatePage is ListState, and reports whether there may be more behind the last
// value: who looks at few keys needs not ask once more to learn that it has all.
func (s *Store) StatePage(ctx context.Context, ref host.SessionRef, prefix, after string, limit int) (values []Value, more bool, err error) {
	const op = "state.ListState"
	if err := checkRef(ref); err != nil {
		return nil, false, s.fail(ctx, op, err)
	}
	from, end, problem := keyRange(prefix, after)
	if problem != nil {
		return nil, false, s.fail(ctx, op, badValue("state: %s", problem.Message))
	}
	limit = pageLimit(limit)
	size := 0
	args := append(sessionArgs(ref), from, end, limit+1) // one more, for the key equal to after
	failed := s.reader.each(ctx, s.queries.listState, args, func(rows *sql.Rows) (bool, error) {
		v, err := scanValue(rows)
		if err == nil && v.Key != after {
			values = append(values, v)
			size += len(v.Key) + len(v.Data)
		}
		more = len(values) == limit || size >= maxPageBytes
		return !more, err
	})
	if failed != nil {
		return nil, false, s.fail(ctx, op, failed)
	}
	return values, more, nil
}

func scanValue(rows *sql.Rows) (v Value, err error) {
	var updated int64
	err = rows.Scan(&v.Key, &v.Version, &updated, (*[]byte)(&v.Data))
	v.UpdatedAt = timeOf(updated)
	return v, err
}

// keyRange gives the range of the keys with a prefix from after on, with after
// itself where it has the prefix.
func keyRange(prefix, after string) (from, end string, problem *abi.Problem) {
	for _, part := range []string{prefix, after} {
		if len(part) > abi.KeyBytes {
			return "", "", abi.NewProblem(abi.BadHostCall, "a prefix or key of %d bytes; give at most %d", len(part), abi.KeyBytes)
		}
		if problem := checkKeyText(part); problem != nil {
			return "", "", problem
		}
	}
	return max(prefix, after), endOf(prefix), nil
}

// SaveState makes all changes or none, durably. It fails with StoreConflict,
// whose field names the key, if a key is at another version than the change
// says: load it again. After a success a key's version is one more than the
// change's; only a key that was deleted earlier and is made again goes on
// counting from there, and must be loaded to learn its version. It is
// SaveStateUnder without a lease.
func (s *Store) SaveState(ctx context.Context, ref host.SessionRef, changes ...Change) error {
	return s.SaveStateUnder(ctx, ref, 0, changes...)
}

// SaveStateUnder is SaveState for the holder of the session's lease. It fails
// with Busy, and keeps nothing, if the fence is not the session's; see Fence.
func (s *Store) SaveStateUnder(ctx context.Context, ref host.SessionRef, fence Fence, changes ...Change) error {
	const op = "state.SaveState"
	if err := checkChanges(ref, changes); err != nil {
		return s.fail(ctx, op, err)
	}
	return s.writeFor(ctx, op, ref, fence, func(ctx context.Context, ex *executor, at time.Time) error {
		return s.applyState(ctx, ex, ref, changes, at)
	})
}

func checkChanges(ref host.SessionRef, changes []Change) error {
	if len(changes) > MaxKeys {
		return badValue("%d state changes at once; at most %d are saved", len(changes), MaxKeys)
	}
	seen := map[string]bool{}
	for _, c := range changes {
		if err := checkStateKey(c.Key); err != nil {
			return err
		}
		if seen[c.Key] {
			return badValue("state key %q is changed twice at once", c.Key)
		}
		seen[c.Key] = true
		if c.Keep || c.Data == nil {
			continue
		}
		if err := checkDocument("state key "+c.Key, c.Data); err != nil {
			return err
		}
	}
	return checkRef(ref)
}

func (s *Store) applyState(ctx context.Context, ex *executor, ref host.SessionRef, changes []Change, at time.Time) error {
	// One order for everybody keeps row locks from waiting in a circle.
	changes = slices.SortedFunc(slices.Values(changes), func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	for _, c := range changes {
		if err := s.applyChange(ctx, ex, ref, c, at); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) applyChange(ctx context.Context, ex *executor, ref host.SessionRef, c Change, at time.Time) error {
	args := append(sessionArgs(ref), c.Key)
	if made, err := s.makeAtOnce(ctx, ex, c, at, args); made || err != nil {
		return err
	}
	var stored int64
	var deleted bool
	found, err := ex.row(ctx, s.queries.stateVersion, args, &stored, &deleted)
	if err != nil {
		return err
	}
	current := stored
	if deleted {
		current = 0
	}
	if current != c.Version {
		return abi.NewProblem(abi.StoreConflict, "state key %q is at version %d and not at %d", c.Key, current, c.Version).
			WithField(c.Key).WithHint("load it again")
	}
	if c.Keep || current == 0 && c.Data == nil {
		return nil
	}
	query := s.queries.changeState
	if !found {
		query = s.queries.makeState // fails where another transaction was first, and is run again
	}
	_, err = ex.exec(ctx, query, append([]any{stored + 1, c.Data == nil, at.UnixMicro(), bytesOf(c.Data)}, args...)...)
	return err
}

// makeAtOnce makes a key that must not exist, without a look first where that
// would be a way to the database and back. It reports false where the key is or
// was there, or was not to be made: then the look decides.
func (s *Store) makeAtOnce(ctx context.Context, ex *executor, c Change, at time.Time, args []any) (bool, error) {
	if s.dialect.taken == nil || c.Version != 0 || c.Data == nil || c.Keep {
		return false, nil
	}
	_, err := ex.exec(ctx, s.queries.makeState, append([]any{1, false, at.UnixMicro(), bytesOf(c.Data)}, args...)...)
	if err != nil && s.dialect.taken(err) {
		return false, nil // the statement changed nothing, and the transaction goes on
	}
	return err == nil, err
}

// Sessions gives the sessions of a user that have state, in the order of
// their ids, from the first one greater than after. A limit of 0 means
// MaxPage, the most.
func (s *Store) Sessions(ctx context.Context, tenant host.TenantID, user host.UserID, after host.SessionID, limit int) ([]host.SessionRef, error) {
	const op = "state.Sessions"
	if err := checkRef(host.SessionRef{Tenant: tenant, User: user, Session: "any"}); err != nil {
		return nil, s.fail(ctx, op, err)
	}
	if err := checkText("session id", string(after), host.MaxIDBytes); err != nil {
		return nil, s.fail(ctx, op, err)
	}
	var refs []host.SessionRef
	args := []any{string(tenant), string(user), string(after), pageLimit(limit)}
	err := s.reader.each(ctx, s.queries.sessions, args, func(rows *sql.Rows) (bool, error) {
		ref := host.SessionRef{Tenant: tenant, User: user}
		err := rows.Scan((*string)(&ref.Session))
		refs = append(refs, ref)
		return true, err
	})
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return refs, nil
}

func sessionArgs(ref host.SessionRef) []any {
	return []any{string(ref.Tenant), string(ref.User), string(ref.Session)}
}
