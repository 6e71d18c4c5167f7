package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

const testKey = "sk-secret-0123456789"

// A vendor is a remote model: it answers each request with the next handler,
// and with the last one for ever.
type vendor struct {
	*httptest.Server
	mu       sync.Mutex
	handlers []http.HandlerFunc
	bodies   []map[string]any // guarded by mu
	headers  []http.Header    // guarded by mu
}

func newVendor(t *testing.T, handlers ...http.HandlerFunc) *vendor {
	v := &vendor{handlers: handlers}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("the request's body is not JSON: %v", err)
		}
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v1/chat/completions") {
			t.Errorf("%s %s was asked for", r.Method, r.URL.Path)
		}
		v.mu.Lock()
		h := v.handlers[min(len(v.bodies), len(v.handlers)-1)]
		v.bodies, v.headers = append(v.bodies, body), append(v.headers, r.Header)
		v.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) requests() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.bodies)
}

// A waiter takes the place of the clock.
type waiter struct{ waits []time.Duration }

func (w *waiter) sleep(ctx context.Context, d time.Duration) error {
	w.waits = append(w.waits, d)
	return ctx.Err()
}

func provider(t *testing.T, url string, w *waiter) *OpenAI {
	t.Helper()
	p, err := NewOpenAI(OpenAIConfig{BaseURL: url + "/v1", Key: testKey, Model: "test-model", Sleep: w.sleep,
		Now: func() time.Time { return time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stream answers with events; "CUT" breaks the connection, a plain end closes
// it in good order.
func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			if e == "CUT" {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, "data: %s\n\n", e)
			w.(http.Flusher).Flush()
		}
	}
}

func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func text(s string) string {
	b, _ := json.Marshal(s)
	return `{"choices":[{"index":0,"delta":{"content":` + string(b) + `}}]}`
}

func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func calls(deltas string) string {
	return `{"choices":[{"index":0,"delta":{"tool_calls":[` + deltas + `]}}]}`
}

const done = "[DONE]"

var hello = []string{text("Hel"), text("lo"), finish("stop"), done}

func user(text string) Request {
	return Request{Messages: []Message{{Role: RoleUser, Text: text}}}
}

func wantCode(t *testing.T, err error, code abi.Code) *abi.Problem {
	t.Helper()
	var failed *host.Error
	if !errors.As(err, &failed) || failed.Problem.Code != code {
		t.Fatalf("error %v; want a host.Error with code %d", err, code)
	}
	return failed.Problem
}

func TestOpenAIStreamsAnAnswerAndCountsItsTokens(t *testing.T) {
	for name, tt := range map[string]struct {
		usage string
		want  Usage
	}{
		"OpenAI":   {`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}}`, Usage{100, 64, 7}},
		"DeepSeek": {`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_cache_hit_tokens":60,"prompt_cache_miss_tokens":40}}`, Usage{100, 60, 7}},
		"Kimi":     {`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":100,"completion_tokens":7,"cached_tokens":50}}]}`, Usage{100, 50, 7}},
		"nonsense": {`{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":7,"cached_tokens":50}}`, Usage{0, 0, 7}},
		"none":     {`{"choices":[],"usage":null}`, Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, stream(text("Hel"), text("lo"), finish("stop"), tt.usage, done))
			var pieces []Event
			reply, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), func(e Event) { pieces = append(pieces, e) })
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != "Hello" || reply.Finish != FinishStop || len(reply.Calls) > 0 || reply.Usage != tt.want {
				t.Errorf("got %+v, want Hello and %+v", reply, tt.want)
			}
			if !slices.Equal(pieces, []Event{{Text: "Hel"}, {Text: "lo"}}) {
				t.Errorf("got pieces %v", pieces)
			}
		})
	}
}

