package registry

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// local is a repository on this machine, bare or with a working tree. It is
// read and written where it lies, without a git program, so its hooks do not
// run. It is opened for each operation, which sees what others have changed.
type local struct {
	path string
}

var _ source = (*local)(nil)

func (l *local) tags(ctx context.Context) (map[string]tag, error) {
	repo, err := l.open()
	if err != nil {
		return nil, err
	}
	refs, err := repo.Storer.IterReferences()
	if err != nil {
		return nil, err
	}
	found := map[string]tag{}
	return found, refs.ForEach(func(ref *plumbing.Reference) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !ref.Name().IsTag() || ref.Type() != plumbing.HashReference {
			return nil
		}
		if commit, err := peel(repo.Storer, ref.Hash()); err == nil {
			found[ref.Name().String()] = tag{ref.Hash(), commit}
		}
		return nil
	})
}

func (l *local) objects(_ context.Context, ref string, _ limits, approve func(tag) error) (storer.EncodedObjectStorer, error) {
	repo, err := l.open()
	if err != nil {
		return nil, err
	}
	found, err := repo.Storer.Reference(plumbing.ReferenceName(ref))
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, errNoTag
	}
	if err != nil {
		return nil, err
	}
	commit, err := peel(repo.Storer, found.Hash())
	if err != nil {
		return nil, err
	}
	return repo.Storer, approve(tag{found.Hash(), commit})
}

func (l *local) create(ctx context.Context, ref string, object plumbing.Hash, objects *memory.Storage) error {
	repo, err := l.open()
	if err != nil {
		return err
	}
	if _, err := repo.Storer.Reference(plumbing.ReferenceName(ref)); err == nil {
		return errTagExists
	}
	for _, o := range objects.Objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := repo.Storer.SetEncodedObject(o); err != nil {
			return notWritten(l.path, err)
		}
	}
	return l.createRef(repo, ref, object)
}

// createRef makes a reference as git does, so that both may publish at the same
// time: take the lock file, look again, write, rename.
func (l *local) createRef(repo *git.Repository, ref string, object plumbing.Hash) (err error) {
	store, ok := repo.Storer.(*filesystem.Storage)
	if !ok {
		panic("BUG: a repository at a path is not stored in files")
	}
	files, lock := store.Filesystem(), ref+".lock"
	f, err := files.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return host.Fail("registry", abi.NewProblem(abi.Conflict, "somebody else is publishing the same release to %s", l.path).
			WithHint("wait; if nobody is, remove %s", filepath.Join(files.Root(), lock)), err)
	}
	if err != nil {
		return notWritten(l.path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // closed already where the rename failed
			err = errors.Join(err, files.Remove(lock))
		}
	}()
	if _, err := repo.Storer.Reference(plumbing.ReferenceName(ref)); err == nil {
		return errTagExists
	}
	if err := fill(f, object.String()+"\n"); err != nil {
		return notWritten(l.path, err)
	}
	if err := files.Rename(lock, ref); err != nil {
		return notWritten(l.path, err)
	}
	return nil
}

func fill(f io.WriteCloser, text string) error {
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	return f.Close()
}

func notWritten(path string, cause error) error {
	return host.Fail("registry", abi.NewProblem(abi.RegistryFailure, "%s cannot be written", path).
		WithHint("check the rights and the space of that folder, and that no tag has the skill's bare name"), cause)
}

func (l *local) open() (*git.Repository, error) {
	repo, err := git.PlainOpenWithOptions(l.path, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	switch {
	case err == nil || errors.Is(err, git.ErrRepositoryNotExists):
		return repo, err
	case errors.Is(err, fs.ErrPermission):
		return nil, host.Fail("registry", abi.NewProblem(abi.RegistryFailure, "%s may not be read", l.path).
			WithHint("check the rights of that folder"), err)
	}
	return nil, host.Fail("registry", abi.NewProblem(abi.InvalidRegistry, "%s is not a git repository that can be used", l.path).
		WithHint("give the folder of a git repository with SHA-1 objects and plain references"), err)
}

// make creates the repository, bare, unless there is something at its path.
// Nobody sees it half made, and two who create it at the same time get one.
func (l *local) make() error {
	if entries, err := os.ReadDir(l.path); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // open says what it is
	}
	parent := filepath.Dir(l.path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return notWritten(l.path, err)
	}
	temp, err := os.MkdirTemp(parent, ".sluice-new-")
	if err != nil {
		return notWritten(l.path, err)
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, "repo") // others may not enter what MkdirTemp makes
	_, err = git.PlainInitWithOptions(made, &git.PlainInitOptions{
		Bare: true, InitOptions: git.InitOptions{DefaultBranch: plumbing.Main},
	})
	if err != nil {
		return notWritten(l.path, err)
	}
	_ = os.Remove(l.path) // an empty folder; anything else stays, and Rename says so
	if err := os.Rename(made, l.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return notWritten(l.path, err)
	}
	return nil
}
