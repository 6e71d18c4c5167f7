package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// An InterventionRate is how often users stepped in after calls of one tool.
type InterventionRate struct {
	Tool        string  `json:"tool"`
	Calls       int     `json:"calls"`      // that were done, of the tier soft-gate or higher
	Intervened  int     `json:"intervened"` // of them; one in which somebody stepped in twice counts once
	Objections  int     `json:"objections"` // calls that were objected to
	Undos       int     `json:"undos"`
	Corrections int     `json:"corrections"`
	Rate        float64 `json:"rate"` // Intervened of Calls, 0 where there are none
}

// ratedCalls bounds the calls that one count looks at: an operator's question
// is about a week, and their ids must fit the memory.
const ratedCalls = 1_000_000

// InterventionRates gives the rates by tool, the highest first, of the calls of a
// session, or of a tenant if ref names it alone, that were done since a time by
// the store's clock; the zero time is the beginning. It fails with QuotaReached
// if that are more than a million calls, and as the store does.
func InterventionRates(ctx context.Context, store *state.Store, ref host.SessionRef, since time.Time) ([]InterventionRate, error) {
	c := interventions{since: since, calls: map[host.CallID]steps{}, rates: map[string]*InterventionRate{}}
	for after := int64(0); ; {
		page, err := store.Records(ctx, ref.Tenant, state.RecordFilter{
			Session: ref, AfterSeq: after, Kinds: []host.RecordKind{host.RecordOutcome, host.RecordObjection, host.RecordUndo, host.RecordCorrection},
		})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return c.result(), nil
		}
		for _, r := range page {
			c.add(r)
		}
		if len(c.calls) > ratedCalls {
			return nil, host.Fail("dispatch.InterventionRates", abi.NewProblem(abi.QuotaReached, "there are more than %d calls", ratedCalls).
				WithHint("ask for a later beginning, or for one session"), nil)
		}
		after = page[len(page)-1].Seq
	}
}

// An interventions is a count on its way.
type interventions struct {
	since time.Time
	calls map[host.CallID]steps // that count
	rates map[string]*InterventionRate
}

// steps tell whether somebody stepped in after a call, and by an objection.
type steps struct{ any, objected bool }

func (c *interventions) add(r host.Record) {
	if r.Time.Before(c.since) {
		return
	}
	if r.Kind == host.RecordOutcome {
		var o host.Outcome
		if json.Unmarshal(r.Detail, &o) != nil || !o.OK() || o.Tier == "" || o.Tier.Rank() < abi.SoftGate.Rank() {
			return
		}
		if _, again := c.calls[r.Call]; !again {
			c.calls[r.Call] = steps{}
			c.of(r.Tool).Calls++
		}
		return
	}
	var in Intervention
	if json.Unmarshal(r.Detail, &in) != nil {
		return
	}
	before, counts := c.calls[in.Of]
	if !counts || before.objected && r.Kind == host.RecordObjection {
		return
	}
	rate := c.of(in.Tool)
	switch r.Kind {
	case host.RecordObjection:
		rate.Objections++
	case host.RecordUndo:
		rate.Undos++
	case host.RecordCorrection:
		rate.Corrections++
	}
	if !before.any {
		rate.Intervened++
	}
	c.calls[in.Of] = steps{any: true, objected: before.objected || r.Kind == host.RecordObjection}
}

func (c *interventions) of(tool string) *InterventionRate {
	if c.rates[tool] == nil {
		c.rates[tool] = &InterventionRate{Tool: tool}
	}
	return c.rates[tool]
}

func (c *interventions) result() []InterventionRate {
	list := make([]InterventionRate, 0, len(c.rates))
	for _, tool := range slices.Sorted(maps.Keys(c.rates)) {
		rate := *c.rates[tool]
		if rate.Calls > 0 {
			rate.Rate = float64(rate.Intervened) / float64(rate.Calls)
		}
		list = append(list, rate)
	}
	slices.SortStableFunc(list, func(a, b InterventionRate) int { return cmp.Compare(b.Rate, a.Rate) })
	return list
}
