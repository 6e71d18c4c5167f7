package main

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/spf13/pflag"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/egress"
)

// egressFlags say how skills get out to the hosts that their manifests name.
type egressFlags struct {
	allow []string
	proxy string
}

func (e *egressFlags) register(flags *pflag.FlagSet, env func(string) string) {
	flags.StringSliceVar(&e.allow, "egress-allow", nil, "ranges of private addresses that skills may reach if their manifest names a host there, such as 10.1.0.0/16, beside egress.allow of the policy")
	flags.StringVar(&e.proxy, "egress-proxy", env("SLUICE_PROXY"), "proxy for all requests of skills, such as http://proxy:3128 (SLUICE_PROXY; others in the environment are not used)")
}

// open makes the way out, with the ranges that the command line opens beside
// those of the policy.
func (e *egressFlags) open(policy []netip.Prefix) (*egress.Client, error) {
	cfg := egress.Config{Allow: slices.Clone(policy)}
	for _, text := range e.allow {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%w: --egress-allow %.60q is not a range of addresses; write one such as 10.1.0.0/16", errUsage, text)
		}
		cfg.Allow = append(cfg.Allow, prefix)
	}
	if e.proxy != "" {
		proxy, err := url.Parse(e.proxy)
		if err != nil {
			return nil, fmt.Errorf("%w: --egress-proxy is not a URL", errUsage) // which may hold a password
		}
		cfg.Proxy = proxy
	}
	return egress.New(cfg)
}

// secretPrefix is before the name of a secret of a manifest in the environment.
const secretPrefix = "SLUICE_SECRET_"

// secret gives what the auth of a manifest's http rule names. All tenants of a
// host have the same.
func (p *program) secret(_ host.TenantID, name string) (string, bool) {
	value := p.env(secretPrefix + name)
	return value, value != ""
}
