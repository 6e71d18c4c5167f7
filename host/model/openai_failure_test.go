package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
)

func TestOpenAITriesAgainAfterAPassingFailure(t *testing.T) {
	for name, tt := range map[string]struct {
		failures []http.HandlerFunc
		restarts int
	}{
		"500s":                     {[]http.HandlerFunc{status(500, ""), status(502, "<html>"), status(503, `{"error":"busy"}`)}, 0},
		"408, 429, 504":            {[]http.HandlerFunc{status(408, ""), status(429, ""), status(504, "")}, 0},
		"connection cut":           {[]http.HandlerFunc{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}, 0},
		"stream cut":               {[]http.HandlerFunc{stream(text("Hel"), "CUT")}, 1},
		"stream cut twice":         {[]http.HandlerFunc{stream(text("Hel"), "CUT"), stream(text("H"), "CUT")}, 2},
		"cut before any text":      {[]http.HandlerFunc{stream(calls(`{"index":0,"id":"a","function":{"name":"now"}}`), "CUT")}, 0},
		"end without a reason":     {[]http.HandlerFunc{stream(text("Hel"), done)}, 1},
		"an event that is cut":     {[]http.HandlerFunc{stream(text("Hel"), `{"choices":[{"ind`)}, 1},
		"error inside":             {[]http.HandlerFunc{stream(text("Hel"), `{"error":{"message":"overloaded","type":"server_error"}}`)}, 1},
		"error inside, 429":        {[]http.HandlerFunc{stream(`{"error":{"message":"slow down","code":429}}`)}, 0},
		"error beside":             {[]http.HandlerFunc{stream(`{"id":"x","error":{"message":"overloaded","code":"500"}}`)}, 0},
		"error in place of stream": {[]http.HandlerFunc{status(200, `{"error":{"message":"overloaded","type":"x"}}`, "Content-Type", "application/json")}, 0},
		"vendor out of machines":   {[]http.HandlerFunc{stream(text("Hel"), finish("insufficient_system_resource"), done)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, append(tt.failures, stream(hello...))...)
			w := &waiter{}
			said, restarts := "", 0
			reply, err := provider(t, v.URL, w).Complete(context.Background(), user("hi"), func(e Event) {
				if e.Restart {
					said, restarts = "", restarts+1
				}
				said += e.Text
			})
			if err != nil || reply.Text != "Hello" || said != "Hello" {
				t.Errorf("got %q, pieces %q, error %v", reply.Text, said, err)
			}
			if restarts != tt.restarts || v.requests() != len(tt.failures)+1 || len(w.waits) != len(tt.failures) {
				t.Errorf("got %d restarts, %d requests, waits %v", restarts, v.requests(), w.waits)
			}
		})
	}
}

func TestOpenAIGivesUpAfterThreeRetries(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	cut := newVendor(t, stream(text("Hel"), "CUT"))
	busy := newVendor(t, status(503, `{"error":{"message":"overloaded"}}`))
	for name, tt := range map[string]struct {
		url      string
		requests func() int
		code     abi.Code
		says     string
	}{
		"unreachable": {gone.URL, func() int { return 4 }, abi.ModelUnavailable, "cannot be reached"},
		"cut always":  {cut.URL, cut.requests, abi.ModelInterrupted, "in the middle"},
		"busy always": {busy.URL, busy.requests, abi.ModelUnavailable, "HTTP 503): overloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &waiter{}
			_, err := provider(t, tt.url, w).Complete(context.Background(), user("hi"), nil)
			p := wantCode(t, err, tt.code)
			if !strings.Contains(p.Message, tt.says) || p.Hint == "" {
				t.Errorf("the problem says %q with the hint %q", p.Message, p.Hint)
			}
			if tt.requests() != 4 || len(w.waits) != 3 {
				t.Errorf("%d requests with waits %v; want 4 and 3", tt.requests(), w.waits)
			}
			for i, wait := range w.waits {
				if full := 500 * time.Millisecond << i; wait < full/2 || wait > full {
					t.Errorf("wait %d is %v, not between %v and %v", i, wait, full/2, full)
				}
			}
			if n := strings.Count(err.Error(), tt.says); n < 4 {
				t.Errorf("the error tells %d of 4 reasons: %v", n, err)
			}
		})
	}
}

