package sdk

import (
	"reflect"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

// Declared is what a declaration gives back, so that it can stand at package
// level: var _ = sdk.Tool(...). It holds nothing.
type Declared struct{}

// declared is the skill of this program. Package variables are the only place
// where a WebAssembly reactor, which has no main, can say what it offers; they
// are set before the first call and only read afterwards.
var declared skill

// Skill declares the skill of this program: its name (lower-case words joined
// by dots), its semantic version and one line about it for people. It must be
// declared exactly once. Mistakes do not stop the program: they are all
// reported by sluice_describe and by skilltest.
func Skill(name, version, summary string, options ...SkillOption) Declared {
	declared.declare(name, version, summary, options)
	return Declared{}
}

// Tool declares one tool: its name (lower-case words joined by underscores)
// and the handler that serves it. In is a struct, or a map with text keys, and
// gives the input schema; Out gives the output schema, or is Result[T] and T
// gives it. Tools keep the order in which they are declared.
func Tool[In, Out any](name string, handler func(Call, In) (Out, error), options ...ToolOption) Declared {
	declared.add(newTool(name, handler, options))
	return Declared{}
}

// A skill is everything that one program declares.
type skill struct {
	count       int // how often Skill was called
	manifest    abi.Manifest
	tools       []*tool
	description string // the manifest as JSON, once it is made
	reducer     reducer
	hooks       hooks
	kept        []reflect.Type // what is in the store and the state, where there are no examples to tell
}

// A tool is one declared tool with its handler.
type tool struct {
	abi.Tool
	in, out  reflect.Type
	serve    func(c Call, args []byte) (any, error)
	examples []example
	faults   []string // what is wrong with the declaration
}

func (s *skill) declare(name, version, summary string, options []SkillOption) {
	s.count++
	s.manifest = abi.Manifest{Sluice: abi.Version, Name: name, Version: version, Summary: summary, ABI: abi.Version}
	if described {
		return
	}
	for _, o := range options {
		o.applySkill(&s.manifest)
	}
}

func (s *skill) add(t *tool) { s.tools = append(s.tools, t) }

// keeps notes the type of a value that is kept in the store or in the state,
// so that warm can make its plan although there are no examples.
func (s *skill) keeps(t reflect.Type) {
	if t != nil && !slices.Contains(s.kept, t) {
		s.kept = append(s.kept, t)
	}
}

// find gives the tool of that name, or nil.
func (s *skill) find(name string) *tool {
	for _, t := range s.tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

func (s *skill) toolNames() []string {
	names := make([]string, len(s.tools))
	for i, t := range s.tools {
		names[i] = t.Name
	}
	return names
}

func newTool[In, Out any](name string, handler func(Call, In) (Out, error), options []ToolOption) *tool {
	t := &tool{Tool: abi.Tool{Name: name, Effect: abi.Read}, in: reflect.TypeFor[In](), out: dataType[Out]()}
	if !described {
		t.refine(options)
	}
	var start In
	if err := fillDefaults(reflect.ValueOf(&start).Elem()); err != nil {
		t.fault(err.Error())
	}
	if handler == nil {
		t.fault("the handler is nil")
	}
	wire.Prepare(t.in)
	wire.Prepare(t.out)
	t.serve = func(c Call, args []byte) (any, error) {
		in := start
		if err := decodeArgs(args, &in); err != nil {
			return nil, err
		}
		return handler(c, in)
	}
	return t
}

func (t *tool) refine(options []ToolOption) {
	for _, o := range options {
		o.applyTool(t)
	}
}

func (t *tool) fault(text string) { t.faults = append(t.faults, text) }
