package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// Replay is a provider that plays a recorded conversation: it answers with
// the recorded assistant's message that follows on the request's messages.
//
// The place is found from the request alone, so the same request always gets
// the same answer, on any replica and however often. A request that begins as
// the recording begins must agree with it message by message, in number and
// order. A request that begins otherwise is taken for one whose older messages
// were compacted: the longest run of its last messages that agrees with the
// recording gives the place; it must hold a user's message, and there must be
// only one such place. Messages agree by role; a user's by its text, an
// assistant's by the tools that it calls (in a compacted conversation by its
// text, too), a tool result by its tool. Results are not compared: that is the
// business of whoever replays.
//
// It is safe for concurrent use.
type Replay struct {
	messages []Recorded
}

var _ Provider = (*Replay)(nil)

// NewReplay makes a provider of a recorded conversation; system messages are
// passed over.
func NewReplay(messages []Recorded) *Replay {
	isSystem := func(m Recorded) bool { return m.Role == "system" }
	return &Replay{messages: slices.DeleteFunc(slices.Clone(messages), isSystem)}
}

// Complete gives the recorded answer. It fails with ModelRejected where the
// request and the recording part, or the recording has ended.
func (p *Replay) Complete(ctx context.Context, req Request, on func(Event)) (Reply, error) {
	const op = "model.Replay.Complete"
	if ctx.Err() != nil {
		return Reply{}, fail(ctx, op, nil, ctx.Err())
	}
	next, err := p.next(req.Messages)
	if err != nil {
		return Reply{}, fail(ctx, op, abi.NewProblem(abi.ModelRejected, "the recording has no answer to this: %v", err), nil)
	}
	reply := replyOf(next)
	if on != nil && reply.Text != "" {
		on(Event{Text: reply.Text})
	}
	return reply, nil
}

// next finds the recorded message that follows on the request's.
func (p *Replay) next(messages []Message) (Recorded, error) {
	if len(messages) == 0 {
		return Recorded{}, errors.New("the request has no messages")
	}
	place, err := p.place(messages)
	switch {
	case err != nil:
		return Recorded{}, err
	case place == len(p.messages):
		return Recorded{}, fmt.Errorf("it has ended after %d messages", place)
	case p.messages[place].Role != string(RoleAssistant):
		return Recorded{}, fmt.Errorf("message %d of it is %s, and not an assistant's", place, p.messages[place])
	}
	return p.messages[place], nil
}

// place gives how many recorded messages the request stands for.
func (p *Replay) place(messages []Message) (int, error) {
	if len(p.messages) == 0 || !agree(messages[0], p.messages[0]) {
		return p.placeByTail(messages)
	}
	for i, m := range messages {
		if i == len(p.messages) {
			return 0, fmt.Errorf("it has ended after %d messages, and the request has %d", i, len(messages))
		}
		if !agree(m, p.messages[i]) {
			return 0, fmt.Errorf("they part at message %d: the request has %s, the recording %s", i, m, p.messages[i])
		}
	}
	return len(messages), nil
}

// placeByTail finds the place by the request's last messages.
func (p *Replay) placeByTail(messages []Message) (int, error) {
	best, at, places := 0, 0, 0
	for end := 1; end <= len(p.messages); end++ {
		switch n := overlap(messages, p.messages[:end]); {
		case n > best:
			best, at, places = n, end, 1
		case n == best:
			places++
		}
	}
	last := messages[len(messages)-1]
	isUser := func(m Message) bool { return m.Role == RoleUser }
	switch {
	case !slices.ContainsFunc(messages[len(messages)-best:], isUser):
		return 0, fmt.Errorf("it begins otherwise, and nowhere has the request's last user message and what follows up to %s", last)
	case places > 1:
		return 0, fmt.Errorf("the last %d messages of the request, up to %s, stand at %d places of it", best, last, places)
	}
	return at, nil
}

// overlap counts the messages that agree, backwards from both ends.
func overlap(messages []Message, recorded []Recorded) int {
	n := 0
	for n < len(messages) && n < len(recorded) {
		m, r := messages[len(messages)-1-n], recorded[len(recorded)-1-n]
		if !agree(m, r) || m.Role == RoleAssistant && m.Text != r.Text() {
			break
		}
		n++
	}
	return n
}

func agree(m Message, r Recorded) bool {
	if string(m.Role) != r.Role {
		return false
	}
	switch m.Role {
	case RoleUser:
		return strings.TrimSpace(m.Text) == strings.TrimSpace(r.Text())
	case RoleTool:
		return m.Tool == "" || r.Name == "" || sameTool(m.Tool, r.Name)
	}
	return slices.EqualFunc(m.Calls, r.ToolCalls, func(c Call, rc RecordedCall) bool { return sameTool(c.Tool, rc.Function.Name) })
}

// sameTool compares names; the conversation may have the tool's full name,
// with its skill's before it.
func sameTool(own, recorded string) bool {
	return own == recorded || strings.HasSuffix(own, "."+recorded)
}

func replyOf(r Recorded) Reply {
	reply := Reply{Text: r.Text(), Finish: FinishStop}
	for _, c := range r.ToolCalls {
		reply.Calls = append(reply.Calls, Call{ID: c.ID, Tool: c.Function.Name, Args: c.Function.Arguments})
		reply.Finish = FinishCalls
	}
	return reply
}

// String says what kind of message it is, in a few words.
func (m Message) String() string {
	var calls []string
	for _, c := range m.Calls {
		calls = append(calls, c.Tool)
	}
	return describe(string(m.Role), m.Text, m.Tool, calls)
}

// String says what kind of message it is, in a few words.
func (m Recorded) String() string {
	var calls []string
	for _, c := range m.ToolCalls {
		calls = append(calls, c.Function.Name)
	}
	return describe(m.Role, m.Text(), m.Name, calls)
}

func describe(role, text, tool string, calls []string) string {
	switch {
	case role == string(RoleTool):
		return fmt.Sprintf("a result of %s", tool)
	case len(calls) > 0:
		return fmt.Sprintf("an assistant's call of %s", calls)
	}
	return fmt.Sprintf("a message of the %s, %.60q", role, text)
}
