package manifest

import (
	"regexp"
	"slices"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// CEL itself does not multiply an integer by a decimal, but an author cannot
// know which of the two a JSON Schema, or a value without one, stands for:
// facts.price * 0.7 must work for both. So the four operators get overloads in
// which the integer becomes a decimal, and are otherwise as in CEL: two
// integers stay integers, and overflow is an error.

// arithmetic gives the operators with the trait that carries them, and how.
func arithmetic() map[string]operation {
	return map[string]operation{
		operators.Add:      {"add", traits.AdderType, func(a, b ref.Val) ref.Val { return a.(traits.Adder).Add(b) }},
		operators.Subtract: {"subtract", traits.SubtractorType, func(a, b ref.Val) ref.Val { return a.(traits.Subtractor).Subtract(b) }},
		operators.Multiply: {"multiply", traits.MultiplierType, func(a, b ref.Val) ref.Val { return a.(traits.Multiplier).Multiply(b) }},
		operators.Divide:   {"divide", traits.DividerType, func(a, b ref.Val) ref.Val { return a.(traits.Divider).Divide(b) }},
	}
}

// An operation is one of the four operators.
type operation struct {
	name  string
	trait int
	apply func(a, b ref.Val) ref.Val
}

// excludedArithmetic names what the standard library leaves to us.
func excludedArithmetic() []*env.Function {
	var names []*env.Function
	for name := range arithmetic() {
		names = append(names, env.NewFunction(name))
	}
	return names
}

// mixedArithmetic gives the operators with the standard overloads and those
// for an integer and a decimal.
func mixedArithmetic() []*decls.FunctionDecl {
	own := arithmetic()
	var found []*decls.FunctionDecl
	for _, standard := range stdlib.Functions() {
		op, ok := own[standard.Name()]
		if !ok {
			continue
		}
		var options []decls.FunctionOpt
		for _, o := range standard.OverloadDecls() {
			options = append(options, decls.Overload(o.ID(), o.ArgTypes(), o.ResultType()))
		}
		options = append(options,
			decls.Overload(op.name+"_int64_double", []*types.Type{types.IntType, types.DoubleType}, types.DoubleType),
			decls.Overload(op.name+"_double_int64", []*types.Type{types.DoubleType, types.IntType}, types.DoubleType),
			decls.SingletonBinaryBinding(func(a, b ref.Val) ref.Val { return op.apply(promote(a, b)) }, op.trait))
		f, err := decls.NewFunction(standard.Name(), options...)
		if err != nil {
			panic("BUG: an operator cannot be declared: " + err.Error())
		}
		found = append(found, f)
	}
	return found
}

// promote turns the integer of a mixed pair into a decimal.
func promote(a, b ref.Val) (ref.Val, ref.Val) {
	switch x := a.(type) {
	case types.Int:
		if _, mixed := b.(types.Double); mixed {
			return types.Double(x), b
		}
	case types.Double:
		if y, mixed := b.(types.Int); mixed {
			return a, types.Double(y)
		}
	}
	return a, b
}

// Equality cannot have such overloads, since its own takes any type twice. So
// where the checker finds an integer and a decimal in ==, !=, in or the two
// ends of ?:, their first is taken as dyn: they then compare by value, as CEL
// does at evaluation anyway. Everything else stays as strict as it was.

// loosenNumbers changes the calls in which found says that only numbers of two
// kinds meet. It reports false if there are none.
func loosenNumbers(parsed *ast.AST, found []*common.Error) bool {
	mixed := map[int64]bool{}
	for _, e := range found {
		if m := mixedNumbers.FindString(e.Message); m != "" {
			mixed[e.ExprID] = true
		}
	}
	if len(mixed) == 0 {
		return false
	}
	changed := false
	next := ast.MaxID(parsed)
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if !mixed[e.ID()] || e.Kind() != ast.CallKind {
			return
		}
		args := slices.Clone(e.AsCall().Args())
		at := 0
		if e.AsCall().FunctionName() == operators.Conditional {
			at = 1
		}
		next++
		args[at] = factory.NewCall(next, overloads.TypeConvertDyn, args[at])
		e.SetKindCase(factory.NewCall(e.ID(), e.AsCall().FunctionName(), args...))
		changed = true
	}))
	return changed
}

// mixedNumbers finds the checker's word for two kinds of numbers in one call.
var mixedNumbers = func() *regexp.Regexp {
	const number = `(wrapper\()?(int|double)\)?`
	return regexp.MustCompile(`^found no matching overload for '(_==_|_!=_|@in|_\?_:_)' applied to '\((bool, )?` + number + `, (list\()?` + number + `\)?\)'`)
}()
