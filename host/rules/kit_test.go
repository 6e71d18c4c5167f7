package rules

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"
)

const (
	rulesGuest = "host/rules/testdata/guest"
	toolsGuest = "host/dispatch/testdata/guest"
)

// A court is a real registry with policy modules in it, and a dispatcher with the
// test guest whose calls they judge.
type court struct {
	t       testing.TB
	source  string
	set     *release.Set
	store   *state.Store
	d       *dispatch.Dispatcher
	catalog *release.Catalog
}

func newCourt(t testing.TB) *court {
	t.Helper()
	ctx := context.Background()
	folder := t.TempDir()
	c := &court{t: t, source: filepath.Join(folder, "registry.git")}
	store, err := state.Open(ctx, filepath.Join(folder, "store.db"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	c.store = store
	c.openBook()
	source, err := registry.Open(registry.Config{URL: c.source, CacheDir: filepath.Join(folder, "releases")})
	if err != nil {
		t.Fatal(err)
	}
	c.set = release.NewSet(sandboxtest.Shared(t), source)
	t.Cleanup(func() { c.set.Close(ctx) })
	tools := sandboxtest.Build(t, toolsGuest)
	sandboxtest.Load(t, tools, abi.Limits{})
	skill := sandboxtest.Describe(t, sandboxtest.Shared(t), tools)
	if _, err := c.set.Load(ctx, &registry.Release{Skill: skill, Module: tools, SHA256: host.Digest(tools)}); err != nil {
		t.Fatal(err)
	}
	c.catalog, _ = c.set.Catalog(ctx, nil)
	c.d = dispatch.New(dispatch.Config{Config: grant.Config{Store: store}, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	return c
}

// book is a registry with the rules' guest, for all tests: to publish that takes
// the race detector seconds.
var book struct {
	sync.Mutex
	folder string // guarded by the mutex; "" until there is one
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(book.folder)
	os.Exit(code)
}

// openBook gives the court a copy of the book.
func (c *court) openBook() {
	c.t.Helper()
	book.Lock()
	defer book.Unlock()
	if book.folder == "" {
		folder, err := os.MkdirTemp("", "rules")
		if err != nil {
			c.t.Fatal(err)
		}
		book.folder = folder
		(&court{t: c.t, source: filepath.Join(folder, "registry.git")}).publish(rulesGuest, nil)
	}
	if err := os.CopyFS(c.source, os.DirFS(filepath.Join(book.folder, "registry.git"))); err != nil {
		c.t.Fatal(err)
	}
}

// publish makes a release of a module, with a manifest that is edited.
func (c *court) publish(pkg string, edit func(*abi.Manifest)) {
	c.t.Helper()
	wasm := sandboxtest.Build(c.t, pkg)
	sandboxtest.Load(c.t, wasm, abi.Limits{}) // keeps the compiled code for the tests of this process
	m := sandboxtest.Manifest(c.t, sandboxtest.Shared(c.t), wasm)
	m.Module = "skill.wasm"
	if edit != nil {
		edit(&m)
	}
	text, err := manifest.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	dir := c.t.TempDir()
	for name, content := range map[string][]byte{"skill.yaml": text, "skill.wasm": wasm} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	if _, err := registry.Publish(context.Background(), c.source, dir, registry.PublishOptions{Create: true}); err != nil {
		c.t.Fatal(err)
	}
}

// load gives the modules that a policy names all the time that one may have, unless it
// says otherwise: what a busy machine takes decides nothing.
func (c *court) load(policy string) ([]host.Hook, error) {
	c.t.Helper()
	p, err := manifest.ParsePolicy("policy.yaml", []byte("policy: 1\nhooks:\n"+policy))
	if err != nil {
		c.t.Fatal(err)
	}
	modules := slices.Clone(p.Hooks())
	for i := range modules {
		modules[i].Deadline = cmp.Or(modules[i].Deadline, manifest.MaxHookDeadline)
	}
	return Load(context.Background(), c.set, modules, func() time.Time { return time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC) })
}

// enforce has the dispatcher ask what a policy names, and other hooks after it.
func (c *court) enforce(policy string, others ...host.Hook) {
	c.t.Helper()
	hooks, err := c.load(policy)
	if err == nil {
		c.d.Hooks, err = host.NewHooks(append(hooks, others...)...)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// order orders an item, of a tenant's own.
func (c *court) order(tenant host.TenantID, item string) host.Outcome {
	c.t.Helper()
	args, err := json.Marshal(map[string]any{"item": item, "count": 2})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.d.Do(context.Background(), c.catalog, host.Call{
		ID: host.CallID(host.NewID("call_")), Session: host.SessionRef{Tenant: tenant, User: "mia", Session: "s1"}, Live: "l1",
		Locale: "en", Tool: "order_once", Args: string(args), Input: 1,
	})
}

// recorded gives what stands on record of a call, whatever the kind.
func (c *court) recorded(o host.Outcome, tenant host.TenantID) string {
	c.t.Helper()
	records, err := c.store.Records(context.Background(), tenant, state.RecordFilter{Call: o.Call})
	if err != nil {
		c.t.Fatal(err)
	}
	var all bytes.Buffer
	for _, r := range records {
		if r.Call == o.Call {
			all.Write(r.Detail)
			all.WriteByte('\n')
		}
	}
	return all.String()
}

func wantEnd(t *testing.T, o host.Outcome, want abi.Code, words string) {
	t.Helper()
	switch {
	case want == 0 && o.Problem != nil:
		t.Errorf("it ends in %v, want a success", o.Problem)
	case want != 0 && (o.Problem == nil || o.Problem.Code != want || !strings.Contains(o.Problem.Message, words)):
		t.Errorf("it ends as %s in %v, want %d with %q", o.Status, o.Problem, want, words)
	}
}
