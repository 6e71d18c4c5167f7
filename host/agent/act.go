package agent

import (
	"context"
	"sync"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// act runs the calls of the last answer that have no result yet: neighbouring
// reads side by side, each write alone, in the order in which the model asked.
// Results are stored after each group. Calls that the batch's time does not
// suffice for have a result that says so. Calls that have no end have none:
// they run when the turn goes on.
func (t *turn) act(ctx context.Context) error {
	batch, cancel := context.WithTimeoutCause(ctx, t.Batch, abi.NewProblem(abi.Deadline,
		"the calls of one answer have %s together, and this one did not end in time; nothing of it was kept", t.Batch).
		WithHint("Ask for less at once, or tell the user."))
	defer cancel()
	for open := t.open(); len(open) > 0; {
		if searched, err := t.search(ctx, open[0]); searched {
			if err != nil {
				return err
			}
			open = open[1:]
			continue
		}
		group := t.group(open)
		open = open[len(group):]
		outcomes, endless := t.ended(ctx, t.together(batch, group))
		for i, o := range outcomes {
			t.say(resultOf(group[i].call, o, blobReaders(t.catalog)...))
		}
		t.answer.Outcomes = append(t.answer.Outcomes, outcomes...)
		t.countCalls(outcomes)
		if len(outcomes) > 0 {
			if err := t.save(ctx); err != nil {
				return err
			}
		}
		if endless != nil {
			return host.Fail("agent.act", endless, nil)
		}
	}
	return nil
}

// ended gives the outcomes before the first call without an end of its own,
// since results stand in the order of the calls, and why the turn cannot go on
// from there now: it was stopped; or the session was taken over; or the store
// failed, which says nothing about the call and is nothing that a model could
// act on; or this very call is running elsewhere, or was until its process died,
// which only the end of its claim's lease tells.
func (t *turn) ended(ctx context.Context, outcomes []host.Outcome) ([]host.Outcome, *abi.Problem) {
	for i, o := range outcomes {
		switch {
		case o.Problem == nil:
		case o.Problem.Code == abi.InFlight:
			return outcomes[:i], abi.NewProblem(abi.Busy, "%s of session %s is running elsewhere, or its process died: %s", o.Tool, t.ref, o.Problem.Message).
				WithHint("deliver the input again in a while")
		case o.Problem.Code == abi.Busy:
			t.lease.lose(host.Fail("agent.act", o.Problem, state.ErrLeaseLost))
			return outcomes[:i], o.Problem
		case o.Problem.Code == abi.StoreFailure:
			return outcomes[:i], o.Problem
		case ctx.Err() != nil && (o.Problem.Code == abi.Cancelled || o.Problem.Code == abi.Deadline):
			return outcomes[:i], o.Problem
		}
	}
	return outcomes, nil
}

// resultOf gives the message of a call's outcome. Where its data lies in a blob,
// it says so, and by which tools parts of it are read.
func resultOf(c model.Call, o host.Outcome, readers ...string) model.Message {
	m := model.Message{Role: model.RoleTool, CallID: c.ID, Tool: c.Tool, OK: o.OK(), Text: window.Result(o), Approval: o.Approval}
	if o.Blob != nil {
		m.Blob, m.Text = o.Blob.ID, window.ResultIn(o, o.Blob.ID, readers...)
	}
	if o.Problem != nil {
		m.Code = o.Problem.Code
	}
	return m
}

// group gives the calls that may run at once: the reads at the head, up to the
// bound, or one write.
func (t *turn) group(open []openCall) []openCall {
	n := 0
	for n < len(open) && n < t.Parallel && t.isRead(open[n].call.Tool) {
		n++
	}
	return open[:max(n, 1)]
}

func (t *turn) isRead(tool string) bool {
	entry, problem := t.catalog.Resolve(tool)
	return problem == nil && entry.Tool.Effect == abi.Read
}

func (t *turn) together(ctx context.Context, group []openCall) []host.Outcome {
	outcomes := make([]host.Outcome, len(group))
	var wait sync.WaitGroup
	for i, c := range group {
		wait.Go(func() { outcomes[i] = t.call(ctx, c) })
	}
	wait.Wait()
	return outcomes
}

func (t *turn) call(ctx context.Context, c openCall) host.Outcome {
	call := host.Call{
		ID: t.callID(c), Session: t.session.Ref, Fence: t.lease.fence, Live: t.session.Live, Locale: t.session.Locale,
		Tool: c.call.Tool, Args: c.call.Args, CutOff: c.call.CutOff, Input: t.input.Ordinal, Ordinal: t.successes(c), Timeout: t.Timeout,
	}
	call.Recent, call.Round, call.Trips = t.recent(c), t.round(c), t.trips(c)
	call.Budgets, call.Mode = t.budgetsOf(c), t.meta.Mode
	call.Approval, call.Resumed = t.approvalOf(c)
	call.Serves, call.Asked = t.input.Serves, t.asked()
	call.Progress = func(p abi.ProgressReport) {
		t.sink.emit(host.Event{Kind: host.EventProgress, Call: call.ID, Tool: call.Tool, Progress: &p})
	}
	call.Notice = func(words string) {
		t.sink.emit(host.Event{Kind: host.EventNotice, Call: call.ID, Tool: call.Tool, Text: words})
	}
	t.sink.emit(host.Event{Kind: host.EventCall, Call: call.ID, Tool: call.Tool, Args: call.Args})
	outcome, ended := t.endedBefore(ctx, c)
	if !ended {
		outcome = t.do(ctx, call)
	}
	t.sink.emit(host.Event{Kind: host.EventOutcome, Call: call.ID, Tool: call.Tool, Outcome: &outcome})
	if outcome.Problem != nil && abi.RowOf(outcome.Problem.Code).Recovery == abi.Stop {
		t.sink.notice(outcome.Problem, t.session.Locale)
	}
	return outcome
}

// endedBefore finds the outcome of a call that was settled before its turn was
// broken off, so that it does not run again, not even a read. Without records
// the gate decides, which knows a write by its key.
func (t *turn) endedBefore(ctx context.Context, c openCall) (host.Outcome, bool) {
	if c.message >= t.resumed {
		return host.Outcome{}, false
	}
	outcome, err := t.fate(ctx, c)
	outcome.Replayed = true
	return outcome, err == nil && outcome.OK()
}

// callID gives a call the same id whenever its turn is resumed.
func (t *turn) callID(c openCall) host.CallID {
	return host.CallIDFor(t.session.Ref, c.message, c.index)
}

// successes counts how often calls that mean the same have succeeded for this
// input, and before it for the user's words that it serves, until the message
// that c stands in, however the model wrote them. The same write twice in one
// message has one key and so runs once.
func (t *turn) successes(c openCall) int {
	entry, unknown := t.catalog.Resolve(c.call.Tool)
	if unknown != nil || entry.Tool.Effect != abi.Write {
		return 0 // only a write has a key
	}
	meaning := t.Dispatch.Meaning(t.catalog, c.call.Tool, c.call.Args)
	if meaning == "" {
		return 0
	}
	count := 0
	for i := t.input.begins(); i < c.message; i++ {
		for index, earlier := range t.at(i).Calls {
			if earlier.Tool == c.call.Tool && t.succeeded(i, index) && t.Dispatch.Meaning(t.catalog, earlier.Tool, earlier.Args) == meaning {
				count++
			}
		}
	}
	return count
}

// succeeded reports whether the index-th call of message i has a good result.
// Results follow their message in the order of its calls.
func (t *turn) succeeded(i, index int) bool {
	result, ok := t.resultAt(i, index)
	return ok && result.OK
}
