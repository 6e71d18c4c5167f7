package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of what TargetsOf gives: ids are keys of claims and of records.
const (
	MaxTargets     = 1_000
	MaxTargetBytes = 256
)

// An Env is what the expressions of one call see. Only what an expression
// mentions is decoded; what is not given counts as absent, and an expression
// that needs it fails. An Env is not changed by evaluation.
type Env struct {
	Args    json.RawMessage            // as they passed CheckArgs; nil means {}
	State   map[string]json.RawMessage // by state key: live.current is state.live.current
	Facts   map[string]json.RawMessage // by the names that the tool declares
	Data    json.RawMessage            // the result, which only checks and artifacts see
	Session map[string]any             // of values that JSON could hold, and time.Time
	User    map[string]any
	Live    map[string]any
	Tenant  map[string]any
	Now     time.Time

	// About gives those of session, user, live and tenant, by these names, that are
	// not given: made for the expression that asks, since most ask for none.
	About func(variable string) map[string]any

	// Last gives the last successful call of a tool on a target, nil if there
	// is none. With a nil Last, or where it fails, every expression that asks
	// for it fails.
	Last func(tool, target string) (*LastCall, error)

	// What only policies see: the call's tool and its skill, and how many calls
	// of a tool succeeded within a time before now.
	Tool, Skill string
	Count       func(tool string, within time.Duration) (int, error)
}

// A LastCall is a successful call of the past.
type LastCall struct {
	Time time.Time
	Args json.RawMessage
	Data json.RawMessage
}

// InScope reports whether a call is the tool's business. A scope that fails to
// evaluate counts as false, with the error saying why. Safe for concurrent use.
func (t *Tool) InScope(env Env) (bool, error) {
	if t.scope == nil {
		return true, nil
	}
	holds, err := t.scope.holds(t.activate(env))
	if err != nil {
		return false, fmt.Errorf("%s: scope: %w", t.Name, err)
	}
	return holds, nil
}

// ScopeFacts names the facts that the scope mentions: they must be fetched
// before InScope is asked.
func (t *Tool) ScopeFacts() []string {
	if t.scope == nil {
		return nil
	}
	return slices.Clone(t.scope.facts)
}

