package egress

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// userAgent is what a request says of its sender unless the guest says more.
const userAgent = "sluice"

// idempotencyHeader is the name that payment services and the IETF's draft use.
const idempotencyHeader = "Idempotency-Key"

// refusedHeaders are not a guest's to send. The first line belongs to the
// connection, and two readers of one message could differ by it; the second
// makes servers take another method or path than the one that was allowed.
func refusedHeaders() []string {
	return []string{
		"host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "http2-settings",
		"x-http-method-override", "x-http-method", "x-method-override", "x-original-method", "x-original-url", "x-rewrite-url",
	}
}

// refusedHeader takes _ for -, as servers do that hand headers on as variables.
func refusedHeader(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return strings.HasPrefix(name, "proxy-") || slices.Contains(refusedHeaders(), name)
}

// travels reports whether a guest's header goes along to another origin: what
// says how to answer does, what may say who asks does not.
func travels(name string) bool {
	return slices.Contains([]string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Content-Language", "User-Agent"}, name)
}

// guestHeaders checks the headers of a guest's request.
func guestHeaders(given map[string]string, mostBytes int) (http.Header, *abi.Problem) {
	headers := http.Header{}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		size += len(name) + len(value) + len(": \r\n")
		key := http.CanonicalHeaderKey(name)
		switch _, twice := headers[key]; {
		case !validName(name):
			return nil, badHeader("%.40q is not the name of a header", name)
		case refusedHeader(name):
			return nil, badHeader("the header %.40s is the host's to send; leave it out", name)
		case twice:
			return nil, badHeader("the header %.40s stands twice", name)
		case !validValue(value):
			return nil, badHeader("the value of the header %.40s holds a control byte", name)
		case key == "Authorization" && ofConnection(value):
			return nil, badHeader("the header %.40s would log in a connection, which others use after this request", name)
		case size > mostBytes:
			return nil, badHeader("the headers have more than %v", abi.Size(mostBytes))
		}
		headers[key] = []string{value}
	}
	return headers, nil
}

func badHeader(format string, args ...any) *abi.Problem {
	return abi.NewProblem(abi.BadHostCall, format, args...).WithField("headers")
}

// ofConnection reports whether a scheme of authorisation logs in the connection
// instead of the request. Connections are kept for everybody.
func ofConnection(authorization string) bool {
	scheme, _, _ := strings.Cut(strings.TrimLeft(authorization, " \t"), " ")
	return strings.EqualFold(scheme, "NTLM") || strings.EqualFold(scheme, "Negotiate")
}

// validName reports whether name is a token (RFC 9110, 5.6.2).
func validName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

// validValue reports whether value can stand in one line of a header.
func validValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// answerHeaders gives what a guest sees of an answer's headers. Those of the
// connection mean nothing to it. A cookie that was set for the host's credential
// may be worth as much as the credential, which the guest never sees either.
func answerHeaders(from http.Header, withCredential bool) map[string]string {
	hidden := []string{"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
	for _, value := range from["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			hidden = append(hidden, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	if withCredential {
		hidden = append(hidden, "Set-Cookie", "Set-Cookie2")
	}
	headers := make(map[string]string, len(from))
	for name, values := range from {
		if !slices.Contains(hidden, name) && !strings.HasPrefix(name, "Proxy-") {
			headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	return headers
}
