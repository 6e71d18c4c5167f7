package sdk

import (
	"reflect"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

// An ExampleOption says what holds before an example, or how it ends.
type ExampleOption interface{ applyExample(*example) }

type exampleOption func(*example)

func forExample(apply func(*example)) ExampleOption {
	if described {
		return nil
	}
	return exampleOption(apply)
}

func (o exampleOption) applyExample(e *example) { o(e) }

// An example is an abi.Example before it is written as JSON. That waits until
// the skill is described: calls, which load the declarations too, need none.
type example struct {
	say       string
	args      any
	kv, state map[string]any
	returns   []any // one value, or none if it only has to succeed
	problem   abi.Code
}

// Example shows the tool at work: what a user says, the arguments that follow
// from it, and by its options what holds before and how it ends. Every example
// is run by the tests of the skill and before it is released. Without an
// ending it only has to succeed.
func Example(say string, args any, options ...ExampleOption) ToolOption {
	return forTool(func(t *tool) {
		e := example{say: say, args: args, kv: map[string]any{}, state: map[string]any{}}
		for _, o := range options {
			o.applyExample(&e)
		}
		t.examples = append(t.examples, e)
	})
}

// Seed puts a value into the kv namespace before the example.
func Seed(key string, value any) ExampleOption {
	if described {
		declared.keeps(reflect.TypeOf(value))
	}
	return forExample(func(e *example) { e.kv[key] = value })
}

// SeedState puts a value into the session state before the example.
func SeedState(key string, value any) ExampleOption {
	if described {
		declared.keeps(reflect.TypeOf(value))
	}
	return forExample(func(e *example) { e.state[key] = value })
}

// Returns says that the example succeeds with exactly this data.
func Returns(data any) ExampleOption {
	return forExample(func(e *example) { e.returns = []any{data} })
}

// Refuses says that the example ends in a problem with this code.
func Refuses(code abi.Code) ExampleOption {
	return forExample(func(e *example) { e.problem = code })
}

// prepare makes the plans of the types that the example seeds: the handler
// reads them from the store and the state.
func (e example) prepare() {
	for _, values := range []map[string]any{e.kv, e.state} {
		for _, v := range values {
			if v != nil {
				wire.Prepare(reflect.TypeOf(v))
			}
		}
	}
}

// describe writes the example as JSON, and says what cannot be written.
func (e example) describe() (abi.Example, []string) {
	var faults []string
	write := func(what string, v any) abi.RawMessage {
		b, err := encode(v)
		if err != nil {
			faults = append(faults, "example "+quote(e.say)+": "+what+" cannot be written as JSON: "+err.Error())
		}
		return b
	}
	described := abi.Example{Say: e.say, Args: write("the arguments", e.args), Problem: e.problem}
	described.KV = writeAll(e.kv, "the seed ", write)
	described.State = writeAll(e.state, "the state ", write)
	for _, data := range e.returns {
		described.Returns = write("what it returns", data)
	}
	return described, faults
}

func writeAll(values map[string]any, what string, write func(string, any) abi.RawMessage) map[string]abi.RawMessage {
	all := make(map[string]abi.RawMessage, len(values))
	for key, v := range values {
		all[key] = write(what+quote(key), v)
	}
	return all
}
