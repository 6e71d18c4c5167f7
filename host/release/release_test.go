package release

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
)

// A fixture is a skill's module and what it says of itself.
type fixture struct {
	sandbox  *sandbox.Sandbox
	wasm     []byte
	manifest abi.Manifest
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	wasm := sandboxtest.Build(t, "host/dispatch/testdata/guest")
	sandboxtest.Load(t, wasm, abi.Limits{}) // keeps the compiled code for the tests of this process
	sb := sandboxtest.Shared(t)
	return fixture{sb, wasm, sandboxtest.Manifest(t, sb, wasm)}
}

// release gives the fixture's skill as a fetched release, changed by edit.
func (f fixture) release(t *testing.T, edit func(*abi.Manifest)) *registry.Release {
	t.Helper()
	m := f.manifest
	m.Tools = append([]abi.Tool{}, m.Tools...)
	if edit != nil {
		edit(&m)
	}
	skill, err := manifest.Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	return &registry.Release{Skill: skill, Module: f.wasm, SHA256: host.Digest(f.wasm)}
}

func version(v string) func(*abi.Manifest) { return func(m *abi.Manifest) { m.Version = v } }

// judges makes a policy module of the manifest.
func judges(m *abi.Manifest) {
	m.Reducer, m.Capabilities, m.Tools, m.Hooks = false, abi.Capabilities{}, nil, abi.HookPoints()
}

func TestAPolicyModuleHasItsExportAndIsNoSkill(t *testing.T) {
	f := newFixture(t)
	s := NewSet(f.sandbox, nil)
	_, err := s.Load(t.Context(), f.release(t, judges))
	wantCode(t, err, abi.InvalidManifest)
	if len(s.Current()) != 0 {
		t.Error("it is a current release")
	}
	_, err = s.prepare(t.Context(), f.release(t, judges)) // whose module imports what no rule may have
	wantCode(t, err, abi.NotGranted)
	r := f.release(t, judges)
	r.Module = renamed(t, r.Module, abi.ExportHook, "another_one")
	_, err = s.prepare(t.Context(), r)
	wantCode(t, err, abi.MissingExport)
}

// renamed gives a module another name for an export, of the same length, and
// has it compiled as the other modules of tests are: not here.
func renamed(t *testing.T, wasm []byte, export, name string) []byte {
	t.Helper()
	wasm = bytes.ReplaceAll(wasm, []byte(export), []byte(name))
	sandboxtest.Warm(t, wasm)
	return wasm
}

// plain declares no reducer.
func plain(m *abi.Manifest) { m.Reducer = false }

func wantCode(t *testing.T, err error, want abi.Code) {
	t.Helper()
	if err == nil || host.ProblemOf(err).Code != want {
		t.Fatalf("error is %v, want code %d", err, want)
	}
}

func TestLoadRefusesWhatDoesNotKeepTheContract(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		name    string
		release func() *registry.Release
		want    abi.Code
	}{
		{"a reducer without its export", func() *registry.Release {
			r := f.release(t, nil)
			r.Module = renamed(t, r.Module, abi.ExportReduce, "another_thing")
			return r
		}, abi.MissingExport},
		{"no exports", func() *registry.Release {
			r := f.release(t, nil)
			r.Module = []byte("\x00asm\x01\x00\x00\x00")
			return r
		}, abi.MissingExport},
		{"not WebAssembly", func() *registry.Release {
			r := f.release(t, nil)
			r.Module = []byte("MZ this is something else")
			return r
		}, abi.CorruptModule},
		{"another version of the contract", func() *registry.Release {
			r := f.release(t, plain)
			r.Module = speaking(2)
			return r
		}, abi.BrokenContract},
		{"no version of the contract", func() *registry.Release {
			r := f.release(t, plain)
			r.Module = speaking(-1)
			return r
		}, abi.Trap},
		{"an import that the manifest does not declare", func() *registry.Release {
			return f.release(t, func(m *abi.Manifest) { m.Capabilities.KV = nil })
		}, abi.NotGranted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := NewSet(f.sandbox, nil)
			_, err := set.Load(context.Background(), tt.release())
			wantCode(t, err, tt.want)
			if len(set.Current()) != 0 {
				t.Error("a refused release became current")
			}
		})
	}
}

