package lint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Bounds of what a command says, in bytes.
const (
	maxOutput = 64 << 10 // that are read: some hundred findings
	maxFlood  = 1 << 20  // then the command is killed: it does nothing but talk
)

// pipeWait bounds the wait for the output of a command that has ended: a child
// that it left behind may hold it.
const pipeWait = time.Second

// run runs a command on a copy of a file and reads what it says. An error
// means that it has not told whether the file is right.
func (l *Linter) run(ctx context.Context, argv []string, format string, content []byte) (found []Finding, said string, err error) {
	if l.folder != "" {
		if err := os.MkdirAll(l.folder, 0o700); err != nil {
			return nil, "", err
		}
	}
	folder, err := os.MkdirTemp(l.folder, "sluice-lint-")
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if removed := os.RemoveAll(folder); removed != nil {
			l.log.Warn("what a linter left cannot be removed", "folder", folder, "error", removed)
		}
	}()
	name := "file." + format // a name of the model's could be an option, or a place
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	out := &output{flooded: cancel}
	code, err := execute(ctx, folder, append(argv[:len(argv):len(argv)], name), out)
	said = string(out.kept)
	if found = findingsIn(said, name); len(found) > 0 {
		return found, said, nil // however it ended: it has found something
	}
	switch {
	case err != nil:
		return nil, said, err
	case code == 0:
		return nil, said, nil
	case crashed(said):
		return nil, said, fmt.Errorf("it crashed with %d", code)
	case strings.TrimSpace(said) == "":
		return nil, said, fmt.Errorf("it ended with %d and said nothing", code)
	}
	return []Finding{finding(0, 0, "%s", said)}, said, nil
}

// crashed reports whether an output is the trace of a program that died: words
// for operators, and with the host's paths in it.
func crashed(said string) bool {
	for _, mark := range []string{"Traceback (most recent call last)", "panic: ", "goroutine 1 [", "    at Object.<anonymous>", "Segmentation fault", "command not found"} {
		if strings.Contains(said, mark) {
			return true
		}
	}
	return false
}

// execute runs a command in a folder, without input and with no environment
// but PATH, and kills its whole process group in the end. It gives the exit
// code of one that ended by itself.
func execute(ctx context.Context, folder string, argv []string, out *output) (int, error) {
	program, err := exec.LookPath(argv[0])
	if err == nil && !filepath.IsAbs(program) {
		err = errors.New("it must be a name in PATH, or a path from the root: there is nothing beside the file")
	}
	if err != nil {
		return 0, err
	}
	c := exec.Command(program, argv[1:]...)
	c.Dir, c.Env = folder, []string{"PATH=" + os.Getenv("PATH")}
	whole, err := runGroup(ctx, c, out)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, errors.Join(context.Cause(ctx), err)
	case !whole:
		return 0, errors.Join(errors.New("something that it started was not at its end"), err)
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case err != nil:
		return 0, err
	}
	return 0, nil
}

// runGroup runs a command in a process group of its own, until it ends or the
// context does, and then kills what is left of the group, before anybody else
// can have its number. It reports whether all that wrote to out has ended by
// then.
func runGroup(ctx context.Context, c *exec.Cmd, out *output) (whole bool, err error) {
	from, to, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer from.Close()
	c.Stdout, c.Stderr = to, to
	g := inGroup(c)
	err = c.Start()
	to.Close()
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = g.kill() })
	defer stop()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(out, from) // the end of it, or that it was closed here
	}()
	err = g.ended()
	if err == nil {
		whole = within(pipeWait, read)
	}
	g.finish() // what it started and did not wait for; there is mostly nothing
	err = errors.Join(err, c.Wait())
	from.Close()
	<-read
	return whole, err
}

// within reports whether something ends in a time.
func within(d time.Duration, end <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-end:
		return true
	case <-timer.C:
		return false
	}
}

// An output keeps the beginning of what a command says, which writes both of its
// streams to one pipe.
type output struct {
	kept    []byte
	seen    int
	flooded func()
}

// Write takes all of it.
func (o *output) Write(p []byte) (int, error) {
	o.kept = append(o.kept, p[:min(len(p), maxOutput-len(o.kept))]...)
	if o.seen += len(p); o.seen > maxFlood {
		o.flooded()
	}
	return len(p), nil
}

// findingsIn reads the lines file:line:col: reason, file:line: reason and
// file(line,col): reason of an output.
func findingsIn(said, name string) []Finding {
	var found []Finding
	for line := range strings.Lines(said) {
		f, ok := findingIn(line, name)
		if ok {
			found = append(found, f)
		}
		if len(found) == MaxFindings {
			break
		}
	}
	return found
}

func findingIn(line, name string) (Finding, bool) {
	_, rest, about := strings.Cut(line, name)
	if !about || rest == "" || rest[0] != ':' && rest[0] != '(' {
		return Finding{}, false
	}
	row, rest := number(rest[1:])
	if row == 0 {
		return Finding{}, false
	}
	column := 0
	if rest != "" && (rest[0] == ':' || rest[0] == ',') {
		if n, after := number(rest[1:]); n > 0 {
			column, rest = n, after
		}
	}
	reason := plain(strings.TrimLeft(rest, ":) "))
	return Finding{Line: row, Column: column, Reason: reason}, reason != ""
}

// number reads the digits at the beginning of a text; 0 where there are none,
// or too many.
func number(text string) (int, string) {
	const most = 9 // digits that fit
	n, i := 0, 0
	for i < len(text) && i < most && text[i] >= '0' && text[i] <= '9' {
		n, i = 10*n+int(text[i]-'0'), i+1
	}
	return n, text[i:]
}
