package dispatch

import (
	"context"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// beforeHooks asks the hooks before the call. What they ask for goes into the
// tier with everybody else's opinion; a refusal ends the call here.
func (f *flight) beforeHooks(ctx context.Context) *abi.Problem {
	var refused *abi.Problem
	for _, r := range f.Hooks.PreToolCall(ctx, f.toolCall()) {
		by := "hook " + r.Hook
		f.hearHook(by, r)
		f.guards = append(f.guards, opinion{by: by, tier: r.Tier, say: r.Say, heard: true})
		if refused == nil {
			refused = r.Problem
		}
	}
	return refused
}

// afterHooks asks the hooks before anything is kept. A result that one of them
// refuses is as if the call had failed.
func (f *flight) afterHooks(ctx context.Context) *abi.Problem {
	var refused *abi.Problem
	for _, r := range f.Hooks.PostToolCall(ctx, f.toolCall(), host.Reply{Data: f.reply.Data, Preview: f.reply.Preview}) {
		f.hearHook("hook "+r.Hook, r)
		if refused == nil {
			refused = r.Problem
		}
	}
	return refused
}

// hearHook puts a hook's verdict on record, and its note beside it.
func (f *flight) hearHook(by string, r host.Ruling) {
	if r.Note != "" {
		f.note("%s: %s", by, r.Note)
	}
	v := Verdict{By: by, Tier: r.Tier, Words: r.Say}
	if r.Problem != nil {
		v.Code, v.Words = r.Problem.Code, r.Problem.Message
	}
	f.hear(v)
}

func (f *flight) toolCall() host.ToolCall {
	return host.ToolCall{
		Call: f.call, Attempt: max(1, f.outcome.Attempts), Skill: f.outcome.Release, Effect: f.entry.Tool.Effect, Tier: f.outcome.Tier,
		Args: f.args, State: f.env.State, Targets: f.targets,
	}
}

// watch tells of a call that ended badly: the hooks, where the user is told,
// and the operator, where it was blocked or such ends become frequent.
func (f *flight) watch(ctx context.Context, o host.Outcome) {
	if o.Problem == nil {
		return
	}
	trouble := host.Trouble{Session: f.call.Session, Call: o.Call, Tool: o.Tool, Problem: o.Problem}
	if abi.RowOf(o.Problem.Code).Recovery == abi.Stop {
		f.Report(ctx, trouble)
	} else {
		f.count(context.WithoutCancel(ctx), trouble)
	}
}

// Report tells the hooks of a problem that the user is told of, and counts it
// for alerts, also for a caller that has gone.
func (d *Dispatcher) Report(ctx context.Context, t host.Trouble) {
	ctx = context.WithoutCancel(ctx)
	d.Complain(t.Session, d.Hooks.Problem(ctx, t))
	d.count(ctx, t)
}

// count tells the operator of a problem, where a call was blocked or such ends
// become frequent.
func (d *Dispatcher) count(ctx context.Context, t host.Trouble) {
	alert := host.Alert{Time: d.Now().UTC(), Session: t.Session, Call: t.Call, Tool: t.Tool, Message: t.Problem.Message}
	if t.Problem.Code == abi.RedLine {
		alert.Tenant, alert.Kind, alert.Count = t.Session.Tenant, host.AlertRedLine, 1
		d.Complain(t.Session, d.Hooks.Alert(ctx, alert))
	}
	kind := alertKind(t.Problem.Code)
	for _, f := range d.Rates.Observe(t.Session.Tenant, kind, alert.Time) {
		alert.Tenant, alert.Kind, alert.Count, alert.Within = f.Tenant, kind, f.Count, f.Within
		d.Complain(t.Session, d.Hooks.Alert(ctx, alert))
	}
}

// Complain logs what hooks failed with that nobody waits for.
func (d *Dispatcher) Complain(session host.SessionRef, errs []error) {
	for _, err := range errs {
		d.Log.Warn("a hook failed", "session", session.String(), "error", err)
	}
}

// alertKind says what a bad end counts as; nothing for what is a matter
// between the model, the user and the business.
func alertKind(c abi.Code) host.AlertKind {
	switch c {
	case abi.BreakerOpen, abi.Circling:
		return host.AlertLoops
	case abi.Deadline:
		return host.AlertTimeouts
	case abi.RedLine, abi.OverBudget, abi.OutOfScope, abi.NotGranted, abi.ClosedAddress:
		return host.AlertRefusals
	case abi.Busy:
		return ""
	}
	switch c.Class() {
	case abi.ClassSystem, abi.ClassBroken:
		return host.AlertFailures
	}
	return ""
}
