package embed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of requests.
const (
	batchDefault   = 64               // texts of a request; some endpoints take no more
	batchMax       = 2048             // what the first endpoint of this form takes
	batchBytes     = 256 << 10        // of their texts; 16 of the longest memories
	requestsMax    = 4                // under way at once; more only meet the vendor's limits sooner
	timeoutDefault = 60 * time.Second // of one request; a batch takes a second, on a small machine twenty
)

// OpenAIConfig says where an endpoint is and what it promises. BaseURL, Model and
// Dimensions are required.
type OpenAIConfig struct {
	BaseURL    string // up to and without /embeddings, such as https://api.openai.com/v1
	Key        string // sent as a bearer token, over https or to this machine only; empty sends none
	Model      string // as the endpoint names it
	Dimensions int    // of every vector, up to MaxDimensions
	Shorten    bool   // ask for Dimensions; models that have one length refuse to be asked
	Batch      int    // texts of one request, up to 2048; 64 if 0

	Timeout time.Duration                                    // of one request from first to last byte; 60 s if 0. All tries together end with the caller's context
	Client  *http.Client                                     // carries requests; its redirects are not followed; see Settings
	Now     func() time.Time                                 // time.Now if nil
	Sleep   func(ctx context.Context, d time.Duration) error // waits for d or the end of ctx; a timer if nil
}

// String says nothing of the key, so that a printed configuration does not.
func (c OpenAIConfig) String() string { return c.Model + " at " + c.BaseURL }

// GoString is String, for %#v.
func (c OpenAIConfig) GoString() string { return c.String() }

// problem says what is wrong with the configuration, or nil. It quotes no part of
// the address that may hold a secret.
func (c OpenAIConfig) problem() *abi.Problem {
	base, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return badSpec("the address of the embedder must be http or https with a host")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return badSpec("the address of the embedder must not hold a user, a query or a fragment")
	case c.Model == "" || len(c.Model) > 256:
		return badSpec("the embedder's model has no name, or a very long one")
	case c.Dimensions < 1 || c.Dimensions > MaxDimensions:
		return badSpec("the embedder's vectors must have 1 to %d dimensions (got %d)", MaxDimensions, c.Dimensions)
	case c.Batch < 0 || c.Batch > batchMax:
		return badSpec("a request to the embedder has 1 to %d texts (got %d)", batchMax, c.Batch)
	case c.Timeout < 0:
		return badSpec("the time-out of the embedder is negative (%v)", c.Timeout)
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return badSpec("the key of the embedder holds a space, a line end or another character that no key has").WithHint("set the variable again")
	case c.Key != "" && base.Scheme == "http" && !isThisMachine(base.Hostname()):
		return badSpec("the key of the embedder would be sent in the clear").WithHint("give an https address, or no key")
	}
	return nil
}

// isThisMachine reports whether a request to the host stays on this machine.
func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// OpenAI is an embedder over the /embeddings of any OpenAI-compatible endpoint. It is
// safe for concurrent use; all uses together have four requests under way.
type OpenAI struct {
	config OpenAIConfig
	client *http.Client
	slots  chan struct{}
}

var _ memory.Embedder = (*OpenAI)(nil)

// NewOpenAI makes an embedder. It opens no connection; it fails, with an error of
// host.Fail, on a configuration that can never work.
func NewOpenAI(c OpenAIConfig) (*OpenAI, error) {
	if problem := c.problem(); problem != nil {
		return nil, host.Fail("embed.NewOpenAI", problem, nil)
	}
	if c.Batch == 0 {
		c.Batch = batchDefault
	}
	if c.Timeout == 0 {
		c.Timeout = timeoutDefault
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	return &OpenAI{config: c, client: withoutRedirects(c.Client), slots: make(chan struct{}, requestsMax)}, nil
}

// withoutRedirects gives a client like the given one that follows no redirect.
func withoutRedirects(given *http.Client) *http.Client {
	client := http.Client{Transport: &http.Transport{ // no proxy of the environment
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    requestsMax,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}}
	if given != nil {
		client = *given
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Jar = nil
	return &client
}

// Name tells the endpoint, the model and the length. The same model at another
// endpoint may be another one.
func (e *OpenAI) Name() string {
	return fmt.Sprintf("openai:%s#%s:%d", e.config.BaseURL, e.config.Model, e.config.Dimensions)
}

// String is Name, and never the key.
func (e *OpenAI) String() string { return e.Name() }

// GoString is String, for %#v.
func (e *OpenAI) GoString() string { return e.Name() }

// Dimensions is the length that the configuration promises.
func (e *OpenAI) Dimensions() int { return e.config.Dimensions }

// Embed gives a vector for each text, in order, and nil for a blank one. It gives all
// or an error of host.Fail: what the endpoint answered for some is lost then. It is
// safe to call again.
func (e *OpenAI) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := checkTexts("embed.OpenAI.Embed", texts); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	vectors := make([][]float32, len(texts))
	var all sync.WaitGroup
	var first sync.Once
	var failed error
	for _, b := range e.batches(texts) {
		if err := e.enter(ctx); err != nil {
			first.Do(func() { failed = err })
			break
		}
		all.Go(func() {
			defer func() { <-e.slots }()
			if err := e.batch(ctx, texts, b, vectors); err != nil {
				first.Do(func() { failed = err })
				stop() // the others would be thrown away
			}
		})
	}
	all.Wait()
	if failed != nil {
		return nil, failed
	}
	return vectors, nil
}

// enter waits for a slot.
func (e *OpenAI) enter(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return host.Fail("embed.OpenAI.Embed", nil, ctx.Err())
	case e.slots <- struct{}{}:
		return nil
	}
}

// batches puts the places of texts that are not blank into batches.
func (e *OpenAI) batches(texts []string) (all [][]int) {
	var open []int
	size := 0
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if len(open) == e.config.Batch || len(open) > 0 && size+len(text) > batchBytes {
			all, open, size = append(all, open), nil, 0
		}
		open, size = append(open, i), size+len(text)
	}
	if len(open) > 0 {
		all = append(all, open)
	}
	return all
}

// batch asks for one batch until it is answered, and puts the vectors in place.
func (e *OpenAI) batch(ctx context.Context, texts []string, places []int, vectors [][]float32) error {
	body := e.body(texts, places)
	var causes []error
	for attempt := 0; ; attempt++ {
		answer, failed := e.attempt(ctx, body, len(places))
		if failed == nil {
			for i, place := range places {
				vectors[place] = answer[i]
			}
			return nil
		}
		if ctx.Err() != nil {
			return host.Fail("embed.OpenAI.Embed", nil, ctx.Err())
		}
		causes = append(causes, failed)
		wait, again := backoff(attempt, failed)
		if !again {
			return host.Fail("embed.OpenAI.Embed", failed.problem, errors.Join(causes...))
		}
		if err := e.config.Sleep(ctx, wait); err != nil {
			return host.Fail("embed.OpenAI.Embed", nil, err)
		}
	}
}
