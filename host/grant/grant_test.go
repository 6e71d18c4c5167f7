package grant_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
)

// A rig runs the test guest in the real sandbox with grants over a real store.
type rig struct {
	t       *testing.T
	store   *state.Store
	module  *sandbox.Module
	calls   int
	session map[string]json.RawMessage
	config  grant.Config
	reports []abi.ProgressReport
}

var ref = host.SessionRef{Tenant: "acme", User: "mia", Session: "s1"}

var kv = abi.Capabilities{KV: &abi.KVAccess{Namespace: "test"}}

func newRig(t *testing.T) *rig {
	t.Helper()
	config := newConfig(t)
	wasm := sandboxtest.Build(t, "host/grant/testdata/guest")
	module := sandboxtest.Load(t, wasm, abi.Limits{Fuel: abi.CeilingLimits().Fuel, Deadline: abi.CeilingLimits().Deadline, Memory: 128 * abi.MiB, Output: 16 * abi.MiB})
	return &rig{t: t, store: config.Store, module: module, config: config}
}

// newConfig opens a store, blobs and files.
func newConfig(t testing.TB) (config grant.Config) {
	t.Helper()
	var errs [3]error
	config.Store, errs[0] = state.Open(context.Background(), filepath.Join(t.TempDir(), "store.db"), state.Options{})
	config.Blobs, errs[1] = blob.Open(context.Background(), filepath.Join(t.TempDir(), "blobs"), blob.Options{})
	config.Files, errs[2] = files.Open(t.TempDir())
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { config.Store.Close(); config.Blobs.Close(); config.Files.Close() })
	return config
}

func (r *rig) progress(p abi.ProgressReport) { r.reports = append(r.reports, p) }

// A hostCall is one that the guest makes; see testdata/guest.
type hostCall struct {
	Func  string   `json:"func"`
	Args  [][]byte `json:"args"`
	Size  int      `json:"size,omitempty"`
	At    int      `json:"at,omitempty"`
	Bad   string   `json:"bad,omitempty"`
	Times int      `json:"times,omitempty"`
}

func call(function string, args ...string) hostCall {
	c := hostCall{Func: function}
	for _, a := range args {
		c.Args = append(c.Args, []byte(a))
	}
	return c
}

// times repeats a call with a number appended to its first argument.
func (c hostCall) times(n int) hostCall { c.Times = n; return c }

// sized gives the argument at a place so many bytes.
func (c hostCall) sized(at, size int) hostCall { c.At, c.Size = at, size; return c }

// An answer is what the guest got: a block, nothing, or a problem.
type answer struct {
	Block   *string `json:"block"`
	Problem string  `json:"problem"`
	Done    int     `json:"done"`
}

// String gives the block, "nothing", or "problem " and its code.
func (a answer) String() string {
	switch {
	case a.Problem != "":
		return fmt.Sprintf("problem %d", a.problem().Code)
	case a.Block == nil:
		return "nothing"
	}
	return string(a.bytes())
}

func (a answer) problem() (p abi.Problem) {
	if err := json.Unmarshal([]byte(a.Problem), &p); err != nil {
		panic(err)
	}
	return p
}

func (a answer) bytes() []byte {
	b, err := base64.StdEncoding.DecodeString(*a.Block)
	if err != nil {
		panic(err)
	}
	return b
}

// run makes the guest's host calls under a grant.
func (r *rig) run(g *grant.Grant, calls ...hostCall) []answer {
	r.t.Helper()
	input, err := json.Marshal(calls)
	if err != nil {
		r.t.Fatal(err)
	}
	result := r.module.Call(context.Background(), sandbox.Request{Export: "run", Input: input, Functions: g.Functions})
	if result.Problem != nil {
		r.t.Fatal(result.Problem)
	}
	var answers []answer
	if err := json.Unmarshal(result.Output, &answers); err != nil || len(answers) != len(calls) {
		r.t.Fatal(err, len(answers))
	}
	return answers
}

// try makes host calls that the sandbox is to end, and gives why.
func (r *rig) try(g *grant.Grant, calls ...hostCall) *abi.Problem {
	r.t.Helper()
	input, err := json.Marshal(calls)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.module.Call(context.Background(), sandbox.Request{Export: "run", Input: input, Functions: g.Functions}).Problem
}

func (r *rig) grant(c abi.Capabilities, effect abi.Effect) *grant.Grant {
	return grant.For(r.config, grant.Call{ID: "call-1", Live: "live-1", Session: ref, Capabilities: c, Effect: effect, State: r.session, Progress: r.progress, Record: grant.RecordBlob})
}

// settle keeps what was written under a grant.
func (r *rig) settle(g *grant.Grant) error {
	r.calls++
	return r.store.Settle(context.Background(), settlement(r.calls, g.Views...))
}

func settlement(n int, views ...*state.View) state.Settlement {
	return state.Settlement{Session: ref, Call: host.CallIDFor(ref, n, 0), Views: views}
}

