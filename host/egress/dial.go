package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/abi"
)

const (
	// connectTimeout bounds each of: looking a name up and connecting, the
	// tunnel of a proxy, the TLS handshake.
	connectTimeout = 10 * time.Second
	// maxAddresses of one name are tried. Names with more have them for balance.
	maxAddresses = 8
	// headStart is what an address gets before the next one is tried beside it
	// (RFC 8305).
	headStart = 250 * time.Millisecond
)

// A dialer connects to addresses that it has checked. It is safe for
// concurrent use.
type dialer struct {
	guard   *guard
	lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	connect func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
}

func newDialer(cfg Config, g *guard, tlsConfig *tls.Config) *dialer {
	d := &dialer{guard: g, lookup: cfg.Lookup, connect: cfg.Dial}
	if d.lookup == nil {
		d.lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	if d.connect == nil {
		network := &net.Dialer{Control: d.control}
		d.connect = func(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
			return network.DialContext(ctx, "tcp", address.String())
		}
	}
	if cfg.Proxy != nil {
		d.connect = newTunnel(cfg.Proxy, tlsConfig).connect
	}
	return d
}

// dial connects to "host:port" for net/http.
func (d *dialer) dial(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil, err
	}
	addresses, err := d.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	return d.race(ctx, addresses, uint16(number))
}

// resolve gives the addresses of a name, all of them open.
func (d *dialer) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	found, err := d.addressesOf(ctx, name)
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, a := range found {
		if kind := d.guard.closes(a); kind != "" {
			return nil, closedError(name, kind)
		}
		addresses = append(addresses, a.Unmap()) // a look-up gives IPv4 in either form
	}
	return addresses[:min(len(addresses), maxAddresses)], nil
}

func (d *dialer) addressesOf(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a}, nil
	}
	addresses, err := d.lookup(ctx, name)
	if err == nil && len(addresses) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: name, IsNotFound: true}
	}
	return addresses, err
}

// control sees the address that a socket is about to connect to, whatever was
// looked up before.
func (d *dialer) control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %.60q: %w", address, err)
	}
	if kind := d.guard.closes(a.Addr()); kind != "" {
		return closedError(a.Addr().String(), kind)
	}
	return nil
}

func closedError(name, kind string) *abi.Problem {
	return abi.NewProblem(abi.ClosedAddress, "%.260s is or leads to an address that is not public (%s)", name, kind).
		WithHint("only the operator can open a range of such addresses, by egress.allow")
}

// race connects to the addresses in their order, each with a head start, and
// gives the first connection; the others are closed.
func (d *dialer) race(ctx context.Context, addresses []netip.Addr, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, len(addresses)) // nobody who is late has to wait
	running, started := 0, 0
	var failures error
	for {
		if started < len(addresses) {
			address := netip.AddrPortFrom(addresses[started], port)
			started++
			running++
			go func() {
				conn, err := d.connect(ctx, address)
				results <- result{conn, err}
			}()
		}
		var next <-chan time.Time
		if started < len(addresses) {
			next = time.After(headStart)
		}
		select {
		case r := <-results:
			if running--; r.err == nil {
				go func() {
					for range running {
						if late := <-results; late.err == nil {
							late.conn.Close()
						}
					}
				}()
				return r.conn, nil
			}
			if failures = errors.Join(failures, r.err); running == 0 && started == len(addresses) {
				return nil, failures
			}
		case <-next:
		}
	}
}
