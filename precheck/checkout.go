package precheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	git "github.com/go-git/go-git/v5"
	gitconfig "github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of a repository that is checked out: that of a large team fits, and a bomb does
// not.
const (
	mostFetched  = 512 * abi.MiB   // of its pack, at one commit
	mostChecked  = 512 * abi.MiB   // of its files
	mostFiles    = 50_000          // of it
	mostFolders  = 32              // in folders
	fetchingTime = 5 * time.Minute // for all of it
)

// A revision names a folder of a repository at a commit, as REPO@REF or REPO@REF:DIR.
type revision struct {
	repo string // a path, or an address with http, https, ssh or file
	ref  string // a branch, a tag, a commit in full, or HEAD
	dir  string // slash-separated, below the root; "." for the root
}

// revisionOf reads the name of a subject. A user in an address, as in git@host:repo, is
// no reference.
func revisionOf(name string) (revision, bool) {
	at := strings.LastIndex(name, "@")
	if at <= 0 || at == len(name)-1 {
		return revision{}, false
	}
	r := revision{repo: name[:at], dir: "."}
	r.ref, r.dir, _ = strings.Cut(name[at+1:], ":")
	if r.dir == "" {
		r.dir = "."
	}
	_, err := os.Stat(r.repo)
	named := err == nil || strings.Contains(r.repo, "://") && !strings.HasSuffix(r.repo, "://") || strings.Contains(r.repo, "@")
	return r, named && r.ref != "" && filepath.IsLocal(filepath.FromSlash(r.dir))
}

// A checkout is the files of one commit in a folder of their own.
type checkout struct {
	folder string
	commit string
}

func (c checkout) close() error { return os.RemoveAll(c.folder) }

// checkOut writes the files of a revision to a new folder, which the caller closes. Of
// a remote repository it fetches that commit alone. Nothing of the repository runs: it
// has no hooks, filters or submodules there. Links are refused, since they may lead out.
func checkOut(ctx context.Context, r revision) (c checkout, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchingTime)
	defer cancel()
	if c.folder, err = os.MkdirTemp("", "sluice-checkout-"); err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s cannot be checked out: %w", shown(r.repo), err), c.close())
		}
	}()
	repo, hash, err := r.fetch(ctx, filepath.Join(c.folder, ".objects"))
	if err != nil {
		return c, err
	}
	commit, err := repo.CommitObject(hash)
	if err != nil {
		return c, fmt.Errorf("%s is no commit", r.ref)
	}
	tree, err := commit.Tree()
	if err != nil {
		return c, err
	}
	c.commit = hash.String()
	w := treeWriter{ctx: ctx, left: int64(mostChecked)}
	return c, w.tree(tree, c.tree(), mostFolders)
}

// tree is the folder of the repository's root.
func (c checkout) tree() string { return filepath.Join(c.folder, "tree") }

// shown is an address without what may be secret in it.
func shown(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if at := strings.LastIndex(rest, "@"); ok && at >= 0 {
		return scheme + "://" + rest[at+1:]
	}
	return address
}

// fetch opens a repository that has the commit: the one at a path, or a new one with
// what a server gives.
func (r revision) fetch(ctx context.Context, folder string) (*git.Repository, plumbing.Hash, error) {
	endpoint, err := transport.NewEndpoint(r.repo)
	if err != nil {
		return nil, plumbing.ZeroHash, errors.New("its address is not a URL")
	}
	switch endpoint.Protocol {
	case "file":
		return r.openAt(endpoint.Path)
	case "http", "https", "ssh":
		repo, hash, err := r.fetchFrom(ctx, folder)
		if err != nil && endpoint.Password != "" {
			err = errors.New(strings.ReplaceAll(err.Error(), endpoint.Password, "***"))
		}
		return repo, hash, err
	}
	return nil, plumbing.ZeroHash, fmt.Errorf("the scheme %s is not supported; give http, https, ssh, file or a path", endpoint.Protocol)
}

func (r revision) openAt(path string) (*git.Repository, plumbing.Hash, error) {
	repo, err := git.PlainOpenWithOptions(filepath.FromSlash(path), &git.PlainOpenOptions{EnableDotGitCommonDir: true})
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	hash, err := repo.ResolveRevision(plumbing.Revision(r.ref))
	if err != nil {
		return nil, plumbing.ZeroHash, fmt.Errorf("it has no %s", r.ref)
	}
	return repo, *hash, nil
}

