package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// Bounds of what is put before the model.
const (
	recalledHits = 8  // memories that fit the words: more push out the conversation
	trajectories = 2  // of them that tell what a session did: a user has one of each
	constraints  = 10 // that stand before them; with those that fit, fewer than host/window shows
	maxRemarks   = 12 // lines on them: with the form's and its question, fewer than host/window shows
)

// before hears the user's own words, once for an input, keeps the facts of results, and
// gives what fits the words. What fails is told to the operator, is tried again at the
// next question to the model, and stops nothing: the rest of memory still serves.
func (r *Recall) before(ctx context.Context, q host.Reasoning) (host.Injection, error) {
	in := r.recollect(ctx, q)
	in.Used = r.takeUsed(ctx, q.Session)
	return in, nil
}

func (r *Recall) recollect(ctx context.Context, q host.Reasoning) host.Injection {
	r.begin(q)
	r.keepFacts(ctx, q)
	if in, done := r.again(q); done {
		return in
	}
	h := r.hearOnce(ctx, q)
	found, left, err := r.find(ctx, q)
	if err != nil {
		r.Logger.WarnContext(ctx, "not all that fits could be recalled", "session", q.Session.String(), "error", err)
	}
	for _, n := range h.opposed {
		if !has(found, n.ID) {
			found = append(found, n)
		}
	}
	shown, failed := r.surround(ctx, ownerOf(q.Session), found)
	if failed != nil {
		r.Logger.WarnContext(ctx, "pieces of documents stand alone", "session", q.Session.String(), "error", failed)
	}
	in := r.quoted(shown)
	question, opposed := r.choices(ctx, q, found)
	remarks := slices.Concat(question, h.remarks, remarkOf(left), opposed)
	in.Text = strings.Join(remarks[:min(len(remarks), maxRemarks)], "\n")
	r.know(q, func(t *turn) {
		t.injected, t.found, t.texts = in, err == nil, shown.texts()
		t.sources = sourcesOf(h.ids, shown)
	})
	if err != nil {
		in.Note = strings.TrimSpace(in.Note + " (not all that fits could be recalled)")
	}
	return in
}

// again gives what was injected for an earlier question about the same input, if all
// of it was found then.
func (r *Recall) again(q host.Reasoning) (in host.Injection, done bool) {
	r.know(q, func(t *turn) {
		in, done = t.injected, t.found && t.heard
		in.Recalled, in.Note = slices.Clone(in.Recalled), "" // one record of it is enough
	})
	return in, done
}

// hearOnce hears the words unless they were, and gives what was heard.
func (r *Recall) hearOnce(ctx context.Context, q host.Reasoning) (h heard) {
	var m memory.Message
	done := true
	r.know(q, func(t *turn) { h, done, m = t.hearing, t.heard, messageOf(q, t.words, t.said) })
	if done {
		return h
	}
	more, gone, err := r.hearUnlessGone(ctx, m, q.Spoken)
	switch {
	case err != nil:
		r.Logger.WarnContext(ctx, "the user's words were not all heard", "session", q.Session.String(), "error", err)
	case gone:
		r.Logger.InfoContext(ctx, "an input is not heard: something of the user was forgotten since it came", "session", q.Session.String(), "input", q.Input)
	}
	r.know(q, func(t *turn) {
		if gone {
			t.words = "" // no trace has them
		}
		t.hearing, t.heard = more, err == nil
		h = more
	})
	return h
}

// hearUnlessGone hears words of the user's, unless they may have been forgotten since they
// were said. An input that the host made has none.
func (r *Recall) hearUnlessGone(ctx context.Context, m memory.Message, spoken int) (h heard, gone bool, err error) {
	if strings.TrimSpace(m.Text) == "" {
		return h, false, nil
	}
	gone, err = r.forgotSince(ctx, keeper.Owner{Tenant: m.Tenant, User: m.User}, m.At)
	if err == nil && !gone {
		h, err = r.hear(ctx, m, spoken)
	}
	return h, gone, err
}

// find gives what must be kept to, then what fits the words, then what matters here
// beyond them, and how many constraints are left out. What was found before a failure is
// given with it.
func (r *Recall) find(ctx context.Context, q host.Reasoning) (found []memory.Node, left int, err error) {
	found, left, err = r.mustKeep(ctx, ownerOf(q.Session))
	found, fitting := r.fitting(ctx, q, found)
	more, bringing := r.bring(ctx, q, found)
	return append(found, more...), left, errors.Join(err, fitting, bringing)
}