func TestOpenAISendsTheWholeRequest(t *testing.T) {
	v := newVendor(t, stream(hello...))
	req := Request{
		System: "be brief", MaxTokens: 500,
		Messages: []Message{
			{Role: RoleUser, Text: "hello"},
			{Role: RoleAssistant, Text: "hello", Reasoning: "of an earlier turn"},
			{Role: RoleUser, Text: "hi"},
			{Role: RoleAssistant, Reasoning: "hm", Calls: []Call{
				{ID: "c1", Tool: "shop.pricing.quote", Args: `{"sku":"1001"}`},
				{ID: "c2", Tool: "gone.tool", Args: `{"sku":"10`, CutOff: true}}},
			{Role: RoleTool, CallID: "c1", Tool: "shop.pricing.quote", Text: `{"price":89}`, OK: true},
			{Role: RoleTool, CallID: "c2", Tool: "gone.tool"},
		},
		Tools: []Tool{
			{Name: "shop.pricing.quote", Description: "Quote.", Parameters: json.RawMessage(`{"type":"object","properties":{"sku":{"type":"string"}}}`)},
			{Name: "now"},
		},
	}
	if _, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), req, nil); err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(v.bodies[0])
	want := `{"max_tokens":500,"messages":[{"content":"be brief","role":"system"},{"content":"hello","role":"user"},
		{"content":"hello","role":"assistant"},{"content":"hi","role":"user"},
		{"reasoning_content":"hm","role":"assistant","tool_calls":[
			{"function":{"arguments":"{\"sku\":\"1001\"}","name":"shop_pricing_quote"},"id":"c1","type":"function"},
			{"function":{"arguments":"{}","name":"gone_tool"},"id":"c2","type":"function"}]},
		{"content":"{\"price\":89}","role":"tool","tool_call_id":"c1"},{"content":"(empty)","role":"tool","tool_call_id":"c2"}],
		"model":"test-model","stream":true,"stream_options":{"include_usage":true},"tools":[
			{"function":{"description":"Quote.","name":"shop_pricing_quote","parameters":{"properties":{"sku":{"type":"string"}},"type":"object"}},"type":"function"},
			{"function":{"name":"now","parameters":{"properties":{},"type":"object"}},"type":"function"}]}`
	if canonical(t, string(got)) != canonical(t, want) {
		t.Errorf("got  %s\nwant %s", got, canonical(t, want))
	}
	if got := v.headers[0].Get("Authorization"); got != "Bearer "+testKey {
		t.Errorf("the key was sent as %q", got)
	}
}

// TestOpenAITellsTheHintBehindTheLastMessage: not as a message of its own, and
// nowhere before it.
func TestOpenAITellsTheHintBehindTheLastMessage(t *testing.T) {
	v := newVendor(t, stream(hello...))
	calls := Message{Role: RoleAssistant, Calls: []Call{{ID: "c1", Tool: "quote", Args: "{}"}}}
	for _, tt := range []struct {
		messages []Message
		want     string
	}{
		{[]Message{{Role: RoleUser, Text: "a"}}, "a\n\nthe hint"},
		{[]Message{{Role: RoleUser, Text: "a"}, calls, {Role: RoleTool, CallID: "c1", Text: "89"}}, "89\n\nthe hint"},
	} {
		if _, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), Request{Messages: tt.messages, Hint: "the hint"}, nil); err != nil {
			t.Fatal(err)
		}
		sent, _ := v.bodies[v.requests()-1]["messages"].([]any)
		if len(sent) != len(tt.messages) {
			t.Fatalf("%d messages were sent of %d", len(sent), len(tt.messages))
		}
		for i, m := range sent {
			content, _ := m.(map[string]any)["content"].(string)
			if last := i == len(sent)-1; last != strings.Contains(content, "the hint") || last && content != tt.want {
				t.Errorf("message %d of %d is %q", i, len(sent), content)
			}
		}
		if strings.Contains(tt.messages[len(tt.messages)-1].Text, "hint") {
			t.Error("the caller's message was changed")
		}
	}
}

func canonical(t *testing.T, raw string) string {
	t.Helper()
	b, err := host.Canonical([]byte(raw))
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return string(b)
}

