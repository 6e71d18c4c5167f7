package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/lint"
)

// Bounds of the look at what a call has written.
const (
	lintTime     = 10 * time.Second // of one attempt: it has to fit into the lease beside the runs
	lintFiles    = 50               // that nobody has declared: a model reads about no more
	lintFindings = 10               // that the model is told: as long as a result
)

// verify holds the result against everything that the manifest says of it. That
// a guest ended well says nothing: its data must keep the output schema, a
// change of state must be of one kind that is declared, the checks must hold,
// and what it says that it wrote must be there. All of it is looked at as the
// call would leave it, before any of it is kept.
func (f *flight) verify(ctx context.Context) *abi.Problem {
	f.outcome.Findings = nil
	if len(f.reply.Data) == 0 {
		f.reply.Data = json.RawMessage("null")
	}
	if problem := f.entry.Tool.CheckOutput(f.reply.Data); problem != nil {
		return problem
	}
	if problem := f.verifyState(); problem != nil {
		return problem
	}
	env := f.env
	env.Data = f.reply.Data
	if problem := f.entry.Tool.CheckResult(env); problem != nil {
		return problem
	}
	artifacts, problem := f.entry.Tool.ArtifactsOf(env)
	if problem != nil {
		return problem
	}
	return f.verifyWritten(ctx, artifacts)
}

// verifyWritten looks at what the call has written: at its artifacts, which
// must be as declared, and then at its other files, of which the model is told
// what is wrong.
func (f *flight) verifyWritten(ctx context.Context, artifacts []manifest.NamedArtifact) *abi.Problem {
	view := f.grant.Files()
	if view == nil && len(artifacts) == 0 {
		return nil
	}
	v := verification{flight: f, view: view, clean: map[string]bool{}, until: time.Now().Add(lintTime)}
	if view != nil {
		v.written = view.Written()
	}
	for _, a := range artifacts {
		if problem := v.artifact(ctx, a); problem != nil {
			if ctx.Err() != nil {
				return stopped(ctx)
			}
			return problem
		}
	}
	v.others(ctx)
	return nil
}

// A verification is the look at what one attempt has written.
type verification struct {
	*flight
	view    *files.View     // nil where the call has no files
	written []files.Written // what Keep would keep: nobody changes these bytes any more
	clean   map[string]bool // files that were found clean in the format of their names
	until   time.Time       // when the time for linters is up
}

// lint looks at one file while there is time. A linter that takes too long is
// no reason to make a write again, so its end is not the call's.
func (v *verification) lint(ctx context.Context, format string, data []byte) ([]lint.Finding, error) {
	ctx, cancel := context.WithDeadline(ctx, v.until)
	defer cancel()
	return v.Linter.Lint(ctx, v.call.Session.Tenant, format, data)
}

// artifact holds everything that one artifact names against its declaration.
func (v *verification) artifact(ctx context.Context, a manifest.NamedArtifact) *abi.Problem {
	for _, name := range a.Names {
		var problem *abi.Problem
		switch {
		case a.Blob != "":
			problem = v.blob(ctx, a, name)
		case manifest.IsPattern(name):
			problem = v.pattern(ctx, a, name)
		default:
			problem = v.file(ctx, a, name)
		}
		if problem != nil {
			return problem
		}
	}
	return nil
}

func (v *verification) blob(ctx context.Context, a manifest.NamedArtifact, id string) *abi.Problem {
	_, data, err := v.grant.WrittenBlob(id)
	if err != nil {
		return missing(v.call.Tool, "blob", id, host.ProblemOf(err))
	}
	return v.content(ctx, a, fmt.Sprintf("the blob %.80q", id), "", data)
}

// pattern holds all files that match against the declaration; there must be one.
func (v *verification) pattern(ctx context.Context, a manifest.NamedArtifact, pattern string) *abi.Problem {
	matched := 0
	for _, w := range v.written {
		if !manifest.MatchPattern(pattern, w.Name) {
			continue
		}
		if matched++; matched > manifest.MaxArtifactNames {
			return abi.NewProblem(abi.BadArtifact, "%s wrote more than %d files that match %s", v.call.Tool, manifest.MaxArtifactNames, abi.EchoPath(pattern))
		}
		if problem := v.content(ctx, a, abi.EchoPath(w.Name), w.Name, w.Data); problem != nil {
			return problem
		}
	}
	if matched == 0 {
		return abi.NewProblem(abi.BadArtifact, "%s was to write files that match %s, and wrote none", v.call.Tool, abi.EchoPath(pattern)).WithCandidates(v.names()...)
	}
	return nil
}

