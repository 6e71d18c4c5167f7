package lint

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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
	tenantSlots  = 2                // of them for one tenant: files that hang its linter leave the others theirs
	treeSlots    = 2                // at once, of the files whose parser builds a tree: each takes up to some 50 MiB
	turnTime     = 3 * time.Second  // of the wait for a slot: whoever calls again comes later
)

// ErrBusy is the cause where a file was not looked at because too many others
// were: nothing is wrong with it or with its linter. Lint gives it with the code
// Unavailable; the caller tries again later.
var ErrBusy = errors.New("no linter was free")

// A Linter looks at files as Parse does, and for other formats runs the
// commands of the host's operator. A nil Linter has none, and does not bound how
// many files are parsed at once. It is safe for concurrent use.
type Linter struct {
	commands map[string][]string // argv by format
	log      *slog.Logger
	folder   string        // below which the copies are; empty for the system's
	slots    chan struct{} // of commands
	trees    chan struct{} // of parsers that build trees
	mu       sync.Mutex
	shares   map[host.TenantID]*share // guarded by mu; of those whose files a command looks at, or waits for
	patience time.Duration            // of one command
	turn     time.Duration            // of the wait for a slot
}

// New makes a linter that runs the commands of a policy; log tells operators of
// those that cannot run, and may be nil. Copies of files lie below the folder,
// which is made for the host's user alone: linters look for their configuration
// upwards from a file, and in the system's temporary folder, which an empty one
// stands for, anybody may put one.
func New(commands []manifest.Linter, log *slog.Logger, folder string) *Linter {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	l := &Linter{
		commands: map[string][]string{}, log: log, folder: folder,
		shares: map[host.TenantID]*share{},
		slots:  make(chan struct{}, commandSlots), trees: make(chan struct{}, treeSlots), patience: commandTime, turn: turnTime,
	}
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

// A share is what one tenant has of the slots.
type share struct {
	slots chan struct{}
	users int // guarded by the linter's mu
}

// Lint gives what is wrong with a file of a tenant's, at most MaxFindings, or
// nil. It waits a few seconds for its turn, and gives ErrBusy then. A format
// that nothing knows, and a command that could not do its work, give an error
// with the code Unavailable; that is not the same as a file without findings.
func (l *Linter) Lint(ctx context.Context, tenant host.TenantID, format string, content []byte) ([]Finding, error) {
	const op = "lint.Lint"
	if ctx.Err() != nil {
		return nil, host.Fail(op, nil, context.Cause(ctx))
	}
	argv := l.command(format)
	if argv == nil && !Parses(format) {
		return nil, host.Fail(op, abi.NewProblem(abi.Unavailable, "this host has nothing that looks at files of the format %.20q", format).
			WithHint("Operators: name a command for it under linters in the policy."), nil)
	}
	found, err := l.parse(ctx, format, content)
	if err != nil {
		return nil, host.Fail(op, busy(), err)
	}
	if len(found) > 0 || argv == nil {
		return found, nil
	}
	if len(content) > commandBytes {
		return []Finding{finding(0, 0, "the file has %d bytes; at most %d are looked at", len(content), commandBytes)}, nil
	}
	leave, err := l.enter(ctx, tenant)
	if err != nil {
		return nil, host.Fail(op, busy(), err)
	}
	defer leave()
	found, output, err := l.run(ctx, argv, format, content)
	if err != nil {
		l.log.Warn("a linter could not do its work", "command", argv[0], "format", format, "error", err, "output", plain(output))
		return nil, host.Fail(op, abi.NewProblem(abi.Unavailable, "the linter for files of the format %s could not do its work", format).
			WithHint("Tell the user that the file was not checked."), err)
	}
	return found, nil
}

// parse is Parse for as many files at once as the memory is for.
func (l *Linter) parse(ctx context.Context, format string, content []byte) ([]Finding, error) {
	if l != nil && grows(format) {
		if err := l.take(ctx, l.trees); err != nil {
			return nil, err
		}
		defer func() { <-l.trees }()
	}
	return Parse(format, content), nil
}

// enter waits for a slot of a command, first for one of the tenant's own share.
func (l *Linter) enter(ctx context.Context, tenant host.TenantID) (leave func(), err error) {
	s := l.share(tenant)
	if err := l.take(ctx, s.slots); err != nil {
		l.unshare(tenant, s)
		return nil, err
	}
	if err := l.take(ctx, l.slots); err != nil {
		<-s.slots
		l.unshare(tenant, s)
		return nil, err
	}
	return func() {
		<-l.slots
		<-s.slots
		l.unshare(tenant, s)
	}, nil
}

func (l *Linter) share(tenant host.TenantID) *share {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shares[tenant]
	if s == nil {
		s = &share{slots: make(chan struct{}, tenantSlots)}
		l.shares[tenant] = s
	}
	s.users++
	return s
}

func (l *Linter) unshare(tenant host.TenantID, s *share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(l.shares, tenant)
	}
}

// take waits for a slot. It gives ErrBusy, also where the caller's time is up
// before there is one.
func (l *Linter) take(ctx context.Context, slots chan struct{}) error {
	turn := time.NewTimer(l.turn)
	defer turn.Stop()
	select {
	case slots <- struct{}{}:
		return nil
	case <-turn.C:
		return ErrBusy
	case <-ctx.Done():
		return errors.Join(ErrBusy, context.Cause(ctx))
	}
}

// busy is the problem of a wait that has ended without a slot.
func busy() *abi.Problem {
	return abi.NewProblem(abi.Unavailable, "too many files are looked at right now").WithHint("Try again in a moment.")
}