func TestOpenAIPutsCallsTogetherWhateverTheVendorsWay(t *testing.T) {
	quote := Call{Tool: "shop.quote", Args: `{"sku":"1001"}`}
	for _, tt := range []struct {
		name   string
		events []string
		finish string
		want   []Call // an id that is empty here must have been made
	}{
		{"in pieces by index", []string{
			calls(`{"index":0,"id":"a","function":{"name":"shop_quote","arguments":""}}`),
			calls(`{"index":1,"id":"b","function":{"name":"shop_quote","arguments":"{\"sku\":"}}`),
			calls(`{"index":0,"function":{"arguments":"{\"sku\":\"1001\"}"}}`),
			calls(`{"index":1,"function":{"arguments":"\"1002\"}"}}`),
		}, "tool_calls", []Call{{"a", "shop.quote", `{"sku":"1001"}`, false}, {"b", "shop.quote", `{"sku":"1002"}`, false}}},
		{"whole and without index or id", []string{
			calls(`{"function":{"name":"shop_quote","arguments":"{\"sku\":\"1001\"}"}},{"function":{"name":"shop_quote","arguments":"{\"sku\":\"1002\"}"}}`),
		}, "tool_calls", []Call{quote, {"", "shop.quote", `{"sku":"1002"}`, false}}},
		{"without index, id with every piece", []string{
			calls(`{"id":"a","function":{"name":"shop_quote","arguments":"{\"sku\""}}`),
			calls(`{"id":"a","function":{"name":"shop_quote","arguments":":\"1001\"}"}}`),
			calls(`{"id":"b","function":{"name":"now","arguments":"{}"}}`),
		}, "tool_calls", []Call{{"a", "shop.quote", `{"sku":"1001"}`, false}, {"b", "now", `{}`, false}}},
		{"index 0 for every call", []string{
			calls(`{"index":0,"id":"a","function":{"name":"shop_quote","arguments":"{\"sku\":\"1001\"}"}}`),
			calls(`{"index":0,"id":"b","function":{"name":"shop_quote","arguments":"{\"sku\":\"1002\"}"}}`),
		}, "tool_calls", []Call{{"a", "shop.quote", `{"sku":"1001"}`, false}, {"b", "shop.quote", `{"sku":"1002"}`, false}}},
		{"the same id for two calls", []string{
			calls(`{"index":0,"id":"a","function":{"name":"shop_quote","arguments":"{\"sku\":\"1001\"}"}}`),
			calls(`{"index":1,"id":"a","function":{"name":"now","arguments":"{}"}}`),
		}, "tool_calls", []Call{{"a", "shop.quote", `{"sku":"1001"}`, false}, {"", "now", `{}`, false}}},
		{"a new id with every piece", []string{
			calls(`{"index":0,"id":"a","function":{"name":"shop_quote","arguments":"{\"sku\":"}}`),
			calls(`{"index":0,"id":"b","function":{"arguments":"\"1001\"}"}}`),
		}, "tool_calls", []Call{{"a", "shop.quote", `{"sku":"1001"}`, false}}},
		{"name after the id", []string{
			calls(`{"index":0,"id":"a","function":{}}`),
			calls(`{"index":0,"function":{"name":"now"}}`),
			calls(`{"index":0,"function":{"arguments":"{}"}}`),
		}, "tool_calls", []Call{{"a", "now", `{}`, false}}},
		{"two names without arguments, index or id", []string{
			calls(`{"function":{"name":"now"}},{"function":{"name":"later"}}`),
		}, "tool_calls", []Call{{"", "now", "", false}, {"", "later", "", false}}},
		{"arguments as an object", []string{
			calls(`{"index":0,"id":"a","function":{"name":"shop_quote","arguments":{"sku":"1001"}}}`),
		}, "tool_calls", []Call{{"a", "shop.quote", `{"sku":"1001"}`, false}}},
		{"null where nothing is", []string{
			`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":null},"finish_reason":null}],"usage":null,"error":null}`,
			calls(`{"index":0,"id":"a","function":{"name":"now","arguments":null}}`),
		}, "tool_calls", []Call{{"a", "now", "", false}}},
		{"finish stop with calls", []string{
			calls(`{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}`),
		}, "stop", []Call{{"a", "now", `{}`, false}}},
		{"a tool that does not exist", []string{
			calls(`{"index":0,"id":"a","function":{"name":"shop_delete.all","arguments":"{}"}}`),
		}, "tool_calls", []Call{{"a", "shop_delete.all", `{}`, false}}},
		{"arguments that are not JSON, whole", []string{
			calls(`{"index":0,"id":"a","function":{"name":"now","arguments":"{oops"}}`),
		}, "tool_calls", []Call{{"a", "now", `{oops`, false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVendor(t, stream(append(tt.events, finish(tt.finish), done)...))
			req := user("hi")
			req.Tools = []Tool{{Name: "shop.quote"}, {Name: "now"}, {Name: "later"}}
			reply, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantCalls(t, reply, tt.want, FinishCalls)
		})
	}
}

// wantCalls compares calls; an empty id in want stands for one that was made.
func wantCalls(t *testing.T, reply Reply, want []Call, finish Finish) {
	t.Helper()
	seen := map[string]bool{}
	for i := range reply.Calls {
		id := reply.Calls[i].ID
		if id == "" || seen[id] {
			t.Errorf("call %d has the id %q, which is empty or not its own", i, id)
		}
		seen[id] = true
		if i < len(want) && want[i].ID == "" {
			reply.Calls[i].ID = ""
		}
	}
	if !slices.Equal(reply.Calls, want) || reply.Finish != finish {
		t.Errorf("got %+v and %s\nwant %+v and %s", reply.Calls, reply.Finish, want, finish)
	}
}

func TestOpenAIMarksCallsThatWereCutOff(t *testing.T) {
	whole := `{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}`
	for _, tt := range []struct {
		name, last, finish string
		want               Finish
		cut                bool
	}{
		{"inside the arguments", `{\"sku\":\"10`, "length", FinishLength, true},
		{"before the arguments", ``, "length", FinishLength, true},
		{"after the arguments", `{\"sku\":\"1001\"}`, "length", FinishLength, false},
		{"by the filter", `{\"sku\":\"10`, "content_filter", FinishFilter, true},
		{"for a reason of the vendor's own", `{\"sku\":\"10`, "budget", FinishLength, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVendor(t, stream(text("I will "), calls(whole), calls(`{"index":1,"id":"b","function":{"name":"quote","arguments":"`+tt.last+`"}}`), finish(tt.finish), done))
			reply, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(reply.Calls) != 2 || reply.Calls[0].CutOff || reply.Calls[1].CutOff != tt.cut || reply.Finish != tt.want {
				t.Errorf("got %+v and %s; want the second cut off: %v", reply.Calls, reply.Finish, tt.cut)
			}
		})
	}
}

