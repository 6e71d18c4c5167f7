package keeper

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Bounds of traces.
const (
	MaxTraceSources = 64
	MaxTraces       = 100_000 // of one user, attributed, that a replay reads: years of decisions
	tracesPage      = 256
)

const (
	ofTrace       = ofOwner + " AND trace_id = ?"
	traceOf       = "SELECT detail FROM memory_trace" + ofTrace
	tracesAfter   = "SELECT detail FROM memory_trace" + ofOwner + " AND trace_id > ? ORDER BY trace_id LIMIT ?"
	outcomesAfter = "SELECT outcome FROM memory_trace" + ofOwner + " AND trace_id > ? AND attributed_at > 0 ORDER BY trace_id LIMIT ?"
	makeTrace     = "INSERT INTO memory_trace (attributed_at, session_id, input_id, outcome, detail, tenant_id, user_id, trace_id, domain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	changeTrace   = "UPDATE memory_trace SET attributed_at = ?, session_id = ?, input_id = ?, outcome = ?, detail = ?" + ofTrace
	trustOf       = "SELECT score, moved_at FROM memory_trust" + ofOwner + " AND domain = ?"
	trustsOf      = "SELECT domain, score, moved_at FROM memory_trust" + ofOwner
	makeTrust     = "INSERT INTO memory_trust (tenant_id, user_id, domain, score, moved_at) VALUES (?, ?, ?, ?, ?)"
	changeTrust   = "UPDATE memory_trust SET score = ?, moved_at = ?" + ofOwner + " AND domain = ?"
	removeTrusts  = "DELETE FROM memory_trust" + ofOwner
)

