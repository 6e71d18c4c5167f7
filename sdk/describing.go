//go:build !sluice_described

package sdk

// described says that the program has its description as a constant. This one
// makes it, when it is asked for.
const described = false
