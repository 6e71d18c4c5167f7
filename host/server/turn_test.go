package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

func TestATurnStreamsItsEventsInOrderAndThenTheAnswer(t *testing.T) {
	asked := 0
	c := serve(t, newServer(t, script(func(ctx context.Context, req model.Request, on func(model.Event)) (model.Reply, error) {
		if asked++; asked == 1 {
			return model.Reply{Calls: []model.Call{{ID: "a", Tool: "quote", Args: `{"sku":"1001"}`}}, Finish: model.FinishCalls}, nil
		}
		return says("It costs 99.")(ctx, req, on)
	}), Config{}))
	turns := c.newSession(`{"locale":"en"}`)

	resp, events := c.stream(t.Context(), turns, `{"id":"order-17","text":"what does 1001 cost?"}`)
	if got := resp.Header.Get(HeaderInput); got != "order-17" {
		t.Errorf("%s = %q, want the delivery's id", HeaderInput, got)
	}
	all := events.rest()
	var kinds []string
	for i, e := range all[:len(all)-1] {
		kinds = append(kinds, e.Event)
		var event host.Event
		if err := json.Unmarshal([]byte(e.Data), &event); err != nil || string(event.Kind) != e.Event || event.Time.IsZero() {
			t.Errorf("event %s has data %s", e.Event, e.Data)
		}
		if e.ID != strconv.Itoa(i+1) {
			t.Errorf("event %d has id %q", i+1, e.ID)
		}
	}
	if want := []string{"turn.start", "call", "outcome", "text", "text", "turn.end"}; !slices.Equal(kinds, want) {
		t.Errorf("events = %v, want %v", kinds, want)
	}
	last := all[len(all)-1]
	if last.Event != "answer" {
		t.Fatalf("the last event is %+v, want an answer", last)
	}
	if a := answerIn(t, last.Data); a.Text != "It costs 99." || a.Steps != 2 || a.Repeated {
		t.Errorf("answer = %+v", a)
	}
}

func TestATurnGivesOnlyItsAnswerToWhoAcceptsJSON(t *testing.T) {
	c := serve(t, newServer(t, says("Hello."), Config{})).with("Accept", "application/json")
	resp := c.do(t.Context(), "POST", c.newSession(`{}`), `{"text":"hi"}`)
	var a struct {
		Text, Reason string
		Steps        int
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %v", resp.StatusCode, err)
	}
	if a.Text != "Hello." || a.Reason != "answered" || a.Steps != 1 {
		t.Errorf("answer = %+v", a)
	}
	if id := resp.Header.Get(HeaderInput); !strings.HasPrefix(id, "input_") {
		t.Errorf("%s = %q, want an id that the server made", HeaderInput, id)
	}
}

func TestTheSameDeliveryGivenAgainGetsTheStoredAnswer(t *testing.T) {
	asked := 0
	c := serve(t, newServer(t, script(func(ctx context.Context, req model.Request, on func(model.Event)) (model.Reply, error) {
		asked++
		return says("Done.")(ctx, req, on)
	}), Config{}))
	turns, body := c.newSession(`{}`), `{"id":"1","text":"do it"}`
	_, events := c.stream(t.Context(), turns, body)
	events.rest()
	for _, accept := range []string{"text/event-stream", "application/json"} {
		status, text := c.with("Accept", accept).call("POST", turns, body)
		if rest, ok := strings.CutPrefix(text, "event: answer\ndata: "); ok {
			text = rest
		}
		if a := answerIn(t, text); status != http.StatusOK || a.Text != "Done." || !a.Repeated {
			t.Errorf("%s: %d %+v, want the stored answer, marked as repeated", accept, status, a)
		}
	}
	if asked != 1 {
		t.Errorf("the model was asked %d times for one delivery", asked)
	}
}

func TestASessionRunsOneTurnAtATime(t *testing.T) {
	g := newGate()
	c := serve(t, newServer(t, g, Config{}))
	turns := c.newSession(`{"locale":"zh-CN"}`)
	_, events := c.stream(t.Context(), turns, `{"id":"1","text":"first"}`)
	<-g.asked
	for _, accept := range []string{"text/event-stream", "application/json"} {
		status, text := c.with("Accept", accept).call("POST", turns, `{"id":"2","text":"second"}`)
		f := failureIn(t, text)
		if status != http.StatusConflict || f.Problem.Code != int(abi.Busy) {
			t.Errorf("%s: a second turn = %d %s, want 409 and Busy", accept, status, text)
		}
		if want := abi.RowOf(abi.Busy).UserZH; f.User != want {
			t.Errorf("%s: user = %q, want %q, in the session's language", accept, f.User, want)
		}
	}
	close(g.open)
	all := events.rest()
	if last := all[len(all)-1]; last.Event != "answer" {
		t.Errorf("the first turn ended with %+v", last)
	}
}