func (r *rig) mustSettle(g *grant.Grant) {
	r.t.Helper()
	kept, err := g.Keep(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	kept.Done()
	if err := r.settle(g); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) want(got []answer, want ...string) {
	r.t.Helper()
	for i, w := range want {
		if got[i].String() != w {
			r.t.Errorf("answer %d is %.100q, want %q (%s)", i, got[i], w, got[i].Problem)
		}
	}
}

func TestWritesAreSeenByTheCallAtOnceAndByOthersWhenSettled(t *testing.T) {
	r := newRig(t)
	g := r.grant(kv, abi.Write)
	r.want(r.run(g, call("kv_get", "价/1001"), call("kv_put", "价/1001", "89"), call("kv_get", "价/1001"), call("kv_put", "empty", ""), call("kv_get", "empty")),
		"nothing", "nothing", "89", "nothing", "")
	r.want(r.run(r.grant(kv, abi.Read), call("kv_get", "价/1001"), call("kv_get", "empty")), "nothing", "nothing")
	r.mustSettle(g)
	r.want(r.run(r.grant(kv, abi.Read), call("kv_get", "价/1001"), call("kv_get", "empty")), "89", "")

	g = r.grant(kv, abi.Write)
	r.want(r.run(g, call("kv_delete", "价/1001"), call("kv_get", "价/1001"), call("kv_delete", "never there")), "nothing", "nothing", "nothing")
	r.mustSettle(g)
	r.want(r.run(r.grant(kv, abi.Read), call("kv_get", "价/1001")), "nothing")
}

func TestScanGivesPagesInOrderWithTheCallsOwnWrites(t *testing.T) {
	r := newRig(t)
	g := r.grant(kv, abi.Write)
	r.run(g, call("kv_put", "item/", "old").times(250), call("kv_put", "other", "x"))
	r.mustSettle(g)

	g = r.grant(kv, abi.Write)
	first := r.run(g, call("kv_put", "item/00000", "new"), call("kv_delete", "item/00001"), call("kv_scan", `{"prefix":"item/","limit":100}`))[2]
	page := decodePage(t, first)
	if len(page.Entries) != 100 || page.Entries[0].Key != "item/00000" || string(page.Entries[0].Value) != "new" || page.Entries[1].Key != "item/00002" {
		t.Fatalf("the first page has %d entries: %+v", len(page.Entries), page.Entries[:2])
	}
	seen := len(page.Entries)
	for pages := 1; page.After != ""; pages++ {
		query := fmt.Sprintf(`{"prefix":"item/","after":%q,"limit":100,"keys_only":true}`, page.After)
		page = decodePage(t, r.run(g, call("kv_scan", query))[0])
		for _, e := range page.Entries {
			if !strings.HasPrefix(e.Key, "item/") || len(e.Value) != 0 {
				t.Fatalf("an entry is %+v", e)
			}
		}
		if seen += len(page.Entries); pages > 3 {
			t.Fatal("the scan does not end")
		}
	}
	if seen != 249 {
		t.Errorf("the scan saw %d entries, want 249", seen)
	}
}

func decodePage(t *testing.T, a answer) abi.Page {
	t.Helper()
	if a.Block == nil {
		t.Fatalf("a page is %s: %s", a, a.Problem)
	}
	page, err := abi.DecodePage(a.bytes())
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestHostFunctionsRefuseWhatTheyCannotTake(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("k", abi.KeyBytes)
	for _, tt := range []struct {
		name string
		call hostCall
		want string
	}{
		{"the longest key", call("kv_put", long, "v"), "nothing"},
		{"a longer one", call("kv_put", long+"k", "v"), "problem 4009"},
		{"no key", call("kv_get", ""), "problem 4009"},
		{"a key with NUL", call("kv_get", "a\x00b"), "problem 4009"},
		{"the largest value", call("kv_put", "k", "").sized(1, int(abi.ValueBytes)), "nothing"},
		{"a larger one", call("kv_put", "k", "").sized(1, int(abi.ValueBytes)+1), "problem 3008"},
		{"no query", call("kv_scan", ""), "problem 4009"},
		{"a query that is no JSON", call("kv_scan", "{"), "problem 4009"},
		{"a member that is not known", call("kv_scan", `{"prefix":"a","reverse":true}`), "problem 4009"},
		{"two queries", call("kv_scan", `{"prefix":"a"}{"prefix":"b"}`), "problem 4009"},
		{"a page that is too long", call("kv_scan", `{"prefix":"a","limit":1001}`), "problem 4009"},
		{"a page of less than nothing", call("kv_scan", `{"prefix":"a","limit":-1}`), "problem 4009"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := r.grant(kv, abi.Write)
			if got := r.run(g, tt.call)[0]; got.String() != tt.want {
				t.Errorf("the guest got %.100s (%s), want %s", got, got.Problem, tt.want)
			}
			if g.Failed() != nil {
				t.Errorf("a mistake of the guest counts as the host's: %v", g.Failed())
			}
		})
	}
}

func TestOneCallMayWriteSoMuch(t *testing.T) {
	r := newRig(t)
	keys := r.run(r.grant(kv, abi.Write), call("kv_put", "k", "v").times(abi.CallWrites+1))[0]
	if keys.Done != abi.CallWrites || keys.problem().Code != abi.QuotaReached {
		t.Errorf("the guest wrote %d keys, then got %s", keys.Done, keys)
	}
	bytes := r.run(r.grant(kv, abi.Write), call("kv_put", "k", "").sized(1, int(abi.ValueBytes)).times(17))[0]
	if want := int(abi.CallWriteBytes / abi.ValueBytes); bytes.Done != want || bytes.problem().Code != abi.QuotaReached {
		t.Errorf("the guest wrote %d MiB, then got %s", bytes.Done, bytes)
	}
}

func TestWhatIsNotDeclaredIsNotGranted(t *testing.T) {
	r := newRig(t)
	all := []hostCall{call("kv_get", "k"), call("kv_put", "k", "v"), call("kv_delete", "k"), call("kv_scan", `{"prefix":""}`), call("state_get", "goal")}
	for _, tt := range []struct {
		name   string
		c      abi.Capabilities
		effect abi.Effect
		want   []string
	}{
		{"nothing", abi.Capabilities{}, abi.Write, []string{"problem 4010", "problem 4010", "problem 4010", "problem 4010", "problem 4010"}},
		{"kv, to a read", kv, abi.Read, []string{"nothing", "problem 4010", "problem 4010", "\x00\x00\x00\x00", "problem 4010"}},
		{"state to write only", abi.Capabilities{State: &abi.StateAccess{Writes: []string{"goal"}}}, abi.Write, []string{"problem 4010", "problem 4010", "problem 4010", "problem 4010", "problem 4010"}},
		{"an empty list of state (P29)", abi.Capabilities{State: &abi.StateAccess{Reads: []string{}}}, abi.Write, []string{"problem 4010", "problem 4010", "problem 4010", "problem 4010", "problem 4010"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.t = t
			r.want(r.run(r.grant(tt.c, tt.effect), all...), tt.want...)
		})
	}
	refused := r.run(r.grant(kv, abi.Read), call("kv_put", "k", "v"))[0].problem()
	if !strings.Contains(refused.Message, "effect is read") {
		t.Errorf("the author of a read is told %q", refused.Message)
	}
}

func TestStateIsReadAsDeclared(t *testing.T) {
	r := newRig(t)
	r.session = map[string]json.RawMessage{"goal": json.RawMessage(`{"text":"卖"}`), "live.sku": json.RawMessage(`"1001"`), "secret": json.RawMessage(`1`)}
	g := r.grant(abi.Capabilities{State: &abi.StateAccess{Reads: []string{"goal", "live.*"}}}, abi.Read)
	r.want(r.run(g, call("state_get", "goal"), call("state_get", "live.sku"), call("state_get", "live.none"),
		call("state_get", "secret"), call("state_get", "live"), call("state_get", "livestock"), call("state_get", "")),
		`{"text":"卖"}`, `"1001"`, "nothing", "problem 4010", "problem 4010", "problem 4010", "problem 4010")
}

// TestTenantsAndNamespacesAreApart: nothing that a guest says names either.
func TestTenantsAndNamespacesAreApart(t *testing.T) {
	r := newRig(t)
	g := r.grant(kv, abi.Write)
	r.run(g, call("kv_put", "k", "acme's"))
	r.mustSettle(g)
	elsewhere := abi.Capabilities{KV: &abi.KVAccess{Namespace: "test2"}}
	r.want(r.run(r.grant(elsewhere, abi.Read), call("kv_get", "k"), call("kv_get", "../test/k")), "nothing", "nothing")
	other := grant.For(r.config, grant.Call{Session: host.SessionRef{Tenant: "other", User: "mia", Session: "s1"}, Capabilities: kv, Effect: abi.Read})
	r.want(r.run(other, call("kv_get", "k"), call("kv_get", "acme/test/k")), "nothing", "nothing")
}

// TestStaleReadsDoNotSettle: what a call has read must not have changed.
func TestStaleReadsDoNotSettle(t *testing.T) {
	r := newRig(t)
	slow, quick := r.grant(kv, abi.Write), r.grant(kv, abi.Write)
	r.run(slow, call("kv_get", "stock"), call("kv_put", "stock", "1"))
	r.run(quick, call("kv_put", "stock", "7"))
	r.mustSettle(quick)
	if err := r.settle(slow); err == nil || host.ProblemOf(err).Code != abi.StoreConflict {
		t.Fatalf("error is %v, want a conflict", err)
	}
	r.want(r.run(r.grant(kv, abi.Read), call("kv_get", "stock")), "7")
}

// TestFailureOfTheHostIsRemembered: the guest goes on as if the key were not
// there, and its answer must not count.
func TestFailureOfTheHostIsRemembered(t *testing.T) {
	r := newRig(t)
	g := r.grant(kv, abi.Write)
	r.store.Close()
	r.want(r.run(g, call("kv_get", "k"), call("kv_put", "k", "1")), "problem 5004", "nothing")
	if p := g.Failed(); p == nil || p.Code != abi.StoreFailure {
		t.Errorf("the failure is %v", p)
	}
}
