//go:build !unix

package lint

import (
	"errors"
	"os/exec"
)

// inGroup refuses the command: without process groups, what it starts would
// outlive it.
func inGroup(c *exec.Cmd) (kill func() error) {
	c.Err = errors.New("this system has no process groups; linters run on Unix only")
	return func() error { return c.Err }
}
