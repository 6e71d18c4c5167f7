package keeper

import (
	"slices"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// All that a forgetting takes is told with every source of it, before and after.
func TestOriginsAreOfAllThatSaidOrBoreOutWhatGoes(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		from := func(text string, s memory.Source) memory.Node {
			n := said(text)
			n.Source = s
			return n
		}
		first, second, third := memory.Source{Session: "s1", Input: "1"}, memory.Source{Session: "s2", Input: "4"}, memory.Source{Session: "s3", Call: "call_3"}
		old := k.testOnlyRemember(t, ann, from("drinks red wine", first), from("drinks red wine", second))[0]
		id, err := k.Supersede(t.Context(), ann, old, from("drinks white wine", third))
		must(t, err)
		nameless := k.testOnlyRemember(t, ann, from("buys wine on fridays", memory.Source{Derived: []memory.ID{id}}))[0]
		k.testOnlyRemember(t, ann, from("likes trains", memory.Source{Session: "s4", Input: "1"}))

		want := []string{SourceKey(first), SourceKey(second), SourceKey(third)}
		slices.Sort(want)
		all, err := k.Origins(t.Context(), ann, []memory.ID{id, "gone"})
		must(t, err)
		var ids []memory.ID
		for _, n := range all.Nodes {
			ids = append(ids, n.ID)
		}
		for _, one := range []memory.ID{old, id, nameless} {
			if len(ids) != 3 || !slices.Contains(ids, one) {
				t.Errorf("%v goes, not %s", ids, one)
			}
		}
		if !slices.Equal(sorted(all.Keys), want) {
			t.Errorf("before the keys are %v, want %v", all.Keys, want)
		}
		f, err := k.Forget(t.Context(), ann, Wish{IDs: []memory.ID{id}})
		must(t, err)
		if slices.Sort(f.Keys); !slices.Equal(f.Keys, want) {
			t.Errorf("after it the keys are %v, want %v", f.Keys, want)
		}
		if all, err = k.Origins(t.Context(), ann, []memory.ID{id}); err != nil || len(all.Nodes)+len(all.Keys) != 0 {
			t.Errorf("what is gone has origins: %+v, %v", all, err)
		}
	})
}

// Sessions that are to go are known until they are gone, though all else is forgotten;
// and no receipt tells of them.
func TestSessionsAreOwedUntilTheyAreSettled(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k, bob := r.open(), Owner{"shop", "bob"}
		must(t, k.Owe(t.Context(), ann, []host.SessionID{"s2", "s1"}))
		must(t, k.Owe(t.Context(), ann, []host.SessionID{"s3", "s2"}))
		must(t, k.Owe(t.Context(), bob, []host.SessionID{"s9"}))
		_, err := k.Forget(t.Context(), ann, Wish{All: true})
		must(t, err)
		owed := func(o Owner, want ...host.SessionID) {
			t.Helper()
			if got, err := k.Owed(t.Context(), o); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v owes %v, %v; want %v", o, got, err, want)
			}
		}
		owed(ann, "s1", "s2", "s3")
		if receipts, err := k.Receipts(t.Context(), ann, ""); err != nil || len(receipts) != 1 {
			t.Errorf("%d receipts, %v", len(receipts), err)
		}
		must(t, k.Owe(t.Context(), ann, []host.SessionID{"s4"})) // by another request, meanwhile
		must(t, k.Settle(t.Context(), ann, []host.SessionID{"s1", "s2", "s3", "unknown"}))
		owed(ann, "s4")
		must(t, k.Settle(t.Context(), ann, []host.SessionID{"s4"}))
		owed(ann)
		owed(bob, "s9")
	})
}