// TargetsOf gives the ids that a call touches, each once and sorted; nil if
// the tool declares no targets. An error means that they are not known, which
// is not the same as none. Safe for concurrent use.
func (t *Tool) TargetsOf(env Env) ([]string, error) {
	if t.targets == nil {
		return nil, nil
	}
	v, err := t.targets.eval(t.activate(env))
	if err != nil {
		return nil, fmt.Errorf("%s: targets: %w", t.Name, err)
	}
	items, ok := v.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("%s: targets: gave %s, not a list", t.Name, v.Type().TypeName())
	}
	ids := []string{}
	for it := items.Iterator(); it.HasNext() == types.True; {
		id, ok := it.Next().(types.String)
		if !ok || id == "" || len(id) > MaxTargetBytes {
			return nil, fmt.Errorf("%s: targets: an id must be a string of 1 to %d bytes", t.Name, MaxTargetBytes)
		}
		if ids = append(ids, strings.Clone(string(id))); len(ids) > MaxTargets {
			return nil, fmt.Errorf("%s: targets: more than %d", t.Name, MaxTargets)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// TierOf gives the tier of a call: the tool's risk, raised by every rule whose
// condition holds or fails to evaluate, and what these rules say, in their
// order. Safe for concurrent use.
func (t *Tool) TierOf(env Env) (abi.Tier, []string) {
	tier := t.Risk
	var says []string
	for _, r := range t.RulesOf(env) {
		if !r.Applies {
			continue
		}
		tier = tier.Stricter(r.Tier)
		if r.Say != "" {
			says = append(says, r.Say)
		}
	}
	return tier, says
}

// A Ruled is what one rule of a tool says of a call.
type Ruled struct {
	Place   int      // among the tool's rules, from 1
	Applies bool     // its condition holds, or cannot be decided
	Tier    abi.Tier // that it asks for, where it applies
	Say     string   // why, where it applies; may be empty
}

// RulesOf gives what every rule of the tool says of a call, in their order.
// Safe for concurrent use.
func (t *Tool) RulesOf(env Env) []Ruled {
	if len(t.rules) == 0 {
		return nil
	}
	ruled := make([]Ruled, len(t.rules))
	a := t.activate(env)
	for i, r := range t.rules {
		ruled[i].Place = i + 1
		holds, err := r.when.holds(a)
		if err == nil && !holds {
			continue
		}
		ruled[i].Applies, ruled[i].Tier = true, r.tier
		if err != nil {
			ruled[i].Say = fmt.Sprintf("Whether %s could not be decided, so it counts as if it did: %v.", r.when.source, err)
		} else if r.say != nil {
			ruled[i].Say = r.say.render(a)
		}
	}
	return ruled
}

// FactArgs gives the arguments with which the read tool of a fact is called,
// as a JSON object with sorted members. Safe for concurrent use.
func (t *Tool) FactArgs(name string, env Env) (json.RawMessage, error) {
	f, ok := t.facts[name]
	if !ok {
		return nil, fmt.Errorf("%s has no fact %q", t.Name, name)
	}
	a := t.activate(env)
	b := []byte{'{'}
	for i, arg := range f.args {
		v, err := arg.expr.eval(a)
		if err != nil {
			return nil, fmt.Errorf("%s: facts.%s.args.%s: %w", t.Name, name, arg.name, err)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, arg.name), ':')
		if b, err = appendValue(b, v, 0); err != nil {
			return nil, fmt.Errorf("%s: facts.%s.args.%s: %w", t.Name, name, arg.name, err)
		}
	}
	return append(b, '}'), nil
}

// FactValue gives the part of the read tool's data that is the fact.
func (t *Tool) FactValue(name string, data json.RawMessage) (json.RawMessage, error) {
	f, ok := t.facts[name]
	if !ok {
		return nil, fmt.Errorf("%s has no fact %q", t.Name, name)
	}
	n, err := readJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: facts.%s: %s gave %w", t.Name, name, f.tool, err)
	}
	if f.at != "" {
		n = n.at(strings.Split(f.at, ".")).node
	}
	if n == nil {
		return nil, fmt.Errorf("%s: facts.%s: %s gave nothing at %s", t.Name, name, f.tool, f.at)
	}
	return n.appendJSON(nil), nil
}

func (e *expression) holds(a *activation) (bool, error) {
	v, err := e.eval(a)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("gave %s, not a boolean", v.Type().TypeName())
	}
	return bool(b), nil
}

func (e *expression) eval(a *activation) (ref.Val, error) {
	v, _, err := e.program.Eval(a.of(e))
	if err != nil {
		return nil, errors.New(cut(err.Error(), 300))
	}
	return v, nil
}

// An activation gives the variables of one call's expressions, each decoded
// once and only if an expression asks for it. It is used by one goroutine.
type activation struct {
	tool   *Tool
	env    Env
	expr   *expression // the one that is evaluated
	args   any
	data   any
	facts  map[string]any
	failed map[string]error
}

var _ cel.FunctionActivation = (*activation)(nil)

func (t *Tool) activate(env Env) *activation { return &activation{tool: t, env: env} }

// of makes e the expression that is evaluated next.
func (a *activation) of(e *expression) *activation {
	a.expr = e
	return a
}

// Parent is nil: there is nothing beyond the variables of a call.
func (a *activation) Parent() cel.Activation { return nil }

// ResolveName gives a variable by name.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case varArgs:
		return a.arguments(), true
	case varFacts:
		return a.factValues(), true
	case varState:
		return a.state(), true
	case varData:
		return a.result(), true
	case varSession:
		return a.about(varSession, a.env.Session), true
	case varUser:
		return a.about(varUser, a.env.User), true
	case varLive:
		return a.about(varLive, a.env.Live), true
	case varTenant:
		return a.about(varTenant, a.env.Tenant), true
	case varNow:
		if a.env.Now.IsZero() {
			return types.NewErr("the time of the call is not given"), true
		}
		return a.env.Now, true
	case varTool:
		return a.env.Tool, true
	case varSkill:
		return a.env.Skill, true
	}
	return nil, false
}

func (a *activation) about(variable string, given map[string]any) map[string]any {
	if given == nil && a.env.About != nil {
		given = a.env.About(variable)
	}
	if given == nil {
		return map[string]any{}
	}
	return given
}

