package sdk

// Every module has the export, and those of skills without rules nothing behind
// it. Whether there are any the manifest says.
//
//go:wasmexport sluice_hook
func exportHook() int32 {
	if declared.hooks.serve == nil {
		return 1
	}
	opinion, ok := declared.hooks.serve(&declared.hooks, input(), env{})
	if !ok {
		return 1
	}
	output(opinion)
	return 0
}
