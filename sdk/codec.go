package sdk

import (
	"reflect"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

// encode writes JSON as people write it: <, > and & stay as they are, since
// the model reads them.
func encode(v any) ([]byte, error) { return wire.Marshal(v) }

// decodeArgs reads a tool's arguments strictly into a pointer. No arguments
// are the empty object. The error is a 4xxx problem. What only a schema can
// tell, a missing field or a value out of range, the host has checked.
func decodeArgs(args []byte, into any) error {
	if len(args) == 0 {
		return nil
	}
	if err := wire.UnmarshalStrict(args, into); err != nil {
		return argsProblem(err)
	}
	return nil
}

// maxEcho bounds, in runes, what a message repeats of the input.
const maxEcho = 80

func argsProblem(err error) *abi.Problem {
	if wrong := wire.AsTypeError(err); wrong != nil {
		return abi.NewProblem(abi.WrongType, "must be of type %s, not %.*s", jsonType(wrong.Type.Kind()), maxEcho, wrong.Value).WithField(wrong.Field)
	}
	if wire.IsSyntax(err) {
		return abi.NewProblem(abi.NotJSON, "the arguments are not JSON")
	}
	for inner := err; inner != nil; inner = unwrap(inner) {
		switch inner := inner.(type) {
		case *InstantError:
			return abi.NewProblem(abi.BadValue, "%s", inner.Error())
		case *wire.UnknownFieldError:
			return unknownField(inner.Name)
		}
		if value, ok := wire.AsTimeError(inner); ok {
			return abi.NewProblem(abi.BadValue, "%s", (&InstantError{strings.Trim(value, `"`)}).Error())
		}
	}
	return abi.NewProblem(abi.BadArguments, "the arguments cannot be read: %.*s", maxEcho, err.Error())
}

func unknownField(name string) *abi.Problem {
	quoted := quote(name)
	return abi.NewProblem(abi.UnknownField, "there is no argument %s", clip(quoted)).WithField(clip(strings.Trim(quoted, `"`)))
}

// clip gives the first maxEcho runes of a text.
func clip(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxEcho {
			return text[:i]
		}
	}
	return text
}

// jsonType names the JSON type that a Go type of that kind is read from.
func jsonType(k reflect.Kind) string {
	if name := scalar(k); name != "" {
		return name
	}
	if k == reflect.Slice || k == reflect.Array {
		return "array"
	}
	return "object"
}
