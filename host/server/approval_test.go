package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
)

// orders is a model that orders sixty of two things, which a person must
// confirm, and tells what came of it.
func orders(_ context.Context, req model.Request, _ func(model.Event)) (model.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == model.RoleUser && !last.ByHost {
		return model.Reply{Finish: model.FinishCalls, Calls: []model.Call{
			{ID: "c0", Tool: "order", Args: `{"item":"pen","count":60}`}, {ID: "c1", Tool: "order", Args: `{"item":"ink","count":70}`},
		}}, nil
	}
	return model.Reply{Text: "told: " + last.Text, Finish: model.FinishStop}, nil
}

// orderServer is a server with the test guest.
func orderServer(t *testing.T) *Server {
	t.Helper()
	wasm := sandboxtest.Build(t, "host/dispatch/testdata/guest")
	sandboxtest.Load(t, wasm, abi.Limits{})
	skill, err := manifest.Compile(sandboxtest.Describe(t, sandboxtest.Shared(t), wasm).Manifest)
	if err != nil {
		t.Fatal(err)
	}
	set := release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { set.Close(context.Background()) })
	if _, err := set.Load(t.Context(), &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		t.Fatal(err)
	}
	store := openStore(t)
	return serverOver(t, store, nil, Config{Agent: agent.New(agent.Config{
		Store: store, Model: script(orders), Releases: set, Dispatch: dispatch.New(dispatch.Config{Config: grant.Config{Store: store}}),
	})})
}

func answerBody(t *testing.T, answer, digest, words string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"answer": answer, "digest": digest, "words": words})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAPersonAnswersOverHTTPAndTheTurnGoesOn(t *testing.T) {
	c := serve(t, orderServer(t))
	turns := c.newSession(`{"locale":"zh-CN"}`)
	plain := c.with("Accept", "application/json")
	_, body := plain.call("POST", turns, `{"text":"order"}`)
	pending := answerIn(t, body).Pending
	if len(pending) != 2 {
		t.Fatalf("the turn ended with %s", body)
	}
	if status, list := c.call("GET", "/v1/approvals", ""); status != http.StatusOK || !strings.Contains(list, `"status":"open","tool":"test.guest.order"`) || !strings.Contains(list, pending[1].Digest) {
		t.Errorf("GET /v1/approvals = %d %s", status, list)
	}
	approvals := strings.TrimSuffix(turns, "turns") + "approvals/"
	yes, no := approvals+string(pending[0].ID), approvals+string(pending[1].ID)

	_, r := c.stream(t.Context(), yes, answerBody(t, "approve", pending[0].Digest, ""))
	events := r.rest()
	last := events[len(events)-1]
	if last.Event != "answer" || !strings.Contains(answerIn(t, last.Data).Text, `{"item":"pen","total":60}`) {
		t.Errorf("the yes ended with %+v", last)
	}
	if events[0].Event != "turn.start" || events[1].Event != "call" || events[2].Event != "outcome" {
		t.Errorf("it told %+v", events)
	}
	if status, body := plain.call("POST", yes, answerBody(t, "approve", pending[0].Digest, "")); status != http.StatusOK || !answerIn(t, body).Repeated {
		t.Errorf("the same again: %d %s", status, body)
	}
	if status, body := plain.call("POST", no, answerBody(t, "reject", pending[1].Digest, "too much ink")); status != http.StatusOK || !strings.Contains(body, "too much ink") {
		t.Errorf("the no: %d %s", status, body)
	}
	for status, want := range map[string]int{"open": 0, "used": 1, "rejected": 1, "all": 2} {
		if _, list := c.call("GET", "/v1/approvals?status="+status, ""); strings.Count(list, `"id":"ask_`) != want {
			t.Errorf("%s are %s", status, list)
		}
	}
	if _, list := c.with(HeaderTenant, "eve").call("GET", "/v1/approvals?status=all", ""); !strings.Contains(list, `"approvals":[]`) {
		t.Errorf("another tenant sees %s", list)
	}
}

func TestAnAnswerOverHTTPThatIsNoneIsRefused(t *testing.T) {
	c := serve(t, orderServer(t))
	turns := c.newSession(`{}`)
	other := c.newSession(`{}`)
	_, body := c.with("Accept", "application/json").call("POST", turns, `{"text":"order"}`)
	pending := answerIn(t, body).Pending
	path := strings.TrimSuffix(turns, "turns") + "approvals/" + string(pending[0].ID)
	good := answerBody(t, "approve", pending[0].Digest, "")
	for name, tt := range map[string]struct {
		client     *client
		path, body string
		status     int
	}{
		"of another question": {c, path, answerBody(t, "approve", pending[1].Digest, ""), http.StatusForbidden},
		"without a digest":    {c, path, `{"answer":"approve"}`, http.StatusBadRequest},
		"of another word":     {c, path, answerBody(t, "maybe", pending[0].Digest, ""), http.StatusBadRequest},
		"to nothing":          {c, path + "0", good, http.StatusNotFound},
		"in another session":  {c, strings.TrimSuffix(other, "turns") + "approvals/" + string(pending[0].ID), good, http.StatusNotFound},
		"of another user":     {c.with(HeaderUser, "eve"), path, good, http.StatusNotFound},
		"of another tenant":   {c.with(HeaderTenant, "eve"), path, good, http.StatusNotFound},
		"with endless words":  {c, path, answerBody(t, "approve", pending[0].Digest, strings.Repeat("x", 10_000)), http.StatusBadRequest},
		"as an input":         {c, turns, `{"id":"approval/` + string(pending[0].ID) + `","text":"yes"}`, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := tt.client.call("POST", tt.path, tt.body); status != tt.status {
				t.Errorf("%d %s, want %d", status, body, tt.status)
			}
		})
	}
	if status, _ := c.call("GET", "/v1/approvals?status=maybe", ""); status != http.StatusBadRequest {
		t.Errorf("an unknown status is answered with %d", status)
	}
	if _, list := c.call("GET", "/v1/approvals", ""); strings.Count(list, `"id":"ask_`) != 2 {
		t.Errorf("open are %s", list)
	}
}
