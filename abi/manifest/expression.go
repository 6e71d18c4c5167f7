package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// Bounds of one expression.
const (
	// MaxExpressionRunes is what a person still reads as one condition.
	MaxExpressionRunes = 2_000
	// MaxExpressionCost bounds one evaluation in CEL's own units, about one for
	// each operation and each element or tenth byte that it touches. It is some
	// milliseconds: enough to look an id up in a list of 100,000.
	MaxExpressionCost = 200_000

	maxExpressionDepth = 60
	maxExpressionNodes = 2_000
	maxNestedLoops     = 2
	maxRegexProgram    = 200
)

// The variables of expressions.
const (
	varArgs    = "args"
	varFacts   = "facts"
	varState   = "state"
	varSession = "session"
	varUser    = "user"
	varLive    = "live"
	varTenant  = "tenant"
	varNow     = "now"
	varData    = "data"  // of a tool's checks and artifacts only
	varTool    = "tool"  // of policies only
	varSkill   = "skill" // of policies only
	funcLast   = "last"
	funcCount  = "count" // of policies only
)

// lastCallType is what last gives, or null.
const lastCallType = "last call"

// An expression is one compiled CEL expression. It is safe for concurrent use.
type expression struct {
	source  string
	program cel.Program
	result  *types.Type
	facts   []string   // the facts that it mentions
	state   [][]string // the paths of state that it mentions; an empty path is all of it
	calls   []string   // the tools that it gives last as literals
	texts   []string   // the texts that it is made of, where nothing is computed
}

// A language compiles the expressions of one tool.
type language struct {
	env   *cel.Env
	words []string // the names that expressions may use, for hints
}

// newLanguage declares the variables with their shapes. With facts nil there
// are no facts to speak of, as in the arguments of a fact itself. More may be
// declared beside them.
func newLanguage(objects *shapes, args, facts, state *shape, more ...cel.EnvOption) (language, error) {
	anyMap := types.NewMapType(types.StringType, types.DynType)
	registry, err := types.NewRegistry()
	if err != nil {
		return language{}, err
	}
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{ExcludeFunctions: excludedArithmetic()})),
		cel.FunctionDecls(mixedArithmetic()...),
		ext.Strings(), ext.Math(),
		cel.CustomTypeProvider(&provider{Provider: registry, objects: objects.objects}),
		cel.EagerlyValidateDeclarations(true),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserExpressionSizeLimit(MaxExpressionRunes),
		cel.ParserRecursionLimit(maxExpressionDepth),
		cel.ExpressionNodeLimit(maxExpressionNodes),
		cel.RegexProgramSizeLimit(maxRegexProgram),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(),
			cel.ValidateComprehensionNestingLimit(maxNestedLoops)),
		cel.Variable(varArgs, args.celType()),
		cel.Variable(varState, state.celType()),
		cel.Variable(varSession, anyMap), cel.Variable(varUser, anyMap),
		cel.Variable(varLive, anyMap), cel.Variable(varTenant, anyMap),
		cel.Variable(varNow, types.TimestampType),
		cel.Function(funcLast, cel.Overload("last_string_string", []*types.Type{types.StringType, types.StringType},
			types.NewObjectType(lastCallType), cel.LateFunctionBinding())),
	}
	options = append(options, more...)
	words := []string{varArgs, varState, varSession, varUser, varLive, varTenant, varNow, funcLast}
	if facts != nil {
		options = append(options, cel.Variable(varFacts, facts.celType()))
		words = append(words, varFacts)
	}
	e, err := cel.NewCustomEnv(options...)
	return language{e, append(words, fieldsOf(args, facts)...)}, err
}

