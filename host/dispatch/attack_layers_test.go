package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// The layers of the gate that an attack may meet, in their order. Those that
// are opinions on the tier have the names that they have on record.
const (
	layerResolve  = "resolve"     // the name is exactly a tool's
	layerCutOff   = "cut off"     // the model's words were whole
	layerSize     = "size"        // of the arguments
	layerParse    = "parse"       // one value, no member twice, bounds of depth and number
	layerSchema   = "schema"      // with the repair's limits: what is not certain is not mended
	layerMeaning  = "meaning"     // the canonical form, from which the key is made
	layerScope    = "scope"       // what the tool is for
	layerFacts    = "facts"       // the business says no when it is asked for one
	layerBreaker  = "breaker"     // the same again, and nothing came of it
	layerHooks    = "hooks"       // before the call
	layerRules    = "manifest"    // its risk and its rules
	layerEffect   = "effect"      // with breadth and targets
	layerMode     = "session"     // its mode
	layerSuspects = "repetition"  // it was done for the same words
	layerRefusal  = "refusal"     // of the like of it, by a person
	layerRedLine  = "red line"    // the operator's
	layerCheck    = "check"       // the skill's own
	layerApproval = "approval"    // one yes, for one call, about exactly that
	layerClaim    = "claim"       // the idempotency key
	layerLease    = "lease"       // of the session, when the call is claimed
	layerRecheck  = "recheck"     // before another attempt
	layerGrants   = "grants"      // capabilities and the way out
	layerSandbox  = "sandbox"     // fuel, memory, time
	layerSkill    = "skill"       // its code refuses
	layerVerify   = "verify"      // the output's schema and the state that it may change
	layerReduce   = "reduce"      // the keys that it makes, and those that it saw
	layerAfter    = "hooks after" // of the result
	layerSettle   = "settle"      // all that was read is as it was, and the lease is
	layerCaller   = "caller"      // has gone
)

// canLeaveOut reports whether a layer can be switched off at all. What cannot
// is the effect's own transaction, the isolation of the guest, and its code.
func canLeaveOut(layer string) bool {
	return !slices.Contains([]string{"", layerCutOff, layerSize, layerGrants, layerSandbox, layerSkill, layerReduce, layerSettle, layerCaller}, layer)
}

// leaveOut switches a layer off.
func (p *play) leaveOut(layer string) {
	switch layer {
	case "":
		return
	case layerApproval:
		p.d.Approver = func(context.Context, Question) bool { return p.under }
	}
	p.d.testOnlySkip = func(f *flight, asked string) bool {
		if !p.under {
			return false
		}
		switch asked {
		case "schema":
			return layer == layerParse || layer == layerSchema
		case "hooks":
			return layer == layerHooks && f.outcome.Attempts == 0 || layer == layerAfter && f.outcome.Attempts > 0
		case "claim":
			return layer == layerClaim || layer == layerLease
		case "breaker", "recheck", "verify":
			return layer == asked
		}
		by, opinion := strings.CutPrefix(asked, "tier of the ")
		return opinion && opinionLayer(by) == layer
	}
}

// manifest gives the patches of the skill's manifest: the case's, and what
// leaves a layer out. Without facts there are no rules and no scope over them.
func (p *play) manifest() []map[string]json.RawMessage {
	patches := []map[string]json.RawMessage{p.a.Manifest}
	switch {
	case p.off == "":
	case p.a.Without != nil:
		patches = append(patches, p.a.Without)
	case p.off == layerScope:
		patches = append(patches, map[string]json.RawMessage{"*": json.RawMessage(`{"scope":null}`)})
	case p.off == layerFacts:
		patches = append(patches, map[string]json.RawMessage{"*": json.RawMessage(`{"facts":null,"rules":null,"scope":null}`)})
	}
	return patches
}

// name gives a tool's name as the model wrote it or, without the layer that
// takes it to the letter, the nearest one that there is.
func (p *play) name(written string) string {
	if p.off != layerResolve || !p.under {
		return written
	}
	var best string
	for _, e := range p.catalog.Entries() {
		if best == "" || abi.EditDistance(e.Tool.Name, strings.ToLower(written)) < abi.EditDistance(best, strings.ToLower(written)) {
			best = e.Tool.Name
		}
	}
	return best
}

// A failed is what is read of the detail of a failure's record.
type failed struct {
	Step     string
	Problem  *abi.Problem
	Verdicts Verdicts
}

