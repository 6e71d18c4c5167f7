package grant_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/egress"
	"github.com/sluicehq/sluice/host/grant"
)

// A shop is a server at a loopback address that the operator has opened, a
// policy for it below /api/, and a credential.
type shop struct {
	*httptest.Server
	hits   atomic.Int32
	config grant.Config
	call   grant.Call
}

func newShop(t *testing.T) *shop {
	s := &shop{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(rw, r, to, http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("X-Shop", "7")
		rw.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(rw, "%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("X-Token"), body)
	}))
	t.Cleanup(s.Close)
	client, err := egress.New(egress.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s.config = grant.Config{Egress: client, Secrets: func(tenant host.TenantID, name string) (string, bool) {
		return "from the host", tenant == ref.Tenant && name == "TOKEN"
	}}
	rule := abi.HTTPRule{Host: s.URL, Methods: []string{"GET", "POST"}, Paths: []string{"/api/*"}, Auth: &abi.HTTPAuth{Secret: "TOKEN", Header: "X-Token"}}
	s.call = grant.Call{Session: ref, Effect: abi.Write, Key: "k", Capabilities: abi.Capabilities{HTTP: []abi.HTTPRule{rule}}, Record: grant.RecordBlob}
	return s
}

func (s *shop) grant() *grant.Grant { return grant.For(s.config, s.call) }

func TestAGuestGetsTheWholeAnswer(t *testing.T) {
	r, s := newRig(t), newShop(t)
	got := r.run(s.grant(),
		call("http", fmt.Sprintf(`{"method":"POST","url":%q,"headers":{"Content-Type":"text/plain"}}`, s.URL+"/api/x"), "a 价\x00b"),
		call("http", fmt.Sprintf(`{"url":%q}`, s.URL+"/api/y"), ""))
	for i, want := range []string{"POST /api/x from the host a 价\x00b", "GET /api/y from the host "} {
		if got[i].Block == nil {
			t.Fatal(got[i])
		}
		response, err := abi.DecodeHTTPResponse(got[i].bytes())
		if err != nil || response.Status != http.StatusTeapot || string(response.Body) != want || response.Headers["x-shop"] != "7" {
			t.Errorf("the answer is %+v, %v, want %q", response, err, want)
		}
	}
}

// Extism's http_request goes the same way, and is recorded and played back as
// the other one is.
func TestBothWaysOutAreOne(t *testing.T) {
	s := newShop(t)
	g := s.grant()
	asked := abi.HTTPRequest{Method: "GET", URL: s.URL + "/api/x"}
	response, problem := g.HTTP(t.Context(), asked, nil)
	if problem != nil || string(response.Body) != "GET /api/x from the host " {
		t.Errorf("the answer is %+v, %v", response, problem)
	}
	if _, problem := g.HTTP(t.Context(), abi.HTTPRequest{Method: "GET", URL: s.URL + "/admin"}, nil); problem == nil || problem.Code != abi.NotGranted {
		t.Errorf("a path that is not opened: %v", problem)
	}
	stored := g.Inline([]byte("{}"))
	recording, err := stored.Load(t.Context(), nil, ref)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	replay := grant.NewReplay(recording)
	again, problem := replay.HTTP(t.Context(), asked, nil)
	if problem != nil || again.Status != response.Status || !bytes.Equal(again.Body, response.Body) {
		t.Errorf("played back it is %+v, %v", again, problem)
	}
	if _, problem := replay.HTTP(t.Context(), asked, nil); problem == nil || problem.Code != abi.BadHostCall {
		t.Errorf("another request than the recorded one: %v", problem)
	}
}

// A tool that says that it only reads passes the gate as one.
func TestAReadSendsNothingThatMayWrite(t *testing.T) {
	r, s := newRig(t), newShop(t)
	s.call.Effect = abi.Read
	g := s.grant()
	r.want(r.run(g, call("http", fmt.Sprintf(`{"method":"POST","url":%q}`, s.URL+"/api/x"), "")), "problem 4010")
	if _, problem := g.HTTP(t.Context(), abi.HTTPRequest{Method: "post", URL: s.URL + "/api/x"}, nil); problem == nil || problem.Code != abi.NotGranted {
		t.Errorf("http_request: %v", problem)
	}
	if got := r.run(g, call("http", fmt.Sprintf(`{"url":%q}`, s.URL+"/api/x"), ""))[0]; got.Block == nil || s.hits.Load() != 1 {
		t.Errorf("a GET gives %s, after %d requests", got, s.hits.Load())
	}
}

func TestAGuestIsRefusedWhatItsManifestDoesNotOpen(t *testing.T) {
	r, s := newRig(t), newShop(t)
	request := func(url string) hostCall { return call("http", fmt.Sprintf(`{"method":"GET","url":%q}`, url), "") }
	g := s.grant()
	r.want(r.run(g, request(s.URL+"/admin"), request("https://example.com/"), request("http://169.254.169.254/"), request("http://2130706433/"), request(s.URL+"/api/../admin"), request(s.URL+"/api/x?to=/admin"),
		call("http", fmt.Sprintf(`{"method":"DELETE","url":%q}`, s.URL+"/api/x"), "")),
		"problem 4010", "problem 4010", "problem 4010", "problem 4009", "problem 4009", "problem 4010", "problem 4010")
	if s.hits.Load() != 1 {
		t.Errorf("the shop was asked %d times", s.hits.Load())
	}
	s.Close()
	r.want(r.run(g, request(s.URL+"/api/x")), "problem 5002")
	if g.Failed() != nil {
		t.Errorf("a server's failure counts as the host's: %v", g.Failed())
	}
	r.want(r.run(grant.For(grant.Config{}, grant.Call{}), request(s.URL+"/api/x")), "problem 4010")
}

func TestARequestIsOneObjectOfKnownMembers(t *testing.T) {
	r, s := newRig(t), newShop(t)
	url := s.URL + "/api/x"
	deep := func(n int) string { return strings.Repeat(`{"headers":`, n) + "1" + strings.Repeat("}", n) }
	for name, text := range map[string]string{
		"nothing": "", "half an object": `{"url":"`, "no JSON": "url", "a list": `["` + url + `"]`, "a text": `"` + url + `"`, "null": "null", "two objects": fmt.Sprintf(`{"url":%q}{"url":%q}`, url, url), "no URL": `{"method":"GET"}`,
		"a member that is not known": fmt.Sprintf(`{"url":%q,"timeout":1}`, url), "a member twice": fmt.Sprintf(`{"url":"http://example.com/","url":%q}`, url), "a member twice in other letters": fmt.Sprintf(`{"URL":"http://example.com/","url":%q}`, url),
		"a member in other letters": fmt.Sprintf(`{"URL":%q}`, url), "a header twice": fmt.Sprintf(`{"url":%q,"headers":{"a":"1","a":"2"}}`, url), "a header of another type": fmt.Sprintf(`{"url":%q,"headers":{"a":["1"]}}`, url), "headers of another type": fmt.Sprintf(`{"url":%q,"headers":[]}`, url),
		"a URL of another type": `{"url":1}`, "bytes that are not UTF-8": "{\"url\":\"\xff\"}", "10,000 deep": deep(10_000), "a header that breaks the line": fmt.Sprintf(`{"url":%q,"headers":{"a":"b\r\nc: d"}}`, url), "a URL with NUL": `{"url":"` + url + `\u0000"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.run(s.grant(), call("http", text, ""))[0]; got.String() != "problem 4009" {
				t.Errorf("the guest got %.200s (%.300s)", got, got.Problem)
			}
		})
	}
	if got := r.run(s.grant(), hostCall{Func: "http", Args: [][]byte{nil, nil}, Size: 16 << 20})[0]; got.String() != "problem 4009" {
		t.Errorf("16 MiB gave %s", got)
	}
	if s.hits.Load() != 0 {
		t.Errorf("the shop was asked %d times", s.hits.Load())
	}
}
