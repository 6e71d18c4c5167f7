package state

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// MaxForkDepth bounds the parents that a tenant's kv may have above it: a read
// looks into each of them in turn.
const MaxForkDepth = 8

// A kvTenant says where the kv of a tenant stands among the forks.
type kvTenant struct {
	parent host.TenantID // empty for a root
	depth  int           // number of parents
	sealed bool          // has forks: takes no more writes
}

func (s *Store) kvTenant(ctx context.Context, ex *executor, tenant host.TenantID) (space kvTenant, err error) {
	_, err = ex.row(ctx, s.queries.kvTenant, []any{string(tenant)}, (*string)(&space.parent), &space.depth, &space.sealed)
	return space, err
}

// layers gives a tenant and those that it was forked from, nearest first. All
// but the first are sealed.
func (s *Store) layers(ctx context.Context, ex *executor, tenant host.TenantID) ([]host.TenantID, error) {
	layers := []host.TenantID{tenant}
	for range MaxForkDepth {
		space, err := s.kvTenant(ctx, ex, tenant)
		if err != nil {
			return nil, err
		}
		if space.parent == "" {
			break
		}
		tenant = space.parent
		layers = append(layers, tenant)
	}
	return layers, nil
}

// inherited gives the row that a tenant sees where it has none of its own.
func (s *Store) inherited(ctx context.Context, ex *executor, layers []host.TenantID, namespace, key string) (kvRow, error) {
	for _, layer := range layers[1:] {
		row, err := s.kvRow(ctx, ex, layer, namespace, key)
		if err != nil || row.stamp != 0 {
			return row, err
		}
	}
	return kvRow{}, nil
}

// Fork gives child the kv of parent, all namespaces, without a copy: child sees
// what parent has until it writes, and its writes are its own. From then on
// parent takes no writes (NotAllowed); it may be forked any number of times.
// It fails with Conflict if child has kv already, also from an earlier Fork, and
// with QuotaReached if child would have more than MaxForkDepth parents.
func (s *Store) Fork(ctx context.Context, parent, child host.TenantID) error {
	const op = "state.Fork"
	for _, tenant := range []host.TenantID{parent, child} {
		if err := checkID("tenant id", string(tenant)); err != nil {
			return s.fail(ctx, op, err)
		}
	}
	return s.write(ctx, op, func(ctx context.Context, ex *executor, _ time.Time) error {
		return s.fork(ctx, ex, parent, child)
	})
}

func (s *Store) fork(ctx context.Context, ex *executor, parent, child host.TenantID) error {
	for _, tenant := range []host.TenantID{min(parent, child), max(parent, child)} {
		if err := s.lockSlots(ctx, ex, tenant, allSlots); err != nil {
			return err
		}
	}
	above, err := s.kvTenant(ctx, ex, parent)
	if err != nil {
		return err
	}
	if above.depth >= MaxForkDepth {
		return abi.NewProblem(abi.QuotaReached, "the kv of tenant %q has %d parents; that is the most", parent, above.depth).WithHint("fork one of its parents")
	}
	if used, err := s.hasKV(ctx, ex, child); err != nil {
		return err
	} else if used || parent == child {
		return abi.NewProblem(abi.Conflict, "tenant %q has kv of its own and cannot become a fork", child).WithHint("give the fork a tenant id that was never used")
	}
	if _, err := ex.exec(ctx, s.queries.putKVTenant, string(parent), string(above.parent), above.depth, true); err != nil {
		return err
	}
	_, err = ex.exec(ctx, s.queries.putKVTenant, string(child), string(parent), above.depth+1, false)
	return err
}

func (s *Store) hasKV(ctx context.Context, ex *executor, tenant host.TenantID) (bool, error) {
	space, err := s.kvTenant(ctx, ex, tenant)
	if err != nil || space != (kvTenant{}) {
		return true, err
	}
	var stamp int64
	return ex.row(ctx, s.queries.kvAny, []any{string(tenant)}, &stamp)
}

func sealedProblem(tenant host.TenantID) error {
	return abi.NewProblem(abi.NotAllowed, "the kv of tenant %q has forks and takes no more writes", tenant).WithHint("write to a fork of it")
}
