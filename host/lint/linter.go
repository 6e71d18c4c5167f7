package lint

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// Bounds of an operator's commands.
const (
	commandTime  = 10 * time.Second // of one: what a linter of one file takes, with a slow start
	commandSlots = 4                // at once: a command takes a core and some hundred MiB
	commandBytes = maxStreamed      // of a file that one is given
)

// A Linter looks at files as Parse does, and for other formats runs the
// commands of the host's operator. A nil Linter has none. It is safe for
// concurrent use.
type Linter struct {
	commands map[string][]string // argv by format
	log      *slog.Logger
	slots    chan struct{}
	patience time.Duration // of one command
}

// New makes a linter that runs the commands of a policy; log tells operators of
// those that cannot run, and may be nil.
func New(commands []manifest.Linter, log *slog.Logger) *Linter {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	l := &Linter{commands: map[string][]string{}, log: log, slots: make(chan struct{}, commandSlots), patience: commandTime}
	for _, c := range commands {
		for _, ext := range c.Ext {
			l.commands[FormatOf("."+ext)] = c.Run
		}
	}
	return l
}

// Knows reports whether there is anything that looks at files of a format.
func (l *Linter) Knows(format string) bool { return Parses(format) || l.command(format) != nil }

func (l *Linter) command(format string) []string {
	if l == nil || format == "" {
		return nil
	}
	return l.commands[format]
}

// Lint gives what is wrong with a file, at most MaxFindings, or nil. A format
// that nothing knows, and a command that could not do its work, give an error
// with the code Unavailable; that is not the same as a file without findings.
func (l *Linter) Lint(ctx context.Context, format string, content []byte) ([]Finding, error) {
	const op = "lint.Lint"
	if ctx.Err() != nil {
		return nil, host.Fail(op, nil, context.Cause(ctx))
	}
	argv := l.command(format)
	if argv == nil && !Parses(format) {
		return nil, host.Fail(op, abi.NewProblem(abi.Unavailable, "this host has nothing that looks at files of the format %.20q", format).
			WithHint("Operators: name a command for it under linters in the policy."), nil)
	}
	if found := Parse(format, content); len(found) > 0 || argv == nil {
		return found, nil
	}
	if len(content) > commandBytes {
		return []Finding{finding(0, 0, "the file has %d bytes; at most %d are looked at", len(content), commandBytes)}, nil
	}
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, host.Fail(op, nil, context.Cause(ctx))
	}
	defer func() { <-l.slots }()
	found, output, err := l.run(ctx, argv, format, content)
	if err != nil {
		l.log.Warn("a linter could not do its work", "command", argv[0], "format", format, "error", err, "output", plain(output))
		return nil, host.Fail(op, abi.NewProblem(abi.Unavailable, "the linter for files of the format %s could not do its work", format).
			WithHint("Tell the user that the file was not checked."), err)
	}
	return found, nil
}
