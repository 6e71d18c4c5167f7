package recall

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// maxOutputBytes is how much of an answer a trace keeps: what was recommended, not an essay.
const maxOutputBytes = 4 << 10

// form tells the model, at a decision point, in which form it may answer, and asks
// the question that waited for such a point. Where trust cannot be read the answer
// may be evidence only.
func (r *Recall) form(ctx context.Context, q host.Reasoning) (host.Injection, error) {
	t, _ := r.begin(q)
	if t == nil {
		return host.Injection{}, host.Fail("recall.form", abi.NewProblem(abi.SystemFailure, "more than %d turns are under way", maxTurns), nil)
	}
	if said, known := r.told(q); known {
		return host.Injection{Text: said}, nil
	}
	point, ok := r.Settings(q.Session.Tenant).point(q.Text)
	if !ok {
		r.know(q, func(t *turn) { t.asked = true })
		return host.Injection{}, nil
	}
	trust, err := r.Keeper.Trust(ctx, ownerOf(q.Session), point.Domain)
	form := memory.FormOf(trust)
	if err != nil {
		r.Logger.WarnContext(ctx, "trust could not be read; answers may be evidence only", "session", q.Session.String(), "error", err)
		form = memory.EvidenceOnly
	}
	say := form.Instruction("")
	if question := r.question(ctx, q, point); question != "" {
		say += "\nAsk the user this before anything else, in these words, and decide nothing about it yourself: " + question
	}
	r.know(q, func(t *turn) { t.asked, t.at, t.form, t.trust, t.say = true, &point, form, trust, say })
	return host.Injection{Text: say, Note: fmt.Sprintf("decision point %s: trust %.2f in %s, form %s", point.Name, trust, point.Domain, form)}, nil
}

// told gives what was said for the first question about the same input.
func (r *Recall) told(q host.Reasoning) (say string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.turns[q.Session]; t != nil && t.input == q.Input && t.asked {
		return t.say, true
	}
	return "", false
}

// question gives the words of the question that fits a point, and keeps that it was
// asked. Without it the turn goes on.
func (r *Recall) question(ctx context.Context, q host.Reasoning, at Point) string {
	question, said, ok, err := r.Keeper.Ask(ctx, memory.Point{Tenant: q.Session.Tenant, User: q.Session.User, Topic: at.Topic, Domain: at.Domain, Scene: at.Scene})
	if err != nil {
		r.Logger.WarnContext(ctx, "no question could be asked", "session", q.Session.String(), "error", err)
	}
	if err != nil || !ok {
		return ""
	}
	return question.Text(said, localeOf(q.Text))
}

// localeOf tells Chinese words from others: questions are asked as users speak.
func localeOf(words string) string {
	if strings.ContainsFunc(words, func(c rune) bool { return c >= 0x4E00 && c <= 0x9FFF }) {
		return "zh"
	}
	return "en"
}

// judge withholds an answer that says more than its form allows, and keeps the trace
// of one that does not. Answers without a decision, and those that ask for tools
// first, pass.
func (r *Recall) judge(ctx context.Context, q host.Reasoning) (host.Opinion, error) {
	t, ok := r.copyOf(q)
	if !ok {
		return host.Opinion{}, fmt.Errorf("memory does not know the turn that input %d is answered in", q.Input)
	}
	if t.at == nil || len(q.Calls) > 0 || strings.TrimSpace(q.Text) == "" {
		return host.Opinion{}, nil
	}
	if found := memory.CheckForm(t.form, q.Text); len(found) > 0 {
		problem := abi.NewProblem(abi.Refused, "trust in %s is %.2f, so an answer about it may not say %q", t.at.Domain, t.trust, found[0].Words)
		return host.Opinion{Problem: problem.WithHint("%s", t.form.Instruction("")), Note: fmt.Sprintf("%d pieces of the answer say more than %s allows", len(found), t.form)}, nil
	}
	note := ""
	if missing := memory.MissingParts(q.Text); t.form == memory.Recommend && len(missing) > 0 {
		note = "the recommendation lacks: " + strings.Join(missing, ", ")
	}
	trace, err := r.Keeper.Show(ctx, memory.Trace{Tenant: q.Session.Tenant, User: q.Session.User, Domain: t.at.Domain,
		Point: t.at.Name, Question: cut(t.words, maxOutputBytes), Output: cut(q.Text, maxOutputBytes), Sources: t.sources})
	if err != nil {
		return host.Opinion{}, err
	}
	return host.Opinion{Note: strings.TrimSpace("trace " + trace.ID + " " + note)}, nil
}

// copyOf gives what is known of the turn that an answer ends.
func (r *Recall) copyOf(q host.Reasoning) (turn, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.turns[q.Session]
	if t == nil || t.input != q.Input || !t.asked {
		return turn{}, false
	}
	return *t, true
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
