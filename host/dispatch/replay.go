package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/state"
)

// A Replayed is a call that was run again from its records.
type Replayed struct {
	Call    host.CallID     `json:"call"`
	Session host.SessionRef `json:"session"`
	Tool    string          `json:"tool,omitempty"`
	Release string          `json:"release,omitempty"` // name@version
	Verdict ReplayVerdict   `json:"verdict"`
	Finding *ReplayFinding  `json:"finding,omitempty"` // the worst one; nil if all is the same
	Runs    []ReplayedRun   `json:"runs,omitempty"`    // one for each attempt on record in which the guest ran
}

// A ReplayedRun is one run of a guest, again.
type ReplayedRun struct {
	Seq       int64           `json:"seq"`               // of the record of the attempt
	Attempt   int             `json:"attempt,omitempty"` // from 1
	Verdict   ReplayVerdict   `json:"verdict"`
	Finding   *ReplayFinding  `json:"finding,omitempty"` // nil if all is the same
	Recorded  *Ran            `json:"recorded,omitempty"`
	Got       *Ran            `json:"got,omitempty"`        // nil if it was not run
	Input     json.RawMessage `json:"input,omitempty"`      // the envelope that the guest got
	Output    []byte          `json:"output,omitempty"`     // what it gave, to the byte
	HostCalls int             `json:"host_calls,omitempty"` // on record
	Logs      []sandbox.Log   `json:"logs,omitempty"`
}

// found sets the verdict of a run.
func (r *ReplayedRun) found(f *ReplayFinding) {
	if f == nil {
		r.Verdict = ReplaySame
		return
	}
	r.Verdict, r.Finding = f.Reason.verdict(), f
}

// add takes a run into the call's verdict.
func (r *Replayed) add(run ReplayedRun) {
	r.Runs = append(r.Runs, run)
	r.worse(run.Finding)
}

func (r *Replayed) worse(f *ReplayFinding) {
	if f != nil && (r.Finding == nil || f.Reason.verdict().rank() > r.Verdict.rank()) {
		r.Verdict, r.Finding = f.Reason.verdict(), f
	}
}

// replayRecords bounds the records of one call that a replay reads: a call that
// is delivered again and again has a few for each delivery.
const replayRecords = 1000

// A Replayer runs recorded calls again. What a guest asks the host for is
// answered from the recording alone: it reaches no store, no network and no
// files, and nothing is written. It reads the records, the recordings and the
// releases. It is for one goroutine; the calls of one session go faster in their
// order.
type Replayer struct {
	*Dispatcher
	releases *release.Set
	states   *rebuild // of the session whose reducer ran last
}

// Replayer makes one. Releases are had from the set, by the names on record.
func (d *Dispatcher) Replayer(releases *release.Set) *Replayer {
	return &Replayer{Dispatcher: d, releases: releases}
}

// Replay runs all attempts of a call again, and the reducer where one ran, and
// compares host calls, bytes and fuel with what is on record, and the record
// with what the guest gave. What differs is no error but a finding.
//
// It fails with NotFound if the tenant has no record of the call, with
// QuotaReached if there are more than 1000 of it, with the problem of the
// sandbox if a run is stopped by time or by the host now, and as the store does.
func (r *Replayer) Replay(ctx context.Context, tenant host.TenantID, id host.CallID) (Replayed, error) {
	records, err := r.recordsOf(ctx, tenant, id)
	if err != nil {
		return Replayed{}, err
	}
	last := records[len(records)-1]
	replayed := Replayed{Call: id, Session: last.Session, Tool: last.Tool, Release: last.Release, Verdict: ReplaySame}
	fuel, attempt := int64(0), 0
	for _, record := range records {
		if record.Kind != host.RecordRetry && record.Kind != host.RecordOutcome {
			continue
		}
		a, finding := readAttempt(record, records)
		if finding != nil {
			replayed.worse(finding)
			continue
		}
		if a.detail.Step == "" && !a.ran() {
			replayed.worse(&ReplayFinding{Reason: OtherRecording, What: "the record of a call that ended well has none"})
		}
		if a.ran() {
			run, err := r.run(ctx, a)
			if err != nil {
				return replayed, err
			}
			replayed.add(run)
		}
		if a.detail.Attempt <= attempt || attempt == 0 {
			fuel = a.asked // the call was delivered, maybe again, and began anew
		}
		attempt, fuel = a.detail.Attempt, fuel+a.detail.Verdicts.fuel()+a.fuel()
		replayed.worse(a.sum(fuel))
	}
	if len(replayed.Runs) == 0 {
		replayed.worse(nothingRan(records))
	}
	return replayed, nil
}

