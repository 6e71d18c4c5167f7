package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// A vendor is an endpoint that answers with vectors of the texts' lengths, after what
// it is told to do first.
type vendor struct {
	*httptest.Server
	mu       sync.Mutex
	first    []http.HandlerFunc // guarded by mu
	requests []vendorRequest    // guarded by mu
	now      atomic.Int32       // requests under way
	most     atomic.Int32       // and the most there were
}

type vendorRequest struct {
	Model      string
	Input      []string
	Dimensions int
	Encoding   string `json:"encoding_format"`
	path, key  string
}

func newVendor(t *testing.T, first ...http.HandlerFunc) *vendor {
	v := &vendor{first: first}
	v.Server = httptest.NewServer(http.HandlerFunc(v.serve))
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) serve(w http.ResponseWriter, r *http.Request) {
	n := v.now.Add(1)
	defer v.now.Add(-1)
	for most := v.most.Load(); n > most && !v.most.CompareAndSwap(most, n); most = v.most.Load() {
	}
	var req vendorRequest
	json.NewDecoder(r.Body).Decode(&req)
	req.path, req.key = r.URL.Path, r.Header.Get("Authorization")
	v.mu.Lock()
	v.requests = append(v.requests, req)
	answer := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, vectorsOf(req.Input)) }
	if len(v.first) > 0 {
		answer, v.first = v.first[0], v.first[1:]
	}
	v.mu.Unlock()
	answer(w, r)
}

