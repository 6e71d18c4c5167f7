package skilltest

import (
	"bytes"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// Ask asks the rules of the policy module about a call or an answer, as the host
// does. What the occasion leaves out is filled in: the version, the clock, the
// input, and a session of the tenant that the options say. It fails the test
// where the host would have to refuse for want of an opinion: the module is not
// asked at that point, a rule panics, or what it gives is no opinion.
func (h *Host) Ask(o abi.Occasion, options ...Option) abi.Opinion {
	h.t.Helper()
	s := h.settings
	s.apply(options)
	o.ABI = abi.Version
	if o.Now.IsZero() {
		o.Now = s.now
	}
	if o.Input == 0 {
		o.Input = 1
	}
	if o.Session == (abi.OccasionSession{}) {
		o.Session = abi.OccasionSession{ID: "session", User: "user", Tenant: s.tenant, Live: s.live, Locale: s.locale}
	}
	log := &grants{t: h.t}
	raw, ok := sdk.HookJSON(h.encode(o), log)
	if !ok {
		h.t.Fatalf("the module has no opinion at %s; it is asked at %v", o.Point, h.manifest.Hooks)
	}
	var opinion abi.Opinion
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&opinion); err != nil {
		h.t.Fatalf("the module gives no opinion: %v: %s", err, raw)
	}
	if wrong := opinion.Check(o.Point); wrong != "" {
		h.t.Fatalf("the module gives no opinion: %s", wrong)
	}
	return opinion
}

// BeforeCall asks about a call of a writing tool before it runs. The arguments
// are written as JSON.
func (h *Host) BeforeCall(tool string, args any, options ...Option) abi.Opinion {
	h.t.Helper()
	return h.Ask(abi.Occasion{Point: abi.PreToolCall, Call: &abi.OccasionCall{
		ID: "call_1", Tool: tool, Skill: "skill.of.the.tool@1.0.0", Effect: abi.Write, Args: h.encode(args),
	}}, options...)
}

// AfterReasoning asks about an answer of the model.
func (h *Host) AfterReasoning(text string, options ...Option) abi.Opinion {
	h.t.Helper()
	return h.Ask(abi.Occasion{Point: abi.PostReasoning, Answer: &abi.OccasionAnswer{Round: 1, Text: text}}, options...)
}
