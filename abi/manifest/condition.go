package manifest

import (
	"cel.dev/cel-go/common/types"
)

// A Condition is one expression about calls that is no part of a manifest, such
// as that of a permission which a person gave ahead. It is immutable and safe
// for concurrent use.
type Condition struct {
	when *expression
	tool *Tool // gives the expression its variables, in any form
}

// CompileCondition compiles a condition, which must give a boolean. It sees what
// a policy's red lines see; arguments, state and facts can be anything there.
// The error says what is wrong with it, for people.
func CompileCondition(source string) (*Condition, error) {
	lang, open, err := openLanguage(newShapes())
	if err != nil {
		return nil, err
	}
	when, err := lang.compile(source, types.BoolType)
	if err == nil {
		err = when.namesState()
	}
	if err != nil {
		return nil, err
	}
	return &Condition{when: when, tool: open}, nil
}

// Holds reports whether the condition holds for a call. One that fails to
// evaluate does not, with the error saying why.
func (c *Condition) Holds(env Env) (bool, error) { return c.when.holds(c.tool.activate(env)) }
