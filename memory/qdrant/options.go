package qdrant

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
)

const (
	scheme            = "qdrant"
	defaultPort       = 6334 // of Qdrant's gRPC
	defaultCollection = "sluice_memory"
	form              = "give qdrant://host:port/collection?key_env=NAME"
)

// Bounds of the options.
const (
	MaxDimensions  = 65_536 // Qdrant's own bound of a dense vector
	MaxReplicas    = 9      // a majority of more would make every search wait for five servers
	defaultTimeout = 5 * time.Second
	maxTimeout     = time.Minute
)

// collectionName is what may name an index: a subset of what Qdrant allows, short
// enough for the hash that is added.
var collectionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// Options say where an index is and what it holds.
type Options struct {
	// URL is qdrant://host:port/collection, where the port (6334) and the
	// collection (sluice_memory) may be left out, with these settings and no others:
	//
	//	key_env=NAME   the API key is in this environment variable; it needs the
	//	               right to manage collections
	//	ca=/path.pem   the authorities that the server's certificate is checked
	//	               against, instead of the system's
	//	replicas=N     on how many servers of a cluster the collection lies, 1 to 9; 1 by default.
	//	               It counts when the collection is made.
	//
	// Another machine is only spoken to with TLS; this one in the clear, unless
	// there is a ca. A key has no place in the URL.
	URL string

	// Dimensions is the length of dense vectors; 0 for an index without them.
	Dimensions int

	// Timeout bounds one attempt of one request; 5 s by default, at most 1 min. What Reset
	// asks for may take a minute.
	Timeout time.Duration

	// Getenv finds the API key; by default in this process's environment.
	Getenv func(name string) string
}

// A target is what a URL says, checked.
type target struct {
	host       string
	port       int
	collection string
	keyEnv     string
	key        string
	tls        *tls.Config // nil in the clear
	replicas   uint32
}

// address is the target for messages.
func (t target) address() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

// parse reads the URL. No problem says what might be a key.
func (o Options) parse() (target, *abi.Problem) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != scheme || u.Opaque != "" || u.Fragment != "" {
		return target{}, badURL("the memory index's URL cannot be read")
	}
	if u.User != nil {
		return target{}, badURL("the memory index's URL has a user or a key in it, where it may be seen")
	}
	t := target{host: u.Hostname(), collection: cmp.Or(strings.Trim(u.Path, "/"), defaultCollection), replicas: 1}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), strconv.Itoa(defaultPort)), 10, 16)
	if t.port = int(port); err != nil || port == 0 || t.host == "" {
		return target{}, badURL("the memory index's URL needs a host, and a port from 1 to 65535")
	}
	if !collectionName.MatchString(t.collection) {
		return target{}, badURL("the name of the memory index's collection cannot be used").
			WithHint("give 1 to 100 letters, digits, _ and -, the first no sign")
	}
	settings, problem := readSettings(u.RawQuery)
	if problem != nil {
		return target{}, problem
	}
	return o.applySettings(t, settings)
}

func badURL(format string, args ...any) *abi.Problem {
	return abi.NewProblem(abi.StoreFailure, format, args...).WithHint(form)
}

// readSettings gives the settings of a URL. One that nobody knows is refused: it
// might be meant to protect something.
func readSettings(raw string) (map[string]string, *abi.Problem) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badURL("the settings of the memory index's URL cannot be read")
	}
	settings := map[string]string{}
	for name, values := range query {
		switch name {
		case "key_env", "ca", "replicas":
		default:
			return nil, badURL("the memory index's URL has a setting %q that is not known", name).WithHint("known are key_env, ca and replicas")
		}
		if len(values) != 1 || values[0] == "" {
			return nil, badURL("the setting %s of the memory index's URL needs one value", name)
		}
		settings[name] = values[0]
	}
	return settings, nil
}

func (o Options) applySettings(t target, settings map[string]string) (target, *abi.Problem) {
	if t.keyEnv = settings["key_env"]; t.keyEnv != "" {
		if t.key = o.getenv(t.keyEnv); t.key == "" {
			return target{}, abi.NewProblem(abi.StoreFailure, "the API key of the memory index is to be in %s, which is empty", t.keyEnv).
				WithHint("set that environment variable")
		}
	}
	if text := settings["replicas"]; text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n < 1 || n > MaxReplicas {
			return target{}, badURL("replicas=%s makes no sense for the memory index", text).WithHint("give 1 to %d", MaxReplicas)
		}
		t.replicas = uint32(n)
	}
	var problem *abi.Problem
	t.tls, problem = tlsFor(t.host, settings["ca"])
	return t, problem
}

func (o Options) getenv(name string) string {
	if o.Getenv != nil {
		return o.Getenv(name)
	}
	return os.Getenv(name)
}

// tlsFor gives the TLS of a connection: none to this machine, unless there is
// an authority to check it against.
func tlsFor(host, ca string) (*tls.Config, *abi.Problem) {
	if ca == "" && isLoopback(host) {
		return nil, nil
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if ca == "" {
		return config, nil
	}
	pem, err := os.ReadFile(ca)
	config.RootCAs = x509.NewCertPool()
	if err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, badURL("no certificates can be read from %s", ca).WithHint("give a file of PEM certificates as ca")
	}
	return config, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// limits checks the options that are numbers, and gives the time-out.
func (o Options) limits() (time.Duration, *abi.Problem) {
	if o.Dimensions < 0 || o.Dimensions > MaxDimensions {
		return 0, abi.NewProblem(abi.BadValue, "dense vectors of %d numbers cannot be kept", o.Dimensions).WithHint("give 0 to %d", MaxDimensions)
	}
	timeout := cmp.Or(o.Timeout, defaultTimeout)
	if timeout < 0 || timeout > maxTimeout {
		return 0, abi.NewProblem(abi.BadValue, "a time-out of %s for the memory index makes no sense", timeout).WithHint("give up to %s", maxTimeout)
	}
	return timeout, nil
}
