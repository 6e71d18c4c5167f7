package recall

import (
	"context"
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
// and removes old gaps that are closed.
func (r *Recall) Tidy(ctx context.Context) (archived int, err error) {
	if _, err := r.Keeper.PurgeSuperseded(ctx, replacedAge); err != nil {
		return 0, err
	}
	for after := (keeper.Owner{}); ; {
		owners, err := r.Keeper.Owners(ctx, after)
		if err != nil || len(owners) == 0 {
			return archived, err
		}
		for _, o := range owners {
			n, err := r.tidy(ctx, o)
			if archived += n; err != nil {
				return archived, err
			}
			after = o
		}
	}
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
