package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestAnErrorSaysEachThingOnce(t *testing.T) {
	gone := func() *abi.Problem {
		return abi.NewProblem(abi.NotFound, "there is no memory \"x\"").WithHint("list them")
	}
	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{"a problem that two packages pass on", "sluice: there is no memory \"x\"\nhint: list them\n", host.Fail("keeper.Why", gone(), host.Fail("state.Write", gone(), gone()))},
		{"a cause of its own", "sluice: the store could not do this: disk full\n", host.Fail("state.Write", abi.NewProblem(abi.StoreFailure, "the store could not do this"), errors.New("disk full"))},
		{"a cause that tells more of the same", "sluice: the store could not do this: disk full\n",
			host.Fail("a.B", abi.NewProblem(abi.StoreFailure, "the store could not do this"), errors.New("the store could not do this: disk full"))},
		{"what is said around a problem", "sluice: call_1: there is no memory \"x\"\nhint: list them\n", fmt.Errorf("call_1: %w", host.Fail("keeper.Why", gone(), gone()))},
		{"a problem within words", "sluice: line 2: there is no memory \"x\"\n", fmt.Errorf("line 2: %w", gone())},
		{"an error", "sluice: disk full\n", errors.New("disk full")},
	} {
		var out bytes.Buffer
		(&program{stderr: &out}).tell(tt.err)
		if out.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, out.String(), tt.want)
		}
	}
}
