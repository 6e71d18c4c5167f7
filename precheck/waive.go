package precheck

import (
	"fmt"
	"time"
)

// A Waiver lets a finding pass for a while. It stands in the repository, where
// reviewers see it.
type Waiver struct {
	Rule   string    `json:"rule"`
	Tool   string    `json:"tool,omitempty"` // the only one; empty means all, and the skill
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"` // the first day on which it counts no more
}

// ofWaivers is the rule on the waivers themselves: it cannot be waived.
func ofWaivers() Rule {
	return Rule{
		ID: "waiver", Severity: Warning, Title: "Waivers are in date, and something needs them",
		Reason: "A waiver that outlives its cause hides the next finding.",
		Mend:   "Take the waiver out, or mend what it waives.",
	}
}

// waiver gives the reason of the waiver for a finding; empty if there is none
// in date.
func (x *examination) waiver(rule, tool string) string {
	for i, w := range x.Waivers {
		if w.Rule == rule && (w.Tool == "" || w.Tool == tool) {
			x.waived[i] = true
			if x.Now().Before(w.Until) {
				return fmt.Sprintf("%s (until %s)", w.Reason, w.Until.Format(time.DateOnly))
			}
		}
	}
	return ""
}

func (x *examination) lookAtWaivers() {
	x.rule = ofWaivers()
	for i, w := range x.Waivers {
		of := w.Rule
		if w.Tool != "" {
			of += " for " + w.Tool
		}
		switch {
		case !x.waived[i]:
			x.findf("nothing needs the waiver of %s", of)
		case !x.Now().Before(w.Until):
			x.findf("the waiver of %s ended on %s", of, w.Until.Format(time.DateOnly))
		}
	}
}
