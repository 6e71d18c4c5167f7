package agent

import (
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

// maxRecent is how many calls the loop breaker is told of. It looks at five
// that count.
const maxRecent = 8

// recent gives the calls before the message that c stands in, oldest first, as
// the loop breaker needs them. It reads the conversation only, so that every
// replica says the same. Calls of one message do not count for each other:
// when the model asked for one, it had seen the result of none.
func (t *turn) recent(c openCall) []host.Past {
	var past []host.Past
	input, round := t.input.Ordinal, t.round(c)
	for i := c.message - 1; i >= t.first && len(past) < maxRecent; i-- {
		m := t.at(i)
		switch m.Role {
		case model.RoleUser:
			input-- // what stands before it serves the input before
		case model.RoleAssistant:
			round--
		}
		for index, earlier := range slices.Backward(m.Calls) {
			if result, ok := t.resultAt(i, index); ok {
				p := t.pastOf(earlier, result, input, round)
				p.Resumed = m.ByHost
				past = append(past, p)
			}
		}
	}
	past = past[:min(len(past), maxRecent)]
	slices.Reverse(past)
	return past
}

// round is the ordinal of the model's answer that c stands in, among the
// messages that the turn works with.
func (t *turn) round(c openCall) int {
	n := 0
	for i := t.first; i <= c.message; i++ {
		if t.at(i).Role == model.RoleAssistant {
			n++
		}
	}
	return n
}

// resultAt gives the result of the index-th call of message i, if it has one.
func (t *turn) resultAt(i, index int) (model.Message, bool) {
	if at := i + 1 + index; at < t.count() {
		m := t.at(at)
		return m, m.Role == model.RoleTool && m.CallID == t.at(i).Calls[index].ID
	}
	return model.Message{}, false
}

func (t *turn) pastOf(c model.Call, result model.Message, input, round int) host.Past {
	p := host.Past{
		Tool: c.Tool, Args: t.Dispatch.Plain(t.Dispatch.Meaning(t.catalog, c.Tool, c.Args), c.Args),
		Status: host.Failed, Input: input, Round: round,
	}
	switch result.Code {
	case abi.BreakerOpen, abi.Circling, abi.RedLine, abi.OverBudget:
		p.Cut = true
	}
	if entry, problem := t.catalog.Resolve(c.Tool); problem == nil {
		p.Effect = entry.Tool.Effect
	}
	switch {
	case result.OK:
		p.Status, p.Result = host.Done, host.Digest([]byte(result.Text))
	case result.Code == abi.PendingApproval:
		p.Status = host.Pending
	case result.Code == abi.OutcomeUnknown || result.Code == abi.Cancelled:
		p.Status = host.Unknown // the host broke it off; that the model asks again is no circle
	}
	return p
}

// trips counts the calls of this turn that the loop breaker cut off before the
// message that c stands in: the model has been warned so often.
func (t *turn) trips(c openCall) int {
	n := 0
	for i := t.input.Message; i < c.message; i++ {
		if code := t.at(i).Code; code == abi.BreakerOpen || code == abi.Circling {
			n++
		}
	}
	return n
}

// cutOff reports whether a call of this turn was refused with a code.
func (t *turn) cutOff(code abi.Code) bool {
	for i := t.input.Message; i < t.count(); i++ {
		if t.at(i).Code == code {
			return true
		}
	}
	return false
}
