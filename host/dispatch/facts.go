package dispatch

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// fetchFacts fills the named facts of the tool by calling their read tools
// through the gate; what this attempt has is not fetched again. A read tool's
// own facts are not fetched: facts do not need facts.
//
// Where the business itself says no, such as that the thing does not exist,
// that is the answer to the call: nobody needs to confirm the price of
// nothing. A fact that cannot be had for any other reason stays unknown, and
// an expression that needs it counts as its stricter answer. So does one that was
// read from more than can be looked at again when the call is settled.
func (f *flight) fetchFacts(ctx context.Context, names []string) *abi.Problem {
	if f.depth > 0 || len(names) == 0 {
		return nil
	}
	if f.fetched == nil {
		f.fetched, f.env.Facts = map[string]bool{}, map[string]json.RawMessage{}
	}
	for _, name := range names {
		if f.fetched[name] {
			continue
		}
		f.fetched[name] = true
		fact, problem := f.fetchFact(ctx, name)
		if problem != nil {
			return problem
		}
		if fact != nil {
			f.env.Facts[name] = fact
		}
		if ctx.Err() != nil {
			return stopped(ctx)
		}
	}
	return nil
}

// factNames lists the tool's facts in a stable order.
func (f *flight) factNames() []string {
	if len(f.entry.Tool.Facts) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(f.entry.Tool.Facts))
}

func (f *flight) fetchFact(ctx context.Context, name string) (json.RawMessage, *abi.Problem) {
	spec := f.entry.Tool.Facts[name]
	source := f.entry.Release.Skill.Tool(spec.Tool)
	if source == nil || source.Effect != abi.Read {
		return nil, nil
	}
	args, err := f.entry.Tool.FactArgs(name, f.env)
	if err != nil {
		return nil, nil
	}
	call := f.call
	call.ID = f.call.ID + host.CallID("/"+name)
	call.Tool, call.Args, call.CutOff = spec.Tool, string(args), false
	read := newFlight(f.Dispatcher, f.catalog, call)
	read.entry, read.depth = release.Entry{Release: f.entry.Release, Tool: source}, f.depth+1
	outcome := read.do(ctx)
	if !outcome.OK() {
		return nil, businessAnswer(outcome.Problem, spec)
	}
	based := slices.Concat(f.based, read.grant.Views)
	if !state.Settleable(based) {
		f.note("the fact %s is not used: the facts of one call scan too much to be checked when it ends", name)
		return nil, nil
	}
	f.based = based
	fact, err := f.entry.Tool.FactValue(name, outcome.Data)
	if err != nil {
		return nil, nil
	}
	return fact, nil
}

// businessAnswer gives the problem of a fact's read tool if it is the
// business's own answer, with the field as the caller's argument where the
// declaration says which one it is.
func businessAnswer(p *abi.Problem, spec abi.FactSpec) *abi.Problem {
	switch p.Code {
	case abi.OutOfFuel, abi.OutOfMemory, abi.OutputLimit, abi.QuotaReached:
		return nil // the read tool could not; that says nothing about the thing
	}
	if p.Code.Class() != abi.ClassBusiness {
		return nil
	}
	answer := *p
	answer.Field = ""
	if field, plain := strings.CutPrefix(spec.Args[p.Field], "args."); plain && strings.Trim(field, fieldRunes) == "" {
		answer.Field = field
	}
	return &answer
}

// fieldRunes are those of a path such as item.sku; an expression has others.
const fieldRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]"
