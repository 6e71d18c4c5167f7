package dispatch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

// checkTime bounds a skill's own check of a call, in the sandbox: it only
// looks at what it is given.
const checkTime = time.Second

// checked is the skill's own: what its sluice_check, if it has one, says of a
// write before it runs. The guest gets the invocation and no host functions. A
// check that fails, is slow, or answers with something that is no verdict has
// not found the call harmless, so a person must. What it costs is on record with
// the verdict, and in the call's usage.
func (f *flight) checked(ctx context.Context) opinion {
	module := f.entry.Release.Module
	if f.entry.Tool.Effect != abi.Write || !module.Has(abi.ExportCheck) {
		return opinion{}
	}
	in := f.invocation()
	in.Call.Attempt = max(1, in.Call.Attempt)
	input, err := writeEnvelope(in)
	if err != nil {
		return undecided("the invocation does not marshal")
	}
	result := module.Call(ctx, sandbox.Request{
		Tenant: f.call.Session.Tenant, Export: abi.ExportCheck, Input: input,
		Now: f.env.Now, Deadline: checkTime, Seed: sha256.Sum256([]byte(f.call.ID)),
	})
	f.outcome.Usage.Add(result.Usage)
	o := f.checkedBy(result)
	o.fuel, o.memory = result.Usage.Fuel, result.Usage.PeakMemory
	return o
}

// checkedBy is the opinion of a check that has been asked.
func (f *flight) checkedBy(result sandbox.Result) opinion {
	switch {
	case result.Problem == nil:
		return readVerdict(result.Output)
	case result.Problem.Code == abi.SystemFailure:
		return opinion{by: "check", problem: result.Problem} // the guest was not even asked
	}
	f.logs = result.Logs
	return undecided(result.Problem.Error())
}

// undecided is the opinion of a check that has none.
func undecided(why string) opinion {
	return opinion{by: "check", tier: abi.HardGate, say: "The skill could not check this (" + cut(why, noteText) + ").", apart: true}
}

// readVerdict accepts one verdict: tiers that there are, and problems that are
// a skill's to give.
func readVerdict(output []byte) opinion {
	var v abi.Verdict
	if !isVerdict(output) || json.Unmarshal(output, &v) != nil {
		return undecided("its answer is no verdict")
	}
	if v.Problem != nil {
		if !v.Problem.Code.OfSkill() {
			return undecided("it refused with a code that is not a skill's to give")
		}
		return opinion{by: "check", problem: v.Problem}
	}
	switch v.Tier {
	case "", abi.Auto, abi.SoftGate, abi.HardGate, abi.Block:
		return opinion{by: "check", tier: v.Tier, say: v.Reason}
	}
	return undecided("it asked for a tier that there is not")
}

// isVerdict reports whether an answer has what a verdict has, to the letter and
// each once. A misspelt objection is none, and no consent either; and the last
// word of two would be that of whoever can get text into a skill's answer.
func isVerdict(output []byte) bool {
	if _, err := host.Canonical(output); err != nil {
		return false
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(output, &parts) != nil || parts == nil {
		return false
	}
	for name := range parts {
		if name != "tier" && name != "reason" && name != "problem" {
			return false
		}
	}
	return true
}
