package dispatch

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// maxAsked bounds the questions that a write is held against: each is a query,
// and a model that has put more for one request of a user is asked about.
const maxAsked = 32

// refused is that of a person who has said no, for the same words of the user,
// to another write of the tool to the same thing: a no to 69 is none to 69.30,
// but nor is it a yes. No standing grant answers for them. Where nothing was
// asked, which is the usual case, nothing is read.
func (f *flight) refused(ctx context.Context) opinion {
	if f.depth > 0 || f.entry.Tool.Effect != abi.Write || len(f.call.Asked) == 0 {
		return opinion{} // nobody was asked
	}
	if len(f.call.Asked) > maxAsked {
		return opinion{by: "refusal", tier: abi.HardGate, say: "Much was asked for this request already.", apart: true}
	}
	for _, id := range f.call.Asked {
		a, found, err := f.Store.Approval(ctx, f.call.Session.Tenant, id)
		if err != nil {
			return opinion{by: "refusal", problem: host.ProblemOf(err)}
		}
		if found && a.Session == f.call.Session && f.like(a) {
			return opinion{by: "refusal", tier: abi.HardGate, say: "Something like it was refused for this request.", apart: true}
		}
	}
	return opinion{by: "refusal"}
}

// like reports whether a question got a no and was about the call's tool and
// what it touches. What is not known is taken to be the same.
func (f *flight) like(a state.Approval) bool {
	if a.Status != state.ApprovalRejected && a.Status != state.ApprovalConflicted {
		return false
	}
	asked, err := ReadAsked(a)
	if err != nil {
		return true
	}
	if asked.Skill != f.entry.Release.Skill.Name || asked.Tool != f.entry.Tool.Name {
		return false
	}
	return len(asked.Targets) == 0 || len(f.targets) == 0 ||
		slices.ContainsFunc(f.targets, func(target string) bool { return slices.Contains(asked.Targets, target) })
}
