package main

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
)

// A waiting is the questions of a chat's session that wait for a person.
type waiting struct {
	*program
	agent   *agent.Agent
	session agent.Session
	ids     []host.ApprovalID
}

// begin shows what the session was left with.
func (w *waiting) begin(ctx context.Context) {
	open, err := agent.OpenApprovals(ctx, w.agent.Store, w.session.Ref)
	if err != nil {
		w.tell(err)
		return
	}
	if !w.json {
		w.showPending(open, w.session.Locale)
	}
	w.expect(open)
}

// expect adds questions.
func (w *waiting) expect(refs []agent.ApprovalRef) {
	for _, ref := range refs {
		if !slices.Contains(w.ids, ref.ID) {
			w.ids = append(w.ids, ref.ID)
		}
	}
}

// look goes on with what was answered elsewhere. One that the session is busy
// with is looked at again.
func (w *waiting) look(ctx context.Context) {
	if len(w.ids) == 0 {
		return
	}
	open, err := agent.OpenApprovals(ctx, w.agent.Store, w.session.Ref)
	if err != nil {
		return // the store may be back in a second
	}
	for _, id := range slices.Clone(w.ids) {
		if slices.ContainsFunc(open, func(ref agent.ApprovalRef) bool { return ref.ID == id }) {
			continue
		}
		answer, err := w.agent.Continue(ctx, w.session, id, w.show)
		code := abi.Code(0)
		if err != nil {
			code = host.ProblemOf(err).Code
		}
		if code == abi.Busy || ctx.Err() != nil {
			return
		}
		w.ids = slices.DeleteFunc(w.ids, func(other host.ApprovalID) bool { return other == id })
		switch code {
		case 0:
			w.showAnswer(answer, w.session.Locale)
			w.expect(answer.Pending)
		case abi.Conflict, abi.NotFound: // it was used by a call of another turn, or removed
		default:
			w.tell(err)
		}
		w.prompt()
	}
}
