package window

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

// repaired gives a conversation that every model takes: each call is followed
// by its one result, in the order of the calls, and there is no other result.
// Vendors refuse anything else for ever, and the request for a summary with
// it. A call whose result is not there was broken off. A whole conversation is
// given as it is.
func repaired(entries []entry) []entry {
	out := make([]entry, 0, len(entries))
	for i := 0; i < len(entries); {
		e := entries[i]
		i++
		switch {
		case e.message.Role == model.RoleTool: // of no call
		case len(e.message.Calls) == 0:
			out = append(out, e)
		default:
			next := nextCalls(entries, i)
			out = append(out, e)
			out = append(out, resultsOf(e, entries[i:next])...)
		}
	}
	return out
}

// nextCalls gives the index of the next message with calls: results behind it
// belong to its calls, since models use the ids of calls again.
func nextCalls(entries []entry, from int) int {
	for from < len(entries) && len(entries[from].message.Calls) == 0 {
		from++
	}
	return from
}

// resultsOf gives the results of a message's calls, found among what follows.
func resultsOf(calls entry, following []entry) []entry {
	taken := make([]bool, len(following))
	results := make([]entry, 0, len(calls.message.Calls))
	for _, c := range calls.message.Calls {
		if i := resultOf(c, following, taken); i >= 0 {
			taken[i] = true
			results = append(results, following[i])
		} else {
			results = append(results, entry{calls.at, brokenOff(c)})
		}
	}
	return results
}

// resultOf gives the index of a call's result, -1 where it has none.
func resultOf(c model.Call, following []entry, taken []bool) int {
	for i, f := range following {
		if f.message.Role == model.RoleTool && f.message.CallID == c.ID && !taken[i] {
			return i
		}
	}
	return -1
}

// brokenOff is the result of a call that has none.
func brokenOff(c model.Call) model.Message {
	problem := abi.NewProblem(abi.OutcomeUnknown, "it was interrupted; it is not known whether it was done")
	return model.Message{Role: model.RoleTool, CallID: c.ID, Tool: c.Tool,
		Text: Result(host.Outcome{Status: host.Unknown, Problem: problem})}
}
