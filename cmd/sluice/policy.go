package main

import (
	"os"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// redLines reads the operator's policy; without --policy there is none. A
// policy that cannot be read or has findings starts nothing.
func (p *program) redLines() (*manifest.Policy, error) {
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
