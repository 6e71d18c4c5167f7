package release

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

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

// Pins says which version of each skill a session uses. It is part of the
// session's state.
type Pins map[string]string

// A Set holds the releases of one replica. It is safe for concurrent use.
type Set struct {
	sandbox *sandbox.Sandbox
	source  *registry.Registry // nil where releases are only loaded from values

	mu       sync.RWMutex
	releases map[string]*Release // by name@version; guarded by mu
	current  map[string]string   // skill name -> version; guarded by mu
}

// NewSet makes an empty set. The source is where pinned releases that are not
// loaded yet are fetched from; it may be nil.
func NewSet(sb *sandbox.Sandbox, source *registry.Registry) *Set {
	return &Set{sandbox: sb, source: source, releases: map[string]*Release{}, current: map[string]string{}}
}

// Load prepares a release and makes it the current one of its skill. It fails,
// and changes nothing, if the module does not compile, lacks an export of the
// contract, speaks another ABI version or imports a host function that the
// manifest does not declare, or if one of its tools has the name of another
// skill's tool: the model's tool names are flat, so they must be unique.
func (s *Set) Load(ctx context.Context, fetched *registry.Release) (*Release, error) {
	name := fetched.Skill.Name + "@" + fetched.Skill.Version
	if loaded := s.find(name); loaded != nil {
		if loaded.SHA256 != fetched.SHA256 {
			return nil, host.Fail("release.Load", abi.NewProblem(abi.DigestMismatch,
				"%s is loaded with sha256 %s and comes again with %s; a release never changes", name, loaded.SHA256, fetched.SHA256), nil)
		}
		return loaded, s.swap(loaded)
	}
	prepared, err := s.prepare(ctx, fetched)
	if err != nil {
		return nil, err
	}
	if err := s.swap(prepared); err != nil {
		prepared.Module.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return prepared, nil
}

func (s *Set) prepare(ctx context.Context, fetched *registry.Release) (*Release, error) {
	module, err := s.sandbox.Load(ctx, fetched.Module, fetched.Skill.Limits)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", fetched.Skill.Name, fetched.Skill.Version, err)
	}
	r := &Release{Skill: fetched.Skill, Module: module, SHA256: fetched.SHA256}
	if problem := r.conforms(); problem != nil {
		module.Close(context.WithoutCancel(ctx))
		return nil, host.Fail("release.Load", problem, nil)
	}
	return r, nil
}

// conforms checks the module against the contract and against what its own
// manifest declares.
func (r *Release) conforms() *abi.Problem {
	for _, export := range []string{abi.ExportABI, abi.ExportDescribe, abi.ExportInvoke} {
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

// swap makes r the current release of its skill.
func (s *Set) swap(r *Release) error {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	s.releases[r.String()] = r
	s.current[r.Skill.Name] = r.Skill.Version
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
// and names it in Missing, since one bad skill must not stop a session.
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

// pinned gives a release by version, fetching and preparing it if need be. It
// does not become the current one.
func (s *Set) pinned(ctx context.Context, skill, version string) (*Release, error) {
	name := skill + "@" + version
	if r := s.find(name); r != nil {
		return r, nil
	}
	if s.source == nil {
		return nil, host.Fail("release.Catalog", abi.NewProblem(abi.NotFound, "%s is not loaded", name), nil)
	}
	v, err := s.source.Resolve(ctx, skill, version)
	if err != nil {
		return nil, err
	}
	fetched, err := s.source.Fetch(ctx, v)
	if err != nil {
		return nil, err
	}
	prepared, err := s.prepare(ctx, fetched)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.releases[name]; other != nil {
		// Another session was faster; the sandbox shares the compiled code.
		go prepared.Module.Close(context.WithoutCancel(ctx))
		return other, nil
	}
	s.releases[name] = prepared
	return prepared, nil
}

// Newest fetches the newest release of each named skill that fits its
// constraint ("" for any) and loads it. With no names it takes every skill of
// the source. Failures do not stop the others; they come back by skill.
func (s *Set) Newest(ctx context.Context, constraints map[string]string) (map[string]error, error) {
	if s.source == nil {
		return nil, host.Fail("release.Newest", abi.NewProblem(abi.InvalidRegistry, "no registry is configured"), nil)
	}
	if len(constraints) == 0 {
		versions, err := s.source.List(ctx, "")
		if err != nil {
			return nil, err
		}
		constraints = map[string]string{}
		for _, v := range versions {
			if semver.Prerelease("v"+v.Version) == "" {
				constraints[v.Skill] = ""
			}
		}
	}
	failed := map[string]error{}
	for skill, constraint := range constraints {
		if err := s.newest(ctx, skill, constraint); err != nil {
			failed[skill] = err
		}
	}
	return failed, nil
}

func (s *Set) newest(ctx context.Context, skill, constraint string) error {
	v, err := s.source.Resolve(ctx, skill, constraint)
	if err != nil {
		return err
	}
	fetched, err := s.source.Fetch(ctx, v)
	if err != nil {
		return err
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