func TestOpenAIDoesNotRepeatWhatIsRefused(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		code   abi.Code
		says   string
	}{
		{400, `{"error":{"message":"context is too long","type":"invalid_request_error"}}`, abi.ModelRejected, "HTTP 400): context is too long"},
		{401, `{"error":{"message":"bad key ` + testKey + `\u0007\u001b[31m\u202e"}}`, abi.ModelUnauthorised, "HTTP 401): bad key [key][31m"},
		{403, `{"message":"not for you"}`, abi.ModelUnauthorised, "HTTP 403): not for you"},
		{404, `{"error":"model 'x' not found"}`, abi.ModelRejected, "HTTP 404): model 'x' not found"},
		{402, `Insufficient` + "\n\tBalance", abi.ModelRejected, "HTTP 402): Insufficient Balance"},
		{422, `{"detail":"no tools"}`, abi.ModelRejected, "HTTP 422): no tools"},
		{501, ``, abi.ModelUnavailable, "HTTP 501)"},
		{302, ``, abi.ModelRejected, "sent us elsewhere"},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			v := newVendor(t, status(tt.status, tt.body, "Location", "http://127.0.0.1:1/elsewhere"))
			w := &waiter{}
			_, err := provider(t, v.URL, w).Complete(context.Background(), user("hi"), nil)
			p := wantCode(t, err, tt.code)
			if !strings.Contains(p.Message, tt.says) {
				t.Errorf("the problem says %q, not %q", p.Message, tt.says)
			}
			if v.requests() != 1 || len(w.waits) > 0 {
				t.Errorf("%d requests and waits %v; want one request", v.requests(), w.waits)
			}
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("the key is in the error: %v", err)
			}
		})
	}
	t.Run("error inside the stream", func(t *testing.T) {
		v := newVendor(t, stream(`{"error":{"message":"bad `+testKey+`","code":400}}`))
		_, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), nil)
		wantCode(t, err, abi.ModelRejected)
		if v.requests() != 1 || strings.Contains(err.Error(), testKey) {
			t.Errorf("%d requests, error %v", v.requests(), err)
		}
	})
	t.Run("a certificate that nobody vouches for", func(t *testing.T) {
		v := httptest.NewUnstartedServer(http.NotFoundHandler())
		v.Config.ErrorLog = log.New(io.Discard, "", 0)
		v.StartTLS()
		defer v.Close()
		w := &waiter{}
		_, err := provider(t, v.URL, w).Complete(context.Background(), user("hi"), nil)
		if p := wantCode(t, err, abi.ModelUnavailable); len(w.waits) > 0 || !strings.Contains(p.Hint, "certificate") {
			t.Errorf("waits %v, hint %q", w.waits, p.Hint)
		}
	})
	t.Run("a request that cannot be written", func(t *testing.T) {
		v := newVendor(t, stream(hello...))
		req := user("hi")
		req.Tools = []Tool{{Name: "broken", Parameters: json.RawMessage(`{"type":`)}}
		_, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), req, nil)
		wantCode(t, err, abi.ModelRejected)
		if v.requests() != 0 {
			t.Errorf("%d requests were sent", v.requests())
		}
	})
}

func TestOpenAIWaitsAsLongAsItIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		header []string
		least  time.Duration
	}{
		"seconds":                 {[]string{"Retry-After", "7"}, 7 * time.Second},
		"fraction":                {[]string{"Retry-After", "1.5"}, 1500 * time.Millisecond},
		"date":                    {[]string{"Retry-After", "Thu, 02 Jan 2025 03:04:25 GMT"}, 20 * time.Second},
		"milliseconds go first":   {[]string{"Retry-After", "9", "Retry-After-Ms", "2500"}, 2500 * time.Millisecond},
		"a date that is past":     {[]string{"Retry-After", "Thu, 02 Jan 2025 03:00:00 GMT"}, 0},
		"negative":                {[]string{"Retry-After", "-3"}, 0},
		"not a number":            {[]string{"Retry-After", "NaN"}, 0},
		"nonsense":                {[]string{"Retry-After", "soon"}, 0},
		"nonsense then a seconds": {[]string{"Retry-After", "3", "Retry-After-Ms", "soon"}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, status(429, "", tt.header...), stream(hello...))
			w := &waiter{}
			if _, err := provider(t, v.URL, w).Complete(context.Background(), user("hi"), nil); err != nil {
				t.Fatal(err)
			}
			if len(w.waits) != 1 || w.waits[0] < tt.least+250*time.Millisecond || w.waits[0] > tt.least+500*time.Millisecond {
				t.Errorf("waited %v; want %v and up to half a second more", w.waits, tt.least)
			}
		})
	}
	for _, far := range []string{"3600", "1e300", "Thu, 02 Jan 2125 03:04:25 GMT"} {
		t.Run("far away: "+far, func(t *testing.T) {
			v := newVendor(t, status(503, "", "Retry-After", far))
			_, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), nil)
			if p := wantCode(t, err, abi.ModelUnavailable); p.RetryAfterMS < 3_600_000 || v.requests() != 1 {
				t.Errorf("retry after %d ms, %d requests; want at once told to come back in an hour or more", p.RetryAfterMS, v.requests())
			}
		})
	}
}

