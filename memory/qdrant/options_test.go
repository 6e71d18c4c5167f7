package qdrant

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/memory/memorytest"
)

const secret = "k3y-that-nobody-may-see"

func environment(name string) string {
	return map[string]string{"QDRANT_KEY": secret}[name]
}

func TestAURLSaysWhereAndHow(t *testing.T) {
	ca := memorytest.StartQdrant(t, memorytest.QdrantOptions{TLS: true}).CAFile()
	for _, tt := range []struct {
		url, address, collection, key string
		tls                           bool
		replicas                      uint32
	}{
		{"qdrant://127.0.0.1:6334/agents", "127.0.0.1:6334", "agents", "", false, 1},
		{"qdrant://localhost", "localhost:6334", "sluice_memory", "", false, 1},
		{"qdrant://[::1]:7000/a-b_C9/", "[::1]:7000", "a-b_C9", "", false, 1},
		{"qdrant://127.0.0.1?key_env=QDRANT_KEY", "127.0.0.1:6334", "sluice_memory", secret, false, 1},
		{"qdrant://qdrant.internal/agents?key_env=QDRANT_KEY&replicas=3", "qdrant.internal:6334", "agents", secret, true, 3},
		{"qdrant://10.0.0.7:6334", "10.0.0.7:6334", "sluice_memory", "", true, 1},
		{"qdrant://127.0.0.1?ca=" + ca, "127.0.0.1:6334", "sluice_memory", "", true, 1},
	} {
		got, problem := Options{URL: tt.url, Getenv: environment}.parse()
		if problem != nil {
			t.Errorf("%s: %v", tt.url, problem)
			continue
		}
		if got.address() != tt.address || got.collection != tt.collection || got.key != tt.key || (got.tls != nil) != tt.tls || got.replicas != tt.replicas {
			t.Errorf("%s: got %+v", tt.url, got)
		}
		if tt.tls && (got.tls.InsecureSkipVerify || got.tls.ServerName != got.host) {
			t.Errorf("%s: the certificate is not checked", tt.url)
		}
		if credentials := (apiKey{key: got.key, secured: got.tls != nil}); credentials.RequireTransportSecurity() != tt.tls {
			t.Errorf("%s: a key may go over the wire in the clear", tt.url)
		}
	}
}

// refusedURLs are the bad ones, with a part of what is said about them.
var refusedURLs = map[string]string{
	"":                                               "cannot be read",
	"http://localhost":                               "cannot be read",
	"qdrant:localhost":                               "cannot be read",
	"qdrant://a b":                                   "cannot be read",
	"qdrant://localhost/#x":                          "cannot be read",
	"qdrant://" + secret + "@localhost":              "a user or a key",
	"qdrant://user:" + secret + "@localhost":         "a user or a key",
	"qdrant://":                                      "needs a host",
	"qdrant://localhost:0":                           "a port from 1 to 65535",
	"qdrant://localhost:65536":                       "a port from 1 to 65535",
	"qdrant://localhost/a/b":                         "collection cannot be used",
	"qdrant://localhost/_a":                          "collection cannot be used",
	"qdrant://localhost/%E5%BA%97":                   "collection cannot be used",
	"qdrant://localhost?api_key=" + secret:           `"api_key" that is not known`,
	"qdrant://localhost?tls=off":                     `"tls" that is not known`,
	"qdrant://localhost?key_env=A&key_env=B":         "key_env of the memory index's URL needs one value",
	"qdrant://localhost?key_env=":                    "needs one value",
	"qdrant://localhost?key_env=UNSET":               "in UNSET, which is empty",
	"qdrant://localhost?replicas=0":                  "replicas=0",
	"qdrant://localhost?replicas=10":                 "replicas=10",
	"qdrant://localhost?ca=/nowhere/ca.pem":          "no certificates",
	"qdrant://localhost?key_env=%zz":                 "cannot be read",
	"qdrant://localhost/" + strings.Repeat("a", 101): "collection cannot be used",
}

func TestABadURLIsRefusedWithoutSayingAKey(t *testing.T) {
	for url, want := range refusedURLs {
		_, problem := Options{URL: url, Getenv: environment}.parse()
		if problem == nil || !strings.Contains(problem.Message, want) || problem.Hint == "" {
			t.Errorf("%s: got %v, want %q", url, problem, want)
		}
		if problem != nil && strings.Contains(problem.Error(), secret) {
			t.Errorf("%s: the problem tells the key: %v", url, problem)
		}
	}
}

func TestOptionsHaveBounds(t *testing.T) {
	for _, o := range []Options{{Dimensions: -1}, {Dimensions: MaxDimensions + 1}, {Timeout: -time.Second}, {Timeout: 2 * time.Minute}} {
		if _, problem := o.limits(); problem == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if timeout, problem := (Options{}).limits(); problem != nil || timeout != defaultTimeout {
		t.Errorf("got %s, %v", timeout, problem)
	}
}

func TestServersBeforeTheMinimumAndOfAnotherMajorVersionAreNotSupported(t *testing.T) {
	for version, want := range map[string]bool{
		"1.16.0": true, "1.16.3": true, "1.17.1": true, "1.100.0": true, "1.17.0-rc.1": true,
		"1.15.5": false, "1.2.0": false, "0.16.0": false, "2.0.0": false, "": false, "latest": false, "v1.17.1": false,
	} {
		if supported(version) != want {
			t.Errorf("%q: got %t", version, !want)
		}
	}
}

func FuzzURL(f *testing.F) {
	for url := range refusedURLs {
		f.Add(url)
	}
	f.Add("qdrant://[::1]:7000/a-b_C9/?key_env=QDRANT_KEY&replicas=3")
	f.Fuzz(func(t *testing.T, url string) {
		if strings.Contains(url, "ca=") && !strings.Contains(url, filepath.Join("/nowhere", "ca.pem")) {
			return // it would read whatever file the fuzzer thinks of
		}
		got, problem := Options{URL: url, Getenv: environment}.parse()
		if problem != nil {
			if strings.Contains(problem.Error(), secret) {
				t.Errorf("the problem tells the key: %v", problem)
			}
			return
		}
		if got.host == "" || got.port < 1 || got.port > 65535 || !collectionName.MatchString(got.collection) || got.replicas < 1 || got.replicas > MaxReplicas {
			t.Errorf("got %+v", got)
		}
		if got.tls == nil && !isLoopback(got.host) {
			t.Errorf("%s is spoken to in the clear", got.host)
		}
	})
}
