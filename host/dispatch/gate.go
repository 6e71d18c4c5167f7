package dispatch

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Question is what a call that needs a yes is about.
type Question struct {
	Call    host.Call
	Release string          // name@version
	Args    json.RawMessage // as the gate accepts them
	Says    []string        // why it is asked
}

// gate decides the tier, and what that means for this call.
func (f *flight) gate(ctx context.Context) *abi.Problem {
	if problem := f.fetchFacts(ctx, f.factNames()); problem != nil {
		return problem
	}
	ruling := f.tier(ctx)
	f.outcome.Tier, f.says, f.apart = ruling.tier, ruling.says, ruling.apart
	switch {
	case ctx.Err() != nil:
		return stopped(ctx) // what could not be asked any more has not answered
	case ruling.problem != nil:
		return ruling.problem
	case ruling.tier == abi.Auto || ruling.tier == abi.SoftGate:
		return f.spend(ctx)
	case ruling.tier == abi.HardGate:
		return f.ask(ctx)
	}
	return verdict(abi.RedLine, f.call.Tool+" is blocked.", f.says)
}

// ask puts the call to whoever may say yes at once, else to a person whose
// answer is stored. Nobody waits: without a yes the call is pending.
func (f *flight) ask(ctx context.Context) *abi.Problem {
	if f.Approver != nil && f.Approver(ctx, Question{Call: f.call, Release: f.outcome.Release, Args: f.args, Says: f.says}) {
		f.allow("the approver of the host")
		return f.spend(ctx)
	}
	if f.depth > 0 {
		return verdict(abi.PendingApproval, f.call.Tool+" needs the user's confirmation.", f.says) // what the host wants to know is no question to a person
	}
	return f.approve(ctx)
}

func verdict(code abi.Code, message string, says []string) *abi.Problem {
	return &abi.Problem{Code: code, Message: strings.Join(append([]string{message}, says...), " ")}
}

// tell tells the user of a call of the tier soft-gate that is about to run.
func (f *flight) tell() {
	if f.outcome.Tier != abi.SoftGate || f.call.Notice == nil || f.depth > 0 {
		return
	}
	words := strings.Join(f.says, " ")
	if words == "" {
		words = f.entry.Tool.Summary
	}
	f.call.Notice(words)
}
