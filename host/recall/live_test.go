package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// begins starts a live of the shop's.
func (r *rig) begins(live string) {
	r.t.Helper()
	_, err := r.store.StartLive(r.t.Context(), "shop", host.LiveID(live), []byte("{}"))
	must(r.t, err)
}

// event has the hooks hear of a live, and waits for what they start.
func (r *rig) event(kind, live string) {
	r.t.Helper()
	must(r.t, r.happened(r.t.Context(), host.BusinessEvent{Session: host.SessionRef{Tenant: "shop"}, Live: host.LiveID(live), Kind: kind}))
	r.settle()
}

// behaviour gives the texts of what was seen of mia and counts.
func (r *rig) behaviour() (texts []string) {
	r.t.Helper()
	for _, n := range r.have(keeper.Page{Layers: []memory.Layer{memory.Behaviour}, Statuses: []memory.Status{memory.Active}}) {
		texts = append(texts, n.Text)
	}
	return texts
}

func TestALivesEndKeepsWhatWasDoneInItOverItsSessions(t *testing.T) {
	r := newRig(t, shop)
	r.doesIn("L1", 1, "shop.plan", `{}`, host.Done) // before it began
	r.begins("L1")
	r.doesIn("L1", 1, "shop.open", `{"minutes":3}`, host.Done)
	r.doesIn("L1", 2, "shop.open", `{"minutes":5}`, host.Done)
	r.doesIn("L1", 2, "shop.close", `{}`, host.Failed)
	r.doesIn("L2", 3, "shop.open", `{"minutes":9}`, host.Done)
	r.does(4, "shop.open", `{"minutes":99}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	r.event("live.start", "L1")
	if seen := r.behaviour(); len(seen) != 0 {
		t.Fatalf("a live's start made %q", seen)
	}
	r.event("live.end", "L1")
	all := r.have(keeper.Page{Layers: []memory.Layer{memory.Behaviour}})
	paths := slices.DeleteFunc(slices.Clone(all), func(n memory.Node) bool { return !isTrajectory(n) })
	if len(paths) != 1 || !strings.HasPrefix(paths[0].Text, "Live L1 on ") || !strings.HasSuffix(paths[0].Text, ": 2 calls done: shop.open") {
		t.Fatalf("the live left %+v", paths)
	}
	if n := paths[0]; n.Source.Live != "L1" || n.Scene != "live" || n.Source.Session != "" {
		t.Errorf("it is of %+v, scene %q", n.Source, n.Scene)
	}
	once := slices.DeleteFunc(all, func(n memory.Node) bool { return n.Lives != 1 })
	if len(once) != 1 || *once[0].Claim.Low != 4 || once[0].Source.Live != "L1" {
		t.Errorf("the habit of the live alone is %+v; its two sessions are one live of the median 4", once)
	}
	before := r.behaviour()
	r.event("live.end", "L1")
	if after := r.behaviour(); !slices.Equal(before, after) {
		t.Errorf("told again, it left %q beside %q", after, before)
	}
}

// Three sessions of one live are one life of a user, and not the three that a habit, or
// a question about the user's words, takes.
func TestSessionsOfOneLiveCountOnce(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.say(1, "每次开场讲10分钟")
	for live := 1; live <= 3; live++ {
		id := fmt.Sprint("L", live)
		r.begins(id)
		for n := 10 * live; n < 10*live+3; n++ {
			r.doesIn(id, n, "shop.open", `{"minutes":3}`, host.Done)
			r.pass(time.Hour)
			must(t, r.sessionEnded(ctx, session(n)))
		}
		r.event("live.end", id)
		several := slices.DeleteFunc(r.habits(), func(n memory.Node) bool { return n.Lives == 1 })
		if len(several) != live/3 {
			t.Errorf("after %d lives there are the habits %+v", live, several)
		}
		gaps, err := r.Keeper.Gaps(ctx, mia)
		must(t, err)
		if len(gaps) != live || !slices.ContainsFunc(gaps, func(g memory.Gap) bool { return g.Live == host.LiveID(id) }) {
			t.Fatalf("after %d lives there are %d gaps: %+v", live, len(gaps), gaps)
		}
	}
	waiting, err := r.Keeper.Waiting(ctx, mia)
	must(t, err)
	if len(waiting) != 1 {
		t.Errorf("three lives that contradict make %d questions", len(waiting))
	}
}

// The path of a session of a live names it, too.
func TestASessionOfALiveIsOfItsScene(t *testing.T) {
	r := newRig(t, shop)
	r.doesIn("L1", 1, "shop.close", `{}`, host.Done)
	r.does(2, "shop.close", `{}`, host.Done)
	for n := 1; n <= 2; n++ {
		must(t, r.sessionEnded(t.Context(), session(n)))
	}
	all := r.have(keeper.Page{Layers: []memory.Layer{memory.Behaviour}})
	if len(all) != 2 || all[0].Source.Live != "L1" || all[0].Scene != "live" || all[1].Source.Live != "" || all[1].Scene != "" {
		t.Errorf("the sessions left %+v", all)
	}
}

// What was done in a live by a session that is purged is no longer told by the live.
func TestAPurgedSessionIsNotToldByItsLive(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.begins("L1")
	r.doesIn("L1", 1, "shop.open", `{"minutes":3}`, host.Done)
	r.doesIn("L1", 2, "shop.close", `{}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	r.event("live.end", "L1")
	if len(r.behaviour()) != 2 {
		t.Fatalf("the live left %q", r.behaviour())
	}
	must(t, r.purged(ctx, session(1)))
	if left := r.behaviour(); len(left) != 0 {
		t.Errorf("left of it: %q", left)
	}
}

// What another session of the same live did is still told.
func TestAPurgeLeavesTheOtherSessionsOfItsLive(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.begins("L1")
	r.doesIn("L1", 1, "shop.close", `{}`, host.Done)
	r.doesIn("L1", 2, "shop.close", `{}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	for n := 1; n <= 2; n++ {
		must(t, r.sessionEnded(ctx, session(n)))
	}
	r.event("live.end", "L1")
	if len(r.behaviour()) != 3 {
		t.Fatalf("the sessions and the live left %q", r.behaviour())
	}
	must(t, r.purged(ctx, session(1)))
	if left := r.behaviour(); len(left) != 1 || !strings.HasPrefix(left[0], "Session s2 ") {
		t.Errorf("left of it: %q", left)
	}
}
