package sdk

import "github.com/sluicehq/sluice/abi"

// env is what host functions are reached through: in a guest, the imports.
type env = struct{}

//go:wasmexport sluice_abi
func exportABI() int32 { return abi.Version }

//go:wasmexport sluice_describe
func exportDescribe() int32 {
	if described && declared.description == "" {
		extismErrorSet(newBlock(encodeProblem(abi.NewProblem(abi.InvalidManifest, "the skill is built without its description").
			WithHint("Build it with `sluice skill build`, or without the tag sluice_described."))))
		return 1
	}
	manifest, err := declared.describe()
	if err != nil {
		extismErrorSet(newBlock(encodeProblem(err)))
		return 1
	}
	output(manifest)
	return 0
}

//go:wasmexport sluice_invoke
func exportInvoke() int32 {
	output(declared.invoke(input(), env{}))
	return 0
}
