package state

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of one transaction of Import: other writers wait for it.
const (
	importEntries = 500
	importBytes   = 4 * int(abi.MiB)
)

// Bounds of Changes, which gives everything at once.
const (
	MaxChanges     = 50_000
	maxChangeBytes = 256 * int(abi.MiB)
)

// Import writes many entries to the kv of a tenant, over what is there, in a
// few transactions. If it fails, whole transactions of the first entries may
// have been kept; importing the same again is safe. Keys and values are bound
// as in a View (BadHostCall, QuotaReached); a tenant that has forks is
// NotAllowed. No call should be running on the tenant.
func (s *Store) Import(ctx context.Context, tenant host.TenantID, namespace string, entries iter.Seq2[string, []byte]) error {
	const op = "state.Import"
	if err := checkSpace(tenant, namespace); err != nil {
		return s.fail(ctx, op, err)
	}
	var batch []abi.Entry
	size := 0
	flush := func() error {
		err := s.write(ctx, op, func(ctx context.Context, ex *executor, _ time.Time) error {
			return s.importBatch(ctx, ex, tenant, namespace, batch)
		})
		batch, size = batch[:0], 0
		return err
	}
	for key, value := range entries {
		if err := checkEntry(key, value); err != nil {
			return s.fail(ctx, op, err)
		}
		batch = append(batch, abi.Entry{Key: key, Value: value})
		size += len(key) + len(value)
		if len(batch) < importEntries && size < importBytes {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return flush()
}

func checkEntry(key string, value []byte) error {
	if problem := checkKey(key); problem != nil {
		return problem
	}
	if len(value) > int(abi.ValueBytes) {
		return abi.NewProblem(abi.QuotaReached, "the value of %q has %d bytes; at most %d are stored", key, len(value), int(abi.ValueBytes))
	}
	return nil
}

func (s *Store) importBatch(ctx context.Context, ex *executor, tenant host.TenantID, namespace string, batch []abi.Entry) error {
	if err := s.lockSlots(ctx, ex, tenant, allSlots); err != nil {
		return err
	}
	space, err := s.kvTenant(ctx, ex, tenant)
	if err != nil {
		return err
	}
	if space.sealed {
		return sealedProblem(tenant)
	}
	for _, e := range batch {
		if err := s.putKV(ctx, ex, []any{string(tenant), namespace, e.Key}, pending{value: e.Value}); err != nil {
			return err
		}
	}
	return nil
}

// A KVChange is a key in which a fork differs from its parent.
type KVChange struct {
	Key     string
	Value   []byte // nil if deleted
	Deleted bool
}

// Changes gives every key of a namespace in which the kv of a tenant differs
// from its parent's, in the order of the keys' bytes; for a tenant that is no
// fork that is every key. More than MaxChanges are QuotaReached. It reads piece
// by piece: no call should be running on the tenant.
func (s *Store) Changes(ctx context.Context, tenant host.TenantID, namespace string) ([]KVChange, error) {
	const op = "state.Changes"
	if err := checkSpace(tenant, namespace); err != nil {
		return nil, s.fail(ctx, op, err)
	}
	changes, err := s.changes(ctx, tenant, namespace)
	if err != nil {
		return nil, s.fail(ctx, op, err)
	}
	return changes, nil
}

func (s *Store) changes(ctx context.Context, tenant host.TenantID, namespace string) ([]KVChange, error) {
	layers, err := s.layers(ctx, s.reader, tenant)
	if err != nil {
		return nil, err
	}
	var changes []KVChange
	size := 0
	rows := &cursor{store: s, tenant: tenant, namespace: namespace, end: afterKeys, batch: MaxPage}
	for {
		row, err := rows.head(ctx)
		if err != nil || row == nil {
			return changes, err
		}
		rows.pop(row.key)
		below, err := s.inherited(ctx, s.reader, layers, namespace, row.key)
		if err != nil {
			return nil, err
		}
		if same(*row, below) {
			continue
		}
		size += len(row.key) + len(row.value)
		if len(changes) == MaxChanges || size > maxChangeBytes {
			return nil, abi.NewProblem(abi.QuotaReached, "the kv of tenant %q has more changes than can be given at once: %d keys or %d bytes", tenant, MaxChanges, maxChangeBytes)
		}
		changes = append(changes, KVChange{Key: row.key, Value: valueOf(*row), Deleted: row.deleted})
	}
}

// same reports whether two rows show the same, which for a missing row is
// what a deleted one shows.
func same(a, b kvRow) bool {
	aShows, bShows := a.stamp != 0 && !a.deleted, b.stamp != 0 && !b.deleted
	return aShows == bShows && (!aShows || bytes.Equal(a.value, b.value))
}

func valueOf(row kvRow) []byte {
	if row.deleted {
		return nil
	}
	return bytesOf(row.value)
}
