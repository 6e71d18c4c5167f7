package embed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
)

// qualities makes n pairs: with the leg they are better by gain on the average, and
// differ by noise.
func qualities(n int, gain, noise float64) (without, with []float64) {
	random := rand.New(rand.NewPCG(7, 7))
	for range n {
		q := 0.3 + 0.4*random.Float64()
		without = append(without, q)
		with = append(with, min(1, max(0, q+gain+noise*(2*random.Float64()-1))))
	}
	return without, with
}

func TestADenseLegIsOnOnlyWhereItHelps(t *testing.T) {
	for name, tt := range map[string]struct {
		queries     int
		gain, noise float64
		rule        Rule
		on          bool
	}{
		"it helps":                   {200, 0.05, 0.2, Rule{}, true},
		"it hurts":                   {200, -0.05, 0.2, Rule{}, false},
		"it does nothing":            {200, 0, 0, Rule{}, false},
		"noise":                      {200, 0, 0.3, Rule{}, false},
		"noise, and many queries":    {1000, 0, 0.3, Rule{}, false},
		"less than it must be worth": {1000, 0.005, 0.05, Rule{}, false},
		"a lesser margin":            {1000, 0.005, 0.05, Rule{Margin: 0.001}, true},
		"helps, but few queries":     {29, 0.2, 0.1, Rule{}, false},
		"just enough queries":        {30, 0.2, 0.1, Rule{}, true},
		"helps some, hurts others":   {40, 0.03, 0.3, Rule{}, false},
		"no queries":                 {0, 0, 0, Rule{}, false},
		"no queries, none needed":    {0, 0, 0, Rule{Queries: -1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			without, with := qualities(tt.queries, tt.gain, tt.noise)
			v := Weigh(without, with, tt.rule)
			if v.On != tt.on {
				t.Errorf("got %s", v.Reason)
			}
			if state := map[bool]string{true: "on: ", false: "off: "}[v.On]; !strings.HasPrefix(v.Reason, state) {
				t.Errorf("it is %v because %s", v.On, v.Reason)
			}
			if again := Weigh(without, with, tt.rule); again != v {
				t.Errorf("the second time it says %s", again.Reason)
			}
		})
	}
}

// TestNoiseIsRarelyTakenForHelp weighs many sets of which the leg does nothing.
func TestNoiseIsRarelyTakenForHelp(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	on := 0
	for range 100 {
		var without, with []float64
		for range 50 {
			without, with = append(without, random.Float64()), append(with, random.Float64())
		}
		if Weigh(without, with, Rule{Resamples: 200}).On {
			on++
		}
	}
	if on > 8 { // 2.5 % of 100, and what chance adds
		t.Errorf("noise is taken for help %d times of 100", on)
	}
}

func TestTheReasonTellsTheFigures(t *testing.T) {
	without, with := slices.Repeat([]float64{0.5, 1}, 50), slices.Repeat([]float64{1, 0.75}, 50)
	v := Weigh(without, with, Rule{})
	if v.Better != 50 || v.Worse != 50 || v.Without != 0.75 || v.With != 0.875 || v.Gain() != 0.125 || !(v.Low < v.Gain() && v.Gain() < v.High) {
		t.Errorf("the verdict is %+v", v)
	}
	if !strings.HasPrefix(v.Reason, "on: over 100 queries NDCG@10 is 0.750 without and 0.875 with the dense leg (50 better, 50 worse); the gain's 95 % interval, +0.") {
		t.Errorf("the reason is %s", v.Reason)
	}
}

func TestFiguresThatAreNoQualitiesAreOff(t *testing.T) {
	good := slices.Repeat([]float64{0.1}, 40)
	for name, bad := range map[string][]float64{"NaN": slices.Repeat([]float64{math.NaN()}, 40), "infinite": slices.Repeat([]float64{math.Inf(1)}, 40), "above 1": slices.Repeat([]float64{2}, 40), "more": slices.Repeat([]float64{1}, 41)} {
		if v := Weigh(good, bad, Rule{}); v.On || v.Reason == "" {
			t.Errorf("%s: %+v", name, v)
		}
		if v := Weigh(bad, good, Rule{}); v.On {
			t.Errorf("%s, without: %+v", name, v)
		}
	}
}

func TestQualityFallsWithThePlaceOfWhatIsRelevant(t *testing.T) {
	second := 1 / math.Log2(3)
	for name, tt := range map[string]struct {
		found, relevant []int
		want            float64
	}{
		"first":             {[]int{1, 2}, []int{1}, 1},
		"second":            {[]int{2, 1}, []int{1}, second},
		"not at all":        {[]int{2, 3}, []int{1}, 0},
		"nothing found":     {nil, []int{1}, 0},
		"both":              {[]int{2, 1}, []int{1, 2}, 1},
		"one of two":        {[]int{1, 3}, []int{1, 2}, 1 / (1 + second)},
		"twice the same":    {[]int{1, 1}, []int{1, 2}, 1 / (1 + second)},
		"labelled twice":    {[]int{1}, []int{1, 1}, 1},
		"below what counts": {[]int{3, 4, 1}, []int{1}, 0},
		"more than count":   {[]int{1, 2}, []int{1, 2, 3, 4}, 1},
	} {
		if got := Quality(tt.found, tt.relevant, 2); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestJudgeWeighsWhatWasFoundWithoutAndWithTheLeg(t *testing.T) {
	helped, harmed := make([]Labelled[string], 40), make([]Labelled[string], 40)
	for i := range helped {
		right, wrong := []string{fmt.Sprint("memory ", i)}, []string{"another"}
		helped[i] = Labelled[string]{Relevant: right, Without: wrong, With: right}
		harmed[i] = Labelled[string]{Relevant: right, Without: right, With: wrong}
	}
	if v, err := Judge(helped, Rule{}); err != nil || !v.On || v.With != 1 || v.Without != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
	if v, err := Judge(harmed, Rule{}); err != nil || v.On {
		t.Errorf("the other way round: %+v, %v", v, err)
	}
}

func TestThereIsNoVerdictOnASetThatCannotBeUsed(t *testing.T) {
	for name, set := range map[string][]Labelled[int]{"unlabelled": {{With: []int{1}}}, "too many": make([]Labelled[int], LabelledMax+1)} {
		if v, err := Judge(set, Rule{}); err == nil || v.On || host.ProblemOf(err).Hint == "" {
			t.Errorf("%s: got %+v, %v", name, v, err)
		}
	}
}