// vectorsOf answers in the wrong order, with the lengths of the texts: (length, 1).
func vectorsOf(texts []string) string {
	var items []string
	for i, text := range texts {
		items = append(items, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,1]}`, i, len(text)))
	}
	slices.Reverse(items)
	return `{"object":"list","data":[` + strings.Join(items, ",") + `],"usage":{"total_tokens":1}}`
}

func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// waits notes how long an embedder waits, and does not.
type waits struct {
	mu  sync.Mutex
	all []time.Duration // guarded by mu
}

func (w *waits) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
	return ctx.Err()
}

func embedder(t *testing.T, v *vendor, w *waits, change func(*OpenAIConfig)) *OpenAI {
	t.Helper()
	c := OpenAIConfig{BaseURL: v.URL + "/v1/", Model: "small", Dimensions: 2, Key: "sk-1", Client: v.Client(), Sleep: w.sleep,
		Now: func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }}
	if change != nil {
		change(&c)
	}
	e, err := NewOpenAI(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestVectorsComeInTheOrderOfTheTextsAndNormalised(t *testing.T) {
	v := newVendor(t)
	e := embedder(t, v, &waits{}, func(c *OpenAIConfig) { c.Batch = 2 })
	got, err := e.Embed(context.Background(), []string{"abc", "", "四", " \n", "a", "ab", "xxxx"})
	if err != nil {
		t.Fatal(err)
	}
	for i, length := range []float64{3, 0, 3, 0, 1, 2, 4} {
		if length == 0 {
			if got[i] != nil {
				t.Errorf("the blank text %d has a vector", i)
			}
			continue
		}
		want := []float64{length / math.Hypot(length, 1), 1 / math.Hypot(length, 1)}
		if len(got[i]) != 2 || math.Abs(float64(got[i][0])-want[0]) > 1e-6 || math.Abs(float64(got[i][1])-want[1]) > 1e-6 {
			t.Errorf("the vector of text %d is %v, want %v", i, got[i], want)
		}
	}
	if len(v.requests) != 3 {
		t.Errorf("5 texts went in %d requests of 2", len(v.requests))
	}
	for _, r := range v.requests {
		if r.path != "/v1/embeddings" || r.key != "Bearer sk-1" || r.Model != "small" || r.Encoding != "float" || r.Dimensions != 0 || len(r.Input) > 2 {
			t.Errorf("the request is %+v", r)
		}
	}
}

func TestTheEndpointIsAskedForALengthOnlyWhereToldTo(t *testing.T) {
	v := newVendor(t)
	e := embedder(t, v, &waits{}, func(c *OpenAIConfig) { c.Shorten, c.Key = true, "" })
	if _, err := e.Embed(context.Background(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if r := v.requests[0]; r.Dimensions != 2 || r.key != "" {
		t.Errorf("the request is %+v", r)
	}
}

func TestNothingIsAskedForBlankTexts(t *testing.T) {
	v := newVendor(t)
	got, err := embedder(t, v, &waits{}, nil).Embed(context.Background(), []string{"", " "})
	if err != nil || len(got) != 2 || len(v.requests) != 0 {
		t.Errorf("got %v, %v after %d requests", got, err, len(v.requests))
	}
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	v := newVendor(t)
	texts := slices.Repeat([]string{strings.Repeat("x", memory.MaxTextBytes)}, 20)
	if _, err := embedder(t, v, &waits{}, nil).Embed(context.Background(), texts); err != nil {
		t.Fatal(err)
	}
	if len(v.requests) != 2 {
		t.Errorf("20 texts of 16 KiB went in %d requests", len(v.requests))
	}
}

func TestFewRequestsAreUnderWayWhoeverAsks(t *testing.T) {
	v := newVendor(t)
	full := make(chan struct{})
	var came atomic.Int32
	for range requestsMax {
		v.first = append(v.first, func(w http.ResponseWriter, r *http.Request) {
			if came.Add(1) == requestsMax {
				close(full)
			}
			<-full // as many as may be are under way
			says(503, "")(w, r)
		})
	}
	e := embedder(t, v, &waits{}, func(c *OpenAIConfig) { c.Batch = 1 })
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := e.Embed(context.Background(), strings.Split("a b c d e f g h", " ")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most := v.most.Load(); most != requestsMax {
		t.Errorf("%d requests were under way at once", most)
	}
}

func TestAPassingFailureIsTriedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		first []http.HandlerFunc
		least []time.Duration
	}{
		"5xx":               {[]http.HandlerFunc{says(500, ""), says(502, "<html>"), says(504, "")}, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second}},
		"408":               {[]http.HandlerFunc{says(408, "")}, []time.Duration{0}},
		"429 with a number": {[]http.HandlerFunc{says(429, "", "Retry-After", "7")}, []time.Duration{7 * time.Second}},
		"429 with a date":   {[]http.HandlerFunc{says(429, "", "Retry-After", "Sun, 01 Mar 2026 09:00:30 GMT")}, []time.Duration{30 * time.Second}},
		"nonsense":          {[]http.HandlerFunc{says(429, "", "Retry-After", "-1e999")}, []time.Duration{0}},
		"cut off":           {[]http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}, []time.Duration{0}},
		"cut in the middle": {[]http.HandlerFunc{says(200, `{"data":`, "Content-Length", "100")}, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			v, w := newVendor(t, tt.first...), &waits{}
			got, err := embedder(t, v, w, nil).Embed(context.Background(), []string{"a"})
			if err != nil || got[0] == nil || len(w.all) != len(tt.first) {
				t.Fatalf("got %v, %v after the waits %v", got, err, w.all)
			}
			for i, least := range tt.least {
				if w.all[i] < least || w.all[i] > least+2*time.Second {
					t.Errorf("wait %d is %v", i, w.all[i])
				}
			}
		})
	}
}

func TestWhatDoesNotPassIsToldAtOnce(t *testing.T) {
	busy := says(503, `{"error":{"message":"over\nloaded"}}`)
	for name, tt := range map[string]struct {
		first []http.HandlerFunc
		tries int
		code  abi.Code
		says  string
	}{
		"busy for good":      {[]http.HandlerFunc{busy, busy, busy, busy}, 4, abi.ModelUnavailable, "HTTP 503): over loaded"},
		"come back tomorrow": {[]http.HandlerFunc{says(429, "", "Retry-After", "80000")}, 1, abi.ModelUnavailable, "429"},
		"a wrong key":        {[]http.HandlerFunc{says(401, `{"error":{"message":"wrong key sk-1"}}`)}, 1, abi.ModelUnauthorised, "wrong key [key]"},
		"a wrong address":    {[]http.HandlerFunc{says(404, "no")}, 1, abi.ModelRejected, "HTTP 404): no"},
		"a redirect":         {[]http.HandlerFunc{says(307, "", "Location", "/v1/embeddings")}, 1, abi.ModelRejected, "elsewhere"},
		"no JSON":            {[]http.HandlerFunc{says(200, "<html>")}, 1, abi.ModelRejected, "no list of vectors"},
		"too few":            {[]http.HandlerFunc{says(200, `{"data":[]}`)}, 1, abi.ModelRejected, "0 vectors for 1 texts"},
		"another length":     {[]http.HandlerFunc{says(200, `{"data":[{"index":0,"embedding":[1,2,3]}]}`)}, 1, abi.ModelRejected, "3 dimensions where 2 were promised"},
		"no index":           {[]http.HandlerFunc{says(200, `{"data":[{"embedding":[1,2]}]}`)}, 1, abi.ModelRejected, "index"},
		"another index":      {[]http.HandlerFunc{says(200, `{"data":[{"index":1,"embedding":[1,2]}]}`)}, 1, abi.ModelRejected, "index"},
		"zeros":              {[]http.HandlerFunc{says(200, `{"data":[{"index":0,"embedding":[0,0]}]}`)}, 1, abi.ModelRejected, "length 0"},
		"null":               {[]http.HandlerFunc{says(200, `{"data":[{"index":0,"embedding":[1,null]}]}`)}, 1, abi.ModelRejected, "null"},
		"too large a number": {[]http.HandlerFunc{says(200, `{"data":[{"index":0,"embedding":[1,1e99]}]}`)}, 1, abi.ModelRejected, "no list"},
		"too long":           {[]http.HandlerFunc{says(200, strings.Repeat(" ", answerBytes+4096))}, 1, abi.ModelRejected, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, tt.first...)
			got, err := embedder(t, v, &waits{}, nil).Embed(context.Background(), []string{"a"})
			if err == nil || got != nil {
				t.Fatalf("got %v", got)
			}
			p := host.ProblemOf(err)
			if p.Code != tt.code || !strings.Contains(p.Message, tt.says) || p.Hint == "" || strings.Contains(err.Error(), "sk-1") {
				t.Errorf("the error is %v", err)
			}
			if len(v.requests) != tt.tries {
				t.Errorf("it was asked %d times", len(v.requests))
			}
		})
	}
}

func TestAnIndexThatIsThereTwiceRefusesTheAnswer(t *testing.T) {
	v := newVendor(t, says(200, `{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`))
	if got, err := embedder(t, v, &waits{}, nil).Embed(context.Background(), []string{"a", "b"}); err == nil {
		t.Errorf("got %v", got)
	}
}

func TestOneBatchThatFailsIsAnErrorOfAll(t *testing.T) {
	v := newVendor(t, says(400, "no"))
	got, err := embedder(t, v, &waits{}, func(c *OpenAIConfig) { c.Batch = 1 }).Embed(context.Background(), slices.Repeat([]string{"a"}, 50))
	if err == nil || got != nil || host.ProblemOf(err).Code != abi.ModelRejected {
		t.Errorf("got %d vectors, %v", len(got), err)
	}
}

func TestWhoGivesUpIsNotTriedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	v := newVendor(t, func(w http.ResponseWriter, r *http.Request) { cancel(); says(503, "")(w, r) })
	_, err := embedder(t, v, &waits{}, nil).Embed(ctx, []string{"a"})
	if host.ProblemOf(err).Code != abi.Cancelled || len(v.requests) != 1 {
		t.Errorf("got %v after %d requests", err, len(v.requests))
	}
}

func TestAnEndpointThatSaysNothingIsGivenUp(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	slow := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"data":[`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	v, w := newVendor(t, silent, slow, silent, slow), &waits{}
	_, err := embedder(t, v, w, func(c *OpenAIConfig) { c.Timeout = 20 * time.Millisecond }).Embed(context.Background(), []string{"a"})
	if err == nil || host.ProblemOf(err).Code != abi.ModelUnavailable || len(w.all) != retriesMax {
		t.Errorf("got %v after the waits %v", err, w.all)
	}
}

func TestTextsBeyondTheBoundsAreRefused(t *testing.T) {
	v := newVendor(t)
	e := embedder(t, v, &waits{}, nil)
	for name, texts := range map[string][]string{"long": {"a", strings.Repeat("x", memory.MaxTextBytes+1)}, "many": make([]string, MaxTexts+1)} {
		if _, err := e.Embed(context.Background(), texts); err == nil || host.ProblemOf(err).Code != abi.InputLimit {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAKeyIsNeverPrinted(t *testing.T) {
	v := newVendor(t)
	e := embedder(t, v, &waits{}, nil)
	if text := fmt.Sprintf("%v %+v %#v %v %#v", e, e, e, e.config, e.config); strings.Contains(text, "sk-1") {
		t.Errorf("it prints %s", text)
	}
}

func TestSpecsAreReadOrRefusedWithAHint(t *testing.T) {
	env := func(name string) string { return map[string]string{"EMBED_KEY": "sk-1"}[name] }
	for spec, want := range map[string]string{
		"none": "none",
		"openai:https://api.example.com/v1?dimensions=512&key=EMBED_KEY#small":                 "openai:https://api.example.com/v1#small:512",
		"openai:http://127.0.0.1:8080?dimensions=8&key=EMBED_KEY&shorten=true&batch=9#BAAI/m3": "openai:http://127.0.0.1:8080#BAAI/m3:8",
		"openai:http://embed.internal/v1?dimensions=8#small":                                   "openai:http://embed.internal/v1#small:8",
	} {
		e, err := Open(spec, Settings{Getenv: env})
		if err != nil || e.Name() != want {
			t.Errorf("%s: got %v, %v", spec, e, err)
		}
	}
	for _, spec := range []string{
		"", "nothing", "none:x", "https://ann:secret@example.com", "openai", "openai:", "model2vec:", "model2vec", "openai:ftp://example.com?dimensions=8#m", "openai:https://?dimensions=8#m",
		"openai:https://example.com#m", "openai:https://example.com?dimensions=8", "openai:https://example.com?dimensions=0#m",
		"openai:https://example.com?dimensions=9000#m", "openai:https://example.com?dimensions=8&batch=5000#m", "openai:https://example.com?dimensions=x#m",
		"openai:https://example.com?dimensions=8&dimensions=9#m", "openai:https://example.com?dimensions=8&colour=red#m",
		"openai:https://example.com?dimensions=8&key=sk-secret#m", "openai:https://example.com?dimensions=8&key=NOT_SET#m",
		"openai:https://ann:secret@example.com?dimensions=8#m", "openai:http://example.com?dimensions=8&key=EMBED_KEY#m",
		"openai:https://exa mple.com/secret?dimensions=8#m", "openai:https://example.com?dimensions=8;x#m",
	} {
		e, err := Open(spec, Settings{Getenv: env})
		if err == nil || e != nil {
			t.Errorf("%q is taken", spec)
			continue
		}
		if p := host.ProblemOf(err); p.Hint == "" || p.Code != abi.BadValue || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

func TestNoneGivesNoVectors(t *testing.T) {
	got, err := None{}.Embed(context.Background(), []string{"a", "b"})
	if err != nil || len(got) != 2 || got[0] != nil || (None{}).Dimensions() != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzVectors(f *testing.F) {
	for _, seed := range []string{vectorsOf([]string{"a", "bb"}), `{"data":[]}`, `{"data":[{"index":0,"embedding":[1,null]},{}]}`, `{"data":null}`, `[`, `{"data":[{"index":1e3,"embedding":[1,1]}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		vectors, err := parseVectors(bytes.Clone(answer), 2, 2)
		if err != nil {
			return
		}
		for _, v := range vectors {
			if len(v) != 2 || math.Abs(math.Hypot(float64(v[0]), float64(v[1]))-1) > 1e-4 {
				t.Fatalf("%q gives %v", answer, vectors)
			}
		}
	})
}
