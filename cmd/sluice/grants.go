package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// A grantView is a standing grant as it is told.
type grantView struct {
	ID        string         `json:"id"`
	User      host.UserID    `json:"user"`
	Session   host.SessionID `json:"session,omitempty"` // absent: all of the user's
	Tool      string         `json:"tool"`
	When      string         `json:"when,omitempty"`
	MaxTier   abi.Tier       `json:"max_tier"`
	GrantedBy host.UserID    `json:"granted_by"`
	GrantedAt time.Time      `json:"granted_at"`
	Until     time.Time      `json:"until,omitzero"`
}

func viewGrant(g state.StandingGrant) grantView {
	return grantView{ID: g.ID, User: g.User, Session: g.Session, Tool: g.Tool, When: g.Condition, MaxTier: g.MaxTier, GrantedBy: g.GrantedBy, GrantedAt: g.GrantedAt, Until: g.Until}
}

// line is a grant in a list.
func (g grantView) line(s speaker) string {
	where, when, until := string(g.Session), g.When, s.pick("until revoked", "直至撤销")
	if where == "" {
		where = s.pick("all sessions", "所有会话")
	}
	if when != "" {
		when = s.pick(" when %s", "，条件 %s", when)
	}
	if !g.Until.IsZero() {
		until = s.pick("until %s", "有效至 %s", g.Until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s  %s%s  %s  (%s, %s)\n", g.ID, g.Tool, when, g.MaxTier, where, until)
}

func (a *approvals) grantCommand() *cobra.Command {
	g := state.StandingGrant{MaxTier: abi.HardGate}
	var lasts time.Duration
	var by string
	c := &cobra.Command{
		Use: "grant SKILL.TOOL", Short: "Confirm calls of a tool ahead, while a condition holds", Args: cobra.ExactArgs(1),
		Long: `Grant lets calls of one tool run that would wait for a person, in one session or, with an end, in
all of a user's. The condition is CEL over args, state, facts, user, session, live, tenant and now;
a call for which it does not hold, or cannot be decided, is asked about. It never covers a call of a
higher tier than --max-tier, and nothing that is blocked.`,
		Example: `  sluice approvals grant shop.pricing.set_price --when "args.price >= 50" --session s1
  sluice approvals grant shop.pricing.set_price --user mia --lasts 2h`,
		RunE: func(c *cobra.Command, args []string) error {
			g.Tenant, g.User, g.GrantedBy, g.Tool = a.tenant, a.user, host.UserID(cmp.Or(by, string(a.user))), args[0]
			if !strings.Contains(g.Tool, ".") {
				return fmt.Errorf("%w: name the tool with its skill, such as shop.pricing.%s", errUsage, g.Tool)
			}
			return a.onStore(c.Context(), func(s *state.Store) error { return a.grant(c.Context(), s, g, lasts) })
		},
	}
	c.Flags().StringVar((*string)(&g.Session), "session", "", "the session (default: all of the user's, which needs --lasts)")
	c.Flags().StringVar(&g.Condition, "when", "", "the condition (default: none)")
	c.Flags().StringVar((*string)(&g.MaxTier), "max-tier", string(abi.HardGate), "the highest tier that it covers")
	c.Flags().StringVar(&by, "by", "", "who grants it (default: the user)")
	c.Flags().DurationVar(&lasts, "lasts", 0, "how long it lasts (default: until it is revoked)")
	return c
}

func (a *approvals) grant(ctx context.Context, s *state.Store, g state.StandingGrant, lasts time.Duration) error {
	if g.Condition != "" {
		if _, err := manifest.CompileCondition(g.Condition); err != nil {
			return host.Fail("approvals", abi.NewProblem(abi.BadValue, "--when %s: %v", g.Condition, err).WithHint("write CEL such as args.price >= 50"), nil)
		}
	}
	kept, err := s.AddStandingGrant(ctx, g, lasts, func(kept state.StandingGrant) host.Record {
		return grantRecord(kept, map[string]any{"granted": viewGrant(kept), "lasts": lasts.String()})
	})
	if err != nil {
		return err
	}
	a.tellGrant(viewGrant(kept))
	return nil
}

func grantRecord(g state.StandingGrant, detail map[string]any) host.Record {
	b, err := json.Marshal(detail)
	if err != nil {
		panic("BUG: a grant does not marshal: " + err.Error())
	}
	return host.Record{Session: host.SessionRef{Tenant: g.Tenant, User: g.User, Session: g.Session}, Kind: host.RecordGrant, Tool: g.Tool, Detail: b}
}

func (a *approvals) tellGrant(g grantView) {
	if a.json {
		a.print(map[string]any{"grant": g})
		return
	}
	fmt.Fprint(a.stdout, g.line(speakIn(a.locale)))
}

func (a *approvals) grantsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "grants", Short: "List a user's standing grants", Args: cobra.NoArgs,
		Example: "  sluice approvals grants --user mia",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.onStore(c.Context(), func(s *state.Store) error { return a.grants(c.Context(), s) })
		},
	}
}

// grants prints them all; a user has a bounded number.
func (a *approvals) grants(ctx context.Context, s *state.Store) error {
	views := []grantView{}
	for after := ""; ; {
		page, err := s.StandingGrantsOf(ctx, a.tenant, a.user, after, 0)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, g := range page {
			views, after = append(views, viewGrant(g)), g.ID
		}
	}
	if a.json {
		a.print(map[string]any{"grants": views})
		return nil
	}
	for _, g := range views {
		fmt.Fprint(a.stdout, g.line(speakIn(a.locale)))
	}
	return nil
}

func (a *approvals) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Take a standing grant back", Args: cobra.ExactArgs(1),
		Example: "  sluice approvals revoke grant_0006… --user mia",
		RunE: func(c *cobra.Command, args []string) error {
			return a.onStore(c.Context(), func(s *state.Store) error {
				record := grantRecord(state.StandingGrant{Tenant: a.tenant, User: a.user}, map[string]any{"revoked": args[0]})
				revoked, err := s.RevokeStandingGrant(c.Context(), a.tenant, a.user, args[0], record)
				if err == nil && !revoked {
					err = host.Fail("approvals", abi.NewProblem(abi.NotFound, "%s of tenant %s has no standing grant %s", a.user, a.tenant, args[0]).WithHint("list them: sluice approvals grants"), nil)
				}
				if err != nil {
					return err
				}
				if a.json {
					a.print(map[string]any{"revoked": args[0]})
				} else {
					fmt.Fprint(a.stdout, speakIn(a.locale).pick("revoked %s\n", "已撤销 %s\n", args[0]))
				}
				return nil
			})
		},
	}
}
