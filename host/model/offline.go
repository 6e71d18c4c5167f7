package model

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/host"
)

// Offline is a provider without a model: deterministic, without network, and
// the default where nothing else is set up. It ranks the tools by the user's
// words, fills the arguments from them by the schema and the examples, and
// calls at most one tool for each user message; what is missing it asks for,
// and a result it tells in a sentence. A question that the host has it ask comes before
// what it says. It understands instructions that look
// like the tools' examples, in English and Chinese, and no conversation beyond
// the answer to its own question.
//
// It is safe for concurrent use. It counts no tokens.
type Offline struct{}

var _ Provider = Offline{}

// pieceRunes is the length of the pieces in which an answer is streamed.
const pieceRunes = 12

// Complete answers the conversation's last message. It fails only when ctx has
// ended.
func (Offline) Complete(ctx context.Context, req Request, on func(Event)) (Reply, error) {
	reply := answerTo(req)
	if question := toAsk(req.Hint); question != "" && len(reply.Calls) == 0 {
		reply.Text = question + "\n" + reply.Text
	}
	for rest := reply.Text; ctx.Err() == nil && on != nil && rest != ""; {
		piece := cutRunes(rest, pieceRunes)
		on(Event{Text: piece})
		rest = rest[len(piece):]
	}
	if ctx.Err() != nil {
		return Reply{}, fail(ctx, "model.Offline.Complete", nil, ctx.Err())
	}
	return reply, nil
}

// toAsk gives the question that the host has the model ask, if there is one.
func toAsk(hint string) (question string) {
	_, rest, _ := strings.Cut(hint, host.ToAsk)
	line, _, _ := strings.Cut(rest, "\n")
	if json.Unmarshal([]byte(line), &question) != nil { // such as words of a memory that look like it
		return ""
	}
	return question
}

// cutRunes gives the first n characters of a text.
func cutRunes(text string, n int) string {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end]
}

func answerTo(req Request) Reply {
	n := len(req.Messages)
	said := speakTo(req)
	switch {
	case n > 0 && req.Messages[n-1].Role == RoleTool:
		return textReply(said.result(req.Messages[n-1], toolNamed(req.Tools, req.Messages[n-1].Tool)))
	case n == 0 || req.Messages[n-1].Role != RoleUser:
		return textReply(said.abilities(req.Tools))
	}
	if req.Messages[n-1].ByHost {
		return textReply(said.noted()) // what the host tells is no instruction
	}
	f, found := newIndex(req.Tools).understand(req.Messages, questionsMax)
	switch {
	case !found:
		return textReply(said.abilities(req.Tools))
	case f.held:
		return textReply(said.plainly(f))
	case len(f.doubtful) > 0:
		return textReply(said.whichOne(f))
	case len(f.missing) > 0:
		return textReply(said.whatIsMissing(f))
	}
	return callReply(req, f)
}

func textReply(text string) Reply { return Reply{Text: text, Finish: FinishStop} }

// callReply makes the call. Its id follows from the conversation, so that the
// same request gets the same reply.
func callReply(req Request, f filling) Reply {
	args, err := json.Marshal(f.args)
	conversation, err2 := json.Marshal(req.Messages)
	if err != nil || err2 != nil {
		panic("BUG: arguments and messages are plain values and can be written")
	}
	id := "call_" + host.Digest(conversation)[:24]
	return Reply{Calls: []Call{{ID: id, Tool: f.tool.Name, Args: string(args)}}, Finish: FinishCalls}
}

// questionsMax is how many questions in a row are thought of.
const questionsMax = 3

// understand finds the tool that the last message asks for. Where it asks for
// none, it may answer a question about an earlier message.
func (x *index) understand(messages []Message, questions int) (filling, bool) {
	n := len(messages)
	text := fold(messages[n-1].Text, utteranceRunes)
	f, found := x.choose(text)
	if found && f.ready() || questions == 0 || !isAnswer(messages) {
		return f, found
	}
	before, asked := x.understand(messages[:n-2], questions-1)
	if !asked || len(before.missing) == 0 || len(before.doubtful) > 0 {
		return f, found
	}
	both := fill(before.text+", "+text, before.candidate)
	if len(both.missing) < len(before.missing) {
		return both, true
	}
	return f, found
}

// isAnswer reports whether the last message follows on a plain text of the
// assistant, and that on a message of the user.
func isAnswer(messages []Message) bool {
	n := len(messages)
	return n >= 3 && messages[n-2].Role == RoleAssistant && len(messages[n-2].Calls) == 0 && messages[n-3].Role == RoleUser
}

// choose picks the tool that explains the user's words best.
func (x *index) choose(text string) (filling, bool) {
	var best filling
	top := 0.0
	for _, r := range x.rank(text) {
		f := fill(text, r.candidate)
		if f.ignores() {
			continue
		}
		if score := (r.score + f.bonus()) * f.fitness(); score > top {
			best, top = f, score
		}
	}
	return best, top > 0
}

// ignores reports whether the call would have nothing to do with the things
// that the user names.
func (f filling) ignores() bool {
	isThing := func(s span) bool { return s.unit == unitNone && s.date == "" }
	return f.ready() && f.explained == 0 && f.template == 0 && slices.ContainsFunc(f.spans, isThing)
}

// bonus is what an example that says the same is worth beside its words.
func (f filling) bonus() float64 {
	if f.template == 0 {
		return 0
	}
	return 2 + 0.2*float64(min(f.template, 30))
}

// fitness is less than one for what the tool cannot use and does not get. A
// write is chosen only where it fits better than a read.
func (f filling) fitness() float64 {
	fit := 1 / (1 + 0.1*float64(len(f.missing)))
	if len(f.spans) > 0 {
		fit *= 0.4 + 0.6*float64(f.explained)/float64(len(f.spans))
	}
	if !reads(f.tool) {
		fit *= 0.95
	}
	return fit
}

func toolNamed(tools []Tool, name string) Tool {
	for _, t := range tools {
		if t.Name == name {
			return t
		}
	}
	return Tool{Name: name}
}
