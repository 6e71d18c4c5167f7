package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// demoRemembers is what the operator of the demo has remembered: where decisions are
// made, and which calls show what a presenter does.
const demoRemembers = `policy: 1
memory:
  - points:
      - {name: coupon, domain: pricing, topic: coupon, scene: live, words: [券怎么发]}
    seen:
      - {tool: shop.coupons.issue_coupon, topic: coupon, number: amount, unit: 元, domain: pricing, scene: live}
`

// An adviser is a model that asks what it is told to ask, and else gives its answers
// one after another: each one when the one before it was not let through.
type adviser struct {
	answers []string
	asked   int
}

var _ model.Provider = (*adviser)(nil)

// Complete gives the next answer.
func (a *adviser) Complete(ctx context.Context, r model.Request, on func(model.Event)) (model.Reply, error) {
	text := a.answers[min(a.asked, len(a.answers)-1)]
	a.asked++
	if _, question, ok := strings.Cut(r.Hint, host.ToAsk); ok {
		line, _, _ := strings.Cut(question, "\n")
		if err := json.Unmarshal([]byte(line), &text); err != nil {
			return model.Reply{}, err
		}
	}
	return boaster{text}.Complete(ctx, r, on)
}

// demoMemory has a presenter say one thing and do another, three times.
func (p *program) demoMemory(ctx context.Context, h *hall) error {
	p.heading("Memory: the presenter says that every coupon is of 5, and issues coupons of 20 in three lives")
	policy, err := manifest.ParsePolicy("policy.yaml", []byte(demoRemembers))
	if err != nil {
		return err
	}
	if err := h.enforce(ctx, policy); err != nil {
		return err
	}
	if err := p.remember(ctx, h); err != nil {
		return err
	}
	if _, err := p.sayIn(ctx, h, demoLive(1), &adviser{answers: []string{"好的。"}}, "in-said", "每次优惠券都发5元"); err != nil {
		return err
	}
	for live := 2; live <= 4; live++ {
		if err := p.demoContradiction(ctx, h, demoLive(live)); err != nil {
			return err
		}
	}
	if err := p.terminal(ctx, h, exitOK, "memory", "gaps", "--user", string(demoSession.Ref.User)); err != nil {
		return err
	}
	p.heading("At the next decision about coupons it is asked, once; the answer takes the place of what was said")
	answer, err := p.sayIn(ctx, h, demoLive(5), &adviser{answers: []string{"好的。"}}, "in-decides", "今晚的券怎么发？")
	if err == nil && !strings.Contains(answer.Text, "每次优惠券都发5元") {
		err = fmt.Errorf("demo: nothing was asked: %s", answer.Text)
	}
	if err != nil {
		return err
	}
	if _, err := p.sayIn(ctx, h, demoLive(5), &adviser{answers: []string{"好的。"}}, "in-answers", "改成20元"); err != nil {
		return err
	}
	if err := p.terminal(ctx, h, exitOK, "memory", "list", "--layer", "declared", "--status", "all", "--user", string(demoSession.Ref.User)); err != nil {
		return err
	}
	return p.demoForms(ctx, h)
}

// demoLive gives the session of one of the demo's lives.
func demoLive(n int) agent.Session {
	s := demoSession
	s.Ref.Session, s.Live = host.SessionID(fmt.Sprint("live-", n)), host.LiveID(fmt.Sprint("show-", n))
	return s
}

// demoContradiction is a session in which the presenter does otherwise.
func (p *program) demoContradiction(ctx context.Context, h *hall, s agent.Session) error {
	if _, err := p.sayIn(ctx, h, s, model.Offline{}, "in-coupon", "给 1001 发 10 张 20 元优惠券", host.Done); err != nil {
		return err
	}
	_, err := p.agent(h, model.Offline{}).EndSession(ctx, s.Ref)
	return err
}

// demoForms asks for a decision at three levels of trust. The model always wants to
// recommend; what it may say is not up to it.
func (p *program) demoForms(ctx context.Context, h *hall) error {
	p.heading("How far an answer may go depends on what came of the earlier ones (the model first recommends, each time)")
	const recommends = "推荐继续发大额券。反例：上月有一场大额券转化更低；备选：改发小额券；置信度中等。"
	right, wrong := 0.1, 0.0
	for i, level := range []struct {
		form   memory.Form
		lifts  []float64 // of decisions before it
		answer string    // that is let through
	}{
		{memory.Refer, nil, "依据：最近三场发的都是大额券。供参考，可以考虑继续。"},
		{memory.EvidenceOnly, []float64{wrong, wrong}, "依据：您说过“改成20元”，记录里最近一场的券是20元。"},
		{memory.Recommend, []float64{right, right, right, right, right, right, right, right}, recommends},
	} {
		if err := p.demoOutcomes(ctx, h, level.lifts); err != nil {
			return err
		}
		trust, err := h.minding.Trust(ctx, demoOwner(), "pricing")
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "  (trust %.2f: %s)\n", trust, memory.FormOf(trust))
		answer, err := p.sayIn(ctx, h, demoLive(6+i), &adviser{answers: []string{recommends, level.answer}}, "in-form", "今晚的券怎么发？")
		if err != nil {
			return err
		}
		if memory.FormOf(trust) != level.form || answer.Text != level.answer {
			return fmt.Errorf("demo: at trust %.2f the answer was %q; %q was expected", trust, answer.Text, level.answer)
		}
	}
	return p.terminal(ctx, h, exitOK, "memory", "trust", "--replay", "--user", string(demoSession.Ref.User))
}

func demoOwner() keeper.Owner {
	return keeper.Owner{Tenant: demoSession.Ref.Tenant, User: demoSession.Ref.User}
}

// demoOutcomes plays decisions that the presenter followed, and what came of them.
func (p *program) demoOutcomes(ctx context.Context, h *hall, lifts []float64) error {
	for _, lift := range lifts {
		o := demoOwner()
		trust, err := h.minding.Trust(ctx, o, "pricing")
		if err != nil {
			return err
		}
		t, err := h.minding.Show(ctx, memory.Trace{Tenant: o.Tenant, User: o.User, Domain: "pricing", Point: "coupon", Question: "今晚的券怎么发？", Output: "大额券", TrustAtMoment: trust})
		if err == nil {
			_, err = h.minding.Act(ctx, o, t.ID, memory.Accept, "")
		}
		if err == nil {
			_, err = h.minding.Attribute(ctx, o, t.ID, &lift, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
