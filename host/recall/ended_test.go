package recall

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// An end that is told twice, also after the session has gone on, leaves one memory of
// what was done in it.
func TestAnEndThatIsToldAgainLeavesTheSame(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.does(1, "shop.open", `{"minutes":3}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	must(t, r.sessionEnded(ctx, session(1)))
	before := r.have(keeper.Page{Layers: []memory.Layer{memory.Behaviour}})
	r.pass(time.Hour)
	must(t, r.sessionEnded(ctx, session(1)))
	if after := r.have(keeper.Page{Layers: []memory.Layer{memory.Behaviour}}); len(before) == 0 || !slices.EqualFunc(before, after, func(a, b memory.Node) bool { return a.ID == b.ID }) {
		t.Errorf("told again, it left %+v in the place of %+v", after, before)
	}
	r.does(1, "shop.close", `{}`, host.Done)
	for range 2 {
		must(t, r.sessionEnded(ctx, session(1)))
	}
	paths := r.have(keeper.Page{Kinds: []memory.Kind{memory.Profile}, Statuses: []memory.Status{memory.Active}})
	if len(paths) != 1 || !strings.HasSuffix(paths[0].Text, ": 2 calls done: shop.open, shop.close") {
		t.Errorf("after it went on there are %+v", paths)
	}
}

// The end of a live that cannot be kept is an error, so that it is told again; and
// nobody has to wait for the background for it.
func TestALivesEndIsKeptWhenItsHookSaysSo(t *testing.T) {
	r := newRig(t, shop)
	r.begins("L1")
	r.doesIn("L1", 1, "shop.close", `{}`, host.Done)
	hooks, err := host.NewHooks(r.Hooks()...)
	must(t, err)
	ended := host.BusinessEvent{Session: host.SessionRef{Tenant: "shop"}, Live: "L1", Kind: "live.end"}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if errs := hooks.Event(stopped, ended); len(errs) != 1 {
		t.Errorf("what could not be kept gives %v", errs)
	}
	r.background.close() // what goes on there is lost with the process
	if errs := hooks.Event(t.Context(), ended); len(errs) != 0 {
		t.Fatal(errs)
	}
	if left := r.behaviour(); len(left) != 1 || !strings.HasPrefix(left[0], "Live L1 ") {
		t.Errorf("the live left %q", left)
	}
}

// A live of many users takes longer than a session, and where its end is told again it
// goes on behind those whom it has done.
func TestALivesEndThatIsToldAgainSkipsWhoIsKept(t *testing.T) {
	r := newRig(t, shop)
	for _, hook := range r.Hooks() {
		if hook.OnEvent != nil && hook.Time <= sessionTime {
			t.Errorf("hook %s has %s for a live", hook.Name, hook.Time)
		}
	}
	r.settings.Seen = nil // so that what is learnt of the calls tells when it was
	r.begins("L1")
	r.doesIn("L1", 1, "shop.open", `{"minutes":3}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	must(t, r.liveEnded(t.Context(), "shop", "L1"))
	r.settings = shop
	must(t, r.liveEnded(t.Context(), "shop", "L1"))
	if left := r.behaviour(); len(left) != 1 || !strings.HasPrefix(left[0], "Live L1 ") {
		t.Errorf("told again, it worked out what was kept, and left %q", left)
	}
	r.doesIn("L1", 1, "shop.open", `{"minutes":3}`, host.Done)
	must(t, r.liveEnded(t.Context(), "shop", "L1"))
	if left := r.behaviour(); len(left) != 2 {
		t.Errorf("after another call it left %q", left)
	}
}

// What was purged while a user was kept is forgotten also by the telling that skips them.
func TestALivesEndThatIsToldAgainForgetsWhatWasPurged(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.begins("L1")
	r.doesIn("L1", 1, "shop.close", `{}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	must(t, r.liveEnded(ctx, "shop", "L1"))
	calls, err := r.calls(ctx, passage{tenant: "shop", live: "L1"})
	must(t, err)
	must(t, r.store.Record(ctx, host.Record{Session: session(1), Kind: host.RecordEvent, Detail: json.RawMessage(`{"event":"` + host.EventPurge + `"}`)}))
	must(t, r.userLiveEnded(ctx, mia, "L1", calls))
	if left := r.behaviour(); len(left) != 0 {
		t.Errorf("left is %q", left)
	}
}

// An end reads the log, then the session is purged, then the end keeps what it has read.
func TestAnEndThatGoesOnBesideAPurgeLeavesNothing(t *testing.T) {
	for name, path := range map[string]func([]done) memory.Node{
		"of the session": func(calls []done) memory.Node { return trajectory(session(1), calls) },
		"of its live":    func(calls []done) memory.Node { return liveTrajectory("L1", calls) },
	} {
		t.Run(name, func(t *testing.T) {
			r, ctx := newRig(t, shop), t.Context()
			r.begins("L1")
			r.doesIn("L1", 1, "shop.open", `{"minutes":3}`, host.Done)
			r.doesIn("L1", 2, "shop.close", `{}`, host.Done)
			r.sets(time.Now().Add(time.Minute))
			must(t, r.sessionEnded(ctx, session(2)))
			calls, err := r.calls(ctx, passage{tenant: "shop", session: session(1)})
			must(t, err)
			if len(calls) != 1 {
				t.Fatalf("the log tells %+v", calls)
			}
			must(t, r.store.Record(ctx, host.Record{Session: session(1), Kind: host.RecordEvent, Detail: json.RawMessage(`{"event":"` + host.EventPurge + `"}`)}))
			must(t, r.purged(ctx, session(1)))
			must(t, r.consolidate(ctx, mia, path(calls), calls))
			if left := r.have(keeper.Page{}); len(left) != 1 || left[0].Source.Session != session(2).Session {
				t.Errorf("left is %+v", left)
			}
		})
	}
}

// A call may be erased from the log by itself: its session, and what was said in it, stay.
func TestAnEndAfterACallWasErasedForgetsNothing(t *testing.T) {
	r, ctx := newRig(t, shop), t.Context()
	r.say(1, "每次开场讲10分钟")
	r.does(1, "shop.open", `{"minutes":3}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	calls, err := r.calls(ctx, passage{tenant: "shop", session: session(1)})
	must(t, err)
	calls[len(calls)-1].call = "erased"
	must(t, r.consolidate(ctx, mia, trajectory(session(1), calls), calls))
	if left := r.declared(); len(left) != 1 {
		t.Errorf("left is %+v", left)
	}
}

// A turn that is given up gives up its question, so that another one may ask it.
func TestATurnThatIsGivenUpFreesItsQuestion(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"the session ends":    func(r *rig) { must(r.t, r.sessionEnded(r.t.Context(), session(5))) },
		"it is purged":        func(r *rig) { must(r.t, r.purged(r.t.Context(), session(5))) },
		"words are forgotten": func(r *rig) { r.Forgotten(mia); r.ends(5) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shop)
			r.livesOtherwise()
			r.say(5, "开场怎么安排")
			if waiting := must1(r.Keeper.Waiting(t.Context(), mia))(t); len(waiting) != 1 || waiting[0].Asking == nil {
				t.Fatalf("no turn is about to ask: %+v", waiting)
			}
			end(r)
			if waiting := must1(r.Keeper.Waiting(t.Context(), mia))(t); len(waiting) != 1 || waiting[0].Asking != nil {
				t.Errorf("still claimed: %+v", waiting)
			}
		})
	}
}
