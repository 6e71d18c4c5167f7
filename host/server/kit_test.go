package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// A script is a model that answers as the test says.
type script func(ctx context.Context, req model.Request, on func(model.Event)) (model.Reply, error)

func (f script) Complete(ctx context.Context, req model.Request, on func(model.Event)) (model.Reply, error) {
	return f(ctx, req, on)
}

// says gives an answer in two pieces.
func says(text string) script {
	return func(_ context.Context, _ model.Request, on func(model.Event)) (model.Reply, error) {
		on(model.Event{Text: text[:1]})
		on(model.Event{Text: text[1:]})
		return model.Reply{Text: text, Finish: model.FinishStop}, nil
	}
}

// A gate is a model that waits until the test opens it.
type gate struct {
	asked chan struct{} // a token for each question
	open  chan struct{}
}

func newGate() *gate { return &gate{make(chan struct{}, 100), make(chan struct{})} }

func (g *gate) Complete(ctx context.Context, _ model.Request, _ func(model.Event)) (model.Reply, error) {
	g.asked <- struct{}{}
	select {
	case <-g.open:
		return model.Reply{Text: "open at last", Finish: model.FinishStop}, nil
	case <-ctx.Done():
		return model.Reply{}, host.Fail("model", host.ProblemOf(ctx.Err()), ctx.Err())
	}
}

// A buffer is a log that goroutines share.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newServer makes a server over a real agent, a store in a new folder and no
// skills, and fills what the test does not give.
func newServer(t *testing.T, m model.Provider, cfg Config) *Server {
	t.Helper()
	return serverOver(t, openStore(t), m, cfg)
}

func openStore(t *testing.T) *state.Store {
	t.Helper()
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func serverOver(t *testing.T, store *state.Store, m model.Provider, cfg Config) *Server {
	t.Helper()
	if cfg.Agent == nil {
		cfg.Agent = agent.New(agent.Config{
			Store: store, Model: m, Releases: release.NewSet(nil, nil), Wait: 20 * time.Millisecond, Claims: agent.ClaimsReport, // so that pieces come as the model gives them
			Dispatch: dispatch.New(dispatch.Config{Config: grant.Config{Store: store}}),
		})
	}
	s := New(cfg)
	// The store is closed after the turns that write to it.
	t.Cleanup(func() {
		if err := s.turns.drain(-1, cancelTime); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A client talks to a server over real HTTP.
type client struct {
	t       *testing.T
	url     string
	headers map[string]string
}

func serve(t *testing.T, s *Server) *client {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return &client{t: t, url: web.URL}
}

// with gives a client that sends more headers. Host is one, too.
func (c *client) with(pairs ...string) *client {
	other := &client{c.t, c.url, map[string]string{}}
	for k, v := range c.headers {
		other.headers[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		other.headers[pairs[i]] = pairs[i+1]
	}
	return other
}

func (c *client) do(ctx context.Context, method, path, body string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.headers {
		req.Header.Set(k, v)
	}
	req.Host = req.Header.Get("Host")
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// call gives the status and the whole body.
func (c *client) call(method, path, body string) (int, string) {
	c.t.Helper()
	resp := c.do(c.t.Context(), method, path, body)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (c *client) newSession(body string) string {
	c.t.Helper()
	status, text := c.call("POST", "/v1/sessions", body)
	var made struct{ Session string }
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated || made.Session == "" {
		c.t.Fatalf("POST /v1/sessions = %d %s", status, text)
	}
	return "/v1/sessions/" + made.Session + "/turns"
}

// A told is one server-sent event; a comment has only a Comment.
type told struct {
	ID, Event, Data, Comment string
}

// A reader reads server-sent events one by one.
type reader struct {
	t     *testing.T
	lines *bufio.Reader
}

func (c *client) stream(ctx context.Context, path, body string) (*http.Response, *reader) {
	c.t.Helper()
	resp := c.do(ctx, "POST", path, body)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		c.t.Fatalf("POST %s = %d %s %s", path, resp.StatusCode, kind, b)
	}
	return resp, &reader{c.t, bufio.NewReader(resp.Body)}
}

// next gives the next event, or false at the end of the stream.
func (r *reader) next() (told, bool) {
	r.t.Helper()
	var e told
	for {
		line, err := r.lines.ReadString('\n')
		if err == io.EOF && line == "" {
			return e, false
		}
		if err != nil {
			r.t.Fatalf("the stream broke after %+v: %v", e, err)
		}
		if line == "\n" {
			return e, true
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.ID = value
		case "event":
			e.Event = value
		case "data":
			e.Data = value
		case "":
			e.Comment = value
		default:
			r.t.Fatalf("%q is no line of a stream of events", line)
		}
	}
}

// rest gives all events to the end, without comments.
func (r *reader) rest() []told {
	r.t.Helper()
	var all []told
	for e, ok := r.next(); ok; e, ok = r.next() {
		if e.Comment == "" {
			all = append(all, e)
		}
	}
	return all
}

// failure is the body of a refusal and the data of a problem event.
type failure struct {
	Problem struct {
		Code       int
		Message    string
		Field      string
		Hint       string
		Candidates []string
	}
	User string
}

func failureIn(t *testing.T, text string) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(text), &f); err != nil || f.Problem.Code == 0 || f.User == "" {
		t.Fatalf("%q is not a refusal", text)
	}
	return f
}

func answerIn(t *testing.T, text string) agent.Answer {
	t.Helper()
	var a agent.Answer
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Reason == "" {
		t.Fatalf("%q is not an answer", text)
	}
	return a
}

func logTo(b *buffer) *slog.Logger { return slog.New(slog.NewJSONHandler(b, nil)) }
