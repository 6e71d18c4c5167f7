package egress_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/egress"
)

var everything = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// open is the policy of a skill that may use the shop below /api/, with a
// credential over https, and the other shop.
func open(t testing.TB) *egress.Policy {
	t.Helper()
	policy, err := egress.Compile([]abi.HTTPRule{
		{Host: "http://allowed.example.com", Methods: everything, Paths: []string{"/api/*"}},
		{Host: "https://example.com", Methods: everything, Paths: []string{"/api/*"}, Auth: &abi.HTTPAuth{Secret: "SHOP_TOKEN", Header: "Authorization", Prefix: "Bearer "}},
		{Host: "http://other.example.com", Methods: everything, Paths: []string{"/api/*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func secrets(name string) (string, bool) { return "hush", name == "SHOP_TOKEN" }

func call(t testing.TB) *egress.Call {
	return &egress.Call{Policy: open(t), Secrets: secrets, Key: "k1"}
}

func do(t testing.TB, c *egress.Client, call *egress.Call, method, url, body string, headers map[string]string) (abi.HTTPResponse, *abi.Problem) {
	t.Helper()
	return c.Do(t.Context(), call, abi.HTTPRequest{Method: method, URL: url, Headers: headers}, []byte(body))
}

func mustDo(t testing.TB, c *egress.Client, call *egress.Call, method, url, body string, headers map[string]string) abi.HTTPResponse {
	t.Helper()
	response, problem := do(t, c, call, method, url, body, headers)
	if problem != nil {
		t.Fatalf("%s %s: %v", method, url, problem)
	}
	return response
}

func TestTheWholeAnswerComesBack(t *testing.T) {
	w := newWorld(t)
	response := mustDo(t, w.client(nil), call(t), "post", "http://allowed.example.com/api/x?y=1#z", "ab\x00c", map[string]string{"x-shop": "货架", "Content-Type": "text/plain"})
	if response.Status != 200 || string(response.Body) != "front POST ab\x00c" {
		t.Errorf("the answer is %d %q", response.Status, response.Body)
	}
	if h := response.Headers; h["x-twice"] != "a, b" || h["set-cookie"] != "session=1" || h["proxy-authenticate"] != "" || h["content-type"] == "" {
		t.Errorf("the headers are %v", h)
	}
	seen := w.requests()[0]
	if seen.RequestURI != "/api/x?y=1" || seen.Host != "allowed.example.com" || seen.Header.Get("X-Shop") != "货架" || seen.UserAgent() != "sluice" || seen.Header.Get("Accept-Encoding") != "identity" || seen.Header.Get("Referer") != "" {
		t.Errorf("the server saw %s %s %v", seen.Host, seen.RequestURI, seen.Header)
	}
	for _, method := range []string{"", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		mustDo(t, w.client(nil), call(t), method, "http://allowed.example.com/api/x", "", nil)
		if got := w.requests()[0].Method; got != method && (method != "" || got != "GET") {
			t.Errorf("%q was sent as %s", method, got)
		}
	}
	for _, method := range []string{"TRACE", "CONNECT", "GET /", "M-SEARCH", "ＧＥＴ"} {
		if _, problem := do(t, w.client(nil), call(t), method, "http://allowed.example.com/api/x", "", nil); problem == nil || problem.Code != abi.BadHostCall {
			t.Errorf("%q: %v", method, problem)
		}
	}
}

func TestACredentialIsPutInWhereItsRuleHolds(t *testing.T) {
	w := newWorld(t)
	client := w.client(nil)
	response := mustDo(t, client, call(t), "GET", "https://example.com/api/x", "", map[string]string{"authorization": "mine", "X-A": "b"})
	if got := w.requests()[0].Header; got.Get("Authorization") != "Bearer hush" || len(got["Authorization"]) != 1 || got.Get("X-A") != "b" {
		t.Errorf("the server saw %v", got)
	}
	if _, there := response.Headers["set-cookie"]; there {
		t.Error("the guest got a cookie that was set for the host's credential")
	}
	mustDo(t, client, call(t), "GET", "https://example.com/api/x?to=/api/y", "", nil)
	if seen := w.requests(); len(seen) != 2 || seen[1].Header.Get("Authorization") != "Bearer hush" {
		t.Errorf("the second hop saw %v", seen[1].Header)
	}
	// From a rule without one to a rule with one, and never the other way round.
	mustDo(t, client, call(t), "GET", "http://allowed.example.com/api/x?to=https://example.com/api/y", "", map[string]string{"Authorization": "mine"})
	if seen := w.requests(); seen[0].Header.Get("Authorization") != "mine" || seen[1].Header.Get("Authorization") != "Bearer hush" {
		t.Errorf("the hops saw %v and %v", seen[0].Header, seen[1].Header)
	}
	policy, err := egress.Compile([]abi.HTTPRule{
		{Host: "http://allowed.example.com", Methods: everything, Paths: []string{"/api/*"}, Auth: &abi.HTTPAuth{Secret: "SHOP_TOKEN", Header: "X-Token"}},
		{Host: "http://other.example.com", Methods: everything, Paths: []string{"/api/*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, client, &egress.Call{Policy: policy, Secrets: secrets}, "POST", "http://allowed.example.com/api/x?status=307&to=http://other.example.com/api/y", "body", nil)
	if seen, reached := w.requests(), w.breaches(); seen[0].Header.Get("X-Token") != "hush" || seen[1].Host != "other.example.com" || len(reached) > 0 {
		t.Errorf("the credential went to another host: %v", reached)
	}
}

func TestASecretThatIsNotThereIsNamedAndNotShown(t *testing.T) {
	w := newWorld(t)
	for name, give := range map[string]func(string) (string, bool){
		"no secrets": nil, "not this one": func(string) (string, bool) { return "hush", false }, "empty": func(string) (string, bool) { return "", true }, "of two lines": func(string) (string, bool) { return "hush\r\nX: y", true },
	} {
		_, problem := do(t, w.client(nil), &egress.Call{Policy: open(t), Secrets: give}, "GET", "https://example.com/api/x", "", nil)
		if problem == nil || problem.Code != abi.Unavailable || !strings.Contains(problem.Error(), "SHOP_TOKEN") || strings.Contains(problem.Error(), "hush") {
			t.Errorf("%s: %v", name, problem)
		}
	}
	if seen := w.requests(); len(seen) > 0 {
		t.Errorf("a request went out without its credential: %v", seen[0].Header)
	}
}

func TestHeadersOfTheConnectionAreNotAGuestsToSend(t *testing.T) {
	w := newWorld(t)
	for name, value := range map[string]string{
		"Host": "x", "connection": "close", "Keep-Alive": "1", "Content-Length": "1", "Transfer-Encoding": "chunked", "Transfer_Encoding": "chunked", "TE": "trailers", "Trailer": "X", "Upgrade": "h2c", "Expect": "100-continue",
		"Proxy-Authorization": "x", "Proxy-Anything": "x", "HTTP2-Settings": "x", "X-HTTP-Method": "DELETE", "X-Method-Override": "DELETE", "X-Rewrite-URL": "/admin", "X_Original_URL": "/admin",
		"": "x", "a b": "x", "a:b": "x", "a\r\nb": "x", ":path": "/admin", "商": "x", "X-A": "b\nc", "X-B": "b\x00", "X-C": "\x7f", "Authorization": "negotiate abc", "X-Long": strings.Repeat("x", 64<<10),
	} {
		_, problem := do(t, w.client(nil), call(t), "POST", "http://allowed.example.com/api/x", "body", map[string]string{name: value})
		if problem == nil || problem.Code != abi.BadHostCall || problem.Field != "headers" || len(problem.Message) > 200 {
			t.Errorf("%q: %v", name, problem)
		}
	}
	if _, problem := do(t, w.client(nil), call(t), "GET", "http://allowed.example.com/api/x", "", map[string]string{"X-A": "1", "x-a": "2"}); problem == nil || !strings.Contains(problem.Message, "twice") {
		t.Errorf("one header twice: %v", problem)
	}
	if seen := w.requests(); len(seen) > 0 {
		t.Errorf("a request went out: %v", seen[0])
	}
}

func TestAnotherOriginGetsNothingThatSaysWhoAsks(t *testing.T) {
	w := newWorld(t)
	given := map[string]string{"Accept": "text/plain", "Content-Type": "text/plain", "Authorization": "a", "Cookie": "b", "X-Api-Key": "c", "Idempotency-Key": "d", "Origin": "e"}
	back := "http://other.example.com/api/x?to=" + url.QueryEscape("http://allowed.example.com/api/z")
	mustDo(t, w.client(nil), call(t), "PUT", "http://allowed.example.com/api/x?status=308&to="+url.QueryEscape(back), "body", given)
	seen := w.requests()
	for i, want := range []string{"Accept Accept-Encoding Authorization Content-Length Content-Type Cookie Idempotency-Key Origin User-Agent X-Api-Key", "Accept Accept-Encoding Content-Length Content-Type Idempotency-Key User-Agent", "Accept Accept-Encoding User-Agent"} {
		var names []string
		for name := range seen[i].Header {
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("hop %d saw %s, want %s", i, got, want)
		}
	}
	if seen[0].Header.Get("Idempotency-Key") != "d" || seen[1].Header.Get("Idempotency-Key") == "d" {
		t.Error("the guest's own key did not hold where it was meant, or went along")
	}
	if seen[1].Method != "PUT" || seen[2].Method != "GET" {
		t.Errorf("308 and 302 led to %s and %s", seen[1].Method, seen[2].Method)
	}
}

func TestRedirectsAreBounded(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ redirects, requests int }{{0, egress.DefaultRedirects + 1}, {1, 2}, {-1, 1}} {
		_, problem := do(t, w.client(func(c *egress.Config) { c.Redirects = tt.redirects }), call(t), "GET", "http://allowed.example.com/api/x?loop=1", "", nil)
		if tt.redirects >= 0 && (problem == nil || problem.Code != abi.QuotaReached) || tt.redirects < 0 && problem != nil {
			t.Errorf("%d: %v", tt.redirects, problem)
		}
		if seen := w.requests(); len(seen) != tt.requests {
			t.Errorf("%d redirects made %d requests, want %d", tt.redirects, len(seen), tt.requests)
		}
	}
}

func TestWritesHaveAKeyThatHoldsUntilTheySucceed(t *testing.T) {
	w := newWorld(t)
	client := w.client(nil)
	keys := func(call *egress.Call, requests ...string) (keys []string) {
		for _, r := range requests {
			method, path, _ := strings.Cut(r, " ")
			_, _ = do(t, client, call, method, "http://allowed.example.com"+path, "body", nil)
		}
		for _, r := range w.requests() {
			keys = append(keys, r.Header.Get("Idempotency-Key"))
		}
		return keys
	}
	requests := []string{"POST /api/x", "POST /api/x", "POST /api/y", "DELETE /api/x", "GET /api/x", "HEAD /api/x", "OPTIONS /api/x"}
	first := keys(call(t), requests...)
	if again := keys(call(t), requests...); !slices.Equal(first, again) {
		t.Errorf("another attempt has other keys: %v and %v", first, again)
	}
	if other := keys(&egress.Call{Policy: open(t), Key: "k2"}, requests...); other[0] == first[0] {
		t.Error("another call has the same key")
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(first[:4])))
	if len(distinct) != 4 || len(first[0]) != 32 || first[4]+first[5]+first[6] != "" {
		t.Errorf("the keys are %q", first)
	}
	if none := keys(&egress.Call{Policy: open(t)}, "POST /api/x"); none[0] != "" {
		t.Errorf("a call without a key sent %q", none[0])
	}
	if failed := keys(call(t), "POST /api/x?status=399&to=/", "POST /api/x?status=399&to=/"); failed[0] != failed[1] {
		t.Error("a write that failed has another key when it is tried again")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	w := newWorld(t)
	exact := int64(len("front GET "))
	for most, fits := range map[int64]bool{exact: true, exact - 1: false} {
		_, problem := do(t, w.client(func(c *egress.Config) { c.ResponseBytes = abi.Size(most) }), call(t), "GET", "http://allowed.example.com/api/x", "", nil)
		if (problem == nil) != fits || problem != nil && problem.Code != abi.QuotaReached {
			t.Errorf("%d bytes: %v", most, problem)
		}
	}
	if response := mustDo(t, w.client(nil), call(t), "HEAD", "http://allowed.example.com/api/x?huge=declared", "", nil); response.Headers["content-length"] != "10000000000" || len(response.Body) != 0 {
		t.Errorf("HEAD gave %v", response)
	}
	_, problem := do(t, w.client(func(c *egress.Config) { c.HeaderBytes = 64 }), call(t), "GET", "http://allowed.example.com/api/x", "", nil)
	if problem == nil || problem.Code != abi.Unavailable {
		t.Errorf("an answer with more header than is taken: %v", problem)
	}
}

func TestARequestEndsWithItsTime(t *testing.T) {
	w := newWorld(t)
	for name, tt := range map[string]struct {
		own, callers time.Duration
		stop         bool
		want         abi.Code
	}{
		"the client's": {50 * time.Millisecond, time.Hour, false, abi.Deadline}, "the caller's": {time.Hour, 50 * time.Millisecond, false, abi.Deadline}, "the caller stops": {time.Hour, time.Hour, true, abi.Cancelled},
	} {
		for _, what := range []string{"slow", "huge=chunks"} {
			ctx, cancel := context.WithTimeout(t.Context(), tt.callers)
			if tt.stop {
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			client := w.client(func(c *egress.Config) { c.Timeout, c.ResponseBytes = tt.own, 256*abi.MiB })
			_, problem := client.Do(ctx, call(t), abi.HTTPRequest{URL: "http://allowed.example.com/api/x?slow&" + what}, nil)
			if cancel(); problem == nil || problem.Code != tt.want {
				t.Errorf("%s, %s: %v", name, what, problem)
			}
		}
	}
}

func TestConnectionsAreKeptAndTheirAddressIsLookedUpOnce(t *testing.T) {
	w := newWorld(t)
	client := w.client(nil)
	for range 3 {
		mustDo(t, client, call(t), "GET", "http://allowed.example.com/api/x", "", nil)
		mustDo(t, client, call(t), "GET", "https://example.com/api/x?to=/api/y", "", nil)
	}
	seen := w.requests()
	if got := strings.Join(w.dialled, " "); got != frontAddress+":80 "+frontAddress+":443" {
		t.Errorf("dialled %s", got)
	}
	if last := seen[len(seen)-1]; last.ProtoMajor != 2 {
		t.Errorf("over TLS it speaks %s", last.Proto)
	}
	client.Close()
	mustDo(t, client, call(t), "GET", "http://allowed.example.com/api/x", "", nil)
	if len(w.dialled) != 3 {
		t.Errorf("dialled %v", w.dialled)
	}
}

// TestAKeptConnectionSkipsNoPolicy: another skill finds it idle.
func TestAKeptConnectionSkipsNoPolicy(t *testing.T) {
	w := newWorld(t)
	client := w.client(nil)
	mustDo(t, client, call(t), "GET", "http://allowed.example.com/api/x", "", nil)
	w.requests()
	for name, c := range map[string]*egress.Call{"no rules": {Policy: &egress.Policy{}}, "no policy": {}} {
		if _, problem := do(t, client, c, "GET", "http://allowed.example.com/api/x", "", nil); problem == nil || problem.Code != abi.NotGranted || len(w.requests()) > 0 {
			t.Errorf("%s: %v", name, problem)
		}
	}
}

// TestOnlyTheRangeThatTheOperatorOpensIsReached uses the real look-up and the
// real network.
func TestOnlyTheRangeThatTheOperatorOpensIsReached(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "mine") }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	var rules []abi.HTTPRule
	hosts := []string{"127.0.0.1", "127.0.0.2", "localhost", "[::1]"}
	for _, h := range hosts {
		rules = append(rules, abi.HTTPRule{Host: "http://" + h + ":" + port, Methods: []string{"GET"}, Paths: []string{"/"}})
	}
	policy, err := egress.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for allow, reached := range map[string][]string{"": nil, "127.0.0.1/32": {"127.0.0.1"}, "10.0.0.0/8": nil} {
		cfg := egress.Config{Timeout: 5 * time.Second}
		if allow != "" {
			cfg.Allow = []netip.Prefix{netip.MustParsePrefix(allow)}
		}
		client, err := egress.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for _, h := range hosts {
			_, problem := do(t, client, &egress.Call{Policy: policy}, "GET", "http://"+h+":"+port+"/", "", nil)
			if h == "localhost" && allow == "127.0.0.1/32" {
				continue // reached only where the system has no ::1 for it
			}
			if want := slices.Contains(reached, h); (problem == nil) != want || !want && problem.Code != abi.ClosedAddress {
				t.Errorf("with %q open, %s: %v", allow, h, problem)
			}
		}
	}
}

func TestServersThatCannotBeReachedOrBelieved(t *testing.T) {
	w := newWorld(t)
	nobody := w.client(func(c *egress.Config) {
		c.Lookup = func(context.Context, string) ([]netip.Addr, error) { return nil, nil }
	})
	if _, problem := do(t, nobody, call(t), "GET", "http://allowed.example.com/api/x", "", nil); problem == nil || problem.Code != abi.Unavailable || !strings.Contains(problem.Message, "there is no host") {
		t.Errorf("no such name: %v", problem)
	}
	for name, answer := range map[string]string{
		"nothing": "", "no HTTP": "SSH-2.0-x\r\n", "half an answer": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "another protocol": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
	} {
		liar := w.client(func(c *egress.Config) {
			c.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() {
					_, _ = http.ReadRequest(bufio.NewReader(theirs))
					_, _ = io.WriteString(theirs, answer)
					theirs.Close()
				}()
				return ours, nil
			}
		})
		if _, problem := do(t, liar, call(t), "POST", "http://allowed.example.com/api/x", "", nil); problem == nil || problem.Code != abi.Unavailable {
			t.Errorf("%s: %v", name, problem)
		}
	}
}

// TestTheNextAddressIsTried: the first does not answer at all, the second
// refuses.
func TestTheNextAddressIsTried(t *testing.T) {
	w := newWorld(t)
	w.names["allowed.example.com"] = []string{"93.184.1.1 93.184.1.2 " + frontAddress}
	client := w.client(func(c *egress.Config) {
		c.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			switch a.Addr().String() {
			case "93.184.1.1":
				<-ctx.Done()
				return nil, ctx.Err()
			case "93.184.1.2":
				return nil, io.ErrClosedPipe
			}
			return w.dial(ctx, a)
		}
	})
	mustDo(t, client, call(t), "GET", "http://allowed.example.com/api/x", "", nil)
}

func TestAProxyIsAskedForCheckedAddressesOnly(t *testing.T) {
	for kind, start := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
		t.Run(kind, func(t *testing.T) { proxyIsAsked(t, start) })
	}
}

func proxyIsAsked(t *testing.T, start func(http.Handler) *httptest.Server) {
	w := newWorld(t)
	var mu sync.Mutex
	var asked []string
	status := http.StatusOK
	proxy := start(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		if rw.WriteHeader(status); status != http.StatusOK {
			return
		}
		there, err := w.dial(r.Context(), netip.MustParseAddrPort(r.RequestURI))
		if err != nil {
			return
		}
		_ = http.NewResponseController(rw).Flush()
		here, buffered, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(there, buffered); there.Close() }()
		go func() { _, _ = io.Copy(here, there); here.Close() }()
	}))
	defer proxy.Close()
	at, _ := url.Parse(proxy.URL)
	at.User = url.UserPassword("u", "hush")
	client := w.client(func(c *egress.Config) { c.Proxy, c.Dial = at, nil })
	for _, text := range []string{"http://allowed.example.com/api/x", "https://example.com/api/x"} {
		if response := mustDo(t, client, call(t), "POST", text, "body", nil); string(response.Body) != "front POST body" {
			t.Errorf("through the proxy %s gave %q", text, response.Body)
		}
	}
	user := "Basic " + base64.StdEncoding.EncodeToString([]byte("u:hush"))
	if want := []string{"CONNECT " + frontAddress + ":80 " + user, "CONNECT " + frontAddress + ":443 " + user}; !slices.Equal(asked, want) {
		t.Errorf("the proxy was asked for %q, want %q", asked, want)
	}
	if seen := w.requests(); seen[0].Header.Get("Proxy-Authorization") != "" {
		t.Error("the proxy's password went to a server")
	}
	asked = nil
	w.names["allowed.example.com"] = []string{"10.0.0.1"}
	client.Close()
	if _, problem := do(t, client, call(t), "GET", "http://allowed.example.com/api/x", "", nil); problem == nil || problem.Code != abi.ClosedAddress || len(asked) > 0 {
		t.Errorf("a closed address by the proxy: %v, asked %q", problem, asked)
	}
	delete(w.names, "allowed.example.com")
	status = http.StatusProxyAuthRequired
	if _, problem := do(t, client, call(t), "GET", "http://allowed.example.com/api/x", "", nil); problem == nil || problem.Code != abi.Unavailable || strings.Contains(problem.Error(), "hush") {
		t.Errorf("a proxy that refuses: %v", problem)
	}
}

// TestProxiesThatCannotBeUsed: none of them holds a request up, or gets a word
// in before the server does.
func TestProxiesThatCannotBeUsed(t *testing.T) {
	w := newWorld(t)
	for name, tt := range map[string]struct {
		answer string
		want   abi.Code
	}{
		"silent": {"", abi.Deadline}, "no HTTP": {"SSH-2.0-x\r\n\r\n", abi.Unavailable}, "one that answers in the server's place": {"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", abi.Unavailable}, "endless": {"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 10_000), abi.Unavailable},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = http.ReadRequest(bufio.NewReader(conn))
				_, _ = io.WriteString(conn, tt.answer)
			}
		}()
		client := w.client(func(c *egress.Config) {
			if c.Proxy = (&url.URL{Scheme: "http", Host: listener.Addr().String()}); tt.want == abi.Deadline {
				c.Timeout = 300 * time.Millisecond
			}
		})
		if _, problem := do(t, client, call(t), "GET", "http://allowed.example.com/api/x", "", nil); problem == nil || problem.Code != tt.want {
			t.Errorf("%s: %v", name, problem)
		}
	}
	secure := w.client(func(c *egress.Config) { c.Proxy, c.RootCAs = &url.URL{Scheme: "https", Host: w.frontTLS}, nil })
	if _, problem := do(t, secure, call(t), "GET", "http://allowed.example.com/api/x", "", nil); problem == nil || problem.Code != abi.Unavailable {
		t.Errorf("a proxy whose certificate nobody vouches for: %v", problem)
	}
}

