package manifest

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/sluicehq/sluice/abi"
)

// compileState gives the shape of the session's state: the keys that declare a
// schema are typed, all else can be anything.
func (l *loader) compileState() {
	access := l.m.Capabilities.State
	if access == nil || len(access.Schemas) == 0 {
		l.state = &shape{form: mapForm}
		return
	}
	l.state = l.openObject("state")
	for _, key := range slices.Sorted(maps.Keys(access.Schemas)) {
		at := l.at("capabilities", "state", "schemas", key)
		v := l.schema(at)
		if v == nil {
			continue
		}
		path := strings.Split(key, ".")
		in := l.state
		for i, step := range path[:len(path)-1] {
			if in.fields[step] == nil {
				in.fields[step] = l.openObject("state." + strings.Join(path[:i+1], "."))
			}
			if in = in.fields[step]; in.form != objectForm || !in.open {
				l.fail(at, "let one schema describe both", "the key lies inside another key that declares a schema")
				in = &shape{fields: map[string]*shape{}}
			}
		}
		in.fields[path[len(path)-1]] = l.shapes.of(v.schema, "state."+key)
	}
}

func (l *loader) openObject(name string) *shape {
	s := &shape{form: objectForm, fields: map[string]*shape{}, open: true}
	l.shapes.enter(s, name)
	return s
}

// schema compiles the schema that stands at a place of the manifest, inline or
// by file name. It gives nil after a finding.
func (l *loader) schema(at place) *validator {
	d := l.schemas.inline(l.file, at.path, at.node)
	if d == nil {
		return nil
	}
	s := l.schemas.compile(d)
	if s == nil {
		return nil
	}
	return &validator{schema: s}
}

// compileSchemas compiles a tool's input and output.
func (l *loader) compileSchemas(i int) {
	t := l.tools[i]
	at := l.at("tools", i, "input")
	if t.input = l.schema(at); t.input != nil {
		if !slices.Equal(t.input.schema.Types, []string{"object"}) {
			l.fail(at, "write type: object; models call tools with an object", "the input is not the schema of an object")
		}
		t.argShape = l.shapes.of(t.input.schema, t.Name+".args")
		t.Input = l.schemas.bundle(at)
	}
	if at = l.at("tools", i, "output"); at.node != nil {
		if t.output = l.schema(at); t.output != nil {
			l.outputs[t.Name] = l.shapes.of(t.output.schema, t.Name+".data")
			t.Output = l.schemas.bundle(at)
		}
	}
}

// compileExpressions compiles everything of a tool that is CEL.
func (l *loader) compileExpressions(i int) {
	t := l.tools[i]
	t.stateShape = l.state
	t.factShape = &shape{form: objectForm, fields: map[string]*shape{}}
	l.compileFacts(i)
	l.shapes.enter(t.factShape, t.Name+".facts")
	l.compileResult(i)
	if t.Scope == "" && t.Targets == "" && len(t.Rules) == 0 {
		return
	}
	lang, err := newLanguage(l.shapes, t.argShape, t.factShape, l.state)
	if err != nil {
		l.fail(l.at("tools", i), "", "the expressions' language cannot be made: %v", err)
		return
	}
	if t.Scope != "" {
		t.scope = l.expression(lang, l.at("tools", i, "scope"), t.Scope, types.BoolType)
	}
	if t.Targets != "" {
		t.targets = l.expression(lang, l.at("tools", i, "targets"), t.Targets, types.NewListType(types.StringType))
	}
	for j, r := range t.Rules {
		l.compileRule(lang, i, j, r)
	}
}

func (l *loader) compileRule(lang language, i, j int, r abi.Rule) {
	t := l.tools[i]
	if r.Tier.Rank() < t.Risk.Rank() {
		l.fail(l.at("tools", i, "rules", j, "tier"), "lower risk, and let rules raise it", "a rule only raises: the tool's risk is %s already", t.Risk)
	}
	compiled := rule{tier: r.Tier, when: l.expression(lang, l.at("tools", i, "rules", j, "when"), r.When, types.BoolType)}
	if r.Say != "" {
		compiled.say = l.say(lang, l.at("tools", i, "rules", j, "say"), r.Say)
	}
	t.rules = append(t.rules, compiled)
}

// say compiles a text for people; it gives nil after a finding.
func (l *loader) say(lang language, at place, source string) *template {
	say, err := lang.template(source)
	if err != nil {
		l.badExpression(at, err)
		return nil
	}
	for _, e := range say.expressions() {
		l.mayRead(at, e)
	}
	return say
}

// expression compiles one expression; it gives nil after a finding.
func (l *loader) expression(lang language, at place, source string, want *types.Type) *expression {
	e, err := lang.compile(source, want)
	if err != nil {
		l.badExpression(at, err)
		return nil
	}
	l.mayRead(at, e)
	return e
}

func (l *loader) badExpression(at place, err error) {
	hint := ""
	var bad *celError
	if errors.As(err, &bad) {
		hint = bad.hint
	}
	l.fail(at, hint, "%v", err)
}

