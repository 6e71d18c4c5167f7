package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// errTooSlow is the cause of a context that this package's own time-out ended.
var errTooSlow = errors.New("the registry's time-out passed")

func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, errTooSlow)
}

// failure makes the error that leaves the package. What was made inside as a
// *host.Error keeps its problem; everything else is what git, the network or
// the disk said, and gets the problem that fits, about the subject.
func failure(ctx context.Context, op, subject string, err error) error {
	var made *host.Error
	if errors.As(err, &made) {
		return host.Fail(op, made.Problem, made.Cause)
	}
	return host.Fail(op, problemOf(ctx, subject, err), err)
}

func problemOf(ctx context.Context, subject string, err error) *abi.Problem {
	var unexpected *plumbing.UnexpectedError // does not unwrap by itself
	if errors.As(err, &unexpected) {
		err = unexpected.Err
	}
	var notGit *packp.ErrUnexpectedData
	switch {
	case context.Cause(ctx) == errTooSlow:
		return abi.NewProblem(abi.RegistryFailure, "%s: no answer in time", subject).
			WithHint("try again, or raise the registry's time-out")
	case ctx.Err() != nil:
		return host.ProblemOf(ctx.Err())
	case errors.Is(err, errTooLarge):
		return abi.NewProblem(abi.ModuleTooLarge, "%s: %v", subject, err).
			WithHint("make the module smaller, or raise the registry's module limit (at most %s)", abi.ModuleBytesCeiling)
	case errors.Is(err, git.ErrRepositoryNotExists), errors.Is(err, transport.ErrRepositoryNotFound):
		return abi.NewProblem(abi.InvalidRegistry, "%s: there is no git repository", subject).
			WithHint("check the address; publishing with --create makes one at a path")
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return abi.NewProblem(abi.NotAllowed, "%s: the repository refuses access", subject).
			WithHint("check the user and the token in the registry's address")
	case errors.As(err, &notGit), errors.Is(err, pktline.ErrInvalidPktLen), errors.Is(err, packp.ErrEmptyInput):
		return abi.NewProblem(abi.InvalidRegistry, "%s: what answers there is not a git repository", subject).
			WithHint("give the address that git clone takes")
	case errors.Is(err, errDamaged), errors.Is(err, plumbing.ErrObjectNotFound):
		return abi.NewProblem(abi.InvalidRegistry, "%s: %v", subject, err).
			WithHint("run git fsck on the repository and restore what it misses")
	case errors.Is(err, errNotRelease):
		return abi.NewProblem(abi.InvalidRegistry, "%s: %v", subject, err).
			WithHint("publish a new version with sluice registry publish")
	}
	return abi.NewProblem(abi.RegistryFailure, "%s cannot be reached or read", subject).
		WithHint("check the address and the network, then try again")
}

// recovered turns a panic of the git library over damaged data into an error:
// one bad repository must not end a host that serves others. Panics of our own
// go on.
func recovered(err *error) {
	if caught := recover(); caught != nil {
		if text, ok := caught.(string); ok && strings.HasPrefix(text, "BUG:") {
			panic(caught)
		}
		*err = host.Fail("registry", abi.NewProblem(abi.InvalidRegistry, "the repository holds data that cannot be read").
			WithHint("run git fsck on it"), fmt.Errorf("panic: %v", caught))
	}
}

// maxCandidates is how many names or versions a problem lists: enough to find
// the right one, few enough to read.
const maxCandidates = 10

func emptyRegistry(p place) error {
	return host.Fail("registry", abi.NewProblem(abi.NotFound, "%s holds no release yet", p.name).
		WithHint("publish one with: sluice registry publish DIR --to %s", p.name), nil)
}

func unknownSkill(p place, skill string, all []Version) error {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Skill
	}
	names = slices.Compact(names)
	problem := abi.NewProblem(abi.NotFound, "%s has no skill %.80q", p.name, skill)
	if near := abi.Nearest(skill, names, maxCandidates); len(near) > 0 {
		return host.Fail("registry", problem.WithCandidates(near...).WithHint("did you mean %s?", near[0]), nil)
	}
	return host.Fail("registry", problem.WithCandidates(names[:min(len(names), maxCandidates)]...).
		WithHint("list what there is with: sluice registry list"), nil)
}

func noFit(p place, skill, text string, there []Version) error {
	var versions []string
	for _, v := range slices.Backward(there) {
		if len(versions) < maxCandidates {
			versions = append(versions, v.Version)
		}
	}
	return host.Fail("registry", abi.NewProblem(abi.NotFound, "%s has no release of %s that fits %.80q", p.name, skill, text).
		WithCandidates(versions...).WithHint("the newest is %s", versions[0]), nil)
}

func moved(p place, v Version, was, is string) error {
	return host.Fail("registry", abi.NewProblem(abi.InvalidRegistry,
		"%s of %s was moved: it was commit %.12s and is now %.12s; a release never changes", v, p.name, was, is).
		WithHint("put the tag back, and publish the change as a new version"), nil)
}
