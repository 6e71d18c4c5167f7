package release

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/registry"
)

// A Release is one prepared skill: its manifest and its compiled module.
type Release struct {
	Skill  *manifest.Skill
	Module *sandbox.Module
	SHA256 string
}

// String gives name@version, as the audit log names a release.
func (r *Release) String() string { return r.Skill.Name + "@" + r.Skill.Version }

// Judges reports whether the release is a policy module: it has no tools, and is
// asked about calls where the operator's policy names it.
func (r *Release) Judges() bool { return len(r.Skill.Hooks) > 0 }

// Pins says which version of each skill a session uses. It is part of the
// session's state.
type Pins map[string]string

// A Set holds the releases of one replica. It is safe for concurrent use.
type Set struct {
	// Told is told of every release that is loaded or refused, before it can be
	// used; one that it fails for is not loaded. It is set before the set is used,
	// and called from several goroutines; nil tells nobody.
	Told func(context.Context, Change) error

	sandbox *sandbox.Sandbox
	source  *registry.Registry // nil where releases are only loaded from values

	now func() time.Time // time.Now; tests set it

	mu       sync.RWMutex
	releases map[string]*Release // by name@version; guarded by mu
	current  map[string]string   // skill name -> version; guarded by mu
	missed   map[string]missed   // by name@version; guarded by mu
}

// A missed is a pinned release that could not be had a moment ago.
type missed struct {
	at  time.Time
	err error
}

// missedTime is how long a release that could not be had is not asked for
// again: a registry that hangs must not hold up every turn of every session.
const missedTime = 30 * time.Second

// NewSet makes an empty set. The source is where pinned releases that are not
// loaded yet are fetched from; it may be nil.
func NewSet(sb *sandbox.Sandbox, source *registry.Registry) *Set {
	return &Set{sandbox: sb, source: source, now: time.Now,
		releases: map[string]*Release{}, current: map[string]string{}, missed: map[string]missed{}}
}

// Load prepares a release and makes it the current one of its skill. It fails,
// and changes nothing, if the module does not compile, lacks an export of the
// contract, speaks another ABI version or imports a host function that the
// manifest does not declare, or if one of its tools has the name of another
// skill's tool: the model's tool names are flat, so they must be unique. A policy
// module is no session's: it is refused here, and had by Release.
func (s *Set) Load(ctx context.Context, fetched *registry.Release) (*Release, error) {
	r, err := s.load(ctx, fetched)
	if err != nil {
		s.refused(ctx, fetched.Skill.Name+"@"+fetched.Skill.Version, fetched.SHA256, err)
	}
	return r, err
}

func (s *Set) load(ctx context.Context, fetched *registry.Release) (*Release, error) {
	if len(fetched.Skill.Hooks) > 0 {
		return nil, host.Fail("release.Load", abi.NewProblem(abi.InvalidManifest, "%s@%s is a policy module and has no tools", fetched.Skill.Name, fetched.Skill.Version).
			WithHint("name it under hooks in policy.yaml"), nil)
	}
	if loaded := s.find(fetched.Skill.Name + "@" + fetched.Skill.Version); loaded != nil {
		if err := loaded.unchanged(fetched.SHA256); err != nil {
			return nil, err
		}
		return s.makeCurrent(ctx, loaded)
	}
	prepared, err := s.prepare(ctx, fetched)
	if err != nil {
		return nil, err
	}
	kept, err := s.makeCurrent(ctx, prepared)
	if kept != prepared {
		prepared.Module.Close(context.WithoutCancel(ctx))
	}
	return kept, err
}

// unchanged fails if a release comes again with other bytes.
func (r *Release) unchanged(sha256 string) error {
	if r.SHA256 == sha256 {
		return nil
	}
	return host.Fail("release.Load", abi.NewProblem(abi.DigestMismatch,
		"%s is loaded with sha256 %s and comes again with %s; a release never changes", r, r.SHA256, sha256), nil)
}

func (s *Set) prepare(ctx context.Context, fetched *registry.Release) (*Release, error) {
	module, err := s.sandbox.Load(ctx, fetched.Module, fetched.Skill.Limits)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", fetched.Skill.Name, fetched.Skill.Version, err)
	}
	r := &Release{Skill: fetched.Skill, Module: module, SHA256: fetched.SHA256}
	if problem := r.conforms(ctx); problem != nil {
		module.Close(context.WithoutCancel(ctx))
		return nil, host.Fail("release.Load", problem, nil)
	}
	return r, nil
}

