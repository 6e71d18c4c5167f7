package sdk

import "github.com/sluicehq/sluice/abi"

// Check serves the export sluice_check, the skill's own opinion of a write
// before it runs: it may raise the tier with a reason, or refuse with a
// problem, and never loosens. It gets the call, the state and the facts, and
// no host functions but logs. In a file whose name ends in _wasip1.go:
//
//	//go:wasmexport sluice_check
//	func check() int32 { return sdk.Check(verdict) }
func Check(verdict func(Call) abi.Verdict) int32 {
	out, ok := declared.vet(input(), env{}, verdict)
	if !ok {
		return 1
	}
	output(out)
	return 0
}
