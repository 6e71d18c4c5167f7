package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// buys is a model that orders two pens, of which the user is told.
func buys(_ context.Context, req model.Request, _ func(model.Event)) (model.Reply, error) {
	if last := req.Messages[len(req.Messages)-1]; last.Role != model.RoleUser {
		return model.Reply{Text: "ordered", Finish: model.FinishStop}, nil
	}
	return model.Reply{Finish: model.FinishCalls, Calls: []model.Call{{ID: "c0", Tool: "order", Args: `{"item":"pen","count":2}`}}}, nil
}

func TestAUserObjectsOverHTTPToWhatTheyWereToldOf(t *testing.T) {
	s := orderServer(t)
	cfg := s.Agent.Config
	cfg.Model = script(buys)
	s.Agent = agent.New(cfg)
	c := serve(t, s)
	turns := c.newSession(`{}`)
	_, r := c.stream(t.Context(), turns, `{"text":"two pens"}`)
	id := ""
	for _, e := range r.rest() {
		if e.Event == "notice" {
			_, rest, _ := strings.Cut(e.Data, `"call":"`)
			id, _, _ = strings.Cut(rest, `"`)
		}
	}
	if id == "" {
		t.Fatal("no notice names its call")
	}
	path := strings.TrimSuffix(turns, "turns") + "calls/" + id + "/objection"
	for _, want := range []string{`"first":true`, `"first":false`} {
		if status, body := c.call("POST", path, `{"words":"not so many"}`); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the objection gives %d %s, want %s", status, body, want)
		}
	}
	records, err := s.Agent.Store.Records(t.Context(), local, state.RecordFilter{Kinds: []host.RecordKind{host.RecordObjection}})
	if err != nil || len(records) != 1 || !strings.Contains(string(records[0].Detail), `"words":"not so many"`) || string(records[0].Call) != id {
		t.Errorf("on record is %+v, %v", records, err)
	}
	for _, tt := range []struct {
		name, user, path, body string
		status                 int
	}{
		{"another user", "eve", path, `{}`, http.StatusNotFound},
		{"no such call", "", strings.Replace(path, id, "call_1", 1), `{}`, http.StatusNotFound},
		{"long words", "", path, `{"words":"` + strings.Repeat("x", 3000) + `"}`, http.StatusBadRequest},
		{"something else", "", path, `{"word":"no"}`, http.StatusBadRequest},
	} {
		if status, body := c.with(HeaderUser, tt.user).call("POST", tt.path, tt.body); status != tt.status {
			t.Errorf("%s: %d %s", tt.name, status, body)
		}
	}
}
