package egress_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host/egress"
)

// The public addresses of the world that the tests play.
const (
	frontAddress = "93.184.215.14" // of every name that is not in names
	otherAddress = "93.184.215.15"
)

// A world is a name server and a network of local servers: a front and another
// shop at public addresses, and one inner server at every address that a skill
// has no business with.
type world struct {
	t     testing.TB
	names map[string][]string // the addresses of a name, by look-up; the last one stays

	front, frontTLS, other, inner string // host:port of the real servers
	roots                         *x509.CertPool
	proxy                         string        // the proxy that stands in the environment, where a test has one
	stop                          chan struct{} // closed when the test ends, for handlers that never would

	mu      sync.Mutex
	lookups map[string]int
	reached []string // what should not have been reached; guarded by mu
	dialled []string // addresses; guarded by mu
	seen    []*http.Request
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, names: map[string][]string{"other.example.com": {otherAddress}}, lookups: map[string]int{}, stop: make(chan struct{})}
	w.front, _ = w.serve((*httptest.Server).Start, w.handleFront)
	var certificate *x509.Certificate
	w.frontTLS, certificate = w.serve((*httptest.Server).StartTLS, w.handleFront)
	w.roots = x509.NewCertPool()
	w.roots.AddCert(certificate)
	w.other, _ = w.serve((*httptest.Server).Start, w.handleOther)
	w.inner, _ = w.serve((*httptest.Server).Start, func(rw http.ResponseWriter, r *http.Request) {
		w.breach("an inner server")
		fmt.Fprint(rw, "inner")
	})
	t.Cleanup(func() { close(w.stop) })
	return w
}

func (w *world) serve(start func(*httptest.Server), handle http.HandlerFunc) (string, *x509.Certificate) {
	server := httptest.NewUnstartedServer(handle)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(server)
	w.t.Cleanup(server.Close)
	return server.Listener.Addr().String(), server.Certificate()
}

func (w *world) breach(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = append(w.reached, what)
}

// breaches gives what was reached since the last time.
func (w *world) breaches() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	reached := w.reached
	w.reached, w.lookups = nil, map[string]int{}
	return reached
}

// requests gives what the front and the other shop saw since the last time.
func (w *world) requests() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

func (w *world) see(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, r)
}

// handleFront is the shop that the manifest opens, below /api/.
func (w *world) handleFront(rw http.ResponseWriter, r *http.Request) {
	w.see(r)
	switch query := r.URL.Query(); {
	case !strings.HasPrefix(r.URL.Path, "/api/") || strings.Contains(r.URL.Path, ".."):
		w.breach("the path " + r.URL.Path)
	case query.Has("to"):
		status, _ := strconv.Atoi(query.Get("status"))
		rw.Header().Set("Location", query.Get("to"))
		rw.WriteHeader(max(status, http.StatusFound))
	case query.Has("loop"):
		n, _ := strconv.Atoi(query.Get("loop"))
		http.Redirect(rw, r, fmt.Sprintf("/api/x?loop=%d", n+1), http.StatusFound)
	case query.Has("huge"):
		var pause time.Duration
		if query.Has("slow") {
			pause = 5 * time.Millisecond
		}
		w.pour(rw, query.Get("huge"), pause)
	case query.Has("slow"):
		w.pour(rw, "", 20*time.Millisecond)
	case query.Has("close"):
		rw.Header().Set("Connection", "close")
		fmt.Fprint(rw, "front")
	default:
		body, _ := io.ReadAll(r.Body)
		rw.Header().Add("X-Twice", "a")
		rw.Header().Add("X-Twice", "b")
		rw.Header().Set("Set-Cookie", "session=1")
		rw.Header().Set("Proxy-Authenticate", "Basic")
		fmt.Fprintf(rw, "front %s %s", r.Method, body)
	}
}

// pour answers with 10 GB, declared or in chunks of a megabyte, or else a byte at a time.
func (w *world) pour(rw http.ResponseWriter, declared string, pause time.Duration) {
	const total = 10_000_000_000
	if declared == "declared" {
		rw.Header().Set("Content-Length", strconv.Itoa(total))
	}
	chunk := make([]byte, 1<<20)
	if declared == "" {
		chunk = chunk[:1]
	}
	for sent := 0; sent < total; sent += len(chunk) {
		if _, err := rw.Write(chunk); err != nil {
			return
		}
		rw.(http.Flusher).Flush()
		select {
		case <-w.stop:
			return
		case <-time.After(pause):
		}
	}
}

// handleOther is another shop; a credential that comes here was not meant for
// it.
func (w *world) handleOther(rw http.ResponseWriter, r *http.Request) {
	w.see(r)
	for name, values := range r.Header {
		if strings.Contains(strings.Join(values, ","), "hush") {
			w.breach("a credential in " + name)
		}
	}
	if to := r.URL.Query().Get("to"); to != "" {
		http.Redirect(rw, r, to, http.StatusFound)
		return
	}
	fmt.Fprint(rw, "other")
}

// lookup is the world's name server. Spellings of addresses are what glibc
// makes of them.
func (w *world) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	if a, ok := spelling(name); ok {
		return []netip.Addr{a}, nil
	}
	answers, ok := w.names[name]
	if !ok {
		answers = []string{frontAddress}
	}
	w.mu.Lock()
	turn := min(w.lookups[name], len(answers)-1)
	w.lookups[name]++
	w.mu.Unlock()
	var addresses []netip.Addr
	for text := range strings.FieldsSeq(answers[turn]) {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	return addresses, nil
}

// spelling reads an IPv4 address as inet_aton does.
func spelling(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	var value uint64
	for i, part := range parts {
		if part != "" && part[0] == '0' && len(part) > 1 && part[1] != 'x' {
			part = "0o" + part[1:]
		}
		n, err := strconv.ParseUint(part, 0, 32)
		if err != nil || len(parts) > 4 {
			return netip.Addr{}, false
		}
		if i == len(parts)-1 {
			value |= n
		} else {
			value |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// dial is the world's network.
func (w *world) dial(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	server := w.inner
	switch a := address.Addr().Unmap().String(); {
	case a == frontAddress && address.Port() == 80:
		server = w.front
	case a == frontAddress && address.Port() == 443:
		server = w.frontTLS
	case a == otherAddress:
		server = w.other
	}
	w.mu.Lock()
	w.dialled = append(w.dialled, address.String())
	w.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, "tcp", server)
}

// config is that of a client in this world. Its network reaches closed ranges
// as well as open ones.
func (w *world) config() egress.Config {
	return egress.Config{Lookup: w.lookup, Dial: w.dial, RootCAs: w.roots, Timeout: 20 * time.Second}
}

func (w *world) client(change func(*egress.Config)) *egress.Client {
	w.t.Helper()
	cfg := w.config()
	if change != nil {
		change(&cfg)
	}
	client, err := egress.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	return client
}

// unguarded is how a plain client meets this world, as the reference host does.
func (w *world) unguarded() *http.Transport {
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: w.roots},
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			if address == w.proxy {
				return (&net.Dialer{}).DialContext(ctx, "tcp", address)
			}
			name, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			a, err := netip.ParseAddr(name)
			if err != nil {
				found, err := w.lookup(ctx, strings.TrimSuffix(name, "."))
				if err != nil {
					return nil, err
				}
				a = found[0]
			}
			number, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, err
			}
			return w.dial(ctx, netip.AddrPortFrom(a, uint16(number)))
		},
	}
}
