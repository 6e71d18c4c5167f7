package dispatch

import (
	"context"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// beforeHooks asks the hooks before the call. None can be registered yet.
func (f *flight) beforeHooks(context.Context) *abi.Problem { return nil }

// gate decides the tier, the strictest of what the manifest says and what its
// rules raise it to, and what that means for this call.
func (f *flight) gate(ctx context.Context) *abi.Problem {
	if problem := f.fetchFacts(ctx, f.factNames()); problem != nil {
		return problem
	}
	tier, says := f.entry.Tool.TierOf(f.env)
	f.outcome.Tier = tier
	switch tier {
	case abi.Auto, abi.SoftGate:
		return nil
	case abi.HardGate:
		return verdict(abi.PendingApproval, f.call.Tool+" needs the user's confirmation before it runs.", says)
	}
	return verdict(abi.RedLine, f.call.Tool+" is blocked.", says)
}

func verdict(code abi.Code, message string, says []string) *abi.Problem {
	return &abi.Problem{Code: code, Message: strings.Join(append([]string{message}, says...), " ")}
}
