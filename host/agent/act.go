package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/window"
)

// act runs the calls of the last answer that have no result yet: neighbouring
// reads side by side, each write alone, in the order in which the model asked.
// Results are stored after each group.
func (t *turn) act(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.Batch)
	defer cancel()
	open := t.open()
	for len(open) > 0 {
		group := t.group(open)
		open = open[len(group):]
		results := t.together(ctx, group)
		if err := t.append(context.WithoutCancel(ctx), t.Store, results...); err != nil {
			return err
		}
	}
	return nil
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

func (t *turn) together(ctx context.Context, group []openCall) []model.Message {
	outcomes := make([]host.Outcome, len(group))
	var wait sync.WaitGroup
	for i, c := range group {
		wait.Go(func() { outcomes[i] = t.call(ctx, c) })
	}
	wait.Wait()
	results := make([]model.Message, len(group))
	for i, o := range outcomes {
		results[i] = model.Message{Role: model.RoleTool, CallID: group[i].call.ID, Tool: o.Tool, OK: o.OK(), Text: window.Result(o)}
	}
	t.answer.Outcomes = append(t.answer.Outcomes, outcomes...)
	return results
}

func (t *turn) call(ctx context.Context, c openCall) host.Outcome {
	call := host.Call{
		ID: host.CallIDFor(t.session.Ref, c.message, c.index), Session: t.session.Ref, Live: t.session.Live, Locale: t.session.Locale,
		Tool: c.call.Tool, Args: c.call.Args, CutOff: c.call.CutOff, Input: t.input.Ordinal, Ordinal: t.successes(c),
	}
	t.sink.emit(host.Event{Kind: host.EventCall, Call: call.ID, Tool: call.Tool, Args: call.Args})
	outcome := t.Dispatch.Do(ctx, t.catalog, call)
	t.sink.emit(host.Event{Kind: host.EventOutcome, Call: call.ID, Tool: call.Tool, Outcome: &outcome})
	if outcome.Problem != nil && abi.RowOf(outcome.Problem.Code).Recovery == abi.Stop {
		t.sink.notice(outcome.Problem, t.session.Locale)
	}
	return outcome
}

// successes counts how often the same tool and arguments have succeeded for
// this input before the message that c stands in. The same write twice in one
// message has one key and so runs once.
func (t *turn) successes(c openCall) int {
	want, err := host.Canonical([]byte(c.call.Args))
	if err != nil {
		return 0
	}
	count := 0
	for i := t.input.Message; i < c.message; i++ {
		for index, earlier := range t.messages[i].Calls {
			args, err := host.Canonical([]byte(earlier.Args))
			if err == nil && earlier.Tool == c.call.Tool && slices.Equal(args, want) && t.succeeded(i, index) {
				count++
			}
		}
	}
	return count
}

// succeeded reports whether the index-th call of message i has a good result.
// Results follow their message in the order of its calls.
func (t *turn) succeeded(i, index int) bool {
	at := i + 1 + index
	return at < len(t.messages) && t.messages[at].Role == model.RoleTool && t.messages[at].OK
}
