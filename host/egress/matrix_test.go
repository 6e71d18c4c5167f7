package egress_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/egress"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/tetratelabs/wazero"
)

// A row is one way in. The skill may use allowed.example.com below /api/, and
// every host in hosts.
type row struct {
	name    string
	url     string
	headers map[string]string
	times   int      // of the request; 0 is once
	hosts   []string // that the manifest opens beside allowed.example.com
	told    []string // that the reference is told beside it; it does not ask again after a redirect
	want    abi.Code // 0: the request is answered, and nothing else happens
}

// A closedAddress is one of each kind.
type closedAddress struct{ kind, address string }

func closedAddresses() []closedAddress {
	return []closedAddress{
		{"loopback", "127.0.0.1"}, {"private 10/8", "10.0.0.1"}, {"private 172.16/12", "172.16.0.1"}, {"private 192.168/16", "192.168.0.1"},
		{"link-local, the clouds' metadata", "169.254.169.254"}, {"shared 100.64/10, Alibaba's metadata", "100.100.100.200"}, {"Azure's wire server", "168.63.129.16"},
		{"unspecified", "0.0.0.0"}, {"multicast", "224.0.0.1"}, {"broadcast", "255.255.255.255"}, {"documentation", "192.0.2.1"}, {"benchmarking", "198.18.0.1"},
		{"reserved 240/4", "240.0.0.1"}, {"protocol assignments", "192.0.0.192"}, {"6to4 relay", "192.88.99.1"},
		{"IPv6 loopback", "::1"}, {"IPv6 unspecified", "::"}, {"unique local", "fd00:ec2::254"}, {"IPv6 link-local", "fe80::1"}, {"site-local", "fec0::1"},
		{"IPv6 multicast", "ff02::1"}, {"IPv6 documentation", "2001:db8::1"}, {"IPv6 discard", "100::1"}, {"IPv4-compatible", "::7f00:1"},
		{"NAT64 of loopback", "64:ff9b::7f00:1"}, {"NAT64 of metadata", "64:ff9b::a9fe:a9fe"}, {"local NAT64", "64:ff9b:1::a00:1"},
		{"6to4 of loopback", "2002:7f00:1::"}, {"Teredo", "2001:0:7f00:1::"}, {"ISATAP of private", "2a00:1450::5efe:a00:1"},
	}
}

// name gives a name that the world's name server has for the address.
func (a closedAddress) name() string {
	return "n" + strings.Trim(strings.NewReplacer(":", "-", ".", "-").Replace(a.address), "-") + ".example.com"
}

// target gives the URL of an address.
func target(address string) string {
	if strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	return "http://" + address
}

