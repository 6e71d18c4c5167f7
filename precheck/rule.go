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
	needs   string // in the words of a report; empty where nothing is said of rules that do not run
	missing func(*examination) bool
	open    func(context.Context, *examination) // makes what they need; nil if that is there
	rules   []Rule
}

// stages lists all rules in the order in which they run.
func stages() []stage {
	return []stage{
		{needs: "a file", missing: func(x *examination) bool { return false }, rules: bytesRules()},
		{needs: "a WebAssembly module", missing: func(x *examination) bool { return x.info == nil }, rules: binaryRules()},
		{needs: "a module that a host loads", missing: func(x *examination) bool { return x.module == nil }, rules: describedRules()},
		{needs: "a valid manifest", missing: func(x *examination) bool { return x.skill == nil }, rules: manifestRules()},
		{needs: "a module and a valid manifest", missing: func(x *examination) bool { return x.info == nil || x.skill == nil }, rules: agreementRules()},
		{needs: "a release with tools that a host takes", missing: func(x *examination) bool { return x.trial == nil }, open: tryOut, rules: slices.Concat(triedRules(), onceRules(), portableRules(), robustRules())},
		{missing: func(x *examination) bool { return x.Rebuild == nil || x.info == nil }, rules: rebuildRules()},
		{missing: func(x *examination) bool { return x.previous == nil }, open: fetchLast, rules: comparedRules()},
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

// fetchLast gets the release to compare with. That there is none is no finding;
// that it cannot be had is one.
func fetchLast(ctx context.Context, x *examination) {
	if x.Last == nil || x.skill == nil {
		return
	}
	x.rule = comparedRules()[0]
	last, err := x.Last(ctx, x.skill.Name)
	switch {
	case err != nil:
		message, mend := because(err)
		x.find(Finding{Message: "the last release cannot be had: " + message, Mend: mend})
	case last == nil:
		x.figure("against", "nothing: this is the first release of %s", x.skill.Name)
	default:
		x.figure("against", "%s@%s", last.Skill.Name, last.Skill.Version)
		x.previous = last
	}
}

// tryOut opens the trial of a skill that failed no rule so far. Whatever keeps a host from taking the release is a
// finding of the first rule that needs it.
func tryOut(ctx context.Context, x *examination) {
	x.rule = triedRules()[0]
	if x.verdict.Failures > 0 || x.skill == nil || len(x.skill.Hooks) > 0 { // a policy module has none
		return
	}
	t, err := openTrial(ctx, x)
	if err == nil {
		x.limited, err = x.Sandbox.Load(ctx, x.Module, x.skill.Limits)
	}
	if err != nil {
		message, mend := because(err)
		x.find(Finding{Message: "a host does not take the release: " + message, Mend: mend})
		return
	}
	x.trial = t
}
