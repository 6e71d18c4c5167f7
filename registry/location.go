package registry

import (
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// locate reads the address of a repository. It does not look whether there is
// one.
func locate(address string) (place, error) {
	refuse := func(why string) (place, error) {
		return place{}, host.Fail("registry", abi.NewProblem(abi.BadArguments, "this registry's address cannot be used: %s", why).
			WithHint("give a path, file:///path, https://host/path or ssh://user@host/path"), nil)
	}
	if address == "" || strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return refuse("it is empty or has control characters")
	}
	endpoint, err := transport.NewEndpoint(address)
	if err != nil {
		return refuse("it is not a URL") // the cause would quote the password
	}
	switch endpoint.Protocol {
	case "file":
		if endpoint.Host != "" && endpoint.Host != "localhost" {
			return refuse("file:// takes three slashes and a whole path")
		}
		path := filepath.Clean(filepath.FromSlash(endpoint.Path))
		return place{path, &local{path}}, nil
	case "http", "https", "ssh":
		if endpoint.Host == "" || strings.ContainsAny(endpoint.Path, "?#") {
			return refuse("it has no host, or a query")
		}
		endpoint.Path = strings.TrimRight(endpoint.Path, "/")
		where := newRemote(endpoint)
		return place{where.String(), where}, nil
	}
	return refuse("the scheme " + endpoint.Protocol + " is not supported")
}
