package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/abi"
)

// statusOf is the table from problems to HTTP: a status for each class, and
// one for each code that HTTP has a better word for.
func statusOf(c abi.Code) int {
	switch c {
	case abi.RedLine, abi.Rejected, abi.NotAllowed:
		return http.StatusForbidden
	case abi.BreakerOpen, abi.Circling, abi.OverBudget:
		return http.StatusTooManyRequests
	case abi.Cancelled: // the turn was stopped; the same delivery continues it
		return http.StatusServiceUnavailable
	case abi.Conflict, abi.StoreConflict, abi.Busy:
		return http.StatusConflict
	case abi.NotFound, abi.UnknownTool:
		return http.StatusNotFound
	case abi.InputLimit:
		return http.StatusRequestEntityTooLarge
	case abi.Deadline:
		return http.StatusGatewayTimeout
	case abi.ModelUnavailable, abi.ModelInterrupted, abi.ModelUnauthorised, abi.ModelRejected:
		return http.StatusBadGateway
	}
	switch c.Class() {
	case abi.ClassVerdict:
		return http.StatusConflict
	case abi.ClassBusiness:
		return http.StatusUnprocessableEntity
	case abi.ClassArguments:
		return http.StatusBadRequest
	case abi.ClassSystem:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// A refusal is a response that tells a problem.
type refusal struct {
	status  int
	problem *abi.Problem
	locale  string // of the user, if known
	cause   error  // for the log only; may be nil
}

func refuse(p *abi.Problem) *refusal { return &refusal{status: statusOf(p.Code), problem: p} }

func (f *refusal) as(status int) *refusal       { f.status = status; return f }
func (f *refusal) to(locale string) *refusal    { f.locale = locale; return f }
func (f *refusal) because(cause error) *refusal { f.cause = cause; return f }

// MarshalJSON gives the problem and the words for the user, never the cause.
func (f *refusal) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Problem *abi.Problem `json:"problem"`
		User    string       `json:"user"`
	}{f.problem, abi.RowOf(f.problem.Code).User(f.locale)})
}

func (f *refusal) write(w http.ResponseWriter) {
	if out, ok := w.(*response); ok {
		out.refused = f
	}
	if ms := f.problem.RetryAfterMS; ms > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((ms+999)/1000, 10))
	}
	writeJSON(w, f.status, f)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body := encode(v)
	extendWrite(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone needs no answer
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a response does not marshal: " + err.Error())
	}
	return b
}

// extendWrite gives the next write its time. Turns last longer than any
// time-out that is set once.
func extendWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has one
}
