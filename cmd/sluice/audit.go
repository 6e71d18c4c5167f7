package main

import "github.com/spf13/cobra"

func (p *program) auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "audit", Short: "Look at what is on record, and prove it",
		Long: "The audit log is in the store (--store, or sluice.db in the home). Looking at it disturbs nobody.",
	}
	c.AddCommand(p.auditReplayCommand(), p.auditRateCommand())
	return c
}
