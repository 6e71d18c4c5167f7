package dispatch

import (
	"cmp"

	"github.com/sluicehq/sluice/abi"
)

// verdictText bounds the words of one verdict on record, in bytes: a sentence or
// two. There are as many verdicts as there are hooks, rules and red lines, and
// none of them is left out.
const verdictText = 300

// Verdicts are what everybody said who was asked about a call, on its own
// record: the intent of a call that runs, the refusal or the duplicate of one
// that does not. What was said of an attempt, once the call runs, is on the
// record of that attempt's end.
type Verdicts struct {
	Allowed []string  `json:"allowed,omitempty"` // who let it pass, in the order in which they were asked
	Others  []Verdict `json:"others,omitempty"`  // who asked for more, refused it or said something, likewise
}

// A Verdict is one that says more than that the call may pass.
type Verdict struct {
	By     string   `json:"by"`               // such as "rule 2", "hook prices", "red line night"
	Tier   abi.Tier `json:"tier,omitempty"`   // that it asked for
	Code   abi.Code `json:"code,omitempty"`   // of the problem with which it refused
	Words  string   `json:"words,omitempty"`  // in short
	Fuel   int64    `json:"fuel,omitempty"`   // of the skill's check, which is in the call's usage as well
	Memory abi.Size `json:"memory,omitempty"` // of that, at its peak
}

// allow puts one on record who let the call pass.
func (f *flight) allow(by string) {
	v := f.verdicts()
	v.Allowed = append(v.Allowed, by)
}

// hear puts what one said on record, in the shortest form.
func (f *flight) hear(v Verdict) {
	if (v.Tier == "" || v.Tier == abi.Auto) && v == (Verdict{By: v.By, Tier: v.Tier}) {
		f.allow(v.By)
		return
	}
	v.Words = cut(v.Words, verdictText)
	on := f.verdicts()
	on.Others = append(on.Others, v)
}

// verdicts are those of the record that comes next: once the call runs, its
// intent is on record already.
func (f *flight) verdicts() *Verdicts {
	at := &f.before
	if f.outcome.Attempts > 0 {
		at = &f.during
	}
	if *at == nil {
		*at = &Verdicts{Allowed: make([]string, 0, usualVerdicts)}
	}
	return *at
}

// usualVerdicts is about how many let a call pass where the host has a few hooks.
const usualVerdicts = 12

// unheard are the verdicts that the call's intent, if it has one, does not have.
func (f *flight) unheard() *Verdicts {
	if f.outcome.Attempts > 0 {
		return f.during
	}
	return f.before
}

// size gives about how many bytes the verdicts take.
func (v *Verdicts) size() (bytes int) {
	if v == nil {
		return 0
	}
	for _, by := range v.Allowed {
		bytes += len(by)
	}
	for _, o := range v.Others {
		bytes += len(o.By) + len(o.Words)
	}
	return bytes
}

// hearOpinion puts what stands behind an opinion on record.
func (f *flight) hearOpinion(o opinion) {
	if len(o.parts) > 0 {
		for _, part := range o.parts {
			f.hear(part)
		}
		return
	}
	f.hear(o.verdict())
}

// verdict gives an opinion as it stands on record.
func (o opinion) verdict() Verdict {
	v := Verdict{By: cmp.Or(o.source, o.by), Tier: o.tier, Words: o.say, Fuel: o.fuel, Memory: o.memory}
	if o.problem != nil {
		v.Code, v.Words = o.problem.Code, o.problem.Message
	}
	return v
}

// fuel is what the skill's checks used.
func (v *Verdicts) fuel() (sum int64) {
	if v == nil {
		return 0
	}
	for _, o := range v.Others {
		sum += o.Fuel
	}
	return sum
}
