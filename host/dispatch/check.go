package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// resolve finds the release and the tool that the name means for the session.
// The read of a fact comes with both.
func (f *flight) resolve(context.Context) *abi.Problem {
	if f.entry.Tool == nil {
		entry, problem := f.catalog.Resolve(f.call.Tool)
		if problem != nil {
			return problem
		}
		f.entry = entry
	}
	f.outcome.Release = f.entry.Release.String()
	return nil
}

// check accepts arguments that are whole, small enough, valid by the schema,
// after one deterministic repair at most, and within the tool's scope.
func (f *flight) check(ctx context.Context) *abi.Problem {
	if problem := f.accept(); problem != nil {
		return problem
	}
	if problem := f.identify(); problem != nil {
		return problem
	}
	return f.admit(ctx)
}

func (f *flight) accept() *abi.Problem {
	if f.call.CutOff {
		return abi.NewProblem(abi.CutOff, "the arguments of %s were cut off after %d bytes; nothing was executed", f.call.Tool, len(f.call.Args))
	}
	if limit := f.entry.Release.Module.Limits().Input; abi.Size(len(f.call.Args)) > limit {
		return abi.NewProblem(abi.InputLimit, "the arguments of %s have %d bytes; at most %s are taken", f.call.Tool, len(f.call.Args), limit)
	}
	text := strings.TrimSpace(f.call.Args)
	if text == "" {
		text = "{}" // how several models call a tool without arguments; the schema decides
	}
	f.args = json.RawMessage(text)
	problems := f.entry.Tool.CheckArgs(f.args)
	if problems == nil || f.skips("schema") {
		return nil
	}
	if f.depth > 0 {
		return problems.One() // the host's own words: a fact about what is nearly meant is about something else
	}
	mended, repairs := repair(f.entry.Tool.Input, f.args, f.entry.Tool.Effect)
	if len(repairs) == 0 || f.entry.Tool.CheckArgs(mended) != nil {
		return problems.One() // about what the model sent, not about our attempt to mend it
	}
	f.args, f.outcome.Repairs = mended, repairs
	return nil
}

// admit holds the call against the tool's scope, with the state and the facts
// as they are now.
func (f *flight) admit(ctx context.Context) *abi.Problem {
	if problem := f.loadEnv(ctx); problem != nil {
		return problem
	}
	if problem := f.fetchFacts(ctx, f.entry.Tool.ScopeFacts()); problem != nil {
		return problem
	}
	in, err := f.entry.Tool.InScope(f.env)
	if err != nil || !in {
		problem := abi.NewProblem(abi.OutOfScope, "%s is not for this: it takes only calls where %s", f.call.Tool, f.entry.Tool.Scope)
		f.hear(Verdict{By: "scope", Code: problem.Code, Words: problem.Message})
		return problem
	}
	if f.entry.Tool.Scope != "" {
		f.allow("scope")
	}
	return nil
}

// recheck holds a call that is tried once more against what is true now: the
// state that it saw, what a hook saw of it, or what its tier came from, may be
// what has changed.
func (f *flight) recheck(ctx context.Context) *abi.Problem {
	if f.outcome.Attempts == 1 {
		return nil
	}
	if problem := f.admit(ctx); problem != nil {
		return problem
	}
	f.guards = nil
	if problem := f.beforeHooks(ctx); problem != nil {
		return problem
	}
	return f.gate(ctx)
}

// Meaning gives a text that is equal for two calls if they mean the same: the
// tool, and the arguments as the gate accepts them, repaired and in canonical
// form. It is empty for a call that the gate does not accept.
func (d *Dispatcher) Meaning(catalog *release.Catalog, tool, args string) string {
	f := newFlight(d, catalog, host.Call{Tool: tool, Args: args})
	if f.resolve(context.Background()) != nil || f.accept() != nil || f.identify() != nil {
		return ""
	}
	return f.meaning
}

// identify says what the call means, and gives a write its key.
func (f *flight) identify() *abi.Problem {
	args, err := host.Canonical(f.args)
	if err == nil && f.entry.Tool.Effect == abi.Write {
		intent := host.Intent{Session: f.call.Session, Input: cmp.Or(f.call.Serves, f.call.Input), Ordinal: f.call.Ordinal, Tool: f.entry.Tool.Name, Args: args}
		f.key, err = intent.Key()
	}
	if err != nil {
		return abi.NewProblem(abi.NotJSON, "the arguments of %s have no single meaning: %v", f.call.Tool, err)
	}
	f.meaning, f.outcome.Key = f.entry.Tool.Name+"\n"+string(args), f.key
	return nil
}

// loadEnv gathers what expressions and the guest may see. The time is that of
// the call's start, in every attempt.
func (f *flight) loadEnv(ctx context.Context) *abi.Problem {
	now := f.env.Now
	if now.IsZero() {
		now = f.Now().UTC()
	}
	f.env = manifest.Env{Args: f.args, About: f.about, Now: now, Tool: f.entry.Tool.Name, Skill: f.entry.Release.Skill.Name}
	f.remember(ctx)
	f.versions, f.fetched, f.based = nil, nil, nil
	if access := f.entry.Release.Skill.Capabilities.State; access != nil && len(access.Reads) > 0 {
		f.env.State, f.versions = map[string]json.RawMessage{}, map[string]int64{}
		return f.loadState(ctx, access.Reads)
	}
	return nil
}

// about gives expressions what they may know of whom the call is for.
func (f *flight) about(variable string) map[string]any {
	session := f.call.Session
	switch variable {
	case "session":
		return map[string]any{"id": string(session.Session), "locale": f.call.Locale}
	case "user":
		return map[string]any{"id": string(session.User)}
	case "live":
		return map[string]any{"id": string(f.call.Live)}
	case "tenant":
		return map[string]any{"id": string(session.Tenant)}
	}
	return nil
}

// maxStateKeys bounds how many state keys one call may see; they all go into
// its envelope.
const maxStateKeys = 256

// loadState loads the keys, and all keys that patterns such as live.* name.
// State that is cut off would be a wrong answer to a rule, so too much of it is
// a problem.
func (f *flight) loadState(ctx context.Context, patterns []string) *abi.Problem {
	err := eachAtOnce(ctx, f.Store, f.call.Session, patterns, func(v state.Value) error {
		if v.Data == nil {
			return nil // it is not there
		}
		f.env.State[v.Key], f.versions[v.Key] = v.Data, v.Version
		if len(f.env.State) > maxStateKeys {
			return abi.NewProblem(abi.QuotaReached, "the session has more than %d state keys that %s reads", maxStateKeys, f.entry.Release)
		}
		return nil
	})
	return host.ProblemOf(err)
}
