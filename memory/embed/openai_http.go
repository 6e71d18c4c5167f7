package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of answers.
const (
	numberBytes  = 32       // of one number of a vector, with its comma and spaces
	vectorBytes  = 512      // around the numbers of one vector
	answerBytes  = 64 << 10 // around the vectors
	refusalBytes = 64 << 10 // of the body of an error status
	quoteRunes   = 300      // of an endpoint's own words in one of our messages
)

// The retry rule. Four attempts with waits up to 0.5, 1 and 2 s ride out a blip;
// longer waits come from the endpoint's own Retry-After only.
const (
	retriesMax    = 3
	backoffBase   = 500 * time.Millisecond
	retryAfterMax = 2 * time.Minute
)

// An outage is the failure of one attempt.
type outage struct {
	problem *abi.Problem
	retry   bool
	after   time.Duration // the endpoint's own word on when to come back
	cause   error         // may be nil
}

func (o *outage) Error() string {
	if o.cause == nil {
		return o.problem.Error()
	}
	return o.problem.Error() + ": " + o.cause.Error()
}

func (o *outage) Unwrap() error { return o.cause }

// body is the request for a batch.
func (e *OpenAI) body(texts []string, places []int) []byte {
	request := struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Encoding   string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{Model: e.config.Model, Encoding: "float"}
	for _, place := range places {
		request.Input = append(request.Input, texts[place])
	}
	if e.config.Shorten {
		request.Dimensions = e.config.Dimensions
	}
	body, err := json.Marshal(request)
	if err != nil {
		panic("BUG: texts that are no JSON: " + err.Error())
	}
	return body
}

// attempt asks once, and gives n vectors in the order of the texts.
func (e *OpenAI) attempt(ctx context.Context, body []byte, n int) ([][]float32, *outage) {
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.BaseURL+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, &outage{problem: badSpec("no request can be made to the embedder's address")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if e.config.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.config.Key)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, e.refused(resp)
	}
	most := int64(n)*(int64(e.config.Dimensions)*numberBytes+vectorBytes) + answerBytes
	said, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case int64(len(said)) > most:
		return nil, unpromised(fmt.Errorf("more than %d bytes", most))
	}
	vectors, err := parseVectors(said, n, e.config.Dimensions)
	if err != nil {
		return nil, unpromised(err)
	}
	return vectors, nil
}

// parseVectors reads an answer: n vectors of a length, each index once.
func parseVectors(answer []byte, n, dimensions int) ([][]float32, error) {
	var said struct {
		Data []struct {
			Index     *int    `json:"index"`
			Embedding numbers `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, fmt.Errorf("no list of vectors: %w", err)
	}
	if len(said.Data) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(said.Data), n)
	}
	vectors := make([][]float32, n)
	for _, item := range said.Data {
		switch {
		case item.Index == nil || *item.Index < 0 || *item.Index >= n || vectors[*item.Index] != nil:
			return nil, errors.New("an index that is missing, out of range or there twice")
		case len(item.Embedding) != dimensions:
			return nil, fmt.Errorf("a vector of %d dimensions where %d were promised", len(item.Embedding), dimensions)
		}
		if err := normalise(item.Embedding); err != nil {
			return nil, err
		}
		vectors[*item.Index] = item.Embedding
	}
	return vectors, nil
}

// numbers are a vector as JSON. One that holds null is none: it would be read as 0.
type numbers []float32

// UnmarshalJSON reads a list of numbers.
func (n *numbers) UnmarshalJSON(text []byte) error {
	if bytes.Contains(text, []byte("null")) {
		return errors.New("null in place of a number")
	}
	return json.Unmarshal(text, (*[]float32)(n))
}

// unpromised makes an outage of an answer that breaks a promise. The same again would
// be answered the same.
func unpromised(cause error) *outage {
	return &outage{cause: cause, problem: abi.NewProblem(abi.ModelRejected, "the embedder's answer is not what its settings promise: %v", cause).
		WithHint("check the dimensions and the model of the embedder's setting, and that the address is one of embeddings")}
}

// refused makes an outage of a status other than 200.
func (e *OpenAI) refused(resp *http.Response) *outage {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, refusalBytes)) // what could be read is what there is to tell
	said := quote(messageIn(body), e.config.Key)
	if said != "" {
		said = ": " + said
	}
	status := resp.StatusCode
	o := &outage{after: retryAfter(resp.Header, e.config.Now())}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		o.problem = abi.NewProblem(abi.ModelUnauthorised, "the embedder refused the key (HTTP %d)%s", status, said).WithHint("check the key and what it may use")
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500 && status != http.StatusNotImplemented:
		o.retry = true
		o.problem = abi.NewProblem(abi.ModelUnavailable, "the embedder does not answer for now (HTTP %d)%s", status, said).WithHint("try again later, or raise the quota of the key")
		o.problem.RetryAfterMS = o.after.Milliseconds()
	case status >= 300 && status < 400:
		o.problem = abi.NewProblem(abi.ModelRejected, "the embedder sent us elsewhere (HTTP %d)", status).WithHint("give the address that it redirects to")
	default:
		o.problem = abi.NewProblem(abi.ModelRejected, "the embedder refused the request (HTTP %d)%s", status, said).WithHint("check the address, the model and the dimensions of the embedder's setting")
	}
	return o
}

// unreachable makes an outage of an exchange that was cut off or never began.
func unreachable(err error) *outage {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the operator knows the URL
	}
	return &outage{cause: err, retry: true, problem: abi.NewProblem(abi.ModelUnavailable, "the embedder cannot be reached").
		WithHint("check its address, its certificate and the network, or try again later")}
}

// messageIn finds the endpoint's message in the body of a refusal.
func messageIn(body []byte) string {
	var said struct {
		Error   json.RawMessage
		Message string
	}
	if json.Unmarshal(body, &said) != nil {
		return string(body)
	}
	var inner struct{ Message string }
	if json.Unmarshal(said.Error, &inner) == nil && inner.Message != "" {
		return inner.Message
	}
	if said.Message != "" {
		return said.Message
	}
	return string(body)
}

// quote makes a stranger's words fit for one of our messages: one line, short, and
// without the key, which some endpoints repeat.
func quote(text, key string) string {
	if key != "" {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > quoteRunes {
		text = string(r[:quoteRunes]) + "…"
	}
	return text
}

// backoff says how long to wait before the attempt after this one (0 is the first),
// and whether there is one. Half of the wait is random, so that callers part; what the
// endpoint asks for comes on top.
func backoff(attempt int, o *outage) (wait time.Duration, again bool) {
	if !o.retry || attempt >= retriesMax || o.after > retryAfterMax {
		return 0, false
	}
	full := backoffBase << attempt
	return o.after + full/2 + rand.N(full/2+1), true
}

// retryAfter reads when the endpoint wants to be asked again, in seconds or as a date.
// Nonsense counts as nothing, and no more than a day is believed.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const day = 24 * time.Hour
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return time.Duration(min(s, day.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), day)
	}
	return 0
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