// file holds one file against the declaration: what the call wrote, or, where
// that is allowed, what was there before.
func (v *verification) file(ctx context.Context, a manifest.NamedArtifact, name string) *abi.Problem {
	if v.view == nil {
		return missing(v.call.Tool, "file", name, nil)
	}
	size, fresh, err := v.view.Size(ctx, name)
	problem := host.ProblemOf(err)
	switch {
	case problem != nil && problem.Code == abi.NotFound:
		return missing(v.call.Tool, "file", name, problem)
	case problem != nil:
		return problem
	case fresh:
		i := slices.IndexFunc(v.written, func(w files.Written) bool { return w.Name == name })
		return v.content(ctx, a, abi.EchoPath(name), name, v.written[i].Data)
	case !a.Existing:
		return abi.NewProblem(abi.BadArtifact, "%s was to write the file %s, and did not: the one that is there is from before", v.call.Tool, abi.EchoPath(name)).WithCandidates(v.names()...)
	}
	if problem := tooSmall(a, abi.EchoPath(name), size); problem != nil || a.Format == "" {
		return problem
	}
	data, err := v.view.Read(ctx, name)
	if err != nil {
		return host.ProblemOf(err)
	}
	return v.content(ctx, a, abi.EchoPath(name), name, data)
}

// missing says that something was not written, and keeps what is near it.
func missing(tool, what, name string, found *abi.Problem) *abi.Problem {
	p := abi.NewProblem(abi.BadArtifact, "%s was to write the %s %s, and did not", tool, what, abi.EchoPath(name))
	if found != nil {
		p.Hint, p.Candidates = found.Hint, found.Candidates
	}
	return p
}

// names are those of the files that the call did write, for a message.
func (v *verification) names() []string {
	var names []string
	for _, w := range v.written[:min(len(v.written), problemCandidates)] {
		names = append(names, w.Name)
	}
	return names
}

// content holds the bytes of an artifact against its declaration.
func (v *verification) content(ctx context.Context, a manifest.NamedArtifact, shown, name string, data []byte) *abi.Problem {
	if problem := tooSmall(a, shown, int64(len(data))); problem != nil {
		return problem
	}
	if a.Format == "" || len(data) == 0 {
		return nil
	}
	found, err := v.lint(ctx, a.Format, data)
	switch {
	case errors.Is(err, lint.ErrBusy):
		return host.ProblemOf(err) // which passes, and says nothing about the artifact
	case err != nil:
		p := host.ProblemOf(err)
		return abi.NewProblem(abi.BadArtifact, "%s could not be checked, so nothing was kept: %s", shown, p.Message).WithHint("%s", p.Hint)
	case len(found) > 0:
		return abi.NewProblem(abi.BadArtifact, "%s is not as it is to be: %s", shown, found[0]).WithHint("%s", restOf(found))
	}
	v.clean[name] = lint.FormatOf(name) == a.Format
	return nil
}

func tooSmall(a manifest.NamedArtifact, shown string, size int64) *abi.Problem {
	least := int64(a.MinBytes)
	if !a.Empty {
		least = max(least, 1)
	}
	switch {
	case size >= least:
		return nil
	case size == 0:
		return abi.NewProblem(abi.BadArtifact, "%s is empty", shown)
	}
	return abi.NewProblem(abi.BadArtifact, "%s has %d bytes; it must have at least %d", shown, size, least)
}

// restOf is the hint beside the first finding.
func restOf(found []lint.Finding) string {
	hint := "Nothing was kept. Correct it and call again."
	for _, f := range found[1:] {
		hint += " Also " + f.String() + "."
	}
	return hint
}

// others looks at the files that are no artifacts, where their type is known.
// The call stands whatever is found; what could not be looked at is said, so
// that silence means that nothing is wrong.
func (v *verification) others(ctx context.Context) {
	looked := 0
	for _, w := range v.written {
		format := lint.FormatOf(w.Name)
		if v.clean[w.Name] || len(w.Data) == 0 || !v.Linter.Knows(format) {
			continue
		}
		if looked++; looked > lintFiles {
			v.say("other files were not checked: one call's first %d are", lintFiles)
			return
		}
		found, err := v.lint(ctx, format, w.Data)
		if err != nil {
			v.say("%s was not checked: %s", abi.EchoPath(w.Name), host.ProblemOf(err).Message)
		}
		for _, finding := range found {
			v.say("%s, %s", abi.EchoPath(w.Name), finding)
		}
	}
}

// say tells the model one thing about what was written.
func (v *verification) say(format string, args ...any) {
	if len(v.outcome.Findings) < lintFindings {
		v.outcome.Findings = append(v.outcome.Findings, cut(fmt.Sprintf(format, args...), noteText))
	}
}
