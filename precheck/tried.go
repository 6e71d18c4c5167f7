package precheck

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// triedRules run the skill's tools.
func triedRules() []Rule {
	return []Rule{{
		ID: "examples", Severity: Failure, Title: "Every example does what it says",
		Reason: "Examples are what a model learns a tool from, and the only tests that a reviewer sees.",
		Mend:   "Mend the tool, or say in the example what it gives: kv and state before, returns or problem after.",
		check:  (*examination).doesWhatItsExamplesSay,
	}, {
		ID: "repeatable", Severity: Failure, Title: "The same call gives the same bytes and takes the same fuel",
		Reason: "A call that cannot be replayed cannot be proved.",
		Mend:   "Take the time from the call and randomness from the host; walk through maps in an order.",
		check:  (*examination).repeatsItself,
	}, {
		ID: "room", Severity: Warning, Title: "The examples leave room below the limits",
		Reason: "Data in use is larger than in examples: a limit that an example nearly reaches is reached in public.",
		Mend:   "Raise the limit to what is suggested, or do less at a time.",
		check:  (*examination).leavesRoom,
	}}
}

// A run is what became of one example.
type run struct {
	tool    *manifest.Tool
	at      string // of the example
	example abi.Example
	outcome host.Outcome
}

// tryExamples runs every example once, for all rules that look at them.
func (x *examination) tryExamples(ctx context.Context) []run {
	if x.runs != nil || x.trial == nil {
		return x.runs
	}
	x.runs = []run{}
	x.eachTool(func(at string, t *manifest.Tool) {
		for i, e := range t.Examples {
			outcome, err := x.trial.call(ctx, x.skill, t.Name, e.Args, e)
			if err != nil {
				message, mend := because(err)
				x.find(Finding{File: x.ManifestFile, Tool: t.Name, Field: fmt.Sprintf("%s.examples[%d]", at, i), Message: "the example cannot be set up: " + message, Mend: mend})
				continue
			}
			x.runs = append(x.runs, run{t, fmt.Sprintf("%s.examples[%d]", at, i), e, outcome})
		}
	})
	return x.runs
}

func (x *examination) doesWhatItsExamplesSay(ctx context.Context) {
	for _, r := range x.tryExamples(ctx) {
		if ctx.Err() != nil {
			return
		}
		if x.needsOthers(r) {
			x.say(Message{Kind: Skipped, Rule: x.rule.ID, Text: fmt.Sprintf("%s of %s asks another host, and there is none here", r.at, r.tool.Name)})
			continue
		}
		if fault := judge(r); fault != "" {
			x.find(Finding{File: x.ManifestFile, Tool: r.tool.Name, Field: r.at, Message: fmt.Sprintf("%q: %s", r.example.Say, fault)})
		}
	}
}

// needsOthers reports whether the example failed because it needs another host.
func (x *examination) needsOthers(r run) bool {
	return len(x.skill.Capabilities.HTTP) > 0 && !r.outcome.OK() && r.outcome.Problem.Code.Class() == abi.ClassSystem && r.example.Problem != r.outcome.Problem.Code
}

// judge says how an outcome differs from what its example says, or nothing.
func judge(r run) string {
	o, e := r.outcome, r.example
	switch {
	case e.Problem != 0 && o.OK():
		return fmt.Sprintf("it succeeds with %s; the example says problem %d", short(o.Data), e.Problem)
	case e.Problem != 0 && o.Problem.Code != e.Problem:
		return fmt.Sprintf("it ends in %d (%s); the example says problem %d", o.Problem.Code, o.Problem.Message, e.Problem)
	case e.Problem == 0 && !o.OK():
		return fmt.Sprintf("it ends in %d (%s); the example says that it succeeds", o.Problem.Code, o.Problem.Message)
	case e.Problem == 0 && len(e.Returns) > 0 && !sameJSON(o.Data, e.Returns):
		return fmt.Sprintf("it gives %s; the example says %s", short(o.Data), short(e.Returns))
	}
	return ""
}

