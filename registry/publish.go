package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// PublishOptions say who publishes and how. The zero value will do.
type PublishOptions struct {
	Author  string           // name; DefaultAuthor if empty
	Email   string           // DefaultEmail if empty
	Message string           // of commit and tag; by default the skill's name, version and summary
	Create  bool             // make a bare repository where the path has none
	Now     func() time.Time // time of commit and tag; time.Now if nil
}

// Who publishes when nobody says so. The domain is one that nobody can have.
const (
	DefaultAuthor = "Sluice"
	DefaultEmail  = "sluice@localhost.invalid"
)

// Publish makes a release of the skill in dir and gives its version. It takes
// skill.yaml, the module, the guide and the schema files that the manifest
// names, and nothing else of the folder. The published skill.yaml is the
// author's, with the module's sha256 and size written into it; dir itself is
// not changed. What Fetch would refuse is not published.
//
// The repository is a path or a URL as in Config; a remote one gets the tag
// pushed. The module may have abi.ModuleBytesCeiling; above
// abi.ModuleBytesDefault only hosts that raised their limit fetch it.
//
// Errors are as for Registry. A release that exists is Conflict: it never
// changes, so raise the version. Publishing again after any failure is safe: it
// succeeds, or says that the release exists. Calls may run at the same time;
// of several with one version one wins.
func Publish(ctx context.Context, repo, dir string, opts PublishOptions) (Version, error) {
	ctx, cancel := withTimeout(ctx, DefaultTimeout)
	defer cancel()
	v, err := publish(ctx, repo, dir, opts)
	if err != nil {
		return Version{}, failure(ctx, "registry.Publish", "publishing "+dir, err)
	}
	return v, nil
}

func publish(ctx context.Context, repo, dir string, opts PublishOptions) (v Version, err error) {
	defer recovered(&err)
	where, err := locate(repo)
	if err != nil {
		return Version{}, err
	}
	signature, err := opts.signature()
	if err != nil {
		return Version{}, err
	}
	release, files, err := prepare(dir)
	if err != nil {
		return Version{}, err
	}
	if l, ok := where.source.(*local); ok && opts.Create {
		if err := l.make(); err != nil {
			return Version{}, err
		}
	}
	v = release.Version
	made := builder{memory.NewStorage(), signature, opts.message(release.Skill)}
	tagged, commit, err := made.release(v, files)
	if err != nil {
		return Version{}, err
	}
	v.Commit = commit.String()
	err = where.source.create(ctx, v.ref(), tagged, made.objects)
	if errors.Is(err, errTagExists) {
		return Version{}, host.Fail("registry", abi.NewProblem(abi.Conflict, "%s is already in %s; a release never changes", v, where.name).
			WithHint("raise the version in skill.yaml and publish again"), nil)
	}
	if err != nil {
		return Version{}, failure(ctx, "registry", where.name, err)
	}
	return v, nil
}

func (o PublishOptions) signature() (object.Signature, error) {
	s := object.Signature{Name: DefaultAuthor, Email: DefaultEmail, When: time.Now()}
	if o.Author != "" {
		s.Name = o.Author
	}
	if o.Email != "" {
		s.Email = o.Email
	}
	if o.Now != nil {
		s.When = o.Now()
	}
	if strings.ContainsAny(s.Name+s.Email, "<>\n\r\x00") || strings.Contains(o.Message, "\x00") {
		return s, host.Fail("registry", abi.NewProblem(abi.BadArguments, "git cannot hold the author %.80q <%.80q> or the message", s.Name, s.Email).
			WithHint("leave out <, > and line breaks of the author, and zero bytes"), nil)
	}
	return s, nil
}

