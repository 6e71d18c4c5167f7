package model

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of what an endpoint may send.
const (
	answerBytesMax = 16 << 20 // one answer as it comes over the wire; arguments of one call may be as long as a tool's input ceiling
	refusalBytes   = 64 << 10 // of the body of an error status
	quoteRunes     = 300      // of an endpoint's own words in one of our messages
)

// errTooLong ends an answer that is larger than answerBytesMax.
var errTooLong = fmt.Errorf("more than %d MiB", answerBytesMax>>20)

// newHTTPClient makes a client that shares nothing with the rest of the
// process: no proxy from the environment, no redirects, bounded headers. It
// has no time-out of its own; the silence of an exchange is bounded instead.
func newHTTPClient(proxy string) (*http.Client, error) {
	t := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // a compressed stream is held back until its blocks are full
	}
	if proxy != "" {
		u, err := url.Parse(proxy)
		if err != nil || u.Host == "" {
			return nil, errors.New("the proxy of the model cannot be read; give a URL such as http://proxy.example.com:3128")
		}
		t.Proxy = http.ProxyURL(u)
	}
	// A redirect would carry the conversation to a host that nobody named.
	keep := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: t, CheckRedirect: keep}, nil
}

// An exchange sends the one request of an attempt. It turns every failure into
// an outage and bounds what comes back.
type exchange struct {
	http    *http.Client
	silence *silence
	key     string
	now     func() time.Time
}

// Do is what the client library calls.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	x.silence.begin()
	resp, err := x.http.Do(req)
	x.silence.end()
	if err != nil {
		return nil, unreachable(req.Context(), err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, x.refused(resp)
	}
	resp.Body = &body{from: resp.Body, silence: x.silence, left: answerBytesMax}
	return resp, nil
}

// refused makes an outage of a status other than 200.
func (x *exchange) refused(resp *http.Response) *outage {
	from := &body{from: resp.Body, silence: x.silence, left: refusalBytes}
	said, _ := io.ReadAll(from) // what could be read is what there is to tell
	o := outageOfStatus(resp.StatusCode, quote(messageIn(said), x.key))
	o.after = retryAfter(resp.Header, x.now())
	o.problem.RetryAfterMS = o.after.Milliseconds()
	return o
}

// outageOfStatus says what an HTTP status means for us; said is in the
// endpoint's words, clean and short.
func outageOfStatus(status int, said string) *outage {
	if said != "" {
		said = ": " + said
	}
	o := &outage{retry: retryable(status)}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		o.problem = abi.NewProblem(abi.ModelUnauthorised, "the model refused the key (HTTP %d)%s", status, said).
			WithHint("check the key and what it may use")
	case status == http.StatusNotFound:
		o.problem = abi.NewProblem(abi.ModelRejected, "the endpoint does not know this address or model (HTTP 404)%s", said).
			WithHint("check the base URL and the name of the model")
	case status == http.StatusTooManyRequests:
		o.problem = abi.NewProblem(abi.ModelUnavailable, "the model takes no more requests for now (HTTP 429)%s", said).
			WithHint("try again later, or raise the quota of the key")
	case o.retry || status >= 500:
		o.problem = abi.NewProblem(abi.ModelUnavailable, "the model does not work for now (HTTP %d)%s", status, said).
			WithHint("try again later")
	case status >= 300 && status < 400:
		o.problem = abi.NewProblem(abi.ModelRejected, "the endpoint sent us elsewhere (HTTP %d)", status).
			WithHint("give the base URL that it redirects to")
	default:
		o.problem = abi.NewProblem(abi.ModelRejected, "the model refused the request (HTTP %d)%s", status, said)
	}
	return o
}

// unreachable makes an outage of a request that got no response.
func unreachable(ctx context.Context, err error) *outage {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the operator knows the URL
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return &outage{problem: abi.NewProblem(abi.ModelUnavailable, "the endpoint of the model is not who it says it is").
			WithHint("check the base URL and its certificate"), cause: err}
	}
	return &outage{problem: abi.NewProblem(abi.ModelUnavailable, "the model cannot be reached").
		WithHint("check the base URL and the network, or try again later"), retry: true, cause: err}
}

// messageIn finds the endpoint's message in the body of a refusal:
// {"error":{"message":…}}, {"error":…}, {"message":…}, {"detail":…} or text.
func messageIn(body []byte) string {
	var said struct{ Error, Message, Detail json.RawMessage }
	if json.Unmarshal(body, &said) != nil {
		return string(body)
	}
	var inner struct{ Message string }
	if json.Unmarshal(said.Error, &inner) == nil && inner.Message != "" {
		return inner.Message
	}
	for _, raw := range []json.RawMessage{said.Error, said.Message, said.Detail} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
	}
	return string(body)
}

// quote makes a stranger's words fit for one of our messages: one line, no
// control characters, short, and without the key, which some endpoints repeat.
func quote(text, key string) string {
	if key != "" {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > quoteRunes {
		text = string(r[:quoteRunes]) + "…"
	}
	return text
}

// A body is a response body of bounded length and bounded silence. Its text
// ends with a line end, which some endpoints forget after their last line.
type body struct {
	from    io.ReadCloser
	silence *silence
	left    int
	ended   bool
}

// Read reads on; it fails with errTooLong when the bound is reached.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case b.ended:
		return 0, io.EOF
	case b.left <= 0:
		return 0, errTooLong
	}
	b.silence.begin()
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.silence.end()
	b.left -= n
	if n == 0 && err == io.EOF {
		b.ended = true
		p[0] = '\n'
		return 1, nil
	}
	if err == io.EOF {
		err = nil // the next read comes here again
	}
	return n, err
}

// Close closes the response.
func (b *body) Close() error { return b.from.Close() }

// A silence ends an attempt whose endpoint says nothing for too long. Only
// time spent waiting for the endpoint counts, not time spent on what it said.
type silence struct {
	timer *time.Timer
	most  time.Duration
}

func newSilence(most time.Duration, cancel context.CancelCauseFunc) *silence {
	t := time.AfterFunc(most, func() { cancel(fmt.Errorf("the endpoint said nothing for %v", most)) })
	t.Stop()
	return &silence{timer: t, most: most}
}

func (s *silence) begin() { s.timer.Reset(s.most) }
func (s *silence) end()   { s.timer.Stop() }
