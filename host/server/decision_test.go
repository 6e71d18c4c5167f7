package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/recall"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// remembering makes a server over memory, whose policy makes lift of gmv.
func remembering(t *testing.T) (*Server, *keeper.Keeper) {
	t.Helper()
	store := openStore(t)
	k, err := keeper.Open(t.Context(), keeper.Config{DB: store.Database(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	r := recall.New(recall.Config{Keeper: k, Store: store, Settings: func(host.TenantID) recall.Settings {
		return recall.Settings{Lifts: []recall.Lift{{Domain: "pricing", Measure: "gmv"}}}
	}})
	t.Cleanup(r.Close)
	return serverOver(t, store, says("x"), Config{Memory: r}), k
}

// shown keeps a decision of a user of a tenant.
func shown(t *testing.T, k *keeper.Keeper, tenant host.TenantID, user host.UserID, domain string) memory.Trace {
	t.Helper()
	trace, err := k.Show(t.Context(), memory.Trace{Tenant: tenant, User: user, Domain: domain, Question: "what price?", Output: "consider 89", TrustAtMoment: memory.InitialTrust, Session: "s1", Input: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// TestADecisionIsActedOnAndAttributedOverHTTP: by the user that it is of, and trust moves
// once for each.
func TestADecisionIsActedOnAndAttributedOverHTTP(t *testing.T) {
	s, k := remembering(t)
	c := serve(t, s).with(HeaderTenant, "shop", HeaderUser, "mia")
	var ids []any
	for range 3 {
		ids = append(ids, shown(t, k, "shop", "mia", "pricing").ID)
	}
	ids = append(ids, shown(t, k, "shop", "mia", "scripts").ID)
	if _, err := k.ActHeard(t.Context(), keeper.Owner{Tenant: "shop", User: "mia"}, ids[1].(string), memory.Accept, "", "2"); err != nil {
		t.Fatal(err)
	}
	const bad, ok = http.StatusBadRequest, http.StatusOK
	for _, step := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/v1/decisions/%[1]s/outcome", `{"lift":0.1}`, bad, "cannot be attributed"},
		{"/v1/decisions/%[1]s/act", `{"action":"like"}`, bad, `"candidates":["accept","reject","modify"]`},
		{"/v1/decisions/%[1]s/act", `{"action":"accept","instaed":"95"}`, bad, "did you mean instead?"},
		{"/v1/decisions/%[1]s/act", `{"action":"accept"}`, ok, `"anchor_action":"accept"`},
		{"/v1/decisions/%[1]s/act", `{"action":"accept"}`, ok, `"anchor_action":"accept"`},
		{"/v1/decisions/%[1]s/act", `{"action":"reject"}`, bad, "was acted on already"},
		{"/v1/decisions/%[1]s/outcome", `{}`, bad, "give lift, or right, or business figures"},
		{"/v1/decisions/%[1]s/outcome", `{"lift":0.1,"right":true}`, bad, "it is not clear"},
		{"/v1/decisions/%[1]s/outcome", `{"before":{"gmv":"9"}}`, bad, "want a number"},
		{"/v1/decisions/%[1]s/outcome", `{"before":{"minutes":9},"after":{"gmv":10}}`, bad, "has no gmv before and after"},
		{"/v1/decisions/%[1]s/outcome", `{"before":{"gmv":9000},"after":{"gmv":12000}}`, ok, `"trust_delta":0.05`},
		{"/v1/decisions/%[1]s/outcome", `{"lift":-1}`, ok, `"trust_delta":0.05`},
		{"/v1/decisions/%[1]s/outcome", `{"before":{"minutes":9},"after":{"gmv":10}}`, ok, `"trust_delta":0.05`},
		{"/v1/decisions/%[2]s/act", `{"action":"modify","instead":"95"}`, ok, `"anchor_alternative":"95"`}, // over what was heard
		{"/v1/decisions/%[2]s/outcome", `{"right":false}`, ok, `"trust_delta":-0.05`},
		{"/v1/decisions/%[4]s/act", `{"action":"accept"}`, ok, `"domain":"scripts"`},
		{"/v1/decisions/%[4]s/outcome", `{"before":{"gmv":9},"after":{"gmv":9}}`, bad, "no policy says"},
		{"/v1/decisions/%[4]s/outcome", `{"lift":0.1}`, ok, `"trust_delta":0.05`},
		{"/v1/decisions/%[4]s/outcome", `{"before":{"gmv":9},"after":{"gmv":9}}`, ok, `"trust_delta":0.05`},                           // without a formula
		{"/v1/decisions/none/act", `{"action":"accept"}`, http.StatusNotFound, `"hint":"list the user's decisions to see their ids"`}, // no command line
		{"/v1/decisions/a%%00b/act", `{"action":"accept"}`, bad, "control character"},
	} {
		path := fmt.Sprintf(step.path+"%.0[1]s%.0[2]s%.0[3]s%.0[4]s", ids...)
		if status, body := c.call("POST", path, step.body); status != step.status || !strings.Contains(body, step.says) {
			t.Errorf("POST %s %s = %d %s, want %d and %q", path, step.body, status, body, step.status, step.says)
		}
	}
	if trust, err := k.Trust(t.Context(), keeper.Owner{Tenant: "shop", User: "mia"}, "pricing"); err != nil || trust != 0.5 {
		t.Errorf("trust %v, %v; want 0.5 + 0.05 - 0.05", trust, err)
	}
	if status, body := c.call("GET", "/v1/decisions", ""); status != ok || strings.Count(body, `"agent_output"`) != 4 {
		t.Errorf("GET /v1/decisions = %d %s", status, body)
	}
	if _, body := c.call("GET", "/v1/decisions?after="+ids[2].(string), ""); strings.Count(body, `"agent_output"`) != 1 {
		t.Errorf("the page behind the third one is %s", body)
	}
	for _, other := range []*client{c.with(HeaderUser, "bob"), c.with(HeaderTenant, "else")} {
		if _, body := other.call("GET", "/v1/decisions", ""); !strings.Contains(body, `"decisions":[]`) {
			t.Errorf("somebody else sees %s", body)
		}
		for path, body := range map[string]string{"act": `{"action":"accept"}`, "outcome": `{"lift":1}`} {
			if status, said := other.call("POST", fmt.Sprintf("/v1/decisions/%s/%s", ids[2], path), body); status != http.StatusNotFound {
				t.Errorf("somebody else's %s = %d %s", path, status, said)
			}
		}
	}
}

func TestWhatIsSaidOfADecisionHasBounds(t *testing.T) {
	s, k := remembering(t)
	c := serve(t, s).with(HeaderTenant, "shop", HeaderUser, "mia")
	of := "/v1/decisions/" + shown(t, k, "shop", "mia", "pricing").ID
	figures := map[string]int{}
	for i := range maxFigures + 1 {
		figures[fmt.Sprint("figure", i)] = i
	}
	many, err := json.Marshal(map[string]any{"after": figures})
	if err != nil {
		t.Fatal(err)
	}
	const bad, wrong = http.StatusBadRequest, http.StatusMethodNotAllowed
	for _, step := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", of + "/outcome", string(many), bad, "0 business figures before and 65 after; at most 64"},
		{"POST", of + "/act", `{"action":"modify","instead":"` + strings.Repeat("x", memory.MaxTextBytes+1) + `"}`, bad, "at most 16384 bytes"},
		{"GET", "/v1/decisions?after=a%00b", "", bad, "control character"},
		{"POST", "/v1/decisions", "{}", wrong, "GET"},
		{"GET", of + "/act", "", wrong, "POST"},
		{"GET", of + "/outcome", "", wrong, "POST"},
	} {
		if status, body := c.call(step.method, step.path, step.body); status != step.status || !strings.Contains(body, step.says) {
			t.Errorf("%s %s %.40s = %d %s, want %d and %q", step.method, step.path, step.body, status, body, step.status, step.says)
		}
	}
	trace, err := k.Trace(t.Context(), keeper.Owner{Tenant: "shop", User: "mia"}, strings.TrimPrefix(of, "/v1/decisions/"))
	if err != nil || trace.Action != "" || !trace.Attributed.IsZero() {
		t.Errorf("%+v, %v: something was kept", trace, err)
	}
}

func TestWithoutMemoryThereAreNoDecisions(t *testing.T) {
	c := serve(t, newServer(t, says("x"), Config{}))
	for path, body := range map[string]string{"GET /v1/decisions": "", "POST /v1/decisions/d/act": `{"action":"accept"}`, "POST /v1/decisions/d/outcome": `{"lift":1}`} {
		method, path, _ := strings.Cut(path, " ")
		if status, said := c.call(method, path, body); status != http.StatusServiceUnavailable || !strings.Contains(said, "keeps no decisions") {
			t.Errorf("%s %s = %d %s", method, path, status, said)
		}
	}
}
