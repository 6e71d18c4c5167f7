package host

import (
	"time"

	"github.com/sluicehq/sluice/abi"
)

// An EventKind says what an Event tells.
type EventKind string

// Event kinds, in the order in which a turn gives them.
const (
	EventTurnStart EventKind = "turn.start"
	EventText      EventKind = "text"         // a piece of the model's answer
	EventRestart   EventKind = "text.restart" // the pieces so far are void; the model begins again
	EventCall      EventKind = "call"         // a tool call begins
	EventProgress  EventKind = "progress"     // it reports while it runs
	EventOutcome   EventKind = "outcome"      // it ended
	EventNotice    EventKind = "notice"       // something the user should know
	EventLater     EventKind = "later"        // the model takes long: a reply for the meantime; the turn goes on
	EventTurnEnd   EventKind = "turn.end"
)

// An Event is one thing that a turn tells while it runs. Only the fields of
// its kind are set.
type Event struct {
	Kind    EventKind `json:"kind"`
	Time    time.Time `json:"time"`
	Text    string    `json:"text,omitempty"`
	Call    CallID    `json:"call,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Args    string    `json:"args,omitempty"`
	Outcome *Outcome  `json:"outcome,omitempty"`

	Progress *abi.ProgressReport `json:"progress,omitempty"` // of a call that runs; its words are the skill's
	Problem  *abi.Problem        `json:"problem,omitempty"`
	Reason   string              `json:"reason,omitempty"` // why the turn ended
}
