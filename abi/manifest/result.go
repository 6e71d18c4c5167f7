package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/sluicehq/sluice/abi"
)

// MaxArtifactNames bounds what one artifact of a call may name: a person who
// asked for more files would not look at them either.
const MaxArtifactNames = 100

// A check is a compiled abi.Check.
type check struct {
	that *expression
	say  *template // nil if it says nothing
}

// Format gives the format that the extension of a file stands for, which has one
// name whatever the file's is: yml is yaml, and others are what they say.
func Format(ext string) string {
	if ext == "yml" {
		return "yaml"
	}
	return ext
}

// An artifact is a compiled abi.Artifact.
type artifact struct {
	abi.Artifact
	names *expression // of files, or ids of blobs
}

// A NamedArtifact is an artifact of one call: what it must have written.
type NamedArtifact struct {
	abi.Artifact
	Names []string // paths, which may be patterns, or ids of blobs; one at least
}

// CheckResult holds the data of a result, Env.Data, against the tool's checks.
// It gives nil if all hold, and else a problem with the code Contradicted about
// the first that does not, or that cannot be decided. Safe for concurrent use.
func (t *Tool) CheckResult(env Env) *abi.Problem {
	if len(t.checks) == 0 {
		return nil
	}
	a := t.activate(env)
	for _, c := range t.checks {
		holds, err := c.that.holds(a)
		switch {
		case err != nil:
			return abi.NewProblem(abi.Contradicted, "the result of %s was not kept: whether %s could not be decided: %v", t.Name, c.that.source, err)
		case !holds && c.say != nil:
			return abi.NewProblem(abi.Contradicted, "the result of %s was not kept: %s", t.Name, c.say.render(a))
		case !holds:
			return abi.NewProblem(abi.Contradicted, "the result of %s was not kept: it does not hold that %s", t.Name, c.that.source)
		}
	}
	return nil
}

// ArtifactsOf gives what a call says that it has written, by Env.Data. A name
// that cannot be one, or none at all, is a problem with the code BadArtifact.
// Safe for concurrent use.
func (t *Tool) ArtifactsOf(env Env) ([]NamedArtifact, *abi.Problem) {
	if len(t.artifacts) == 0 {
		return nil, nil
	}
	a := t.activate(env)
	named := make([]NamedArtifact, len(t.artifacts))
	for i, declared := range t.artifacts {
		names, err := declared.of(a)
		if err != nil {
			return nil, abi.NewProblem(abi.BadArtifact, "%s was to write something, and what it wrote cannot be told by %s: %v", t.Name, declared.names.source, err)
		}
		named[i] = NamedArtifact{declared.Artifact, names}
	}
	return named, nil
}

func (d artifact) of(a *activation) ([]string, error) {
	v, err := d.names.eval(a)
	if err != nil {
		return nil, err
	}
	names, err := textsOf(v)
	if err != nil {
		return nil, err
	}
	if d.Blob != "" {
		return names, nil
	}
	for _, name := range names {
		if problem := checkArtifactPath(name); problem != nil {
			return nil, problem
		}
	}
	return names, nil
}

// textsOf reads one text, or a list of some, each once.
func textsOf(v ref.Val) ([]string, error) {
	if text, ok := v.(types.String); ok {
		return []string{strings.Clone(string(text))}, nil
	}
	items, ok := v.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("gave %s, not a name", v.Type().TypeName())
	}
	var texts []string
	for it := items.Iterator(); it.HasNext() == types.True; {
		text, ok := it.Next().(types.String)
		if !ok || len(texts) == MaxArtifactNames {
			return nil, fmt.Errorf("gave something else than up to %d names", MaxArtifactNames)
		}
		texts = append(texts, strings.Clone(string(text)))
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("gave no name")
	}
	slices.Sort(texts)
	return slices.Compact(texts), nil
}

// patternRunes are those of a pattern; no path has them.
const patternRunes = "*?"

// IsPattern reports whether an artifact's path matches names instead of being
// one.
func IsPattern(name string) bool { return strings.ContainsAny(name, patternRunes) }