// short cuts data for one line of a report.
func short(data []byte) string {
	const most = 200
	text := strings.ToValidUTF8(string(data), "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func (x *examination) repeatsItself(ctx context.Context) {
	if c := x.skill.Capabilities; c.Clock || c.Random {
		x.say(Message{Kind: Skipped, Rule: x.rule.ID, Text: "the skill has the clock or random numbers of its own"})
		return
	}
	runs := x.tryExamples(ctx)
	second, err := openTrial(ctx, x) // its tenants and sessions are called what they are in the first
	if err != nil {
		message, mend := because(err)
		x.find(Finding{Message: "a second host does not take the release: " + message, Mend: mend})
		return
	}
	defer second.close(ctx)
	for _, r := range runs {
		again, err := second.call(ctx, x.skill, r.tool.Name, r.example.Args, r.example)
		if err != nil || ctx.Err() != nil {
			return // the rule examples has said so
		}
		field := Finding{File: x.ManifestFile, Tool: r.tool.Name, Field: r.at}
		switch first := r.outcome; {
		case !bytes.Equal(first.Data, again.Data) || codeOf(first) != codeOf(again):
			field.Message = fmt.Sprintf("%q gives %s, and %s when it is called again in the same way", r.example.Say, short(first.Data), short(again.Data))
			x.find(field)
		case first.Usage.Fuel != again.Usage.Fuel:
			field.Message = fmt.Sprintf("%q takes %d units of fuel, and %d when it is called again in the same way", r.example.Say, first.Usage.Fuel, again.Usage.Fuel)
			x.find(field)
		}
	}
}

func codeOf(o host.Outcome) abi.Code {
	if o.Problem == nil {
		return 0
	}
	return o.Problem.Code
}

// fullShare is the share of a limit, in percent, from which an example leaves
// too little room, and roomTimes how often the largest fits into what is
// suggested.
const (
	fullShare = 50
	roomTimes = 4
)

func (x *examination) leavesRoom(ctx context.Context) {
	limits := x.skill.Limits
	defaults := abi.DefaultLimits()
	if limits.Fuel == 0 {
		limits.Fuel = defaults.Fuel
	}
	if limits.Memory == 0 {
		limits.Memory = defaults.Memory
	}
	var fuel, memory []int64
	for _, r := range x.tryExamples(ctx) {
		if r.outcome.Attempts > 0 {
			fuel, memory = append(fuel, r.outcome.Usage.Fuel), append(memory, int64(r.outcome.Usage.PeakMemory))
		}
	}
	if len(fuel) == 0 {
		return
	}
	slices.Sort(fuel)
	slices.Sort(memory)
	most, largest := fuel[len(fuel)-1], memory[len(memory)-1]
	x.figure("fuel", "p50 %d, most %d, %d %% of limits.fuel; %d would leave room for data %d times as large", fuel[len(fuel)/2], most, 100*most/limits.Fuel, rounded(most*roomTimes), roomTimes)
	x.figure("memory", "p50 %v, most %v, %d %% of limits.memory", abi.Size(memory[len(memory)/2]), abi.Size(largest), 100*largest/int64(limits.Memory))
	if share := 100 * most / limits.Fuel; share >= fullShare {
		x.find(Finding{File: x.ManifestFile, Field: "limits.fuel", Message: fmt.Sprintf("an example takes %d %% of limits.fuel", share),
			Mend: fmt.Sprintf("raise it to %d, or do less at a time", rounded(most*roomTimes))})
	}
	if share := 100 * largest / int64(limits.Memory); share >= fullShare {
		x.find(Finding{File: x.ManifestFile, Field: "limits.memory", Message: fmt.Sprintf("an example takes %d %% of limits.memory", share)})
	}
}

// rounded gives a number of one digit and zeros that is not smaller.
func rounded(n int64) int64 {
	unit := int64(1)
	for n >= 10*unit {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}
