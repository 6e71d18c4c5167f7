package keeper

import (
	"testing"

	"github.com/sluicehq/sluice/memory"
)

func TestThatAQuestionWasAskedIsKeptOnceWithWhereItWas(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		keepers := []*Keeper{r.open(), r.again().open()}
		contradict(t, keepers[0], ann)
		waiting, err := keepers[0].Waiting(t.Context(), ann)
		if err != nil || len(waiting) != 1 || !waiting[0].Asked.IsZero() {
			t.Fatalf("%+v, %v", waiting, err)
		}
		for i, want := range []bool{true, false} {
			if first, err := keepers[i].Asked(t.Context(), ann, waiting[0].ID, "s7", 4+i); err != nil || first != want {
				t.Errorf("%d: %v, %v", i, first, err)
			}
		}
		if first, err := keepers[0].Asked(t.Context(), ann, "none", "s7", 4); err != nil || first {
			t.Errorf("of none: %v, %v", first, err)
		}
		asked, err := keepers[1].Waiting(t.Context(), ann)
		if err != nil || len(asked) != 1 || asked[0].AskedIn != "s7" || asked[0].AskedInput != 4 || asked[0].Asked.IsZero() {
			t.Errorf("%+v, %v", asked, err)
		}
		_, err = keepers[0].Answer(t.Context(), ann, waiting[0].ID, memory.DefaultReconcile(), memory.Answer{Resolution: memory.Kept})
		must(t, err)
		if left, err := keepers[1].Waiting(t.Context(), ann); err != nil || len(left) != 0 {
			t.Errorf("after the answer %+v, %v", left, err)
		}
	})
}

func TestASessionsTracesLoseTheirWordsAndKeepTheirOutcome(t *testing.T) {
	onBoth(t, func(t *testing.T, r rig) {
		k := r.open()
		bob := Owner{ann.Tenant, "bob"}
		for i, of := range []Owner{ann, ann, ann, bob} {
			trace := memory.Trace{Tenant: of.Tenant, User: of.User, Domain: "pricing", Question: "which wine", Output: "this", Session: "s1"}
			if i == 2 {
				trace.Session = "s2"
			}
			shown, err := k.Show(t.Context(), trace)
			must(t, err)
			right := true
			_, err = k.Act(t.Context(), of, shown.ID, memory.Reject, "")
			must(t, err)
			_, err = k.Attribute(t.Context(), of, shown.ID, nil, &right)
			must(t, err)
		}
		trust, err := k.Trust(t.Context(), ann, "pricing")
		must(t, err)
		for range 2 {
			must(t, k.Silence(t.Context(), ann, "s1"))
		}
		with := 0
		for _, of := range []Owner{ann, bob} {
			traces, err := k.Traces(t.Context(), of, "")
			must(t, err)
			for _, trace := range traces {
				if trace.Question != "" {
					with++
				}
				if trace.Attributed.IsZero() || trace.Action == "" {
					t.Errorf("the outcome is gone: %+v", trace)
				}
			}
		}
		replayed, err := k.ReplayTrust(t.Context(), ann)
		must(t, err)
		if after, err := k.Trust(t.Context(), ann, "pricing"); with != 2 || err != nil || after != trust {
			t.Errorf("%d traces have words; trust %v, was %v (%+v, %v)", with, after, trust, replayed, err)
		}
	})
}