// speaking gives a module with the contract's exports that speaks a version
// of it, up to 63, or traps when it is asked.
func speaking(version int) []byte {
	answer := []byte{4, 0, 0x41, byte(version), 0x0b} // i32.const
	if version < 0 {
		answer = []byte{3, 0, 0x00, 0x0b} // unreachable
	}
	silent := []byte{4, 0, 0x41, 0, 0x0b}
	exports := []byte{3}
	for i, name := range []string{abi.ExportABI, abi.ExportDescribe, abi.ExportInvoke} {
		exports = append(append(append(exports, byte(len(name))), name...), 0, byte(i))
	}
	section := func(id byte, body ...byte) []byte { return append([]byte{id, byte(len(body))}, body...) }
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, 1, 0x60, 0, 1, 0x7f), section(3, 3, 0, 0, 0), section(7, exports...),
		section(10, slices.Concat([]byte{3}, answer, silent, silent)...))
}

// small is release with a module that says nothing and takes no room: what is
// published takes the race detector long for each of its bytes.
func (f fixture) small(t *testing.T, edit func(*abi.Manifest)) *registry.Release {
	t.Helper()
	r := f.release(t, func(m *abi.Manifest) {
		plain(m)
		if edit != nil {
			edit(m)
		}
	})
	r.Module = speaking(abi.Version)
	r.SHA256 = host.Digest(r.Module)
	return r
}

func TestModuleThatSpeaksTheContractsVersionIsTaken(t *testing.T) {
	f := newFixture(t)
	r := f.release(t, plain)
	r.Module = speaking(abi.Version)
	load(t, NewSet(f.sandbox, nil), r)
}

