package server

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestWhatIsNotARequestIsRefusedWithAReason(t *testing.T) {
	c := serve(t, newServer(t, says("x"), Config{}))
	turns := c.newSession(`{}`)
	long := strings.Repeat("x", 129)
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     abi.Code
		says                     string
	}{
		{"no JSON", "POST", turns, `{"text":`, nil, 400, abi.NotJSON, "not JSON"},
		{"an empty body", "POST", "/v1/sessions", ``, nil, 400, abi.NotJSON, "one JSON object"},
		{"two values", "POST", turns, `{"text":"a"} {}`, nil, 400, abi.NotJSON, "more text"},
		{"a member twice", "POST", turns, `{"text":"a","text":"b"}`, nil, 400, abi.NotJSON, "twice"},
		{"deep nesting", "POST", turns, strings.Repeat("[", 5000), nil, 400, abi.NotJSON, "deeper"},
		{"text that is not UTF-8", "POST", turns, "{\"text\":\"\xff\"}", nil, 400, abi.NotJSON, "UTF-8"},
		{"a list", "POST", turns, `["text"]`, nil, 400, abi.WrongType, "object"},
		{"null", "POST", turns, `null`, nil, 400, abi.WrongType, "object"},
		{"a number as text", "POST", turns, `{"text":7}`, nil, 400, abi.WrongType, "number"},
		{"an unknown field", "POST", turns, `{"txt":"a"}`, nil, 400, abi.UnknownField, "did you mean text?"},
		{"a field in other letters", "POST", turns, `{"Text":"a"}`, nil, 400, abi.UnknownField, "did you mean text?"},
		{"a field like no other", "POST", "/v1/sessions", `{"zzzzzz":1}`, nil, 400, abi.UnknownField, "locale, live"},
		{"no text", "POST", turns, `{"id":"1"}`, nil, 400, abi.Missing, "no text"},
		{"more text than an input has", "POST", turns, `{"text":"` + strings.Repeat("x", 70_000) + `"}`, nil, 413, abi.InputLimit, "65536"},
		{"a body beyond the limit", "POST", turns, `{"text":"` + strings.Repeat("x", maxBodyBytes) + `"}`, nil, 413, abi.InputLimit, "1048576"},
		{"a long delivery id", "POST", turns, `{"text":"a","id":"` + long + `"}`, nil, 400, abi.BadValue, "129 bytes"},
		{"a delivery id with a newline", "POST", turns, `{"text":"a","id":"a\nb"}`, nil, 400, abi.BadValue, "control character"},
		{"a long live", "POST", "/v1/sessions", `{"live":"` + long + `"}`, nil, 400, abi.BadValue, "129 bytes"},
		{"a form", "POST", turns, `text=a`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, abi.BadArguments, "Content-Type: application/json"},
		{"plain text that is JSON", "POST", turns, `{"text":"a"}`, []string{"Content-Type", "text/plain"}, 415, abi.BadArguments, "text/plain"},
		{"a foreign host", "GET", "/v1/tools", ``, []string{"Host", "evil.example"}, 403, abi.NotAllowed, "evil.example"},
		{"a name that begins like ours", "POST", turns, `{"text":"a"}`, []string{"Host", "localhost.evil.example:80"}, 403, abi.NotAllowed, "Host"},
		{"an address of the network", "GET", "/healthz", ``, []string{"Host", "10.0.0.1"}, 403, abi.NotAllowed, "Host"},
		{"an unknown session", "POST", "/v1/sessions/session_0/turns", `{"text":"a"}`, nil, 404, abi.NotFound, "session_0"},
		{"a session id that cannot be", "POST", "/v1/sessions/a%00b/turns", `{"text":"a"}`, nil, 400, abi.BadValue, "control character"},
		{"another tenant", "POST", turns, `{"text":"a"}`, []string{HeaderTenant, "other"}, 404, abi.NotFound, "tenant other"},
		{"another user", "POST", turns, `{"text":"a"}`, []string{HeaderUser, "other"}, 404, abi.NotFound, "other of tenant local"},
		{"a long tenant", "POST", turns, `{"text":"a"}`, []string{HeaderTenant, long}, 400, abi.BadValue, HeaderTenant},
		{"a user that is not UTF-8", "POST", turns, `{"text":"a"}`, []string{HeaderUser, "\xff"}, 400, abi.BadValue, "UTF-8"},
		{"a wrong method", "GET", turns, ``, nil, 405, abi.BadArguments, "POST"},
		{"a preflight", "OPTIONS", turns, ``, []string{"Origin", "https://evil.example"}, 405, abi.BadArguments, "POST"},
		{"an unknown path", "GET", "/v2/sessions", ``, nil, 404, abi.NotFound, "/v1/sessions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := (&client{t: t, url: c.url}).with(tt.headers...)
			status, text := c.call(tt.method, tt.path, tt.body)
			f := failureIn(t, text)
			if status != tt.status || f.Problem.Code != int(tt.code) {
				t.Errorf("%d %s, want %d and code %d", status, text, tt.status, tt.code)
			}
			if all := f.Problem.Message + f.Problem.Hint; !strings.Contains(all, tt.says) {
				t.Errorf("%q does not say %q", all, tt.says)
			}
		})
	}
}