func rows() []row {
	const allowed = "http://allowed.example.com"
	to := func(location string) string { return allowed + "/api/x?to=" + url.QueryEscape(location) }
	var table []row
	for _, a := range closedAddresses() {
		literal := target(a.address)
		table = append(table,
			row{name: a.kind + ", direct", url: literal + "/api/x", hosts: []string{literal}, told: []string{a.address}, want: abi.ClosedAddress},
			row{name: a.kind + ", by redirect", url: to(literal + "/api/x"), hosts: []string{literal}, want: abi.ClosedAddress},
			row{name: a.kind + ", by name", url: "http://" + a.name() + "/api/x", hosts: []string{a.name()}, told: []string{a.name()}, want: abi.ClosedAddress})
	}
	for _, spelled := range []string{"0177.0.0.1", "0x7f.0.0.1", "0x7f.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "017700000001", "2852039166", "0", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[fe80::1%25lo]"} {
		bare := strings.Replace(strings.Trim(spelled, "[]"), "%25", "%", 1)
		table = append(table,
			row{name: "spelled " + spelled + ", direct", url: "http://" + spelled + "/api/x", told: []string{bare}, want: abi.BadHostCall},
			row{name: "spelled " + spelled + ", by redirect", url: to("http://" + spelled + "/api/x"), want: abi.NotGranted})
	}
	return append(table,
		row{name: "rebinding between two requests", url: "http://rebind.example.com/api/x?close", times: 2, hosts: []string{"rebind.example.com"}, told: []string{"rebind.example.com"}, want: abi.ClosedAddress},
		row{name: "one name, a public and a private address", url: "http://both.example.com/api/x", hosts: []string{"both.example.com"}, told: []string{"both.example.com"}, want: abi.ClosedAddress},
		row{name: "one name, mapped IPv6 of loopback", url: "http://mapped.example.com/api/x", hosts: []string{"mapped.example.com"}, told: []string{"mapped.example.com"}, want: abi.ClosedAddress},
		row{name: "redirect to a host that is not opened", url: to("http://other.example.com/api/x"), want: abi.NotGranted},
		row{name: "redirect to a path that is not opened", url: to("/admin"), want: abi.NotGranted},
		row{name: "redirect with a path that climbs", url: to("/api/../admin"), want: abi.NotGranted},
		row{name: "redirect to another scheme", url: to("file:///etc/passwd"), want: abi.NotGranted},
		row{name: "redirect with a user", url: to("http://allowed.example.com@other.example.com/api/x"), want: abi.NotGranted},
		row{name: "redirect loop", url: allowed + "/api/x?loop=1", want: abi.QuotaReached},
		row{name: "credentials over a redirect to another host", url: to("http://other.example.com/api/x"), hosts: []string{"other.example.com"}, headers: map[string]string{"Authorization": "Bearer hush", "X-Api-Key": "hush", "Cookie": "s=hush"}},
		row{name: "credentials over another host and back", url: to("http://other.example.com/api/x?to=" + url.QueryEscape("http://other.example.com/api/y")), hosts: []string{"other.example.com"}, headers: map[string]string{"Authorization": "Bearer hush", "X-Api-Key": "hush"}},
		row{name: "https to http", url: "https://example.com/api/x?to=" + url.QueryEscape(allowed+"/api/x"), hosts: []string{"https://example.com"}, told: []string{"example.com"}, want: abi.NotGranted},
		row{name: "a certificate of another name", url: "https://shop.example.net/api/x", hosts: []string{"https://shop.example.net"}, told: []string{"shop.example.net"}, want: abi.Unavailable},
		row{name: "10 GB, declared", url: allowed + "/api/x?huge=declared", want: abi.QuotaReached},
		row{name: "10 GB, in chunks", url: allowed + "/api/x?huge=chunks", want: abi.QuotaReached},
		row{name: "a slow body", url: allowed + "/api/x?slow", want: abi.Deadline},
		row{name: "a proxy in the environment", url: allowed + "/api/x?proxy"},
		row{name: "user before another host", url: "http://allowed.example.com@other.example.com/api/x", want: abi.BadHostCall},
		row{name: "user and password before another host", url: "http://allowed.example.com:80@other.example.com/api/x", want: abi.BadHostCall},
		row{name: "backslash before another host", url: `http://allowed.example.com\@other.example.com/api/x`, want: abi.BadHostCall},
		row{name: "escaped @", url: "http://allowed.example.com%40other.example.com/api/x", want: abi.BadHostCall},
		row{name: "fragment with another host", url: "http://other.example.com#@allowed.example.com/api/x", want: abi.NotGranted},
		row{name: "the allowed host as a part of another", url: "http://allowed.example.com.evil.com/api/x", want: abi.NotGranted},
		row{name: "the allowed host as the end of another", url: "http://evilallowed.example.com/api/x", want: abi.NotGranted},
		row{name: "trailing dot", url: "http://allowed.example.com./api/x", want: abi.BadHostCall},
		row{name: "upper case, the same host", url: "HTTP://ALLOWED.example.COM/api/x"},
		row{name: "other digits and dots", url: "http://①②⑦.⓪.⓪.①/api/x", want: abi.BadHostCall},
		row{name: "another port", url: "http://allowed.example.com:6379/api/x", want: abi.NotGranted},
		row{name: "a port beyond 65535", url: "http://allowed.example.com:65616/api/x", want: abi.BadHostCall},
		row{name: "a port with a sign", url: "http://allowed.example.com:+80/api/x", want: abi.BadHostCall},
		row{name: "a line break and a header", url: "http://allowed.example.com/api/x HTTP/1.1\r\nHost: other.example.com\r\n\r\n", want: abi.BadHostCall},
		row{name: "a line break in a header", url: allowed + "/api/x", headers: map[string]string{"X-A": "b\r\nX-Api-Key: hush"}, want: abi.BadHostCall},
		row{name: "another Host", url: allowed + "/api/x", headers: map[string]string{"Host": "other.example.com"}, want: abi.BadHostCall},
		row{name: "a message in a message", url: allowed + "/api/x", headers: map[string]string{"Transfer-Encoding": "chunked", "Content-Length": "5"}, want: abi.BadHostCall},
		row{name: "another method by a header", url: allowed + "/api/x", headers: map[string]string{"X-HTTP-Method-Override": "DELETE"}, want: abi.BadHostCall},
		row{name: "another path by a header", url: allowed + "/api/x", headers: map[string]string{"X-Original-URL": "/admin"}, want: abi.BadHostCall},
		row{name: "a path that is not opened", url: allowed + "/admin", want: abi.NotGranted},
		row{name: "path /api/../admin", url: allowed + "/api/../admin", want: abi.BadHostCall},
		row{name: "path /api/%2e%2e/admin", url: allowed + "/api/%2e%2e/admin", want: abi.BadHostCall},
		row{name: "path /api/..%2fadmin", url: allowed + "/api/..%2fadmin", want: abi.BadHostCall},
		row{name: "path /api/%252e%252e/admin", url: allowed + "/api/%252e%252e/admin", want: abi.BadHostCall},
		row{name: "path //admin", url: allowed + "//admin", want: abi.BadHostCall},
		row{name: "path /api/..;/admin", url: allowed + "/api/..;/admin", want: abi.BadHostCall},
		row{name: `path /api/..\admin`, url: allowed + `/api/..\admin`, want: abi.BadHostCall},
		row{name: "path of overlong dots", url: allowed + "/api/%c0%ae%c0%ae/admin", want: abi.BadHostCall},
		row{name: "path one segment deeper", url: allowed + "/api/x/y", want: abi.NotGranted},
	)
}

