package server

import (
	"net"
	"net/netip"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Listen listens on a loopback address such as "127.0.0.1:7700", "[::1]:0" or
// "localhost:7700"; port 0 takes a free one. Any other address is refused with
// BadValue: whoever reaches the server can act as every user. An address that
// cannot be had is SystemFailure.
func Listen(addr string) (net.Listener, error) {
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, host.Fail("server.Listen", abi.NewProblem(abi.BadValue, "%.80q is not an address", addr).
			WithHint("write a host and a port, such as 127.0.0.1:7700"), err)
	}
	if !isLoopback(name) {
		return nil, host.Fail("server.Listen", abi.NewProblem(abi.BadValue,
			"%.80q can be reached from outside this machine, and there is no authentication yet", addr).
			WithHint("listen on 127.0.0.1:%s, and put a proxy that authenticates in front of it", port), nil)
	}
	if strings.EqualFold(name, "localhost") {
		name = "127.0.0.1" // not what a name server says
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(name, port))
	if err != nil {
		return nil, host.Fail("server.Listen", abi.NewProblem(abi.SystemFailure, "cannot listen on %.80s", addr).
			WithHint("see whether another server is running there, or choose another port"), err)
	}
	return ln, nil
}

// isLoopback reports whether a host name or address can only be this machine.
func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// hostName gives the host of a Host header, without port and brackets.
func hostName(header string) string {
	if name, _, err := net.SplitHostPort(header); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
}
