package recall

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// A Forgetting is what an operator says of how memories lose worth, in days and in
// parts of 1. What is nil stays as the host has it.
type Forgetting struct {
	HalfLifeDays map[memory.Freshness]float64 `json:"half_life_days,omitempty"` // of the classes slow and fast
	MaxAgeDays   map[memory.Freshness]float64 `json:"max_age_days,omitempty"`   // from which they are archived
	DisuseDays   *float64                     `json:"disuse_days,omitempty"`    // in which what nobody uses loses half
	OtherScene   *float64                     `json:"other_scene,omitempty"`    // relevance where the user works in other scenes
	Unverified   *float64                     `json:"unverified,omitempty"`     // credibility of what nothing bore out
	Below        *float64                     `json:"below,omitempty"`          // scores below are archived
	MinRecalls   *int                         `json:"min_recalls,omitempty"`    // from which the ratio counts; 0: never
	MaxRatio     *float64                     `json:"max_ratio,omitempty"`      // adopted of recalled: at or below is archived
	SceneDays    *float64                     `json:"scene_days,omitempty"`     // in which a scene must have been used to count; 0: scenes count not
}

// Bounds of a Forgetting.
const (
	maxForgetDays    = 36_500 // a century
	maxForgetRecalls = 1_000_000

	// sceneDays is how long a scene counts as used where the operator does not say: who
	// holds no live for a month works otherwise by now.
	sceneDays = 30
)

// and gives what two entries of a policy say: of the same the later one counts.
func (f *Forgetting) and(more *Forgetting) *Forgetting {
	switch {
	case f == nil:
		return more
	case more == nil:
		return f
	}
	sum := *f
	sum.HalfLifeDays, sum.MaxAgeDays = both(f.HalfLifeDays, more.HalfLifeDays), both(f.MaxAgeDays, more.MaxAgeDays)
	sum.DisuseDays, sum.OtherScene, sum.Unverified = cmp.Or(more.DisuseDays, f.DisuseDays), cmp.Or(more.OtherScene, f.OtherScene), cmp.Or(more.Unverified, f.Unverified)
	sum.Below, sum.MinRecalls, sum.MaxRatio = cmp.Or(more.Below, f.Below), cmp.Or(more.MinRecalls, f.MinRecalls), cmp.Or(more.MaxRatio, f.MaxRatio)
	sum.SceneDays = cmp.Or(more.SceneDays, f.SceneDays)
	return &sum
}

func both(a, b map[memory.Freshness]float64) map[memory.Freshness]float64 {
	sum := map[memory.Freshness]float64{}
	for _, some := range []map[memory.Freshness]float64{a, b} {
		for class, days := range some {
			sum[class] = days
		}
	}
	return sum
}

func (f *Forgetting) check() *abi.Problem {
	if f == nil {
		return nil
	}
	bad := func(field, takes string) *abi.Problem {
		return abi.NewProblem(abi.BadValue, "memory.forget.%s takes %s", field, takes).WithField("memory.forget." + field)
	}
	for field, by := range map[string]map[memory.Freshness]float64{"half_life_days": f.HalfLifeDays, "max_age_days": f.MaxAgeDays} {
		for class, days := range by {
			if class != memory.Slow && class != memory.Fast || !(days > 0 && days <= maxForgetDays) {
				return bad(field, "slow and fast, each more than 0 days and at most 36500")
			}
		}
	}
	if days := f.DisuseDays; days != nil && !(*days > 0 && *days <= maxForgetDays) {
		return bad("disuse_days", "more than 0 days, and at most 36500")
	}
	if days := f.SceneDays; days != nil && !(*days >= 0 && *days <= maxForgetDays) {
		return bad("scene_days", "0 to 36500 days")
	}
	if n := f.MinRecalls; n != nil && (*n < 0 || *n > maxForgetRecalls) {
		return bad("min_recalls", "0 to 1000000 recalls")
	}
	for field, part := range map[string]*float64{"other_scene": f.OtherScene, "unverified": f.Unverified, "below": f.Below, "max_ratio": f.MaxRatio} {
		if part != nil && !(*part >= 0 && *part <= 1) {
			return bad(field, "0 to 1")
		}
	}
	return nil
}

// over gives settings with what the operator says in their place.
func (f *Forgetting) over(set memory.ForgetConfig) memory.ForgetConfig {
	if f == nil {
		return set
	}
	set.HalfLife, set.MaxAge = overDays(set.HalfLife, f.HalfLifeDays), overDays(set.MaxAge, f.MaxAgeDays)
	if f.DisuseDays != nil {
		set.Disuse = inDays(*f.DisuseDays)
	}
	for to, part := range map[*float64]*float64{&set.OtherScene: f.OtherScene, &set.Unverified: f.Unverified, &set.Below: f.Below, &set.MaxRatio: f.MaxRatio} {
		if part != nil {
			*to = *part
		}
	}
	if f.MinRecalls != nil {
		set.MinRecall = *f.MinRecalls
	}
	return set
}

func overDays(host map[memory.Freshness]time.Duration, said map[memory.Freshness]float64) map[memory.Freshness]time.Duration {
	set := map[memory.Freshness]time.Duration{}
	for class, d := range host {
		set[class] = d
	}
	for class, days := range said {
		set[class] = inDays(days)
	}
	return set
}

func inDays(days float64) time.Duration { return time.Duration(days * 24 * float64(time.Hour)) }

// ForgetOf gives how an owner's memories lose worth at a time: by the host's settings,
// with what the policy says in their place, and by the scenes that the owner uses.
func ForgetOf(ctx context.Context, k *keeper.Keeper, o keeper.Owner, host memory.ForgetConfig, s Settings, now time.Time) (memory.ForgetConfig, error) {
	set, days := s.Forget.over(host), float64(sceneDays)
	if s.Forget != nil && s.Forget.SceneDays != nil {
		days = *s.Forget.SceneDays
	}
	var err error
	set.Scenes, err = scenesSince(ctx, k, o, now.Add(-inDays(days)))
	return set, err
}

// scenesSince gives the scenes in which an owner said, did or was told something since a
// time, by the newest that is kept. An owner of whom nothing is seen since then uses none:
// who pauses loses nothing by it.
func scenesSince(ctx context.Context, k *keeper.Keeper, o keeper.Owner, since time.Time) (scenes []string, err error) {
	for _, layer := range []memory.Layer{memory.Declared, memory.Behaviour} {
		newest, err := k.Newest(ctx, o, layer, everyKind()...)
		if err != nil {
			return nil, err
		}
		for _, n := range newest {
			used := n.At.After(since) || n.Agreed.After(since) || n.LastUsed.After(since)
			if used && n.Scene != "" && !slices.Contains(scenes, n.Scene) {
				scenes = append(scenes, n.Scene)
			}
		}
	}
	slices.Sort(scenes)
	return scenes, nil
}
