package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// An opinion is what one of those that are asked thinks of a call; the zero
// value is of one that has no say in it.
type opinion struct {
	by      string       // whose it is, on record
	tier    abi.Tier     // empty leaves the tier alone
	say     string       // why, for the user
	problem *abi.Problem // refuses the call, whatever the tier
	apart   bool         // asks for what no standing grant was given for

	heard  bool      // it is on record already
	source string    // by, to the point, where the record can tell more
	parts  []Verdict // what it is made of, where the record tells that
	fuel   int64     // of a guest that was asked
	memory abi.Size  // of that, at its peak
}

// A ruling is what comes of the opinions.
type ruling struct {
	tier    abi.Tier
	says    []string
	problem *abi.Problem // refuses the call
	apart   bool         // it is asked for what no standing grant was given for
}

// tier asks everybody who has a say. The skill's own check comes last and only
// for a call that is not refused already: it runs a guest.
func (f *flight) tier(ctx context.Context) ruling {
	opinions := []opinion{f.declared(), f.implied(), f.moded(), f.suspected(), f.refused(ctx)}
	opinions = append(opinions, f.guards...)
	opinions = append(opinions, f.redLines(ctx)...)
	opinions = slices.DeleteFunc(opinions, func(o opinion) bool { return o.by == "" || f.testOnlySkip != nil && f.skips("tier of the "+o.by) })
	if r := strictest(opinions); r.problem == nil && r.tier != abi.Block && !f.skips("tier of the check") {
		if o := f.checked(ctx); o.by != "" {
			opinions, f.checkSay = append(opinions, o), o.say
		}
	}
	for _, o := range opinions {
		if !o.heard {
			f.hearOpinion(o)
		}
	}
	return strictest(opinions)
}

// strictest gives the strictest of all tiers, everything that is said, and the
// first refusal. No opinion loosens what another one asks for, in any order.
func strictest(opinions []opinion) ruling {
	r := ruling{tier: abi.Auto}
	for _, o := range opinions {
		if o.tier != "" {
			r.tier = r.tier.Stricter(o.tier)
		}
		r.apart = r.apart || o.apart
		if o.say != "" {
			r.says = append(r.says, cut(o.say, sayText))
		}
		if r.problem == nil {
			r.problem = o.problem
		}
	}
	if r.tier.Rank() == abi.Block.Rank() {
		r.tier = abi.Block // whatever unknown word stood for it
	}
	return r
}

// sayText bounds what one opinion says to the user, in bytes: a few sentences.
const sayText = 1000

// declared is the manifest's: the tool's risk, and its rules that hold or
// cannot be decided.
func (f *flight) declared() opinion {
	o := opinion{by: "manifest", source: "risk", tier: f.entry.Tool.Risk}
	rules := f.entry.Tool.RulesOf(f.env)
	if len(rules) == 0 {
		return o
	}
	var says []string
	o.parts = append(make([]Verdict, 0, 1+len(rules)), o.verdict())
	for _, r := range rules {
		o.parts = append(o.parts, Verdict{By: "rule " + strconv.Itoa(r.Place), Tier: r.Tier, Words: r.Say})
		if !r.Applies {
			continue
		}
		o.tier = o.tier.Stricter(r.Tier)
		if r.Say != "" {
			says = append(says, r.Say)
		}
	}
	o.say = strings.Join(says, " ")
	return o
}

// implied is what the call's effect asks for by itself. Who changes one thing
// tells the user; who changes many, or says not which, asks first.
func (f *flight) implied() opinion {
	tool := f.entry.Tool
	if tool.Effect == abi.Read {
		return opinion{by: "effect", tier: abi.Auto}
	}
	targets, err := tool.TargetsOf(f.env)
	f.targets = targets
	switch {
	case len(targets) > state.MaxDoneTargets:
		return opinion{by: "effect", source: "targets", problem: abi.NewProblem(abi.QuotaReached, "%s would change %d things at once; at most %d are changed by one call", f.call.Tool, len(targets), state.MaxDoneTargets).
			WithHint("do it in several calls")}
	case tool.Breadth != abi.One:
		return opinion{by: "effect", source: "breadth", tier: abi.HardGate, say: fmt.Sprintf("It may change many things at once (%s).", tool.Breadth)}
	case err != nil || len(targets) == 0:
		return opinion{by: "effect", source: "targets", tier: abi.HardGate, say: "It is not known what it changes.", apart: err != nil}
	case len(targets) > 1:
		return opinion{by: "effect", source: "targets", tier: abi.HardGate, say: fmt.Sprintf("It changes %d things at once.", len(targets))}
	}
	return opinion{by: "effect", tier: abi.SoftGate}
}

// moded is the session's: how much its user lets the assistant do. Reads are
// exempt. A mode that is not known counts as the strictest.
func (f *flight) moded() opinion {
	if f.entry.Tool.Effect == abi.Read {
		return opinion{}
	}
	switch f.call.Mode {
	case "", host.ModeAuto:
		return opinion{by: "session", source: "mode"}
	case host.ModeSuggest:
		return opinion{by: "session", source: "mode", tier: abi.HardGate, say: "In this session every change is asked for.", apart: true}
	}
	return opinion{by: "session", source: "mode", tier: abi.Block, say: "In this session nothing may be changed."}
}

// gaveText bounds how much of an earlier result a question shows, in bytes.
const gaveText = 400

// suspected is that of a write which has succeeded before, to the letter, for
// the same words of the user: the model may have lost track of what it did, so
// the user is asked, with what the earlier one gave.
func (f *flight) suspected() opinion {
	switch {
	case f.entry.Tool.Effect != abi.Write:
		return opinion{}
	case f.call.Ordinal == 0:
		return opinion{by: "repetition"}
	}
	say := "The very same was done for this request already."
	if gave := f.gaveBefore(); gave != "" {
		say += " It gave: " + gave
	}
	return opinion{by: "repetition", tier: abi.HardGate, say: say}
}

// gaveBefore gives the result of the last call that did the very same, where
// the history has it.
func (f *flight) gaveBefore() string {
	if len(f.targets) == 0 || f.env.Last == nil {
		return ""
	}
	last, err := f.env.Last(f.entry.Tool.Name, f.targets[0])
	if err != nil || last == nil {
		return ""
	}
	args, err := host.Canonical(last.Args)
	if err != nil || f.entry.Tool.Name+"\n"+string(args) != f.meaning {
		return ""
	}
	return cut(string(last.Data), gaveText)
}
