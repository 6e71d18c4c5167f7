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
	"github.com/sluicehq/sluice/host/window"
)

// State keys of a session. Messages have a key each, so that a session grows
// by what was said and not by its square. No skill can name a key with a slash.
const (
	keySession = "agent/session"
	keyMessage = "agent/message/" // and eight digits
	keyInput   = "agent/input/"   // and the input's id
	keyView    = "agent/view"
	keyTopics  = "agent/topics"

	keyCompaction = "agent/compaction/" // and eight digits
)

func messageKey(i int) string { return fmt.Sprintf("%s%08d", keyMessage, i) }

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

	Scenes []window.SceneStart `json:"scenes,omitempty"` // as they followed on each other
	Topics int                 `json:"topics,omitempty"` // that are stored
	CutAt  int                 `json:"cut_at,omitempty"` // inputs when topics were cut last

	Cleared int `json:"cleared,omitempty"` // messages before this one were cleared
}

// An inputValue is the state of one input.
type inputValue struct {
	Ordinal int     `json:"ordinal"` // from 1
	Message int     `json:"message"` // index of the user's message
	Digest  string  `json:"digest"`  // of the words as they were delivered
	Answer  *Answer `json:"answer,omitempty"`
}

// maxMessages is how many of a session's last messages a turn works with, and
// the model sees; a model's window holds fewer. A turn that is resumed has all
// of its own.
const maxMessages = 1000

// A conversation is the end of a session's messages, as stored, from a user's
// message on.
type conversation struct {
	ref      host.SessionRef
	meta     sessionValue
	version  int64 // of meta
	first    int   // index in the session of messages[0]
	messages []model.Message

	inputID      host.InputID
	input        inputValue
	inputVersion int64

	seen        viewValue
	seenVersion int64
}

// at gives a message by its index in the session.
func (c *conversation) at(i int) model.Message { return c.messages[i-c.first] }

// count gives the number of messages of the session.
func (c *conversation) count() int { return c.first + len(c.messages) }

// begin finds the session and the input. An input that is over is left at
// that; else it loads the conversation, pins the releases, and stores the input
// unless it was stored before.
func (t *turn) begin(ctx context.Context, in Input) error {
	t.ref, t.inputID = t.session.Ref, in.ID
	if err := t.find(ctx, in.Text); err != nil {
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
	if t.inputVersion != 0 && t.input.Answer == nil && t.meta.Active != in.ID {
		t.input.Answer = &Answer{Reason: Superseded, Text: abi.RowOf(abi.Cancelled).User(t.session.Locale)}
	}
	if t.input.Answer != nil {
		return nil
	}
	if err := t.load(ctx, t.Store); err != nil {
		return err
	}
	t.catalog, t.meta.Pins = t.Releases.Catalog(ctx, t.meta.Pins)
	t.shelf = t.shelfOf(t)
	if t.inputVersion != 0 {
		return nil
	}
	messages, err := t.interrupted(ctx)
	if err != nil {
		return err
	}
	scene, err := t.sceneNow(ctx)
	if err != nil {
		return err
	}
	messages = append(messages, model.Message{Role: model.RoleUser, Text: t.words(in.Text)})
	t.meta.Inputs++
	t.meta.Active = in.ID
	t.input = inputValue{Ordinal: t.meta.Inputs, Message: t.count() + len(messages) - 1, Digest: host.Digest([]byte(in.Text))}
	t.meta.enterScene(scene, t.input.Message)
	return t.save(ctx, t.Store, messages, &t.input)
}

// find reads the session's and the input's own values. An input that was
// stored must come with the same words.
func (t *turn) find(ctx context.Context, text string) error {
	inputKey := keyInput + string(t.inputID)
	values, err := t.Store.LoadState(ctx, t.ref, keySession, inputKey, keyView)
	if err != nil {
		return err
	}
	if err := read(values, keySession, &t.meta, &t.version); err != nil {
		return err
	}
	if err := read(values, keyView, &t.seen, &t.seenVersion); err != nil {
		return err
	}
	if err := read(values, inputKey, &t.input, &t.inputVersion); err != nil || t.inputVersion == 0 {
		return err
	}
	if t.input.Digest != host.Digest([]byte(text)) {
		return host.Fail("agent.Turn", abi.NewProblem(abi.Conflict, "input %s was delivered before with other words", t.inputID).
			WithHint("give every input an id of its own"), nil)
	}
	return nil
}

// load loads the messages.
func (c *conversation) load(ctx context.Context, store *state.Store) error {
	c.first = max(0, c.meta.Messages-maxMessages, c.seen.Cut.Summed)
	if c.inputVersion != 0 {
		c.first = min(c.first, c.input.Message)
	}
	var err error
	if c.messages, err = c.messagesIn(ctx, store, c.first, c.meta.Messages); err != nil {
		return err
	}
	c.beginWithUser()
	return nil
}

// messagesIn gives the messages of the session from one index to before another.
func (c *conversation) messagesIn(ctx context.Context, store *state.Store, from, to int) (messages []model.Message, err error) {
	after := ""
	if from > 0 {
		after = messageKey(from - 1)
	}
	for from+len(messages) < to {
		page, err := store.ListState(ctx, c.ref, keyMessage, after, to-from-len(messages))
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return nil, host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "session %s has %d of its %d messages", c.ref, from+len(messages), to), nil)
		}
		for _, v := range page {
			var m model.Message
			if err := json.Unmarshal(v.Data, &m); err != nil {
				return nil, host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "%s of session %s cannot be read", v.Key, c.ref), err)
			}
			messages = append(messages, m)
			after = v.Key
		}
	}
	return messages, nil
}

// beginWithUser leaves out the rest of a turn whose beginning is left out: a
// result without its call is refused by every model.
func (c *conversation) beginWithUser() {
	for c.first > 0 && len(c.messages) > 0 && c.messages[0].Role != model.RoleUser {
		c.messages = c.messages[1:]
		c.first++
	}
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

// finish stores the answer with its input, the last messages of the turn, and
// whatever else goes with them.
func (c *conversation) finish(ctx context.Context, store *state.Store, answer Answer, last []model.Message, more ...state.Change) error {
	c.input.Answer = &answer
	c.meta.Active = ""
	return c.save(ctx, store, last, &c.input, more...)
}

// save stores messages and adds them to the conversation, with what the model
// saw; with an input, it stores that, too, and whatever else goes with them.
func (c *conversation) save(ctx context.Context, store *state.Store, messages []model.Message, input *inputValue, more ...state.Change) error {
	meta := c.meta
	meta.Messages += len(messages)
	changes := append(more,
		state.Change{Key: keySession, Version: c.version, Data: encode(meta)},
		state.Change{Key: keyView, Version: c.seenVersion, Data: encode(c.seen)})
	for i, m := range messages {
		changes = append(changes, state.Change{Key: messageKey(c.meta.Messages + i), Data: encode(m)})
	}
	if input != nil {
		changes = append(changes, state.Change{Key: keyInput + string(c.inputID), Version: c.inputVersion, Data: encode(input)})
	}
	if err := store.SaveState(ctx, c.ref, changes...); err != nil {
		return err
	}
	c.meta = meta
	c.version++
	c.seenVersion++
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
	message, index int // in the session; in the message
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
		open = append(open, openCall{c.first + i, index, c.messages[i].Calls[index]})
	}
	return open
}

// steps counts the model's answers to the input.
func (c *conversation) steps() int {
	n := 0
	for _, m := range c.messages[c.input.Message-c.first:] {
		if m.Role == model.RoleAssistant {
			n++
		}
	}
	return n
}
