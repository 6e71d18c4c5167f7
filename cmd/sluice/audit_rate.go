package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
)

func (p *program) auditRateCommand() *cobra.Command {
	var ref host.SessionRef
	var last time.Duration
	var locale string
	c := &cobra.Command{
		Use: "rate", Short: "Say how often users stepped in after calls, by tool", Args: cobra.NoArgs,
		Long: `Rate counts, for each tool, the calls that were done and told to the user or confirmed by them (the
tiers soft-gate and higher), and those of them after which the user stepped in: objected, had it undone,
or had the same done otherwise. A tool with a high rate acts where it should ask.`,
		Example: "  sluice audit rate\n  sluice audit rate --tenant acme --last 168h --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if last < 0 {
				return fmt.Errorf("%w: --last takes a duration such as 168h", errUsage)
			}
			if ref.Session == "" {
				ref.User = ""
			}
			return p.withHome(c.Context(), func(h *hall) error { return p.tellRates(c.Context(), h, ref, last, locale) })
		},
	}
	ownerFlags(c, &ref)
	c.Flags().StringVar((*string)(&ref.Session), "session", "", "only this session of the user (default: the whole tenant)")
	c.Flags().DurationVar(&last, "last", 0, "only calls of the last while, such as 168h (default: all)")
	c.Flags().StringVar(&locale, "locale", "", "language of what is printed, such as en or zh-CN")
	return c
}

func (p *program) tellRates(ctx context.Context, h *hall, ref host.SessionRef, last time.Duration, locale string) error {
	since := time.Time{}
	if last > 0 {
		since = time.Now().Add(-last)
	}
	var rates []dispatch.InterventionRate
	err := p.step("counting", func() (err error) {
		rates, err = dispatch.InterventionRates(ctx, h.store, ref, since)
		return err
	})
	if err != nil {
		return err
	}
	if p.json {
		p.print(rates)
		return nil
	}
	w := newTable(p.stdout, 0)
	fmt.Fprintln(w, speakIn(locale).pick("TOOL\tCALLS\tSTEPPED IN\tRATE\tOBJECTIONS\tUNDOS\tCORRECTIONS", "工具\t调用\t被干预\t干预率\t反对\t撤销\t纠正"))
	for _, r := range rates {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f %%\t%d\t%d\t%d\n", r.Tool, r.Calls, r.Intervened, 100*r.Rate, r.Objections, r.Undos, r.Corrections)
	}
	return w.Flush()
}
