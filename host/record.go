package host

import (
	"encoding/json"
	"time"
)

// A RecordKind says what an audit record tells.
type RecordKind string

// Record kinds.
const (
	RecordIntent    RecordKind = "intent"    // the call is about to run; with the verdicts on it and the repairs of its arguments
	RecordOutcome   RecordKind = "outcome"   // it ended, well or not
	RecordRefusal   RecordKind = "refusal"   // a step of the gate stopped it before it ran; likewise
	RecordDuplicate RecordKind = "duplicate" // the stored outcome was given again
	RecordRetry     RecordKind = "retry"     // an attempt failed and another follows
	RecordNotice    RecordKind = "notice"    // the user was told something
	RecordRelease   RecordKind = "release"   // a release was loaded or refused; of HostTenant
	RecordEvent     RecordKind = "event"     // the business told something, such as a live's start
	RecordHook      RecordKind = "hook"      // a hook said something about a question to the model, or its answer
	RecordState     RecordKind = "state"     // the session's state was changed outside of its calls
	RecordQuestion  RecordKind = "question"  // a person was asked whether the call may run
	RecordAnswer    RecordKind = "answer"    // a person said so, or not, or took the question back
	RecordApproved  RecordKind = "approved"  // the call runs with a person's yes
	RecordUnbacked  RecordKind = "unbacked"  // an answer claims what nothing on record shows
	RecordGrant     RecordKind = "grant"     // a standing permission was given or revoked
	RecordErasure   RecordKind = "erasure"   // the payload of other records was removed on somebody's request

	RecordObjection  RecordKind = "objection"  // the user said no to what a soft-gate told them
	RecordUndo       RecordKind = "undo"       // the call undid another one, by the tool that its manifest names
	RecordCorrection RecordKind = "correction" // after new words of the user, the call did again what another one did, otherwise
)

// A Record is one entry of the audit log. Seq and Time are given by the store.
type Record struct {
	Seq     int64           `json:"seq"`
	Time    time.Time       `json:"time"`
	Session SessionRef      `json:"session"`
	Call    CallID          `json:"call,omitempty"`
	Kind    RecordKind      `json:"kind"`
	Tool    string          `json:"tool,omitempty"`
	Release string          `json:"release,omitempty"`
	Key     Key             `json:"key,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"` // arguments, outcome, reason: by kind
}