func TestNoOtherOriginIsAllowedToRead(t *testing.T) {
	c := serve(t, newServer(t, says("x"), Config{})).with("Origin", "https://evil.example")
	for name := range c.do(t.Context(), "GET", "/v1/tools", "").Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("the response has the header %s", name)
		}
	}
}

func TestAnIdentityIsGivenOnce(t *testing.T) {
	s := newServer(t, says("x"), Config{})
	r := httptest.NewRequest("POST", "http://localhost/v1/sessions", strings.NewReader(`{}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header[HeaderTenant] = []string{"a", "b"}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if f := failureIn(t, w.Body.String()); w.Code != http.StatusBadRequest || f.Problem.Code != int(abi.BadValue) {
		t.Errorf("two tenants = %d %s", w.Code, w.Body)
	}
}

func TestASessionIsFoundByTheTenantAndTheUserThatMadeIt(t *testing.T) {
	c := serve(t, newServer(t, says("Hi."), Config{})).with(HeaderTenant, "店铺", HeaderUser, "u1", "Accept", "application/json")
	if status, text := c.call("POST", c.newSession(`{}`), `{"text":"hi"}`); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}

func TestSessionIDsAreNeverTheSame(t *testing.T) {
	c := serve(t, newServer(t, says("x"), Config{}))
	seen := map[string]bool{}
	for range 20 {
		seen[c.newSession(`{}`)] = true
	}
	if len(seen) != 20 {
		t.Errorf("20 sessions have %d ids", len(seen))
	}
}

func TestLoopbackHostsAreServed(t *testing.T) {
	c := serve(t, newServer(t, says("x"), Config{}))
	for _, name := range []string{"localhost", "LocalHost:9", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:7700"} {
		if status, text := c.with("Host", name).call("GET", "/healthz", ""); status != http.StatusOK {
			t.Errorf("Host %s = %d %s", name, status, text)
		}
	}
}

func TestEveryCodeHasAStatusOfAFailure(t *testing.T) {
	for _, row := range abi.Codes() {
		if status := statusOf(row.Code); status < 400 || status > 599 || http.StatusText(status) == "" {
			t.Errorf("%d %s has status %d", row.Code, row.Name, status)
		}
	}
	for code, want := range map[abi.Code]int{
		abi.OutcomeUnknown: 409, abi.RedLine: 403, abi.SkillRefused + 7: 422, abi.NotFound: 404, abi.WrongType: 400,
		abi.StoreFailure: 503, abi.Deadline: 504, abi.ModelRejected: 502, abi.Trap: 500, 77: 500,
	} {
		if got := statusOf(code); got != want {
			t.Errorf("statusOf(%d) = %d, want %d", code, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"text":"a","id":"b"}`, `{"text":7}`, `[1]`, `null`, `{"text":"a"}{`, "\xff", `{"tex":""}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var body struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(text))
		refused := decode(r, &body)
		if refused == nil {
			return
		}
		codes := []abi.Code{abi.NotJSON, abi.WrongType, abi.UnknownField}
		if refused.status != http.StatusBadRequest || !slices.Contains(codes, refused.problem.Code) {
			t.Errorf("%q is refused with %d %v", text, refused.status, refused.problem)
		}
	})
}
