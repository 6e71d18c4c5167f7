package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host/agent"
)

// claimsFlag lets a command's user choose what becomes of an answer that claims
// what nothing on record shows.
func (p *program) claimsFlag(c *cobra.Command) {
	c.Flags().StringVar((*string)(&p.claims), "claims", string(agent.ClaimsStop),
		"an answer that claims an action, an amount, an id or a name that no call and no fact shows: stop (the user is asked to confirm), report (on record only) or off")
}

func (p *program) validClaims() error {
	if problem := agent.ValidClaims(p.claims); problem != nil {
		return fmt.Errorf("%w: --claims takes stop, report or off", errUsage)
	}
	return nil
}