func (a *activation) arguments() any {
	if a.args != nil {
		return a.args
	}
	raw := a.env.Args
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	n, err := readJSON(raw)
	if err != nil {
		a.args = types.NewErr("the arguments cannot be read: %v", err)
	} else {
		a.args = a.tool.argShape.value(n)
	}
	return a.args
}

func (a *activation) result() any {
	if a.data != nil {
		return a.data
	}
	n, err := readJSON(a.env.Data)
	if err != nil {
		a.data = types.NewErr("the result cannot be read: %v", err)
	} else {
		a.data = a.tool.dataShape.value(n)
	}
	return a.data
}

// factValues decodes the facts that the expression mentions. One that cannot
// be read is left out, so that only what needs it fails.
func (a *activation) factValues() any {
	if a.facts == nil {
		a.facts = map[string]any{}
	}
	for _, name := range a.expr.facts {
		raw, given := a.env.Facts[name]
		if _, done := a.facts[name]; done || !given {
			continue
		}
		if n, err := readJSON(raw); err == nil {
			a.facts[name] = a.tool.factShape.field(name).value(n)
		}
	}
	return a.facts
}

// state nests the state keys that the expression mentions: the key
// live.current becomes the member current of live. Where two keys stand for one
// place nothing can be decided: whoever may write live.* could else put
// live.locked.x over live.locked.
func (a *activation) state() any {
	root := map[string]any{}
	keys := make([]string, 0, len(a.env.State))
	for key := range a.env.State {
		if a.expr.mentions(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys) // a key comes before those below it
	for _, key := range keys {
		n, err := readJSON(a.env.State[key])
		if err != nil {
			continue // absent: what needs it fails
		}
		shape, _ := a.tool.stateShape.at(key)
		if !nest(root, strings.Split(key, "."), shape.value(n)) {
			return types.NewErr("the state key %s stands where another one does", key)
		}
	}
	return root
}

// nest reports false if something else stands in the way.
func nest(root map[string]any, path []string, v any) bool {
	for _, step := range path[:len(path)-1] {
		at, there := root[step]
		if !there {
			at = map[string]any{}
			root[step] = at
		}
		below, ok := at.(map[string]any)
		if !ok {
			return false
		}
		root = below
	}
	last := path[len(path)-1]
	_, there := root[last]
	root[last] = v
	return !there
}

// mentions reports whether the expression may read a state key.
func (e *expression) mentions(key string) bool {
	return slices.ContainsFunc(e.state, func(path []string) bool { return overlap(path, strings.Split(key, ".")) })
}

// overlap reports whether one path leads to the other or lies below it.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// ResolveFunction gives last and count, the functions that depend on the call.
func (a *activation) ResolveFunction(name string) (cel.LateBoundFunction, bool) {
	switch name {
	case funcLast:
		return a.last, true
	case funcCount:
		return a.count, true
	}
	return nil, false
}

func (a *activation) last(_ string, args ...ref.Val) ref.Val {
	tool, isText := args[0].(types.String)
	target, isTextToo := args[1].(types.String)
	switch {
	case !isText || !isTextToo:
		return types.NewErr("last takes the name of a tool and a target")
	case a.env.Last == nil:
		return types.NewErr("earlier calls are not known here")
	}
	found, err := a.env.Last(string(tool), string(target))
	if err != nil {
		return types.NewErr("earlier calls cannot be read")
	}
	return lastValue(found)
}

func (a *activation) count(_ string, args ...ref.Val) ref.Val {
	tool, isText := args[0].(types.String)
	within, isSpan := args[1].(types.Duration)
	switch {
	case !isText || !isSpan:
		return types.NewErr("count takes the name of a tool and a duration")
	case a.env.Count == nil:
		return types.NewErr("earlier calls are not known here")
	}
	n, err := a.env.Count(string(tool), within.Duration)
	if err != nil {
		return types.NewErr("earlier calls cannot be counted")
	}
	return types.Int(n)
}

func lastValue(last *LastCall) ref.Val {
	if last == nil {
		return types.NullValue
	}
	value := map[string]any{"time": last.Time}
	for name, raw := range map[string]json.RawMessage{"args": last.Args, "data": last.Data} {
		if n, err := readJSON(raw); err == nil {
			value[name] = (*shape)(nil).value(n)
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}
