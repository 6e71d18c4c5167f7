package egress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// A Policy is what one skill may reach. Nil, and one of no rules, opens
// nothing. It does not change and is safe for concurrent use.
type Policy struct{ rules []rule }

// A rule is one abi.HTTPRule, ready to be held against targets.
type rule struct {
	scheme  string
	host    string // without the *. of a wild one
	wild    bool   // one label more than host
	port    string
	methods []string
	paths   []string
	auth    *abi.HTTPAuth
}

// methods are what a rule may open. CONNECT and TRACE are not among them: one
// makes a tunnel, the other shows the host's credentials to the guest.
func methods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
}

// Compile makes a policy of a manifest's rules:
//
//   - a host is exact, or *.example.com for exactly one label more; https and
//     its port hold where the rule names none, http:// and :8443 have to be said;
//   - a path is matched segment by segment; * stands for a part of one segment,
//     or for one whole segment, which then is not empty: /api/* opens /api/a,
//     neither /api/ nor /api/a/b. It never stands for a semicolon, after which
//     some servers look for parameters. There is no **;
//   - no methods and no paths open nothing.
//
// An error is an InvalidManifest: what the manifest's own check lets through is
// checked again here.
func Compile(rules []abi.HTTPRule) (*Policy, error) {
	p := &Policy{}
	for i, r := range rules {
		compiled, err := compileRule(r)
		if err != nil {
			problem := abi.NewProblem(abi.InvalidManifest, "%v", err).WithField(fmt.Sprintf("capabilities.http[%d]", i))
			return nil, host.Fail("egress.Compile", problem, nil)
		}
		p.rules = append(p.rules, compiled)
	}
	return p, nil
}

func compileRule(r abi.HTTPRule) (rule, error) {
	scheme, rest, ok := strings.Cut(r.Host, "://")
	if !ok {
		scheme, rest = "https", r.Host
	}
	if scheme != "https" && scheme != "http" {
		return rule{}, fmt.Errorf("the scheme %.20q is neither https nor http", scheme)
	}
	rest, wild := strings.CutPrefix(rest, "*.")
	name, port, err := parseAuthority(rest)
	if err != nil {
		return rule{}, fmt.Errorf("the host %.80q: %w", r.Host, err)
	}
	if wild && (!strings.Contains(name, ".") || strings.Trim(name, "0123456789.") == "") {
		return rule{}, fmt.Errorf("the host %.80q would open a whole top-level domain, or parts of an address", r.Host)
	}
	if port == "" {
		port = defaultPort(scheme)
	}
	for _, m := range r.Methods {
		if !slices.Contains(methods(), m) {
			return rule{}, fmt.Errorf("%.20q is not a method that can be opened", m)
		}
	}
	for _, glob := range r.Paths {
		if normal, err := normalPath(glob); err != nil || normal != glob || glob == "" || strings.Contains(glob, "**") {
			return rule{}, fmt.Errorf("the path %.80q is not one of plain segments, such as /api/prices/*", glob)
		}
	}
	return rule{scheme, name, wild, port, slices.Clone(r.Methods), slices.Clone(r.Paths), r.Auth}, checkAuth(r.Auth)
}

func checkAuth(auth *abi.HTTPAuth) error {
	if auth == nil {
		return nil
	}
	if !validName(auth.Header) || refusedHeader(auth.Header) {
		return fmt.Errorf("the header %.80q cannot carry a credential", auth.Header)
	}
	if auth.Secret == "" || !validValue(auth.Prefix) {
		return fmt.Errorf("the credential for %s has no secret, or a prefix that no header can hold", auth.Header)
	}
	if ofConnection(auth.Prefix) {
		return fmt.Errorf("%.20q would log in a connection, which others use as well", auth.Prefix)
	}
	return nil
}

// authorise gives the first rule that opens a request, or a problem that says
// what of it is not opened.
func (p *Policy) authorise(method string, t target) (*rule, *abi.Problem) {
	var hostOpen, methodOpen bool
	var hosts []string
	if p == nil {
		p = &Policy{}
	}
	for i := range p.rules {
		r := &p.rules[i]
		hosts = append(hosts, r.name())
		if !r.opensHost(t) {
			continue
		}
		hostOpen = true
		if !slices.Contains(r.methods, method) {
			continue
		}
		methodOpen = true
		if slices.ContainsFunc(r.paths, func(glob string) bool { return matchPath(glob, t.path) }) {
			return r, nil
		}
	}
	at := t.scheme + "://" + t.authority()
	switch {
	case !hostOpen:
		return nil, abi.NewProblem(abi.NotGranted, "the manifest does not open %.300s", at).WithField("url").WithCandidates(hosts...)
	case !methodOpen:
		return nil, abi.NewProblem(abi.NotGranted, "the manifest does not open %.20s at %.300s", method, at).WithField("method")
	}
	return nil, abi.NewProblem(abi.NotGranted, "the manifest does not open %.20s of the path %.200s at %.300s", method, t.path, at).WithField("url")
}

// name gives the rule's origin as a manifest says it.
func (r *rule) name() string {
	text := target{scheme: r.scheme, host: r.host, port: r.port}.authority()
	if r.wild {
		text = "*." + text
	}
	return r.scheme + "://" + text
}

func (r *rule) opensHost(t target) bool {
	if r.scheme != t.scheme || r.port != t.port {
		return false
	}
	if !r.wild {
		return r.host == t.host
	}
	label, rest, ok := strings.Cut(t.host, ".")
	return ok && label != "" && rest == r.host
}

// matchPath matches segment by segment.
func matchPath(glob, path string) bool {
	for {
		g, globRest, moreGlob := strings.Cut(glob, "/")
		p, pathRest, morePath := strings.Cut(path, "/")
		if moreGlob != morePath || !matchSegment(g, p) {
			return false
		}
		if !moreGlob {
			return true
		}
		glob, path = globRest, pathRest
	}
}

// matchSegment matches one segment: where a star fails, the last one takes a
// byte more. The time is at most the product of both lengths, which are bounded.
func matchSegment(glob, text string) bool {
	if glob == "*" && text == "" {
		return false
	}
	star, retry, g := -1, 0, 0
	for i := 0; i < len(text); {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, retry = g, i
			g++
		case g < len(glob) && glob[g] == text[i]:
			g++
			i++
		case star >= 0 && text[retry] != ';':
			retry++
			g, i = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
