package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/recall"
	"github.com/sluicehq/sluice/memory"
)

// settings gives what the policy says of memory for the owner's tenant.
func (m *rememberer) settings() (recall.Settings, error) {
	policy, err := m.readPolicy()
	if err != nil {
		return recall.Settings{}, err
	}
	all, err := readRemembered(policy)
	return all.of(m.owner.Tenant), err
}

// forgetting gives how the job that forgets sees the owner's memories.
func (m *rememberer) forgetting(ctx context.Context, k *minding) (memory.ForgetConfig, error) {
	s, err := m.settings()
	if err != nil {
		return memory.ForgetConfig{}, err
	}
	return recall.ForgetOf(ctx, k.Keeper, m.owner, memory.DefaultForget(), s, time.Now().UTC())
}

func (m *rememberer) falsifyCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "falsify ID", Short: "Mark a memory as shown to be wrong", Args: cobra.ExactArgs(1),
		Long: `A memory that is wrong is recalled no more, and questions about it are closed. It stays, with the reason, until it
is forgotten; restore takes it back.`,
		Example: "  sluice memory falsify 0197… --why 'the supplier moved' --user mia",
		RunE: func(c *cobra.Command, args []string) error {
			if why == "" || len(why) > host.MaxIDBytes {
				return fmt.Errorf("%w: give --why in 1 to %d bytes", errUsage, host.MaxIDBytes)
			}
			return m.onTruth(c.Context(), func(k *minding) error {
				if err := k.Falsify(c.Context(), m.owner, memory.ID(args[0]), why); err != nil {
					return err
				}
				if m.json {
					m.print(map[string]any{"falsified": args[0]})
					return nil
				}
				fmt.Fprintln(m.stderr, speakIn(m.locale).pick("%s is no longer recalled", "%s 不再被召回", args[0]))
				return nil
			})
		},
	}
	c.Flags().StringVar(&why, "why", "", "the reason, for who looks at it later")
	return c
}
