package recall

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
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
	byRules := memory.Listen(m)
	h, err = r.keepDeclared(ctx, m, byRules)
	if err == nil {
		r.askModel(m, byRules)
	}
	return h, err
}

// requestBytes is how many bytes of a request make a token at most, in any language.
const requestBytes = 4

// askModel has the model hear the words, for what the rules do not know to read. What
// it uses is counted by the size of the request at once, since the process may end with
// the session, and the rest of it with the session's next answer. What it says of words
// that were forgotten meanwhile is nothing.
func (r *Recall) askModel(m memory.Message, byRules []memory.Node) {
	if r.Ask == nil || strings.TrimSpace(m.Text) == "" {
		return
	}
	ref := host.SessionRef{Tenant: m.Tenant, User: m.User, Session: m.Session}
	told := host.Amount{Tokens: int64(len(memory.ListenSystem())+len(memory.ListenUser(m))+len(memory.ListenSchema())) / requestBytes}
	ask := func(ctx context.Context, system, user string, schema json.RawMessage) (string, error) {
		answer, used, err := r.Ask(ctx, system, user, schema)
		r.hasUsed(ref, host.Amount{Tokens: used.Tokens - told.Tokens, Money: used.Money})
		return answer, err
	}
	began := r.background.run(hearingIn(ref)+string(m.Input), askTime, func(ctx context.Context) error {
		more, _, err := memory.ListenWith(ctx, ask, m)
		if err != nil || len(more) == 0 {
			return err
		}
		if gone, err := r.isForgotten(ctx, ref, m.At); err != nil || gone {
			return err
		}
		_, err = r.keepDeclared(ctx, m, memory.Besides(byRules, more))
		return err
	})
	if began {
		r.hasUsed(ref, told)
	}
}

// hearingBy and hearingIn give what the names of the hearings of a user and of a
// session begin with.
func hearingBy(o keeper.Owner) string { return fmt.Sprintf("hear %q %q ", o.Tenant, o.User) }

func hearingIn(ref host.SessionRef) string {
	return hearingBy(ownerOf(ref)) + fmt.Sprintf("%q input ", ref.Session)
}

// isForgotten reports whether what was said in a session at a time was forgotten since,
// also elsewhere: with everything of its user, or by the session's purge.
func (r *Recall) isForgotten(ctx context.Context, ref host.SessionRef, at time.Time) (bool, error) {
	until, err := r.Keeper.ForgottenUntil(ctx, ownerOf(ref))
	if err != nil || !until.Before(at) {
		return true, err
	}
	filter := state.RecordFilter{Session: ref, Kinds: []host.RecordKind{host.RecordEvent}}
	for {
		records, err := r.Store.Records(ctx, ref.Tenant, filter)
		if err != nil || len(records) == 0 {
			return false, err
		}
		for _, record := range records {
			if filter.AfterSeq = record.Seq; isPurge(record) && !record.Time.Before(at) {
				return true, nil
			}
		}
	}
}

// hasUsed counts what a model used for a session beside its answers; less than nothing
// is nothing.
func (r *Recall) hasUsed(ref host.SessionRef, more host.Amount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.used[ref]; known || len(r.used) < maxTurns {
		r.used[ref] = host.Budget{Used: r.used[ref]}.Spend(more).Used
	}
}

// takeUsed gives what was counted and not told before.
func (r *Recall) takeUsed(ref host.SessionRef) host.Amount {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := r.used[ref]
	delete(r.used, ref)
	return used
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
