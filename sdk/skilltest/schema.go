package skilltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/sluicehq/sluice/abi"
)

// schemas are the compiled schemas of one tool; the zero value, of a tool that
// does not exist, accepts everything.
type schemas struct{ input, output *jsonschema.Schema }

func compile(m abi.Manifest) (map[string]schemas, error) {
	all := map[string]schemas{}
	for _, tool := range m.Tools {
		input, err := compileOne(tool.Name+"/input.json", tool.Input)
		if err != nil {
			return nil, err
		}
		output, err := compileOne(tool.Name+"/output.json", tool.Output)
		if err != nil {
			return nil, err
		}
		all[tool.Name] = schemas{input, output}
	}
	return all, nil
}

func compileOne(name string, raw json.RawMessage) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource(name, bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	s, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return s, nil
}

// checkArgs gives the problem that the host answers arguments with that do not
// fit, or nil.
func (s schemas) checkArgs(args string) *abi.Problem {
	if s.input == nil {
		return nil
	}
	v, err := decode([]byte(args))
	if err != nil {
		return abi.NewProblem(abi.NotJSON, "the arguments are not JSON")
	}
	var invalid *jsonschema.ValidationError
	if err := s.input.Validate(v); errors.As(err, &invalid) {
		return argsProblem(deepest(invalid))
	}
	return nil
}

// checkData gives what is wrong with a tool's data, or nil.
func (s schemas) checkData(data json.RawMessage) error {
	v, err := decode(data)
	if err != nil {
		return err
	}
	return s.output.Validate(v)
}

func argsProblem(e *jsonschema.ValidationError) *abi.Problem {
	path := strings.Split(e.InstanceLocation, "/")[1:]
	code := abi.BadValue
	switch keyword := e.KeywordLocation[strings.LastIndex(e.KeywordLocation, "/")+1:]; keyword {
	case "required":
		code, path = abi.Missing, append(path, firstQuoted(e.Message))
	case "additionalProperties":
		code, path = abi.UnknownField, append(path, firstQuoted(e.Message))
	case "type":
		code = abi.WrongType
	}
	return abi.NewProblem(code, "%s", e.Message).WithField(fieldPath(path))
}

// firstQuoted gives the first name that a message of the validator has in
// quotes: the member that is missing or too much.
func firstQuoted(message string) string {
	_, rest, _ := strings.Cut(message, "'")
	name, _, _ := strings.Cut(rest, "'")
	return name
}

// fieldPath writes a path as problems do, such as "flights[1].date".
func fieldPath(path []string) string {
	var b strings.Builder
	for _, part := range path {
		if _, err := strconv.Atoi(part); err == nil {
			b.WriteString("[" + part + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}

// deepest gives the first cause that has no cause of its own.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return e
}

func decode(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more text after the JSON value")
	}
	return v, nil
}