// fetched is where the commit stands in the repository that it is fetched into.
const fetched = "refs/heads/fetched"

func (r revision) fetchFrom(ctx context.Context, folder string) (*git.Repository, plumbing.Hash, error) {
	made, err := git.PlainInit(folder, true)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	store, ok := made.Storer.(*filesystem.Storage)
	if !ok {
		panic("BUG: a repository at a path is not stored in files")
	}
	repo, err := git.Open(&boundedStore{store, int64(mostFetched)}, nil)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	remote, err := repo.CreateRemoteAnonymous(&gitconfig.RemoteConfig{Name: "anonymous", URLs: []string{r.repo}})
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	name, err := r.offered(ctx, remote)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	err = remote.FetchContext(ctx, &git.FetchOptions{Depth: 1, Tags: git.NoTags, RefSpecs: []gitconfig.RefSpec{gitconfig.RefSpec(name + ":" + fetched)}})
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	hash, err := repo.ResolveRevision(fetched)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	return repo, *hash, nil
}

// offered gives what the server calls the reference: the first of what git takes a short
// name for, or a commit that no name stands on, which most servers give, too.
func (r revision) offered(ctx context.Context, remote *git.Remote) (string, error) {
	refs, err := remote.ListContext(ctx, &git.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, form := range []string{"%s", "refs/tags/%s", "refs/heads/%s"} {
		for _, ref := range refs {
			if name := ref.Name().String(); name == fmt.Sprintf(form, r.ref) {
				return name, nil
			}
		}
	}
	if plumbing.IsHash(r.ref) {
		return r.ref, nil
	}
	return "", fmt.Errorf("it has no %s", r.ref)
}

// A boundedStore takes no more than so many bytes of packs.
type boundedStore struct {
	*filesystem.Storage
	left int64
}

// PackfileWriter gives where a pack is written to.
func (s *boundedStore) PackfileWriter() (io.WriteCloser, error) {
	w, err := s.Storage.PackfileWriter()
	return &boundedPack{w, &s.left}, err
}

type boundedPack struct {
	io.WriteCloser
	left *int64
}

func (p *boundedPack) Write(b []byte) (int, error) {
	if *p.left -= int64(len(b)); *p.left < 0 {
		return 0, fmt.Errorf("it has more than %v at one commit", mostFetched)
	}
	return p.WriteCloser.Write(b)
}

// A treeWriter is files on their way from a tree to a folder.
type treeWriter struct {
	ctx   context.Context
	files int
	left  int64 // bytes
}

func (w *treeWriter) tree(t *object.Tree, folder string, room int) error {
	if room == 0 {
		return fmt.Errorf("it has folders %d deep", mostFolders)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, e := range t.Entries {
		if err := w.entry(t, e, folder, room); err != nil {
			return err
		}
	}
	return w.ctx.Err()
}

func (w *treeWriter) entry(t *object.Tree, e object.TreeEntry, folder string, room int) error {
	name := filepath.Join(folder, e.Name)
	if !filepath.IsLocal(e.Name) || strings.ContainsAny(e.Name, `/\`) {
		return fmt.Errorf("it has a file of the name %.80q", e.Name)
	}
	if w.files++; w.files > mostFiles {
		return fmt.Errorf("it has more than %d files", mostFiles)
	}
	switch e.Mode {
	case filemode.Dir:
		inner, err := t.Tree(e.Name)
		if err != nil {
			return err
		}
		return w.tree(inner, name, room-1)
	case filemode.Regular, filemode.Deprecated, filemode.Executable:
		return w.file(t, e, name)
	}
	return fmt.Errorf("%.80q is a link or a submodule; a skill's repository has plain files", e.Name)
}

func (w *treeWriter) file(t *object.Tree, e object.TreeEntry, name string) error {
	blob, err := t.TreeEntryFile(&e)
	if err != nil {
		return err
	}
	if w.left -= blob.Size; w.left < 0 {
		return fmt.Errorf("its files have more than %v", mostChecked)
	}
	from, err := blob.Reader()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(to, from, blob.Size)
	return errors.Join(err, to.Close())
}
