package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// maxBodyBytes bounds a request's body: several times what the agent takes as
// one input, with room for JSON's escapes.
const maxBodyBytes = 1 << 20

// decode reads the body into a struct. It takes one JSON object whose members
// are the struct's, each at most once and spelt exactly so.
func decode(r *http.Request, into any) *refusal {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return refuse(abi.NewProblem(abi.InputLimit, "the body is larger than %d bytes", tooLarge.Limit))
		}
		return refuse(abi.NewProblem(abi.NotJSON, "the body could not be read to its end"))
	}
	if _, err := host.Canonical(raw); err != nil {
		return refuse(abi.NewProblem(abi.NotJSON, "the body is not JSON: %v", err).WithHint("send one JSON object"))
	}
	if problem := decodeObject(raw, into); problem != nil {
		return refuse(problem)
	}
	return nil
}

func decodeObject(raw []byte, into any) *abi.Problem {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return abi.NewProblem(abi.WrongType, "the body is not a JSON object")
	}
	known := fieldNames(into)
	for name := range members {
		if !slices.Contains(known, name) {
			return unknownField(name, known)
		}
	}
	if err := json.Unmarshal(raw, into); err != nil {
		problem := abi.NewProblem(abi.WrongType, "a value has the wrong type")
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return abi.NewProblem(abi.WrongType, "want %s, got %s", wanted(wrong.Type), wrong.Value).WithField(wrong.Field)
		}
		return problem
	}
	return nil
}

// wanted names what a field takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "text"
}

func unknownField(name string, known []string) *abi.Problem {
	problem := abi.NewProblem(abi.UnknownField, "there is no field %.80q here", name).WithField(name)
	if near := abi.Nearest(name, known, 1); len(near) > 0 {
		return problem.WithCandidates(near...).WithHint("did you mean %s?", near[0])
	}
	return problem.WithCandidates(known...).WithHint("give only %s", strings.Join(known, ", "))
}

// fieldNames gives the JSON names of a struct's fields.
func fieldNames(into any) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		names = append(names, f.Tag.Get("json"))
	}
	return names
}

// validText refuses a text that could not be an id: such texts become parts of
// keys and of response headers.
func validText(field, text string) *refusal {
	var wrong string
	switch {
	case len(text) > host.MaxIDBytes:
		wrong = fmt.Sprintf("it has %d bytes; give at most %d", len(text), host.MaxIDBytes)
	case !utf8.ValidString(text):
		wrong = "it is not UTF-8"
	case strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		wrong = "it has a control character"
	default:
		return nil
	}
	return refuse(abi.NewProblem(abi.BadValue, "%s cannot be used: %s", field, wrong).WithField(field))
}
