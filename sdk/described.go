//go:build sluice_described

package sdk

// described says that the program has its description as a constant. Nothing
// that only a description needs is linked in then: options, schemas, examples.
const described = true

// Described gives the skill of this program its description, the abi.Manifest
// as JSON. It stands in the file that `sluice skill build` adds when it builds
// a skill for the second time, and nowhere else.
func Described(manifest string) Declared {
	declared.description = manifest
	return Declared{}
}
