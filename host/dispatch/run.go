package dispatch

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/sandbox"
)

// run calls the guest with the grants of its manifest and reads its reply.
func (f *flight) run(ctx context.Context) *abi.Problem {
	skill := f.entry.Release.Skill
	input, err := writeEnvelope(f.invocation())
	if err != nil {
		return abi.NewProblem(abi.HostBug, "the invocation of %s does not marshal", f.call.Tool)
	}
	f.input = input
	f.grant = grant.For(f.Config.Config, grant.Call{
		ID: f.call.ID, Session: f.call.Session, Live: f.call.Live, Capabilities: skill.Capabilities, Effect: f.entry.Tool.Effect,
		Key: f.key, State: f.env.State, Progress: f.progress, Record: f.recorded(),
	})
	f.ran, f.ranIn = nil, f.outcome.Attempts // from here on there are host calls to keep, also where the host fails
	result := f.entry.Release.Module.Call(ctx, sandbox.Request{
		Tenant: f.call.Session.Tenant, Export: abi.ExportInvoke, Input: input, Functions: f.grant.Functions, HTTP: f.grant.HTTP,
		Now: f.env.Now, Clock: skill.Capabilities.Clock, Deadline: max(0, f.call.Timeout),
		Seed: sha256.Sum256([]byte(f.call.ID)), Random: skill.Capabilities.Random,
	})
	f.ran = ranOf(f.entry.Release, input, result)
	f.outcome.Usage.Add(result.Usage)
	f.logs = result.Logs
	if failed := f.grant.Failed(); failed != nil {
		return failed // whatever the guest made of it
	}
	if result.Problem != nil {
		return result.Problem
	}
	return f.readReply(result.Output)
}

func (f *flight) invocation() abi.Invocation {
	return abi.Invocation{
		ABI: abi.Version, Tool: f.entry.Tool.Name, Args: f.args, State: f.env.State, Facts: f.env.Facts,
		Call: abi.CallInfo{
			ID: string(f.call.ID), Key: string(f.key), Attempt: f.outcome.Attempts, Now: f.env.Now,
			Tenant: string(f.call.Session.Tenant), Live: string(f.call.Live), Locale: f.call.Locale,
		},
	}
}

// readReply accepts exactly one envelope: data or a problem that is a skill's
// to give, and nothing else.
func (f *flight) readReply(output []byte) *abi.Problem {
	f.reply = abi.Reply{}
	var twice twiceError
	switch err := readEnvelope(output, &f.reply); {
	case errors.As(err, &twice):
		return abi.NewProblem(abi.BrokenContract, "%s answered with the member %q twice", f.call.Tool, twice.name).
			WithHint("Tell the skill's author: an answer has each member once.")
	case err != nil:
		return abi.NewProblem(abi.BrokenContract, "%s answered with something that is not one envelope", f.call.Tool)
	}
	if f.reply.OK == (f.reply.Problem != nil) {
		return abi.NewProblem(abi.BrokenContract, "%s answered with both or neither of data and a problem", f.call.Tool)
	}
	if f.reply.OK {
		return nil
	}
	if !f.reply.Problem.Code.OfSkill() {
		return abi.NewProblem(abi.BrokenContract, "%s answered with code %d, which is not a skill's to give", f.call.Tool, f.reply.Problem.Code)
	}
	return f.reply.Problem
}
