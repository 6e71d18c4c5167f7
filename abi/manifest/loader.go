package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// A loader takes one manifest through the steps of its life and gathers the
// findings. It is used by one goroutine.
type loader struct {
	file    string
	fsys    fs.FS
	root    *node
	errs    Errors
	m       abi.Manifest
	tools   []*Tool // by index of m.Tools; nil where the form has findings
	schemas *schemas
	shapes  *shapes
	outputs map[string]*shape // of tools, by name
	state   *shape
	guide   string
}

func newLoader(file string, root *node, fsys fs.FS) *loader {
	return &loader{
		file: file, fsys: fsys, root: root, shapes: newShapes(), outputs: map[string]*shape{},
		schemas: newSchemas(fsys),
	}
}

func (l *loader) load() (*Skill, error) {
	if !l.form() || !l.decode() {
		return nil, l.errs.settle(l.file)
	}
	l.meaning()
	l.compileState()
	for i := range l.tools {
		if l.tools[i] != nil {
			l.compileSchemas(i)
		}
	}
	for i := range l.tools {
		if t := l.tools[i]; t != nil && t.input != nil {
			l.compileExpressions(i)
			l.examples(i)
		}
	}
	l.errs = append(l.errs, l.schemas.errs...)
	if len(l.errs) > 0 {
		return nil, l.errs.settle(l.file)
	}
	s := &Skill{Manifest: l.m, GuideText: l.guide, Tools: l.tools, byName: map[string]*Tool{}}
	for _, t := range l.tools {
		s.byName[t.Name] = t
	}
	return s, nil
}

// at finds a place of the manifest by names and indices.
func (l *loader) at(path ...any) place {
	tokens := make([]string, len(path))
	for i, p := range path {
		tokens[i] = fmt.Sprint(p)
	}
	return l.root.at(tokens)
}

func (l *loader) fail(at place, hint, format string, args ...any) {
	l.errs = append(l.errs, Issue{File: l.file, Line: at.line, Field: at.path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// form holds the tree against skill.schema.json. It reports false if there are
// too many findings to go on.
func (l *loader) form() bool { return l.hold(documentForm()) }

func (l *loader) hold(form *validator) bool {
	found := form.check(l.root, maxIssues)
	for _, f := range found {
		l.errs = append(l.errs, Issue{File: l.file, Line: f.line, Field: f.Field, Message: f.Message, Hint: f.Hint})
	}
	return len(found) < maxIssues
}

// decode fills the typed manifest. It reports false if nothing further can be
// checked. Tools whose form has findings are left out of the later steps.
func (l *loader) decode() bool {
	if err := json.Unmarshal(l.root.appendJSON(nil), &l.m); err != nil {
		if len(l.errs) == 0 {
			at := place{line: l.root.line}
			var mismatch *json.UnmarshalTypeError
			if errors.As(err, &mismatch) {
				at = l.root.at(strings.Split(mismatch.Field, "."))
			}
			l.fail(at, "", "cannot be read: %v", err)
		}
		return false
	}
	l.tools = make([]*Tool, len(l.m.Tools))
	for i, declared := range l.m.Tools {
		prefix := fmt.Sprintf("tools[%d]", i)
		if !slices.ContainsFunc(l.errs, func(e Issue) bool { return strings.HasPrefix(e.Field, prefix) }) {
			l.tools[i] = &Tool{Tool: withDefaults(declared), facts: map[string]fact{}}
		}
	}
	return true
}

// withDefaults fills in what a tool leaves out.
func withDefaults(t abi.Tool) abi.Tool {
	if t.Risk == "" {
		t.Risk = abi.Auto
		if t.Effect == abi.Write {
			t.Risk = abi.SoftGate
		}
	}
	if t.Breadth == "" && t.Effect == abi.Write {
		t.Breadth = abi.One
	}
	return t
}
