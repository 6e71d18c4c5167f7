package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// maxOpposed bounds the earlier declarations that are told to contradict a new one:
// more of them tell nobody more.
const maxOpposed = 8

// askTime is what the model has that hears declarations beside the rules.
const askTime = time.Minute

// A heard is what came of a user's words.
type heard struct {
	ids     []memory.ID   // what was kept of them
	opposed []memory.Node // declarations that contradict each other and both stand
	remarks []string      // what the model should know of it: ids, and nobody's words
}

func (h heard) and(more heard) heard {
	return heard{slices.Concat(h.ids, more.ids), slices.Concat(h.opposed, more.opposed), slices.Concat(h.remarks, more.remarks)}
}

// messageOf gives words as they were said, however often they are heard.
func messageOf(q host.Reasoning, words string, at time.Time) memory.Message {
	return memory.Message{Tenant: q.Session.Tenant, User: q.Session.User, Session: q.Session.Session, Live: q.Live,
		Input: host.InputID(fmt.Sprint(q.Input)), Text: words, At: at}
}

// hear reads an answer to a question that was just asked, or else what the user
// declares: by the rules now, and by the model in the background. It may be repeated.
func (r *Recall) hear(ctx context.Context, m memory.Message, input int) (h heard, err error) {
	kept, answered, err := r.answered(ctx, m, input)
	if err != nil || answered {
		return heard{ids: kept}, err
	}
	h, err = r.keepDeclared(ctx, m, memory.Listen(m))
	if err == nil {
		r.askModel(m)
	}
	return h, err
}

// askModel has the model hear the words, for what the rules do not know to read.
func (r *Recall) askModel(m memory.Message) {
	if r.Ask == nil {
		return
	}
	r.background.run(fmt.Sprintf("hear input %s of %s/%s/%s", m.Input, m.Tenant, m.User, m.Session), askTime, func(ctx context.Context) error {
		more, _, err := memory.ListenWith(ctx, r.Ask, m)
		if err == nil {
			_, err = r.keepDeclared(ctx, m, more) // the keeper keeps the same words once
		}
		return err
	})
}

func (r *Recall) keepDeclared(ctx context.Context, m memory.Message, nodes []memory.Node) (h heard, err error) {
	for _, n := range nodes {
		one, err := r.declare(ctx, keeper.Owner{Tenant: m.Tenant, User: m.User}, n)
		if err != nil {
			return h, err
		}
		h = h.and(one)
	}
	return h, nil
}

// answered reads a message as the answer to one of the questions that it may answer,
// the one that was asked last first, and keeps the answer.
func (r *Recall) answered(ctx context.Context, m memory.Message, input int) (kept []memory.ID, ok bool, err error) {
	o := keeper.Owner{Tenant: m.Tenant, User: m.User}
	questions, err := r.Keeper.Waiting(ctx, o)
	if err != nil {
		return nil, false, err
	}
	questions = slices.DeleteFunc(questions, func(q memory.Question) bool { return !q.AnswerableBy(m.Session, input) })
	slices.SortFunc(questions, func(a, b memory.Question) int {
		return cmp.Or(b.AskedInput-a.AskedInput, b.Asked.Compare(a.Asked))
	})
	for _, q := range questions {
		a, ok, err := r.answerTo(ctx, o, q, m)
		if err != nil {
			return nil, false, err
		}
		if !ok {
			continue
		}
		resolved, err := r.Keeper.Answer(ctx, o, q.ID, r.Reconcile, a)
		switch code := codeOf(err); {
		case err == nil && resolved.New != nil:
			return []memory.ID{resolved.New.ID}, true, nil
		case code == abi.BadArguments || code == abi.NotFound: // settled meanwhile
			continue
		}
		return []memory.ID{q.Memory}, err == nil, err
	}
	return nil, false, nil
}

// answerTo reads what a message answers to a question whose memory still counts.
func (r *Recall) answerTo(ctx context.Context, o keeper.Owner, q memory.Question, m memory.Message) (a memory.Answer, ok bool, err error) {
	said, err := r.Keeper.Get(ctx, o, q.Memory)
	if codeOf(err) == abi.NotFound || err == nil && said.Status != memory.Active {
		return a, false, nil
	}
	if err == nil {
		a, ok = memory.ReadAnswer(m, said)
	}
	return a, ok, err
}

func codeOf(err error) abi.Code {
	if err == nil {
		return 0
	}
	return host.ProblemOf(err).Code
}

// declare keeps one declaration, in the place of all earlier ones that it contradicts
// where the rules say so. Where they say to ask, both stay, and a remark says that.
func (r *Recall) declare(ctx context.Context, o keeper.Owner, n memory.Node) (h heard, err error) {
	var beaten []memory.ID
	if n.Claim != nil {
		earlier, err := r.list(ctx, o, keeper.Page{Layers: []memory.Layer{memory.Declared}, Statuses: []memory.Status{memory.Active}})
		if err != nil {
			return h, err
		}
		for _, old := range earlier {
			switch c := memory.Settle(memory.LastWins, old, n); {
			case c.Outcome == memory.OneWins && c.Loser.ID == old.ID:
				beaten = append(beaten, old.ID)
			case c.Outcome == memory.UserAsked && len(h.opposed) < maxOpposed:
				h.opposed = append(h.opposed, old)
			}
		}
	}
	id, err := r.keepInPlaceOf(ctx, o, beaten, n)
	if err != nil {
		return heard{}, err
	}
	h.ids = []memory.ID{id}
	if len(h.opposed) > 0 {
		n.ID = id
		h.remarks = []string{fmt.Sprintf("What the user declares in memory %s contradicts what they declared in %s. All of it stands: ask the user which counts, and decide nothing about it yourself.", id, joined(ids(h.opposed)))}
		h.opposed = append(h.opposed, n)
	}
	return h, nil
}

// keepInPlaceOf keeps a declaration once, and has it supersede others.
func (r *Recall) keepInPlaceOf(ctx context.Context, o keeper.Owner, beaten []memory.ID, n memory.Node) (id memory.ID, err error) {
	for _, old := range beaten {
		if id, err = r.Keeper.Supersede(ctx, o, old, n); err != nil {
			return "", err
		}
	}
	if len(beaten) > 0 {
		return id, nil
	}
	kept, err := r.Keeper.Remember(ctx, o, []memory.Node{n})
	if err != nil {
		return "", err
	}
	return kept[0].ID, nil
}
