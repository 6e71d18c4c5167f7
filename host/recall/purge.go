package recall

import (
	"context"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// purged forgets what memory made of a session that is purged: what was said and
// returned in it, what was made of its calls, and the words of its decisions. It may be
// repeated.
func (r *Recall) purged(ctx context.Context, ref host.SessionRef) error {
	o := ownerOf(ref)
	r.free(ctx, ref, r.take(ref))
	r.Forgotten(o) // other turns may have recalled it
	r.dropUsed(ref)
	calls, err := r.calls(ctx, passage{tenant: ref.Tenant, session: ref, purged: true})
	if err != nil {
		return err
	}
	if err := r.forgetMade(ctx, ref, calls); err != nil {
		return err
	}
	return r.Keeper.Silence(ctx, o, ref.Session)
}

// forgetMade forgets the memories that come from a session or its calls.
func (r *Recall) forgetMade(ctx context.Context, ref host.SessionRef, calls []done) error {
	o := ownerOf(ref)
	gone, err := r.madeOf(ctx, o, ref.Session, calls)
	if err != nil || len(gone) == 0 {
		return err
	}
	_, err = r.Keeper.Forget(ctx, o, keeper.Wish{IDs: gone})
	return err
}

// madeOf gives the ids of an owner's memories that come from a session or its calls. What
// was done in the live of it tells of the session, too.
func (r *Recall) madeOf(ctx context.Context, o keeper.Owner, session host.SessionID, calls []done) (gone []memory.ID, err error) {
	in, lives := map[host.CallID]bool{}, map[host.LiveID]bool{}
	for _, c := range calls {
		in[c.call] = true
		lives[c.live] = c.live != ""
	}
	ofCall := func(id memory.ID) bool { // as Observation.event names it
		call, _, _ := strings.Cut(string(id), "/")
		return in[host.CallID(call)]
	}
	for after, more := memory.ID(""), true; more; {
		page, err := r.Keeper.List(ctx, o, keeper.Page{After: after, Limit: keeper.MaxPage})
		if err != nil {
			return nil, err
		}
		for _, n := range page {
			after = n.ID
			if n.Source.Session == session || ofLive(n) && lives[n.Source.Live] || slices.ContainsFunc(n.Source.Derived, ofCall) {
				gone = append(gone, n.ID)
			}
		}
		more = len(page) == keeper.MaxPage
	}
	return gone, nil
}
