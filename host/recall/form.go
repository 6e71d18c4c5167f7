package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// maxOutputBytes is how much of an answer a trace keeps: what was recommended, not an essay.
const maxOutputBytes = 4 << 10

// Bounds of what is told of an answer that is withheld.
const (
	maxToldPieces = 4 // to the model
	maxOnRecord   = 5 // memories for the user, and as many results
)

// form tells the model, at a decision point, in which form it may answer, and asks
// the question that waited for such a point. Where trust cannot be read the answer
// may be evidence only.
func (r *Recall) form(ctx context.Context, q host.Reasoning) (host.Injection, error) {
	r.begin(q)
	if said, known := r.told(q); known {
		return host.Injection{Text: said}, nil
	}
	point, ok := r.Settings(q.Session.Tenant).point(wordsOf(q))
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
	if question := r.question(ctx, q, []memory.Point{pointOf(q, point)}, anyQuestion); question != "" {
		say += "\n" + toAsk(question)
	}
	r.know(q, func(t *turn) { t.asked, t.at, t.form, t.trust, t.say = true, &point, form, trust, say })
	return host.Injection{Text: say, Note: fmt.Sprintf("decision point %s: trust %.2f in %s, form %s", point.Name, trust, point.Domain, form)}, nil
}

// told gives what was said for the first question about the same input.
func (r *Recall) told(q host.Reasoning) (say string, known bool) {
	r.know(q, func(t *turn) { say, known = t.say, t.asked })
	return say, known
}

// localeOf tells Chinese words from others: questions are asked as users speak.
func localeOf(words string) string {
	if strings.ContainsFunc(words, func(c rune) bool { return c >= 0x4E00 && c <= 0x9FFF }) {
		return "zh"
	}
	return "en"
}

// localeIn gives the language for the user: that of the words, where they show it, and
// else the session's.
func localeIn(q host.Reasoning, words string) string {
	if locale := localeOf(words); locale != "en" || q.Locale == "" {
		return locale
	}
	return q.Locale
}

// judge withholds an answer that says more than its form allows, also beside calls:
// its words are shown. One that decides without calls becomes a trace once the user has
// it. Answers without a decision pass.
func (r *Recall) judge(_ context.Context, q host.Reasoning) (host.Opinion, error) {
	var t turn
	known := false
	r.know(q, func(of *turn) {
		t, known = *of, of.asked
		of.shown = nil
	})
	if !known {
		return host.Opinion{}, fmt.Errorf("memory does not know the turn that input %d is answered in", q.Input)
	}
	if t.at == nil || strings.TrimSpace(q.Text) == "" {
		return host.Opinion{}, nil
	}
	said := q.Text
	if t.wording != "" { // which offers "keep it" and the like, and recommends nothing
		said = strings.ReplaceAll(said, t.wording, " ")
	}
	if found := memory.CheckForm(t.form, said, memory.Given{Memories: t.texts, Read: q.Read}); len(found) > 0 {
		return r.withheld(q, t, found), nil
	}
	if len(q.Calls) > 0 {
		return host.Opinion{}, nil
	}
	o := r.complete(q, &t, said)
	if o.Problem == nil {
		r.know(q, func(of *turn) { of.shown = traceOf(q, of) })
	}
	return o, nil
}

// withheld refuses an answer: it tells the model what said too much, and leaves the user
// with why, and with what is on record.
func (r *Recall) withheld(q host.Reasoning, t turn, found []memory.FormFinding) host.Opinion {
	var pieces []string
	for _, f := range found[:min(len(found), maxToldPieces)] {
		pieces = append(pieces, fmt.Sprintf("%q (%s)", f.Words, f.Cue))
	}
	locale := localeIn(q, cmp.Or(t.words, q.Serves))
	instead := t.form.Withheld(t.at.Domain, t.trust, locale)
	if t.form == memory.EvidenceOnly {
		instead += memory.OnRecord(locale, onRecord(q, t))
	}
	return host.Opinion{
		Problem: abi.NewProblem(abi.Refused, "trust in %s is %.2f, so an answer about it may not say %s", t.at.Domain, t.trust, strings.Join(pieces, ", ")).
			WithHint("%s", t.form.Instruction("")),
		Instead: instead,
		Note:    fmt.Sprintf("%d pieces of the answer say more than %s allows", len(found), t.form),
	}
}

// onRecord gives what an answer could have reported: what was recalled, and what calls gave.
func onRecord(q host.Reasoning, t turn) (lines []string) {
	lines = append(lines, t.texts[:min(len(t.texts), maxOnRecord)]...)
	for _, o := range q.Outcomes {
		if o.Status == host.Done && len(lines) < 2*maxOnRecord {
			lines = append(lines, o.Tool+": "+cmp.Or(o.Preview, string(o.Data)))
		}
	}
	return lines
}

// traceOf gives the trace of an answer that ends a turn.
func traceOf(q host.Reasoning, t *turn) *memory.Trace {
	return &memory.Trace{Tenant: q.Session.Tenant, User: q.Session.User, Session: q.Session.Session, Input: host.InputID(fmt.Sprint(q.Input)),
		Domain: t.at.Domain, Point: t.at.Name, Question: cut(t.words, maxOutputBytes), Output: cut(q.Text, maxOutputBytes), Sources: slices.Clone(t.sources), TrustAtMoment: t.trust}
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
