package recall

import (
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

func number(x float64) *float64 { return &x }

// kept has mia's memory keep something that is so many days old, and gives its id.
func (r *rig) kept(days int, n memory.Node) memory.ID {
	r.t.Helper()
	n.At, n.Trust = r.now().AddDate(0, 0, -days), 0.5
	n.Layer, n.Kind = max(n.Layer, memory.Declared), memory.Preference
	ids, err := r.Keeper.Remember(r.t.Context(), mia, []memory.Node{n})
	must(r.t, err)
	return ids[0].ID
}

// archived gives what a job archives of mia's.
func (r *rig) archived() []memory.ID {
	r.t.Helper()
	_, err := r.Tidy(r.t.Context())
	must(r.t, err)
	return ids(r.have(keeper.Page{Statuses: []memory.Status{memory.Archived}}))
}

// What belongs to a scene in which its user no longer works loses worth, and nothing
// does of a user who does nothing.
func TestTheJobKnowsTheScenesThatAUserWorksIn(t *testing.T) {
	old := func(r *rig) (planning, live memory.ID) { // each of the worth 0.09
		planning = r.kept(280, memory.Node{Text: "plans on Mondays", Scene: "planning"})
		return planning, r.kept(280, memory.Node{Text: "opens with a joke", Scene: "live"})
	}
	r := newRig(t, shop)
	old(r)
	if gone := r.archived(); len(gone) != 0 {
		t.Errorf("of a user who pauses went %v", gone)
	}

	r = newRig(t, shop)
	planning, _ := old(r)
	r.doesIn("L1", 1, "shop.open", `{"minutes":3}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	must(t, r.sessionEnded(t.Context(), session(1)))
	if gone := r.archived(); !slices.Equal(gone, []memory.ID{planning}) {
		t.Errorf("of a user who holds lives went %v, not %v alone", gone, planning)
	}

	r = newRig(t, shop)
	old(r)
	r.doesIn("L1", 1, "shop.open", `{"minutes":3}`, host.Done)
	r.sets(time.Now().Add(time.Minute))
	must(t, r.sessionEnded(t.Context(), session(1)))
	r.settings.Forget = &Forgetting{SceneDays: number(0)}
	if gone := r.archived(); len(gone) != 0 {
		t.Errorf("where scenes count not there went %v", gone)
	}
}

// A tenant's memories are forgotten by the tenant's settings.
func TestAPolicySaysHowFastMemoriesLoseWorth(t *testing.T) {
	slow := map[memory.Freshness]float64{memory.Slow: 10}
	for _, tt := range []struct {
		name string
		set  *Forgetting
		goes bool
	}{
		{"as the host has it", nil, false},
		{"stale soon", &Forgetting{HalfLifeDays: slow}, true},
		{"out of use soon", &Forgetting{DisuseDays: number(10)}, true},
		{"old soon", &Forgetting{MaxAgeDays: slow}, true},
		{"of much worth", &Forgetting{Below: number(0.9)}, true},
		{"of another class", &Forgetting{MaxAgeDays: map[memory.Freshness]float64{memory.Fast: 1}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Settings{Forget: tt.set})
			r.kept(60, memory.Node{Text: "opens with a joke", Freshness: memory.Slow})
			if gone := r.archived(); (len(gone) == 1) != tt.goes {
				t.Errorf("went %v", gone)
			}
		})
	}
}

func TestOfTwoEntriesTheLaterOneSaysHowToForget(t *testing.T) {
	a := Settings{Facts: []string{"a.b"}, Forget: &Forgetting{HalfLifeDays: map[memory.Freshness]float64{memory.Slow: 1, memory.Fast: 2}, Below: number(0.5)}}
	b := Settings{Facts: []string{"c.d"}, Forget: &Forgetting{HalfLifeDays: map[memory.Freshness]float64{memory.Fast: 3}, MaxRatio: number(0.25)}}
	sum := a.And(b).And(Settings{})
	set := sum.Forget.over(memory.DefaultForget())
	if len(sum.Facts) != 2 || set.HalfLife[memory.Slow] != inDays(1) || set.HalfLife[memory.Fast] != inDays(3) || set.Below != 0.5 || set.MaxRatio != 0.25 {
		t.Errorf("both say %+v", set)
	}
	if host := memory.DefaultForget(); host.HalfLife[memory.Fast] != inDays(7) || set.MinRecall != host.MinRecall {
		t.Errorf("the host's own settings are %+v", host)
	}
}

func TestOfTwoEntriesTheLaterOneSaysHowADomainIsMeasured(t *testing.T) {
	a := Settings{Lifts: []Lift{{Domain: "pricing", Measure: "gmv"}, {Domain: "pacing", Measure: "viewers"}}}
	b := Settings{Lifts: []Lift{{Domain: "pricing", Measure: "orders"}}}
	data := memory.Business{Before: map[string]float64{"gmv": 1, "orders": 1, "viewers": 1}, After: map[string]float64{"gmv": 2, "orders": 3, "viewers": 4}}
	for domain, want := range map[string]float64{"pricing": 2, "pacing": 3} {
		formula, ok := a.And(b).LiftOf(domain)
		if !ok {
			t.Fatalf("%s has no measure", domain)
		}
		if lift, err := formula(data); err != nil || lift != want {
			t.Errorf("the lift of %s is %v, %v", domain, lift, err)
		}
	}
}