func TestTurnsBeyondTheBoundAreToldToComeBack(t *testing.T) {
	g := newGate()
	c := serve(t, newServer(t, g, Config{Turns: 1}))
	first, second := c.newSession(`{}`), c.newSession(`{}`)
	_, events := c.stream(t.Context(), first, `{"text":"first"}`)
	<-g.asked
	resp := c.do(t.Context(), "POST", second, `{"text":"second"}`)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "2" {
		t.Errorf("status %d, Retry-After %q; want 429 and 2", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	close(g.open)
	events.rest()
	if status, text := c.with("Accept", "application/json").call("POST", second, `{"text":"second"}`); status != http.StatusOK {
		t.Errorf("with a free place: %d %s", status, text)
	}
}

func TestATurnWhoseClientLeavesIsFinishedAndKeepsItsPlace(t *testing.T) {
	g := newGate()
	c := serve(t, newServer(t, g, Config{Turns: 1})).with("Accept", "application/json")
	turns, other, body := c.newSession(`{}`), c.newSession(`{}`), `{"id":"1","text":"do it"}`
	ctx, leave := context.WithCancel(t.Context())
	_, events := c.with("Accept", "text/event-stream").stream(ctx, turns, body)
	if e, _ := events.next(); e.Event != "turn.start" {
		t.Fatalf("the first event is %+v", e)
	}
	<-g.asked
	leave()
	if status, _ := c.call("POST", other, `{"text":"x"}`); status != http.StatusTooManyRequests {
		t.Errorf("another turn = %d, want 429: nobody listens, and the place is taken", status)
	}
	close(g.open)
	status, text := http.StatusTooManyRequests, ""
	for status == http.StatusTooManyRequests || status == http.StatusConflict {
		status, text = c.call("POST", turns, body)
	}
	if a := answerIn(t, text); a.Text != "open at last" || !a.Repeated {
		t.Errorf("the delivery given again = %+v, want the answer of the turn that nobody heard", a)
	}
	if len(g.asked) != 0 {
		t.Error("the turn ran twice")
	}
}

func TestATurnThatFailsEndsItsStreamWithTheProblemAndNoCause(t *testing.T) {
	unreachable := script(func(context.Context, model.Request, func(model.Event)) (model.Reply, error) {
		return model.Reply{}, host.Fail("model", abi.NewProblem(abi.ModelUnavailable, "the model cannot be reached"),
			context.DeadlineExceeded)
	})
	c := serve(t, newServer(t, unreachable, Config{}))
	turns := c.newSession(`{}`)
	_, events := c.stream(t.Context(), turns, `{"text":"hi"}`)
	all := events.rest()
	last := all[len(all)-1]
	if f := failureIn(t, last.Data); last.Event != "problem" || f.Problem.Code != int(abi.ModelUnavailable) {
		t.Errorf("the last event is %+v", last)
	}
	status, text := c.with("Accept", "application/json").call("POST", turns, `{"text":"hi"}`)
	if status != http.StatusBadGateway {
		t.Errorf("as JSON: %d %s, want 502", status, text)
	}
	if strings.Contains(text+last.Data, context.DeadlineExceeded.Error()) {
		t.Errorf("the cause is told: %s %s", text, last.Data)
	}
}

func TestAPanicInATurnIsAProblemAndNotTheEnd(t *testing.T) {
	var log buffer
	c := serve(t, newServer(t, script(func(context.Context, model.Request, func(model.Event)) (model.Reply, error) {
		panic("the secret reason")
	}), Config{Log: logTo(&log)})).with("Accept", "application/json")
	status, text := c.call("POST", c.newSession(`{}`), `{"text":"hi"}`)
	if f := failureIn(t, text); status != http.StatusInternalServerError || f.Problem.Code != int(abi.HostBug) || strings.Contains(text, "secret") {
		t.Errorf("%d %s, want 500 and HostBug without the reason", status, text)
	}
	if !strings.Contains(log.String(), "the secret reason") {
		t.Errorf("the log does not say why: %s", log.String())
	}
	if status, _ := c.call("GET", "/healthz", ""); status != http.StatusOK {
		t.Errorf("health afterwards = %d", status)
	}
}

func TestASilentTurnIsKeptAliveBeyondTheReadTimeout(t *testing.T) {
	g := newGate()
	s := newServer(t, g, Config{KeepAlive: 10 * time.Millisecond})
	s.readTimeout = time.Second // all that comes before the turn begins is to be done in it
	session := serve(t, s).newSession(`{}`)
	_, events := serveReal(t, s).client.stream(t.Context(), session, `{"text":"hi"}`)
	for begun := time.Now(); time.Since(begun) < s.readTimeout*3/2; {
		if _, ok := events.next(); !ok {
			t.Fatalf("the stream ended after %s", time.Since(begun))
		}
	}
	close(g.open)
	all := events.rest()
	if last := all[len(all)-1]; last.Event != "answer" {
		t.Errorf("the last event is %+v", last)
	}
}

func TestASlowReaderMissesEventsAndSeesTheGap(t *testing.T) {
	turn := newTurn("en")
	for range maxUnread + 10 {
		turn.tell(host.Event{Kind: host.EventText})
	}
	if kept := turn.read(); len(kept) != maxUnread || kept[maxUnread-1].n != maxUnread {
		t.Errorf("%d events are kept, the last with number %d", len(kept), kept[len(kept)-1].n)
	}
	turn.tell(host.Event{Kind: host.EventTurnEnd})
	if next := turn.read(); len(next) != 1 || next[0].n != maxUnread+11 {
		t.Errorf("after the gap come %+v, want number %d", next, maxUnread+11)
	}
}
