package manifest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// A Basis is what those rules of a call went by that raised its tier. Facts and
// State are the values that they mention, as far as there are any; what the
// words of a question show is made of these and of the arguments. What changes
// by itself, such as the time, is no part of it.
type Basis struct {
	Facts map[string]json.RawMessage
	State map[string]json.RawMessage

	// Undecided says that one of them which asks for a person's yes, or forbids,
	// failed to evaluate, and so counted as if it held.
	Undecided bool
}

// Basis gives what the tool's rules went by that TierOf counts. Safe for
// concurrent use.
func (t *Tool) Basis(env Env) Basis {
	b := Basis{Facts: map[string]json.RawMessage{}, State: map[string]json.RawMessage{}}
	a := t.activate(env)
	for _, r := range t.rules {
		b.add(a, r.tier, r.when, r.say)
	}
	return b
}

// Basis gives what the red lines went by that Crossed gives. Safe for concurrent
// use.
func (p *Policy) Basis(env Env) Basis {
	b := Basis{Facts: map[string]json.RawMessage{}, State: map[string]json.RawMessage{}}
	if p == nil {
		return b
	}
	a := p.tool.activate(env)
	for _, l := range p.lines {
		if l.about(env) {
			b.add(a, l.tier, l.when, l.say)
		}
	}
	return b
}

// add adds what a rule went by, if it counts.
func (b *Basis) add(a *activation, tier abi.Tier, when *expression, say *template) {
	holds, err := when.holds(a)
	if err == nil && !holds {
		return
	}
	b.Undecided = b.Undecided || err != nil && tier.Rank() >= abi.HardGate.Rank()
	b.read(a.env, when)
	if say != nil {
		for _, e := range say.expressions() {
			b.read(a.env, e)
		}
	}
}

func (b *Basis) read(env Env, e *expression) {
	for _, name := range e.facts {
		if v, given := env.Facts[name]; given {
			b.Facts[name] = v
		}
	}
	for key, v := range env.State {
		if e.mentions(key) {
			b.State[key] = v
		}
	}
}

// StateRead gives the paths of state that the red lines about a call mention,
// such as live.current, each once and sorted. Whoever evaluates them must give
// all that is at these paths, above and below them: what is not given counts as
// absent, and a line that asks whether it is there would not hold.
func (p *Policy) StateRead(env Env) []string {
	if p == nil {
		return nil
	}
	var read []*expression
	for _, l := range p.lines {
		if l.about(env) {
			read = append(read, l.when)
			if l.say != nil {
				read = append(read, l.say.expressions()...)
			}
		}
	}
	return statePaths(read...)
}

// StateRead is as that of a policy.
func (c *Condition) StateRead() []string { return statePaths(c.when) }

func statePaths(read ...*expression) (paths []string) {
	for _, e := range read {
		for _, path := range e.state {
			paths = append(paths, strings.Join(path, "."))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// namesState refuses an expression that reads the state by anything but names,
// for which all of it would have to be loaded, or by one that no key has.
func (e *expression) namesState() error {
	for _, path := range e.state {
		if len(path) == 0 {
			return &celError{message: "the state is read as a whole", hint: "name what is read, as in state.live.current"}
		}
		if strings.Contains(strings.Join(path, ""), ".") {
			return &celError{message: "a name of the state has a dot in it", hint: "write the key live.current as state.live.current"}
		}
	}
	return nil
}

func (t *template) namesState() error {
	for _, e := range t.expressions() {
		if err := e.namesState(); err != nil {
			return err
		}
	}
	return nil
}