func TestOpenAIKeepsTheThoughtsApart(t *testing.T) {
	v := newVendor(t, stream(`{"choices":[{"index":0,"delta":{"reasoning_content":"let me see"}}]}`, text("yes"), finish("stop"), done))
	var pieces []Event
	reply, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), func(e Event) { pieces = append(pieces, e) })
	if err != nil || reply.Text != "yes" || reply.Reasoning != "let me see" || len(pieces) != 1 {
		t.Errorf("got %+v, pieces %v, error %v", reply, pieces, err)
	}
	if m := reply.Message(); m.Reasoning != "let me see" || m.Role != RoleAssistant {
		t.Errorf("the message to store is %+v", m)
	}
}

func TestOpenAIReadsStreamsOfEveryDialect(t *testing.T) {
	raw := func(body string) http.HandlerFunc { return status(200, body, "Content-Type", "text/event-stream") }
	for name, h := range map[string]http.HandlerFunc{
		"keep-alive comments":    raw(strings.Repeat(": keep-alive\n\n", 2000) + "data: " + text("Hello") + "\n\ndata: " + finish("stop") + "\n\ndata: [DONE]\n\n"),
		"no space, CRLF":         raw("data:" + text("Hello") + "\r\n\r\ndata:" + finish("stop") + "\r\n\r\ndata:[DONE]\r\n\r\n"),
		"event names, empty":     raw("event: message\nid: 1\ndata: " + text("Hello") + "\n\ndata:\n\ndata: " + finish("stop") + "\n\n"),
		"no DONE":                stream(text("Hello"), finish("stop")),
		"no line end at the end": raw("data: " + text("Hello") + "\n\ndata: " + finish("stop")),
		"cut after the end":      stream(text("Hello"), finish("stop"), "CUT"),
		"junk after the end":     stream(text("Hello"), finish("stop"), "junk"),
		"finish with the text":   stream(`{"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"eos"}]}`, done),
		"other choices":          stream(`{"choices":[{"index":1,"delta":{"content":"No"},"finish_reason":"stop"}]}`, text("Hello"), finish("stop"), done),
		"refusal":                stream(`{"choices":[{"index":0,"delta":{"refusal":"Hello"}}]}`, finish("stop"), done),
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, h)
			reply, err := provider(t, v.URL, &waiter{}).Complete(context.Background(), user("hi"), nil)
			if err != nil || reply.Text != "Hello" || reply.Finish != FinishStop || v.requests() != 1 {
				t.Errorf("got %+v after %d requests, error %v", reply, v.requests(), err)
			}
		})
	}
}

