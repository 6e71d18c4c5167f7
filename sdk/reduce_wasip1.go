package sdk

// Every module has the export, and those of skills without a reducer nothing
// behind it. Whether there is one the manifest says.
//
//go:wasmexport sluice_reduce
func exportReduce() int32 {
	if declared.reducer.serve == nil {
		return 1
	}
	state, problem := declared.reducer.serve(input(), env{})
	if problem != nil {
		extismErrorSet(newBlock(encodeProblem(problem)))
		return 1
	}
	output(state)
	return 0
}
