package model

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Provider completes conversations. Implementations are safe for concurrent
// use and keep no conversation of their own: everything that an answer depends
// on is in the request, so a turn that is resumed elsewhere asks again with
// the same request.
//
// Complete streams the pieces of the answer through on, in order and from one
// goroutine, and returns the whole answer; on may be nil. It has given up when
// it returns an error, retries included: ModelUnavailable, ModelInterrupted,
// ModelUnauthorised, ModelRejected, or Cancelled and Deadline by ctx, always as
// a *host.Error. After an error the pieces that were given are void.
type Provider interface {
	Complete(ctx context.Context, req Request, on func(Event)) (Reply, error)
}

// A Request is everything that one completion depends on.
type Request struct {
	System    string
	Messages  []Message
	Hint      string // what holds now and changes often, told behind the last message, so that all before it stays cached; Replay and Offline pass over it
	Tools     []Tool
	Locale    string // of the user, BCP 47
	MaxTokens int    // of the answer; 0 leaves it to the model
}

// A Role says who a message is from.
type Role string

// Roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // the result of one call
)

// A Message is one entry of a conversation. It is stored with the session, so
// its JSON form only grows.
type Message struct {
	Role      Role   `json:"role"`
	Text      string `json:"text,omitempty"`
	Calls     []Call `json:"calls,omitempty"`     // of an assistant's message
	Reasoning string `json:"reasoning,omitempty"` // of an assistant's message: Reply.Reasoning, given back
	CallID    string `json:"call_id,omitempty"`   // of a tool result: the Call.ID that it answers
	Tool      string `json:"tool,omitempty"`      // of a tool result: the tool's name
	OK        bool   `json:"ok,omitempty"`        // of a tool result: data, and not a problem
	Blob      string `json:"blob,omitempty"`      // of a tool result: the id of the blob that holds all of it, where Text is shorter

	Code abi.Code `json:"code,omitempty"` // of a tool result that is a problem

	Approval host.ApprovalID `json:"approval,omitempty"` // of a tool result: the question that the call waits for, or ran with
	ByHost   bool            `json:"by_host,omitempty"`  // the host wrote it, in the place of the user or the model
	Said     int             `json:"said,omitempty"`     // of a user's message that names files: the bytes of Text that the user said; the files stand behind them
}

// A Call is a tool call that the model asks for.
type Call struct {
	ID     string `json:"id"` // unique inside one reply, never empty
	Tool   string `json:"tool"`
	Args   string `json:"args"`              // as the model sent them, JSON if it did well
	CutOff bool   `json:"cut_off,omitempty"` // the answer ended inside Args; must not be executed
}

// A Tool is what a model is told about a tool.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments; empty means an object without members
	Effect      abi.Effect
	Examples    []abi.Example
}

// A Finish says why an answer ended.
type Finish string

// Finishes.
const (
	FinishStop   Finish = "stop"   // the answer is whole
	FinishCalls  Finish = "calls"  // it is whole and asks for tool calls
	FinishLength Finish = "length" // it reached its token limit
	FinishFilter Finish = "filter" // the vendor's content filter ended it
)

// A Reply is one whole answer: text, calls, or both.
type Reply struct {
	Text      string
	Calls     []Call
	Reasoning string // the model's thoughts, not for the user; some vendors want them back in the same turn
	Usage     Usage
	Finish    Finish
}

// Message gives the reply as the assistant's message of the conversation.
func (r Reply) Message() Message {
	return Message{Role: RoleAssistant, Text: r.Text, Calls: r.Calls, Reasoning: r.Reasoning}
}

// Usage counts the tokens of one answer. It is zero where nobody counted.
type Usage struct {
	Input  int `json:"input"`  // the whole request
	Cached int `json:"cached"` // the part of Input that the vendor took from its cache
	Output int `json:"output"` // the answer, thoughts included
}

// An Event is a piece of an answer, or the word that the pieces so far are
// void because the answer begins again.
type Event struct {
	Text    string
	Restart bool
}

// fail makes the error of an operation; it keeps the caller's own end apart.
func fail(ctx context.Context, op string, problem *abi.Problem, cause error) error {
	switch ctx.Err() {
	case context.Canceled:
		problem = abi.NewProblem(abi.Cancelled, "the request to the model was stopped")
	case context.DeadlineExceeded:
		problem = abi.NewProblem(abi.Deadline, "the model did not answer within the time that the turn had")
	}
	return host.Fail(op, problem, cause)
}
