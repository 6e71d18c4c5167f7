package manifest

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// ofConnection reports whether a header belongs to the connection and not to a
// request.
func ofConnection(header string) bool {
	switch strings.ToLower(header) {
	case "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive", "proxy-authorization", "proxy-connection":
		return true
	}
	return false
}

// hostLabel is one label of a host name, as DNS has it (RFC 1123).
var hostLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// checkHost checks the host of an HTTP rule: a name or an address, perhaps
// with *. before it for one label, perhaps with a scheme and a port.
func checkHost(text string) error {
	host := text
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if scheme != "https" && scheme != "http" {
			return fmt.Errorf("the scheme %q is neither https nor http", cut(scheme, 20))
		}
		host = rest
	}
	if strings.ContainsAny(host, "/?#@ ") {
		return fmt.Errorf("%q is more than a host", cut(text, 80))
	}
	host, port, err := splitPort(host)
	if err != nil {
		return err
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return fmt.Errorf("%q is not a port", cut(port, 20))
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Zone() == "" {
		return nil
	}
	return checkHostName(host)
}

// splitPort cuts the port off; an IPv6 address stands in brackets.
func splitPort(text string) (host, port string, err error) {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		host, after, closed := strings.Cut(inside, "]")
		port, colon := strings.CutPrefix(after, ":")
		if _, err := netip.ParseAddr(host); !closed || err != nil || after != "" && (!colon || port == "") {
			return "", "", fmt.Errorf("%q is not an IPv6 address in brackets", cut(text, 80))
		}
		return host, port, nil
	}
	host, port, colon := strings.Cut(text, ":")
	if colon && port == "" || strings.Contains(port, ":") {
		return "", "", fmt.Errorf("%q is not a host and a port; an IPv6 address stands in brackets", cut(text, 80))
	}
	return host, port, nil
}

func checkHostName(host string) error {
	name, wild := strings.CutPrefix(host, "*.")
	if len(name) > 253 {
		return errors.New("a host name has at most 253 letters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !hostLabel.MatchString(label) {
			return fmt.Errorf("%q is not a host: labels are lower-case letters, digits and dashes (other scripts as xn--…)", cut(host, 80))
		}
	}
	if wild && len(labels) < 2 {
		return fmt.Errorf("%q would open a whole top-level domain", cut(host, 80))
	}
	// 127.1 and 0x7f000001 are addresses to some resolvers.
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return fmt.Errorf("%q is neither a name nor a whole address", cut(host, 80))
	}
	return nil
}

// checkPath checks a path of an HTTP rule: whole segments, of which * stands
// for a part; nothing that two servers could read differently.
func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("the path %q does not begin with /", cut(path, 80))
	}
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`?#\%[]{}"<>^|`+"`", c) >= 0 {
			return fmt.Errorf("the path %q holds %q; write plain segments", cut(path, 80), string(rune(c)))
		}
	}
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		switch {
		case segment == "." || segment == "..":
			return fmt.Errorf("the path %q leads upwards or nowhere", cut(path, 80))
		case segment == "" && i < len(segments)-1:
			return fmt.Errorf("the path %q has an empty segment", cut(path, 80))
		case strings.Contains(segment, "**"):
			return fmt.Errorf("the path %q holds **; one * stands for a part of one segment", cut(path, 80))
		}
	}
	return nil
}