func (o PublishOptions) message(skill *manifest.Skill) string {
	text := o.Message
	if text == "" {
		text = fmt.Sprintf("%s %s\n\n%s", skill.Name, skill.Version, skill.Summary)
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// prepare reads what dir publishes and puts it through the checks that Fetch
// makes.
func prepare(dir string) (*Release, []file, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, host.Fail("registry", abi.NewProblem(abi.NotFound, "%s cannot be opened", dir).
			WithHint("give the folder that holds skill.yaml"), err)
	}
	defer root.Close()
	folder, ok := root.FS().(fs.ReadLinkFS)
	if !ok {
		panic("BUG: os.Root.FS promises fs.ReadLinkFS")
	}
	tree := &noting{ReadLinkFS: folder, read: map[string]bool{}}
	skill, err := manifest.Load(tree, manifestFile)
	if err != nil {
		return nil, nil, badManifest(dir, err)
	}
	if skill.Module == "" {
		return nil, nil, host.Fail("registry", abi.NewProblem(abi.InvalidManifest, "skill.yaml names no module").WithField("module").
			WithHint("add the line module: skill.wasm"), nil)
	}
	v := Version{Skill: skill.Name, Version: skill.Version}
	if err := v.check(); err != nil {
		return nil, nil, err
	}
	files, err := collect(tree, skill)
	if err != nil {
		return nil, nil, err
	}
	packed, err := pack(files)
	if err != nil {
		return nil, nil, err
	}
	release, err := unpack(v, packed, limitsFor(abi.ModuleBytesCeiling))
	return release, files, err
}

func unreadable(what string, cause error) error {
	code, hint := abi.RegistryFailure, "check the rights of the file"
	if errors.Is(cause, fs.ErrNotExist) {
		code, hint = abi.NotFound, "build the skill first with: sluice skill build DIR"
	}
	return host.Fail("registry", abi.NewProblem(code, "%s cannot be read", what).WithHint("%s", hint), cause)
}

// collect reads the files of a release, sorted by name, with the stamped
// manifest among them.
func collect(tree *noting, skill *manifest.Skill) ([]file, error) {
	names := append(tree.names(), manifestFile, skill.Module)
	if skill.Guide != "" {
		names = append(names, skill.Guide)
	}
	slices.Sort(names)
	var files []file
	left := abi.Size(abi.ModuleBytesCeiling + maxOtherBytes)
	for _, name := range slices.Compact(names) {
		most := abi.Size(maxFileBytes)
		if name == skill.Module {
			most = abi.ModuleBytesCeiling
		}
		data, err := readWhole(tree.ReadLinkFS, name, most)
		if err != nil {
			return nil, err
		}
		if left -= abi.Size(len(data)); left < 0 || len(files) == maxFiles {
			return nil, fmt.Errorf("%w: the release has more than %d files or %s", errTooLarge, maxFiles, abi.ModuleBytesCeiling+maxOtherBytes)
		}
		files = append(files, file{name, data})
	}
	return stampIn(files, skill.Module)
}

// readWhole reads a file whose size it has looked at before.
func readWhole(fsys fs.FS, name string, most abi.Size) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, unreadable(name, errors.New("it is not a plain file"))
	}
	if abi.Size(info.Size()) > most {
		return nil, fmt.Errorf("%w: %s has %d bytes and may have %s", errTooLarge, name, info.Size(), most)
	}
	data, err := io.ReadAll(&bounded{f, int64(most)})
	if err != nil {
		return nil, unreadable(name, err)
	}
	return data, nil
}

// stampIn writes the module's sha256 and size into the manifest.
func stampIn(files []file, module string) ([]file, error) {
	find := func(name string) *file {
		return &files[slices.IndexFunc(files, func(f file) bool { return f.name == name })]
	}
	code, text := find(module).data, find(manifestFile)
	stamped, err := stamp(text.data, host.Digest(code), int64(len(code)))
	if err != nil {
		return nil, host.Fail("registry", abi.NewProblem(abi.InvalidManifest, "the module's sha256 and size cannot be written into skill.yaml: %v", err).
			WithHint("write module, sha256 and size each as a line of its own at the top level"), err)
	}
	text.data = stamped
	return files, nil
}

// noting is a folder that notes which files were read from it: those that a
// manifest draws in.
type noting struct {
	fs.ReadLinkFS
	mu   sync.Mutex
	read map[string]bool // guarded by mu
}

// Open opens a file and notes its name.
func (n *noting) Open(name string) (fs.File, error) {
	f, err := n.ReadLinkFS.Open(name)
	if err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.read[name] = true
	}
	return f, err
}

func (n *noting) names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := make([]string, 0, len(n.read))
	for name := range n.read {
		names = append(names, name)
	}
	return names
}
