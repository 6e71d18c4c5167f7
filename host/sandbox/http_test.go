package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
)

// A sender is what Request.HTTP takes.
type sender = func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem)

// mirror tells in its answer what it was asked.
func mirror(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Date", "today")
	w.Header().Set("X-Shop", "货架 <7>")
	w.Header().Add("X-Twice", "one")
	w.Header().Add("X-Twice", "two")
	switch r.URL.Path {
	case "/empty":
		w.WriteHeader(http.StatusNoContent)
	case "/missing":
		http.Error(w, "no such shelf", http.StatusNotFound)
	case "/large":
		_, _ = w.Write(bytes.Repeat([]byte("large "), 50_000))
	default:
		fmt.Fprintf(w, "%s %s %q %q", r.Method, r.URL, r.Header.Get("X-Sku"), body)
	}
}

// send does what the reference host does with a request that it allows.
func send(ctx context.Context, request abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem) {
	req, err := http.NewRequestWithContext(ctx, request.Method, request.URL, bytes.NewReader(body))
	if err != nil {
		return abi.HTTPResponse{}, abi.NewProblem(abi.BadValue, "%v", err)
	}
	for name, value := range request.Headers {
		req.Header.Set(name, value)
	}
	answer, err := new(http.Client).Do(req)
	if err != nil {
		return abi.HTTPResponse{}, abi.NewProblem(abi.SystemFailure, "%v", err)
	}
	defer answer.Body.Close()
	response := abi.HTTPResponse{Status: answer.StatusCode, Headers: map[string]string{}}
	for name, values := range answer.Header {
		response.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	if response.Body, err = io.ReadAll(answer.Body); err != nil {
		return abi.HTTPResponse{}, abi.NewProblem(abi.SystemFailure, "%v", err)
	}
	return response, nil
}

func TestHTTPAnswersAreThoseOfTheReferenceHost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(mirror))
	defer server.Close()
	extism.SetLogLevel(extism.LogLevelTrace)
	wasm := sandboxtest.Build(t, "host/sandbox/testdata/pdk")
	ours := pdk(t, abi.Limits{})
	theirs := newPeerAs(t, wasm, extism.Manifest{AllowedHosts: []string{"127.0.0.1"}, Timeout: 60_000})
	for name, requests := range map[string]string{
		"get":                 `[{"url":"@/a?b=c"}]`,
		"a method and a body": `[{"url":"@/","method":"POST","body":"价格 8.5","headers":{"x-sku":"1001"}}]`,
		"no body":             `[{"url":"@/empty"}]`,
		"a status":            `[{"url":"@/missing","method":"DELETE"}]`,
		"a head":              `[{"url":"@/","method":"HEAD"}]`,
		"a large body":        `[{"url":"@/large"}]`,
		"one after another":   `[{"url":"@/missing"},{"url":"@/empty"},{"url":"@/x","method":"PUT","body":"x"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			input := []byte(strings.ReplaceAll(requests, "@", server.URL))
			got := ours.Call(context.Background(), sandbox.Request{Export: "fetch", Input: input, HTTP: send})
			compare(t, got, theirs.call(t, "fetch", input))
			if got.Problem != nil || !bytes.Contains(got.Output, []byte(`"x-twice":"one,two"`)) {
				t.Errorf("it gives %.300q %v", got.Output, got.Problem)
			}
		})
	}
}

// The reference host asks its list for the first host only.
func TestARedirectIsNotFollowedBehindTheGrant(t *testing.T) {
	var elsewhere string // the same server by a name that is not allowed
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, elsewhere, http.StatusFound)
			return
		}
		fmt.Fprint(w, "a secret")
	}))
	defer server.Close()
	elsewhere = strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/secret"
	m := fetchGuest()
	input := []byte(`{"url":"` + server.URL + `/"}`)
	want := newPeerAs(t, m.bytes(), extism.Manifest{AllowedHosts: []string{"127.0.0.1"}, Timeout: 60_000}).call(t, "body", input)
	if string(want.output) != "a secret" {
		t.Errorf("the reference gives %q %v", want.output, want.err)
	}
	var asked []string
	res := load(t, m, abi.Limits{}).Call(context.Background(), sandbox.Request{Export: "body", Input: input, HTTP: func(_ context.Context, r abi.HTTPRequest, _ []byte) (abi.HTTPResponse, *abi.Problem) {
		asked = append(asked, r.URL)
		return abi.HTTPResponse{Status: http.StatusFound, Headers: map[string]string{"location": elsewhere}}, nil
	}})
	if res.Problem != nil || len(res.Output) > 0 || len(asked) != 1 || asked[0] != server.URL+"/" {
		t.Errorf("%q were asked for, and it gives %q %v", asked, res.Output, res.Problem)
	}
}

// fetchGuest asks once with the JSON that is its input and puts out the body of
// the answer; its other exports tell more of it.
func fetchGuest() *module {
	m := newModule()
	imports := map[string]uint32{}
	for _, name := range []string{"http_request", "http_status_code", "http_headers", "input_offset", "length", "output_set", "alloc"} {
		s := sandbox.ExtismSignatures()[name]
		imports[name] = m.imported(env, name, s[0], s[1])
	}
	m.extra = slices.Concat([]byte{6}, vector(slices.Concat([]byte{1}, []byte{i64t, 1}, i64c(0), end)))
	call := func(name string) []byte { return callf(imports[name]) }
	ask := slices.Concat(call("input_offset"), i64c(0), call("http_request"), setG(0))
	out := slices.Concat(getG(0), getG(0), call("length"), call("output_set"))
	m.export("body", ask, out, i32c(0))
	m.export("headers", ask, call("http_headers"), setG(0), out, i32c(0))
	m.export("status", ask, call("http_status_code"))
	m.export("before", call("http_headers"), []byte{0xa7}, call("http_status_code"), i32add)
	m.export("empty body", call("input_offset"), i64c(1), call("alloc"), call("http_request"), drop, i32c(0))
	m.export("forever", loop(i64c(2), call("alloc"), i64c(0), call("http_request"), drop, branch(0)), i32c(0))
	return m
}

func TestAnHTTPRequestReachesWhoServesIt(t *testing.T) {
	m := load(t, fetchGuest(), abi.Limits{})
	for _, tt := range []struct {
		json string
		want abi.HTTPRequest
	}{
		{`{"url":"https://shop.example/"}`, abi.HTTPRequest{Method: "GET", URL: "https://shop.example/"}},
		{`{"url":"","method":"patch","headers":{"A":"b"},"more":1}`, abi.HTTPRequest{Method: "PATCH", Headers: map[string]string{"A": "b"}}},
		{`{}`, abi.HTTPRequest{Method: "GET"}},
	} {
		var got abi.HTTPRequest
		res := m.Call(context.Background(), sandbox.Request{Export: "body", Input: []byte(tt.json), HTTP: func(_ context.Context, r abi.HTTPRequest, body []byte) (abi.HTTPResponse, *abi.Problem) {
			if got = r; body != nil {
				t.Errorf("a body of %d bytes was sent", len(body))
			}
			return abi.HTTPResponse{Status: 200, Body: []byte("answer")}, nil
		}})
		if res.Problem != nil || string(res.Output) != "answer" || fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s was sent as %+v and gave %q %v", tt.json, got, res.Output, res.Problem)
		}
		if res.Usage.HostCalls != 1 {
			t.Errorf("%d host calls are counted", res.Usage.HostCalls)
		}
	}
}

func TestAnHTTPAnswerIsTold(t *testing.T) {
	m := load(t, fetchGuest(), abi.Limits{})
	answering := func(r abi.HTTPResponse) sender {
		return func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem) { return r, nil }
	}
	ask := func(export string, r abi.HTTPResponse) sandbox.Result {
		return m.Call(context.Background(), sandbox.Request{Export: export, Input: []byte("{}"), HTTP: answering(r)})
	}
	if got := ask("headers", abi.HTTPResponse{Status: 200, Headers: map[string]string{"b": "<2>", "a": "1"}}); string(got.Output) != `{"a":"1","b":"\u003c2\u003e"}` {
		t.Errorf("the headers are %q %v", got.Output, got.Problem)
	}
	if got := ask("headers", abi.HTTPResponse{Status: 200}); string(got.Output) != "{}" {
		t.Errorf("no headers are %q %v", got.Output, got.Problem)
	}
	if got := ask("status", abi.HTTPResponse{Status: 451}); got.Exit != 451 {
		t.Errorf("the status is %d", got.Exit)
	}
	for _, export := range []string{"body", "before"} {
		if got := ask(export, abi.HTTPResponse{Status: 204, Body: []byte{}}); got.Problem != nil || got.Exit != 0 || len(got.Output) > 0 {
			t.Errorf("%s gives %q, exit %d, %v", export, got.Output, got.Exit, got.Problem)
		}
	}
	var body []byte
	got := m.Call(context.Background(), sandbox.Request{Export: "empty body", Input: []byte("{}"), HTTP: func(_ context.Context, _ abi.HTTPRequest, b []byte) (abi.HTTPResponse, *abi.Problem) {
		body = b
		return abi.HTTPResponse{}, nil
	}})
	if got.Problem != nil || string(body) != "\x00" {
		t.Errorf("a body of a zero is %q %v", body, got.Problem)
	}
}

func TestAnHTTPRequestThatFailsEndsTheCall(t *testing.T) {
	m := load(t, fetchGuest(), abi.Limits{})
	refuse := func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem) {
		return abi.HTTPResponse{}, abi.NewProblem(abi.NotGranted, "127.0.0.1 is not public").WithHint("ask elsewhere")
	}
	huge := func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem) {
		return abi.HTTPResponse{Body: make([]byte, 40<<20)}, nil
	}
	most := func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem) {
		return abi.HTTPResponse{Body: make([]byte, abi.HostCallBytes+1)}, nil
	}
	for name, tt := range map[string]struct {
		export, input string
		send          sender
		want          abi.Code
		text          string
	}{
		"not granted":        {"body", "{}", nil, abi.NotGranted, "http capability"},
		"refused":            {"body", "{}", refuse, abi.NotGranted, "127.0.0.1 is not public"},
		"no JSON":            {"body", "GET /", refuse, abi.BadHostCall, "not the JSON of a request"},
		"no request":         {"body", "", refuse, abi.BadHostCall, "not the JSON of a request"},
		"another type":       {"body", `{"headers":["a"]}`, refuse, abi.BadHostCall, "headers"},
		"too much JSON":      {"body", `{"url":"` + strings.Repeat("x", 256<<10) + `"}`, refuse, abi.BadHostCall, "262144"},
		"deep JSON":          {"body", strings.Repeat("[", 10_001), refuse, abi.BadHostCall, "depth"},
		"a panic":            {"body", "{}", func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem) { panic("a secret") }, abi.HostBug, "http_request"},
		"more than memory":   {"body", "{}", huge, abi.OutOfMemory, "41943040 bytes"},
		"more than a quota":  {"body", "{}", most, abi.QuotaReached, "one call may move"},
		"bad blocks, always": {"forever", "{}", refuse, abi.BadHostCall, "not the JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			res := m.Call(context.Background(), sandbox.Request{Export: tt.export, Input: []byte(tt.input), HTTP: tt.send})
			wantProblem(t, res, tt.want, tt.text)
			if strings.Contains(res.Problem.Message, "a secret") || res.Output != nil {
				t.Errorf("it gives %q and says %q", res.Output, res.Problem.Message)
			}
			if name == "refused" && res.Problem.Hint != "ask elsewhere" {
				t.Errorf("the hint is %q", res.Problem.Hint)
			}
		})
	}
}

func TestAnHTTPRequestEndsWithItsCall(t *testing.T) {
	m := load(t, fetchGuest(), abi.Limits{})
	asked := make(chan struct{}, 1)
	wait := func(ctx context.Context, _ abi.HTTPRequest, _ []byte) (abi.HTTPResponse, *abi.Problem) {
		asked <- struct{}{}
		<-ctx.Done()
		return abi.HTTPResponse{Status: 200, Body: []byte("too late")}, nil
	}
	for reached, deadline := false, 50*time.Millisecond; !reached; deadline *= 2 {
		res := m.Call(context.Background(), sandbox.Request{Export: "body", Input: []byte("{}"), HTTP: wait, Deadline: deadline})
		wantProblem(t, res, abi.Deadline)
		reached = res.Usage.HostCalls == 1
	}
	<-asked
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-asked; cancel() }()
	wantProblem(t, m.Call(ctx, sandbox.Request{Export: "body", Input: []byte("{}"), HTTP: wait}), abi.Cancelled)
}

func TestAnAnswerIsNotFoundByTheNextCall(t *testing.T) {
	m := load(t, fetchGuest(), abi.Limits{})
	res := m.Call(context.Background(), sandbox.Request{Export: "status", Input: []byte("{}"), HTTP: func(context.Context, abi.HTTPRequest, []byte) (abi.HTTPResponse, *abi.Problem) {
		return abi.HTTPResponse{Status: 200, Headers: map[string]string{"set-cookie": "secret"}}, nil
	}})
	if res.Exit != 200 {
		t.Fatal(res.Problem)
	}
	if next := m.Call(context.Background(), sandbox.Request{Export: "before"}); next.Problem != nil || next.Exit != 0 {
		t.Errorf("the next call finds an answer: %d %v", next.Exit, next.Problem)
	}
}
