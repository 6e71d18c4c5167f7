package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// TestALiveBeginsAndEndsOnce: the business delivers its events more than once,
// and they are on record once.
func TestALiveBeginsAndEndsOnce(t *testing.T) {
	s := newServer(t, says("x"), Config{})
	c := serve(t, s).with(HeaderTenant, "mia")
	for _, step := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/v1/lives/friday/end", `{}`, http.StatusNotFound, "there is no live friday"},
		{"/v1/lives/friday/start", `{"detail":{"title":"周五"}}`, http.StatusOK, `"first":true`},
		{"/v1/lives/friday/start", `{"detail":{"title":"other"}}`, http.StatusOK, `"detail":{"title":"周五"},"first":false`},
		{"/v1/lives/friday/end", `{}`, http.StatusOK, `"ended":"`},
		{"/v1/lives/friday/end", `{}`, http.StatusOK, `"first":false`},
		{"/v1/lives/friday/start", `{}`, http.StatusConflict, "live friday has ended"},
		{"/v1/lives/monday/start", `{}`, http.StatusOK, `"detail":{}`},
		{"/v1/lives/monday/start", `{"details":1}`, http.StatusBadRequest, "did you mean detail?"},
		{"/v1/lives/a%00b/start", `{}`, http.StatusBadRequest, "control character"},
	} {
		if status, body := c.call("POST", step.path, step.body); status != step.status || !strings.Contains(body, step.says) {
			t.Errorf("POST %s %s = %d %s, want %d and %q", step.path, step.body, status, body, step.status, step.says)
		}
	}
	if status, body := c.call("GET", "/v1/lives", ""); status != http.StatusOK || !strings.Contains(body, `"live":"friday"`) || !strings.Contains(body, `"live":"monday"`) {
		t.Errorf("GET /v1/lives = %d %s", status, body)
	}
	if _, body := c.call("GET", "/v1/lives?after=friday", ""); strings.Contains(body, "friday") {
		t.Errorf("the page behind friday is %s", body)
	}
	if _, body := c.with(HeaderTenant, "eve").call("GET", "/v1/lives", ""); !strings.Contains(body, `"lives":[]`) {
		t.Errorf("another tenant sees %s", body)
	}
	records, err := s.Agent.Store.Records(t.Context(), "mia", state.RecordFilter{Kinds: []host.RecordKind{host.RecordEvent}})
	if err != nil || len(records) != 3 {
		t.Errorf("on record are %v, %v; want two starts and an end", records, err)
	}
}

func TestClearForgetsWhatWasSaid(t *testing.T) {
	m := newGate()
	close(m.open)
	c := serve(t, newServer(t, m, Config{}))
	turns := c.newSession(`{}`)
	clear := strings.TrimSuffix(turns, "turns") + "clear"
	if status, body := c.with("Accept", "application/json").call("POST", turns, `{"text":"hello"}`); status != http.StatusOK {
		t.Fatalf("the turn: %d %s", status, body)
	}
	if status, body := c.call("POST", clear, `{}`); status != http.StatusOK || !strings.Contains(body, `"session":"session_`) {
		t.Errorf("clear = %d %s", status, body)
	}
	if status, body := c.with(HeaderUser, "eve").call("POST", clear, `{}`); status != http.StatusNotFound {
		t.Errorf("somebody else's session: %d %s", status, body)
	}
}
