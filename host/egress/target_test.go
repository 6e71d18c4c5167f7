package egress

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestURLsHaveOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"https://shop.example.com":                  "https://shop.example.com/",
		"HTTPS://Shop.Example.COM:443/A":            "https://shop.example.com/A",
		"http://shop.example.com:80/a?b=c#d":        "http://shop.example.com/a?b=c",
		"https://shop.example.com:8443?x":           "https://shop.example.com:8443/?x",
		"https://shop.example.com?":                 "https://shop.example.com/?",
		"https://shop.example.com#@evil.com/":       "https://shop.example.com/",
		"https://203.0.113.7/":                      "https://203.0.113.7/",
		"https://[2001:DB8:0::1]:443/":              "https://[2001:db8::1]/",
		"https://xn--fiqs8s.cn/%e5%95%86/%7Ea%61":   "https://xn--fiqs8s.cn/%E5%95%86/~aa",
		"https://a.b/x%20y/100%25/z;v=1,2/@:!$&'()": "https://a.b/x%20y/100%25/z;v=1,2/@:!$&'()",
		"https://a.b/c/?u=http://x@y/../%2e%2e":     "https://a.b/c/?u=http://x@y/../%2e%2e",
		"https://a.b/...":                           "https://a.b/...",
	} {
		got, err := parseTarget(text)
		if err != nil || got.url().String() != want {
			t.Errorf("%s became %s, %v, want %s", text, got.url(), err, want)
		}
	}
}

func TestURLsThatTwoReadersCouldReadDifferentlyAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "shop.example.com", "//shop.example.com/", "/api", "ftp://a.b/", "file:///etc/passwd", "gopher://a.b/", "javascript:alert(1)", "https:/a.b", "https:a.b", "https:///a.b", "https://", "http+unix://a.b/", " https://a.b/", "https://a.b/ ",
		"https://user@a.b/", "https://user:pw@a.b/", "https://a.b@evil.com/", "https://a.b%40evil.com/", "https://@a.b/", "https://a.b:443@evil.com/", `https://a.b\@evil.com/`, `https://a.b\.evil.com/`, "https://a.b\t/", "https://a.b\r\nHost: x/", "https://a.b/\x00", "https://a.b/\x7f", "https://ａ.b/", "https://商店.cn/", "https://a.b/商", "https://a。b/",
		"https://a..b/", "https://.a.b/", "https://a.b./", "https://-a.b/", "https://a_b.c/", "https://a.b%2ec/", "https://*.a.b/", "https://[a.b]/", "https://[::1/", "https://::1/", "https://[::1]a/", "https://[fe80::1%25eth0]/", "https://[::ffff:127.0.0.1]/", "https://[127.0.0.1]/", "https://a[::1]/", "https://" + strings.Repeat("a.", 127) + "a/", "https://" + strings.Repeat("a", 64) + ".b/",
		"https://a.b:/", "https://a.b:0/", "https://a.b:0443/", "https://a.b:+443/", "https://a.b:65979/", "https://a.b:443:80/", "https://a.b:https/", "https://a.b:443%00/", "https://[::1]:/",
		"http://127.1/", "http://127.0.1/", "http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://0x7f.1/", "http://0x7f000001/", "http://2130706433/", "http://017700000001/", "http://127.0.0.01/", "http://127.0.0.0x1/", "http://1.2.3.4.5/", "http://0/", "http://00000177.1/", "http://127.0.0.1./", "http://256.0.0.1/",
		"https://a.b/../c", "https://a.b/c/..", "https://a.b/./c", "https://a.b/c/.", "https://a.b/%2e%2e/c", "https://a.b/%2E/c", "https://a.b/.%2e/c", "https://a.b/c%2fd", "https://a.b/c%2Fd", "https://a.b/c%5cd", "https://a.b//c", "https://a.b/c//", "https://a.b/..;/c", "https://a.b/.;x/c", "https://a.b/;x/c", "https://a.b/c;/..;a=b/d", "https://a.b/c%3bd", "https://a.b/%252e%252e/c", "https://a.b/c%252fd", "https://a.b/%25%32%65", "https://a.b/%00", "https://a.b/%0d%0aX:y", "https://a.b/%7f", "https://a.b/%c0%ae%c0%ae/c", "https://a.b/%ff", "https://a.b/%", "https://a.b/%4", "https://a.b/%zz", "https://a.b/[x]", "https://a.b/{x}", "https://a.b/a|b", `https://a.b/"`,
		"https://a.b/" + strings.Repeat("x", maxURLBytes),
	} {
		if got, err := parseTarget(text); err == nil {
			t.Errorf("%.80q was taken as %s", text, got.url())
		}
	}
}

