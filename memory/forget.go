package memory

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const day = 24 * time.Hour

// A ForgetConfig says how memories lose worth, and when a job archives them.
type ForgetConfig struct {
	HalfLife map[Freshness]time.Duration // in which what was seen goes half stale
	Disuse   time.Duration               // in which what nobody uses loses half of its worth

	Scenes     []string // that its user works in now; none says nothing of scenes
	OtherScene float64  // relevance in another scene than the memory's own
	Unverified float64  // credibility of what nothing bore out
	Falsified  float64  // what is left of the credibility of what was shown to be wrong

	Below     float64                     // scores below are archived
	MinRecall int                         // recalls from which the ratio counts
	MaxRatio  float64                     // adopted of recalled: at or below is archived, but for the user's own words
	MaxAge    map[Freshness]time.Duration // from which it is archived
}

// DefaultForget gives the settings of a new host: prices and rules of a platform go
// stale in a week and are gone after two months, taste in half a year and after two years.
func DefaultForget() ForgetConfig {
	return ForgetConfig{
		HalfLife:   map[Freshness]time.Duration{Slow: 180 * day, Fast: 7 * day},
		Disuse:     180 * day,
		OtherScene: 0.5, Unverified: 0.6, Falsified: 0.1,
		Below: 0.05, MinRecall: 20, MaxRatio: 0.05,
		MaxAge: map[Freshness]time.Duration{Slow: 730 * day, Fast: 60 * day},
	}
}

// The names of factors, in the order in which they are told.
const (
	FactorScene       = "scene"
	FactorFreshness   = "freshness"
	FactorTime        = "time"
	FactorCredibility = "credibility"
)

// A Factor is one part of a memory's worth.
type Factor struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"` // 0 to 1
	Why   string  `json:"why"`
}

// A Worth is what a memory is worth in a scene at a time: the product of its factors.
type Worth struct {
	Score   float64  `json:"score"` // 0 to 1
	Factors []Factor `json:"factors"`
}

// Weigh gives the worth of a memory in a scene; "" is no scene in particular. Why
// is worded for the locale.
func (set ForgetConfig) Weigh(n Node, scene string, now time.Time, locale string) Worth {
	speak := speakIn(locale)
	w := Worth{Score: 1, Factors: []Factor{
		set.sceneFactor(n, scene, speak), set.freshness(n, now, speak), set.disuse(n, now, speak), set.credibility(n, speak)}}
	for _, f := range w.Factors {
		w.Score *= f.Value
	}
	return w
}

func (set ForgetConfig) sceneFactor(n Node, scene string, speak speaker) Factor {
	switch {
	case n.Scene == "" || scene == "":
		return Factor{FactorScene, 1, speak.pick("it is of no scene, or none is asked for", "不限场景，或未指定场景")}
	case n.Scene == scene:
		return Factor{FactorScene, 1, speak.pick("it is of the scene %s", "属于场景 %s", scene)}
	}
	return Factor{FactorScene, unit01(set.OtherScene), speak.pick("it is of the scene %s, not %s", "属于场景 %s，而不是 %s", n.Scene, scene)}
}

func (set ForgetConfig) freshness(n Node, now time.Time, speak speaker) Factor {
	class := n.class()
	age, half := ageAt(n, now), set.HalfLife[class]
	return Factor{FactorFreshness, decay(age, half),
		speak.pick("%s old; the class %s halves in %s", "已有 %s；%s类每 %s 减半", daysText(age, speak), class.text(speak), daysText(half, speak))}
}

func (f Freshness) text(speak speaker) string {
	if f == Slow {
		return speak.pick("slow", "慢变")
	}
	return speak.pick("fast", "快变")
}

func (s Status) text(speak speaker) string {
	switch s {
	case Superseded:
		return speak.pick("superseded", "已被取代")
	case Falsified:
		return speak.pick("falsified", "已证伪")
	case Archived:
		return speak.pick("archived", "已归档")
	}
	return plainWord(string(s))
}

// class takes a memory without one for the kind that goes stale fast.
func (n Node) class() Freshness {
	if n.Freshness == Slow {
		return Slow
	}
	return Fast
}

func (set ForgetConfig) disuse(n Node, now time.Time, speak speaker) Factor {
	last := n.LastUsed
	for _, t := range []time.Time{seenAt(n), n.Agreed} {
		if t.After(last) {
			last = t
		}
	}
	idle := since(last, now)
	return Factor{FactorTime, decay(idle, set.Disuse),
		speak.pick("last seen or used %s ago; halves in %s", "上次出现或使用在 %s 前；每 %s 减半", daysText(idle, speak), daysText(set.Disuse, speak))}
}

// credibility begins low for what nothing bore out. Each verification takes half of
// the doubt, use as much of the rest as it was adopted, and trust scales the whole.
func (set ForgetConfig) credibility(n Node, speak speaker) Factor {
	doubt := (1 - unit01(set.Unverified)) * math.Pow(0.5, float64(max(0, n.Verified)))
	doubt *= 1 - ratio(n)
	value := (1 - doubt) * (1 + unit01(n.Trust)) / 2
	why := speak.pick("verified %d times, adopted %d of %d recalls, trust %.2f", "验证 %d 次，被采纳 %d 次（召回 %d 次），可信度 %.2f", n.Verified, n.Adopts, n.Recalls, n.Trust)
	if n.Status == Falsified {
		value *= unit01(set.Falsified)
		why += speak.pick("; shown to be wrong", "；已被证伪")
	}
	return Factor{FactorCredibility, value, why}
}

