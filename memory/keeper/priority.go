package keeper

import (
	"context"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/memory"
)

// MaxPriority bounds a priority, and its negative one: people tell a few ranks apart.
const MaxPriority = 1000

// Prioritise says how much a declaration counts against others of its user that contradict
// it: the higher priority wins, then the later one (memory.Settle). It counts for
// contradictions from then on. It fails with BadValue for a priority out of bounds, and
// for a memory that is no declaration, which nothing of the kind is settled for.
func (k *Keeper) Prioritise(ctx context.Context, o Owner, id memory.ID, priority int) error {
	const op = "keeper.Prioritise"
	if priority < -MaxPriority || priority > MaxPriority {
		return fail(op, badValue("a priority of %d; give %d to %d", priority, -MaxPriority, MaxPriority))
	}
	return fail(op, k.change(ctx, func(ctx context.Context, t *tx) error {
		layer := memory.Declared
		err := t.alter(ctx, o, id, Prioritised, strconv.Itoa(priority), func(s *stored, _ time.Time) bool {
			layer = s.Layer
			changed := layer == memory.Declared && s.Priority != priority
			if changed {
				s.Priority = priority
			}
			return changed
		})
		if err == nil && layer != memory.Declared {
			err = badValue("memory %s is nothing that the user declared, and has no priority", id).WithHint("what a user declared is listed with sluice memory list --layer declared")
		}
		return err
	}))
}