// TestEveryWayInIsRefused prints what the reference host does with the same
// guest's wish, in the same world.
func TestEveryWayInIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, a := range closedAddresses() {
		w.names[a.name()] = []string{a.address}
	}
	w.proxy = strings.TrimPrefix(theProxy().url, "http://")
	w.names["rebind.example.com"] = []string{frontAddress, "127.0.0.1"}
	w.names["both.example.com"] = []string{frontAddress + " 10.0.0.1"}
	w.names["mapped.example.com"] = []string{"::ffff:127.0.0.1"}
	asked := inEnvironment(t)
	reference := newReference(t, w)
	client, hasty := w.client(nil), w.client(func(c *egress.Config) { c.Timeout = 2 * time.Second })

	var table strings.Builder
	table.WriteString("\n| row | sluice | extism/go-sdk 1.7.1 |\n| --- | --- | --- |\n")
	for _, r := range rows() {
		asks := client
		if r.want == abi.Deadline {
			asks = hasty
		}
		ours, problem := r.ask(t, asks)
		if reached := append(w.breaches(), asked()...); len(reached) > 0 || (problem == nil) != (r.want == 0) || problem != nil && problem.Code != r.want {
			t.Errorf("%s: %s (reached %q), want %d", r.name, ours, reached, r.want)
		}
		theirs := reference.ask(r)
		if reached := append(w.breaches(), asked()...); len(reached) > 0 {
			theirs = "LET THROUGH: " + strings.Join(slices.Compact(reached), ", ")
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", cell(r.name), cell(ours), cell(theirs))
	}
	t.Log(table.String())
}

