//go:build unix

package toolchain

import (
	"os/exec"
	"syscall"
)

// inGroup gives a command a process group of its own, which is killed as a whole
// when its context ends: clang and cargo start others, which would go on.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