// fitting adds what fits the words.
func (r *Recall) fitting(ctx context.Context, q host.Reasoning, found []memory.Node) ([]memory.Node, error) {
	o, words := ownerOf(q.Session), wordsOf(q)
	if strings.TrimSpace(words) == "" {
		return found, nil
	}
	hits, err := r.Keeper.Recall(ctx, keeper.Query{Filter: memory.Filter{Tenant: o.Tenant, User: o.User}, Text: cut(words, keeper.MaxQueryBytes), Limit: 2 * recalledHits, Quiet: true})
	fits, sessions := 0, 0
	var injected []memory.ID // of the hits: what is left out was not recalled
	for _, h := range hits {
		if isTrajectory(h.Node) {
			sessions++
		}
		if fits == recalledHits || has(found, h.Node.ID) || isTrajectory(h.Node) && sessions > trajectories {
			continue
		}
		fits++
		found, injected = append(found, h.Node), append(injected, h.Node.ID)
	}
	r.Keeper.Shown(o, injected)
	return found, err
}

// mustKeep gives the constraints that stand before the model: the user's own first,
// and of them the newest; then those that skills remembered.
func (r *Recall) mustKeep(ctx context.Context, o keeper.Owner) (first []memory.Node, left int, err error) {
	first, all, err := r.Keeper.Constraints(ctx, o, constraints)
	return first, all - len(first), err
}

func remarkOf(left int) []string {
	if left == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d more constraints of this user are kept and not shown here, the older ones; before anything that they may forbid, ask the user.", left)}
}

// quoted gives memories as the model reads them, and their ids for the record.
func (r *Recall) quoted(s shown) (in host.Injection) {
	for _, p := range memory.Layered(r.Reconcile, s.nodes) {
		p.Around = s.around[p.ID].Text
		in.Recalled = append(in.Recalled, abi.Memory{Kind: string(p.Kind), Entity: p.Entity, Text: memory.QuoteLine(p, r.Now())})
	}
	if len(s.nodes) > 0 {
		in.Note = fmt.Sprintf("recalled %d: %s", len(s.nodes), joined(s.ids()))
	}
	return in
}

// keepFacts keeps the results of the tools that the policy names, each once.
func (r *Recall) keepFacts(ctx context.Context, q host.Reasoning) {
	for _, o := range r.unkept(q) {
		if err := r.keepResult(ctx, q, o); err != nil {
			r.Logger.WarnContext(ctx, "a result was not kept as facts", "session", q.Session.String(), "call", o.Call, "error", err)
			continue
		}
		r.know(q, func(t *turn) { t.kept[o.Call] = true })
	}
}

// unkept gives the results that may be facts and were not kept in this turn.
func (r *Recall) unkept(q host.Reasoning) (fresh []host.Outcome) {
	tools := r.Settings(q.Session.Tenant).Facts
	for _, o := range q.Outcomes {
		told := o.Release == "" && len(o.Data) == 0 // of an earlier run, as the model was told: nothing says whose tool it was
		named := told || len(o.Data) > 0 && slices.Contains(tools, fullName(o.Release, o.Tool))
		if len(tools) > 0 && o.Status == host.Done && named && !r.isKept(q, o.Call) {
			fresh = append(fresh, o)
		}
	}
	return fresh
}

// keepResult keeps one result as facts, unless something of the user was forgotten since.
func (r *Recall) keepResult(ctx context.Context, q host.Reasoning, o host.Outcome) error {
	ended, at, err := r.endOf(ctx, q.Session, o)
	if err != nil || len(ended.Data) == 0 || !slices.Contains(r.Settings(q.Session.Tenant).Facts, fullName(ended.Release, ended.Tool)) {
		return err
	}
	since := at
	if at.IsZero() { // it is new, and no record tells how new: the call came after the input
		since, at = q.SaidAt, r.Now().UTC()
	}
	if gone, err := r.forgotSince(ctx, ownerOf(q.Session), since); err != nil || gone {
		return err
	}
	nodes, err := memory.Facts(memory.ShopFacts(), memory.Result{Tenant: q.Session.Tenant, User: q.Session.User, Session: q.Session.Session,
		Live: q.Live, Call: o.Call, Tool: ended.Tool, Data: ended.Data, At: at})
	if err == nil {
		_, err = r.Keeper.Renew(ctx, ownerOf(q.Session), nodes)
	}
	return err
}

func (r *Recall) isKept(q host.Reasoning, call host.CallID) (kept bool) {
	r.know(q, func(t *turn) { kept = t.kept[call] })
	return kept
}

func has(nodes []memory.Node, id memory.ID) bool {
	return slices.ContainsFunc(nodes, func(n memory.Node) bool { return n.ID == id })
}

func ids(nodes []memory.Node) []memory.ID {
	list := make([]memory.ID, len(nodes))
	for i, n := range nodes {
		list[i] = n.ID
	}
	return list
}

func joined(list []memory.ID) string {
	words := make([]string, len(list))
	for i, id := range list {
		words[i] = string(id)
	}
	return strings.Join(words, " ")
}
