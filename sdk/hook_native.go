//go:build !wasip1

package sdk

// HookJSON serves one occasion by the rules that this program declares, as the
// export sluice_hook does in a module: an abi.Occasion in, an abi.Opinion out,
// both as JSON. It reports false where the module would end without an opinion.
// Of the grants it uses Log only. It is what sdk/skilltest stands on.
func HookJSON(occasion []byte, g Grants) (opinion []byte, ok bool) {
	if declared.hooks.serve == nil {
		return nil, false
	}
	return declared.hooks.serve(&declared.hooks, occasion, g)
}
