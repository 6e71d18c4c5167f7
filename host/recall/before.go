package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// before hears the user's words, once for an input, keeps the facts of results, and
// gives what fits the words. What fails is told to the operator and stops nothing:
// the rest of memory still serves.
func (r *Recall) before(ctx context.Context, q host.Reasoning) (host.Injection, error) {
	t, fresh := r.begin(q)
	if t == nil {
		return host.Injection{}, fmt.Errorf("more than %d turns are under way", maxTurns)
	}
	if err := r.keepFacts(ctx, q, t); err != nil {
		r.Logger.WarnContext(ctx, "results were not kept as facts", "session", q.Session.String(), "error", err)
	}
	if !fresh {
		return r.again(q.Session), nil
	}
	remarks, err := r.hear(ctx, q)
	if err != nil {
		r.Logger.WarnContext(ctx, "the user's words were not heard", "session", q.Session.String(), "error", err)
	}
	found, err := r.find(ctx, q)
	if err != nil {
		return host.Injection{Text: strings.Join(remarks, "\n")}, err
	}
	in := r.quoted(found)
	in.Text = strings.Join(remarks, "\n")
	r.know(q, func(t *turn) { t.injected, t.sources = in, ids(found) })
	return in, nil
}

// again gives what was injected for the first question about the same input.
func (r *Recall) again(ref host.SessionRef) host.Injection {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.turns[ref]; t != nil {
		in := t.injected
		in.Recalled, in.Note = slices.Clone(in.Recalled), "" // one record of it is enough
		return in
	}
	return host.Injection{}
}

// hear reads an answer to an open question, or else what the user declares. It gives
// what the model should know of it.
func (r *Recall) hear(ctx context.Context, q host.Reasoning) (remarks []string, err error) {
	m := memory.Message{Tenant: q.Session.Tenant, User: q.Session.User, Session: q.Session.Session, Live: q.Live,
		Input: host.InputID(fmt.Sprint(q.Input)), Text: q.Text, At: r.Now().UTC()}
	answered, err := r.answered(ctx, m)
	if err != nil || answered {
		return nil, err
	}
	heard := memory.Listen(m)
	if r.Ask != nil {
		if more, _, err := memory.ListenWith(ctx, r.Ask, m); err == nil {
			heard = append(heard, more...) // the keeper keeps the same words once
		}
	}
	for _, n := range heard {
		remark, err := r.declare(ctx, ownerOf(q.Session), n)
		if err != nil {
			return remarks, err
		}
		if remark != "" {
			remarks = append(remarks, remark)
		}
	}
	return remarks, nil
}

// answered reports whether a message answers a question that was asked, and keeps
// the answer.
func (r *Recall) answered(ctx context.Context, m memory.Message) (bool, error) {
	o := keeper.Owner{Tenant: m.Tenant, User: m.User}
	questions, err := r.Keeper.Questions(ctx, o)
	if err != nil {
		return false, err
	}
	for _, q := range questions {
		if q.Asked.IsZero() || !q.Answered.IsZero() {
			continue
		}
		said, err := r.Keeper.Get(ctx, o, q.Memory)
		if err != nil {
			return false, err
		}
		if a, ok := memory.ReadAnswer(m, said); ok {
			_, err := r.Keeper.Answer(ctx, o, q.ID, r.Reconcile, a)
			return err == nil, err
		}
	}
	return false, nil
}

// declare keeps one declaration, in the place of an earlier one that it contradicts
// where the rules say so. Where they say to ask, both stay, and the remark says that.
func (r *Recall) declare(ctx context.Context, o keeper.Owner, n memory.Node) (remark string, err error) {
	if n.Claim != nil {
		earlier, err := r.Keeper.List(ctx, o, keeper.Page{Layers: []memory.Layer{memory.Declared}, Statuses: []memory.Status{memory.Active}})
		if err != nil {
			return "", err
		}
		for _, old := range earlier {
			switch c := memory.Settle(memory.LastWins, old, n); {
			case c.Outcome == memory.OneWins && c.Loser.ID == old.ID:
				_, err := r.Keeper.Supersede(ctx, o, old.ID, n)
				return "", err
			case c.Outcome == memory.UserAsked:
				remark = memory.ConflictText(old, n, "")
			}
		}
	}
	_, err = r.Keeper.Remember(ctx, o, []memory.Node{n})
	return remark, err
}

// find gives what must be kept to, then what fits the words.
func (r *Recall) find(ctx context.Context, q host.Reasoning) ([]memory.Node, error) {
	o := ownerOf(q.Session)
	found, err := r.Keeper.List(ctx, o, keeper.Page{Kinds: []memory.Kind{memory.Constraint}, Statuses: []memory.Status{memory.Active}, Limit: constraints})
	if err != nil || strings.TrimSpace(q.Text) == "" {
		return found, err
	}
	hits, err := r.Keeper.Recall(ctx, keeper.Query{Filter: memory.Filter{Tenant: o.Tenant, User: o.User}, Text: q.Text, Limit: recalledHits})
	for _, h := range hits {
		if !slices.ContainsFunc(found, func(n memory.Node) bool { return n.ID == h.Node.ID }) {
			found = append(found, h.Node)
		}
	}
	return found, err
}

// quoted gives memories as the model reads them, and their ids for the record.
func (r *Recall) quoted(found []memory.Node) (in host.Injection) {
	for _, p := range memory.Layered(r.Reconcile, found) {
		in.Recalled = append(in.Recalled, abi.Memory{Kind: string(p.Kind), Entity: p.Entity, Text: memory.QuoteLine(p, r.Now())})
	}
	if len(found) > 0 {
		in.Note = fmt.Sprintf("recalled %d: %s", len(found), joined(ids(found)))
	}
	return in
}

// keepFacts keeps the results of the tools that the policy names, each once.
func (r *Recall) keepFacts(ctx context.Context, q host.Reasoning, t *turn) error {
	tools := r.Settings(q.Session.Tenant).Facts
	for _, o := range q.Outcomes {
		if o.Status != host.Done || len(o.Data) == 0 || !slices.Contains(tools, fullName(o.Release, o.Tool)) || !r.firstTime(t, o.Call) {
			continue
		}
		nodes, err := memory.Facts(memory.ShopFacts(), memory.Result{Tenant: q.Session.Tenant, User: q.Session.User, Session: q.Session.Session,
			Live: q.Live, Call: o.Call, Tool: o.Tool, Data: o.Data, At: r.Now().UTC()})
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if err := r.renew(ctx, ownerOf(q.Session), n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Recall) firstTime(t *turn, call host.CallID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !t.kept[call]
	t.kept[call] = true
	return first
}

// know changes what is known of a turn, if it is still the session's.
func (r *Recall) know(q host.Reasoning, change func(*turn)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.turns[q.Session]; t != nil && t.input == q.Input {
		change(t)
	}
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
