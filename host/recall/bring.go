package recall

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// firstInput is the ordinal of a session's first words.
const firstInput = 1

// broughtMore bounds the memories that stand before the model without fitting the
// words. They take the room that is left by those that must be kept to and those that fit.
const broughtMore = 6

// bring gives what is known of the user that the words do not find: at the beginning of a
// session what matters in its scene, and at a decision point what matters to that decision.
// What was found already is left out.
func (r *Recall) bring(ctx context.Context, q host.Reasoning, found []memory.Node) ([]memory.Node, error) {
	room := min(broughtMore, constraints+recalledHits-len(found))
	point, decides := r.Settings(q.Session.Tenant).point(q.Text)
	if room <= 0 || q.Input != firstInput && !decides {
		return nil, nil
	}
	scene := sceneOf(q.Live)
	if decides {
		scene = cmp.Or(point.Scene, scene)
	}
	all, err := r.behind(ctx, ownerOf(q.Session), scene, memory.EntityIn(q.Text))
	all = slices.DeleteFunc(all, func(n memory.Node) bool {
		return has(found, n.ID) || !(q.Input == firstInput && isOfScene(n, scene) || decides && point.about(n, memory.EntityIn(q.Text)))
	})
	r.bestFirst(all, scene)
	return all[:min(len(all), room)], err
}

// behind gives what an owner said and does, of a scene or of none, and all that is known
// of an entity, if one is named. What was done in single sessions is left out.
func (r *Recall) behind(ctx context.Context, o keeper.Owner, scene, entity string) ([]memory.Node, error) {
	p := keeper.Page{Statuses: []memory.Status{memory.Active}, AsOf: &keeper.Moment{}, Scene: scene, Layers: []memory.Layer{memory.Declared, memory.Behaviour}}
	all, err := r.list(ctx, o, p)
	if err == nil && entity != "" {
		p.Entity, p.Layers = entity, []memory.Layer{memory.Fact}
		var facts []memory.Node
		facts, err = r.list(ctx, o, p)
		all = append(all, facts...)
	}
	return slices.DeleteFunc(all, isTrajectory), err
}

// isOfScene reports whether a memory matters at the beginning of a session: what is of its
// scene, and what the user prefers anywhere. Of another product nobody has spoken yet.
func isOfScene(n memory.Node, scene string) bool {
	if scene != "" && n.Scene == scene {
		return n.Layer != memory.Fact
	}
	return n.Scene == "" && n.Entity == "" && n.Layer == memory.Declared && n.Kind == memory.Preference
}

// about reports whether a memory matters to a decision: it is of its topic or its domain,
// and of no other product than the one that is named.
func (p Point) about(n memory.Node, entity string) bool {
	if n.Entity != "" {
		return n.Entity == entity
	}
	return n.Domain == p.Domain || p.Topic != "" && n.Claim != nil && strings.EqualFold(n.Claim.Topic, p.Topic)
}

// bestFirst sorts memories by their layers, the user's own words first, and those of one
// layer by what they are worth in a scene.
func (r *Recall) bestFirst(all []memory.Node, scene string) {
	now, worth := r.Now(), map[memory.ID]float64{}
	for _, n := range all {
		worth[n.ID] = r.Forget.Weigh(n, scene, now, "").Score
	}
	slices.SortStableFunc(all, func(a, b memory.Node) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(worth[b.ID], worth[a.ID]), cmp.Compare(b.ID, a.ID))
	})
}

// maxListed bounds what is read of an owner's memories of one kind: a user of years.
const maxListed = 4096

// list gives all memories that a page asks for, up to maxListed, in the order of
// their writing.
func (r *Recall) list(ctx context.Context, o keeper.Owner, p keeper.Page) (all []memory.Node, err error) {
	for p.Limit = keeper.MaxPage; len(all) < maxListed; {
		page, err := r.Keeper.List(ctx, o, p)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < p.Limit {
			break
		}
		p.After = page[len(page)-1].ID
	}
	return all, nil
}
