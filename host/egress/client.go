package egress

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// maxDrainBytes of an answer that redirects are read, so that its connection
// can be kept. More is cheaper to cut off.
const maxDrainBytes = 4 << 10

// growStepBytes is the most that is set aside for a body on its server's word.
const growStepBytes = 1 << 20

// An exchange is one request of a guest with its redirects.
type exchange struct {
	client *Client
	call   *Call

	method  string
	target  target
	headers http.Header // the guest's, those that still go along
	body    []byte
	write   fingerprint // of the request as the guest made it
	key     string      // goes out with every hop that writes; empty for none
}

// Do sends one request of a guest and gives the whole answer, of any status. An
// empty method is GET. It ends with ctx, and at the client's own time-out.
//
// Problems: BadHostCall for a request that is malformed, NotGranted for what the
// policy does not open, here or after a redirect, ClosedAddress, QuotaReached
// for an answer or a chain of redirects that is too long, Deadline, Cancelled,
// and Unavailable for a server that cannot be reached or believed, and for a
// secret that is not there. The server may have acted on a request that ends
// with a problem; it knows the next try by its idempotency key.
func (c *Client) Do(ctx context.Context, call *Call, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	x, problem := c.begin(call, request, body)
	if problem != nil {
		return abi.HTTPResponse{}, problem
	}
	for hops := 0; ; hops++ {
		response, rule, problem := x.send(ctx)
		if problem != nil {
			return abi.HTTPResponse{}, problem
		}
		location, ok := redirection(response)
		if !ok || c.cfg.Redirects < 0 {
			return x.receive(ctx, response, rule)
		}
		drain(response)
		if hops == c.cfg.Redirects {
			return abi.HTTPResponse{}, abi.NewProblem(abi.QuotaReached, "%s redirected more than %d times", x.target.host, c.cfg.Redirects)
		}
		if problem := x.redirect(response.StatusCode, location); problem != nil {
			return abi.HTTPResponse{}, problem
		}
	}
}

func (c *Client) begin(call *Call, request abi.HTTPRequest, body []byte) (*exchange, *abi.Problem) {
	t, err := parseTarget(request.URL)
	if err != nil {
		return nil, abi.NewProblem(abi.BadHostCall, "the URL is not taken: %v", err).WithField("url")
	}
	headers, problem := guestHeaders(request.Headers, int(c.cfg.HeaderBytes))
	if problem != nil {
		return nil, problem
	}
	x := &exchange{client: c, call: call, method: strings.ToUpper(request.Method), target: t, headers: headers, body: body}
	if x.method == "" {
		x.method = http.MethodGet
	}
	if !slices.Contains(methods(), x.method) {
		return nil, abi.NewProblem(abi.BadHostCall, "%.20q is not a method that can be opened", x.method).WithField("method").WithCandidates(methods()...)
	}
	if writes(x.method) {
		x.write = fingerprintOf([]byte(x.method), []byte(t.url().String()), body)
		x.key = call.idempotencyKey(x.write)
	}
	return x, nil
}

