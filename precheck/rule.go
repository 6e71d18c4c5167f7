package precheck

import (
	"context"
	"slices"
)

// A Severity says what a finding means for the run.
type Severity string

// Severities.
const (
	Failure Severity = "failure" // must not be released
	Warning Severity = "warning" // a reviewer should see it
)

// A Rule is one thing that is looked at.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`  // what holds where the rule is kept
	Reason   string   `json:"reason"` // why that matters
	Mend     string   `json:"mend"`   // how an author mends it

	check func(*examination, context.Context)
}

// A stage is rules that need the same: where it is not there, they do not run.
type stage struct {
	needs   string // in the words of a report
	missing func(*examination) bool
	rules   []Rule
}

// stages lists all rules in the order in which they run.
func stages() []stage {
	return []stage{
		{"a file", func(x *examination) bool { return false }, bytesRules()},
		{"a WebAssembly module", func(x *examination) bool { return x.info == nil }, binaryRules()},
		{"a module that a host loads", func(x *examination) bool { return x.module == nil }, describedRules()},
		{"a valid manifest", func(x *examination) bool { return x.skill == nil }, manifestRules()},
		{"a module and a valid manifest", func(x *examination) bool { return x.info == nil || x.skill == nil }, agreementRules()},
	}
}

// Rules lists all rules in the order in which they run.
func Rules() []Rule {
	var all []Rule
	for _, s := range stages() {
		all = append(all, s.rules...)
	}
	return all
}

// RuleOf finds a rule by its id.
func RuleOf(id string) (Rule, bool) {
	all := Rules()
	at := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id })
	if at < 0 {
		return Rule{}, false
	}
	return all[at], true
}
