package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

//go:embed demo.json
var demoShop []byte

var demoSession = agent.Session{
	Ref:  host.SessionRef{Tenant: "demo", User: "anchor", Session: "live-1"},
	Live: "evening-show", Locale: "zh-CN",
}

func (p *program) demoCommand() *cobra.Command {
	var source string
	c := &cobra.Command{
		Use: "demo", Short: "Build the shop skills, publish them, run a short conversation with the offline model, prove what was done, and show what is remembered", Args: cobra.NoArgs,
		Example: "  make demo\n  sluice demo --skills skills/shop",
		RunE: func(c *cobra.Command, _ []string) error {
			folder, err := os.MkdirTemp("", "sluice-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			return p.demo(c.Context(), folder, source)
		},
	}
	c.Flags().StringVar(&source, "skills", "skills/shop", "source folder of the shop skills")
	return c
}

func (p *program) demo(ctx context.Context, folder, source string) error {
	repository := filepath.Join(folder, "registry.git")
	h, err := p.open(ctx, folder, repository)
	if err != nil {
		return err
	}
	defer h.close(ctx)
	p.heading("Skills: built from Go, published to a git registry, loaded from there")
	var sources []string
	for _, name := range []string{"catalog", "coupons", "pricing", "stage", "rules", "broken"} {
		sources = append(sources, filepath.Join(source, name))
	}
	if err := p.publishFrom(ctx, h, repository, sources...); err != nil {
		return err
	}
	if err := p.loadAll(ctx, h); err != nil {
		return err
	}
	for _, r := range h.releases.Current() {
		fmt.Fprintf(p.stdout, "  %s  %s\n", r, r.Skill.Summary)
	}
	if err := importJSON(ctx, h, demoSession.Ref.Tenant, "shop", demoShop); err != nil {
		return err
	}
	for _, scene := range []func(context.Context, *hall) error{
		p.demoQuery, p.demoWrite, p.demoRedelivery, p.demoBadArgument, p.demoRefusal, p.demoHardGate,
		p.demoRedLine, p.demoVerification, p.demoRules, p.demoClaim, p.demoBreaker, p.demoAudit, p.demoProof, p.demoReplay, p.demoMemory,
	} {
		if err := scene(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) heading(text string) { fmt.Fprintf(p.stdout, "\n%s\n", text) }

// say runs one turn of the demo's session and expects what its calls come to.
func (p *program) say(ctx context.Context, h *hall, m model.Provider, id, text string, want ...host.Status) (agent.Answer, error) {
	return p.sayIn(ctx, h, demoSession, m, id, text, want...)
}

func (p *program) sayIn(ctx context.Context, h *hall, session agent.Session, m model.Provider, id, text string, want ...host.Status) (agent.Answer, error) {
	fmt.Fprintf(p.stdout, "anchor: %s\n", text)
	answer, err := p.agent(h, m).Turn(ctx, session, agent.Input{ID: host.InputID(id), Text: text}, p.show)
	fmt.Fprintln(p.stdout)
	if err != nil {
		return answer, err
	}
	var got []host.Status
	for _, o := range answer.Outcomes {
		got = append(got, o.Status)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return answer, fmt.Errorf("demo: %q ended as %v; %v was expected", text, got, want)
	}
	return answer, nil
}

func (p *program) demoQuery(ctx context.Context, h *hall) error {
	p.heading("A query: the model picks a tool, the sandbox runs it")
	_, err := p.say(ctx, h, model.Offline{}, "in-1", "1001 现在多少钱", host.Done)
	return err
}

func (p *program) demoWrite(ctx context.Context, h *hall) error {
	p.heading("A write within the rules: the gate checks the fresh price, then it runs")
	_, err := p.say(ctx, h, model.Offline{}, "in-2", "把 1001 改到 89 元", host.Done)
	return err
}

// demoRedelivery sends the same call to the gate twice, and the same input to
// the agent twice, as a network that lost the answer does.
func (p *program) demoRedelivery(ctx context.Context, h *hall) error {
	p.heading("The same delivery twice: it runs once")
	catalog, _ := h.releases.Catalog(ctx, nil)
	call := host.Call{
		ID: host.CallIDFor(demoSession.Ref, 1_000, 0), Session: demoSession.Ref, Locale: demoSession.Locale, Input: 1_000,
		Tool: "issue_coupon", Args: `{"sku":"1001","amount":5,"count":10}`,
	}
	for _, replayed := range []bool{false, true} {
		fmt.Fprintf(p.stdout, "  → %s %s\n", call.Tool, call.Args)
		o := h.dispatch.Do(ctx, catalog, call)
		fmt.Fprintf(p.stdout, "  ← %s\n", outcomeLine(o))
		if !o.OK() || o.Replayed != replayed {
			return fmt.Errorf("demo: the delivery ended as %s, replayed %v; %v was expected", o.Status, o.Replayed, replayed)
		}
	}
	answer, err := p.say(ctx, h, model.Offline{}, "in-2", "把 1001 改到 89 元")
	if err == nil && !answer.Repeated {
		return fmt.Errorf("demo: a repeated input was run again")
	}
	fmt.Fprintf(p.stdout, "  (answered before, nothing ran: %s)\n", answer.Text)
	return err
}

// demoBadArgument plays a model that sends a text as the price; the gate tells
// it the path and the expected shape, and it asks the user.
func (p *program) demoBadArgument(ctx context.Context, h *hall) error {
	p.heading("A bad argument: the model is told its path, nothing runs")
	said, asks := "把 1001 打成骨折价", "请问 1001 具体改到多少元？"
	result := ""
	call := model.RecordedCall{ID: "slip"}
	call.Function.Name, call.Function.Arguments = "set_price", `{"sku":"1001","price":"骨折价","currency":"CNY"}`
	slip := model.NewReplay([]model.Recorded{
		{Role: "user", Content: &said}, {Role: "assistant", ToolCalls: []model.RecordedCall{call}},
		{Role: "tool", ToolCallID: "slip", Name: "set_price", Content: &result}, {Role: "assistant", Content: &asks},
	})
	answer, err := p.say(ctx, h, slip, "in-3", said, host.Failed)
	if err == nil && answer.Outcomes[0].Problem.Field != "price" {
		return fmt.Errorf("demo: the problem is about %q, not about price", answer.Outcomes[0].Problem.Field)
	}
	return err
}

func (p *program) demoRefusal(ctx context.Context, h *hall) error {
	p.heading("A business refusal: the skill says no, with the bounds")
	_, err := p.say(ctx, h, model.Offline{}, "in-4", "把 1001 改到 75 元", host.Failed)
	return err
}

func (p *program) demoHardGate(ctx context.Context, h *hall) error {
	p.heading("A drop of more than 30 %: it waits for a person, and nobody waits for it")
	answer, err := p.say(ctx, h, model.Offline{}, "in-5", "把 1002 改到 9 元", host.Pending)
	if err != nil {
		return err
	}
	p.heading("A person says yes at a second terminal: exactly that call runs, and the turn goes on")
	question := answer.Pending[0]
	if err := p.terminal(ctx, h, exitOK, "approvals", "approve", string(question.ID), "--words", "清仓", "--user", string(demoSession.Ref.User)); err != nil {
		return err
	}
	answer, err = p.agent(h, model.Offline{}).Continue(ctx, demoSession, question.ID, p.show)
	fmt.Fprintln(p.stdout)
	if err == nil && (len(answer.Outcomes) != 1 || !answer.Outcomes[0].OK()) {
		return fmt.Errorf("demo: the approved call ended as %+v", answer.Outcomes)
	}
	return err
}

// demoPolicy is what the operator of the demo forbids, or wants to be asked about,
// whatever a skill says: a skill judges each call by itself, and only who looks
// back sees that many small ones are a large one.
const demoPolicy = `policy: 1
hooks:
  - skill: shop.rules@1.0.0
red_lines:
  - name: coupon-of-hundreds
    tools: [shop.coupons.issue_coupon]
    when: args.amount > 500.0
    say: No coupon of more than 500.
  - name: cut-after-cut
    tools: [shop.pricing.set_price]
    when: args.price < facts.price && last(tool, args.sku) != null && now - last(tool, args.sku).time < duration('1h')
    tier: hard-gate
    say: "{{args.sku}} was changed within the hour, and would go down to {{args.price}} now."
  - name: coupons-in-a-row
    tools: [shop.coupons.issue_coupon]
    when: count(tool, duration('1h')) >= 3
    tier: hard-gate
    say: That is the fourth issue of coupons in an hour.
`

func (p *program) demoRedLine(ctx context.Context, h *hall) error {
	p.heading("A red line of the operator: blocked, whatever the skill allows")
	policy, err := manifest.ParsePolicy("policy.yaml", []byte(demoPolicy))
	if err != nil {
		return err
	}
	if err := h.enforce(ctx, policy); err != nil {
		return err
	}
	answer, err := p.say(ctx, h, model.Offline{}, "in-6", "给 1001 发 1 张 800 元优惠券", host.Failed)
	if err == nil && answer.Outcomes[0].Problem.Code != abi.RedLine {
		return fmt.Errorf("demo: the coupon ended with %v", answer.Outcomes[0].Problem)
	}
	return err
}

// demoBreaker plays a model that asks for the same again and again.
func (p *program) demoBreaker(ctx context.Context, h *hall) error {
	p.heading("A model that goes round in circles: warned once, then cut off")
	said, result := "9999 多少钱", ""
	recorded := []model.Recorded{{Role: "user", Content: &said}}
	for i := range 6 {
		call := model.RecordedCall{ID: fmt.Sprint("again", i)}
		call.Function.Name, call.Function.Arguments = "quote", `{"sku":"9999"}`
		recorded = append(recorded, model.Recorded{Role: "assistant", ToolCalls: []model.RecordedCall{call}},
			model.Recorded{Role: "tool", ToolCallID: call.ID, Name: "quote", Content: &result})
	}
	answer, err := p.agent(h, model.NewReplay(recorded)).Turn(ctx, demoSession, agent.Input{ID: "in-7", Text: said}, p.show)
	fmt.Fprintln(p.stdout)
	if err == nil && answer.Reason != agent.Circled {
		return fmt.Errorf("demo: the turn ended as %s", answer.Reason)
	}
	return err
}

// demoAudit prints what is on record.
func (p *program) demoAudit(ctx context.Context, h *hall) error {
	p.heading("The audit trail")
	records, err := h.store.Records(ctx, demoSession.Ref.Tenant, state.RecordFilter{Limit: 1000})
	if err != nil {
		return err
	}
	w := newTable(p.stdout, 0)
	fmt.Fprintln(w, "  SEQ\tKIND\tTOOL\tRELEASE\tKEY\tDETAIL")
	for _, r := range records {
		fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%.8s\t%s\n", r.Seq, r.Kind, r.Tool, r.Release, r.Key, short(string(r.Detail)))
	}
	return w.Flush()
}

// short gives the head of a text, for one line of a table.
func short(text string) string {
	const most = 72
	if r := []rune(text); len(r) > most {
		return strings.TrimSpace(string(r[:most])) + "…"
	}
	return text
}
