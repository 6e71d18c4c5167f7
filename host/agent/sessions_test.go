package agent

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// The terminal was closed in the middle, and the words are not typed
// again.
func TestResumeGoesOnWithoutTheWords(t *testing.T) {
	h := newHouse(t, answers(calls(`order {"item":"pen","count":2}`), fails(abi.ModelUnavailable)))
	if _, err := h.turn("1", "order 2 pens"); err == nil {
		t.Fatal("the model answered")
	}
	h.agent.Model = answers(calls("unused {}"), says("done"))
	h.events = nil
	resume := func() (Answer, error) {
		return h.agent.Resume(t.Context(), session, func(e host.Event) { h.events = append(h.events, e) })
	}
	if answer, err := resume(); err != nil || answer.Text != "done" || answer.Repeated || h.stored("total/pen") != "2" {
		t.Fatalf("the answer is %+v, %v", answer, err)
	}
	if got, want := h.kinds(), "turn.start text turn.end"; got != want || h.events[0].Text != "order 2 pens" {
		t.Errorf("events are %q, the first %+v", got, h.events[0])
	}
	if _, err := resume(); err == nil || host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("an answered session is resumed: %v", err)
	}
	if again := h.mustTurn("1", "order 2 pens"); !again.Repeated || again.Text != "done" {
		t.Errorf("the delivery itself gets %+v", again)
	}
}

func TestResumeOfNoSessionIsNotFound(t *testing.T) {
	h := newHouse(t, answers())
	for _, s := range []Session{session, {}} {
		if _, err := h.agent.Resume(t.Context(), s, nil); err == nil || host.ProblemOf(err).Code.Class() != abi.ClassBusiness && host.ProblemOf(err).Code != abi.BadValue {
			t.Errorf("%v: got %v", s.Ref, err)
		}
	}
}

// sayIn has one turn in a session of mia's.
func (h *house) sayIn(id host.SessionID, live host.LiveID) {
	h.t.Helper()
	ref := session.Ref
	ref.Session = id
	if _, err := h.agent.Turn(h.t.Context(), Session{Ref: ref, Live: live, Locale: "en"}, Input{ID: "1", Text: "hello"}, nil); err != nil {
		h.t.Fatal(err)
	}
}

func TestAUsersSessionsAreListedPageByPage(t *testing.T) {
	h := newHouse(t, nil)
	h.agent.Model = asked(func(context.Context, model.Request) (model.Reply, error) { return says("hi")() })
	created := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	h.agent.Now = func() time.Time { return created }
	for i := range 5 {
		h.sayIn(host.SessionID(fmt.Sprint("s", i)), "live-7")
	}
	empty := host.SessionRef{Tenant: "acme", User: "mia", Session: "s2-made"} // by a door, and nothing was said
	if err := h.store.SaveState(t.Context(), empty, state.Change{Key: "server/session", Data: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	other := session
	other.Ref.User = "ann"
	if _, err := h.agent.Turn(t.Context(), other, Input{ID: "1", Text: "hello"}, nil); err != nil {
		t.Fatal(err)
	}
	var got []host.SessionID
	pages := 0
	for next := host.SessionID(""); pages == 0 || next != ""; pages++ {
		page, after, err := Sessions(t.Context(), h.store, "acme", "mia", next, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page {
			got = append(got, o.ID)
			if !o.Created.Equal(created) || o.Updated.IsZero() || o.Live != "live-7" || o.Locale != "en" || o.Inputs != 1 || o.Messages != 2 || o.Active != "" {
				t.Errorf("%+v", o)
			}
		}
		next = after
	}
	if want := []host.SessionID{"s0", "s1", "s2", "s3", "s4"}; !slices.Equal(got, want) || pages != 4 {
		t.Errorf("%d pages list %v", pages, got)
	}
	if page, next, err := Sessions(t.Context(), h.store, "acme", "mia", "", 0); err != nil || len(page) != 5 || next != "" {
		t.Errorf("without a limit: %d sessions, next %q, %v", len(page), next, err)
	}
}

func TestASessionIsShownWithWhatWasSaid(t *testing.T) {
	h := newHouse(t, answers(calls(`total {"item":"pen"}`), fails(abi.ModelUnavailable)))
	if _, err := h.turn("in 1", "how many pens?"); err == nil {
		t.Fatal("the model answered")
	}
	o, err := Show(t.Context(), h.store, session.Ref)
	if err != nil || o.Active != "in 1" || o.Messages != 3 || o.Inputs != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	messages, err := Messages(t.Context(), h.store, session.Ref, 0)
	if err != nil || len(messages) != 3 || messages[0].Text != "how many pens?" || messages[1].Calls[0].Tool != "total" || messages[2].Role != model.RoleTool {
		t.Errorf("%+v, %v", messages, err)
	}
	h.say(state.MaxPage+500, func(i int) []model.Message { return []model.Message{{Role: model.RoleUser, Text: fmt.Sprint(i)}} })
	for _, tt := range []struct {
		from, n int
		first   string
	}{{-1, state.MaxPage, "how many pens?"}, {3, state.MaxPage, "0"}, {state.MaxPage, 503, fmt.Sprint(state.MaxPage - 3)}, {state.MaxPage + 503, 0, ""}, {1 << 40, 0, ""}} {
		messages, err := Messages(t.Context(), h.store, session.Ref, tt.from)
		if err != nil || len(messages) != tt.n || tt.n > 0 && messages[0].Text != tt.first {
			t.Errorf("from %d: %d messages, %v", tt.from, len(messages), err)
		}
	}
	none := session.Ref
	none.Session = "none"
	if _, err := Show(t.Context(), h.store, none); err == nil || host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("a session that is not there: %v", err)
	}
	if _, err := Messages(t.Context(), h.store, none, 0); err == nil || host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("messages of none: %v", err)
	}
}

// Looking needs no lease, and takes none.
func TestASessionIsShownWhileItsTurnRuns(t *testing.T) {
	onReplicas(t, newClock(), func(t *testing.T, first, second *house) {
		turn := first.hold("1", "hello")
		if o, err := Show(t.Context(), second.store, session.Ref); err != nil || o.Active != "1" {
			t.Errorf("%+v, %v", o, err)
		}
		if _, err := second.agent.Resume(t.Context(), session, nil); host.ProblemOf(err).Code != abi.Busy {
			t.Errorf("it is resumed while it runs: %v", err)
		}
		close(turn.release)
		if err := <-turn.ended; err != nil {
			t.Fatal(err)
		}
	})
}
