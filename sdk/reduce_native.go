//go:build !wasip1

package sdk

import "github.com/sluicehq/sluice/abi"

// ReduceJSON serves one reduction by the reducer that this program declares, as
// the export sluice_reduce does in a module: an abi.Reduction in, the state
// keys that change out, both as JSON. The error is an *abi.Problem. Of the
// grants it uses Log only. It is what sdk/skilltest stands on.
func ReduceJSON(reduction []byte, g Grants) ([]byte, error) {
	if declared.reducer.serve == nil {
		return nil, abi.NewProblem(abi.BrokenContract, "%s has no reducer", declared.title())
	}
	state, problem := declared.reducer.serve(reduction, g)
	if problem != nil {
		return nil, problem
	}
	return state, nil
}
