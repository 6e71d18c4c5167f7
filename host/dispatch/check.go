package dispatch

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// resolve finds the release and the tool that the name means for the session.
func (f *flight) resolve(context.Context) *abi.Problem {
	entry, problem := f.catalog.Resolve(f.call.Tool)
	if problem != nil {
		return problem
	}
	f.entry = entry
	f.outcome.Release = entry.Release.String()
	return nil
}

// check accepts arguments that are whole, small enough, valid by the schema,
// after one deterministic repair at most, and within the tool's scope.
func (f *flight) check(ctx context.Context) *abi.Problem {
	if f.call.CutOff {
		return abi.NewProblem(abi.CutOff, "the arguments of %s were cut off after %d bytes; nothing was executed", f.call.Tool, len(f.call.Args))
	}
	if limit := f.entry.Release.Module.Limits().Input; abi.Size(len(f.call.Args)) > limit {
		return abi.NewProblem(abi.InputLimit, "the arguments of %s have %d bytes; at most %s are taken", f.call.Tool, len(f.call.Args), limit)
	}
	if problem := f.checkArgs(); problem != nil {
		return problem
	}
	if problem := f.loadEnv(ctx); problem != nil {
		return problem
	}
	in, err := f.entry.Tool.InScope(f.env)
	if err != nil || !in {
		return abi.NewProblem(abi.OutOfScope, "%s is not for this: it takes only calls where %s", f.call.Tool, f.entry.Tool.Scope)
	}
	return nil
}

func (f *flight) checkArgs() *abi.Problem {
	text := strings.TrimSpace(f.call.Args)
	if text == "" {
		text = "{}" // how several models call a tool without arguments; the schema decides
	}
	f.args = json.RawMessage(text)
	problems := f.entry.Tool.CheckArgs(f.args)
	if problems == nil {
		return nil
	}
	mended, repairs := repair(f.entry.Tool.Input, f.args)
	if len(repairs) == 0 || f.entry.Tool.CheckArgs(mended) != nil {
		return problems.One() // about what the model sent, not about our attempt to mend it
	}
	f.args, f.outcome.Repairs = mended, repairs
	return nil
}

// loadEnv gathers what expressions and the guest may see.
func (f *flight) loadEnv(ctx context.Context) *abi.Problem {
	f.env = manifest.Env{
		Args:    f.args,
		Session: map[string]any{"id": string(f.call.Session.Session), "locale": f.call.Locale},
		User:    map[string]any{"id": string(f.call.Session.User)},
		Live:    map[string]any{"id": string(f.call.Live)},
		Tenant:  map[string]any{"id": string(f.call.Session.Tenant)},
		Now:     f.Now().UTC(),
		State:   map[string]json.RawMessage{},
		Facts:   map[string]json.RawMessage{},
	}
	f.versions = map[string]int64{}
	access := f.entry.Release.Skill.Capabilities.State
	if access == nil {
		return nil
	}
	return f.loadState(ctx, access.Reads)
}

// maxStateKeys bounds how many keys one pattern such as live.* may bring.
const maxStateKeys = 256

func (f *flight) loadState(ctx context.Context, patterns []string) *abi.Problem {
	for _, p := range patterns {
		prefix, whole := strings.CutSuffix(p, "*")
		if !whole {
			values, err := f.Store.LoadState(ctx, f.call.Session, p)
			if err != nil {
				return host.ProblemOf(err)
			}
			for key, v := range values {
				f.env.State[key], f.versions[key] = v.Data, v.Version
			}
			continue
		}
		values, err := f.Store.ListState(ctx, f.call.Session, prefix, "", maxStateKeys)
		if err != nil {
			return host.ProblemOf(err)
		}
		for _, v := range values {
			f.env.State[v.Key], f.versions[v.Key] = v.Data, v.Version
		}
	}
	return nil
}
