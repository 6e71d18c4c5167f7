package precheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	git "github.com/go-git/go-git/v5"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
)

// rebuildRules build the source once more.
func rebuildRules() []Rule {
	return []Rule{{
		ID: "rebuild", Severity: Failure, Title: "What is committed gives the same module, to the byte, in any folder",
		Reason: "Whoever reviews the source must be able to see that the module is made of it.",
		Mend:   "Commit what the build needs, and let nothing of the machine into it: no path, no time, no version that is not pinned.",
		check:  (*examination).givesTheSame,
	}}
}

// A Rebuild builds a subject's source again, from a clean checkout.
type Rebuild func(context.Context) (module []byte, commit string, err error)

func (x *examination) givesTheSame(ctx context.Context) {
	again, commit, err := x.Rebuild(ctx)
	if err != nil {
		message, mend := because(err)
		x.find(Finding{Message: "what is committed does not build: " + message, Mend: mend})
		return
	}
	if a, b := host.Digest(x.Module), host.Digest(again); a != b {
		x.findf("the module is %.12s, and a clean checkout of %.12s gives %.12s", a, commit, b)
		return
	}
	x.figure("rebuild", "%.12s gives the same module", commit)
}

// buildsAgain has a subject built again. One without source cannot be.
func (s *Subject) buildsAgain(how func() (Rebuild, error)) (err error) {
	if !s.Source {
		return fmt.Errorf("%s has no source that could be built again", s.Name)
	}
	s.Rebuild, err = how()
	return err
}

// rebuildOf gives how the source in a folder of a working copy is built again: as its
// last commit has it.
func rebuildOf(sb *sandbox.Sandbox, folder string) (Rebuild, error) {
	whole, err := filepath.Abs(folder)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	if err != nil {
		return nil, err
	}
	root, err := workingCopy(whole)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Rel(root, whole)
	if err != nil {
		return nil, err
	}
	return rebuildAt(sb, revision{repo: root, ref: "HEAD", dir: filepath.ToSlash(dir)}), nil
}

// rebuildAt gives how a revision is built again.
func rebuildAt(sb *sandbox.Sandbox, r revision) Rebuild {
	return func(ctx context.Context) (module []byte, commit string, err error) {
		c, err := checkOut(ctx, r)
		if err != nil {
			return nil, "", err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		module, err = build(ctx, sb, filepath.Join(c.tree(), filepath.FromSlash(r.dir)))
		return module, c.commit, err
	}
}

// workingCopy finds the root of the working copy that a folder is in.
func workingCopy(folder string) (string, error) {
	for at := folder; ; at = filepath.Dir(at) {
		switch _, err := os.Stat(filepath.Join(at, git.GitDirName)); {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case at == filepath.Dir(at):
			return "", fmt.Errorf("%s is in no git repository: there is nothing to build it from again", folder)
		}
	}
}
