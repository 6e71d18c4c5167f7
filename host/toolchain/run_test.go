package toolchain

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A compiler that hangs is killed with what it started, and the build says so,
// though what it started holds its output open.
func TestACompilerThatHangsIsKilledWithWhatItStarted(t *testing.T) {
	bin := folder(t, "clang", "#!/bin/sh\nsleep 600 &\necho $! > child\nwait\n")
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	dir := folder(t, "a.c", "")
	ctx, cancel := within(t.Context(), 300*time.Millisecond)
	defer cancel()
	c := languages()[3]
	err := c.build(ctx, c, dir, filepath.Join(dir, ModuleFile), nil)
	if p := host.ProblemOf(err); p.Code != abi.Deadline || !strings.Contains(p.Message, "was killed") || p.Hint == "" {
		t.Errorf("got %v", err)
	}
	child, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	if state, err := exec.Command("ps", "-o", "stat=", "-p", strings.TrimSpace(string(child))).Output(); err == nil && !strings.HasPrefix(string(state), "Z") {
		t.Errorf("what it started is in state %s", state)
	}
}

func TestABuildEndsWithItsCaller(t *testing.T) {
	bin := folder(t, "clang", "#!/bin/sh\necho $$ > started\nsleep 600\n")
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	dir := folder(t, "a.c", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := host.Fail("test", abi.NewProblem(abi.Cancelled, "the author went away"), nil)
	go func() {
		for _, err := os.Stat(filepath.Join(dir, "started")); err != nil; _, err = os.Stat(filepath.Join(dir, "started")) {
			time.Sleep(time.Millisecond)
		}
		cancel(gone)
	}()
	if err := Compile(ctx, dir, filepath.Join(dir, ModuleFile), nil); host.ProblemOf(err).Code != abi.Cancelled {
		t.Errorf("got %v", err)
	}
}

// Wrappers of compilers start servers that stay.
func TestACompilerThatLeavesAServerHasEnded(t *testing.T) {
	bin := folder(t, "clang", "#!/bin/sh\nsleep 20 &\nexit 0\n")
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	dir := folder(t, "a.c", "")
	if err := Compile(t.Context(), dir, filepath.Join(dir, ModuleFile), nil); err != nil {
		t.Error(err)
	}
}

// What a compiler says is for a person: the end of a flood is not kept, and the
// compiler is not held up.
func TestOfAFloodTheBeginningIsKept(t *testing.T) {
	bin := folder(t, "clang", "#!/bin/sh\necho first\nhead -c 1000000 /dev/zero | tr '\\0' x\nexit 1\n")
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	dir := folder(t, "a.c", "")
	p := host.ProblemOf(Compile(t.Context(), dir, filepath.Join(dir, ModuleFile), nil))
	if p.Code != abi.BadArguments || !strings.Contains(p.Message, "first") || len(p.Message) > saidBytes+1000 {
		t.Errorf("got code %d and %d bytes", p.Code, len(p.Message))
	}
}
