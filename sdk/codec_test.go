package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// picky reads itself, and fails as types of authors do.
type picky struct{}

func (*picky) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `1`:
		return errors.New("not one")
	case `2`:
		var n struct{ N int }
		return json.Unmarshal([]byte(`{"N":"x"}`), &n)
	case `3`:
		return json.Unmarshal([]byte(`{`), new(int))
	case `4`:
		_, err := time.Parse(time.DateOnly, "soon")
		return fmt.Errorf("a day: %w", err)
	}
	return nil
}

func TestArgumentsThatDoNotFitAreProblemsWithAPath(t *testing.T) {
	type args struct {
		N     int8   `json:"n"`
		Quote int    `json:"quote,string"`
		Picky picky  `json:"picky"`
		In    []args `json:"in"`
	}
	for _, tt := range []struct {
		args, field, message string
		code                 abi.Code
	}{
		{`{"n":1,"in":[{"n":300}]}`, "in.n", "must be of type integer, not number 300", abi.WrongType},
		{`{"in":{"n":1}}`, "in", "must be of type array, not object", abi.WrongType},
		{`{"in":[{"N":[]}]}`, "in.n", "must be of type integer, not array", abi.WrongType},
		{`{"m":1}`, "m", `there is no argument "m"`, abi.UnknownField},
		{`{"in":[{"a\"b":1}]}`, `a\"b\`, `there is no argument "a\"b"`, abi.UnknownField},
		{`{"n":1`, "", "the arguments are not JSON", abi.NotJSON},
		{`{"n":1} {}`, "", "the arguments are not JSON", abi.NotJSON},
		{strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), "", "the arguments are not JSON", abi.NotJSON},
		{`{"quote":1}`, "", "the arguments cannot be read: json: invalid use of ,string struct tag", abi.BadArguments},
		{`{"picky":1}`, "", "the arguments cannot be read: not one", abi.BadArguments},
		{`{"in":[{"picky":2}]}`, "in.picky.N", "must be of type integer, not string", abi.WrongType},
		{`{"picky":3}`, "", "the arguments are not JSON", abi.NotJSON},
		{`{"picky":4}`, "", `"soon" is not a time`, abi.BadValue},
	} {
		t.Run(tt.args[:min(len(tt.args), 30)], func(t *testing.T) {
			err := decodeArgs([]byte(tt.args), new(args))
			p, ok := asProblem(err)
			if !ok || p.Code != tt.code || p.Field != strings.TrimSuffix(tt.field, `\`) && p.Field != tt.field || !strings.HasPrefix(p.Message, tt.message) {
				t.Errorf("problem %+v, want %d at %q: %s", p, tt.code, tt.field, tt.message)
			}
		})
	}
}

// known says itself which problem it is.
type known struct{}

func (known) Error() string { return "known" }
func (known) As(target any) bool {
	p, ok := target.(**abi.Problem)
	if ok {
		*p = &abi.Problem{Code: abi.Conflict}
	}
	return ok
}

func TestAProblemIsFoundWhereErrorsAsFindsIt(t *testing.T) {
	p := abi.NewProblem(abi.Conflict, "taken")
	for _, err := range []error{nil, p, (*abi.Problem)(nil), errors.New("x"), fmt.Errorf("a: %w", p), fmt.Errorf("a: %w", fmt.Errorf("b: %w", p)), errors.Join(errors.New("x"), p), errors.Join(errors.New("x")), fmt.Errorf("%w %w", errors.New("x"), fmt.Errorf("%w", p)), known{}, fmt.Errorf("%w", known{})} {
		var want *abi.Problem
		wantFound := errors.As(err, &want)
		got, found := asProblem(err)
		if found != wantFound || (got == nil) != (want == nil) || got != nil && got.Code != want.Code {
			t.Errorf("%v: %v, %v; want %v, %v", err, got, found, want, wantFound)
		}
	}
}