// fieldsOf gives the names of the fields at the top of shapes and one level
// below: those that a typo most likely meant.
func fieldsOf(tops ...*shape) []string {
	names := map[string]bool{}
	for _, top := range tops {
		if top == nil {
			continue
		}
		for name, f := range top.fields {
			names[name] = true
			if f.kind() == listForm {
				f = f.elem
			}
			if f.kind() == objectForm {
				for below := range f.fields {
					names[below] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// compile compiles source, whose result must be assignable to want; a nil want
// takes any result.
func (l language) compile(source string, want *types.Type) (*expression, error) {
	parsed, issues := l.env.Parse(source)
	if issues.Err() != nil {
		return nil, l.compileError(source, issues.Errors())
	}
	checked, issues := l.env.Check(parsed)
	for round := 0; issues.Err() != nil; round++ {
		if round == maxExpressionDepth || !loosenNumbers(parsed.NativeRep(), issues.Errors()) {
			return nil, l.compileError(source, issues.Errors())
		}
		checked, issues = l.env.Check(parsed)
	}
	result := checked.OutputType()
	if want != nil && !mayGive(want, result) {
		return nil, fmt.Errorf("gives %s, but must give %s", typeName(result), typeName(want))
	}
	if name := refusedCall(checked.NativeRep()); name != "" {
		return nil, &celError{message: name + " is not offered here"}
	}
	program, err := l.env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(MaxExpressionCost))
	if err != nil {
		return nil, fmt.Errorf("cannot be planned: %w", err)
	}
	e := &expression{source: source, program: program, result: result}
	e.collect(checked.NativeRep())
	return e, nil
}

// refusedCall gives the first function of the strings library that an
// expression calls and that can take, or make, out of all proportion before
// its cost is counted: 100 KB of text replaced in itself are 10 GB.
func refusedCall(checked *ast.AST) string {
	for _, n := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.CallKind)) {
		switch name := n.AsCall().FunctionName(); name {
		case "replace", "join", "split", "format", "strings.quote", "indexOf", "lastIndexOf":
			return name
		}
	}
	return ""
}

// mayGive reports whether a value of the type got can be one of the type want.
// What is known only at evaluation is checked there; an integer is a number.
func mayGive(want, got *types.Type) bool {
	switch {
	case got.Kind() == types.DynKind || want.Kind() == types.DynKind || want.IsAssignableType(got) || got.IsAssignableType(want):
		return true
	case got.Kind() == types.ListKind && want.Kind() == types.ListKind:
		return mayGive(want.Parameters()[0], got.Parameters()[0])
	}
	return got.IsExactType(types.IntType) && want.IsAssignableType(types.DoubleType)
}

// A celError is the first thing that the compiler found in an expression.
type celError struct{ message, hint string }

func (e *celError) Error() string { return e.message }

func (l language) compileError(source string, found []*common.Error) error {
	if len(found) == 0 {
		return &celError{message: "does not compile"}
	}
	first := found[0]
	where := fmt.Sprintf("column %d", first.Location.Column()+1)
	if strings.Contains(strings.TrimSpace(source), "\n") {
		where = fmt.Sprintf("line %d of the expression, column %d", first.Location.Line(), first.Location.Column()+1)
	}
	e := &celError{message: where + ": " + plainMessage(first.Message)}
	if m := unknownName.FindStringSubmatch(first.Message); m != nil {
		if guesses := near(m[1], l.words); len(guesses) > 0 {
			e.hint = "did you mean " + guesses[0] + "?"
		}
		if m[1] == varFacts {
			e.hint = "the arguments of a fact cannot ask for facts"
		}
	}
	return e
}

var (
	unknownName    = regexp.MustCompile(`^(?:undefined field|undeclared reference to) '([^']*)'`)
	noOverload     = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '\((.*)\)'`)
	noMemberCall   = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '(.*)\.\((.*)\)'`)
	ownGuess       = regexp.MustCompile(` \((in container|did you mean) '[^']*'\??\)`)
	operatorMarker = regexp.MustCompile(`^_?([^_a-zA-Z]+)_?$`)
)

// plainMessage says what the compiler says without its notation.
func plainMessage(message string) string {
	message = ownGuess.ReplaceAllString(message, "")
	message = strings.TrimPrefix(message, "Syntax error: ")
	if m := noMemberCall.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("%s does not take %s", m[1], strings.Join(slices.DeleteFunc([]string{m[2], m[3]}, func(s string) bool { return s == "" }), " with "))
	}
	if m := noOverload.FindStringSubmatch(message); m != nil {
		name := m[1]
		if op := operatorMarker.FindStringSubmatch(name); op != nil {
			name = op[1]
		}
		return fmt.Sprintf("%s does not take %s", strings.Trim(name, "_@"), strings.Join(splitTypes(m[2]), " and "))
	}
	return cut(message, 300)
}

// splitTypes splits a list of types at the commas that are not inside one.
func splitTypes(list string) []string {
	var found []string
	depth, start := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			found = append(found, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	return append(found, strings.TrimSpace(list[start:]))
}

func typeName(t *types.Type) string {
	if t.Kind() == types.StructKind {
		return "an object"
	}
	return t.String()
}

// collect notes which facts, paths of state and tools the expression mentions,
// so that evaluation decodes no more than that.
func (e *expression) collect(checked *ast.AST) {
	facts := map[string]bool{}
	for _, n := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.IdentKind)) {
		switch path := selectPath(n); n.AsIdent() {
		case varFacts:
			if len(path) > 0 {
				facts[path[0]] = true
			}
		case varState:
			e.state = append(e.state, path)
		}
	}
	e.facts = slices.Sorted(maps.Keys(facts))
	e.texts = literalTexts(checked.Expr())
	for _, n := range ast.MatchDescendants(ast.NavigateAST(checked), ast.FunctionMatcher(funcLast)) {
		if args := n.AsCall().Args(); len(args) > 0 && args[0].Kind() == ast.LiteralKind {
			if tool, ok := args[0].AsLiteral().(types.String); ok {
				e.calls = append(e.calls, string(tool))
			}
		}
	}
}

// selectPath gives the fields that are selected from n: [live products] for
// state in state.live.products.
func selectPath(n ast.NavigableExpr) []string {
	var path []string
	for {
		parent, ok := n.Parent()
		if !ok || parent.Kind() != ast.SelectKind {
			return path
		}
		path = append(path, parent.AsSelect().FieldName())
		n = parent
	}
}

// A provider gives CEL the object types that stand for JSON Schemas. Their
// values are plain maps, which CEL selects from by itself.
type provider struct {
	types.Provider
	objects map[string]*shape
}

var _ types.Provider = (*provider)(nil)

// FindStructType finds an object type by name.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok || name == lastCallType {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames gives the known fields of an object type.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if s, ok := p.objects[name]; ok {
		return slices.Sorted(maps.Keys(s.fields)), true
	}
	if name == lastCallType {
		return []string{"args", "data", "time"}, true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType gives the type of one field.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name == lastCallType {
		switch field {
		case "time":
			return &types.FieldType{Type: types.TimestampType}, true
		case "args", "data":
			return &types.FieldType{Type: types.DynType}, true
		}
		return nil, false
	}
	s, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	f, known := s.fields[field]
	if !known && !s.open {
		return nil, false
	}
	return &types.FieldType{Type: f.celType()}, true
}

// NewValue refuses to make objects: expressions read them only.
func (p *provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.objects[name]; ok || name == lastCallType {
		return types.NewErr("an expression cannot make %s", name)
	}
	return p.Provider.NewValue(name, fields)
}