func TestRedirectsAreReadFromWhereTheyStand(t *testing.T) {
	from, err := parseTarget("https://a.b:8443/c/d/e?f")
	if err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"/x?y#z": "https://a.b:8443/x?y", "x": "https://a.b:8443/c/d/x", "x/y?z": "https://a.b:8443/c/d/x/y?z", "?g": "https://a.b:8443/c/d/e?g",
		"//c.d/x": "https://c.d/x", "http://c.d": "http://c.d/", "HTTPS://A.B:8443/": "https://a.b:8443/", "/a:b": "https://a.b:8443/a:b", "x?a:b": "https://a.b:8443/c/d/x?a:b",
	} {
		got, err := from.follow(location)
		if err != nil || got.url().String() != want {
			t.Errorf("%s leads to %s, %v, want %s", location, got.url(), err, want)
		}
	}
	for _, location := range []string{"../x", "./x", "/..", "///evil.com", "/\\evil.com", `\\evil.com`, "https:evil.com", "https:/evil.com", "javascript:x", "data:,x", "//user@c.d/", "//c.d:0/", "/%2e%2e/x", " /x", "/x\r\ny", "//0x7f.1/", "///", "a:b"} {
		if got, err := from.follow(location); err == nil {
			t.Errorf("%q leads to %s", location, got.url())
		}
	}
}

// FuzzURL: nothing panics, and what is accepted is, to another reader of URLs,
// the host and the path that were matched.
func FuzzURL(f *testing.F) {
	for _, text := range []string{"https://shop.example.com/api/prices/1?x=1#f", "http://[2001:db8::1]:8080/%e5%95%86;a/~", "https://a.b@c.d/", "http://0x7f.1/..;/", "https://a.b/%252e//", "https://*.example.com:443"} {
		f.Add(text, "/x")
	}
	policy, err := Compile([]abi.HTTPRule{{Host: "*.example.com", Methods: []string{"GET"}, Paths: []string{"/api/*", "/*/b*c.*"}}, {Host: "http://[2001:db8::1]:8080", Methods: []string{"GET"}, Paths: []string{"/*"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, location string) {
		_, _ = Compile([]abi.HTTPRule{{Host: text, Methods: []string{"GET"}, Paths: []string{location}}})
		first, err := parseTarget(text)
		if err != nil {
			return
		}
		second, err := first.follow(location)
		if err != nil {
			second = first
		}
		for _, got := range []target{first, second} {
			_, _ = policy.authorise("GET", got)
			sent := got.url()
			read, err := url.Parse(sent.String())
			if err != nil {
				t.Fatalf("%q was taken, and is no URL to another reader: %v", text, err)
			}
			port := read.Port()
			if port == "" {
				port = defaultPort(read.Scheme)
			}
			if read.Scheme != got.scheme || read.Hostname() != got.host || port != got.port || read.User != nil || read.Fragment != "" || read.EscapedPath() != got.path {
				t.Fatalf("%q was matched as %+v and reads as %+v", text, got, read)
			}
			if sent.RequestURI() != got.path+got.query {
				t.Fatalf("%q was matched as %q and is sent as %q", text, got.path+got.query, sent.RequestURI())
			}
			if clean := path.Clean(read.Path); clean != read.Path && clean+"/" != read.Path {
				t.Fatalf("%q has a path that cleaning changes: %q", text, read.Path)
			}
			if again, err := parseTarget(sent.String()); err != nil || again != got {
				t.Fatalf("%q became %+v, and that %+v, %v", text, got, again, err)
			}
		}
	})
}
