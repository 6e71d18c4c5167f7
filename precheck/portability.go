package precheck

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/precheck/portable"
)

// portableRules run the module in another host.
func portableRules() []Rule {
	return []Rule{{
		ID: "portable", Severity: Warning, Title: "The module gives the same in the reference host of Extism's plug-ins",
		Reason: "What rests on one host's clock, memory or start is a fault that only shows elsewhere, or after that host's next release.",
		Mend:   "Take the time from the call, keep maps in an order, and use nothing that was not written.",
		check:  (*examination).isPortable,
	}}
}

func (x *examination) isPortable(ctx context.Context) {
	skip := func(format string, args ...any) {
		x.say(Message{Kind: Skipped, Rule: x.rule.ID, Text: fmt.Sprintf(format, args...)})
	}
	if c := x.skill.Capabilities; c.Clock || c.Random {
		skip("the skill has the clock or random numbers of its own")
		return
	}
	if x.asksByExtism() {
		skip("the module asks other hosts by Extism's http_request, which cannot be answered for the reference host")
		return
	}
	peer, err := portable.New(ctx, x.Module, x.skill.Limits, x.PeerCache)
	if err != nil {
		x.findf("the reference host does not take the module: %v", err)
		return
	}
	defer peer.Close(ctx)
	same, missed := 0, 0
	x.eachTool(func(at string, t *manifest.Tool) {
		for i, e := range t.Examples {
			if ctx.Err() != nil {
				return
			}
			here, there, err := x.inBoth(ctx, peer, t, e)
			switch {
			case err != nil:
				missed++
			case here != there:
				x.inTool(t.Name, fmt.Sprintf("%s.examples[%d]", at, i), "%q gives %s, and %s under the reference host", e.Say, short([]byte(here)), short([]byte(there)))
			default:
				same++
			}
		}
	})
	x.figure("portable", "%d calls give the same under the reference host", same)
	if missed > 0 {
		skip("%d calls break here already where they are made past the gate", missed)
	}
}

// asksByExtism reports whether the module imports Extism's own way to other hosts, and
// may use it.
func (x *examination) asksByExtism() bool {
	for _, im := range x.info.Imports {
		if im.Module == "extism:host/env" && im.Name == "http_request" && len(x.skill.Capabilities.HTTP) > 0 {
			return true
		}
	}
	return false
}

// inBoth makes one example's call here and under the reference host, and says what each
// came to: the answer and what was done, or that the guest broke there. One that breaks
// here is an error: it shows nothing.
func (x *examination) inBoth(ctx context.Context, peer *portable.Peer, t *manifest.Tool, e abi.Example) (here, there string, err error) {
	first, err := x.trial.stand(ctx, x.skill, t, e)
	if err != nil {
		return "", "", err
	}
	request, err := first.request(1, trialNow)
	if err != nil {
		return "", "", err
	}
	result := x.limited.Call(ctx, request)
	if result.Problem != nil {
		return "", "", result.Problem
	}
	second := x.trial.standIn(first.session, x.skill, t, e)
	output, err := peer.Call(ctx, portable.Request{Export: request.Export, Input: request.Input, Functions: second.functions(), Now: trialNow})
	there = cameTo(output, second.taken())
	if err != nil {
		there = "nothing: " + err.Error()
	}
	return cameTo(result.Output, first.taken()), there, nil
}

// cameTo tells the end of a call in words that are equal for equal ends.
func cameTo(output []byte, deeds []deed) string {
	text := string(output)
	if canonical, err := host.Canonical(output); err == nil {
		text = string(canonical)
	}
	for _, d := range deeds {
		text += fmt.Sprintf("; %s: %s", d.what, d.how)
	}
	return text
}
