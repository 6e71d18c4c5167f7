package window

import (
	"slices"

	"github.com/sluicehq/sluice/host/model"
)

// A Level is one of the three ways of compacting, mildest first.
type Level int

// Levels.
const (
	LevelLines   Level = 1 // old tool calls have one line each
	LevelSummary Level = 2 // old turns stand in a summary
	LevelShort   Level = 3 // long messages of the current turn are shortened
)

// A Compaction is one step of compacting: what was replaced by what. Indexes
// count the session's messages from 0. It is stored as an event; Cut.With
// makes the same cut of the same events again.
type Compaction struct {
	Level   Level    `json:"level"`
	From    int      `json:"from"`              // first message that is replaced
	To      int      `json:"to"`                // the message after the last
	Summary *Summary `json:"summary,omitempty"` // LevelSummary: it stands for all messages before To
	Room    int      `json:"room,omitempty"`    // LevelShort: characters that each message keeps
	Before  int      `json:"before"`            // tokens of the conversation, estimated
	After   int      `json:"after"`
}

// A Cut is all that was compacted of a session so far. The window is a
// function of the stored messages and the stored cut, so a turn that is
// resumed elsewhere sees the same. The zero Cut has compacted nothing.
type Cut struct {
	Lined   int         `json:"lined,omitempty"`   // tool calls of messages before this one have a line each
	Summed  int         `json:"summed,omitempty"`  // messages before this one, a user's, stand in the summary
	Summary *Summary    `json:"summary,omitempty"` // nil where nothing is to be known of them: there are none, or they were cleared
	Short   []Shortened `json:"short,omitempty"`   // in order, apart from each other
}

// A Shortened part of a conversation has messages of at most so many
// characters.
type Shortened struct {
	From int `json:"from"`
	To   int `json:"to"`
	Room int `json:"room"`
}

// With gives the cut after one more compaction.
func (c Cut) With(e Compaction) Cut {
	switch e.Level {
	case LevelLines:
		c.Lined = max(c.Lined, e.To)
	case LevelSummary:
		c.Summed, c.Summary = e.To, e.Summary
		c.Lined = max(c.Lined, e.To)
		c.Short = slices.DeleteFunc(slices.Clone(c.Short), func(s Shortened) bool { return s.To <= e.To })
	case LevelShort:
		kept := slices.DeleteFunc(slices.Clone(c.Short), func(s Shortened) bool { return s.From >= e.From })
		c.Short = append(kept, Shortened{e.From, e.To, e.Room})
	}
	return c
}

// room gives to how many characters message i is shortened; 0 leaves it whole.
func (c Cut) room(i int) int {
	for _, s := range c.Short {
		if i >= s.From && i < s.To {
			return s.Room
		}
	}
	return 0
}

// A Conversation is what is stored of a session, as far as it is loaded.
type Conversation struct {
	Messages []model.Message        // as stored, beginning with a user's
	First    int                    // index in the session of Messages[0]; messages before Cut.Summed need not be loaded
	Cut      Cut                    // as stored
	IsRead   func(tool string) bool // whether a tool changes nothing; nil counts every tool as a write
}

// View gives the conversation as the model sees it. It begins with a user's
// message, and every call is followed by its result, whatever is stored.
func (c Conversation) View() []model.Message { return c.view(c.Cut) }

func (c Conversation) view(cut Cut) []model.Message {
	entries := repaired(c.entriesFrom(cut.Summed))
	messages := make([]model.Message, 0, len(entries)+1)
	if cut.Summary != nil {
		messages = append(messages, cut.Summary.message())
	}
	for _, e := range entries {
		m := e.message
		if e.at < cut.Lined {
			m = lined(m)
		}
		if room := cut.room(e.at); room > 0 {
			m = shortened(m, room)
		}
		messages = append(messages, m)
	}
	return messages
}

// An entry is a message with its index in the session. A result that was put
// in has the index of its call.
type entry struct {
	at      int
	message model.Message
}

// entriesFrom gives the messages from index from on, beginning with a user's.
func (c Conversation) entriesFrom(from int) []entry { return c.entriesIn(from, c.end()) }

func (c Conversation) entriesIn(from, to int) []entry {
	var entries []entry
	for i := max(from, c.First); i < to; i++ {
		m := c.Messages[i-c.First]
		if len(entries) > 0 || m.Role == model.RoleUser {
			entries = append(entries, entry{i, m})
		}
	}
	return entries
}

// end gives the number of messages of the session.
func (c Conversation) end() int { return c.First + len(c.Messages) }

// roundsKept is how many of the last rounds, from a user's message to the
// next, are never compacted: the talk that the user has in mind.
const roundsKept = 3

// turnStart gives the index of the nth-last user's message, or of the first
// message where there are fewer.
func (c Conversation) turnStart(n int) int {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if c.Messages[i].Role == model.RoleUser {
			if n--; n == 0 {
				return c.First + i
			}
		}
	}
	return c.First
}
