package rules

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
)

// graceTime is what a hook has beside its module's deadline, so that it is the
// sandbox that stops a slow module, which knows what that used and logged.
const graceTime = 250 * time.Millisecond

// Load makes hooks out of the policy modules that an operator names, in their
// order. Now tells what the modules are told of the time; nil is the host's
// clock. The first module that cannot be had, is no policy module, or is not
// what the policy says, is the error, and there are no hooks then.
//
// The releases stay in the set until that is closed.
func Load(ctx context.Context, set *release.Set, modules []manifest.PolicyHook, now func() time.Time) ([]host.Hook, error) {
	if now == nil {
		now = time.Now
	}
	hooks := make([]host.Hook, 0, len(modules))
	for _, m := range modules {
		r, err := set.Release(ctx, m.String())
		if err != nil {
			return nil, unusable(m, err)
		}
		if problem := fits(m, r); problem != nil {
			return nil, host.Fail("rules.Load", problem, nil)
		}
		hooks = append(hooks, newHook(judge{release: r, observer: m.Observer, deadline: deadlineOf(m), now: now}, m))
	}
	return hooks, nil
}

// unusable says whose module it is that cannot be had.
func unusable(m manifest.PolicyHook, err error) error {
	problem := *host.ProblemOf(err)
	problem.Message = fmt.Sprintf("the policy module %s cannot be loaded: %s", m, problem.Message)
	if problem.Hint == "" {
		problem.Hint = "publish it, or take it out of the policy"
	}
	return host.Fail("rules.Load", &problem, err)
}

// fits holds a release against what the policy says of it. That it has neither
// tools nor capabilities its manifest was held to.
func fits(m manifest.PolicyHook, r *release.Release) *abi.Problem {
	if !r.Judges() {
		return abi.NewProblem(abi.InvalidManifest, "%s, which the policy names under hooks, is no policy module: its manifest declares no hooks", m)
	}
	if m.SHA256 != "" && m.SHA256 != r.SHA256 {
		return abi.NewProblem(abi.DigestMismatch, "the policy module %s has sha256 %s; the policy says %s", m, r.SHA256, m.SHA256).
			WithHint("do not use it before you know why")
	}
	for _, p := range m.Points {
		if !slices.Contains(r.Skill.Hooks, p) {
			return abi.NewProblem(abi.InvalidManifest, "the policy asks %s at %s, and it judges only at %v", m, p, r.Skill.Hooks).
				WithHint("take the point out of the policy, or name a version that judges there")
		}
	}
	return nil
}

func deadlineOf(m manifest.PolicyHook) time.Duration {
	if m.Deadline == 0 {
		return host.DefaultHookTime
	}
	return m.Deadline
}

// newHook makes the hook, with a function for each point at which it is asked.
func newHook(j judge, m manifest.PolicyHook) host.Hook {
	h := host.Hook{Name: j.release.String(), Observer: m.Observer, Time: j.deadline + graceTime}
	for _, tenant := range m.Tenants {
		h.Tenants = append(h.Tenants, host.TenantID(tenant))
	}
	asked := func(p abi.HookPoint) bool {
		return slices.Contains(j.release.Skill.Hooks, p) && (m.Points == nil || slices.Contains(m.Points, p))
	}
	if asked(abi.PreToolCall) {
		h.PreToolCall = func(ctx context.Context, c host.ToolCall) (host.Opinion, error) {
			return j.ask(ctx, aboutCall(abi.PreToolCall, c)), nil
		}
	}
	if asked(abi.PostToolCall) {
		h.PostToolCall = func(ctx context.Context, c host.ToolCall, reply host.Reply) (host.Opinion, error) {
			o := aboutCall(abi.PostToolCall, c)
			o.Reply = &abi.OccasionReply{Data: reply.Data, Preview: reply.Preview}
			return j.ask(ctx, o), nil
		}
	}
	if asked(abi.PostReasoning) {
		h.PostReasoning = func(ctx context.Context, r host.Reasoning) (host.Opinion, error) {
			return j.ask(ctx, aboutAnswer(r)), nil
		}
	}
	return h
}