// conforms checks the module against the contract and against what its own
// manifest declares.
func (r *Release) conforms(ctx context.Context) *abi.Problem {
	exports := []string{abi.ExportABI, abi.ExportDescribe}
	switch {
	case r.Judges():
		exports = append(exports, abi.ExportHook)
	case r.Skill.Reducer:
		exports = append(exports, abi.ExportInvoke, abi.ExportReduce)
	default:
		exports = append(exports, abi.ExportInvoke)
	}
	for _, export := range exports {
		if !r.Module.Has(export) {
			return abi.NewProblem(abi.MissingExport, "%s does not export %s: () -> i32", r, export).
				WithHint("build it with the sdk, or export the function from your PDK")
		}
	}
	granted := Granted(r.Skill.Capabilities)
	for _, name := range r.Module.Imports() {
		if !slices.Contains(granted, name) {
			return abi.NewProblem(abi.NotGranted, "%s imports %s, which its manifest does not declare", r, name).
				WithHint("declare the capability in skill.yaml, or do not call it")
		}
	}
	return r.speaks(ctx)
}

// speaks asks the module for its version of the contract.
func (r *Release) speaks(ctx context.Context) *abi.Problem {
	answer := r.Module.Call(ctx, sandbox.Request{Export: abi.ExportABI})
	if answer.Problem != nil {
		problem := *answer.Problem
		problem.Message = fmt.Sprintf("%s does not say which version of the contract it speaks: %s", r, problem.Message)
		return &problem
	}
	if answer.Exit != abi.Version {
		return abi.NewProblem(abi.BrokenContract, "%s speaks version %d of the contract; this host speaks %d", r, answer.Exit, abi.Version).
			WithHint("build it with an sdk of version %d", abi.Version)
	}
	return nil
}

// Granted lists the host functions that a module with these capabilities may
// import, sorted.
func Granted(c abi.Capabilities) []string {
	var names []string
	add := func(granted bool, functions ...string) {
		if granted {
			names = append(names, functions...)
		}
	}
	add(c.KV != nil, abi.FuncKVGet, abi.FuncKVPut, abi.FuncKVDelete, abi.FuncKVScan)
	add(c.State != nil && len(c.State.Reads) > 0, abi.FuncStateGet)
	add(c.Memory != nil && len(c.Memory.Recall) > 0, abi.FuncMemoryRecall)
	add(c.Memory != nil && len(c.Memory.Remember) > 0, abi.FuncMemoryRemember)
	add(c.Blob != "", abi.FuncBlobRead)
	add(c.Blob == abi.AccessWrite, abi.FuncBlobWrite)
	add(c.Files != "", abi.FuncFilesRead, abi.FuncFilesList)
	add(c.Files == abi.AccessWrite, abi.FuncFilesWrite, abi.FuncFilesRemove)
	add(len(c.HTTP) > 0, abi.FuncHTTP)
	add(c.Progress, abi.FuncProgress)
	slices.Sort(names)
	return names
}

// makeCurrent makes r the current release of its skill once that has been told.
func (s *Set) makeCurrent(ctx context.Context, r *Release) (*Release, error) {
	s.mu.RLock()
	was, err := s.current[r.Skill.Name], s.clash(r)
	s.mu.RUnlock()
	if err == nil && was != r.Skill.Version {
		err = s.tell(ctx, Change{Release: r.String(), SHA256: r.SHA256, Status: Current, Was: was})
	}
	if err != nil {
		return nil, err
	}
	return s.swap(r)
}

// swap makes r the current release of its skill. Where somebody else was
// faster with the same release, theirs is the one that is kept.
func (s *Set) swap(r *Release) (*Release, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.releases[r.String()]; kept != nil {
		if err := kept.unchanged(r.SHA256); err != nil {
			return nil, err
		}
		r = kept
	}
	if err := s.clash(r); err != nil {
		return nil, err
	}
	s.releases[r.String()] = r
	s.current[r.Skill.Name] = r.Skill.Version
	return r, nil
}

// clash fails if another skill has a tool of the same name. It is called with mu.
func (s *Set) clash(r *Release) error {
	for skill, version := range s.current {
		if skill == r.Skill.Name {
			continue
		}
		other := s.releases[skill+"@"+version]
		for _, tool := range r.Skill.Tools {
			if other.Skill.Tool(tool.Name) != nil {
				return host.Fail("release.Load", abi.NewProblem(abi.InvalidManifest,
					"%s and %s both have a tool %s", r, other, tool.Name).
					WithHint("rename one of them; tool names are flat and unique"), nil)
			}
		}
	}
	return nil
}

func (s *Set) find(name string) *Release {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.releases[name]
}

// Current lists the current release of every skill, by name.
func (s *Set) Current() []*Release {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*Release, 0, len(s.current))
	for skill, version := range s.current {
		list = append(list, s.releases[skill+"@"+version])
	}
	slices.SortFunc(list, func(a, b *Release) int { return strings.Compare(a.Skill.Name, b.Skill.Name) })
	return list
}