// mayRead checks that the manifest grants the state that an expression reads,
// and that the tools whose last call it asks for exist. Both would else fail
// silently, at every call.
func (l *loader) mayRead(at place, e *expression) {
	var reads []string
	if access := l.m.Capabilities.State; access != nil {
		reads = access.Reads
	}
	for _, path := range e.state {
		granted := slices.ContainsFunc(reads, func(key string) bool {
			return overlap(strings.Split(strings.TrimSuffix(key, ".*"), "."), path)
		})
		if !granted {
			l.fail(at, "add it to capabilities.state.reads", "%s is read here and not granted", strings.Join(append([]string{varState}, path...), "."))
		}
	}
	for _, name := range e.calls {
		if _, ok := l.declared(name); !ok && !strings.Contains(name, ".") {
			l.fail(at, l.nearTools(name), "last asks for the tool %s, which the skill does not have", cut(name, 40))
		}
	}
}

// compileFacts compiles the arguments of a tool's facts and gives the facts
// their shapes. The language of these arguments has no facts.
func (l *loader) compileFacts(i int) {
	t := l.tools[i]
	if len(t.Facts) == 0 {
		return
	}
	lang, err := newLanguage(l.shapes, t.argShape, nil, l.state)
	if err != nil {
		l.fail(l.at("tools", i), "", "the expressions' language cannot be made: %v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
		spec := t.Facts[name]
		source, ok := l.factSource(i, name, spec)
		if !ok {
			t.factShape.fields[name] = nil
			continue
		}
		at := l.at("tools", i, "facts", name, "at")
		value, err := l.outputs[spec.Tool].at(spec.At)
		if err != nil {
			l.fail(at, "", "%s gives no such thing: %v", spec.Tool, err)
		}
		t.factShape.fields[name] = value
		t.facts[name] = fact{tool: spec.Tool, at: spec.At, args: l.factArgs(lang, i, name, spec, source)}
	}
}

// factSource finds the tool that gives a fact. It reports false after a
// finding, its own or one about that tool.
func (l *loader) factSource(i int, name string, spec abi.FactSpec) (*Tool, bool) {
	at := l.at("tools", i, "facts", name, "tool")
	switch declared, ok := l.declared(spec.Tool); {
	case !ok:
		l.fail(at, l.nearTools(spec.Tool), "the skill has no tool %s", spec.Tool)
		return nil, false
	case declared.Effect != abi.Read:
		l.fail(at, "", "%s is a write; a fact comes from a read", spec.Tool)
		return nil, false
	case len(declared.Facts) > 0:
		l.fail(at, "", "%s needs facts itself; a fact comes from a tool without", spec.Tool)
		return nil, false
	}
	index := slices.IndexFunc(l.m.Tools, func(t abi.Tool) bool { return t.Name == spec.Tool })
	source := l.tools[index]
	return source, source != nil && source.input != nil
}

func (l *loader) factArgs(lang language, i int, name string, spec abi.FactSpec, source *Tool) []factArg {
	var args []factArg
	for _, arg := range slices.Sorted(maps.Keys(spec.Args)) {
		at := l.at("tools", i, "facts", name, "args", arg)
		var want *types.Type
		if source.argShape.form == objectForm {
			field, known := source.argShape.fields[arg]
			if !known {
				l.fail(at, guess(arg, slices.Sorted(maps.Keys(source.argShape.fields))), "%s has no argument %s", spec.Tool, arg)
				continue
			}
			want = field.celType()
		}
		e := l.expression(lang, at, spec.Args[arg], nil)
		if e != nil && want != nil && !mayGive(want, e.result) {
			l.fail(at, "", "gives %s, but %s takes %s for %s", typeName(e.result), spec.Tool, typeName(want), arg)
		}
		args = append(args, factArg{arg, e})
	}
	for _, required := range source.input.schema.Required {
		if _, given := spec.Args[required]; !given {
			l.fail(l.at("tools", i, "facts", name), "", "%s needs the argument %s", spec.Tool, required)
		}
	}
	return args
}

// examples holds the examples against the schemas.
func (l *loader) examples(i int) {
	t := l.tools[i]
	for j, e := range t.Examples {
		at := func(field string) place { return l.at("tools", i, "examples", j, field) }
		if len(e.KV) > 0 && l.m.Capabilities.KV == nil {
			l.fail(at("kv"), "add capabilities.kv", "the skill has no namespace for these")
		}
		switch {
		case e.Problem != 0 && e.Returns != nil:
			l.fail(at("problem"), "", "an example returns something or is refused, not both")
		case e.Problem != 0 && !known(e.Problem):
			l.fail(at("problem"), "3100 to 3999 are the skill's own", "%d is not a code", e.Problem)
		}
		if e.Problem.Class() != abi.ClassArguments || e.Problem == 0 {
			l.exampleValue(at("args"), t.input)
		}
		if returns := at("returns"); returns.node != nil && t.output != nil {
			l.exampleValue(returns, t.output)
		}
	}
}

func known(c abi.Code) bool {
	return c >= abi.SkillRefused && c.Class() == abi.ClassBusiness || abi.RowOf(c).Code == c
}

func (l *loader) exampleValue(at place, v *validator) {
	for _, f := range v.check(at.node, maxProblems) {
		l.fail(place{path: joinPath(at.path, f.Field), line: f.line}, f.Hint, "the example breaks its schema: %s", f.Message)
	}
}
