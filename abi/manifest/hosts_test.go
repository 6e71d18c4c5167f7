package manifest

import (
	"strings"
	"testing"
)

func TestHostsOfRulesAreExactOrOfOneLabel(t *testing.T) {
	for _, host := range []string{
		"shop.example.com", "a.b.c.example.com", "*.example.com", "https://shop.example.com", "http://shop.example.com", "shop.example.com:8443",
		"https://*.example.com:8443", "erp", "xn--fiqs8s.cn", "3com.com", "203.0.113.7", "203.0.113.7:8080", "[2001:db8::1]", "https://[2001:db8::1]:8443", "x1.y2",
	} {
		if err := checkHost(host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	for host, want := range map[string]string{
		"":                              "is not a host",
		"*":                             "is not a host",
		"*.com":                         "would open a whole top-level domain",
		"*.*.example.com":               "is not a host",
		"shop.*.com":                    "is not a host",
		"shop*.example.com":             "is not a host",
		"*example.com":                  "is not a host",
		"Shop.example.com":              "is not a host",
		"shop_1.example.com":            "is not a host",
		"shop.example.com.":             "is not a host",
		".example.com":                  "is not a host",
		"shop..com":                     "is not a host",
		"-shop.com":                     "is not a host",
		"shop-.com":                     "is not a host",
		"商店.example.com":                "is not a host",
		strings.Repeat("a", 64):         "is not a host",
		strings.Repeat("a.", 130) + "b": "at most 253",
		"shop.example.com/api":          "is more than a host",
		"shop.example.com?x":            "is more than a host",
		"shop.example.com#x":            "is more than a host",
		"user@shop.example.com":         "is more than a host",
		"shop.example.com evil.com":     "is more than a host",
		"ftp://shop.example.com":        `the scheme "ftp" is neither https nor http`,
		"file:///etc/passwd":            `the scheme "file"`,
		"://shop.example.com":           `the scheme ""`,
		"shop.example.com:":             "is not a host and a port",
		"shop.example.com:0":            `"0" is not a port`,
		"shop.example.com:65536":        `"65536" is not a port`,
		"shop.example.com:https":        `"https" is not a port`,
		"shop.example.com:80:90":        "is not a host and a port",
		"2001:db8::1":                   "is not a host and a port; an IPv6 address stands in brackets",
		"[2001:db8::1":                  "is not an IPv6 address in brackets",
		"[2001:db8::1]8443":             "is not an IPv6 address in brackets",
		"[2001:db8::1]:":                "is not an IPv6 address in brackets",
		"[fe80::1%eth0]":                "",
		"[shop]":                        "is not an IPv6 address in brackets",
		"127.1":                         "is neither a name nor a whole address",
		"2130706433":                    "is neither a name nor a whole address",
		"0x7f000001":                    "is neither a name nor a whole address",
		"1.2.3.4.5":                     "is neither a name nor a whole address",
		"*.203.0.113.7":                 "is neither a name nor a whole address",
	} {
		if err := checkHost(host); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", host, err, want)
		}
	}
}

func TestPathsOfRulesAreReadByEveryServerAlike(t *testing.T) {
	for _, path := range []string{"/", "/api", "/api/", "/api/prices/*", "/api/*/items", "/a-b_c.~1/*.json", "/api/v1:batch", "/a;b=1,c", "/@me/(x)!$&'+="} {
		if err := checkPath(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, want := range map[string]string{
		"": "does not begin with /", "api": "does not begin with /", "*": "does not begin with /", "https://x/y": "does not begin with /",
		"/api/../x": "leads upwards", "/..": "leads upwards", "/./x": "leads upwards", "//x": "empty segment", "/a//b": "empty segment",
		"/a/**": "holds **", "/a?b=1": `holds "?"`, "/a#b": `holds "#"`, "/a%2e%2e/b": `holds "%"`, "/a\\b": `holds "\\"`, "/a b": `holds " "`, "/a\n": "holds", "/a\x00": "holds", "/商": "holds", "/[a]": "holds", "/{x}": "holds",
	} {
		if err := checkPath(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", path, err, want)
		}
	}
}
