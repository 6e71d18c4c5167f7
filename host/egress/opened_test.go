package egress_test

import (
	"net/netip"
	"net/url"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/egress"
)

// TestAnOpenedRangeIsHeldToAtEveryHopAndEveryAddress: what the operator opens is
// reached, directly and by a redirect; the rest of the private network and the
// machine's credentials are not, whichever name or hop leads there.
func TestAnOpenedRangeIsHeldToAtEveryHopAndEveryAddress(t *testing.T) {
	w := newWorld(t)
	hosts := map[string][]string{
		"opened.example.com":   {"10.1.2.3"},
		"beside.example.com":   {"10.2.2.3"},
		"mixed.example.com":    {"10.1.2.3 10.2.2.3"},
		"leaks.example.com":    {"10.1.2.3 169.254.169.254"},
		"alibaba.example.com":  {"100.100.100.200"},
		"shared.example.com":   {"100.64.0.9"},
		"metadata.example.com": {"169.254.169.254"},
		"myself.example.com":   {"127.0.0.1"},
	}
	rules := []abi.HTTPRule{{Host: "http://allowed.example.com", Methods: []string{"GET"}, Paths: []string{"/api/*"}}}
	for host, addresses := range hosts {
		w.names[host] = addresses
		rules = append(rules, abi.HTTPRule{Host: "http://" + host, Methods: []string{"GET"}, Paths: []string{"/api/*"}})
	}
	policy, err := egress.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	opened := map[string]bool{"opened.example.com": true, "shared.example.com": true}
	for _, hop := range []struct{ name, before string }{{"directly", ""}, {"by a redirect", "http://allowed.example.com/api/x?to="}} {
		for host := range hosts {
			client := w.client(func(c *egress.Config) {
				c.Allow = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("100.64.0.0/10")}
			})
			to := "http://" + host + "/api/x"
			if hop.before != "" {
				to = hop.before + url.QueryEscape(to)
			}
			w.breaches()
			_, problem := do(t, client, &egress.Call{Policy: policy}, "GET", to, "", nil)
			reached := len(w.breaches()) > 0
			if (problem == nil) != opened[host] || reached != opened[host] || problem != nil && problem.Code != abi.ClosedAddress {
				t.Errorf("%s %s: reached %v, %v", hop.name, host, reached, problem)
			}
		}
	}
}
