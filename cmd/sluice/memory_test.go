package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/jobs"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/index"
	"github.com/sluicehq/sluice/memory/keeper"
	"github.com/sluicehq/sluice/memory/memorytest"
)

// aHall is a hall of a home of its own with a policy, which remembers.
func aHall(t *testing.T, policy string) (*program, *hall) {
	t.Helper()
	home := t.TempDir()
	p := &program{env: func(string) string { return "" }, stderr: os.Stderr, home: home, memory: memoryFlags{mode: "on", index: embedded, embedder: "none", hear: byRules, dense: denseJudged, ranking: memory.MeasuredRanking, trust: memory.InitialTrust}}
	if policy != "" {
		p.policy = filepath.Join(home, "policy.yaml")
		if err := os.WriteFile(p.policy, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := p.openHome(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := p.remember(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	return p, h
}

func TestATenantHasWhatAllEntriesAboutItSay(t *testing.T) {
	policy, err := manifest.ParsePolicy("policy.yaml", []byte(`policy: 1
memory:
  - facts: [shop.catalog.get_product]
  - tenants: [acme]
    points: [{name: opening, domain: script, words: [opening]}]
    seen: [{tool: shop.stage.open_live, topic: opening.minutes, number: minutes}]
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := readRemembered(policy)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.of("acme"); len(s.Facts) != 1 || len(s.Points) != 1 || len(s.Seen) != 1 || s.Points[0].Domain != "script" || s.Seen[0].Number != "minutes" {
		t.Errorf("acme has %+v", s)
	}
	if s := r.of("other"); len(s.Facts) != 1 || len(s.Points) != 0 || len(s.Seen) != 0 {
		t.Errorf("another one has %+v", s)
	}
	if tenants, decide := r.deciders(); !decide || !slices.Equal(tenants, []host.TenantID{"acme"}) {
		t.Errorf("who decides: %v, %v", tenants, decide)
	}
	if _, decide := (remembered)(nil).deciders(); decide {
		t.Error("nobody decides where no policy says so")
	}
}

func TestTheShopsPolicyRemembers(t *testing.T) {
	text, err := os.ReadFile("../../skills/shop/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := manifest.ParsePolicy("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readRemembered(policy)
	if s := r.of("anybody"); err != nil || len(s.Points) != 2 || len(s.Facts) != 1 || len(s.Seen) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestMoreThanATenantMayHaveIsRefusedAtTheStart(t *testing.T) {
	const most = 64 // facts of a tenant, which two entries exceed together
	var b strings.Builder
	b.WriteString("policy: 1\nmemory:\n")
	for entry := range 2 {
		fmt.Fprintf(&b, "  - tenants: [acme]\n    facts:\n")
		for i := range most/2 + 1 {
			fmt.Fprintf(&b, "      - a.t%d_%d\n", entry, i)
		}
	}
	policy, err := manifest.ParsePolicy("policy.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readRemembered(policy); err == nil || host.ProblemOf(err).Code != abi.BadValue {
		t.Errorf("it was taken: %v", err)
	}
}

func TestMemoryStandsBeforeThePolicysModulesAndSurvivesAnotherPolicy(t *testing.T) {
	const points = "policy: 1\nmemory: [{tenants: [acme], points: [{name: price, domain: pricing, words: [price]}]}]\n"
	p, h := aHall(t, points)
	h.rules = []host.Hook{{Name: "acme.rules"}}
	if err := h.join(); err != nil {
		t.Fatal(err)
	}
	quiet, err := p.watch(h, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer quiet()
	if h.dispatch.Recall == nil || h.dispatch.Remember == nil || !h.dispatch.Hooks.GuardsAnswers("acme") {
		t.Error("memory is not wired")
	}
	if h.dispatch.Hooks.GuardsAnswers("other") {
		t.Error("a tenant that makes no decisions waits for its answers")
	}
	all, err := manifest.ParsePolicy("policy.yaml", []byte(strings.Replace(points, "tenants: [acme], ", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.enforce(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if !h.dispatch.Hooks.GuardsAnswers("other") {
		t.Error("another policy has put the guard of answers out")
	}
}

func TestJobsOfMemoryLookAtEveryTenant(t *testing.T) {
	_, h := aHall(t, `policy: 1
memory: [{seen: [{tool: shop.coupons.issue_coupon, topic: coupon, number: amount, unit: CNY}]}]
`)
	ctx := t.Context()
	for _, tenant := range []host.TenantID{"acme", "globex"} {
		for n := range 3 {
			s := host.SessionRef{Tenant: tenant, User: "mia", Session: host.SessionID(fmt.Sprint("s", n))}
			call := host.CallID(fmt.Sprint("call_", tenant, n))
			err := h.store.Record(ctx,
				host.Record{Session: s, Call: call, Kind: host.RecordIntent, Tool: "issue_coupon", Release: "shop.coupons@1.0.0", Detail: json.RawMessage(`{"args":{"amount":20}}`)},
				host.Record{Session: s, Call: call, Kind: host.RecordOutcome, Tool: "issue_coupon", Release: "shop.coupons@1.0.0", Detail: json.RawMessage(`{"status":"done"}`)})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	list := h.memoryJobs(slog.New(slog.DiscardHandler))
	var names []string
	for _, j := range list {
		names = append(names, j.Name)
		if err := j.Do(ctx); err != nil {
			t.Errorf("%s: %v", j.Name, err)
		}
	}
	if want := []string{"memory.observe", "memory.tidy", "memory.purge"}; !slices.Equal(names, want) {
		t.Errorf("jobs %v, want %v", names, want)
	}
	if _, err := jobs.New(h.store, slog.New(slog.DiscardHandler), list...); err != nil {
		t.Error(err)
	}
	for _, tenant := range []host.TenantID{"acme", "globex"} {
		habits, err := h.minding.List(ctx, keeper.Owner{Tenant: tenant, User: "mia"}, keeper.Page{Layers: []memory.Layer{memory.Behaviour}})
		if err != nil || len(habits) != 1 || habits[0].Claim == nil || *habits[0].Claim.Low != 20 {
			t.Errorf("habits of %s: %+v, %v", tenant, habits, err)
		}
	}
}

// TestWhatCarriesAMemoryIsFound looks at the ways in which a record may carry a text.
func TestWhatCarriesAMemoryIsFound(t *testing.T) {
	c := newCarriers(nil)
	c.words.add(`opens with "10" & more`)
	c.words.add("券") // too short to look for
	c.add(memory.Source{Session: "s1", Input: "2"})
	c.add(memory.Source{Session: "s1", Call: "call_1"})
	packed := base64.StdEncoding.EncodeToString([]byte(`{"text":"opens with \"10\" & more"}`))
	for _, tt := range []struct {
		name   string
		record host.Record
		want   bool
	}{
		{"the call that it came from", host.Record{Call: "call_1", Detail: json.RawMessage(`{"input":9}`)}, true},
		{"the message that it came from", host.Record{Session: host.SessionRef{Session: "s1"}, Detail: json.RawMessage(`{"input":2}`)}, true},
		{"that of another session", host.Record{Session: host.SessionRef{Session: "s2"}, Detail: json.RawMessage(`{"input":2}`)}, false},
		{"its text", host.Record{Call: "call_2", Detail: json.RawMessage(`{"args":{"say":"it opens with \"10\" & more"}}`)}, true},
		{"its text, escaped for HTML", host.Record{Detail: json.RawMessage(`{"say":"opens with \"10\" \u0026 more"}`)}, true},
		{"what a skill recalled", host.Record{Detail: json.RawMessage(`{"host_calls":{"count":1,"bytes":9,"inline":{"input":{},"granted":[],"calls":[{"function":"memory_recall","args":[],"result":"` + packed + `"}]}}}`)}, true},
		{"host calls that were not kept", host.Record{Detail: json.RawMessage(`{"host_calls":{"count":1,"bytes":9}}`)}, false},
		{"another text", host.Record{Detail: json.RawMessage(`{"say":"券"}`)}, false},
		{"no detail", host.Record{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := c.carry(t.Context(), tt.record); got != tt.want {
				t.Errorf("it carries: %v", got)
			}
		})
	}
	if c.failed != nil {
		t.Error(c.failed)
	}
}

func TestAChoiceOfMemoriesIsRead(t *testing.T) {
	active := []memory.Status{memory.Active}
	for _, tt := range []struct {
		name string
		of   choice
		want []memory.Status
	}{
		{"active ones by default", choice{}, active},
		{"all", choice{statuses: []string{"all"}}, nil},
		{"what held then may not hold now", choice{asOf: "2026-05-01"}, nil},
		{"one", choice{statuses: []string{"archived"}, asOf: "2026-05-01T20:00:00Z"}, []memory.Status{memory.Archived}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := tt.of.page()
			if err != nil || !slices.Equal(page.Statuses, tt.want) || (page.AsOf != nil) != (tt.of.asOf != "") {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
	if day, err := timeIn("2026-05-01"); err != nil || day.Format("01-02 15:04") != "05-01 23:59" {
		t.Errorf("a day ends at %v, %v", day, err)
	}
}

func TestAnUnreachableIndexIsAnErrorAndNoIndex(t *testing.T) {
	m := memoryFlags{mode: "on", index: "qdrant://127.0.0.1:1", embedder: "none", hear: byRules, dense: denseJudged, ranking: memory.MeasuredRanking, trust: memory.InitialTrust}
	if store, _, err := m.open(t.Context(), func(string) string { return "" }); err == nil || store != nil {
		t.Errorf("%v, %v", store, err)
	}
	m.index = embedded
	store, _, err := m.open(t.Context(), nil)
	if _, ok := store.(*index.Index); !ok || err != nil {
		t.Errorf("%T, %v", store, err)
	}
}

// A trigger does something once a text is written to it.
type trigger struct {
	on string
	do func()
}

func (t trigger) Write(p []byte) (int, error) {
	if strings.Contains(string(p), t.on) {
		t.do()
	}
	return len(p), nil
}

func TestAnInterruptionEndsTheQuestionAndForgetsNothing(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"SLUICE_HOME": home}[name] }
	file := filepath.Join(home, "mia.jsonl")
	if err := os.WriteFile(file, []byte(`{"text":"tea at five","layer":1,"kind":"preference","trust":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, env, "memory", "import", file)
	silent, _ := io.Pipe() // somebody who says nothing
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p := &program{env: env, stdin: silent, stdout: io.Discard, stderr: trigger{"Type yes", interrupt}}
	if code := p.run(ctx, []string{"memory", "forget", "--all"}); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if list := run(t, env, "memory", "list"); !strings.Contains(list, "tea at five") {
		t.Errorf("it was forgotten: %s", list)
	}
}

// TestCommandsShareAnIndexOfAServer: what one command kept another one's search finds,
// and a request to forget waits until the server has none of it.
func TestCommandsShareAnIndexOfAServer(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	home := t.TempDir()
	env := func(name string) string {
		return map[string]string{"SLUICE_HOME": home, "SLUICE_MEMORY_INDEX": "qdrant://" + server.Address()}[name]
	}
	file := filepath.Join(home, "mia.jsonl")
	if err := os.WriteFile(file, []byte(`{"text":"tea at five","layer":1,"kind":"preference","trust":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, env, "memory", "import", file)
	if found := run(t, env, "memory", "search", "tea"); !strings.Contains(found, "tea at five") {
		t.Errorf("found %s", found)
	}
	if told := run(t, env, "memory", "rebuild", "--json"); !strings.Contains(told, `"memories":1`) {
		t.Errorf("rebuilt %s", told)
	}
	if server.Points() != 1 {
		t.Errorf("the server has %d memories", server.Points())
	}
	run(t, env, "memory", "forget", "--all", "--yes")
	if names := server.Collections(); len(names) != 1 || server.Points() != 0 {
		t.Errorf("the server has %d memories in %q", server.Points(), names)
	}
}

// What an import brings is held against what was declared, by the policy that the host has.
func TestAnImportSettlesWhatWasDeclaredByThePolicy(t *testing.T) {
	for conflicts, active := range map[string]int{"last": 1, "ask": 2} {
		home := t.TempDir()
		env := func(name string) string { return map[string]string{"SLUICE_HOME": home}[name] }
		policy := filepath.Join(home, "policy.yaml")
		if err := os.WriteFile(policy, []byte("policy: 1\nmemory: [{conflicts: "+conflicts+"}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for day, minutes := range []int{10, 20} {
			file, line := filepath.Join(home, "mia.jsonl"), `{"text":"open with %[1]d minutes","layer":1,"kind":"preference","trust":1,"at":"2026-03-0%[2]dT08:00:00Z","claim":{"topic":"opening.minutes","low":%[1]d,"high":%[1]d,"unit":"min"}}`
			if err := os.WriteFile(file, fmt.Appendf(nil, line, minutes, day+1), 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, env, "memory", "import", file, "--policy", policy)
		}
		list := run(t, env, "memory", "list", "--json")
		if n := strings.Count(list, `"status":"active"`); n != active || !strings.Contains(list, "20 minutes") {
			t.Errorf("%s: %d count: %s", conflicts, n, list)
		}
		if asks := strings.Contains(run(t, env, "memory", "gaps"), "20"); asks != (active == 2) {
			t.Errorf("%s: the user is asked: %t", conflicts, asks)
		}
	}
}
