package recall

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// keptTrajectories bounds those of one user that are recalled: what was done in the
// sessions of some months. Older ones would push others out.
const keptTrajectories = 100

// replacedAge is how long a fact or a habit stays in which another one took its place:
// as long as an as-of question about a season's prices may want it.
const replacedAge = 90 * 24 * time.Hour

// A question that was asked that long ago and not answered waits for nobody: its user has
// come and gone for half a year. What contradicted the user's words goes a year after it
// was seen: a season comes back within that.
const (
	unansweredAge = 180 * 24 * time.Hour
	gapAge        = 365 * 24 * time.Hour
)

// Tidy archives what is worth little, of every owner, and gives how many. It removes
// facts and habits that others replaced long ago, closes questions that nobody answered,
// and removes old gaps that are closed. What fails for one owner keeps no other one from
// it, nor does the removal; the failures are told when all are through.
func (r *Recall) Tidy(ctx context.Context) (archived int, err error) {
	_, purging := r.Keeper.PurgeSuperseded(ctx, replacedAge)
	tidying := r.Keeper.EachOwner(ctx, func(o keeper.Owner) error {
		n, err := r.tidy(ctx, o)
		archived += n
		return err
	})
	return archived, errors.Join(purging, tidying)
}

func (r *Recall) tidy(ctx context.Context, o keeper.Owner) (archived int, err error) {
	set, err := ForgetOf(ctx, r.Keeper, o, r.Forget, r.Settings(o.Tenant), r.Now().UTC())
	if err != nil {
		return 0, err
	}
	if _, err := r.Keeper.TidyQuestions(ctx, o, unansweredAge); err != nil {
		return 0, err
	}
	if _, err := r.Keeper.TidyGaps(ctx, o, gapAge); err != nil {
		return 0, err
	}
	faded, err := r.Keeper.Tidy(ctx, o, set, "")
	if err != nil {
		return len(faded), err
	}
	thinned, err := r.thin(ctx, o)
	return len(faded) + thinned, err
}

// thin archives all but the newest trajectories of an owner.
func (r *Recall) thin(ctx context.Context, o keeper.Owner) (archived int, err error) {
	var sessions []memory.ID
	for after, more := memory.ID(""), true; more; {
		page, err := r.Keeper.List(ctx, o, keeper.Page{After: after, Limit: keeper.MaxPage, Layers: []memory.Layer{memory.Behaviour}, Statuses: []memory.Status{memory.Active}})
		if err != nil {
			return 0, err
		}
		for _, n := range page {
			if after = n.ID; isTrajectory(n) && !n.Pinned {
				sessions = append(sessions, n.ID)
			}
		}
		more = len(page) == keeper.MaxPage
	}
	for some := range slices.Chunk(sessions[:max(0, len(sessions)-keptTrajectories)], keeper.MaxChange) {
		taken, err := r.Keeper.Archive(ctx, o, some, "job")
		if archived += len(taken); err != nil {
			return archived, err
		}
	}
	return archived, nil
}
