package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/sluicehq/sluice/abi"
)

// OpenAIConfig says where an OpenAI-compatible endpoint is and how to speak
// with it. BaseURL and Model are required; the zero value of every other field
// is a good default.
type OpenAIConfig struct {
	BaseURL         string        // up to and without /chat/completions, such as https://api.openai.com/v1
	Key             string        // sent as a bearer token; empty sends none
	Model           string        // as the endpoint names it
	ReasoningEffort string        // as the endpoint names it; empty leaves it to the model
	Proxy           string        // URL of an HTTP proxy; empty means none, whatever the environment says
	IdleTimeout     time.Duration // longest silence, before the first byte and between two; DefaultIdleTimeout if 0

	Now   func() time.Time                                 // time.Now if nil
	Sleep func(ctx context.Context, d time.Duration) error // waits for d or the end of ctx; a timer if nil
}

// DefaultIdleTimeout covers a model that thinks before its first word; vendors
// send keep-alive lines well within it.
const DefaultIdleTimeout = 90 * time.Second

// String says nothing of the key, so that a printed configuration does not.
func (c OpenAIConfig) String() string { return c.Model + " at " + c.BaseURL }

// GoString is String, for %#v.
func (c OpenAIConfig) GoString() string { return c.String() }

// valid reports what is wrong with the configuration, or nil.
func (c OpenAIConfig) valid() error {
	base, err := url.Parse(c.BaseURL)
	switch {
	case err != nil:
		return errors.New("the base URL of the model cannot be read; give one such as https://api.openai.com/v1")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return errors.New("the base URL of the model must not hold a user, a query or a fragment; give the key by itself")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return fmt.Errorf("the base URL of the model must be http or https with a host (got %q)", c.BaseURL)
	case c.Model == "":
		return errors.New("the model has no name; give the name that the endpoint uses")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return errors.New("the key of the model holds a space, a line end or another character that no key has")
	case c.IdleTimeout < 0:
		return fmt.Errorf("the idle timeout of the model is negative (%v)", c.IdleTimeout)
	}
	return nil
}

// withDefaults fills the fields that may be left out.
func (c OpenAIConfig) withDefaults() OpenAIConfig {
	if c.IdleTimeout == 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

// OpenAI is a provider over the streaming chat completions of any
// OpenAI-compatible endpoint: OpenAI, DeepSeek, Qwen, Kimi, GLM, vLLM, Ollama.
// It is safe for concurrent use.
type OpenAI struct {
	config OpenAIConfig
	http   *http.Client
}

var _ Provider = (*OpenAI)(nil)

// NewOpenAI makes a provider. It opens no connection; it fails on a
// configuration that can never work.
func NewOpenAI(c OpenAIConfig) (*OpenAI, error) {
	if err := c.valid(); err != nil {
		return nil, err
	}
	client, err := newHTTPClient(c.Proxy)
	if err != nil {
		return nil, err
	}
	return &OpenAI{config: c.withDefaults(), http: client}, nil
}

// String names the model and the endpoint, and never the key.
func (p *OpenAI) String() string { return p.config.String() }

// GoString is String, for %#v.
func (p *OpenAI) GoString() string { return p.String() }

// Complete asks the endpoint, up to four times. A retry asks for the whole
// answer again; where pieces were given already, an Event with Restart comes
// before it.
func (p *OpenAI) Complete(ctx context.Context, req Request, on func(Event)) (Reply, error) {
	names := newWireNames(req.Tools)
	wire := p.wireRequest(req, names)
	if on == nil {
		on = func(Event) {}
	}
	var causes []error
	for attempt := 0; ; attempt++ {
		a := newAnswer(on)
		failed := p.attempt(ctx, wire, a)
		if failed == nil {
			return a.reply(names), nil
		}
		causes = append(causes, failed)
		wait, again := backoff(attempt, failed)
		if !again || ctx.Err() != nil || p.config.Sleep(ctx, wait) != nil {
			return Reply{}, fail(ctx, "model.OpenAI.Complete", failed.problem, errors.Join(causes...))
		}
		if a.spoke {
			on(Event{Restart: true})
		}
	}
}

// attempt asks once and reads the answer to its end.
func (p *OpenAI) attempt(ctx context.Context, wire openai.ChatCompletionRequest, a *answer) *outage {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{http: p.http, silence: newSilence(p.config.IdleTimeout, cancel), key: p.config.Key, now: p.config.Now}

	stream, err := p.clientOver(x).CreateChatCompletionStream(ctx, wire)
	var known *outage
	switch {
	case errors.As(err, &known):
		return known
	case err != nil:
		return &outage{problem: abi.NewProblem(abi.ModelRejected, "the request to the model cannot be made").
			WithHint("look at the tools' schemas and the settings of the model"), cause: err}
	}
	defer stream.Close()
	return a.read(ctx, stream.RecvRaw, p.config.Key)
}

// clientOver makes a client for one exchange; it is a small struct, and the
// exchange carries what belongs to one attempt.
func (p *OpenAI) clientOver(x *exchange) *openai.Client {
	config := openai.DefaultConfig(p.config.Key)
	config.BaseURL = p.config.BaseURL
	config.HTTPClient = x
	// Keep-alive lines count as empty messages, and a model that thinks for
	// long sends many of them. The answer's bytes are bounded anyway.
	config.EmptyMessagesLimit = answerBytesMax
	return openai.NewClientWithConfig(config)
}