// Catalog gives the tools of a session: its pinned releases, and the current
// ones of skills that it has not met. The pins that come back hold both; the
// caller stores them with the session. A pinned release that this replica does
// not have is fetched; where that fails, the catalogue goes without that skill
// and names it in Missing, since one bad skill must not stop a session, and it
// is not asked for again for half a minute.
func (s *Set) Catalog(ctx context.Context, pins Pins) (*Catalog, Pins) {
	next := Pins{}
	for skill, version := range pins {
		next[skill] = version
	}
	s.mu.RLock()
	for skill, version := range s.current {
		if _, pinned := next[skill]; !pinned {
			next[skill] = version
		}
	}
	s.mu.RUnlock()
	var list []*Release
	missing := map[string]error{}
	for skill, version := range next {
		r, err := s.pinned(ctx, skill, version)
		if err != nil {
			missing[skill+"@"+version] = err
			continue
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Release) int { return strings.Compare(a.Skill.Name, b.Skill.Name) })
	return newCatalog(list, missing), next
}

// Release gives the release that has a name, name@version, as the audit log
// names it, fetched and prepared if need be. It does not become the current one.
// It fails with NotFound where there is none, and as the registry does.
func (s *Set) Release(ctx context.Context, name string) (*Release, error) {
	skill, version, _ := strings.Cut(name, "@")
	return s.pinned(ctx, skill, version)
}

// pinned gives a release by version, fetching and preparing it if need be. It
// does not become the current one.
func (s *Set) pinned(ctx context.Context, skill, version string) (*Release, error) {
	name := skill + "@" + version
	s.mu.RLock()
	r, miss := s.releases[name], s.missed[name]
	s.mu.RUnlock()
	switch {
	case r != nil:
		return r, nil
	case miss.err != nil && s.now().Sub(miss.at) < missedTime:
		return nil, miss.err
	case s.source == nil:
		return nil, host.Fail("release.Catalog", abi.NewProblem(abi.NotFound, "%s is not loaded", name), nil)
	}
	prepared, err := s.fetch(ctx, skill, version)
	if err != nil {
		s.refused(ctx, name, "", err)
	} else if err = s.tell(ctx, Change{Release: name, SHA256: prepared.SHA256, Status: Pinned}); err != nil {
		prepared.Module.Close(context.WithoutCancel(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			s.missed[name] = missed{s.now(), err}
		}
		return nil, err
	}
	delete(s.missed, name)
	if other := s.releases[name]; other != nil {
		// Another session was faster; the sandbox shares the compiled code.
		go prepared.Module.Close(context.WithoutCancel(ctx))
		return other, nil
	}
	s.releases[name] = prepared
	return prepared, nil
}

// fetch gets a release from the source and prepares it.
func (s *Set) fetch(ctx context.Context, skill, constraint string) (*Release, error) {
	v, err := s.source.Resolve(ctx, skill, constraint)
	if err != nil {
		return nil, err
	}
	fetched, err := s.source.Fetch(ctx, v)
	if err != nil {
		return nil, err
	}
	return s.prepare(ctx, fetched)
}

// Newest fetches the newest release of each named skill that fits its
// constraint ("" for any) and loads it. With no names it takes every skill of
// the source. Policy modules are passed over: only the operator's policy says
// which of them judge, and in which version. Failures do not stop the others; they come back by skill.
func (s *Set) Newest(ctx context.Context, constraints map[string]string) (map[string]error, error) {
	if s.source == nil {
		return nil, host.Fail("release.Newest", abi.NewProblem(abi.InvalidRegistry, "no registry is configured"), nil)
	}
	failed := map[string]error{}
	if len(constraints) == 0 {
		newest, err := s.listed(ctx)
		if err != nil {
			return nil, err
		}
		for skill, v := range newest {
			if err := s.take(ctx, v); err != nil {
				failed[skill] = err
			}
		}
		return failed, nil
	}
	for skill, constraint := range constraints {
		v, err := s.source.Resolve(ctx, skill, constraint)
		if err == nil {
			err = s.take(ctx, v)
		}
		if err != nil {
			failed[skill] = err
		}
	}
	return failed, nil
}

// listed gives the newest version of every skill that is no pre-release, by
// one look at the source.
func (s *Set) listed(ctx context.Context) (map[string]registry.Version, error) {
	versions, err := s.source.List(ctx, "")
	if err != nil {
		return nil, err
	}
	newest := map[string]registry.Version{}
	for _, v := range versions {
		if last, ok := newest[v.Skill]; semver.Prerelease("v"+v.Version) == "" && (!ok || semver.Compare("v"+v.Version, "v"+last.Version) > 0) {
			newest[v.Skill] = v
		}
	}
	return newest, nil
}

func (s *Set) take(ctx context.Context, v registry.Version) error {
	fetched, err := s.source.Fetch(ctx, v)
	if err != nil {
		s.refused(ctx, v.Skill+"@"+v.Version, "", err)
		return err
	}
	if len(fetched.Skill.Hooks) > 0 {
		return nil
	}
	_, err = s.Load(ctx, fetched)
	return err
}

// Close closes every module once its running calls have ended.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for _, r := range s.releases {
		if err := r.Module.Close(ctx); err != nil && first == nil {
			first = err
		}
	}
	clear(s.releases)
	clear(s.current)
	return first
}