// Show keeps a decision point when it is shown: of the trace the owner, the domain,
// the point, the question with its session and input, the output, its sources, and the
// trust by which its form was chosen count: the score may have moved since. It gives the
// trace with its id and the time. Where one of the sources is not there any more, it is
// kept without words: a turn may end after what it recalled was forgotten.
func (k *Keeper) Show(ctx context.Context, shown memory.Trace) (memory.Trace, error) {
	const op = "keeper.Show"
	o := Owner{shown.Tenant, shown.User}
	if err := checkTrace(o, shown); err != nil {
		return memory.Trace{}, fail(op, err)
	}
	trace := memory.Trace{ID: string(newID()), Tenant: o.Tenant, User: o.User, Domain: shown.Domain, Point: shown.Point, Question: shown.Question, Output: shown.Output, Sources: shown.Sources,
		Session: shown.Session, Input: shown.Input, TrustAtMoment: shown.TrustAtMoment}
	err := k.change(ctx, func(ctx context.Context, t *tx) error {
		trace.Shown = t.at
		if whole, err := t.areThere(ctx, o, trace.Sources); err != nil {
			return err
		} else if !whole {
			trace = wordless(trace)
		}
		columns, err := traceColumns(trace)
		if err != nil {
			return err
		}
		if _, err = exec(ctx, t.on, makeTrace, append(columns, string(o.Tenant), string(o.User), trace.ID, trace.Domain)...); err != nil {
			return err
		}
		for _, id := range trace.Sources {
			if err := t.link(ctx, o, id, roleTrace, trace.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return memory.Trace{}, fail(op, err)
	}
	return trace, nil
}

// areThere reports whether all of some memories are.
func (t *tx) areThere(ctx context.Context, o Owner, ids []memory.ID) (bool, error) {
	const query = "SELECT memory_id FROM memory_node" + ofOwner + " AND memory_id IN "
	want := slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(want) == 0 {
		return true, nil
	}
	list, args := inList(want)
	there, err := texts[memory.ID](ctx, t.on, query+list, append(ownerArgs(o), args...)...)
	return len(there) == len(want), err
}

// traceColumns gives what changes of a trace's row, in the order of its statements.
func traceColumns(trace memory.Trace) ([]any, error) {
	detail, err := json.Marshal(trace)
	if err != nil {
		return nil, err
	}
	outcome, err := json.Marshal(wordless(trace))
	return []any{micros(trace.Attributed), string(trace.Session), string(trace.Input), outcome, detail}, err
}

// wordless takes the words out of a trace, with what leads to them.
func wordless(trace memory.Trace) memory.Trace {
	trace.Point, trace.Question, trace.Output, trace.Alternative, trace.Sources = "", "", "", "", nil
	trace.Session, trace.Input, trace.ActedInput = "", "", ""
	return trace
}

func (t *tx) saveTrace(ctx context.Context, trace memory.Trace) error {
	columns, err := traceColumns(trace)
	if err == nil {
		_, err = exec(ctx, t.on, changeTrace, append(columns, string(trace.Tenant), string(trace.User), trace.ID)...)
	}
	return err
}

func checkTrace(o Owner, t memory.Trace) error {
	if err := o.check(); err != nil {
		return err
	}
	switch {
	case t.Domain == "" || len(t.Domain) > host.MaxIDBytes || !utf8.ValidString(t.Domain):
		return badValue("the domain of a decision has %d bytes; give 1 to %d of UTF-8", len(t.Domain), host.MaxIDBytes)
	case len(t.Point) > memory.MaxTextBytes || len(t.Question) > memory.MaxTextBytes || len(t.Output) > memory.MaxTextBytes:
		return badValue("a part of a decision is longer than %d bytes", memory.MaxTextBytes)
	case !(t.TrustAtMoment >= 0 && t.TrustAtMoment <= 1):
		return badValue("a trust of %v at the moment of a decision; give 0 to 1", t.TrustAtMoment)
	case len(t.Sources) > MaxTraceSources:
		return badValue("a decision points to %d memories; at most %d are kept", len(t.Sources), MaxTraceSources)
	}
	for _, id := range []string{string(t.Session), string(t.Input)} {
		if len(id) > host.MaxIDBytes || !utf8.ValidString(id) {
			return badValue("the session or the input of a decision has %d bytes; give at most %d of UTF-8", len(id), host.MaxIDBytes)
		}
	}
	for _, id := range t.Sources {
		if id == "" || len(id) > host.MaxIDBytes {
			return badValue("a decision points to a memory whose id has %d bytes", len(id))
		}
	}
	return nil
}

// Attribute keeps the outcome of a trace and moves the trust of its user in its
// domain, once, in one transaction: the lift of an output that was adopted, or
// whether the agent was right with one that was not. It gives the trace with its
// delta. A trace that was attributed already is given as it is. Where what was given
// does not tell (memory.Trace.Delta), or the lift is no finite number, it fails with BadValue.
func (k *Keeper) Attribute(ctx context.Context, o Owner, trace string, lift *float64, agentRight *bool) (memory.Trace, error) {
	return k.changeTrace(ctx, "keeper.Attribute", o, trace, func(ctx context.Context, t *tx, found *memory.Trace) (bool, error) {
		if !found.Attributed.IsZero() {
			return false, nil
		}
		score, moved, err := k.trust(ctx, t.on, o, found.Domain)
		if err != nil {
			return false, err
		}
		// Attributions of one domain have different times: their order is that of
		// a replay.
		at := t.at
		if !at.After(moved) {
			at = moved.Add(time.Microsecond)
		}
		if lift != nil && (math.IsInf(*lift, 0) || math.IsNaN(*lift)) {
			return false, badValue("a lift of %v; give a number, such as 0.1 for a tenth more", *lift)
		}
		found.Lift, found.AgentRight = lift, agentRight
		next, score, ok := memory.Attribute(score, *found, at)
		if !ok {
			return false, badValue("decision %s cannot be attributed: an adopted output needs its lift, another one who was right", found.ID)
		}
		*found = next
		return true, t.setTrust(ctx, o, found.Domain, score, at)
	})
}

func (t *tx) setTrust(ctx context.Context, o Owner, domain string, score float64, at time.Time) error {
	n, err := exec(ctx, t.on, changeTrust, append([]any{score, at.UnixMicro()}, append(ownerArgs(o), domain)...)...)
	if err == nil && n == 0 {
		_, err = exec(ctx, t.on, makeTrust, append(ownerArgs(o), domain, score, at.UnixMicro())...)
	}
	return err
}

func noTrace(id string) error {
	return abi.NewProblem(abi.NotFound, "there is no decision %.80q of this user", id).WithHint("list the user's decisions to see their ids")
}

func (k *Keeper) changeTrace(ctx context.Context, op string, o Owner, id string, alter func(ctx context.Context, t *tx, found *memory.Trace) (changed bool, err error)) (trace memory.Trace, err error) {
	if err := o.check(); err != nil {
		return memory.Trace{}, fail(op, err)
	}
	err = k.change(ctx, func(ctx context.Context, t *tx) error {
		found, err := documents[memory.Trace](ctx, t.on, traceOf+t.lock, append(ownerArgs(o), id)...)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return noTrace(id)
		}
		trace = found[0]
		changed, err := alter(ctx, t, &trace)
		if err != nil || !changed {
			return err
		}
		return t.saveTrace(ctx, trace)
	})
	if err != nil {
		return memory.Trace{}, fail(op, err)
	}
	return trace, nil
}

// Trust gives how far an owner's output in a domain is to be trusted, 0 to 1. Where
// no trace was attributed it is the host's initial trust.
func (k *Keeper) Trust(ctx context.Context, o Owner, domain string) (float64, error) {
	score, _, err := k.trust(ctx, k.db.Reads, o, domain)
	return score, fail("keeper.Trust", err)
}

// InitialTrust gives the trust in a domain without an attributed trace.
func (k *Keeper) InitialTrust() float64 { return k.initialTrust }

func (k *Keeper) trust(ctx context.Context, on host.Statements, o Owner, domain string) (score float64, moved time.Time, err error) {
	var at int64
	found, err := row(ctx, on, trustOf, append(ownerArgs(o), domain), &score, &at)
	if err == nil && !found {
		score = k.initialTrust
	}
	return score, timeOf(at), err
}

// Trusts gives the trust of an owner in every domain that has an attributed trace.
func (k *Keeper) Trusts(ctx context.Context, o Owner) (map[string]float64, error) {
	all, err := trustsBy(ctx, k.db.Reads, o)
	scores := map[string]float64{}
	for domain, one := range all {
		scores[domain] = one.score
	}
	return scores, fail("keeper.Trusts", err)
}

// Traces gives a page of an owner's traces, oldest first, after an id ("" for the
// first page). An empty page is the end.
func (k *Keeper) Traces(ctx context.Context, o Owner, after string) ([]memory.Trace, error) {
	traces, err := documents[memory.Trace](ctx, k.db.Reads, tracesAfter, append(ownerArgs(o), after, tracesPage)...)
	return traces, fail("keeper.Traces", err)
}

// Trace gives one trace of an owner. It fails with NotFound.
func (k *Keeper) Trace(ctx context.Context, o Owner, id string) (memory.Trace, error) {
	const op = "keeper.Trace"
	found, err := documents[memory.Trace](ctx, k.db.Reads, traceOf, append(ownerArgs(o), id)...)
	if err == nil && len(found) == 0 {
		err = noTrace(id)
	}
	if err != nil {
		return memory.Trace{}, fail(op, err)
	}
	return found[0], nil
}

// ReplayTrust rebuilds an owner's trust from the traces alone, by memory.Replay, and
// puts it in the place of the scores that were kept. It gives what it found. It fails,
// and changes nothing, with BadValue where there are more than MaxTraces that were
// attributed, and with StoreConflict where one is attributed meanwhile.
func (k *Keeper) ReplayTrust(ctx context.Context, o Owner) (memory.Replayed, error) {
	const op = "keeper.ReplayTrust"
	if err := o.check(); err != nil {
		return memory.Replayed{}, fail(op, err)
	}
	r, err := k.replayTrust(ctx, o, MaxTraces)
	if err != nil {
		return memory.Replayed{}, fail(op, err)
	}
	return r, nil
}

// A trust is a score and when it moved last.
type trust struct {
	score float64
	moved int64
}

// replayTrust reads the traces outside of a transaction, and puts in what they say
// unless a score has moved meanwhile.
func (k *Keeper) replayTrust(ctx context.Context, o Owner, limit int) (r memory.Replayed, err error) {
	before, err := trustsBy(ctx, k.db.Reads, o)
	if err != nil {
		return r, err
	}
	traces, err := k.outcomes(ctx, o, limit)
	if err != nil {
		return r, err
	}
	r = memory.Replay(k.initialTrust, traces)
	last := map[string]time.Time{}
	for _, trace := range traces {
		if trace.Attributed.After(last[trace.Domain]) {
			last[trace.Domain] = trace.Attributed
		}
	}
	return r, k.change(ctx, func(ctx context.Context, t *tx) error {
		now, err := trustsBy(ctx, t.on, o)
		if err != nil {
			return err
		}
		if !maps.Equal(now, before) {
			return abi.NewProblem(abi.StoreConflict, "the user's trust moved while the decisions were read").WithHint("try again")
		}
		if _, err = exec(ctx, t.on, removeTrusts, ownerArgs(o)...); err != nil {
			return err
		}
		for of, score := range r.Scores {
			if err := t.setTrust(ctx, o, of.Domain, score, last[of.Domain]); err != nil {
				return err
			}
		}
		return nil
	})
}

// outcomes gives the attributed traces of an owner, without their words, and fails
// where there are more than a limit: a score of some of them would be wrong.
func (k *Keeper) outcomes(ctx context.Context, o Owner, limit int) (all []memory.Trace, err error) {
	for after, more := "", true; more; {
		page, err := documents[memory.Trace](ctx, k.db.Reads, outcomesAfter, append(ownerArgs(o), after, tracesPage)...)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(all) > limit {
			return nil, badValue("the user has more than %d attributed decisions, too many for a replay; the scores are as they were", limit)
		}
		if more = len(page) == tracesPage; more {
			after = page[len(page)-1].ID
		}
	}
	return all, nil
}

func trustsBy(ctx context.Context, on host.Statements, o Owner) (map[string]trust, error) {
	all := map[string]trust{}
	err := each(ctx, on, trustsOf, ownerArgs(o), func(rows *sql.Rows) error {
		var domain string
		var one trust
		err := rows.Scan(&domain, &one.score, &one.moved)
		all[domain] = one
		return err
	})
	return all, err
}
