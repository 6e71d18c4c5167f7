package keeper

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/host"
)

// EachOwner does something for every owner that has memories, in order. What fails for
// one keeps no other one from it: the failures are told when all are through, as
// host.Failures does. It ends early where ctx ends, and where the owners cannot be read.
func (k *Keeper) EachOwner(ctx context.Context, do func(Owner) error) error {
	const op = "keeper.EachOwner"
	var failed host.Failures
	for after := (Owner{}); ; {
		owners, err := k.Owners(ctx, after)
		if err != nil || len(owners) == 0 {
			failed.Add(err)
			return fail(op, failed.Err())
		}
		for _, o := range owners {
			if err := ctx.Err(); err != nil {
				failed.Add(err)
				return fail(op, failed.Err())
			}
			if err := do(o); err != nil {
				failed.Add(fmt.Errorf("user %q of tenant %q: %w", o.User, o.Tenant, err))
			}
			after = o
		}
	}
}