// MatchPattern reports whether a path matches a pattern, part by part: * stands
// for any characters of one part, ? for one.
func MatchPattern(pattern, name string) bool {
	matched, err := path.Match(strings.ReplaceAll(pattern, "[", `\[`), name)
	return matched && err == nil
}

// checkArtifactPath is abi.CheckPath for what may be a pattern.
func checkArtifactPath(name string) *abi.Problem {
	return abi.CheckPath(strings.Map(func(r rune) rune {
		if strings.ContainsRune(patternRunes, r) {
			return 'x'
		}
		return r
	}, name))
}

// compileResult compiles the checks and artifacts of a tool. Their language has
// the tool's data beside what rules see.
func (l *loader) compileResult(i int) {
	t := l.tools[i]
	if len(t.Checks) == 0 && len(t.Artifacts) == 0 {
		return
	}
	t.dataShape = l.outputs[t.Name]
	lang, err := newLanguage(l.shapes, t.argShape, t.factShape, l.state, cel.Variable(varData, t.dataShape.celType()))
	if err != nil {
		l.fail(l.at("tools", i), "", "the expressions' language cannot be made: %v", err)
		return
	}
	lang.words = append(lang.words, append(fieldsOf(t.dataShape), varData)...)
	for j, c := range t.Checks {
		l.compileCheck(lang, i, j, c)
	}
	for j, a := range t.Artifacts {
		l.compileArtifact(lang, i, j, a)
	}
}

func (l *loader) compileCheck(lang language, i, j int, c abi.Check) {
	compiled := check{that: l.expression(lang, l.at("tools", i, "checks", j, "that"), c.That, types.BoolType)}
	if c.Say != "" {
		compiled.say = l.say(lang, l.at("tools", i, "checks", j, "say"), c.Say)
	}
	l.tools[i].checks = append(l.tools[i].checks, compiled)
}

func (l *loader) compileArtifact(lang language, i, j int, a abi.Artifact) {
	at := func(field string) place { return l.at("tools", i, "artifacts", j, field) }
	where, field := a.Path, at("path")
	switch {
	case (a.Path == "") == (a.Blob == ""):
		l.fail(l.at("tools", i, "artifacts", j), "write path for files, or blob for blobs", "an artifact has one of path and blob")
		return
	case a.Path != "" && l.m.Capabilities.Files != abi.AccessWrite:
		l.fail(field, "add capabilities.files: write", "the skill writes no files")
	case a.Blob != "" && l.m.Capabilities.Blob != abi.AccessWrite:
		l.fail(at("blob"), "add capabilities.blob: write", "the skill writes no blobs")
	}
	if a.Blob != "" {
		where, field = a.Blob, at("blob")
		if a.Existing {
			l.fail(at("existing"), "leave it out", "a blob that a call writes is always new")
		}
	}
	if a.Empty && a.MinBytes > 0 {
		l.fail(at("empty"), "leave one of them out", "it cannot be empty and have %v", a.MinBytes)
	}
	e := l.expression(lang, field, where, nil)
	if e == nil {
		return
	}
	if text := types.StringType; !mayGive(text, e.result) && !mayGive(types.NewListType(text), e.result) {
		l.fail(field, "", "gives %s, but must give a string or a list of strings", typeName(e.result))
	}
	if a.Path != "" {
		for _, name := range e.texts {
			if problem := checkArtifactPath(name); problem != nil {
				l.fail(field, "", "%s", problem.Message)
			}
		}
	}
	a.Format = Format(a.Format)
	l.tools[i].artifacts = append(l.tools[i].artifacts, artifact{a, e})
}

// literalTexts gives the texts that an expression is made of, where it is a
// text or a list and nothing is computed.
func literalTexts(e ast.Expr) []string {
	switch e.Kind() {
	case ast.LiteralKind:
		if text, ok := e.AsLiteral().(types.String); ok {
			return []string{string(text)}
		}
	case ast.ListKind:
		var texts []string
		for _, item := range e.AsList().Elements() {
			texts = append(texts, literalTexts(item)...)
		}
		return texts
	}
	return nil
}
