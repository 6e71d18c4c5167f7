//go:build !unix

package toolchain

import "os/exec"

// inGroup does nothing where there are no process groups: the compiler is killed,
// and what it started may go on.
func inGroup(*exec.Cmd) {}