func TestOpenAINamesToolsAsVendorsWantThem(t *testing.T) {
	long := strings.Repeat("very_long.", 12)
	tools := []Tool{{Name: "a.b"}, {Name: "a_b"}, {Name: "a-b"}, {Name: "价格.quote"}, {Name: "1st"}, {Name: long + "x"}, {Name: long + "y"}}
	names := newWireNames(tools)
	seen := map[string]string{}
	for _, tool := range tools {
		wire := names.wire(tool.Name)
		if other, taken := seen[wire]; taken {
			t.Errorf("%q and %q are both %q", tool.Name, other, wire)
		}
		seen[wire] = tool.Name
		if names.own(wire) != tool.Name {
			t.Errorf("%q comes back as %q", tool.Name, names.own(wire))
		}
		if len(wire) > 64 || !isLetter(wire[0]) || strings.ContainsFunc(wire, func(r rune) bool { return r >= 0x80 || !isWordByte(byte(r)) && r != '-' }) {
			t.Errorf("%q became %q, which vendors refuse", tool.Name, wire)
		}
		if again := newWireNames(tools).wire(tool.Name); again != wire {
			t.Errorf("%q is %q and then %q", tool.Name, wire, again)
		}
	}
}

func TestOpenAISetsTheTokenLimitThatTheModelKnows(t *testing.T) {
	for model, field := range map[string]string{"deepseek-chat": "max_tokens", "gpt-4o": "max_tokens", "o3-mini": "max_completion_tokens", "gpt-5-nano": "max_completion_tokens"} {
		v := newVendor(t, stream(hello...))
		p, err := NewOpenAI(OpenAIConfig{BaseURL: v.URL + "/v1/", Model: model, ReasoningEffort: "low"})
		if err != nil {
			t.Fatal(err)
		}
		req := user("hi")
		req.MaxTokens = 300
		if _, err := p.Complete(context.Background(), req, nil); err != nil {
			t.Fatal(err)
		}
		if got := v.bodies[0]; got[field] != 300.0 || got["max_tokens"] != nil && got["max_completion_tokens"] != nil || got["reasoning_effort"] != "low" {
			t.Errorf("%s was asked with %v", model, got)
		}
		if got := v.headers[0].Get("Authorization"); got != "" {
			t.Errorf("without a key, Authorization %q was sent", got)
		}
	}
}

