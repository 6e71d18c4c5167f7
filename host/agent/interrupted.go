package agent

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// interrupted gives results for the calls of an earlier turn that was broken
// off and is not continued, so that no call is left without its result.
func (t *turn) interrupted(ctx context.Context) ([]model.Message, error) {
	var results []model.Message
	for _, c := range t.open() {
		outcome, err := t.fate(ctx, c)
		if err != nil {
			return nil, err
		}
		results = append(results, resultOf(c.call, outcome))
	}
	return results, nil
}

// maxFateRecords is more than one call leaves: its intents, retries and end.
const maxFateRecords = 100

// fate reads off the records what became of a call whose result was never
// stored: it ended, well or not; or it began, and nobody knows; or it did not
// begin.
func (t *turn) fate(ctx context.Context, c openCall) (host.Outcome, error) {
	id := t.callID(c)
	records, err := t.Store.Records(ctx, t.ref.Tenant, state.RecordFilter{Call: id, Limit: maxFateRecords}) // an id is one session's
	if err != nil {
		return host.Outcome{}, err
	}
	var approval host.ApprovalID
	problem := abi.NewProblem(abi.Cancelled, "it was interrupted before it began; it was not done").
		WithHint("Do it only if the user still wants it.")
	for _, r := range records {
		switch r.Kind {
		case host.RecordIntent, host.RecordDuplicate:
			problem = abi.NewProblem(abi.OutcomeUnknown, "it began and was interrupted; it is not known whether it was done")
		case host.RecordOutcome, host.RecordRefusal:
			var ended host.Outcome // a failure's record has the problem at the same place
			switch err := json.Unmarshal(r.Detail, &ended); {
			case err == nil && ended.OK():
				return ended, nil
			case err == nil && ended.Problem != nil:
				problem, approval = ended.Problem, ended.Approval
			}
		}
	}
	return host.Outcome{Call: id, Tool: c.call.Tool, Status: host.Failed, Problem: problem, Approval: approval}, nil
}
