package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
)

// TestTheModeIsTheUsersToChange: a session begins with one, and goes by what
// was said of it last.
func TestTheModeIsTheUsersToChange(t *testing.T) {
	var asked []string
	c := serve(t, newServer(t, script(func(_ context.Context, req model.Request, _ func(model.Event)) (model.Reply, error) {
		asked = append(asked, req.System)
		return model.Reply{Text: "ok", Finish: model.FinishStop}, nil
	}), Config{})).with("Accept", "application/json")
	turns := c.newSession(`{"mode":"suggest"}`)
	mode := strings.TrimSuffix(turns, "turns") + "mode"
	for _, step := range []struct{ set, says string }{{"", "Mode: suggest."}, {"never", "Mode: never."}, {"auto", "Mode: auto."}} {
		if step.set != "" {
			if status, body := c.call("POST", mode, `{"mode":"`+step.set+`"}`); status != http.StatusOK || !strings.Contains(body, `"mode":"`+step.set+`"`) {
				t.Fatalf("POST mode = %d %s", status, body)
			}
		}
		if status, body := c.call("POST", turns, `{"text":"hello"}`); status != http.StatusOK {
			t.Fatalf("the turn: %d %s", status, body)
		}
		if got := asked[len(asked)-1]; !strings.Contains(got, step.says) {
			t.Errorf("after %q the model is not told %q", step.set, step.says)
		}
	}
	for _, bad := range []struct {
		on         *client
		path, body string
		status     int
		says       string
	}{
		{c, mode, `{"mode":"yolo"}`, http.StatusBadRequest, `"candidates":["auto","suggest","never"]`},
		{c, "/v1/sessions", `{"mode":"yolo"}`, http.StatusBadRequest, "no mode of a session"},
		{c.with(HeaderUser, "eve"), mode, `{"mode":"auto"}`, http.StatusNotFound, "has no session"},
	} {
		if status, body := bad.on.call("POST", bad.path, bad.body); status != bad.status || !strings.Contains(body, bad.says) {
			t.Errorf("POST %s %s = %d %s, want %d and %s", bad.path, bad.body, status, body, bad.status, bad.says)
		}
	}
}

// TestALongWaitIsToldOnTheStream: the reply for the meantime comes before the
// answer, and the answer is there for whoever asks again.
func TestALongWaitIsToldOnTheStream(t *testing.T) {
	m, store := newGate(), openStore(t)
	s := serverOver(t, store, m, Config{Agent: agent.New(agent.Config{
		Store: store, Model: m, Releases: release.NewSet(nil, nil), Patience: time.Millisecond,
		Dispatch: dispatch.New(dispatch.Config{Config: grant.Config{Store: store}}),
	})})
	c := serve(t, s)
	turns := c.newSession(`{"locale":"zh-CN"}`)
	_, r := c.stream(t.Context(), turns, `{"id":"1","text":"hello"}`)
	for {
		e, ok := r.next()
		if !ok {
			t.Fatal("the stream ended before the wait was told")
		}
		if e.Event == "later" {
			if !strings.Contains(e.Data, "我会继续处理") {
				t.Errorf("the user is told %s", e.Data)
			}
			break
		}
	}
	close(m.open)
	if rest := r.rest(); answerIn(t, rest[len(rest)-1].Data).Text != "open at last" {
		t.Errorf("the stream goes on with %+v", rest)
	}
	status, body := c.with("Accept", "application/json").call("POST", turns, `{"id":"1","text":"hello"}`)
	if a := answerIn(t, body); status != http.StatusOK || !a.Repeated || a.Text != "open at last" {
		t.Errorf("delivered again, the input gives %d %s", status, body)
	}
}
