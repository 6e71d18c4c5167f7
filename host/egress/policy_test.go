package egress

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestAPolicyOpensWhatItsRulesName(t *testing.T) {
	get := []string{"GET"}
	policy, err := Compile([]abi.HTTPRule{
		{Host: "shop.example.com", Methods: []string{"GET", "POST"}, Paths: []string{"/api/prices/*", "/", "/files/*.json", "/v1/*/items/a*b*c"}},
		{Host: "*.cdn.example.com", Methods: get, Paths: []string{"/img/*"}},
		{Host: "http://erp:8080", Methods: get, Paths: []string{"/x"}},
		{Host: "[2001:db8::1]:8443", Methods: get, Paths: []string{"/x"}},
		{Host: "closed.example.com"},
		{Host: "half.example.com", Methods: get},
	})
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		"GET https://shop.example.com/api/prices/1": "", "POST https://shop.example.com/api/prices/1?x=/../": "", "GET https://shop.example.com": "", "GET https://SHOP.example.com:443/": "",
		"GET https://shop.example.com/api/prices/": "path", "GET https://shop.example.com/api/prices": "path", "GET https://shop.example.com/api/prices/1/2": "path", "GET https://shop.example.com/api/prices/1/": "path",
		"GET https://shop.example.com/API/prices/1": "path", "GET https://shop.example.com/api/prices/1;x": "path", "GET https://shop.example.com/api/prices/%E5%95%86": "",
		"GET https://shop.example.com/files/a.json": "", "GET https://shop.example.com/files/.json": "", "GET https://shop.example.com/files/secret;.json": "path", "GET https://shop.example.com/files/a.jsonx": "path", "GET https://shop.example.com/files/a%2ejson": "taken",
		"GET https://shop.example.com/v1/z/items/abc": "", "GET https://shop.example.com/v1/z/items/axxbyybzzc": "", "GET https://shop.example.com/v1/z/items/abcd": "path", "GET https://shop.example.com/v1//items/abc": "taken",
		"DELETE https://shop.example.com/": "DELETE", "GET http://shop.example.com/": "open", "GET https://shop.example.com:8443/": "open", "GET https://example.com/": "open", "GET https://x.shop.example.com/": "open", "GET https://shop.example.com.evil.com/": "open", "GET https://evilshop.example.com/": "open",
		"GET https://a.cdn.example.com/img/1": "", "GET https://cdn.example.com/img/1": "open", "GET https://a.b.cdn.example.com/img/1": "open", "GET https://acdn.example.com/img/1": "open", "GET https://a.cdn.example.com.evil.com/img/1": "open",
		"GET http://erp:8080/x": "", "GET http://erp/x": "open", "GET https://erp:8080/x": "open", "GET https://[2001:db8:0:0::1]:8443/x": "", "GET https://closed.example.com/": "GET at", "GET https://half.example.com/": "path",
	} {
		method, text, _ := strings.Cut(request, " ")
		got, err := parseTarget(text)
		if err != nil {
			if want != "taken" {
				t.Errorf("%s: %v", request, err)
			}
			continue
		}
		_, problem := policy.authorise(method, got)
		if (problem == nil) != (want == "") || problem != nil && (problem.Code != abi.NotGranted || !strings.Contains(problem.Message, want)) {
			t.Errorf("%s: %v, want %q", request, problem, want)
		}
	}
	var none *Policy
	if _, problem := none.authorise("GET", target{scheme: "https", host: "a.b", port: "443", path: "/"}); problem == nil {
		t.Error("no policy opens everything")
	}
}

func TestARefusalSaysWhatIsOpen(t *testing.T) {
	policy, _ := Compile([]abi.HTTPRule{{Host: "*.example.com:8443"}, {Host: "http://[2001:db8::1]"}})
	_, problem := policy.authorise("GET", target{scheme: "https", host: "a.b", port: "443", path: "/"})
	if got := strings.Join(problem.Candidates, " "); got != "https://*.example.com:8443 http://[2001:db8::1]" {
		t.Errorf("the candidates are %s", got)
	}
}

func TestRulesThatCannotHoldAreNoPolicy(t *testing.T) {
	ok := abi.HTTPRule{Host: "a.b", Methods: []string{"GET"}, Paths: []string{"/"}}
	for name, change := range map[string]func(*abi.HTTPRule){
		"no host": func(r *abi.HTTPRule) { r.Host = "" }, "a star": func(r *abi.HTTPRule) { r.Host = "*" }, "a top-level domain": func(r *abi.HTTPRule) { r.Host = "*.com" }, "two stars": func(r *abi.HTTPRule) { r.Host = "*.*.b.c" },
		"a star inside": func(r *abi.HTTPRule) { r.Host = "a*.b.c" }, "a part of an address": func(r *abi.HTTPRule) { r.Host = "*.113.7" }, "parts of an address": func(r *abi.HTTPRule) { r.Host = "*.1.203.0.113" }, "another scheme": func(r *abi.HTTPRule) { r.Host = "ftp://a.b" },
		"a user": func(r *abi.HTTPRule) { r.Host = "u@a.b" }, "a path in the host": func(r *abi.HTTPRule) { r.Host = "a.b/c" }, "a short address": func(r *abi.HTTPRule) { r.Host = "127.1" }, "a mapped address": func(r *abi.HTTPRule) { r.Host = "[::ffff:1.2.3.4]" },
		"a method in small letters": func(r *abi.HTTPRule) { r.Methods = []string{"get"} }, "any method": func(r *abi.HTTPRule) { r.Methods = []string{"*"} }, "a tunnel": func(r *abi.HTTPRule) { r.Methods = []string{"CONNECT"} }, "an echo": func(r *abi.HTTPRule) { r.Methods = []string{"TRACE"} },
		"a relative path": func(r *abi.HTTPRule) { r.Paths = []string{"a"} }, "a path that climbs": func(r *abi.HTTPRule) { r.Paths = []string{"/a/../b"} }, "two stars in a path": func(r *abi.HTTPRule) { r.Paths = []string{"/**"} }, "an escape that is none": func(r *abi.HTTPRule) { r.Paths = []string{"/%61"} }, "no path": func(r *abi.HTTPRule) { r.Paths = []string{""} },
		"a credential in Host":           func(r *abi.HTTPRule) { r.Auth = &abi.HTTPAuth{Secret: "S", Header: "Host"} },
		"a credential in no header":      func(r *abi.HTTPRule) { r.Auth = &abi.HTTPAuth{Secret: "S", Header: "a b"} },
		"a prefix of two lines":          func(r *abi.HTTPRule) { r.Auth = &abi.HTTPAuth{Secret: "S", Header: "X", Prefix: "a\r\nb"} },
		"a credential without a secret":  func(r *abi.HTTPRule) { r.Auth = &abi.HTTPAuth{Header: "X"} },
		"a credential of the connection": func(r *abi.HTTPRule) { r.Auth = &abi.HTTPAuth{Secret: "S", Header: "Authorization", Prefix: "NTLM "} },
	} {
		bad := ok
		change(&bad)
		_, err := Compile([]abi.HTTPRule{ok, bad})
		if err == nil || host.ProblemOf(err).Code != abi.InvalidManifest || host.ProblemOf(err).Field != "capabilities.http[1]" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
