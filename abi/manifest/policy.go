package manifest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/sluicehq/sluice/abi"
)

//go:embed policy.schema.json
var policySchema []byte

// policyForm is the compiled schema of policy.yaml; it never changes.
var policyForm = sync.OnceValue(func() *validator { return compileForm("policy.schema.json", policySchema) })

// A Policy is what an operator forbids and opens: the red lines, compiled, the
// policy modules, the linters, the ranges of addresses, and what is remembered. It is immutable and
// safe for concurrent use; a nil Policy has nothing of it.
type Policy struct {
	lines   []redLine
	tool    *Tool // gives the expressions their variables, in any form
	hooks   []PolicyHook
	opened  []netip.Prefix
	linters []Linter
	memory  []PolicyMemory
}

// A Linter is a command of the operator that looks at files.
type Linter struct {
	Ext []string `json:"ext"` // of the files, in lower case and without a dot, as Format names them
	Run []string `json:"run"` // the program and its arguments; the file's name is added
}

// Linters gives the commands that look at files; an extension is in one at most.
// The caller must not change them.
func (p *Policy) Linters() []Linter {
	if p == nil {
		return nil
	}
	return p.linters
}

// A redLine is one line of a policy, compiled.
type redLine struct {
	name  string
	tools []string // globs
	tier  abi.Tier
	when  *expression
	say   *template // nil where nothing is said
}

// A Crossed is a red line that applies to a call.
type Crossed struct {
	Name string
	Tier abi.Tier
	Say  string
}

// ParsePolicy reads a policy.yaml, whose form is that of policy.schema.json,
// and compiles its expressions; name stands in the findings. Arguments, state
// and facts can be anything there, since a line may be about many tools. The
// error is of type Errors and names the lines.
func ParsePolicy(name string, yaml []byte) (*Policy, error) {
	if len(yaml) > MaxFileBytes {
		return nil, Errors{{File: name, Message: fmt.Sprintf("is larger than %d bytes", MaxFileBytes)}}
	}
	root, found := readYAML(yaml)
	if len(found) > 0 {
		return nil, found.inFile(name).settle(name)
	}
	l := newLoader(name, root, nil)
	if l.hold(policyForm()); len(l.errs) > 0 {
		return nil, l.errs.settle(name)
	}
	p := l.policy()
	l.policyHooks(p)
	l.policyEgress(p)
	l.policyMemory(p)
	if len(l.errs) > 0 {
		return nil, l.errs.settle(name)
	}
	return p, nil
}

func (l *loader) policy() *Policy {
	var declared struct {
		Lines []struct {
			Name, When, Say string
			Tools           []string
			Tier            abi.Tier
		} `json:"red_lines"`
		Linters []Linter `json:"linters"`
	}
	if err := json.Unmarshal(l.root.appendJSON(nil), &declared); err != nil {
		l.fail(place{line: l.root.line}, "", "cannot be read: %v", err)
		return nil
	}
	lang, open, err := openLanguage(l.shapes)
	if err != nil {
		l.fail(place{line: l.root.line}, "", "the expressions' language cannot be made: %v", err)
		return nil
	}
	p := &Policy{tool: open, linters: declared.Linters}
	l.linters(declared.Linters)
	for i, d := range declared.Lines {
		line := redLine{name: d.Name, tools: d.Tools, tier: d.Tier}
		if slices.ContainsFunc(p.lines, func(other redLine) bool { return other.name == d.Name }) {
			l.fail(l.at("red_lines", i, "name"), "the audit log tells them apart by it", "the name %s stands twice", d.Name)
		}
		if line.tier == "" {
			line.tier = abi.Block
		}
		if line.when, err = lang.compile(d.When, types.BoolType); err == nil {
			err = line.when.namesState()
		}
		if err != nil {
			l.badExpression(l.at("red_lines", i, "when"), err)
		}
		if d.Say != "" {
			if line.say, err = lang.template(d.Say); err == nil {
				err = line.say.namesState()
			}
			if err != nil {
				l.badExpression(l.at("red_lines", i, "say"), err)
			}
		}
		p.lines = append(p.lines, line)
	}
	return p
}

// linters refuses an extension that two commands are for, also under its other
// name, and leaves one name of each.
func (l *loader) linters(declared []Linter) {
	taken := map[string]int{} // by which command
	for i, linter := range declared {
		var formats []string
		for j, ext := range linter.Ext {
			format := Format(ext)
			if by, twice := taken[format]; twice && (by != i || slices.Contains(linter.Ext[:j], ext)) {
				l.fail(l.at("linters", i, "ext", j), "one command looks at a file, and yml is yaml", "the extension %s stands twice", ext)
			}
			taken[format] = i
			if !slices.Contains(formats, format) {
				formats = append(formats, format)
			}
		}
		declared[i].Ext = formats
	}
}

// openLanguage is the language of expressions about any tool's calls, and a
// tool that gives them their variables.
func openLanguage(objects *shapes) (language, *Tool, error) {
	open := &shape{form: mapForm} // what differs from tool to tool
	lang, err := newLanguage(objects, open, open, open, policyOptions()...)
	lang.words = append(lang.words, varTool, varSkill, funcCount)
	return lang, &Tool{argShape: open, factShape: open, stateShape: open}, err
}

// policyOptions are what a policy's expressions have beyond a manifest's.
func policyOptions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable(varTool, types.StringType), cel.Variable(varSkill, types.StringType),
		cel.Function(funcCount, cel.Overload("count_string_duration", []*types.Type{types.StringType, types.DurationType},
			types.IntType, cel.LateFunctionBinding())),
	}
}

// Crossed gives the red lines that apply to a call, in the order of the file:
// those about its tool, by the tool's name alone or after its skill's, whose
// condition holds or cannot be decided. It never looks at the others' calls.
func (p *Policy) Crossed(env Env) []Crossed {
	if p == nil {
		return nil
	}
	var crossed []Crossed
	a := p.tool.activate(env)
	for _, l := range p.lines {
		if !l.about(env) {
			continue
		}
		holds, err := l.when.holds(a)
		switch {
		case err != nil:
			crossed = append(crossed, Crossed{l.name, l.tier, fmt.Sprintf("Whether %s could not be decided, so it counts as if it did: %v.", l.when.source, err)})
		case holds && l.say != nil:
			crossed = append(crossed, Crossed{l.name, l.tier, l.say.render(a)})
		case holds:
			crossed = append(crossed, Crossed{l.name, l.tier, ""})
		}
	}
	return crossed
}

func (l redLine) about(env Env) bool {
	for _, glob := range l.tools {
		for _, name := range []string{env.Tool, env.Skill + "." + env.Tool} {
			if matched, err := path.Match(glob, name); matched || err != nil {
				return true
			}
		}
	}
	return false
}
