package model

import (
	"encoding/json"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/sluicehq/sluice/host"
)

// wireRequest gives the request in the endpoint's form. The same request gives
// the same bytes, so that the endpoint's prefix cache hits.
func (p *OpenAI) wireRequest(req Request, names wireNames) openai.ChatCompletionRequest {
	w := openai.ChatCompletionRequest{
		Model:           p.config.Model,
		ReasoningEffort: p.config.ReasoningEffort,
		StreamOptions:   &openai.StreamOptions{IncludeUsage: true},
	}
	if thinksAtOpenAI(p.config.Model) {
		w.MaxCompletionTokens = req.MaxTokens
	} else {
		w.MaxTokens = req.MaxTokens // the only one that the other vendors know
	}
	if req.System != "" {
		w.Messages = append(w.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: req.System})
	}
	lastUser := 0
	for i, m := range req.Messages {
		if m.Role == RoleUser {
			lastUser = i
		}
	}
	for i, m := range req.Messages {
		wire := wireMessage(m, names)
		if i > lastUser && len(m.Calls) > 0 {
			// DeepSeek and Kimi want the thoughts that led to a call back in
			// the same turn, and some models refuse any other thoughts.
			wire.ReasoningContent = m.Reasoning
		}
		w.Messages = append(w.Messages, wire)
	}
	// Not a message of its own: some vendors refuse a system message there,
	// others a user's message after a result.
	if last := len(w.Messages) - 1; req.Hint != "" && len(req.Messages) > 0 {
		w.Messages[last].Content += "\n\n" + req.Hint
	}
	for _, t := range req.Tools {
		w.Tools = append(w.Tools, wireTool(t, names))
	}
	return w
}

// thinksAtOpenAI reports whether the model is one of OpenAI's that refuse
// max_tokens.
func thinksAtOpenAI(model string) bool {
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, family) {
			return true
		}
	}
	return false
}

func wireMessage(m Message, names wireNames) openai.ChatCompletionMessage {
	w := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.CallID}
	for _, c := range m.Calls {
		w.ToolCalls = append(w.ToolCalls, openai.ToolCall{
			ID: c.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: names.wire(c.Tool), Arguments: wireArgs(c)},
		})
	}
	if w.Content == "" && len(w.ToolCalls) == 0 {
		w.Content = "(empty)" // endpoints refuse a message without content
	}
	return w
}

// wireArgs gives the arguments of an earlier call. Endpoints refuse a
// conversation with arguments that are not JSON, and then refuse it for ever;
// the result of such a call says what was wrong with it.
func wireArgs(c Call) string {
	if !wholeObject(c.Args) {
		return "{}"
	}
	return c.Args
}

func wireTool(t Tool, names wireNames) openai.Tool {
	parameters := t.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
		Name: names.wire(t.Name), Description: t.Description, Parameters: parameters,
	}}
}

// wireNames translates between the tools' names and the names that endpoints
// accept: letters, digits, _ and -, at most wireNameBytes, a letter first.
type wireNames struct {
	toWire, toOwn map[string]string
}

const wireNameBytes = 64

func newWireNames(tools []Tool) wireNames {
	n := wireNames{toWire: map[string]string{}, toOwn: map[string]string{}}
	for _, t := range tools {
		wire := wireName(t.Name)
		if other, taken := n.toOwn[wire]; taken && other != t.Name {
			wire = wireName(t.Name + "." + host.Digest([]byte(t.Name))[:8])
		}
		n.toWire[t.Name], n.toOwn[wire] = wire, t.Name
	}
	return n
}

// wire gives the name for the endpoint; a tool that is not listed any more
// has one, too.
func (n wireNames) wire(own string) string {
	if wire, ok := n.toWire[own]; ok {
		return wire
	}
	return wireName(own)
}

// own gives the tool's name; a name that no tool has is given as it is.
func (n wireNames) own(wire string) string {
	if own, ok := n.toOwn[wire]; ok {
		return own
	}
	return wire
}

func wireName(own string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (isWordByte(byte(r)) || r == '-') {
			return r
		}
		return '_'
	}, own)
	if name == "" || !isLetter(name[0]) {
		name = "t_" + name
	}
	if len(name) > wireNameBytes {
		name = name[:wireNameBytes-9] + "_" + host.Digest([]byte(own))[:8]
	}
	return name
}

func isLetter(b byte) bool   { return b|0x20 >= 'a' && b|0x20 <= 'z' }
func isDigit(b byte) bool    { return b >= '0' && b <= '9' }
func isWordByte(b byte) bool { return isLetter(b) || isDigit(b) || b == '_' }
