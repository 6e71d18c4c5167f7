//go:build unix

package lint

import (
	"os/exec"
	"syscall"
)

// inGroup gives a command a process group of its own, and gives what kills all
// that is in it. It fails where nothing is.
func inGroup(c *exec.Cmd) (kill func() error) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