func TestOpenAIEndsWithItsContext(t *testing.T) {
	hang := func(events ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if len(events) > 0 {
				stream(events...)(w, r)
			}
			<-r.Context().Done()
		}
	}
	t.Run("inside a slow stream", func(t *testing.T) {
		v := newVendor(t, hang(text("Hel")))
		ctx, cancel := context.WithCancel(context.Background())
		_, err := provider(t, v.URL, &waiter{}).Complete(ctx, user("hi"), func(Event) { cancel() })
		wantCode(t, err, abi.Cancelled)
		if v.requests() != 1 {
			t.Errorf("%d requests; want no retry for nobody", v.requests())
		}
	})
	t.Run("before the first byte", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		v := newVendor(t, func(w http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
		_, err := provider(t, v.URL, &waiter{}).Complete(ctx, user("hi"), nil)
		wantCode(t, err, abi.Cancelled)
	})
	t.Run("during a wait", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		v := newVendor(t, func(w http.ResponseWriter, r *http.Request) { cancel(); w.WriteHeader(500) })
		p, err := NewOpenAI(OpenAIConfig{BaseURL: v.URL + "/v1", Model: "m"}) // the real sleep
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Complete(ctx, user("hi"), nil)
		wantCode(t, err, abi.Cancelled)
	})
	t.Run("at its deadline", func(t *testing.T) {
		v := newVendor(t, hang(text("Hel")))
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := provider(t, v.URL, &waiter{}).Complete(ctx, user("hi"), nil)
		wantCode(t, err, abi.Deadline)
	})
}

func TestOpenAIDoesNotWaitForSilence(t *testing.T) {
	for name, tt := range map[string]struct {
		events []string
		code   abi.Code
	}{
		"before the first byte": {nil, abi.ModelUnavailable},
		"between two pieces":    {[]string{text("Hel")}, abi.ModelInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, func(w http.ResponseWriter, r *http.Request) {
				if tt.events != nil {
					stream(tt.events...)(w, r)
				}
				<-r.Context().Done()
			})
			p, err := NewOpenAI(OpenAIConfig{BaseURL: v.URL + "/v1", Model: "m", IdleTimeout: 30 * time.Millisecond, Sleep: (&waiter{}).sleep})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Complete(context.Background(), user("hi"), nil)
			wantCode(t, err, tt.code)
			if !strings.Contains(err.Error(), "said nothing for 30ms") {
				t.Errorf("the error does not tell of the silence: %v", err)
			}
		})
	}
	t.Run("the time that the listener takes is not silence", func(t *testing.T) {
		s := newSilence(time.Hour, func(error) {})
		b := &body{from: io.NopCloser(strings.NewReader("abc")), silence: s, left: 10}
		if _, err := io.ReadAll(b); err != nil {
			t.Fatal(err)
		}
		if s.timer.Stop() {
			t.Error("the watch runs on after a read")
		}
	})
}

func TestOpenAIBoundsWhatTheVendorSends(t *testing.T) {
	var sent atomic.Int64
	flood := func(piece string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			sent.Store(0)
			for sent.Load() < 100<<20 {
				n, err := io.WriteString(w, piece)
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		}
	}
	long := strings.Repeat("x", 64<<10)
	for name, h := range map[string]http.HandlerFunc{
		"100 MB of text":         flood("data: " + text(long) + "\n\n"),
		"100 MB of arguments":    flood("data: " + calls(`{"index":0,"id":"a","function":{"name":"now","arguments":"`+long+`"}}`) + "\n\n"),
		"100 MB in one line":     flood(long),
		"100 MB of empty events": flood(strings.Repeat(": keep-alive\n\n", 4096)),
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, h)
			_, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), nil)
			p := wantCode(t, err, abi.ModelInterrupted)
			v.Close() // and with it the handler
			if v.requests() != 1 || sent.Load() >= 100<<20 || !strings.Contains(p.Message, "16 MiB") {
				t.Errorf("%d requests, %d bytes were sent, the problem says %q", v.requests(), sent.Load(), p.Message)
			}
		})
	}
	t.Run("65 calls", func(t *testing.T) {
		var deltas []string
		for i := range 65 {
			deltas = append(deltas, fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"now","arguments":"{}"}}`, i, i))
		}
		v := newVendor(t, stream(calls(strings.Join(deltas, ",")), finish("tool_calls"), done))
		_, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), nil)
		if p := wantCode(t, err, abi.ModelInterrupted); v.requests() != 1 || !strings.Contains(p.Message, "64 calls") {
			t.Errorf("%d requests, the problem says %q", v.requests(), p.Message)
		}
	})
	t.Run("a refusal of 100 MB", func(t *testing.T) {
		v := newVendor(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400); flood(long)(w, r) })
		_, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), nil)
		p := wantCode(t, err, abi.ModelRejected)
		v.Close()
		if len(p.Message) > 1000 || len(err.Error()) > 5000 || sent.Load() >= 100<<20 {
			t.Errorf("a message of %d bytes, an error of %d, %d bytes were sent", len(p.Message), len(err.Error()), sent.Load())
		}
	})
}

func TestBackoffIsCapped(t *testing.T) {
	for attempt := range 3 {
		if wait, again := backoff(attempt, &outage{retry: true}); !again || wait > backoffCap {
			t.Errorf("attempt %d: %v, %v", attempt, wait, again)
		}
	}
	if _, again := backoff(3, &outage{retry: true}); again {
		t.Error("there is a fourth retry")
	}
}