func TestOpenAIGoesThroughTheProxyThatItIsGivenAndNoOther(t *testing.T) {
	v := newVendor(t, stream(hello...))
	p, err := NewOpenAI(OpenAIConfig{BaseURL: "http://model.invalid/v1", Model: "m", Proxy: v.URL})
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := p.Complete(context.Background(), user("hi"), nil); err != nil || reply.Text != "Hello" {
		t.Errorf("through the proxy: %+v, %v", reply, err)
	}
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	client, err := newHTTPClient("")
	if err != nil {
		t.Fatal(err)
	}
	if client.Transport.(*http.Transport).Proxy != nil || client.Transport == http.DefaultTransport {
		t.Error("the client takes a proxy from the environment or is shared")
	}
}

func TestOpenAIRefusesASettingThatCannotWork(t *testing.T) {
	for _, tt := range []struct {
		config OpenAIConfig
		says   string
	}{
		{OpenAIConfig{}, "http or https"},
		{OpenAIConfig{BaseURL: "ftp://x/v1", Model: "m"}, "http or https"},
		{OpenAIConfig{BaseURL: "api.openai.com/v1", Model: "m"}, "http or https"},
		{OpenAIConfig{BaseURL: "https://me:" + testKey + "@x/v1", Model: "m"}, "must not hold a user"},
		{OpenAIConfig{BaseURL: "https://x/v1?key=" + testKey, Model: "m"}, "must not hold a user"},
		{OpenAIConfig{BaseURL: "https://x/\x00v1" + testKey, Model: "m"}, "cannot be read"},
		{OpenAIConfig{BaseURL: "https://x/v1"}, "no name"},
		{OpenAIConfig{BaseURL: "https://x/v1", Model: "m", Key: testKey + "\n"}, "line end"},
		{OpenAIConfig{BaseURL: "https://x/v1", Model: "m", IdleTimeout: -1}, "negative"},
		{OpenAIConfig{BaseURL: "https://x/v1", Model: "m", Proxy: "nowhere"}, "proxy"},
	} {
		_, err := NewOpenAI(tt.config)
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), testKey) {
			t.Errorf("%v: error %v; want one with %q and without the key", tt.config, err, tt.says)
		}
	}
}

func TestOpenAINeverPrintsItsKey(t *testing.T) {
	p := provider(t, "http://127.0.0.1:1", &waiter{})
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{p, p.config} {
			if got := fmt.Sprintf(format, v); strings.Contains(got, testKey) {
				t.Errorf("%s prints the key: %s", format, got)
			}
		}
	}
}

func TestOpenAIServesManyAtOnce(t *testing.T) {
	v := newVendor(t, stream(hello...))
	p := provider(t, v.URL, &waiter{})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if reply, err := p.Complete(context.Background(), user("hi"), nil); err != nil || reply.Text != "Hello" {
				t.Errorf("got %+v, error %v", reply, err)
			}
		})
	}
	all.Wait()
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(text("a") + "\n" + finish("stop")))
	f.Add([]byte(calls(`{"function":{"name":"a","arguments":{}}},{"function":{"name":"a","arguments":"{}"}}`)))
	f.Add([]byte(`{"error":{"code":"x"}}`))
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"index":-1}]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := newAnswer(func(Event) {})
		lines := strings.Split(string(data), "\n")
		failed := a.read(context.Background(), func() ([]byte, error) {
			if len(lines) == 0 {
				return nil, io.EOF
			}
			line := lines[0]
			lines = lines[1:]
			return []byte(line), nil
		}, testKey)
		if failed != nil {
			return
		}
		reply := a.reply(newWireNames(nil))
		ids := map[string]bool{}
		for _, c := range reply.Calls {
			if c.ID == "" || ids[c.ID] {
				t.Fatalf("a call without an id of its own: %+v", reply.Calls)
			}
			ids[c.ID] = true
		}
	})
}

func FuzzQuote(f *testing.F) {
	f.Add([]byte("a\x00b"), "k")
	f.Add([]byte(`{"error":{"message":"m"}}`), testKey)
	f.Fuzz(func(t *testing.T, body []byte, key string) {
		got := quote(messageIn(body), key)
		if n := len([]rune(got)); n > quoteRunes+1 {
			t.Fatalf("%d characters", n)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' }) {
			t.Fatalf("control characters in %q", got)
		}
	})
}
