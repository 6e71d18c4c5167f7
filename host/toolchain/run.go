package toolchain

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// compileTime is how long a build may take: ten times what a cold one takes on two
// busy processors. What takes longer hangs.
const compileTime = 10 * time.Minute

// pipesTime is how long the output of a compiler that was killed is waited for.
const pipesTime = 2 * time.Second

// Most bytes that are kept of what a compiler says: for a person, who reads its
// beginning, and for rustModule, which reads all messages of a large build.
const (
	saidBytes     = 64 << 10
	messagesBytes = 16 << 20
)

// kept keeps the first bytes that are written to it.
type kept struct {
	all  []byte
	most int
}

func (k *kept) Write(b []byte) (int, error) {
	k.all = append(k.all, b[:min(len(b), k.most-len(k.all))]...)
	return len(b), nil
}

// within ends a build that hangs.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	p := abi.NewProblem(abi.Deadline, "the compiler has not ended after %v and was killed, with all that it started", limit).
		WithHint("build again; if it hangs every time, run the compiler by hand with the same source")
	return context.WithTimeoutCause(ctx, limit, host.Fail("build", p, nil))
}

// compile runs a compiler in a skill's folder until it ends or the context does.
// What it says is the problem's message where it fails, and the hint what an author
// does about that.
func (l language) compile(ctx context.Context, build *exec.Cmd, dir string) error {
	said := &kept{most: saidBytes}
	build.Dir = dir
	build.Stderr = said
	if build.Stdout == nil {
		build.Stdout = said
	}
	inGroup(build)
	build.WaitDelay = pipesTime
	err := build.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it ended well; a server that it started, as some wrappers do, holds its output
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return host.Fail("build", abi.NewProblem(abi.Unavailable, "%s was not found, which compiles %s", build.Args[0], l.name).WithHint("%s", l.needs), nil)
	}
	text := strings.TrimSpace(string(said.all))
	if text == "" {
		text = build.Args[0] + ": " + err.Error()
	}
	code, hint := l.advise(text)
	return host.Fail("build", abi.NewProblem(code, "%s does not build:\n%s", dir, text).WithHint("%s", hint), nil)
}
