package memory

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// What one attributed trace does to the trust in an agent's output.
const (
	AdoptedGain  = +0.05 // the output was adopted, and business went up
	AdoptedLoss  = -0.10 // it was adopted, and business did not go up
	RejectedGain = +0.03 // it was rejected, and the agent was right
	RejectedLoss = -0.05 // it was rejected, and the user was right
)

// InitialTrust is the trust in a domain without traces, as a host's setting begins:
// neither enough for a recommendation nor so little that only evidence is shown.
const InitialTrust = 0.5

// The bounds of the forms of output, see FormOf.
const (
	RecommendFrom = 0.7
	ReferFrom     = 0.4
)

// A TrustKey names one score: trust is per user and domain.
type TrustKey struct {
	Tenant host.TenantID `json:"tenant"`
	User   host.UserID   `json:"user"`
	Domain string        `json:"domain"`
}

// TrustKey gives the score that a trace moves.
func (t Trace) TrustKey() TrustKey { return TrustKey{t.Tenant, t.User, t.Domain} }

// Delta gives what a trace does to trust, and why. It is false where the trace does
// not say enough: an adopted output needs its lift, a rejected one who was right.
//
// A modified output counts as rejected. What was carried out is the user's
// alternative, so its lift says nothing of what the agent proposed: to count it as
// adopted would give the agent the credit, or the blame, of somebody else's
// decision.
func (t Trace) Delta() (delta float64, why string, ok bool) {
	switch {
	case t.Action == Accept && t.Lift != nil && !math.IsNaN(*t.Lift) && !math.IsInf(*t.Lift, 0):
		if *t.Lift > 0 {
			return AdoptedGain, "adopted, lift above 0", true
		}
		return AdoptedLoss, "adopted, no lift", true
	case (t.Action == Reject || t.Action == Modify) && t.AgentRight != nil:
		if *t.AgentRight {
			return RejectedGain, "not adopted, the agent was right", true
		}
		return RejectedLoss, "not adopted, the user was right", true
	}
	return 0, "", false
}

// Attribute applies a trace to the score of its user and domain, once: it gives the
// trace with its delta and the score after it. A trace that is attributed already,
// or does not say enough, changes nothing and gives false.
func Attribute(trust float64, t Trace, now time.Time) (Trace, float64, bool) {
	delta, _, ok := t.Delta()
	if !ok || !t.Attributed.IsZero() {
		return t, trust, false
	}
	t.TrustDelta, t.TrustFrom, t.Attributed = delta, &trust, now
	return t, moved(trust, delta), true
}

func moved(trust, delta float64) float64 { return exact(unit01(unit01(trust) + delta)) }

// unit01 brings a number into 0 to 1. What is no number is not trusted.
func unit01(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// exact takes the rounding of binary numbers out of a score, so that 0.5 and four
// times 0.05 is 0.7 and not a little less or more.
func exact(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// A Replayed is what traces say that trust must be.
type Replayed struct {
	Scores map[TrustKey]float64
	Differ []string // ids of traces whose recorded delta is not what they say, in order
}

// Replay rebuilds every score from the attributed traces, in the order in which
// they were attributed (of the same time by id). A trace that is given twice counts once.
// A score begins as its first trace says that it was; where that does not say so, it is the
// initial one. A domain without an attributed trace has no score: it is the initial one.
func Replay(initial float64, traces []Trace) Replayed {
	order := make([]*Trace, len(traces))
	for i := range traces {
		order[i] = &traces[i]
	}
	slices.SortStableFunc(order, func(a, b *Trace) int {
		return cmp.Or(a.Attributed.Compare(b.Attributed), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID))
	})
	type name struct {
		tenant host.TenantID
		id     string
	}
	r, done := Replayed{Scores: map[TrustKey]float64{}}, map[name]bool{}
	for _, t := range order {
		if t.Attributed.IsZero() || done[name{t.Tenant, t.ID}] {
			continue
		}
		done[name{t.Tenant, t.ID}] = true
		delta, _, ok := t.Delta()
		if !ok || delta != t.TrustDelta {
			r.Differ = append(r.Differ, t.ID)
		}
		trust, known := r.Scores[t.TrustKey()]
		if !known {
			trust = initial
			if t.TrustFrom != nil {
				trust = *t.TrustFrom
			}
		}
		r.Scores[t.TrustKey()] = moved(trust, delta)
	}
	return r
}

// A LiftFormula gives what an adopted output did to the business: above 0 where it
// went up. It is an operator's to choose. An error says that the data does not tell;
// the trace then stays unattributed.
type LiftFormula func(Business) (float64, error)

// Business is what business data says of the time before and after a decision, by
// the name of the measure: "gmv", "conversion", "minutes".
type Business struct {
	Before map[string]float64
	After  map[string]float64
}

// RelativeLift gives the formula that compares one measure after with before: 0.1 is
// a tenth more. With per it compares the measure for each unit of another one, such
// as "gmv" per "minutes".
func RelativeLift(measure, per string) LiftFormula {
	return func(b Business) (float64, error) {
		before, after, err := rate(b.Before, measure, per), rate(b.After, measure, per), error(nil)
		lift := (after - before) / math.Abs(before)
		if math.IsNaN(lift) || math.IsInf(lift, 0) {
			err = host.Fail("memory.RelativeLift", abi.NewProblem(abi.BadArguments, "the business data has no %s before and after that can be compared", measure).
				WithHint("give it for both times, above 0 before"), nil)
			lift = 0
		}
		return lift, err
	}
}

func rate(data map[string]float64, measure, per string) float64 {
	value, ok := data[measure]
	if !ok {
		return math.NaN()
	}
	if per == "" {
		return value
	}
	return value / data[per] // without it: not finite, which is refused
}

// A Form is how much an answer may say, by trust.
type Form string

// The forms.
const (
	Recommend    Form = "recommend" // a recommendation, with a counter-example, an alternative and the confidence
	Refer        Form = "refer"     // evidence, and a weak reference
	EvidenceOnly Form = "evidence"  // evidence alone
)

// FormOf gives the form for a trust: Recommend from 0.7 on, Refer from 0.4 on, and
// EvidenceOnly below, and for what is no number.
func FormOf(trust float64) Form {
	switch {
	case trust >= RecommendFrom:
		return Recommend
	case trust >= ReferFrom:
		return Refer
	}
	return EvidenceOnly
}
