package memory

import (
	"time"

	"github.com/sluicehq/sluice/host"
)

// askingFor is how long a question is one session's to ask: nobody waits longer for an
// answer, so that the turn was broken off.
const askingFor = time.Hour

// An Asking says which session is about to ask a question: its model was told to, and its
// user has no answer yet.
type Asking struct {
	Session host.SessionID `json:"session"`
	Until   time.Time      `json:"until"`
}

// ClaimedBy gives the question as one that a session is about to ask, and false where it
// was asked or answered, or another session is about to.
func (q Question) ClaimedBy(session host.SessionID, now time.Time) (Question, bool) {
	if !q.Asked.IsZero() || !q.Answered.IsZero() || q.Asking != nil && q.Asking.Session != session && now.Before(q.Asking.Until) {
		return q, false
	}
	q.Asking = &Asking{Session: session, Until: now.Add(askingFor)}
	return q, true
}
