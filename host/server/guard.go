package server

import (
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// ServeHTTP guards every request, serves it, and logs one line.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &response{ResponseWriter: w}
	defer s.finish(out, r, s.Now())
	out.Header().Set("Cache-Control", "no-store")
	out.Header().Set("X-Content-Type-Options", "nosniff")
	_, route := s.mux.Handler(r)
	if refused := guard(r, route); refused != nil {
		refused.write(out)
		return
	}
	most := int64(maxBodyBytes)
	if route == uploadRoute {
		most = s.UploadBytes
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	s.mux.ServeHTTP(out, r)
}

// guard refuses what a web page in the user's browser could send here. An
// upload has any type; what a page could not send is the header with its name.
func guard(r *http.Request, route string) *refusal {
	if !isLoopback(hostName(r.Host)) {
		return refuse(abi.NewProblem(abi.NotAllowed, "the Host header %.80q does not name this machine", r.Host).
			WithHint("ask for localhost or 127.0.0.1"))
	}
	if r.Method != http.MethodPost || route == uploadRoute {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(abi.NewProblem(abi.BadArguments, "the content type is %.80q", r.Header.Get("Content-Type")).
			WithHint("send JSON with the header Content-Type: application/json")).as(http.StatusUnsupportedMediaType)
	}
	return nil
}

// finish turns a panic into a problem and logs the request.
func (s *Server) finish(out *response, r *http.Request, began time.Time) {
	cause := recover()
	started := out.status != 0
	if cause != nil && !started {
		refuse(hostBug()).because(fmt.Errorf("panic: %v\n%s", cause, debug.Stack())).write(out)
	}
	s.logRequest(out, r, began)
	if cause != nil && started {
		s.Log.Error("a handler panicked in the middle of its response", "panic", cause, "stack", string(debug.Stack()))
		panic(http.ErrAbortHandler) // cuts the connection: what was sent is not whole
	}
}

// statusGone stands in the log for a client that left before an answer.
const statusGone = 499

// logRequest says what was asked by its route: a path can be anything.
func (s *Server) logRequest(out *response, r *http.Request, began time.Time) {
	status, level := out.status, slog.LevelInfo
	if status == 0 {
		status = statusGone
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("route", r.Pattern),
		slog.Int("status", status), slog.Duration("elapsed", s.Now().Sub(began)),
	}
	if refused := out.refused; refused != nil {
		attrs = append(attrs, slog.Int("code", int(refused.problem.Code)))
		if refused.cause != nil {
			level = slog.LevelError
			attrs = append(attrs, slog.Any("error", refused.cause))
		}
	}
	s.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// A response remembers what was sent, for the log.
type response struct {
	http.ResponseWriter
	status  int      // 0 before the header is sent
	refused *refusal // if the response is one
}

// WriteHeader remembers the status.
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func hostBug() *abi.Problem {
	return abi.NewProblem(abi.HostBug, "the host broke off; its log says where")
}

func wrongMethod(allowed string) action {
	return func(w http.ResponseWriter, r *http.Request) *refusal {
		w.Header().Set("Allow", allowed)
		return refuse(abi.NewProblem(abi.BadArguments, "%s takes %s, not %.20s", r.Pattern, allowed, r.Method)).
			as(http.StatusMethodNotAllowed)
	}
}

func noSuchPath(_ http.ResponseWriter, r *http.Request) *refusal {
	return refuse(abi.NewProblem(abi.NotFound, "there is no %.200q here", r.URL.Path).
		WithHint("make a session with POST /v1/sessions"))
}

// failed gives the refusal of an error: its problem for the caller, the rest
// for the log.
func failed(err error) *refusal { return refuse(host.ProblemOf(err)).because(err) }
