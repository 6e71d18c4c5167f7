package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/sluicehq/sluice/abi"
)

// A chunk is one event of a stream. The client library's own type knows only
// OpenAI's fields and types; vendors differ in small things.
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content          string      `json:"content"`
			Refusal          string      `json:"refusal"`
			ReasoningContent string      `json:"reasoning_content"` // DeepSeek, Qwen, Kimi, GLM
			ToolCalls        []callDelta `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string     `json:"finish_reason"`
		Usage        *wireUsage `json:"usage"` // Kimi
	} `json:"choices"`
	Usage *wireUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// wireUsage counts tokens in the vendors' several ways.
type wireUsage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"` // OpenAI, Qwen, GLM, vLLM
	} `json:"prompt_tokens_details"`
	PromptCacheHitTokens int `json:"prompt_cache_hit_tokens"` // DeepSeek
	CachedTokens         int `json:"cached_tokens"`           // Kimi
}

// usage gives the counts in our way; what cannot be counts as nothing.
func (u wireUsage) usage() Usage {
	input := max(0, u.PromptTokens)
	cached := max(0, u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens, u.CachedTokens)
	return Usage{Input: input, Cached: min(cached, input), Output: max(0, u.CompletionTokens)}
}

// An answer gathers the pieces of one attempt.
type answer struct {
	on        func(Event)
	spoke     bool // a piece was given to on
	text      strings.Builder
	reasoning strings.Builder
	calls     callList
	usage     Usage
	finish    string // the vendor's word; empty while the answer goes on
}

func newAnswer(on func(Event)) *answer { return &answer{on: on} }

// read reads the stream to its end. An answer is whole when a reason to finish
// was given; whatever breaks afterwards costs at most the token counts.
func (a *answer) read(ctx context.Context, next func() ([]byte, error), key string) *outage {
	for {
		line, err := next()
		var failed *outage
		if err == nil {
			failed = a.add(line, key)
		} else {
			failed = interrupted(ctx, err, key)
		}
		switch {
		case failed == nil:
		case a.finish == "":
			return failed
		case passing(a.finish):
			return &outage{problem: abi.NewProblem(abi.ModelInterrupted, "the model broke off its answer (%s)", quote(a.finish, key)), retry: true}
		default:
			return nil
		}
	}
}

// add takes in one event.
func (a *answer) add(line []byte, key string) *outage {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var c chunk
	if err := json.Unmarshal(line, &c); err != nil {
		return &outage{problem: abi.NewProblem(abi.ModelInterrupted, "the model sent something that is not a piece of an answer"), retry: true, cause: err}
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return outageInStream(codeIn(c.Error), quote(messageIn(line), key))
	}
	if c.Usage != nil {
		a.usage = c.Usage.usage()
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // we ask for one
		}
		if choice.Usage != nil {
			a.usage = choice.Usage.usage()
		}
		a.say(choice.Delta.Content + choice.Delta.Refusal)
		a.reasoning.WriteString(choice.Delta.ReasoningContent)
		for _, d := range choice.Delta.ToolCalls {
			if !a.calls.add(d) {
				return tooMuch(fmt.Sprintf("it asks for more than %d calls at once", callsMax))
			}
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return nil
}

func (a *answer) say(text string) {
	if text == "" {
		return
	}
	a.text.WriteString(text)
	a.spoke = true
	a.on(Event{Text: text})
}

// reply gives the whole answer, with the tools' own names.
func (a *answer) reply(names wireNames) Reply {
	finish := finishOf(a.finish)
	calls := a.calls.finished(finish != FinishStop && finish != FinishCalls)
	for i := range calls {
		calls[i].Tool = names.own(calls[i].Tool)
	}
	switch {
	case finish == FinishStop && len(calls) > 0:
		finish = FinishCalls // Ollama, some gateways
	case finish == FinishCalls && len(calls) == 0:
		finish = FinishStop
	}
	return Reply{Text: a.text.String(), Calls: calls, Reasoning: a.reasoning.String(), Usage: a.usage, Finish: finish}
}

// finishOf reads a vendor's reason to finish. A word that nobody knows counts
// as a limit that was reached: calls that are not whole are then not executed.
func finishOf(reason string) Finish {
	switch strings.ToLower(reason) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence":
		return FinishStop
	case "tool_calls", "function_call", "tool_use":
		return FinishCalls
	case "content_filter", "sensitive", "safety", "refusal":
		return FinishFilter
	}
	return FinishLength
}

// passing reports whether a reason to finish tells of a failure of the
// vendor's machines (DeepSeek, GLM), so that the answer is not whole.
func passing(reason string) bool {
	switch reason {
	case "insufficient_system_resource", "network_error", "error", "abort":
		return true
	}
	return false
}

// interrupted says what it means that no further event came.
func interrupted(ctx context.Context, err error, key string) *outage {
	var said *openai.APIError
	switch {
	case errors.Is(err, errTooLong):
		return tooMuch("the answer is " + err.Error())
	case errors.As(err, &said):
		code, _ := said.Code.(int)
		return outageInStream(code, quote(said.Message, key))
	case context.Cause(ctx) != nil:
		err = context.Cause(ctx)
	case errors.Is(err, io.EOF):
		err = nil // there is no more to it
	}
	return &outage{problem: abi.NewProblem(abi.ModelInterrupted, "the model stopped in the middle of its answer").
		WithHint("try again"), retry: true, cause: err}
}

// outageInStream makes an outage of an error that came in place of an event.
func outageInStream(code int, said string) *outage {
	if code >= 400 && code < 500 {
		return outageOfStatus(code, said)
	}
	return &outage{problem: abi.NewProblem(abi.ModelInterrupted, "the model broke off its answer: %s", said).
		WithHint("try again"), retry: true}
}

// codeIn finds the HTTP status in an error object, or 0.
func codeIn(raw json.RawMessage) int {
	var said struct{ Code json.Number }
	if json.Unmarshal(raw, &said) != nil {
		return 0
	}
	code, err := said.Code.Int64()
	if err != nil || code < 0 || code >= 600 {
		return 0
	}
	return int(code)
}

// tooMuch makes an outage of an answer that is over a bound. The same again
// would be over it, too.
func tooMuch(what string) *outage {
	return &outage{problem: abi.NewProblem(abi.ModelInterrupted, "the model's answer was stopped: %s", what).
		WithHint("ask for less at a time, or give a lower token limit")}
}
