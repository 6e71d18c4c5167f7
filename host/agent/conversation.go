package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/state"
)

// State keys of a session. Messages have a key each, so that a session grows
// by what was said and not by its square.
const (
	keySession = "session"
	keyMessage = "message/" // and eight digits
	keyInput   = "input/"   // and the input's id
)

// A sessionValue is the state under keySession. Every save of the conversation
// changes it, so its version orders all of them: of two writers one loses.
type sessionValue struct {
	Created  time.Time    `json:"created"`
	Live     host.LiveID  `json:"live,omitempty"`
	Locale   string       `json:"locale,omitempty"`
	Pins     release.Pins `json:"pins"`
	Inputs   int          `json:"inputs"`
	Messages int          `json:"messages"`
	Active   host.InputID `json:"active,omitempty"` // the input whose turn is not over
}

// An inputValue is the state of one input.
type inputValue struct {
	Ordinal int     `json:"ordinal"` // from 1
	Message int     `json:"message"` // index of the user's message
	Answer  *Answer `json:"answer,omitempty"`
}

// A conversation is a session's messages, as stored.
type conversation struct {
	ref      host.SessionRef
	meta     sessionValue
	version  int64 // of meta
	messages []model.Message

	inputID      host.InputID
	input        inputValue
	inputVersion int64
}

// begin loads the session, pins its releases, and stores the input unless it
// was stored before.
func (t *turn) begin(ctx context.Context, in Input) error {
	t.ref, t.inputID = t.session.Ref, in.ID
	if err := t.load(ctx, t.Store); err != nil {
		return err
	}
	if t.version == 0 {
		t.meta = sessionValue{Created: t.Now().UTC(), Live: t.session.Live, Locale: t.session.Locale}
	}
	if t.session.Live == "" {
		t.session.Live = t.meta.Live
	}
	if t.session.Locale == "" {
		t.session.Locale = t.meta.Locale
	}
	t.catalog, t.meta.Pins = t.Releases.Catalog(ctx, t.meta.Pins)
	for name, err := range t.catalog.Missing {
		t.sink.notice(abi.NewProblem(abi.RegistryFailure, "%s cannot be used now: %s", name, host.ProblemOf(err).Message), t.session.Locale)
	}
	if t.inputVersion != 0 {
		return nil
	}
	messages := append(t.interrupted(), model.Message{Role: model.RoleUser, Text: in.Text})
	t.meta.Inputs++
	t.meta.Active = in.ID
	t.input = inputValue{Ordinal: t.meta.Inputs, Message: len(t.messages) + len(messages) - 1}
	return t.save(ctx, t.Store, messages, &t.input)
}

// interrupted gives results for calls of an earlier turn that was broken off
// and not continued, so that no call is left without its result.
func (t *turn) interrupted() []model.Message {
	var results []model.Message
	for _, c := range t.open() {
		results = append(results, model.Message{
			Role: model.RoleTool, CallID: c.call.ID, Tool: c.call.Tool,
			Text: `{"problem":{"code":1008,"message":"interrupted; it is not known whether this was done"}}`,
		})
	}
	return results
}

// messagePage is how many messages one read of the store brings.
const messagePage = 500

func (c *conversation) load(ctx context.Context, store *state.Store) error {
	inputKey := keyInput + string(c.inputID)
	values, err := store.LoadState(ctx, c.ref, keySession, inputKey)
	if err != nil {
		return err
	}
	if err := read(values, keySession, &c.meta, &c.version); err != nil {
		return err
	}
	if err := read(values, inputKey, &c.input, &c.inputVersion); err != nil {
		return err
	}
	for after := ""; len(c.messages) < c.meta.Messages; {
		page, err := store.ListState(ctx, c.ref, keyMessage, after, messagePage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "session %s has %d of its %d messages", c.ref, len(c.messages), c.meta.Messages), nil)
		}
		for _, v := range page {
			var m model.Message
			if err := json.Unmarshal(v.Data, &m); err != nil {
				return host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "%s of session %s cannot be read", v.Key, c.ref), err)
			}
			c.messages = append(c.messages, m)
			after = v.Key
		}
	}
	return nil
}

func read(values map[string]state.Value, key string, into any, version *int64) error {
	v, ok := values[key]
	if !ok {
		return nil
	}
	*version = v.Version
	if err := json.Unmarshal(v.Data, into); err != nil {
		return host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "state key %s cannot be read", key), err)
	}
	return nil
}

// append stores messages and adds them to the conversation.
func (c *conversation) append(ctx context.Context, store *state.Store, messages ...model.Message) error {
	return c.save(ctx, store, messages, nil)
}

// finish stores the answer with its input.
func (c *conversation) finish(ctx context.Context, store *state.Store, answer Answer) error {
	c.input.Answer = &answer
	c.meta.Active = ""
	return c.save(ctx, store, nil, &c.input)
}

func (c *conversation) save(ctx context.Context, store *state.Store, messages []model.Message, input *inputValue) error {
	meta := c.meta
	meta.Messages += len(messages)
	changes := []state.Change{{Key: keySession, Version: c.version, Data: encode(meta)}}
	for i, m := range messages {
		changes = append(changes, state.Change{Key: fmt.Sprintf("%s%08d", keyMessage, c.meta.Messages+i), Data: encode(m)})
	}
	if input != nil {
		changes = append(changes, state.Change{Key: keyInput + string(c.inputID), Version: c.inputVersion, Data: encode(input)})
	}
	if err := store.SaveState(ctx, c.ref, changes...); err != nil {
		return err
	}
	c.meta = meta
	c.version++
	if input != nil {
		c.inputVersion++
	}
	c.messages = append(c.messages, messages...)
	return nil
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: session state does not marshal: " + err.Error())
	}
	return b
}

// What comes next in a conversation.
type next int

const (
	think next = iota // ask the model
	act               // run the open calls
	over              // the input is answered
)

func (c *conversation) next() next {
	if len(c.open()) > 0 {
		return act
	}
	if last := c.messages[len(c.messages)-1]; last.Role == model.RoleAssistant {
		return over
	}
	return think
}

// An openCall is a call without a result, and where it stands.
type openCall struct {
	message, index int
	call           model.Call
}

// open gives the calls of the last answer that have no result yet.
func (c *conversation) open() []openCall {
	i := len(c.messages) - 1
	for i >= 0 && c.messages[i].Role == model.RoleTool {
		i--
	}
	if i < 0 || c.messages[i].Role != model.RoleAssistant {
		return nil
	}
	var open []openCall
	for index := len(c.messages) - 1 - i; index < len(c.messages[i].Calls); index++ {
		open = append(open, openCall{i, index, c.messages[i].Calls[index]})
	}
	return open
}

// steps counts the model's answers to the input.
func (c *conversation) steps() int {
	n := 0
	for _, m := range c.messages[c.input.Message:] {
		if m.Role == model.RoleAssistant {
			n++
		}
	}
	return n
}