// layer tells from the records which layer stopped the last call: the one that
// it ended at or, where it came to a good end, the one that made it start over.
func (p *play) layer() string {
	p.t.Helper()
	layer := ""
	for _, r := range p.records() {
		var f failed
		if json.Unmarshal(r.Detail, &f) == nil && f.Step != "" && f.Problem != nil {
			layer = p.layerOf(f)
		}
	}
	switch {
	case p.off == layerClaim && p.last.OK():
		return layerSettle // it found that the claim is done
	case p.last.Replayed:
		return layerClaim
	}
	return layer
}

func (p *play) records() []host.Record {
	p.t.Helper()
	tenant := p.session.Tenant
	if p.spec.Tenant {
		tenant += "-other"
	}
	records, err := p.store.Records(context.Background(), tenant, state.RecordFilter{Call: p.last.Call, Limit: state.MaxPage})
	p.must(err)
	return records
}

// layerOf names the layer behind a failed step.
func (p *play) layerOf(f failed) string {
	code := f.Problem.Code
	switch {
	case code == abi.Cancelled:
		return layerCaller
	case code == abi.BreakerOpen || code == abi.Circling:
		return layerBreaker
	}
	switch f.Step {
	case "check":
		return checkLayer(f)
	case "hooks":
		if p.last.Attempts > 0 {
			return layerAfter
		}
	case "gate":
		return p.gateLayer(f)
	case "claim":
		if code == abi.Busy {
			return layerLease
		}
	case "run":
		return runLayer(code)
	}
	return f.Step
}

func checkLayer(f failed) string {
	switch f.Problem.Code {
	case abi.CutOff:
		return layerCutOff
	case abi.InputLimit:
		return layerSize
	case abi.OutOfScope:
		return layerScope
	case abi.NotJSON:
		if strings.Contains(f.Problem.Message, "no single meaning") {
			return layerMeaning
		}
		return layerParse
	}
	if f.Problem.Code.Class() == abi.ClassBusiness {
		return layerFacts
	}
	return layerSchema
}

// gateLayer is the one whose opinion was the strictest; where a person has had
// a say already, it is that this was not about this call.
func (p *play) gateLayer(f failed) string {
	switch f.Problem.Code {
	case abi.PendingApproval, abi.RedLine:
		if (p.answers || p.spec.Approval != "") && f.Problem.Code == abi.PendingApproval {
			return layerApproval
		}
		return p.strictest(f.Verdicts.Others)
	case abi.Rejected, abi.Conflict:
		if p.last.Approval != "" {
			return layerApproval
		}
	case abi.NotAllowed:
		if p.spec.Approval != "" {
			return layerApproval
		}
	case abi.QuotaReached:
		return layerEffect
	case abi.InputLimit:
		return layerApproval // nobody could read the question
	case abi.Busy:
		return layerLease
	}
	for _, v := range f.Verdicts.Others {
		if v.By == "check" && v.Code != 0 {
			return layerCheck
		}
	}
	return layerFacts
}

// strictest gives the layer that asked for the tier. Of several, hooks count
// behind what the call itself asks for, though they were asked before.
func (p *play) strictest(verdicts []Verdict) string {
	hooks := ""
	for _, v := range verdicts {
		if v.Code != 0 || v.Tier == "" || v.Tier.Rank() != p.last.Tier.Rank() {
			continue
		}
		switch layer := opinionLayer(v.By); {
		case layer == layerHooks:
			hooks = layer
		case hooks == "" || layer != layerRedLine && layer != layerCheck:
			return layer
		}
	}
	return cmp.Or(hooks, layerRules) // the tool's declared risk
}

// opinionLayer is the layer of an opinion, without the name of the hook or of
// the red line.
func opinionLayer(by string) string {
	switch {
	case strings.HasPrefix(by, "hook "):
		return layerHooks
	case strings.HasPrefix(by, "red line "):
		return layerRedLine
	case strings.HasPrefix(by, "rule "), by == "risk":
		return layerRules
	case by == "breadth", by == "targets":
		return layerEffect
	case by == "mode":
		return layerMode
	}
	return by
}

func runLayer(code abi.Code) string {
	switch code {
	case abi.NotGranted, abi.ClosedAddress:
		return layerGrants
	case abi.OutOfFuel, abi.OutOfMemory, abi.Deadline, abi.Trap, abi.OutputLimit:
		return layerSandbox
	}
	return layerSkill
}