// recordsOf gives what is on record of a call's way, oldest first; at least one.
func (r *Replayer) recordsOf(ctx context.Context, tenant host.TenantID, id host.CallID) ([]host.Record, error) {
	const op = "dispatch.Replay"
	if id == "" {
		return nil, host.Fail(op, abi.NewProblem(abi.Missing, "no call is named"), nil)
	}
	filter := state.RecordFilter{Call: id, Kinds: []host.RecordKind{host.RecordIntent, host.RecordRetry, host.RecordOutcome, host.RecordRefusal, host.RecordDuplicate}}
	var records []host.Record
	for {
		page, err := r.Store.Records(ctx, tenant, filter)
		switch {
		case err != nil:
			return nil, err
		case len(records)+len(page) > replayRecords:
			return nil, host.Fail(op, abi.NewProblem(abi.QuotaReached, "call %s has more than %d records", id, replayRecords), nil)
		case len(page) > 0:
			records = append(records, page...)
			filter.AfterSeq = page[len(page)-1].Seq
			continue
		case len(records) == 0:
			return nil, host.Fail(op, abi.NewProblem(abi.NotFound, "tenant %s has no record of call %s", tenant, id), nil)
		}
		return records, nil
	}
}

// nothingRan says why no guest was called.
func nothingRan(records []host.Record) *ReplayFinding {
	last := records[len(records)-1]
	switch last.Kind {
	case host.RecordIntent:
		return &ReplayFinding{Reason: NotEnded}
	case host.RecordDuplicate:
		var first struct {
			Of string `json:"of"`
		}
		if err := json.Unmarshal(last.Detail, &first); err != nil {
			return &ReplayFinding{Reason: RecordUnreadable, What: err.Error()}
		}
		return &ReplayFinding{Reason: StoredAnswer, Wanted: first.Of}
	}
	return &ReplayFinding{Reason: NeverRan}
}

// An attemptRecord is the record of how one attempt ended, well or not.
type attemptRecord struct {
	host.Record
	detail attemptDetail
	args   json.RawMessage // as the record of the intent has them
	asked  int64           // fuel of the check before the call ran, by that record
}

// An attemptDetail is what the details of such records have together.
type attemptDetail struct {
	host.Outcome
	Step       string        `json:"step"` // that failed; empty where none did
	Attempt    int           `json:"attempt"`
	HostCalls  *grant.Stored `json:"host_calls"`
	Run        *Ran          `json:"run"`
	Transition *transition   `json:"transition"`
	Verdicts   *Verdicts     `json:"verdicts"`
}

// readAttempt reads the record of an attempt, with its intent's among all
// records of the call: the last one before it or, of a read, the first one
// behind.
func readAttempt(record host.Record, all []host.Record) (attemptRecord, *ReplayFinding) {
	a := attemptRecord{Record: record}
	if len(record.Detail) == 0 {
		return a, &ReplayFinding{Reason: RecordErased}
	}
	if err := json.Unmarshal(record.Detail, &a.detail); err != nil {
		return a, &ReplayFinding{Reason: RecordUnreadable, What: err.Error()}
	}
	a.detail.Attempt = cmp.Or(a.detail.Attempt, a.detail.Attempts)
	for _, r := range all {
		if r.Kind != host.RecordIntent || r.Seq > record.Seq && a.args != nil {
			continue
		}
		var intent struct {
			Args     json.RawMessage `json:"args"`
			Verdicts *Verdicts       `json:"verdicts"`
		}
		if err := json.Unmarshal(r.Detail, &intent); err != nil && len(r.Detail) > 0 {
			return a, &ReplayFinding{Reason: RecordUnreadable, What: err.Error()}
		}
		a.args, a.asked = intent.Args, intent.Verdicts.fuel()
	}
	return a, nil
}

// ran reports whether the guest was called in the attempt.
func (a attemptRecord) ran() bool { return a.detail.Run != nil || a.detail.HostCalls != nil }

// fuel is what the runs of the attempt used, as far as it is on record.
func (a attemptRecord) fuel() int64 {
	fuel := int64(0)
	for ran := a.detail.Run; ran != nil; ran = ran.Reducer {
		fuel += ran.Fuel
	}
	return fuel
}

// sum holds the fuel that the record tells of the call so far against that of
// the runs, and of the checks before them by their own records.
func (a attemptRecord) sum(fuel int64) *ReplayFinding {
	if a.ran() && a.detail.Run == nil || a.detail.Usage.Fuel == fuel {
		return nil
	}
	return &ReplayFinding{Reason: OtherUsage, Wanted: fmt.Sprint(a.detail.Usage.Fuel), Got: fmt.Sprint(fuel)}
}

// ReplayCalls lists the calls that a session has on record, in the order in
// which their ways began, or those of the whole tenant if ref names it alone,
// a page of them behind a seq; the seq of the next page is 0 at the end. A call
// may come again on a later page.
func (d *Dispatcher) ReplayCalls(ctx context.Context, ref host.SessionRef, afterSeq int64) (calls []host.CallID, next int64, err error) {
	page, err := d.Store.Records(ctx, ref.Tenant, state.RecordFilter{
		Session: ref, Kinds: []host.RecordKind{host.RecordRetry, host.RecordOutcome}, AfterSeq: afterSeq,
	})
	for _, r := range page {
		if next = r.Seq; r.Call != "" && !slices.Contains(calls, r.Call) {
			calls = append(calls, r.Call)
		}
	}
	return calls, next, err
}
