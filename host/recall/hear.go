package recall

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

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
// does with the answer that they were just given, and what they declare: by the rules
// now, and by the model in the background. The message is the user's own, and the so
// many-th that they said in its session. It may be repeated.
func (r *Recall) hear(ctx context.Context, m memory.Message, spoken int) (h heard, err error) {
	if before, err := r.hasAnswered(ctx, m); err != nil || before {
		return h, err
	}
	h, answered, err := r.answered(ctx, m, spoken)
	if err != nil || answered {
		return h, err
	}
	if err := r.react(ctx, m); err != nil {
		return h, err
	}
	byRules := memory.Listen(m)
	h, err = r.keepDeclared(ctx, m, byRules, r.Settings(m.Tenant).ConflictPolicy())
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
	if r.Ask == nil {
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
		// Its reading replaces nothing by itself: where it contradicts, the user is asked.
		_, err = r.keepDeclared(ctx, m, memory.Besides(byRules, more), memory.AskUser)
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

// forgotSince reports whether anything of a user was forgotten since a time, by whichever
// process. What it was nobody can tell any more, so it may be all that came before; and of
// what came at no time that is known, it may be, too.
func (r *Recall) forgotSince(ctx context.Context, o keeper.Owner, at time.Time) (bool, error) {
	last, err := r.Keeper.LastForgotten(ctx, o)
	return err == nil && !last.Before(at), err
}

// isForgotten reports whether what was said in a session at a time may have been forgotten
// since, or the session purged, which a turn that has it need not ask.
func (r *Recall) isForgotten(ctx context.Context, ref host.SessionRef, at time.Time) (bool, error) {
	if gone, err := r.forgotSince(ctx, ownerOf(ref), at); err != nil || gone {
		return gone, err
	}
	return r.purgedSince(ctx, ref, 0, at)
}

// purgedSince reports whether the log tells of a purge of a session after a record and not
// before a time.
func (r *Recall) purgedSince(ctx context.Context, ref host.SessionRef, after int64, at time.Time) (bool, error) {
	filter := state.RecordFilter{Session: ref, Kinds: []host.RecordKind{host.RecordEvent}, AfterSeq: after}
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

// A using is what a model used for a session beside its answers.
type using struct {
	amount host.Amount
	since  time.Time // when something was added last
}

// hasUsed counts what a model used for a session beside its answers; less than nothing
// is nothing. With too many sessions that were told nothing yet, the one that used
// nothing for longest is dropped: it may have been broken off.
func (r *Recall) hasUsed(ref host.SessionRef, more host.Amount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := host.Budget{Used: r.used[ref].amount}.Spend(more).Used
	if sum == (host.Amount{}) {
		return
	}
	if _, known := r.used[ref]; !known && len(r.used) >= maxTurns {
		delete(r.used, r.leastRecent())
	}
	r.used[ref] = using{sum, r.Now()}
}

// leastRecent gives the session whose use was counted longest ago. The caller holds mu.
func (r *Recall) leastRecent() (least host.SessionRef) {
	var since time.Time
	for ref, u := range r.used {
		if since.IsZero() || u.since.Before(since) {
			least, since = ref, u.since
		}
	}
	return least
}

// takeUsed gives what was counted and not told before. Where the hook is late, nobody
// reads what it gives: the amount stays for the next question.
func (r *Recall) takeUsed(ctx context.Context, ref host.SessionRef) host.Amount {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return host.Amount{}
	}
	used := r.used[ref].amount
	delete(r.used, ref)
	return used
}

// dropUsed forgets what was counted for a session that has ended: nothing asks for it.
func (r *Recall) dropUsed(ref host.SessionRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.used, ref)
}

func (r *Recall) keepDeclared(ctx context.Context, m memory.Message, nodes []memory.Node, policy memory.ConflictPolicy) (h heard, err error) {
	for _, n := range nodes {
		one, err := r.declare(ctx, keeper.Owner{Tenant: m.Tenant, User: m.User}, m.Indexed(n), policy)
		if err != nil {
			return h, err
		}
		h = h.and(one)
	}
	return h, nil
}

// hasAnswered reports whether a message is kept as the answer to a question of its session:
// heard again, it is no word about anything else.
func (r *Recall) hasAnswered(ctx context.Context, m memory.Message) (bool, error) {
	questions, err := r.Keeper.Questions(ctx, keeper.Owner{Tenant: m.Tenant, User: m.User})
	return slices.ContainsFunc(questions, func(q memory.Question) bool {
		return q.AskedIn == m.Session && !q.Moot && q.Answered.Truncate(time.Microsecond).Equal(m.At.Truncate(time.Microsecond))
	}), err
}

// answered reads a message as the answer to one of the questions that it may answer,
// the one that was asked last first, and keeps the answer.
func (r *Recall) answered(ctx context.Context, m memory.Message, spoken int) (h heard, ok bool, err error) {
	o := keeper.Owner{Tenant: m.Tenant, User: m.User}
	questions, err := r.Keeper.Waiting(ctx, o)
	if err != nil {
		return h, false, err
	}
	questions = slices.DeleteFunc(questions, func(q memory.Question) bool { return !q.AnswerableBy(m.Session, spoken) })
	slices.SortFunc(questions, func(a, b memory.Question) int {
		return cmp.Or(b.AskedInput-a.AskedInput, b.Asked.Compare(a.Asked))
	})
	for _, q := range questions {
		a, ok, err := r.answerTo(ctx, o, q, m)
		if err != nil {
			return h, false, err
		}
		if !ok {
			continue
		}
		resolved, err := r.Keeper.Answer(ctx, o, q.ID, r.Reconcile, a)
		switch code := codeOf(err); {
		case err == nil:
			return heardOf(resolved), true, nil
		case code == abi.BadArguments || code == abi.NotFound: // settled meanwhile
			continue
		}
		return h, false, err
	}
	return h, false, nil
}

// heardOf gives what an answer left, and what the model should know of a choice.
func heardOf(r memory.Resolved) heard {
	first := r.Memory.ID
	switch {
	case r.New != nil:
		return heard{ids: []memory.ID{r.New.ID}}
	case r.Other == nil:
		return heard{ids: []memory.ID{first}}
	case r.Question.Settled():
		return heard{ids: []memory.ID{first, r.Other.ID}, remarks: []string{fmt.Sprintf("The user has just said that memories %s and %s both count, for different situations.", first, r.Other.ID)}}
	}
	counts, ended := first, r.Other.ID
	if r.Question.Answer == memory.Second {
		counts, ended = ended, counts
	}
	return heard{ids: []memory.ID{counts}, remarks: []string{fmt.Sprintf("The user has just said that memory %s counts, and memory %s does not any more.", counts, ended)}}
}

// answerTo reads what a message answers to a question whose memories still count.
func (r *Recall) answerTo(ctx context.Context, o keeper.Owner, q memory.Question, m memory.Message) (a memory.Answer, ok bool, err error) {
	said, other, ok, err := r.askedAbout(ctx, o, q)
	switch {
	case err != nil || !ok:
		return a, false, err
	case q.IsChoice():
		a, ok = memory.ReadChoice(m, said, other)
	default:
		a, ok = memory.ReadAnswer(m, said)
	}
	return a, ok, nil
}

// askedAbout gives what a question is about, and whether all of it still counts. The other one
// is that of a choice.
func (r *Recall) askedAbout(ctx context.Context, o keeper.Owner, q memory.Question) (said, other memory.Node, ok bool, err error) {
	said, err = r.Keeper.Get(ctx, o, q.Memory)
	if err == nil && q.IsChoice() {
		other, err = r.Keeper.Get(ctx, o, q.Other)
	}
	if codeOf(err) == abi.NotFound {
		return said, other, false, nil
	}
	return said, other, err == nil && said.Status == memory.Active && (!q.IsChoice() || other.Status == memory.Active), err
}

func codeOf(err error) abi.Code {
	if err == nil {
		return 0
	}
	return host.ProblemOf(err).Code
}

// declare keeps one declaration, in the place of earlier ones where the rules say so.
// Where they say to ask, all of it stays, and choices tells the model.
func (r *Recall) declare(ctx context.Context, o keeper.Owner, n memory.Node, policy memory.ConflictPolicy) (h heard, err error) {
	d, err := r.Keeper.Declare(ctx, o, n, policy)
	if err != nil {
		return heard{}, err
	}
	h.ids = []memory.ID{d.ID}
	if len(d.Opposed) > 0 {
		n.ID = d.ID
		h.opposed = append(d.Opposed, n)
	}
	return h, nil
}
