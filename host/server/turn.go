package server

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
)

// postTurn gives one input to the agent and tells what comes of it.
func (s *Server) postTurn(w http.ResponseWriter, r *http.Request) *refusal {
	var body struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	if refused := decode(r, &body); refused != nil {
		return refused
	}
	if body.Text == "" {
		return refuse(abi.NewProblem(abi.Missing, "the input has no text").WithField("text"))
	}
	if refused := validText("id", body.ID); refused != nil {
		return refused
	}
	session, refused := s.findSession(r)
	if refused != nil {
		return refused
	}
	if body.ID == "" {
		body.ID = host.NewID("input_")
	}
	in := agent.Input{ID: host.InputID(body.ID), Text: body.Text}
	return s.serveTurn(w, r, session, in.ID, func(ctx context.Context, on func(host.Event)) (agent.Answer, error) {
		return s.Agent.Turn(ctx, session, in, on)
	})
}

// A run is the agent's work that a request asks for.
type run func(ctx context.Context, on func(host.Event)) (agent.Answer, error)

// serveTurn runs a turn and tells what comes of it, as the caller wants it.
func (s *Server) serveTurn(w http.ResponseWriter, r *http.Request, session agent.Session, input host.InputID, do run) *refusal {
	t, refused := s.start(session, input, do)
	if refused != nil {
		return refused.to(session.Locale)
	}
	w.Header().Set(HeaderInput, string(input))
	// The body is read. A read deadline that passed from here on would count
	// as the client's going away.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if wantsJSON(r) {
		return t.answerTo(w, r)
	}
	return s.stream(w, r, t)
}

// wantsJSON reports whether the caller asked for the answer alone.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

// start runs a turn in a place of its own. It ends on its own, too: the caller
// may stop listening at any time.
func (s *Server) start(session agent.Session, input host.InputID, do run) (*turn, *refusal) {
	t := newTurn(session.Locale)
	var refused *refusal
	t.done, refused = s.turns.run(func(ctx context.Context) {
		began := s.Now()
		t.answer, t.err = guarded(ctx, do, t.tell)
		s.logTurn(session, input, t, s.Now().Sub(began))
	})
	return t, refused
}

// guarded is the agent's turn, with a panic as an error: it runs outside of any
// handler, where a panic would end the process.
func guarded(ctx context.Context, do run, on func(host.Event)) (answer agent.Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = host.Fail("server.turn", hostBug(), fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	return do(ctx, on)
}

func (s *Server) logTurn(session agent.Session, input host.InputID, t *turn, elapsed time.Duration) {
	about := []any{"session", session.Ref.String(), "input", input, "steps", t.answer.Steps, "elapsed", elapsed}
	if t.err != nil {
		s.Log.Warn("turn", append(about, "code", host.ProblemOf(t.err).Code, "error", t.err)...)
		return
	}
	s.Log.Info("turn", append(about, "reason", t.answer.Reason, "repeated", t.answer.Repeated)...)
}

// answerTo waits for the end of the turn and writes the answer.
func (t *turn) answerTo(w http.ResponseWriter, r *http.Request) *refusal {
	select {
	case <-r.Context().Done():
		return nil
	case <-t.done:
	}
	if t.err != nil {
		return t.refused()
	}
	writeJSON(w, http.StatusOK, t.answer)
	return nil
}

// refused gives the refusal of a turn that failed; its cause is in the turn's
// own log line.
func (t *turn) refused() *refusal { return refuse(host.ProblemOf(t.err)).to(t.locale) }

// A turn is one run of the agent, and what it has told and nobody has read.
type turn struct {
	locale string
	done   <-chan struct{} // closed at the end
	more   chan struct{}   // holds one token while there is something to read

	answer agent.Answer // after done
	err    error        // after done

	mu     sync.Mutex
	told   int     // guarded by mu
	unread []event // guarded by mu
}

// maxUnread bounds the events of one turn that wait for a slow reader.
const maxUnread = 4096

// An event is what a turn told, with its number from 1.
type event struct {
	n int
	host.Event
}

func newTurn(locale string) *turn {
	return &turn{locale: locale, more: make(chan struct{}, 1)}
}

// tell keeps an event for the reader. It never waits for one.
func (t *turn) tell(e host.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told++
	if len(t.unread) == maxUnread {
		return
	}
	t.unread = append(t.unread, event{t.told, e})
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// read takes what was told since the last time.
func (t *turn) read() []event {
	t.mu.Lock()
	defer t.mu.Unlock()
	events := t.unread
	t.unread = nil
	return events
}
