package memory

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestLiftIsAFormulaOverBusinessData(t *testing.T) {
	for _, tt := range []struct {
		name, measure, per string
		before, after      map[string]float64
		want               float64
		fails              bool
	}{
		{"a tenth more", "gmv", "", map[string]float64{"gmv": 100}, map[string]float64{"gmv": 110}, 0.1, false},
		{"per minute", "gmv", "minutes", map[string]float64{"gmv": 100, "minutes": 10}, map[string]float64{"gmv": 110, "minutes": 22}, -0.5, false},
		{"less loss is a lift", "profit", "", map[string]float64{"profit": -100}, map[string]float64{"profit": -50}, 0.5, false},
		{"nothing before", "gmv", "", map[string]float64{"gmv": 0}, map[string]float64{"gmv": 110}, 0, true},
		{"nothing and nothing", "gmv", "", map[string]float64{"gmv": 0}, map[string]float64{"gmv": 0}, 0, true},
		{"not measured after", "gmv", "", map[string]float64{"gmv": 100}, nil, 0, true},
		{"no minutes", "gmv", "minutes", map[string]float64{"gmv": 100}, map[string]float64{"gmv": 110, "minutes": 22}, 0, true},
		{"a number that is none", "gmv", "", map[string]float64{"gmv": 100}, map[string]float64{"gmv": math.NaN()}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lift, err := RelativeLift(tt.measure, tt.per)(Business{tt.before, tt.after})
			if math.Abs(lift-tt.want) > 1e-12 || (err != nil) != tt.fails {
				t.Errorf("the lift is %v, %v", lift, err)
			}
			if err != nil && host.ProblemOf(err).Code != abi.BadArguments {
				t.Errorf("it fails with %v", err)
			}
		})
	}
}

// Whatever happened, a replay gives the very scores that were there at the time.
func TestReplayRebuildsEveryScore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	scores, traces := map[TrustKey]float64{}, []Trace{}
	for i := range 2000 {
		lift, right := random.Float64()*2-1, random.IntN(2) == 0
		tr := Trace{ID: strconv.Itoa(i), Tenant: "acme", User: host.UserID("u" + strconv.Itoa(random.IntN(5))), Domain: "d" + strconv.Itoa(random.IntN(3)),
			Action: []Decision{Accept, Reject, Modify, ""}[random.IntN(4)], Lift: &lift, AgentRight: &right}
		trust, ok := scores[tr.TrustKey()]
		if !ok {
			trust = InitialTrust
		}
		tr, after, moved := Attribute(trust, tr, noon.Add(time.Duration(i)*time.Second))
		if moved {
			scores[tr.TrustKey()] = after
		}
		if after < 0 || after > 1 || after != math.Round(after*100)/100 {
			t.Fatalf("the trust is %v after %+v", after, tr)
		}
		traces = append(traces, tr)
	}
	random.Shuffle(len(traces), func(i, j int) { traces[i], traces[j] = traces[j], traces[i] })
	r := Replay(InitialTrust, traces)
	if len(r.Differ) != 0 || len(r.Scores) != len(scores) {
		t.Fatalf("replayed %d scores of %d; %v differ", len(r.Scores), len(scores), r.Differ)
	}
	for k, want := range scores {
		if r.Scores[k] != want {
			t.Errorf("%+v is replayed as %v, was %v", k, r.Scores[k], want)
		}
	}
}

func TestATrustThatIsNoNumberIsNotTrusted(t *testing.T) {
	if form := FormOf(math.NaN()); form != EvidenceOnly {
		t.Errorf("it gives %s", form)
	}
	lift := math.NaN()
	if _, _, ok := (Trace{Action: Accept, Lift: &lift}).Delta(); ok {
		t.Error("a lift that is no number counts")
	}
}

// What behaviour bore out lately is not too old, whenever it was said.
func TestWhatWasBorneOutLatelyDoesNotGoByItsAge(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	n := Node{Layer: Declared, Kind: Preference, Freshness: Slow, Status: Active, Trust: 1, Verified: 9, At: now.AddDate(0, 0, -740)}
	if f := DefaultForget().Judge(n, now, ""); f.Reason != FateAge {
		t.Errorf("without: %+v", f)
	}
	n.Agreed = now.AddDate(0, 0, -1)
	if f := DefaultForget().Judge(n, now, ""); f.Reason != FateKept {
		t.Errorf("with: %+v", f)
	}
}
