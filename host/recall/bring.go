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

// bringTime is what the search for them has of the hook's time: when the hook is late the
// model sees nothing of what was found, and so not what must be kept to.
const bringTime = turnTime / 4

// bring gives what is known of the user that the words do not find: at the beginning of a
// session what matters in its scene, and at a decision point what matters to that decision.
// What was found already is left out.
func (r *Recall) bring(ctx context.Context, q host.Reasoning, found []memory.Node) ([]memory.Node, error) {
	room := min(broughtMore, constraints+recalledHits-len(found))
	point, decides := r.Settings(q.Session.Tenant).point(wordsOf(q))
	if room <= 0 || q.Input != firstInput && !decides {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, bringTime)
	defer cancel()
	scene := sceneOf(q.Live)
	if decides {
		scene = cmp.Or(point.Scene, scene)
	}
	all, err := r.behind(ctx, ownerOf(q.Session), scene, memory.EntityIn(wordsOf(q)))
	all = slices.DeleteFunc(all, func(n memory.Node) bool {
		return has(found, n.ID) || !(q.Input == firstInput && isOfScene(n, scene) || decides && point.about(n, memory.EntityIn(wordsOf(q))))
	})
	r.bestFirst(all, q.Session.Tenant, scene)
	return all[:min(len(all), room)], err
}

// behind gives what an owner said and does, of a scene or of none, the newest of it, and
// what is known of an entity, if one is named. What was done in single sessions is left out.
func (r *Recall) behind(ctx context.Context, o keeper.Owner, scene, entity string) ([]memory.Node, error) {
	all, err := r.Keeper.Newest(ctx, o, memory.Declared, everyKind()...)
	if err != nil {
		return nil, err
	}
	habits, err := r.Keeper.Newest(ctx, o, memory.Behaviour, slices.DeleteFunc(everyKind(), func(k memory.Kind) bool { return k == memory.Profile })...)
	all = slices.DeleteFunc(append(all, habits...), func(n memory.Node) bool { return scene != "" && n.Scene != "" && n.Scene != scene })
	if err != nil || entity == "" {
		return all, err
	}
	facts, err := r.factsAbout(ctx, o, scene, entity)
	return append(all, facts...), err
}

func everyKind() []memory.Kind {
	return []memory.Kind{memory.Preference, memory.Constraint, memory.Feedback, memory.FactOf, memory.Habit, memory.Profile}
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
// layer by what they are worth in a scene, as the tenant's policy has it.
func (r *Recall) bestFirst(all []memory.Node, tenant host.TenantID, scene string) {
	set := r.Settings(tenant).Forget.over(r.Forget)
	now, worth := r.Now(), map[memory.ID]float64{}
	for _, n := range all {
		worth[n.ID] = set.Weigh(n, scene, now, "").Score
	}
	slices.SortStableFunc(all, func(a, b memory.Node) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(worth[b.ID], worth[a.ID]), cmp.Compare(b.ID, a.ID))
	})
}

// maxFacts bounds the facts of one entity that are read: of each matter one is active.
const maxFacts = 1024

// factsAbout gives what is known of an entity.
func (r *Recall) factsAbout(ctx context.Context, o keeper.Owner, scene, entity string) (all []memory.Node, err error) {
	p := keeper.Page{Limit: keeper.MaxPage, Entity: entity, Scene: scene, AsOf: &keeper.Moment{}, Layers: []memory.Layer{memory.Fact}, Statuses: []memory.Status{memory.Active}}
	for len(all) < maxFacts {
		page, err := r.Keeper.List(ctx, o, p)
		if all = append(all, page...); err != nil || len(page) < p.Limit {
			return all, err
		}
		p.After = page[len(page)-1].ID
	}
	return all, nil
}
