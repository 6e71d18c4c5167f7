package abi

import (
	"strconv"

	"github.com/sluicehq/sluice/abi/wording"
)

// A Problem is a structured failure. It crosses the boundary in both
// directions as JSON, and it is what the model reads, so Message and Hint say
// what to do next and never carry a stack trace or a secret.
type Problem struct {
	Code         Code     `json:"code"`
	Message      string   `json:"message"`
	Field        string   `json:"field,omitempty"` // path of the argument, such as "price" or "flights[1].date"
	Hint         string   `json:"hint,omitempty"`
	Candidates   []string `json:"candidates,omitempty"` // values that would do, nearest first
	RetryAfterMS int64    `json:"retry_after_ms,omitempty"`
}

// NewProblem makes a problem with a formatted message.
func NewProblem(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Message: wording.Sprintf(format, args...)}
}

// WithField names the argument that the problem is about.
func (p *Problem) WithField(path string) *Problem { p.Field = path; return p }

// WithHint says what to do now.
func (p *Problem) WithHint(format string, args ...any) *Problem {
	p.Hint = wording.Sprintf(format, args...)
	return p
}

// WithCandidates lists the values that would do, nearest first.
func (p *Problem) WithCandidates(values ...string) *Problem { p.Candidates = values; return p }

// Error gives the problem as one line: code, field, message, hint.
func (p *Problem) Error() string {
	field, hint := p.Field, p.Hint
	if field != "" {
		field += ": "
	}
	if hint != "" {
		hint = " (" + hint + ")"
	}
	return strconv.Itoa(int(p.Code)) + ": " + field + p.Message + hint
}
