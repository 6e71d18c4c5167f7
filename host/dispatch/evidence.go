package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
)

// What a problem may hold: a model reads all of it, and it may quote what a
// model or a skill wrote.
const (
	problemText       = 2000 // bytes of message and of hint
	problemCandidates = 20
	candidateText     = 200 // bytes, of a field too
	maxRetryAfter     = time.Minute
)

// bounded gives a copy of a problem: others may hold it too.
func bounded(p *abi.Problem) *abi.Problem {
	b := *p
	b.Message, b.Hint, b.Field = cut(p.Message, problemText), cut(p.Hint, problemText), cut(p.Field, candidateText)
	b.Candidates = slices.Clone(p.Candidates[:min(len(p.Candidates), problemCandidates)])
	for i, c := range b.Candidates {
		b.Candidates[i] = cut(c, candidateText)
	}
	b.RetryAfterMS = min(max(p.RetryAfterMS, 0), maxRetryAfter.Milliseconds())
	return &b
}

// cut shortens text to most bytes without breaking a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// Bounds of what a failure's record keeps for operators, in bytes: enough to
// see what the model tried and why the guest died, little enough for what
// either may have sent.
const (
	sentText  = 4096
	faultText = 4096
	logText   = 4096
	logLines  = 50
)

// failure gives the detail of the record of a failed step.
func (f *flight) failure(step string, problem *abi.Problem) json.RawMessage {
	detail, err := json.Marshal(struct {
		Step     string       `json:"step"`
		Problem  *abi.Problem `json:"problem"`
		Recovery string       `json:"recovery"`
		Attempt  int          `json:"attempt,omitempty"`
		Sent     string       `json:"sent,omitempty"`    // the model's own text, where the call never ran
		Logs     []string     `json:"logs,omitempty"`    // the guest's last words
		Fault    string       `json:"fault,omitempty"`   // the host's own
		Repairs  []string     `json:"repairs,omitempty"` // where the call never ran: else the intent's record has them
		Verdicts *Verdicts    `json:"verdicts,omitempty"`
		Notes    []string     `json:"notes,omitempty"` // of hooks
		Usage    host.Usage   `json:"usage"`

		HostCalls *grant.Stored   `json:"host_calls,omitempty"`
		Run       *Ran            `json:"run,omitempty"`
		Approval  host.ApprovalID `json:"approval,omitempty"`
	}{step, problem, abi.RowOf(problem.Code).Recovery.String(), f.outcome.Attempts, f.sent(), f.lastWords(), cut(f.fault, faultText), f.repaired(), f.unheard(), f.unread(), f.outcome.Usage, f.failedCalls(), f.lastRun(), f.outcome.Approval})
	if err != nil {
		panic("BUG: a failure's record does not marshal: " + err.Error())
	}
	return detail
}

func (f *flight) sent() string {
	if f.outcome.Attempts > 0 {
		return "" // the intent's record has them
	}
	return strings.ToValidUTF8(cut(f.call.Args, sentText), "�")
}

// Bounds of the notes on one call: a few lines of a person's.
const (
	noteText  = 500 // bytes
	noteCount = 20
)

// notes are lines of hooks for a record, with the number of those that it has
// no room for.
type notes struct {
	lines []string
	more  int
}

// told gives the notes as they stand on record.
func (n notes) told() []string {
	if n.more == 0 {
		return n.lines
	}
	return append(slices.Clone(n.lines), fmt.Sprintf("%d more notes are left out", n.more))
}

// note puts a line on the call's record.
func (f *flight) note(format string, args ...any) {
	notes := &f.notes
	if f.outcome.Attempts > 0 {
		notes = &f.remarks // the intent is on record already
	}
	if len(notes.lines) == noteCount {
		notes.more++
		return
	}
	notes.lines = append(notes.lines, cut(fmt.Sprintf(format, args...), noteText))
}

// unread are the notes that the call's intent, if it has one, does not have.
func (f *flight) unread() []string {
	if f.outcome.Attempts > 0 {
		return f.remarks.told()
	}
	return f.notes.told()
}

// repaired is what was mended of the arguments of a call that never ran.
func (f *flight) repaired() []string {
	if f.outcome.Attempts > 0 {
		return nil
	}
	return f.outcome.Repairs
}

// lastWords gives the end of the guest's logs, where a panic's words stand.
func (f *flight) lastWords() []string {
	var lines []string
	room := logText
	for _, l := range slices.Backward(f.logs) {
		if room <= 0 || len(lines) == logLines {
			break
		}
		line := l.Level + ": " + cut(l.Text, room)
		lines, room = append(lines, line), room-len(line)
	}
	slices.Reverse(lines)
	return lines
}
