package registry

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// DefaultTimeout bounds List, Resolve, Fetch and Publish where nothing else is
// set: enough for the largest release over a slow line.
const DefaultTimeout = 60 * time.Second

// Config says where a registry is and how much of it is taken. It is not
// changed after Open.
type Config struct {
	URL         string        // a path, file://, http(s)://, ssh:// or user@host:path
	CacheDir    string        // where fetched releases are kept; shared by any number of processes; empty keeps none
	Timeout     time.Duration // of one operation; 0 means DefaultTimeout
	ModuleBytes abi.Size      // largest module that is taken; 0 means abi.ModuleBytesDefault, at most abi.ModuleBytesCeiling
}

// A Registry is one git repository with releases. It is safe for concurrent
// use and holds no connection between calls.
//
// Errors are *host.Error. The problem's code says what may be done:
// RegistryFailure and Deadline pass, so the same call may be repeated;
// InvalidRegistry, InvalidManifest, DigestMismatch and ModuleTooLarge stay
// until somebody publishes something else; NotFound lists what there is;
// NotAllowed means that the repository refuses the credentials. Every call may
// be repeated safely.
type Registry struct {
	place   place
	cache   cache
	timeout time.Duration
	limits  limits
	flights flights
}

// Open prepares a registry. It touches neither network nor disk, and fails with
// BadArguments for a URL or a limit that cannot be used.
func Open(cfg Config) (*Registry, error) {
	where, err := locate(cfg.URL)
	if err != nil {
		return nil, failure(context.Background(), "registry.Open", "the registry", err)
	}
	if cfg.ModuleBytes < 0 || cfg.ModuleBytes > abi.ModuleBytesCeiling || cfg.Timeout < 0 {
		return nil, host.Fail("registry.Open", abi.NewProblem(abi.BadArguments,
			"a module limit of %s and a timeout of %s cannot be used", cfg.ModuleBytes, cfg.Timeout).
			WithHint("modules may have up to %s; the timeout is positive", abi.ModuleBytesCeiling), nil)
	}
	if cfg.ModuleBytes == 0 {
		cfg.ModuleBytes = abi.ModuleBytesDefault
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	return &Registry{
		place: where, cache: newCache(cfg.CacheDir, where.name),
		timeout: cfg.Timeout, limits: limitsFor(cfg.ModuleBytes),
	}, nil
}

// String names the repository, without user or password.
func (r *Registry) String() string { return r.place.name }

// List gives the releases of a skill, or of all skills where skill is empty,
// sorted by name and then from the oldest version to the newest. It asks for
// the references only. A registry without releases, or without that skill, is
// NotFound, so a list is never empty.
func (r *Registry) List(ctx context.Context, skill string) ([]Version, error) {
	ctx, cancel := withTimeout(ctx, r.timeout)
	defer cancel()
	found, err := r.list(ctx, skill)
	if err != nil {
		return nil, failure(ctx, "registry.List", r.place.name, err)
	}
	return found, nil
}

// Resolve gives the newest release of a skill that fits a constraint: "" or
// "latest", "1.2.3", "1.2" or "1.x", "^1.2", "~1.2.3", ">=1.0 <2". Terms are
// joined by spaces; pre-releases come only where the constraint names one. No
// fit is NotFound with the versions that there are, newest first, as
// candidates. A whole version that was fetched before is resolved offline.
func (r *Registry) Resolve(ctx context.Context, skill, constraint string) (Version, error) {
	ctx, cancel := withTimeout(ctx, r.timeout)
	defer cancel()
	v, err := r.resolve(ctx, skill, constraint)
	if err != nil {
		return Version{}, failure(ctx, "registry.Resolve", r.place.name, err)
	}
	return v, nil
}

// Fetch gives a release, verified. A release that is in the cache costs no
// request; else its tag alone is fetched at depth 1 and kept. Callers that ask
// for one version at the same time share the work and the result, which none
// of them may change. A version without a commit means the one that was
// fetched before, or else the tag as it stands.
//
// A tag that does not stand on the version's commit, or on the one that was
// fetched before, was moved: InvalidRegistry.
func (r *Registry) Fetch(ctx context.Context, v Version) (*Release, error) {
	subject := v.String() + " of " + r.place.name
	if err := v.check(); err != nil {
		return nil, failure(ctx, "registry.Fetch", subject, err)
	}
	release, err := r.flights.do(ctx, v, func(ctx context.Context) (*Release, error) {
		ctx, cancel := withTimeout(ctx, r.timeout)
		defer cancel()
		release, err := r.fetch(ctx, v)
		if err != nil {
			return nil, failure(ctx, "registry.Fetch", subject, err)
		}
		return release, nil
	})
	if err != nil {
		return nil, failure(ctx, "registry.Fetch", subject, err)
	}
	return release, nil
}

func (r *Registry) list(ctx context.Context, skill string) ([]Version, error) {
	all, err := r.place.releases(ctx)
	if err != nil || skill == "" {
		return all, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(v Version) bool { return v.Skill != skill })
	if len(found) == 0 {
		return nil, unknownSkill(r.place, skill, all)
	}
	return found, nil
}

func (r *Registry) resolve(ctx context.Context, skill, text string) (Version, error) {
	wanted, err := parseConstraint(text)
	if err != nil {
		return Version{}, err
	}
	if version, ok := wanted.exact(); ok {
		v := Version{Skill: skill, Version: version}
		if err := v.check(); err != nil {
			return Version{}, err
		}
		if v.Commit = r.cache.pinned(v).commit; v.Commit != "" {
			return v, nil
		}
	}
	found, err := r.list(ctx, skill)
	if err != nil {
		return Version{}, err
	}
	for _, v := range slices.Backward(found) {
		if wanted.allows(v.Version) {
			return v, nil
		}
	}
	return Version{}, noFit(r.place, skill, text, found)
}

func (r *Registry) fetch(ctx context.Context, v Version) (*Release, error) {
	pin := r.cache.pinned(v)
	if v.Commit == "" {
		v.Commit = pin.commit
	}
	if pin.commit != "" && pin.commit != v.Commit {
		return nil, moved(r.place, v, pin.commit, v.Commit)
	}
	if packed := r.cache.read(pin.digest, r.limits.packed()); packed != nil {
		return unpack(v, packed, r.limits)
	}
	files, commit, err := r.download(ctx, v)
	if err != nil {
		return nil, err
	}
	v.Commit = commit
	packed, err := pack(files)
	if err != nil {
		return nil, err
	}
	release, err := unpack(v, packed, r.limits)
	if err != nil {
		return nil, err
	}
	return release, r.keep(v, packed)
}

// download reads the tree of a release from the repository.
func (r *Registry) download(ctx context.Context, v Version) (files []file, commit string, err error) {
	defer recovered(&err)
	var stands tag
	objects, err := r.place.source.objects(ctx, v.ref(), r.limits, func(t tag) error {
		if now := t.commit.String(); v.Commit != "" && now != v.Commit {
			return moved(r.place, v, v.Commit, now)
		}
		stands = t
		return nil
	})
	if errors.Is(err, errNoTag) {
		return nil, "", r.gone(ctx, v)
	}
	if err != nil {
		return nil, "", err
	}
	files, err = readTree(ctx, objects, stands, r.limits)
	return files, stands.commit.String(), err
}

// gone says which versions there are in place of one that is not there.
func (r *Registry) gone(ctx context.Context, v Version) error {
	others, err := r.list(ctx, v.Skill)
	if err != nil {
		return err
	}
	return noFit(r.place, v.Skill, v.Version, others)
}

// keep stores a fetched release, unless another process has pinned the version
// to another commit in the meantime.
func (r *Registry) keep(v Version, packed []byte) error {
	pin, err := r.cache.keep(v, packed)
	if err == nil && pin.commit != v.Commit {
		return moved(r.place, v, pin.commit, v.Commit)
	}
	return err
}

// A place is a repository and its name for people.
type place struct {
	name   string // without user information
	source source
}

// releases lists all releases, sorted. None at all is a problem.
func (p place) releases(ctx context.Context) (list []Version, err error) {
	defer recovered(&err)
	tags, err := p.source.tags(ctx)
	if err != nil {
		return nil, err
	}
	for ref, t := range tags {
		if v, ok := releaseOf(ref); ok {
			v.Commit = t.commit.String()
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return nil, emptyRegistry(p)
	}
	slices.SortFunc(list, older)
	return list, nil
}
