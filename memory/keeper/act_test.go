package keeper

import (
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// shows keeps a decision of ann's that points to a memory, if it is given one.
func shows(t *testing.T, k *Keeper, session host.SessionID, input host.InputID, sources ...memory.ID) memory.Trace {
	t.Helper()
	shown, err := k.Show(t.Context(), memory.Trace{Tenant: ann.Tenant, User: ann.User, Domain: "pricing", Question: "what price?", Output: "89", Session: session, Input: input, Sources: sources})
	must(t, err)
	return shown
}

// What was read from the user's words somebody may correct, and nothing that is heard
// takes the place of what is on record.
func TestARecordCountsOverWhatWasHeard(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		ctx := t.Context()
		id := k.testOnlyRemember(t, ann, said("drinks wine"))[0]
		adopts := func(want int) {
			t.Helper()
			if n, err := k.Get(ctx, ann, id); err != nil || n.Adopts != want {
				t.Errorf("adopted %d times, %v; want %d", n.Adopts, err, want)
			}
		}
		shown := shows(t, k, "s1", "1", id)
		for range 2 {
			heard, err := k.ActHeard(ctx, ann, shown.ID, memory.Accept, "", "2")
			must(t, err)
			if heard.Action != memory.Accept || !heard.Heard || heard.ActedInput != "2" || heard.Acted.IsZero() {
				t.Errorf("heard: %+v", heard)
			}
			adopts(1)
		}
		for range 2 {
			put, err := k.Act(ctx, ann, shown.ID, memory.Modify, "95")
			must(t, err)
			if put.Action != memory.Modify || put.Alternative != "95" || put.Heard || put.ActedInput != "" {
				t.Errorf("on record: %+v", put)
			}
			adopts(0)
		}
		again, err := k.ActHeard(ctx, ann, shown.ID, memory.Accept, "", "2")
		if must(t, err); again.Action != memory.Modify {
			t.Errorf("heard once more: %+v", again)
		}
		_, err = k.Act(ctx, ann, shown.ID, memory.Accept, "")
		wantCode(t, err, abi.BadValue)

		second := shows(t, k, "s1", "3", id)
		_, err = k.ActHeard(ctx, ann, second.ID, memory.Reject, "", "4")
		must(t, err)
		_, err = k.Attribute(ctx, ann, second.ID, nil, new(true))
		must(t, err)
		_, err = k.Act(ctx, ann, second.ID, memory.Accept, "")
		wantCode(t, err, abi.BadValue) // trust has moved by the other one
		for _, o := range []Owner{{"shop", "bob"}, {"other", "ann"}} {
			_, err = k.ActHeard(ctx, o, second.ID, memory.Accept, "", "4")
			wantCode(t, err, abi.NotFound)
		}
		_, err = k.ActHeard(ctx, ann, second.ID, "like", "", "4")
		wantCode(t, err, abi.BadValue)
		_, err = k.ActHeard(ctx, ann, second.ID, memory.Accept, "", "")
		wantCode(t, err, abi.BadValue)
	})
}

// The alternative has the user's words: it goes with what they said, and what they did stays.
func TestAnAlternativeGoesWithTheInputThatSaidIt(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		ctx := t.Context()
		n := said("always Zinfandel")
		n.Source = memory.Source{Session: "s1", Input: "2"}
		id := k.testOnlyRemember(t, ann, n)[0]
		for _, in := range []struct {
			session       host.SessionID
			shown, acting host.InputID
		}{{"s1", "1", "2"}, {"s1", "3", "4"}, {"s2", "1", "2"}} {
			_, err := k.ActHeard(ctx, ann, shows(t, k, in.session, in.shown).ID, memory.Modify, "Zinfandel", in.acting)
			must(t, err)
		}
		_, err := k.Forget(ctx, ann, Wish{IDs: []memory.ID{id}})
		must(t, err)
		traces, err := k.Traces(ctx, ann, "")
		must(t, err)
		for i, trace := range traces {
			if (trace.Alternative == "") != (i == 0) || (trace.ActedInput == "") != (i == 0) || trace.Action != memory.Modify || !trace.Heard || trace.Output == "" {
				t.Errorf("trace %d is %+v", i, trace)
			}
		}
		must(t, k.Silence(ctx, ann, "s1"))
		silent, err := k.Traces(ctx, ann, "")
		must(t, err)
		if silent[1].Alternative+string(silent[1].ActedInput) != "" || silent[1].Action != memory.Modify {
			t.Errorf("after the session's purge %+v", silent[1])
		}
		if left, err := k.ShownIn(ctx, ann, "s1", "1"); err != nil || len(left) != 0 {
			t.Errorf("shown in the session: %+v, %v", left, err)
		}
		again, err := k.ActHeard(ctx, ann, shows(t, k, "", "").ID, memory.Modify, "Zinfandel", "2")
		if err != nil || again.Action != "" {
			t.Errorf("heard of what has no words: %+v, %v", again, err)
		}
	})
}

// What the user said once more is as much theirs as what they said first.
func TestAnAlternativeGoesWithALaterInputThatSaidTheSame(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		ctx := t.Context()
		n := said("always Zinfandel")
		var id memory.ID
		for _, in := range []memory.Source{{Session: "s1", Input: "2"}, {Session: "s1", Input: "4"}, {Session: "s2", Input: "6"}} {
			n.Source = in
			id = k.testOnlyRemember(t, ann, n)[0]
		}
		for _, in := range []memory.Source{{Session: "s1", Input: "4"}, {Session: "s2", Input: "6"}, {Session: "s1", Input: "6"}} {
			_, err := k.ActHeard(ctx, ann, shows(t, k, in.Session, "1").ID, memory.Modify, "Zinfandel", in.Input)
			must(t, err)
		}
		_, err := k.Forget(ctx, ann, Wish{IDs: []memory.ID{id}})
		must(t, err)
		traces, err := k.Traces(ctx, ann, "")
		must(t, err)
		for i, trace := range traces {
			if (trace.Alternative == "") != (i < 2) || trace.Action != memory.Modify || trace.Output == "" {
				t.Errorf("trace %d is %+v", i, trace)
			}
		}
	})
}

// An initial trust of nothing is nothing, and not the default.
func TestAnInitialTrustOfNothingCounts(t *testing.T) {
	for want, given := range map[float64]*float64{0: new(0.0), memory.InitialTrust: nil, 1: new(1.0)} {
		k := sqliteRig(t).open(func(c *Config) { c.Store, c.InitialTrust = nil, given })
		if got, err := k.Trust(t.Context(), ann, "pricing"); err != nil || got != want || k.InitialTrust() != want {
			t.Errorf("trust %v (%v), %v; want %v", got, k.InitialTrust(), err, want)
		}
	}
	r := sqliteRig(t)
	_, err := Open(t.Context(), Config{DB: r.db, InitialTrust: new(1.5)})
	wantCode(t, err, abi.BadValue)
}
