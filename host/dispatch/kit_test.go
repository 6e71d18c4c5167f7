package dispatch

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/registry"

	_ "modernc.org/sqlite" // damages the store from outside
)

// A gate is a dispatcher over a real store and the test guest in the real
// sandbox. Its sleeps take no time and are counted.
type gate struct {
	t       testing.TB
	d       *Dispatcher
	path    string
	store   *state.Store
	set     *release.Set
	catalog *release.Catalog

	mu      sync.Mutex
	slept   []time.Duration // guarded by mu
	onSleep func()          // what happens meanwhile; set before the call
}

var session = host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}

// deadline gives the guest another one than it declares.
func deadline(d time.Duration) func(*abi.Manifest) {
	return func(m *abi.Manifest) { m.Limits.Deadline = abi.Duration(d) }
}

func version(v string) func(*abi.Manifest) { return func(m *abi.Manifest) { m.Version = v } }

func newGate(t testing.TB, edits ...func(*abi.Manifest)) *gate {
	t.Helper()
	ctx := context.Background()
	g := &gate{t: t, path: filepath.Join(t.TempDir(), "store.db")}
	g.store = openStore(t, g.path, state.Options{})
	g.set = release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { g.set.Close(ctx) })
	g.load(edits...)
	g.catalog, _ = g.set.Catalog(ctx, nil)
	g.d = New(Config{Config: grant.Config{Store: g.store}, Jitter: func() float64 { return 1 }, Sleep: func(ctx context.Context, d time.Duration) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.slept = append(g.slept, d)
		if g.onSleep != nil {
			g.onSleep()
		}
		return ctx.Err()
	}})
	return g
}

func openStore(t testing.TB, path string, opts state.Options) *state.Store {
	t.Helper()
	store, err := state.Open(context.Background(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// load makes the test guest, with a manifest that is edited, a current release.
func (g *gate) load(edits ...func(*abi.Manifest)) {
	g.t.Helper()
	wasm := sandboxtest.Build(g.t, "host/dispatch/testdata/guest")
	module := sandboxtest.Load(g.t, wasm, abi.Limits{}) // keeps the compiled code for the tests of this process
	skill := sandboxtest.Describe(g.t, sandboxtest.Shared(g.t), wasm)
	if len(edits) > 0 {
		m := sandboxtest.Manifest(g.t, sandboxtest.Shared(g.t), wasm)
		for _, edit := range edits {
			edit(&m)
		}
		var err error
		if skill, err = manifest.Compile(m); err != nil {
			g.t.Fatal(err)
		}
	}
	if _, err := g.set.Load(context.Background(), &registry.Release{Skill: skill, Module: wasm, SHA256: module.Digest()}); err != nil {
		g.t.Fatal(err)
	}
}

var calls struct {
	sync.Mutex
	n int
}

// call makes a call of its own intent.
func call(tool, args string) host.Call {
	calls.Lock()
	defer calls.Unlock()
	calls.n++
	return host.Call{ID: host.CallIDFor(session, calls.n, 0), Session: session, Locale: "en", Tool: tool, Args: args, Input: calls.n}
}

func (g *gate) do(tool, args string) host.Outcome {
	g.t.Helper()
	return g.d.Do(context.Background(), g.catalog, call(tool, args))
}

// until takes a call through its steps up to and with the named one.
func (g *gate) until(c host.Call, last string) *flight {
	g.t.Helper()
	f := newFlight(g.d, g.catalog, c)
	for _, s := range []step{
		{"resolve", (*flight).resolve}, {"check", (*flight).check}, {"gate", (*flight).gate}, {"claim", (*flight).claim},
		{"run", func(f *flight, ctx context.Context) *abi.Problem { f.outcome.Attempts++; return f.run(ctx) }},
		{"verify", (*flight).verify}, {"reduce", (*flight).reduce}, {"spill", (*flight).spill}, {"settle", (*flight).settle},
	} {
		if problem := s.do(f, context.Background()); problem != nil {
			g.t.Fatalf("%s: %v", s.name, problem)
		}
		if s.name == last {
			break
		}
	}
	return f
}

// damage runs a statement on the store's database, past the store.
func (g *gate) damage(statement string) {
	g.t.Helper()
	db, err := sql.Open("sqlite", g.path)
	if err != nil {
		g.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA busy_timeout = 10000; " + statement); err != nil {
		g.t.Fatal(err)
	}
}

// failRecords makes the store refuse records of a kind until mend.
func (g *gate) failRecords(kind host.RecordKind) {
	g.t.Helper()
	g.damage("CREATE TRIGGER damaged BEFORE INSERT ON audit_record WHEN NEW.kind = '" + string(kind) + "' BEGIN SELECT RAISE(ABORT, 'damaged'); END")
}

func (g *gate) mend() {
	g.t.Helper()
	g.damage("DROP TRIGGER IF EXISTS damaged")
}

func (g *gate) records(id host.CallID, kinds ...host.RecordKind) []host.Record {
	g.t.Helper()
	records, err := g.store.Records(context.Background(), session.Tenant, state.RecordFilter{Call: id, Kinds: kinds, Limit: 1000})
	if err != nil {
		g.t.Fatal(err)
	}
	return records
}

func (g *gate) stored(key string) string {
	g.t.Helper()
	value, _, err := g.store.View(session.Tenant, "test").Get(context.Background(), key)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(value)
}

// state gives the text of the session's goal.
func (g *gate) goal() string {
	g.t.Helper()
	values, err := g.store.LoadState(context.Background(), session, "goal")
	if err != nil {
		g.t.Fatal(err)
	}
	return string(values["goal"].Data)
}

func (g *gate) setGoal(version int64, data string) {
	g.t.Helper()
	if err := g.store.SaveState(context.Background(), session, state.Change{Key: "goal", Version: version, Data: []byte(data)}); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gate) wantKinds(id host.CallID, want ...host.RecordKind) {
	g.t.Helper()
	var got []host.RecordKind
	for _, r := range g.records(id) {
		got = append(got, r.Kind)
	}
	if len(got) != len(want) {
		g.t.Fatalf("records of the call are %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			g.t.Fatalf("records of the call are %v, want %v", got, want)
		}
	}
}

func wantProblem(t *testing.T, o host.Outcome, status host.Status, code abi.Code) {
	t.Helper()
	if o.Status != status || o.Problem == nil || o.Problem.Code != code {
		t.Fatalf("outcome is %+v with %v, want %s with code %d", o, o.Problem, status, code)
	}
}

// fill puts a value into the skill's kv, as a call of another session does.
func (g *gate) fill(key, value string) {
	g.t.Helper()
	view := g.store.View(session.Tenant, "test")
	if err := view.Put(key, []byte(value)); err != nil {
		g.t.Fatal(err)
	}
	elsewhere := session
	elsewhere.Session = "elsewhere"
	if err := g.store.Settle(context.Background(), state.Settlement{Session: elsewhere, Call: call("order", "").ID, Views: []*state.View{view}}); err != nil {
		g.t.Fatal(err)
	}
}
