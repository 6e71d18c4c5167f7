//go:build !wasip1

package abi

import "time"

// A guest reads the envelope as the sdk does; package time would be in every
// module.

// An Occasion is the input of sluice_hook: what a policy module is asked about.
// Call is there at both points of a tool call, Reply after it, and Answer after
// reasoning.
type Occasion struct {
	ABI     int             `json:"abi"`
	Point   HookPoint       `json:"point"`
	Session OccasionSession `json:"session"`
	Input   int             `json:"input"` // ordinal of the user input that is served
	Now     time.Time       `json:"now"`   // the host's clock, UTC
	Call    *OccasionCall   `json:"call,omitempty"`
	Reply   *OccasionReply  `json:"reply,omitempty"`
	Answer  *OccasionAnswer `json:"answer,omitempty"`
}

// An OccasionSession says whose session it is.
type OccasionSession struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	Tenant string `json:"tenant"`
	Live   string `json:"live,omitempty"`
	Locale string `json:"locale,omitempty"` // BCP 47, of a call
}

// An OccasionCall is a tool call as the gate accepted it.
type OccasionCall struct {
	ID      string                `json:"id"`
	Tool    string                `json:"tool"`
	Skill   string                `json:"skill"` // name@version
	Effect  Effect                `json:"effect"`
	Tier    Tier                  `json:"tier,omitempty"` // after the call: as decided
	Args    RawMessage            `json:"args"`
	State   map[string]RawMessage `json:"state,omitempty"`   // the state keys that the tool's skill reads
	Targets []string              `json:"targets,omitempty"` // after the call: of a write, where known
}

// An OccasionReply is what a call gives, before it is kept.
type OccasionReply struct {
	Data    RawMessage `json:"data,omitempty"`
	Preview string     `json:"preview,omitempty"`
}

// An OccasionAnswer is one answer of the model.
type OccasionAnswer struct {
	Round    int               `json:"round"` // ordinal of the answer for the input, from 1
	Text     string            `json:"text,omitempty"`
	Calls    []string          `json:"calls,omitempty"`    // the tools that it asks for
	Outcomes []OccasionOutcome `json:"outcomes,omitempty"` // of the calls for the input so far
}

// An OccasionOutcome is the end of an earlier call, in short.
type OccasionOutcome struct {
	Tool    string `json:"tool"`
	Status  string `json:"status"` // done, failed, pending or unknown
	Problem Code   `json:"problem,omitempty"`
	Preview string `json:"preview,omitempty"` // the first OutcomePreviewBytes of what it gave
}

// OutcomePreviewBytes bounds what an Occasion shows of an earlier result: enough
// to see what it was, and all calls of a turn fit into a module's input.
const OutcomePreviewBytes = 400
