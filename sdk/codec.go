package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// encode writes JSON as people write it: <, > and & stay as they are, since
// the model reads them.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decodeArgs reads a tool's arguments strictly into a pointer. No arguments
// are the empty object. The error is a 4xxx problem. What only a schema can
// tell, a missing field or a value out of range, the host has checked.
func decodeArgs(args []byte, into any) error {
	if len(args) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		return abi.NewProblem(abi.NotJSON, "there is more text after the arguments")
	}
	return argsProblem(err)
}

// maxEcho bounds, in runes, what a message repeats of the input.
const maxEcho = 80

func argsProblem(err error) *abi.Problem {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var notTime *time.ParseError
	unknown, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &wrong):
		return abi.NewProblem(abi.WrongType, "must be of type %s, not %.*s", jsonType(wrong.Type), maxEcho, wrong.Value).WithField(wrong.Field)
	case errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF):
		return abi.NewProblem(abi.NotJSON, "the arguments are not JSON")
	case errors.As(err, &notTime):
		return abi.NewProblem(abi.BadValue, "%.*q is not a time; write one such as 2026-01-15T12:00:00Z", maxEcho, strings.Trim(notTime.Value, `"`))
	case isUnknown:
		return abi.NewProblem(abi.UnknownField, "there is no argument %.*s", maxEcho, unknown).WithField(fmt.Sprintf("%.*s", maxEcho, strings.Trim(unknown, `"`)))
	}
	return abi.NewProblem(abi.BadArguments, "the arguments cannot be read: %.*s", maxEcho, err.Error())
}

// jsonType names the JSON type that a Go type is read from.
func jsonType(t reflect.Type) string {
	if name := scalar(t.Kind()); name != "" {
		return name
	}
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		return "array"
	}
	return "object"
}
