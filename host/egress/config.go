package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of a Client where the configuration names none.
const (
	DefaultResponseBytes = 16 * abi.MiB     // of a body: half of a guest's default memory, a sixteenth of what one call may move
	DefaultHeaderBytes   = 64 * abi.KiB     // of a request, and of an answer: eight times what most servers send at most
	DefaultRedirects     = 5                // an http to https, a slash, a login and two for luck
	DefaultTimeout       = 30 * time.Second // of one request with its redirects; a call's own deadline is mostly shorter
	DefaultConnections   = 32               // to one origin: more than a replica of a few cores has calls in flight
)

// idle connections: of all origins, and how long. Servers mostly close theirs
// after a minute or two, and a request on a closed one costs a second try.
const (
	idleConnections = 256
	idleTimeout     = 60 * time.Second
)

// A Config says how all skills of a host get out. The zero value is safe:
// public addresses, no proxy, the bounds above.
type Config struct {
	// Allow opens ranges that are closed otherwise, for every skill whose
	// manifest names a host in them: 10.1.0.0/16 of the operator's own network.
	// Each has to lie inside one closed range; loopback, link-local and metadata
	// addresses are named one by one.
	Allow []netip.Prefix
	// Proxy (http or https, perhaps with a user) carries every connection in a
	// tunnel to the address that was looked up and checked here, also for plain
	// http. It may lie in a closed range. Nil is none; the environment's are
	// never asked.
	Proxy *url.URL
	// RootCAs are who may vouch for a server; nil means the system's.
	RootCAs *x509.CertPool

	ResponseBytes abi.Size      // of one body
	HeaderBytes   abi.Size      // of the headers of one request, and of one answer
	Redirects     int           // followed for one request; negative follows none
	Timeout       time.Duration // of one request, with its redirects and its body
	Connections   int           // to one origin at once; a request waits for one

	// Lookup gives the addresses of a name; nil asks the system. Dial connects to
	// an address that has passed every check; nil uses the network. Both are for
	// tests, which play name servers and public servers.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
}

// A Client is the way out of all skills of a host. It is safe for concurrent
// use.
type Client struct {
	cfg       Config
	transport *http.Transport
}

// New makes a client. An error is a BadValue that names the setting.
func New(cfg Config) (*Client, error) {
	g, err := newGuard(cfg.Allow)
	if err == nil {
		err = cfg.check()
	}
	if err != nil {
		return nil, host.Fail("egress.New", abi.NewProblem(abi.BadValue, "egress: %v", err), nil)
	}
	cfg.ResponseBytes = cmp.Or(cfg.ResponseBytes, DefaultResponseBytes)
	cfg.HeaderBytes = cmp.Or(cfg.HeaderBytes, DefaultHeaderBytes)
	cfg.Redirects = cmp.Or(cfg.Redirects, DefaultRedirects)
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.Connections = cmp.Or(cfg.Connections, DefaultConnections)
	tlsConfig := &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12}
	return &Client{cfg: cfg, transport: &http.Transport{
		// Proxy stays nil: the dialer makes the tunnel, so that a proxy is
		// asked for addresses that were checked, and never for names.
		DialContext:            newDialer(cfg, g, tlsConfig).dial,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    connectTimeout,
		ForceAttemptHTTP2:      true, // which a dialer of one's own would turn off
		DisableCompression:     true, // a body is bounded as it comes, and a guest unpacks it in its own memory
		MaxConnsPerHost:        cfg.Connections,
		MaxIdleConnsPerHost:    cfg.Connections,
		MaxIdleConns:           idleConnections,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: int64(cfg.HeaderBytes),
	}}, nil
}

func (c *Config) check() error {
	if p := c.Proxy; p != nil && (p.Scheme != "http" && p.Scheme != "https" || p.Hostname() == "") {
		return errors.New("the proxy is not an http:// or https:// address of a host")
	}
	if c.ResponseBytes < 0 || c.ResponseBytes > abi.HostCallBytes {
		return fmt.Errorf("an answer of %v is outside what one call may move, %v", c.ResponseBytes, abi.HostCallBytes)
	}
	if c.HeaderBytes < 0 || c.Timeout < 0 || c.Connections < 0 {
		return errors.New("a bound is negative; leave it out for the default")
	}
	return nil
}

// Close drops the kept connections. Requests under way end as they would.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