func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ").Replace(text)
}

// ask sends the row's request by a client.
func (r row) ask(t *testing.T, client *egress.Client) (string, *abi.Problem) {
	t.Helper()
	rules := []abi.HTTPRule{{Host: "http://allowed.example.com", Methods: []string{"GET"}, Paths: []string{"/api/*"}}}
	for _, host := range r.hosts {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		rules = append(rules, abi.HTTPRule{Host: host, Methods: []string{"GET"}, Paths: []string{"/api/*"}})
	}
	policy, err := egress.Compile(rules)
	if err != nil {
		t.Fatal(r.name, err)
	}
	var response abi.HTTPResponse
	var problem *abi.Problem
	for range max(r.times, 1) {
		if response, problem = client.Do(context.Background(), &egress.Call{Policy: policy}, abi.HTTPRequest{URL: r.url, Headers: r.headers}, nil); problem != nil {
			return fmt.Sprintf("refused, %d: %s", problem.Code, problem.Message), problem
		}
	}
	return fmt.Sprintf("answered with %d", response.Status), nil
}

// A reference is a guest under the reference host. What it reaches, it reaches
// in the world of the test.
type reference struct {
	plugin *extism.CompiledPlugin
	t      *testing.T
}

func newReference(t *testing.T, w *world) *reference {
	wasm := sandboxtest.Build(t, "host/egress/testdata/guest")
	cache, err := wazero.NewCompilationCacheWithDir(sandboxtest.PeerDir(t, wasm))
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := extism.NewCompiledPlugin(context.Background(),
		extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}, Timeout: 2000},
		extism.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The reference host sends by net/http's default client.
	before := http.DefaultTransport
	world := w.unguarded()
	world.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.RawQuery != "proxy" {
			return nil, nil // the other rows are about the servers themselves
		}
		return http.ProxyFromEnvironment(r)
	}
	http.DefaultTransport = world
	t.Cleanup(func() {
		http.DefaultTransport = before
		world.CloseIdleConnections()
		_ = errors.Join(plugin.Close(context.Background()), cache.Close(context.Background()))
	})
	return &reference{plugin, t}
}

// ask has the guest send the row's request.
func (r *reference) ask(row row) string {
	input, err := json.Marshal(map[string]any{"url": row.url, "headers": row.headers})
	if err != nil {
		r.t.Fatal(err)
	}
	var output []byte
	for range max(row.times, 1) {
		instance, err := r.plugin.Instance(context.Background(), extism.PluginInstanceConfig{})
		if err != nil {
			r.t.Fatal(err)
		}
		instance.AllowedHosts = append([]string{"allowed.example.com"}, row.told...)
		_, output, err = instance.Call("fetch", input)
		err = errors.Join(err, instance.Close(context.Background()))
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			first, _, _ = strings.Cut(first, " (recovered")
			return fmt.Sprintf("refused: %.120s", first)
		}
	}
	return fmt.Sprintf("answered: %.20s", output)
}

// An environmentProxy is one that stands in the environment. There is one for
// the whole process: net/http looks it up once.
type environmentProxy struct {
	url   string
	asked atomic.Int32
}

var theProxy = sync.OnceValue(func() *environmentProxy {
	p := &environmentProxy{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		fmt.Fprint(rw, "proxy")
	}))
	p.url = server.URL
	return p
})

// inEnvironment puts the proxy there, and gives what it was asked since the last
// time.
func inEnvironment(t *testing.T) func() []string {
	p := theProxy()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, p.url)
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	return func() []string {
		if p.asked.Swap(0) > 0 {
			return []string{"the proxy of the environment"}
		}
		return nil
	}
}
