package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/dispatch"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// An ApprovalRef is an open question, as a door shows it to a person.
type ApprovalRef struct {
	ID     host.ApprovalID `json:"id"`
	Tool   string          `json:"tool"`           // with its skill's name before it
	Args   json.RawMessage `json:"args"`           // to be shown: what cannot be seen is U+FFFD
	Says   []string        `json:"says,omitempty"` // why it is asked
	Digest string          `json:"digest"`         // to be named in the answer
}

// OpenApprovals gives the questions of a session that nobody has answered, in
// the order in which they were asked. It reads only, and needs no lease.
func OpenApprovals(ctx context.Context, store *state.Store, ref host.SessionRef) ([]ApprovalRef, error) {
	var refs []ApprovalRef
	for after := host.ApprovalID(""); ; {
		page, err := store.Approvals(ctx, ref.Tenant, state.ApprovalFilter{Session: ref, Status: state.ApprovalOpen, After: after})
		if err != nil || len(page) == 0 {
			return refs, err
		}
		for _, a := range page {
			asked, err := dispatch.ReadAsked(a)
			if err != nil {
				return nil, err
			}
			args, says := visible(asked)
			refs = append(refs, ApprovalRef{ID: a.ID, Tool: asked.Name(), Args: args, Says: says, Digest: a.Digest})
			after = a.ID
		}
	}
}

// stillOpen gives those of the questions that nobody has answered.
func stillOpen(ctx context.Context, store *state.Store, ref host.SessionRef, ids []host.ApprovalID) ([]ApprovalRef, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	open, err := OpenApprovals(ctx, store, ref)
	return slices.DeleteFunc(open, func(r ApprovalRef) bool { return !slices.Contains(ids, r.ID) }), err
}

// waiting gives the questions that calls of this turn wait for, as its results
// say.
func (t *turn) waiting() (ids []host.ApprovalID) {
	for i := t.input.Message; i < t.count(); i++ {
		if m := t.at(i); m.Code == abi.PendingApproval && m.Approval != "" {
			ids = append(ids, m.Approval)
		}
	}
	return ids
}

// asked gives the questions that calls were told of since the user's words that
// the turn serves, and did not run with.
func (t *turn) asked() (ids []host.ApprovalID) {
	for i := max(t.input.begins(), t.first); i < t.count(); i++ {
		if m := t.at(i); m.Role == model.RoleTool && !m.OK && m.Approval != "" && !slices.Contains(ids, m.Approval) {
			ids = append(ids, m.Approval)
		}
	}
	return ids
}

// again gives the stored answer of an input that was delivered before. What
// waited for a person then may have been answered.
func (t *turn) again(ctx context.Context) (Answer, error) {
	answer := *t.input.Answer
	answer.Repeated = true
	var ids []host.ApprovalID
	for _, ref := range answer.Pending {
		ids = append(ids, ref.ID)
	}
	var err error
	answer.Pending, err = stillOpen(ctx, t.Store, t.ref, ids)
	return answer, err
}

// A Decision is a person's answer to a question.
type Decision struct {
	Approve bool
	By      host.UserID
	Words   string // for the model; may be empty
	Digest  string // of what the person has seen; it must be the question's
}

// Decide stores a person's answer to a question of a tenant, and the audit
// record of it. The rest is that of state.Store.AnswerApproval; Continue goes on
// with the session afterwards, on any replica.
func Decide(ctx context.Context, store *state.Store, tenant host.TenantID, id host.ApprovalID, d Decision) (state.Approval, error) {
	return store.AnswerApproval(ctx, state.ApprovalAnswer{
		Tenant: tenant, ID: id, Digest: d.Digest, Approve: d.Approve, By: d.By, Words: d.Words,
		Records: []host.Record{answerRecord(map[string]any{"approval": id, "approve": d.Approve, "by": d.By, "words": d.Words})},
	})
}

// TakeBack cancels a question that was not answered, or whose approval no call
// has used, and stores the audit record of it: its call never runs.
func TakeBack(ctx context.Context, store *state.Store, tenant host.TenantID, id host.ApprovalID, by host.UserID, words string) (state.Approval, error) {
	record := answerRecord(map[string]any{"approval": id, "cancelled": true, "by": by, "words": words})
	record.Session.Tenant = tenant
	return store.CancelApproval(ctx, tenant, id, by, words, record)
}

func answerRecord(detail map[string]any) host.Record {
	b, err := json.Marshal(detail)
	if err != nil {
		panic("BUG: an answer does not marshal: " + err.Error())
	}
	return host.Record{Kind: host.RecordAnswer, Detail: b}
}

// answerPrefix begins the ids of inputs that are answers to questions. No door
// lets a user deliver one.
const answerPrefix = "approval/"

func isAnswer(id host.InputID) bool { return strings.HasPrefix(string(id), answerPrefix) }