func TestSettingsThatCannotHold(t *testing.T) {
	for name, cfg := range map[string]egress.Config{
		"a negative bound": {Timeout: -1}, "more than a call may move": {ResponseBytes: abi.GiB}, "a negative answer": {ResponseBytes: -1}, "a proxy of another kind": {Proxy: &url.URL{Scheme: "socks5", Host: "p"}}, "a proxy without a host": {Proxy: &url.URL{Scheme: "http"}},
	} {
		if _, err := egress.New(cfg); err == nil || !strings.Contains(err.Error(), "egress") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkOneRequest is over a kept connection on loopback.
func BenchmarkOneRequest(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1<<10)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(body) }))
	defer server.Close()
	b.Run("sluice", func(b *testing.B) {
		client, err := egress.New(egress.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
		if err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		policy, err := egress.Compile([]abi.HTTPRule{{Host: server.URL, Methods: []string{"GET"}, Paths: []string{"/api/prices/*"}}})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			mustDo(b, client, &egress.Call{Policy: policy}, "GET", server.URL+"/api/prices/1001?shop=7", "", map[string]string{"Accept": "application/json"})
		}
	})
	b.Run("net-http", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		for b.Loop() {
			request, _ := http.NewRequestWithContext(b.Context(), "GET", server.URL+"/api/prices/1001?shop=7", nil)
			request.Header.Set("Accept", "application/json")
			response, err := client.Do(request)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(response.Body); err != nil {
				b.Fatal(err)
			}
			response.Body.Close()
		}
	})
}
