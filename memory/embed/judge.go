package embed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of a judgement.
const (
	LabelledMax  = 20_000 // queries; more tell nothing new, and are resampled some thousand times each
	resamplesMax = 20_000

	// Depth is how many hits of a query count where a rule says nothing: as many as are
	// recalled by default.
	Depth = 10
)

// A Labelled is a query whose answers are known, and what was found for it without and
// with the dense leg, best first.
type Labelled[ID comparable] struct {
	Relevant      []ID // at least one
	Without, With []ID
}

// A Rule says when a dense leg helps. The zero value of a field is its default.
type Rule struct {
	Queries    int     // at least; 30, below which an interval from resampling is too narrow to be true
	Margin     float64 // of the gain: what the leg must be worth; 0.01, a hit more in the first place for one query of a hundred
	Confidence float64 // of the interval, between 0.5 and 1; 0.95
	Depth      int     // hits of a query that count; Depth
	Resamples  int     // 2,000
	Seed       uint64  // of the resampling: the same figures give the same verdict
}

func (r Rule) withDefaults() Rule {
	if r.Queries <= 0 {
		r.Queries = 30
	}
	if !(r.Margin > 0) { // less than nothing would be harm
		r.Margin = 0.01
	}
	if !(r.Confidence > 0.5 && r.Confidence < 1) {
		r.Confidence = 0.95
	}
	if r.Depth <= 0 {
		r.Depth = Depth
	}
	if r.Resamples <= 0 {
		r.Resamples = 2000
	}
	r.Resamples = min(r.Resamples, resamplesMax)
	return r
}

// A Verdict says whether a dense leg is to be used, and why. Qualities are means of
// the queries' NDCG (normalised discounted cumulative gain): 1 where all that is
// relevant stands first, 0 where none is found.
type Verdict struct {
	On      bool    `json:"on"`
	Reason  string  `json:"reason"` // one line, with the figures
	Queries int     `json:"queries"`
	Better  int     `json:"better"` // queries with the leg
	Worse   int     `json:"worse"`
	Without float64 `json:"without"` // mean quality
	With    float64 `json:"with"`
	Low     float64 `json:"low"` // of the gain's interval
	High    float64 `json:"high"`
}

// Gain is how much better the searches are with the leg.
func (v Verdict) Gain() float64 { return v.With - v.Without }

// Judge weighs what was found without and with the dense leg. It fails with host.Fail
// for a set that cannot be used; there is no verdict then, and the leg stays off.
func Judge[ID comparable](set []Labelled[ID], rule Rule) (Verdict, error) {
	if len(set) > LabelledMax {
		return Verdict{}, host.Fail("embed.Judge", abi.NewProblem(abi.InputLimit, "the labelled set has %d queries, of %d at most", len(set), LabelledMax).
			WithHint("judge by a part of it that was drawn by chance"), nil)
	}
	rule = rule.withDefaults()
	without, with := make([]float64, len(set)), make([]float64, len(set))
	for i, q := range set {
		if len(q.Relevant) == 0 {
			return Verdict{}, host.Fail("embed.Judge", abi.NewProblem(abi.BadValue, "query %d of the labelled set has nothing that it should find", i+1).
				WithHint("label it, or leave it out"), nil)
		}
		without[i], with[i] = Quality(q.Without, q.Relevant, rule.Depth), Quality(q.With, q.Relevant, rule.Depth)
	}
	return Weigh(without, with, rule), nil
}

// Quality is the NDCG of what one search found: hits count less the later they come,
// against the best order that there could be. A hit that comes twice counts once. Relevant
// is not empty, and depth is 1 at least.
func Quality[ID comparable](found, relevant []ID, depth int) float64 {
	left := map[ID]bool{}
	for _, id := range relevant {
		left[id] = true
	}
	best := 0.0
	for place := range min(depth, len(left)) {
		best += 1 / math.Log2(float64(place)+2)
	}
	got := 0.0
	for place, id := range found[:min(depth, len(found))] {
		if left[id] {
			got += 1 / math.Log2(float64(place)+2)
			delete(left, id)
		}
	}
	return got / best
}

// Weigh decides by the qualities of the same queries without and with the dense leg,
// in one order. The leg is on only where even the lower end of the gain's interval is
// above the margin: few queries, noise, harm, and figures that are no qualities are off.
func Weigh(without, with []float64, rule Rule) Verdict {
	rule = rule.withDefaults()
	v := Verdict{Queries: len(with)}
	notOne := func(q float64) bool { return !(q >= 0 && q <= 1) } // NaN included
	if len(without) != len(with) || slices.ContainsFunc(without, notOne) || slices.ContainsFunc(with, notOne) {
		v.Reason = "off: the figures without and with the dense leg cannot be compared"
		return v
	}
	if len(with) < rule.Queries {
		v.Reason = fmt.Sprintf("off: %d labelled queries tell too little; give %d at least", len(with), rule.Queries)
		return v
	}
	gains := make([]float64, len(with))
	for i := range gains {
		gains[i] = with[i] - without[i]
		switch {
		case gains[i] > 0:
			v.Better++
		case gains[i] < 0:
			v.Worse++
		}
	}
	v.Without, v.With = mean(without), mean(with)
	v.Low, v.High = interval(gains, rule)
	v.On = v.Low > rule.Margin
	v.Reason = v.reason(rule)
	return v
}

// reason tells the figures.
func (v Verdict) reason(rule Rule) string {
	state, verb := "off", "is not"
	if v.On {
		state, verb = "on", "is"
	}
	return fmt.Sprintf("%s: over %d queries NDCG@%d is %.3f without and %.3f with the dense leg (%d better, %d worse); the gain's %g %% interval, %+.3f to %+.3f, %s above the margin of %.3f",
		state, v.Queries, rule.Depth, v.Without, v.With, v.Better, v.Worse, math.Round(rule.Confidence*1000)/10, v.Low, v.High, verb, rule.Margin)
}

// interval is that of the mean gain, by resampling the queries with replacement
// (Efron's percentile bootstrap). Pairs stay together, so that hard queries and easy
// ones do not blur what the leg does.
func interval(gains []float64, rule Rule) (low, high float64) {
	random := rand.New(rand.NewPCG(rule.Seed, uint64(len(gains))))
	means := make([]float64, rule.Resamples)
	for i := range means {
		sum := 0.0
		for range gains {
			sum += gains[random.IntN(len(gains))]
		}
		means[i] = sum / float64(len(gains))
	}
	slices.Sort(means)
	tail := int((1 - rule.Confidence) / 2 * float64(len(means)))
	return means[tail], means[len(means)-1-tail]
}

func mean(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	return sum / float64(len(all))
}