// send makes one hop: it is authorised, gets what the host adds, and goes out.
func (x *exchange) send(ctx context.Context) (*http.Response, *rule, *abi.Problem) {
	rule, problem := x.call.Policy.authorise(x.method, x.target)
	if problem != nil {
		return nil, nil, problem
	}
	headers, problem := x.outgoing(rule)
	if problem != nil {
		return nil, nil, problem
	}
	request := (&http.Request{Method: x.method, URL: x.target.url(), Header: headers, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if len(x.body) > 0 {
		// With GetBody a kept connection that turns out to be closed is no failure.
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
		request.Body, _ = request.GetBody()
		request.ContentLength = int64(len(x.body))
	}
	response, err := x.client.transport.RoundTrip(request)
	if err != nil {
		return nil, nil, failure(ctx, x.target.host, err)
	}
	return response, rule, nil
}

// outgoing gives the headers of one hop: the guest's, then the host's over them.
func (x *exchange) outgoing(r *rule) (http.Header, *abi.Problem) {
	headers := x.headers.Clone()
	for name, value := range map[string]string{"User-Agent": userAgent, "Accept-Encoding": "identity"} {
		if headers[name] == nil {
			headers.Set(name, value)
		}
	}
	if x.key != "" && writes(x.method) && headers[idempotencyHeader] == nil {
		headers.Set(idempotencyHeader, x.key)
	}
	if r.auth == nil {
		return headers, nil
	}
	secret, ok := "", false
	if x.call.Secrets != nil {
		secret, ok = x.call.Secrets(r.auth.Secret)
	}
	if !ok || secret == "" || !validValue(secret) {
		return nil, abi.NewProblem(abi.Unavailable, "the secret %s is not set on this host, or is not one line of text", r.auth.Secret).
			WithHint("the operator has to set it")
	}
	headers.Set(r.auth.Header, r.auth.Prefix+secret)
	return headers, nil
}

// redirection gives where an answer leads, if it leads anywhere.
func redirection(response *http.Response) (location string, ok bool) {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		location = response.Header.Get("Location")
	}
	return location, location != ""
}

// redirect turns the exchange to where an answer leads. What it may send there
// is for the next hop to say.
func (x *exchange) redirect(status int, location string) *abi.Problem {
	next, err := x.target.follow(location)
	if err != nil {
		return abi.NewProblem(abi.NotGranted, "%s redirects to a URL that is not taken: %v", x.target.host, err)
	}
	if x.target.scheme == "https" && next.scheme == "http" {
		return abi.NewProblem(abi.NotGranted, "%s redirects from https to http, which is not followed", x.target.host)
	}
	if status < http.StatusTemporaryRedirect && x.method != http.MethodGet && x.method != http.MethodHead {
		x.method, x.body = http.MethodGet, nil
		x.headers.Del("Content-Type")
		x.headers.Del("Content-Language")
	}
	if !next.sameOrigin(x.target) {
		for name := range x.headers {
			if !travels(name) {
				x.headers.Del(name)
			}
		}
	}
	x.target = next
	return nil
}

// drain ends an answer whose body nobody reads.
func drain(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, maxDrainBytes)
	response.Body.Close()
}

// receive reads the answer that the guest gets.
func (x *exchange) receive(ctx context.Context, response *http.Response, r *rule) (abi.HTTPResponse, *abi.Problem) {
	defer response.Body.Close()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return abi.HTTPResponse{}, abi.NewProblem(abi.Unavailable, "%s switched to another protocol unasked", x.target.host)
	}
	body, problem := x.client.readBody(ctx, x.target.host, response)
	if problem != nil {
		return abi.HTTPResponse{}, problem
	}
	if x.key != "" && response.StatusCode/100 == 2 {
		x.call.succeeded(x.write)
	}
	return abi.HTTPResponse{Status: response.StatusCode, Headers: answerHeaders(response.Header, r.auth != nil), Body: body}, nil
}

// readBody reads up to the bound, and no further to learn that there is more.
func (c *Client) readBody(ctx context.Context, name string, response *http.Response) ([]byte, *abi.Problem) {
	most, said := int64(c.cfg.ResponseBytes), response.ContentLength
	if response.Body == http.NoBody {
		said = 0 // what HEAD would have
	}
	var body bytes.Buffer
	if 0 < said && said <= most {
		body.Grow(int(min(said, growStepBytes)) + bytes.MinRead)
	}
	if said <= most {
		if _, err := body.ReadFrom(io.LimitReader(response.Body, most+1)); err != nil {
			return nil, failure(ctx, name, err)
		}
	}
	if max(said, int64(body.Len())) > most {
		return nil, abi.NewProblem(abi.QuotaReached, "%s answers with more than %v", name, c.cfg.ResponseBytes).
			WithHint("ask for a part, or for less at a time")
	}
	return body.Bytes(), nil
}
