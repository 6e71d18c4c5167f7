package agent

import (
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

// State keys of a session that the agent owns. No skill can name a key with a
// slash. Messages, inputs and compactions have a key each, so that a session
// grows by what was said and not by its square.
const (
	keySession    = "agent/session"     // sessionValue: the session, and the live that it belongs to
	keyMessage    = "agent/message/"    // and eight digits; model.Message: what was said, to the letter
	keyInput      = "agent/input/"      // and the input's id; inputValue
	keyView       = "agent/view"        // viewValue: what, beside the messages, decides what the model sees
	keyTopics     = "agent/topics"      // topicsValue: what was talked about, to be found again
	keyCompaction = "agent/compaction/" // and eight digits; window.Compaction: what was replaced by what
	keyLiveUsed   = "agent/used/"       // in the session of a live, and a digest of one that belongs to it; liveUsedValue
)

func messageKey(i int) string         { return fmt.Sprintf("%s%08d", keyMessage, i) }
func inputKey(id host.InputID) string { return keyInput + string(id) }
func liveUsedKey(ref host.SessionRef) string {
	return keyLiveUsed + host.Digest(fmt.Appendf(nil, "%q %q", ref.User, ref.Session))
}

func compactionKey(i int) string { return fmt.Sprintf("%s%08d", keyCompaction, i) }

// A sessionValue is the state under keySession. Every save of the conversation
// changes it, so its version in the store orders all of them: of two writers
// one loses.
type sessionValue struct {
	Created  time.Time    `json:"created"`
	Live     host.LiveID  `json:"live,omitempty"`
	Locale   string       `json:"locale,omitempty"`
	Pins     release.Pins `json:"pins"`
	Inputs   int          `json:"inputs"`
	ByHost   int          `json:"by_host,omitempty"` // of them, those that the host made of answers to its questions
	Messages int          `json:"messages"`
	Active   host.InputID `json:"active,omitempty"` // the input whose turn is not over

	Scenes  []window.SceneStart `json:"scenes,omitempty"`  // as they followed on each other
	Topics  int                 `json:"topics,omitempty"`  // that are stored
	CutAt   int                 `json:"cut_at,omitempty"`  // inputs when topics were cut last
	Cleared int                 `json:"cleared,omitempty"` // messages before this one were cleared

	Mode  host.Mode   `json:"mode,omitempty"`
	Used  host.Amount `json:"used,omitzero"`   // of all inputs
	Ended int         `json:"ended,omitempty"` // inputs when the session ended last
}

// An inputValue is the state of one input.
type inputValue struct {
	Ordinal int       `json:"ordinal"`          // from 1
	Message int       `json:"message"`          // index of the user's message
	At      time.Time `json:"at,omitzero"`      // when it was stored first, by the clock of that replica
	Digest  string    `json:"digest,omitempty"` // of the words as they were delivered; stored ones may have more
	Serves  int       `json:"serves,omitempty"` // ordinal of the user's own input that an answer to a question serves
	Since   int       `json:"since,omitempty"`  // with Serves: index of that input's message, or of the oldest that was at hand
	Answer  *Answer   `json:"answer,omitempty"`

	Used  host.Amount  `json:"used,omitzero"`
	Limit *host.Amount `json:"limit,omitempty"` // of the task, if it is a part of another one
}

// begins is the index of the message from which on what was done serves the same
// words of the user.
func (v inputValue) begins() int {
	if v.Serves != 0 {
		return v.Since
	}
	return v.Message
}

// A topicsValue is the state under keyTopics.
type topicsValue struct {
	Topics []window.Topic `json:"topics"`
}

// A viewValue is the state under keyView. The window is a function of it and
// of the messages, on any replica.
type viewValue struct {
	Cut         window.Cut   `json:"cut,omitzero"`
	Shown       window.Shown `json:"shown,omitzero"`
	Meter       window.Meter `json:"meter,omitzero"`
	Compactions int          `json:"compactions,omitempty"` // that are stored as events
}

// A form is how the values of one kind of key are stored: as JSON objects that
// tell their version in a member "v", which no value has for itself. Values
// without one are of version 0. Each upgrade makes a value of the next version,
// so there are as many as the newest version says. A change of a type that
// cannot read what it wrote before needs a further one.
type form[T any] struct {
	upgrades []upgrade
}

type upgrade func(json.RawMessage) (json.RawMessage, error)

// numbered is the upgrade to a version that only added the number.
func numbered(data json.RawMessage) (json.RawMessage, error) { return data, nil }

func sessionForm() form[sessionValue]         { return form[sessionValue]{[]upgrade{numbered}} }
func messageForm() form[model.Message]        { return form[model.Message]{[]upgrade{numbered}} }
func inputForm() form[inputValue]             { return form[inputValue]{[]upgrade{numbered}} }
func topicsForm() form[topicsValue]           { return form[topicsValue]{[]upgrade{numbered}} }
func liveUsedForm() form[liveUsedValue]       { return form[liveUsedValue]{[]upgrade{numbered}} }
func viewForm() form[viewValue]               { return form[viewValue]{[]upgrade{numbered}} }
func compactionForm() form[window.Compaction] { return form[window.Compaction]{[]upgrade{numbered}} }

// encode gives a value in the newest version.
func (f form[T]) encode(value T) json.RawMessage {
	b, err := json.Marshal(value)
	if err != nil || len(b) < 2 || b[0] != '{' {
		panic(fmt.Sprintf("BUG: %T does not marshal to an object: %v", value, err))
	}
	data := fmt.Appendf(nil, `{"v":%d`, len(f.upgrades))
	if len(b) > 2 {
		data = append(data, ',')
	}
	return append(data, b[1:]...)
}

// decode reads a value of any version up to the newest.
func (f form[T]) decode(key string, data json.RawMessage) (value T, err error) {
	var head struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(data, &head); err != nil || head.V < 0 {
		return value, unreadable(key, err)
	}
	if newest := len(f.upgrades); head.V > newest {
		return value, host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "state key %s has version %d; this Sluice knows %d", key, head.V, newest).
			WithHint("use the Sluice that wrote it, or a newer one"), nil)
	}
	for _, up := range f.upgrades[head.V:] {
		if data, err = up(data); err != nil {
			return value, unreadable(key, err)
		}
	}
	if err := json.Unmarshal(data, &value); err != nil {
		return value, unreadable(key, err)
	}
	return value, nil
}

func unreadable(key string, cause error) error {
	return host.Fail("agent.load", abi.NewProblem(abi.StoreFailure, "state key %s cannot be read", key).
		WithHint("restore the store from a backup, or begin a new session"), cause)
}

// read decodes one of the values that were loaded, and gives its version in
// the store. What is not there is zero, at version 0.
func read[T any](f form[T], values map[string]state.Value, key string) (value T, version int64, err error) {
	stored, ok := values[key]
	if !ok {
		return value, 0, nil
	}
	value, err = f.decode(key, stored.Data)
	return value, stored.Version, err
}
