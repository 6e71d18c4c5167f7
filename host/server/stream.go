package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// stream writes the events of a turn as they come, and its end. A turn that
// fails before it has told anything is refused like any other request.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, t *turn) *refusal {
	out := &stream{w: w}
	keepAlive := time.NewTicker(s.KeepAlive)
	defer keepAlive.Stop()
	for {
		var err error
		select {
		case <-t.more:
			err = out.send(t.read())
		case <-keepAlive.C:
			err = out.write(": the turn is still running\n\n")
		case <-t.done:
			return out.end(t)
		case <-r.Context().Done():
			err = r.Context().Err()
		}
		if err != nil {
			return nil // the client is gone; the turn is not
		}
	}
}

// A stream is a response of server-sent events.
type stream struct {
	w       http.ResponseWriter
	started bool
}

// end writes what is left, and the answer or the problem.
func (o *stream) end(t *turn) *refusal {
	if err := o.send(t.read()); err != nil {
		return nil
	}
	last := fmt.Sprintf("event: answer\ndata: %s\n\n", encode(t.answer))
	if t.err != nil {
		refused := t.refused()
		if !o.started {
			return refused
		}
		last = fmt.Sprintf("event: problem\ndata: %s\n\n", encode(refused))
	}
	_ = o.write(last) // the answer is stored; a client that is gone asks again
	return nil
}

func (o *stream) send(events []event) error {
	if len(events) == 0 {
		return nil
	}
	var text strings.Builder
	for _, e := range events {
		fmt.Fprintf(&text, "id: %d\nevent: %s\ndata: %s\n\n", e.n, e.Kind, encode(e.Event))
	}
	return o.write(text.String())
}

// write sends text at once.
func (o *stream) write(text string) error {
	if !o.started {
		o.started = true
		o.w.Header().Set("Content-Type", "text/event-stream")
		o.w.WriteHeader(http.StatusOK)
	}
	extendWrite(o.w)
	if _, err := io.WriteString(o.w, text); err != nil {
		return err
	}
	return http.NewResponseController(o.w).Flush()
}