func TestManyLoadsOfOneReleaseKeepOneModule(t *testing.T) {
	f := newFixture(t)
	set := NewSet(f.sandbox, nil)
	loaded := make([]*Release, 8)
	var wait sync.WaitGroup
	for i := range loaded {
		wait.Go(func() {
			var err error
			if loaded[i], err = set.Load(context.Background(), f.release(t, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, r := range loaded {
		if r != loaded[0] {
			t.Fatal("two releases of one name and version are in use")
		}
	}
	late := &Release{Skill: loaded[0].Skill, SHA256: host.Digest([]byte("other bytes"))}
	if kept, err := set.swap(late); kept != nil || host.ProblemOf(err).Code != abi.DigestMismatch {
		t.Errorf("a release with other bytes was swapped in as %v %v", kept, err)
	}
}

func TestUnknownToolNamesTheSkillsThatAreMissing(t *testing.T) {
	f := newFixture(t)
	set := NewSet(f.sandbox, nil)
	load(t, set, f.release(t, nil))
	catalog, _ := set.Catalog(context.Background(), Pins{"shop.b": "1.0.0", "shop.a": "2.0.0"})
	_, problem := catalog.Resolve("set_price")
	if problem == nil || !strings.Contains(problem.Message, "shop.a@2.0.0, shop.b@1.0.0 cannot be loaded now") {
		t.Errorf("problem is %v", problem)
	}
	if _, problem := (*Catalog)(nil).Resolve("set_price"); problem == nil || problem.Code != abi.UnknownTool {
		t.Errorf("a nil catalogue gives %v", problem)
	}
}

func TestSecondSkillWithTheSameToolIsRefused(t *testing.T) {
	f := newFixture(t)
	set := NewSet(f.sandbox, nil)
	load(t, set, f.release(t, nil))
	_, err := set.Load(context.Background(), f.release(t, func(m *abi.Manifest) { m.Name = "test.other" }))
	wantCode(t, err, abi.InvalidManifest)
	if got := set.Current(); len(got) != 1 || got[0].Skill.Name != "test.guest" {
		t.Errorf("current releases are %v", got)
	}
}

func TestReleaseNeverChanges(t *testing.T) {
	f := newFixture(t)
	set := NewSet(f.sandbox, nil)
	load(t, set, f.release(t, nil))
	changed := f.release(t, nil)
	changed.SHA256 = host.Digest([]byte("other bytes"))
	_, err := set.Load(context.Background(), changed)
	wantCode(t, err, abi.DigestMismatch)
}

func TestSessionKeepsThePinnedRelease(t *testing.T) {
	f := newFixture(t)
	set := NewSet(f.sandbox, nil)
	load(t, set, f.release(t, nil))
	_, pins := set.Catalog(context.Background(), nil)
	load(t, set, f.release(t, version("2.0.0")))

	old, pinsAfter := set.Catalog(context.Background(), pins)
	fresh, _ := set.Catalog(context.Background(), nil)
	for _, tt := range []struct {
		name    string
		catalog *Catalog
		want    string
	}{{"pinned", old, "test.guest@1.0.0"}, {"new session", fresh, "test.guest@2.0.0"}} {
		e, problem := tt.catalog.Resolve("total")
		if problem != nil || e.Release.String() != tt.want {
			t.Errorf("%s: total is of %v (%v), want %s", tt.name, e.Release, problem, tt.want)
		}
	}
	if pinsAfter["test.guest"] != "1.0.0" {
		t.Errorf("pins became %v", pinsAfter)
	}
}

// TestPinnedReleaseIsFetchedOnAnotherReplica loads from a real registry.
func TestPinnedReleaseIsFetchedOnAnotherReplica(t *testing.T) {
	f := newFixture(t)
	repo := filepath.Join(t.TempDir(), "registry.git")
	for _, v := range []string{"1.0.0", "1.1.0"} {
		publish(t, repo, f.small(t, version(v)))
	}
	set := NewSet(f.sandbox, openRegistry(t, repo))
	failed, err := set.Newest(context.Background(), nil)
	if err != nil || len(failed) != 0 {
		t.Fatal(err, failed)
	}
	if got := set.Current()[0].String(); got != "test.guest@1.1.0" {
		t.Fatalf("the newest is %s", got)
	}
	catalog, _ := set.Catalog(context.Background(), Pins{"test.guest": "1.0.0"})
	if e, problem := catalog.Resolve("total"); problem != nil || e.Release.String() != "test.guest@1.0.0" {
		t.Fatalf("total is of %v (%v)", e.Release, problem)
	}
	if got := set.Current()[0].String(); got != "test.guest@1.1.0" {
		t.Errorf("a pinned release became current: %s", got)
	}
}

// TestMissingReleaseIsNotAskedForAtEveryTurn: for half a minute it is known to
// be missing.
func TestMissingReleaseIsNotAskedForAtEveryTurn(t *testing.T) {
	f := newFixture(t)
	repo := filepath.Join(t.TempDir(), "registry.git")
	publish(t, repo, f.small(t, version("1.0.0")))
	set := NewSet(f.sandbox, openRegistry(t, repo))
	now := time.Now()
	set.now = func() time.Time { return now }
	pins := Pins{"test.guest": "1.1.0"}
	missing := func() bool {
		catalog, _ := set.Catalog(context.Background(), pins)
		return catalog.Missing["test.guest@1.1.0"] != nil
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if catalog, _ := set.Catalog(gone, pins); len(catalog.Missing) != 1 || len(set.missed) != 0 {
		t.Errorf("a caller that went away counts for the others: %v", set.missed)
	}
	if !missing() {
		t.Fatal("a release that was never published is there")
	}
	publish(t, repo, f.small(t, version("1.1.0")))
	if now = now.Add(missedTime - 1); !missing() {
		t.Error("it was asked for again")
	}
	if now = now.Add(1); missing() {
		t.Error("it is there and is still missing")
	}
}

// TestOneBadSkillStopsNobody (P33).
func TestOneBadSkillStopsNobody(t *testing.T) {
	f := newFixture(t)
	repo := filepath.Join(t.TempDir(), "registry.git")
	publish(t, repo, f.small(t, nil))
	bad := f.release(t, func(m *abi.Manifest) { m.Name = "test.bad" })
	bad.Module = []byte("\x00asm\x01\x00\x00\x00")
	publish(t, repo, bad)

	set := NewSet(f.sandbox, openRegistry(t, repo))
	failed, err := set.Newest(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, failed["test.bad"], abi.MissingExport)
	if got := set.Current(); len(got) != 1 || got[0].String() != "test.guest@1.0.0" {
		t.Errorf("current releases are %v", got)
	}
	catalog, _ := set.Catalog(context.Background(), Pins{"test.gone": "1.0.0"})
	if catalog.Missing["test.gone@1.0.0"] == nil || len(catalog.Entries()) == 0 {
		t.Errorf("missing is %v with %d tools", catalog.Missing, len(catalog.Entries()))
	}
}

func load(t *testing.T, set *Set, r *registry.Release) {
	t.Helper()
	if _, err := set.Load(context.Background(), r); err != nil {
		t.Fatal(err)
	}
}

func openRegistry(t *testing.T, repo string) *registry.Registry {
	t.Helper()
	r, err := registry.Open(registry.Config{URL: repo, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func publish(t *testing.T, repo string, r *registry.Release) {
	t.Helper()
	dir := t.TempDir()
	text, err := manifest.Marshal(r.Skill.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"skill.yaml": text, "skill.wasm": r.Module} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := registry.Publish(context.Background(), repo, dir, registry.PublishOptions{Create: true}); err != nil {
		t.Fatal(err)
	}
}

// TestWhatBecomesOfReleasesIsTold: those that become current, in whose place,
// those that sessions need besides, and those that are refused.
func TestWhatBecomesOfReleasesIsTold(t *testing.T) {
	f := newFixture(t)
	repo := filepath.Join(t.TempDir(), "registry.git")
	publish(t, repo, f.small(t, version("1.0.0")))
	set := NewSet(f.sandbox, openRegistry(t, repo))
	var told []string
	set.Told = func(_ context.Context, c Change) error {
		code := abi.Code(0)
		if c.Problem != nil {
			code = c.Problem.Code
		}
		told = append(told, fmt.Sprintf("%s %s was %q code %d, a digest %v", c.Release, c.Status, c.Was, code, c.SHA256 != ""))
		return nil
	}
	load(t, set, f.release(t, version("1.1.0")))
	load(t, set, f.release(t, version("1.1.0")))
	load(t, set, f.release(t, version("1.2.0")))
	set.Catalog(t.Context(), Pins{"test.guest": "1.0.0"})
	set.Catalog(t.Context(), Pins{"test.guest": "1.0.0"})
	set.Catalog(t.Context(), Pins{"test.guest": "9.0.0"})
	bad := f.release(t, version("1.3.0"))
	bad.Module = []byte("\x00asm\x01\x00\x00\x00")
	_, err := set.Load(t.Context(), bad)
	wantCode(t, err, abi.MissingExport)
	want := []string{
		`test.guest@1.1.0 current was "" code 0, a digest true`,
		`test.guest@1.2.0 current was "1.1.0" code 0, a digest true`,
		`test.guest@1.0.0 pinned was "" code 0, a digest true`,
		fmt.Sprintf(`test.guest@9.0.0 refused was "" code %d, a digest false`, abi.NotFound),
		fmt.Sprintf(`test.guest@1.3.0 refused was "" code %d, a digest true`, abi.MissingExport),
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
}

func TestAReleaseThatCannotBePutOnRecordIsNotLoaded(t *testing.T) {
	f := newFixture(t)
	repo := filepath.Join(t.TempDir(), "registry.git")
	publish(t, repo, f.small(t, version("1.0.0")))
	set := NewSet(f.sandbox, openRegistry(t, repo))
	set.Told = func(context.Context, Change) error {
		return host.Fail("told", abi.NewProblem(abi.StoreFailure, "told to"), nil)
	}
	_, err := set.Load(t.Context(), f.release(t, version("1.1.0")))
	wantCode(t, err, abi.StoreFailure)
	_, err = set.Release(t.Context(), "test.guest@1.0.0")
	wantCode(t, err, abi.StoreFailure)
	if len(set.Current()) != 0 || len(set.releases) != 0 {
		t.Errorf("current are %v of %v", set.Current(), set.releases)
	}
}