func ratio(n Node) float64 {
	if n.Recalls <= 0 {
		return 0
	}
	return unit01(float64(n.Adopts) / float64(n.Recalls))
}

// ageAt is how long ago a memory was seen.
func ageAt(n Node, now time.Time) time.Duration { return since(seenAt(n), now) }

// seenAt takes the first time that a memory has.
func seenAt(n Node) time.Time {
	for _, t := range []time.Time{n.At, n.Valid.From, n.Known.From} {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// since is never negative: what is to come, or has no time, is new.
func since(t, now time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t))
}

// decay halves in every half-life. Without one nothing decays.
func decay(age, half time.Duration) float64 {
	if half <= 0 {
		return 1
	}
	return math.Pow(0.5, float64(age)/float64(half))
}

func daysText(d time.Duration, speak speaker) string {
	return fmt.Sprintf(speak.pick("%.1f days", "%.1f 天"), d.Hours()/24)
}

// A Fate is what a job does with a memory, and why.
type Fate struct {
	Archive bool   `json:"archive"`
	Reason  string `json:"reason"` // one of the Fate constants
	Why     string `json:"why"`    // for people
	Worth   Worth  `json:"worth"`
}

// Why a memory is archived or not.
const (
	FateConstraint = "constraint"
	FatePinned     = "pinned"
	FateInactive   = "inactive"
	FateExpired    = "expired" // its time of validity is over
	FateAge        = "age"
	FateRatio      = "ratio" // recalled often, seldom of use
	FateScore      = "score"
	FateAsked      = "asked" // a question about it waits
	FateKept       = "kept"
)

// Stays reports whether no job archives or removes a memory, however old it is.
func (n Node) Stays() bool { return n.Pinned || n.Kind == Constraint }

// Asked gives the fate of a memory that a question waits about: it stays for the answer.
func (f Fate) Asked(locale string) Fate {
	if f.Archive {
		f.Archive, f.Reason, f.Why = false, FateAsked, speakIn(locale).pick("a question about it waits for the user's answer", "有一个关于它的问题等待用户回答")
	}
	return f
}

// sceneFor gives the scene that a job weighs a memory in: its own, where its user works
// in that now, and else one that the user works in.
func (set ForgetConfig) sceneFor(n Node) string {
	if len(set.Scenes) == 0 || slices.Contains(set.Scenes, n.Scene) {
		return n.Scene
	}
	return set.Scenes[0]
}

// Judge decides whether a job archives a memory. Constraints and pinned memories
// never go. Only active ones can: what is superseded or shown to be wrong is not
// recalled as it is, and would come back from the archive as if it were true.
func (set ForgetConfig) Judge(n Node, now time.Time, locale string) Fate {
	speak := speakIn(locale)
	f := Fate{Worth: set.Weigh(n, set.sceneFor(n), now, locale)}
	age, oldest := since(later(seenAt(n), n.Agreed), now), set.MaxAge[n.class()]
	switch {
	case n.Kind == Constraint:
		f.Reason, f.Why = FateConstraint, speak.pick("a constraint is never forgotten by a job", "约束不会被清理任务遗忘")
	case n.Pinned:
		f.Reason, f.Why = FatePinned, speak.pick("it is pinned", "已置顶，不会遗忘")
	case n.Status != Active:
		f.Reason, f.Why = FateInactive, speak.pick("it is %s and not recalled as it is", "状态为“%s”，本来就不会被召回", n.Status.text(speak))
	case !n.Valid.Until.IsZero() && !now.Before(n.Valid.Until):
		f.Reason, f.Why = FateExpired, speak.pick("it held until %s", "有效期至 %s", n.Valid.Until.Format(time.DateOnly))
	case oldest > 0 && age >= oldest:
		f.Reason, f.Why = FateAge, speak.pick("%s old; the class %s goes after %s", "已有 %s；%s类超过 %s 即归档", daysText(age, speak), n.class().text(speak), daysText(oldest, speak))
	case n.Layer != Declared && set.MinRecall > 0 && n.Recalls >= set.MinRecall && ratio(n) <= set.MaxRatio:
		f.Reason, f.Why = FateRatio, speak.pick("adopted %d of %d recalls", "召回 %[2]d 次，仅采纳 %[1]d 次", n.Adopts, n.Recalls)
	case f.Worth.Score < set.Below:
		f.Reason, f.Why = FateScore, speak.pick("worth %.3f, below %.3f", "分值 %.3f，低于 %.3f", f.Worth.Score, set.Below)
	default:
		f.Reason, f.Why = FateKept, speak.pick("worth %.3f, not below %.3f", "分值 %.3f，不低于 %.3f", f.Worth.Score, set.Below)
	}
	f.Archive = f.Reason == FateExpired || f.Reason == FateAge || f.Reason == FateRatio || f.Reason == FateScore
	return f
}
