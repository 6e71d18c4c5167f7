package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// maxTunnelHeaderBytes is what a proxy may answer to CONNECT.
const maxTunnelHeaderBytes = 16 << 10

// A tunnel leads through a proxy to addresses that were looked up and checked
// here. A proxy that is asked for a name looks it up itself, at another moment
// and perhaps by another server, which is what a check has to exclude.
type tunnel struct {
	address string // of the proxy, host:port
	user    string // Proxy-Authorization as a whole line, or empty
	tls     *tls.Config
}

func newTunnel(proxy *url.URL, tlsConfig *tls.Config) *tunnel {
	t := &tunnel{address: proxy.Host}
	if proxy.Port() == "" {
		t.address = net.JoinHostPort(proxy.Hostname(), defaultPort(proxy.Scheme))
	}
	if proxy.Scheme == "https" {
		t.tls = tlsConfig.Clone()
		t.tls.ServerName = proxy.Hostname()
	}
	if proxy.User != nil {
		password, _ := proxy.User.Password()
		t.user = "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password)) + "\r\n"
	}
	return t
}

// connect gives a connection to address by way of the proxy.
func (t *tunnel) connect(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, fmt.Errorf("the proxy: %w", err)
	}
	// Whatever waits on the connection ends with ctx.
	stop := context.AfterFunc(ctx, func() { _ = plain.SetDeadline(time.Unix(1, 0)) })
	conn := plain
	if t.tls != nil {
		conn = tls.Client(plain, t.tls)
	}
	err = t.open(conn, address.String())
	if !stop() {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the proxy: %w", err)
	}
	return conn, nil
}

// open asks for the tunnel (RFC 9110, 9.3.6).
func (t *tunnel) open(conn net.Conn, address string) error {
	_, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n%s\r\n", address, address, userAgent, t.user)
	if err != nil {
		return err
	}
	reader := bufio.NewReader(io.LimitReader(conn, maxTunnelHeaderBytes))
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered CONNECT with %d", response.StatusCode)
	}
	if reader.Buffered() > 0 {
		return errors.New("bytes came through its tunnel before any were sent")
	}
	return nil
}