// Continue goes on with a session after a person answered one of its questions:
// exactly the approved call runs, once, and the model goes on from its result;
// or it is told that the answer was no, in the person's words. It is Turn with
// an input that the host makes, so it may be called again, by any replica: what
// was broken off goes on, and an answer that was continued gives its stored
// end. A turn that was broken off before is finished first.
//
// It fails with NotFound if the session has no such question, and with Conflict
// if nobody has answered it, or another call has run with it.
func (a *Agent) Continue(ctx context.Context, s Session, id host.ApprovalID, on func(host.Event)) (Answer, error) {
	if err := s.Ref.Valid(); err != nil {
		return Answer{}, host.Fail("agent.Continue", abi.NewProblem(abi.BadValue, "%v", err), nil)
	}
	question, found, err := a.Store.Approval(ctx, s.Ref.Tenant, id)
	switch {
	case err != nil:
		return Answer{}, err
	case !found || question.Session != s.Ref:
		return Answer{}, host.Fail("agent.Continue", abi.NewProblem(abi.NotFound, "session %s has no question %s", s.Ref.Session, id).WithHint("list the open ones"), nil)
	case question.Status == state.ApprovalOpen:
		return Answer{}, host.Fail("agent.Continue", abi.NewProblem(abi.Conflict, "nobody has answered question %s", id).WithHint("approve or reject it first"), nil)
	}
	in := Input{ID: host.InputID(answerPrefix + id), Text: string(id), question: &question}
	if err := a.finishOther(ctx, s, in.ID, on); err != nil {
		return Answer{}, err
	}
	return a.Turn(ctx, s, in, on)
}

// finishOther finishes a turn that was broken off, so that an input which is
// new does not supersede it.
func (a *Agent) finishOther(ctx context.Context, s Session, id host.InputID, on func(host.Event)) error {
	values, err := a.Store.LoadState(ctx, s.Ref, keySession, inputKey(id))
	if err != nil {
		return err
	}
	meta, _, err := read(sessionForm(), values, keySession)
	if _, heard := values[inputKey(id)]; err != nil || heard || meta.Active == "" {
		return err
	}
	if _, err := a.Resume(ctx, s, on); err != nil && host.ProblemOf(err).Code != abi.NotFound { // it may be over by now
		return err
	}
	return nil
}

// hearAnswer says what a person answered, in the host's words, and for a yes
// makes the call that was asked about as if the model had: from then on the turn
// is one like any other.
func (t *turn) hearAnswer(question state.Approval) error {
	asked, err := dispatch.ReadAsked(question)
	if err != nil {
		return err
	}
	t.meta.ByHost++
	t.input.Serves = asked.Serves
	t.input.Since, _ = t.messageOf(asked.Serves)
	if question.Status == state.ApprovalUsed {
		return host.Fail("agent.Continue", abi.NewProblem(abi.Conflict, "question %s was approved, and call %s has run with it", question.ID, question.UsedBy).
			WithHint("there is nothing to go on with"), nil)
	}
	t.say(model.Message{Role: model.RoleUser, Text: answerWords(question, asked), ByHost: true})
	if question.Status == state.ApprovalApproved {
		t.say(model.Message{Role: model.RoleAssistant, ByHost: true, Calls: []model.Call{{ID: string(question.ID), Tool: asked.Tool, Args: string(asked.Args)}}})
	}
	return nil
}

// messageOf gives the index of an earlier input's message: each has one of the
// user's role. For one that is not at hand it is the oldest message, and false.
func (t *turn) messageOf(ordinal int) (i int, found bool) {
	at := t.input.Ordinal
	for i := t.input.Message - 1; i >= t.first; i-- {
		if t.at(i).Role == model.RoleUser {
			at--
		}
		if at == ordinal {
			return i, true
		}
	}
	return t.first, false
}

// maxShownArgs bounds the arguments that the model is reminded of, in bytes:
// enough to tell one call from another.
const maxShownArgs = 500

// answerWords tells the model what became of a question. It has seen the call,
// so its arguments are there to tell it from others.
func answerWords(q state.Approval, asked dispatch.Asked) string {
	args := string(asked.Args)
	if len(args) > maxShownArgs {
		args = strings.ToValidUTF8(args[:maxShownArgs], "") + "…"
	}
	said := ""
	if q.Words != "" {
		said = fmt.Sprintf(" Their words: %q.", q.Words)
	}
	about := fmt.Sprintf("%s %s (%s)", asked.Tool, args, q.ID)
	switch q.Status {
	case state.ApprovalApproved:
		return fmt.Sprintf("[From the host] %s approved %s.%s It runs now, as it was asked about. Go on from its result.", q.AnsweredBy, about, said)
	case state.ApprovalConflicted:
		return fmt.Sprintf("[From the host] %s and %s disagree about %s, so it was not done and will not be.%s Tell the user; do not repeat it.", q.AnsweredBy, q.ContraryBy, about, said)
	case state.ApprovalCancelled:
		return fmt.Sprintf("[From the host] %s took back the question about %s, so it was not done and will not be.%s Go on without it.", q.ContraryBy, about, said)
	}
	return fmt.Sprintf("[From the host] %s rejected %s. It was not done and will not be.%s Do not repeat it; go on without it, or ask the user what they want instead.", q.AnsweredBy, about, said)
}

// approvalOf gives the question because of whose answer the host made a call,
// if it did.
func (t *turn) approvalOf(c openCall) (id host.ApprovalID, made bool) {
	rest, answer := strings.CutPrefix(string(t.inputID), answerPrefix)
	if !answer || c.message != t.input.Message+1 || !t.at(c.message).ByHost {
		return "", false
	}
	return host.ApprovalID(rest), true
}
