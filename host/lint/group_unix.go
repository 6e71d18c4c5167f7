//go:build linux || darwin

package lint

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"
)

// A group is the process group of a command that runs. Its number is that of its
// leader, and nobody else's as long as that was not waited for; so nothing is
// killed after that. It is safe for concurrent use.
type group struct {
	command *exec.Cmd
	mu      sync.Mutex
	over    bool // guarded by mu; the leader may have been waited for
}

// inGroup gives a command that is to start a process group of its own.
func inGroup(c *exec.Cmd) *group {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &group{command: c}
}

// kill kills all that is in the group, and fails where that is over.
func (g *group) kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return os.ErrProcessDone
	}
	return syscall.Kill(-g.command.Process.Pid, syscall.SIGKILL)
}

// ended waits until the leader has ended, and leaves it to be waited for.
func (g *group) ended() error {
	const byPid = 1     // P_PID of waitid(2)
	var info [16]uint64 // a siginfo_t, of up to 128 bytes
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(g.command.Process.Pid),
			uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		switch errno {
		case 0:
			return nil
		case syscall.EINTR:
		default:
			return errno
		}
	}
}

// finish kills the group for the last time; from here on its leader may be
// waited for.
func (g *group) finish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = syscall.Kill(-g.command.Process.Pid, syscall.SIGKILL)
	g.over = true
}
