package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// maxURLBytes is what most servers take of a request line.
const maxURLBytes = 8 << 10

// maxNameBytes is the longest name that DNS has (RFC 1035).
const maxNameBytes = 253

// A target is a URL in its one normal form. What is matched is what is sent.
type target struct {
	scheme string // http or https
	host   string // a lower-case name, or an address as netip writes it
	port   string // decimal, never empty
	path   string // begins with /; escaped, see normalPath
	query  string // as it was given, with its ?
}

// parseTarget reads an absolute URL. Nothing of the text is kept that it has not
// understood.
func parseTarget(text string) (target, error) {
	if err := checkText(text); err != nil {
		return target{}, err
	}
	scheme, rest, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "https" && scheme != "http" {
		return target{}, errors.New("it does not begin with https:// or http://")
	}
	return parseRest(scheme, rest)
}

// checkText refuses what has no place in a URL: other scripts belong there
// escaped, names of other scripts as xn--.
func checkText(text string) error {
	if len(text) > maxURLBytes {
		return fmt.Errorf("it has %d bytes; %d are taken", len(text), maxURLBytes)
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '\\' {
			return fmt.Errorf("byte %d is %#02x, which has to be escaped, or xn--... in a host", i, c)
		}
	}
	return nil
}

// parseRest reads what follows the scheme's ://. A fragment is for whoever asks
// and is not sent.
func parseRest(scheme, rest string) (target, error) {
	rest, _, _ = strings.Cut(rest, "#")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host, port, err := parseAuthority(rest[:end])
	if err != nil {
		return target{}, err
	}
	if port == "" {
		port = defaultPort(scheme)
	}
	t := target{scheme: scheme, host: host, port: port}
	return t.locate(rest[end:])
}

// locate gives the target with another path and query.
func (t target) locate(text string) (target, error) {
	path, query, ok := strings.Cut(text, "?")
	t.query = ""
	if ok {
		t.query = "?" + query
	}
	var err error
	t.path, err = normalPath(path)
	return t, err
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// parseAuthority reads a host and perhaps a port. The port is empty where none
// is given.
func parseAuthority(text string) (host, port string, err error) {
	if strings.ContainsAny(text, "@%") {
		return "", "", errors.New("its host holds a user, a zone or an escape, which are not taken")
	}
	host, port, err = splitPort(text)
	if err != nil {
		return "", "", err
	}
	if strings.HasPrefix(text, "[") {
		a, err := netip.ParseAddr(host)
		if err != nil || !a.Is6() || a.Is4In6() {
			return "", "", fmt.Errorf("[%.80s] is not an IPv6 address (write an IPv4 address as such)", host)
		}
		return a.String(), port, nil
	}
	host, err = parseHost(host)
	return host, port, err
}

func splitPort(text string) (host, port string, err error) {
	end := strings.IndexByte(text, ':')
	if inside, ok := strings.CutPrefix(text, "["); ok {
		if end = strings.IndexByte(inside, ']'); end < 0 {
			return "", "", errors.New("its host has no closing bracket")
		}
		host, text, end = inside[:end], inside[end+1:], 0
		if text == "" {
			return host, "", nil
		}
	} else if end < 0 {
		return text, "", nil
	} else {
		host = text[:end]
	}
	port, ok := strings.CutPrefix(text[end:], ":")
	if n, err := strconv.ParseUint(port, 10, 16); !ok || err != nil || n == 0 || port[0] == '0' {
		return "", "", fmt.Errorf("%.20q is not a port", port)
	}
	return host, port, nil
}

// hostLabel is one label of a host name, as DNS has it (RFC 1123).
var hostLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// parseHost reads a name, or an IPv4 address of four plain decimals. 127.1,
// 0177.0.0.1, 0x7f.1 and 2130706433 are addresses to some resolvers and names
// to others: they end in a number, and no name does.
func parseHost(text string) (string, error) {
	host := strings.ToLower(text)
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return host, nil
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if len(host) > maxNameBytes || !hostLabel.MatchString(label) {
			return "", fmt.Errorf("%.80q is not a host", text)
		}
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", fmt.Errorf("%.80q is neither a name nor an address of four plain decimals", text)
	}
	return host, nil
}

// follow gives where a Location leads from t.
func (t target) follow(location string) (target, error) {
	if err := checkText(location); err != nil {
		return target{}, err
	}
	location, _, _ = strings.Cut(location, "#")
	head := location
	if i := strings.IndexAny(head, "/?"); i >= 0 {
		head = head[:i]
	}
	switch {
	case strings.Contains(head, ":"): // a scheme: relative paths with one in their first segment do not exist (RFC 3986, 4.2)
		return parseTarget(location)
	case strings.HasPrefix(location, "//"):
		return parseRest(t.scheme, location[2:])
	case strings.HasPrefix(location, "/"):
		return t.locate(location)
	case head == "":
		return t.locate(t.path + location)
	}
	return t.locate(t.path[:strings.LastIndexByte(t.path, '/')+1] + location)
}

// sameOrigin reports whether both lead to one server as browsers see it.
func (t target) sameOrigin(u target) bool {
	return t.scheme == u.scheme && t.host == u.host && t.port == u.port
}

// authority gives host and port as they stand in a URL.
func (t target) authority() string {
	if t.port != defaultPort(t.scheme) {
		return net.JoinHostPort(t.host, t.port)
	}
	if strings.Contains(t.host, ":") {
		return "[" + t.host + "]"
	}
	return t.host
}

// url gives the target for net/http, which sends path and query to the letter.
func (t target) url() *url.URL {
	path, err := url.PathUnescape(t.path)
	if err != nil {
		panic("BUG: a normal path does not unescape: " + err.Error())
	}
	query, asked := strings.CutPrefix(t.query, "?")
	return &url.URL{Scheme: t.scheme, Host: t.authority(), Path: path, RawPath: t.path, RawQuery: query, ForceQuery: asked && query == ""}
}
