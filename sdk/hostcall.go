package sdk

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

// argument writes the JSON argument of a host function.
func argument(v any) ([]byte, error) {
	b, err := encode(v)
	if err != nil {
		return nil, abi.NewProblem(abi.BadHostCall, "the argument of a host function cannot be written as JSON")
	}
	return b, nil
}

// result reads the JSON that a host function gave.
func result(b []byte, into any) error {
	if wire.Unmarshal(b, into) != nil {
		return abi.NewProblem(abi.SystemFailure, "the host gave something that cannot be read")
	}
	return nil
}
