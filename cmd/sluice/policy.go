package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/rules"
	"github.com/sluicehq/sluice/registry"
)

// readPolicy reads the operator's policy; without --policy there is none. A
// policy that cannot be read or has findings starts nothing.
func (p *program) readPolicy() (*manifest.Policy, error) {
	if p.policy == "" {
		return nil, nil
	}
	text, err := os.ReadFile(p.policy)
	if err != nil {
		return nil, host.Fail("policy", abi.NewProblem(abi.NotFound, "the policy %s cannot be read", p.policy).
			WithHint("give --policy an existing file, or leave it out"), err)
	}
	return manifest.ParsePolicy(p.policy, text)
}

// sourceOf gives the registry that releases come from: that of the hall, or, where
// it has none and the policy names modules, that of the command line.
func (p *program) sourceOf(h *hall, policy *manifest.Policy) (*registry.Registry, error) {
	if h.registry != nil || len(policy.Hooks()) == 0 {
		return h.registry, nil
	}
	if p.registry == "" {
		return nil, fmt.Errorf("%w: %s names policy modules, and no registry is given to have them from; use --registry PATH or SLUICE_REGISTRY", errUsage, p.policy)
	}
	return registry.Open(registry.Config{URL: p.registry, CacheDir: filepath.Join(h.home, "releases")})
}

// enforce has the dispatcher keep a policy: its red lines, what it says
// of memory, and its modules, which are loaded now. A hall without all of them must not be used: no command runs a
// call past rules that it could not load. Until the hall is closed the policy
// stays as it is.
func (h *hall) enforce(ctx context.Context, policy *manifest.Policy) error {
	modules, err := rules.Load(ctx, h.releases, policy.Hooks(), nil)
	if err != nil {
		return err
	}
	remembers, err := readRemembered(policy)
	if err != nil {
		return err
	}
	h.rules, h.remembers, h.dispatch.Policy = modules, remembers, policy
	return h.join()
}
