package dispatch

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// fetchFacts fills the tool's declared facts by calling their read tools
// through the gate. A fact that cannot be had stays unknown, and an expression
// that needs it counts as its stricter answer. A read tool's own facts are not
// fetched: facts do not need facts.
func (f *flight) fetchFacts(ctx context.Context) *abi.Problem {
	if f.depth > 0 {
		return nil
	}
	names := make([]string, 0, len(f.entry.Tool.Facts))
	for name := range f.entry.Tool.Facts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if fact := f.fetchFact(ctx, name); fact != nil {
			f.env.Facts[name] = fact
		}
		if ctx.Err() != nil {
			return host.ProblemOf(ctx.Err())
		}
	}
	return nil
}

func (f *flight) fetchFact(ctx context.Context, name string) json.RawMessage {
	spec := f.entry.Tool.Facts[name]
	source := f.entry.Release.Skill.Tool(spec.Tool)
	if source == nil || source.Effect != abi.Read {
		return nil
	}
	args, err := f.entry.Tool.FactArgs(name, f.env)
	if err != nil {
		return nil
	}
	call := f.call
	call.ID = f.call.ID + host.CallID("/"+name)
	call.Tool, call.Args, call.CutOff = spec.Tool, string(args), false
	outcome := f.do(ctx, f.catalog, call, f.depth+1)
	if !outcome.OK() {
		return nil
	}
	fact, err := f.entry.Tool.FactValue(name, outcome.Data)
	if err != nil {
		return nil
	}
	return fact
}
