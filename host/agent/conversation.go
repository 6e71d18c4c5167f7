package agent

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// maxMessages is how many of a session's last messages a turn works with, and
// the model sees; a model's window holds fewer. A turn that is resumed has all
// of its own.
const maxMessages = 1000

// A conversation is the end of a session's messages, from a user's message on:
// those that are stored, and behind them those that the next save stores.
type conversation struct {
	ref      host.SessionRef
	meta     sessionValue
	version  int64 // of meta
	first    int   // index in the session of messages[0]
	messages []model.Message

	inputID      host.InputID
	input        inputValue
	inputVersion int64 // 0 if it was never stored
	inputChanged bool

	seen        viewValue
	seenVersion int64
	seenStored  json.RawMessage // what is stored of seen
	seenSaving  json.RawMessage // what the save that is on stores of it; nil if it leaves it alone
}

// at gives a message by its index in the session.
func (c *conversation) at(i int) model.Message { return c.messages[i-c.first] }

// count gives the number of messages of the session.
func (c *conversation) count() int { return c.first + len(c.messages) }

// find reads the session's and the input's own values. An input that was
// stored must come with the same words.
func (c *conversation) find(ctx context.Context, store *state.Store, text string) error {
	key := inputKey(c.inputID)
	values, err := store.LoadState(ctx, c.ref, keySession, key, keyView)
	if err != nil {
		return err
	}
	if c.meta, c.version, err = read(sessionForm(), values, keySession); err != nil {
		return err
	}
	if c.seen, c.seenVersion, err = read(viewForm(), values, keyView); err != nil {
		return err
	}
	c.seenStored = values[keyView].Data
	if c.input, c.inputVersion, err = read(inputForm(), values, key); err != nil || c.inputVersion == 0 {
		return err
	}
	if c.input.Digest == host.Digest([]byte(text)) {
		return nil
	}
	said, err := findMessage(ctx, store, c.ref, c.input.Message)
	if err == nil && said.Text != text { // as it is stored, with what it names
		err = host.Fail("agent.Turn", abi.NewProblem(abi.Conflict, "input %s was delivered before with other words", c.inputID).
			WithHint("give every input an id of its own"), nil)
	}
	return err
}

// findMessage reads one message of a session.
func findMessage(ctx context.Context, store *state.Store, ref host.SessionRef, i int) (model.Message, error) {
	key := messageKey(i)
	values, err := store.LoadState(ctx, ref, key)
	if err != nil {
		return model.Message{}, err
	}
	said, version, err := read(messageForm(), values, key)
	if err == nil && version == 0 {
		err = host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "session %s has no message %d", ref, i), nil)
	}
	return said, err
}

// load loads the messages.
func (c *conversation) load(ctx context.Context, store *state.Store) error {
	c.first = max(0, c.meta.Messages-maxMessages, c.seen.Cut.Summed)
	if c.inputVersion != 0 {
		c.first = min(c.first, c.input.begins())
	}
	messages, err := loadMessages(ctx, store, c.ref, c.first, c.meta.Messages)
	if err != nil {
		return err
	}
	c.messages = messages
	c.beginWithUser()
	return nil
}

// loadMessages gives the messages of a session from one index to before another.
func loadMessages(ctx context.Context, store *state.Store, ref host.SessionRef, from, to int) ([]model.Message, error) {
	messages := make([]model.Message, 0, max(0, to-from))
	after := ""
	if from > 0 {
		after = messageKey(from - 1)
	}
	for from+len(messages) < to {
		page, err := store.ListState(ctx, ref, keyMessage, after, to-from-len(messages))
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return nil, host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "session %s has %d of its %d messages", ref, from+len(messages), to), nil)
		}
		for _, v := range page {
			m, err := messageForm().decode(v.Key, v.Data)
			if err != nil {
				return nil, err
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

// say adds messages. The next save stores them.
func (c *conversation) say(messages ...model.Message) { c.messages = append(c.messages, messages...) }

// changes gives what a save stores: what was said since the last one; and what
// the model saw and the input, where they have changed.
func (c *conversation) changes() []state.Change {
	meta := c.meta
	meta.Messages = c.count()
	changes := []state.Change{{Key: keySession, Version: c.version, Data: sessionForm().encode(meta)}}
	c.seenSaving = nil
	if seen := viewForm().encode(c.seen); !bytes.Equal(seen, c.seenStored) {
		c.seenSaving = seen
		changes = append(changes, state.Change{Key: keyView, Version: c.seenVersion, Data: seen})
	}
	for i := c.meta.Messages; i < c.count(); i++ {
		changes = append(changes, state.Change{Key: messageKey(i), Data: messageForm().encode(c.at(i))})
	}
	if c.inputChanged {
		changes = append(changes, state.Change{Key: inputKey(c.inputID), Version: c.inputVersion, Data: inputForm().encode(c.input)})
	}
	return changes
}

// saved notes that the changes, as they were given last, are stored.
func (c *conversation) saved() {
	c.meta.Messages = c.count()
	c.version++
	if c.seenSaving != nil {
		c.seenVersion++
		c.seenStored, c.seenSaving = c.seenSaving, nil
	}
	if c.inputChanged {
		c.inputVersion++
		c.inputChanged = false
	}
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
