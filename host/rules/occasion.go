package rules

import (
	"cmp"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// aboutCall is what a module learns of a tool call.
func aboutCall(at abi.HookPoint, c host.ToolCall) abi.Occasion {
	o := abi.Occasion{Point: at, Session: sessionOf(c.Call.Session, c.Call.Live), Input: c.Call.Input}
	o.Session.Locale = c.Call.Locale
	o.Call = &abi.OccasionCall{
		ID: string(c.Call.ID), Tool: c.Call.Tool, Skill: c.Skill, Effect: c.Effect, Tier: c.Tier,
		Args: c.Args, State: c.State, Targets: c.Targets,
	}
	return o
}

// aboutAnswer is what a module learns of an answer of the model.
func aboutAnswer(r host.Reasoning) abi.Occasion {
	o := abi.Occasion{Point: abi.PostReasoning, Session: sessionOf(r.Session, r.Live), Input: r.Input}
	o.Answer = &abi.OccasionAnswer{Round: r.Round, Text: r.Text, Calls: r.Calls}
	for _, end := range r.Outcomes {
		short := abi.OccasionOutcome{Tool: end.Tool, Status: string(end.Status), Preview: cut(cmp.Or(end.Preview, string(end.Data)), abi.OutcomePreviewBytes)}
		if end.Problem != nil {
			short.Problem = end.Problem.Code
		}
		o.Answer.Outcomes = append(o.Answer.Outcomes, short)
	}
	return o
}

func sessionOf(s host.SessionRef, live host.LiveID) abi.OccasionSession {
	return abi.OccasionSession{ID: string(s.Session), User: string(s.User), Tenant: string(s.Tenant), Live: string(live)}
}

// cut gives the first bytes of a text.
func cut(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
