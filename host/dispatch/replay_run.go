package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/window"
)

// run runs the guest of one attempt again, and then its reducer.
func (r *Replayer) run(ctx context.Context, a attemptRecord) (ReplayedRun, error) {
	run := ReplayedRun{Seq: a.Seq, Attempt: a.detail.Attempt, Recorded: a.detail.Run}
	rel, finding, err := r.releaseOf(ctx, a)
	if err != nil || finding != nil {
		run.found(finding)
		return run, err
	}
	recording, finding := r.recordingOf(ctx, a)
	if finding != nil {
		run.found(finding)
		return run, stoppedNow(ctx)
	}
	run.Input, run.HostCalls = recording.Input, len(recording.Calls)
	in, finding := a.invocation(recording)
	if finding != nil {
		run.found(finding)
		return run, nil
	}
	replay := grant.NewReplay(recording)
	result := r.call(ctx, rel, a, in, recording.Input, replay)
	run.Output, run.Logs, run.Got = result.Output, result.Logs, ranOf(rel, recording.Input, result)
	if err := stoppedNow(ctx); err != nil {
		return run, err
	}
	finding, err = a.compare(recording, replay.Parting(), result)
	if err == nil && finding == nil {
		finding, err = r.reducer(ctx, rel, a, &run)
	}
	run.found(ownClock(rel, finding))
	return run, err
}

func stoppedNow(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return host.Fail("dispatch.Replay", stopped(ctx), context.Cause(ctx))
}

// releaseOf gives the release that ran, to the byte.
func (r *Replayer) releaseOf(ctx context.Context, a attemptRecord) (*release.Release, *ReplayFinding, error) {
	rel, err := r.releases.Release(ctx, a.Release)
	switch {
	case ctx.Err() != nil:
		return nil, nil, stoppedNow(ctx)
	case err != nil:
		return nil, &ReplayFinding{Reason: ReleaseGone, What: err.Error()}, nil
	case a.detail.Run != nil && a.detail.Run.Module != rel.Module.Digest():
		return nil, &ReplayFinding{Reason: OtherModule, What: rel.String(), Wanted: a.detail.Run.Module, Got: rel.Module.Digest()}, nil
	}
	return rel, nil, nil
}

// recordingOf loads the attempt's host calls.
func (r *Replayer) recordingOf(ctx context.Context, a attemptRecord) (grant.Recording, *ReplayFinding) {
	stored := a.detail.HostCalls
	switch {
	case stored == nil:
		return grant.Recording{}, &ReplayFinding{Reason: OtherRecording, What: "the record of a run has none"}
	case stored.Inline == nil && stored.Blob == "" && !stored.Cut:
		return grant.Recording{}, &ReplayFinding{Reason: OtherRecording, What: "it is on record, and not there"}
	case stored.Inline == nil && stored.Blob == "":
		return grant.Recording{}, &ReplayFinding{Reason: NotKept, What: fmt.Sprintf("its %d host calls of %d bytes were not kept", stored.Count, stored.Bytes)}
	case stored.Inline == nil && r.Blobs == nil:
		return grant.Recording{}, &ReplayFinding{Reason: RecordingGone, What: "it lies in blob " + stored.Blob + ", and there is no store for blobs"}
	}
	recording, err := stored.Load(ctx, r.Blobs, a.Session)
	if err == nil {
		if !recording.Cut && len(recording.Calls) != stored.Count {
			return recording, &ReplayFinding{Reason: OtherRecording, What: fmt.Sprintf("it has %d host calls, the record says %d", len(recording.Calls), stored.Count)}
		}
		return recording, nil
	}
	switch problem := host.ProblemOf(err); {
	case problem.Code == abi.DigestMismatch:
		return grant.Recording{}, &ReplayFinding{Reason: OtherRecording, What: problem.Message}
	case stored.Blob != "":
		return grant.Recording{}, &ReplayFinding{Reason: RecordingGone, What: "blob " + stored.Blob + ": " + problem.Message}
	default:
		return grant.Recording{}, &ReplayFinding{Reason: RecordUnreadable, What: problem.Message}
	}
}

// invocation reads the recorded input, if it is that of the attempt on record.
func (a attemptRecord) invocation(recording grant.Recording) (abi.Invocation, *ReplayFinding) {
	var in abi.Invocation
	if err := json.Unmarshal(recording.Input, &in); err != nil {
		return in, &ReplayFinding{Reason: RecordUnreadable, What: "the recorded input: " + err.Error()}
	}
	for _, same := range []struct{ what, wanted, got string }{
		{"arguments", string(a.args), string(in.Args)},
		{"call", string(a.Call), in.Call.ID},
		{"tenant", string(a.Session.Tenant), in.Call.Tenant},
		{"tool", a.Tool, in.Tool},
		{"key", string(a.Key), in.Call.Key},
		{"attempt", fmt.Sprint(a.detail.Attempt), fmt.Sprint(in.Call.Attempt)},
	} {
		if same.wanted != same.got {
			return in, &ReplayFinding{Reason: OtherInput, What: same.what, Wanted: cut(same.wanted, rebuildTexts), Got: cut(same.got, rebuildTexts)}
		}
	}
	if ran := a.detail.Run; ran != nil && ran.InputSHA256 != host.Digest(recording.Input) {
		return in, &ReplayFinding{Reason: OtherInput, What: "sha256", Wanted: ran.InputSHA256, Got: host.Digest(recording.Input)}
	}
	return in, nil
}

// call runs the guest as the attempt did, with host functions that only know the
// recording. A guest that leaves it is stopped.
func (r *Replayer) call(ctx context.Context, rel *release.Release, a attemptRecord, in abi.Invocation, input []byte, replay *grant.Replay) sandbox.Result {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	replay.OnParting = stop
	return rel.Module.Call(ctx, sandbox.Request{
		Tenant: a.Session.Tenant, Export: abi.ExportInvoke, Input: input, Functions: replay.Functions, HTTP: replay.HTTP,
		Now: in.Call.Now, Seed: sha256.Sum256([]byte(a.Call)),
	})
}

// outside reports whether a run with this code was ended by the clock or by the
// host, and not by what the guest did.
func outside(code abi.Code) bool {
	switch code {
	case abi.Deadline, abi.Cancelled, abi.SystemFailure, abi.OverBudget, abi.HostBug:
		return true
	}
	return false
}

// compare holds the run against the record: first the way through the host
// calls, then the end, the bytes and the fuel, then what the record tells of
// the answer. It fails if the run was stopped from outside now, and not then.
func (a attemptRecord) compare(recording grant.Recording, parting *grant.Parting, result sandbox.Result) (*ReplayFinding, error) {
	ran := a.detail.Run
	then := abi.Code(0)
	if ran != nil {
		then = ran.Code
	} else if a.detail.Step == "run" && a.detail.Problem != nil {
		then = a.detail.Problem.Code
	}
	behind := parting != nil && parting.Got != "" && parting.Wanted == ""
	switch {
	case behind && parting.Cut:
		return &ReplayFinding{Reason: RecordingCut, Parting: parting}, nil
	case outside(then) && (behind || parting == nil):
		return stoppedThen(then), nil
	case parting != nil:
		return &ReplayFinding{Reason: AtHostCall, Parting: parting}, nil
	case result.Problem != nil && outside(result.Problem.Code):
		return nil, host.Fail("dispatch.Replay", result.Problem, nil)
	case ran == nil:
		if f := a.compareAnswer(recording, result); f != nil {
			return f, nil
		}
		return &ReplayFinding{Reason: NoDigests}, nil
	}
	if f := ran.compare(result); f != nil {
		return f, nil
	}
	return a.compareAnswer(recording, result), nil
}

func stoppedThen(code abi.Code) *ReplayFinding {
	reason := StoppedByHost
	if code == abi.Deadline || code == abi.Cancelled {
		reason = StoppedByClock
	}
	return &ReplayFinding{Reason: reason, Wanted: fmt.Sprint(code)}
}

// compare holds the end, the bytes and the fuel of a run against the record.
func (ran *Ran) compare(result sandbox.Result) *ReplayFinding {
	code := abi.Code(0)
	if result.Problem != nil {
		code = result.Problem.Code
	}
	switch sum := host.Digest(result.Output); {
	case code != ran.Code:
		return &ReplayFinding{Reason: OtherEnd, Wanted: fmt.Sprint(ran.Code), Got: fmt.Sprint(code)}
	case sum != ran.SHA256:
		return &ReplayFinding{Reason: OtherOutput, Wanted: ran.SHA256, Got: sum}
	case result.Usage.Fuel != ran.Fuel:
		return &ReplayFinding{Reason: OtherFuel, Wanted: fmt.Sprint(ran.Fuel), Got: fmt.Sprint(result.Usage.Fuel)}
	}
	return nil
}

// compareAnswer holds what the record tells of the answer, to the model and of
// the state, against what the guest gave.
func (a attemptRecord) compareAnswer(recording grant.Recording, result sandbox.Result) *ReplayFinding {
	reply, problem := concluded(a.Tool, recording, result)
	if a.detail.Step == "run" || problem != nil {
		return a.compareProblem(problem)
	}
	if a.detail.Step != "" {
		return nil // what came of it later is not the guest's
	}
	data := reply.Data
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	if a.detail.Cut {
		data = window.Short(data)
	}
	t := a.detail.Transition
	if t == nil {
		t = &transition{}
	}
	for _, same := range []struct {
		what        string
		wanted, got any
	}{
		{"data", a.detail.Data, data}, {"preview", a.detail.Preview, cut(reply.Preview, previewText)},
		{"patch of the state", t.Patch, givenPatch(reply.State)}, {"action", t.Action, normal(givenPart(reply.Action))},
	} {
		if wanted, got := marshalled(same.wanted), marshalled(same.got); !bytes.Equal(wanted, got) {
			return &ReplayFinding{Reason: OtherAnswer, What: same.what, Wanted: cut(string(wanted), rebuildTexts), Got: cut(string(got), rebuildTexts)}
		}
	}
	return nil
}

// concluded gives what the gate made of the run: the reply, or the problem with
// which the step ended.
func concluded(tool string, recording grant.Recording, result sandbox.Result) (abi.Reply, *abi.Problem) {
	for _, c := range recording.Calls {
		if c.Problem != nil && c.Problem.Code.Class() == abi.ClassSystem && c.Function != abi.FuncHTTP {
			return abi.Reply{}, c.Problem // as grant.Grant.Failed says
		}
	}
	if result.Problem != nil {
		return abi.Reply{}, result.Problem
	}
	f := &flight{call: host.Call{Tool: tool}}
	problem := f.readReply(result.Output)
	return f.reply, problem
}

// compareProblem holds the problem on record against that of the run.
func (a attemptRecord) compareProblem(problem *abi.Problem) *ReplayFinding {
	wanted, got := json.RawMessage("null"), json.RawMessage("null")
	if a.detail.Step == "run" && a.detail.Problem != nil {
		wanted = marshalled(a.detail.Problem)
	}
	if problem != nil && outside(problem.Code) {
		return nil // whoever ended the call told it in words of its own
	}
	if problem != nil {
		got = marshalled(bounded(problem))
	}
	if bytes.Equal(wanted, got) {
		return nil
	}
	return &ReplayFinding{Reason: OtherAnswer, What: "problem", Wanted: cut(string(wanted), rebuildTexts), Got: cut(string(got), rebuildTexts)}
}

// givenPatch gives a reply's patch by its keys, nil where it changes none.
func givenPatch(part json.RawMessage) (patch map[string]json.RawMessage) {
	if !given(part) || json.Unmarshal(part, &patch) != nil || len(patch) == 0 {
		return nil
	}
	return patch
}

// givenPart gives an optional part of a reply, nil where it is not there.
func givenPart(part json.RawMessage) json.RawMessage {
	if !given(part) {
		return nil
	}
	return part
}

// marshalled gives a part of a record in one form; nil is null.
func marshalled(part any) json.RawMessage {
	b, err := json.Marshal(part)
	if err != nil {
		panic("BUG: a part of a record does not marshal: " + err.Error())
	}
	return b
}

// ownClock makes what a skill's own clock and random numbers may do out of a
// difference: they are not recorded, so nobody can tell it from one.
func ownClock(rel *release.Release, f *ReplayFinding) *ReplayFinding {
	if f == nil || f.Reducer || !rel.Skill.Capabilities.Clock && !rel.Skill.Capabilities.Random {
		return f
	}
	switch f.Reason {
	case AtHostCall, OtherOutput, OtherFuel, OtherEnd, OtherAnswer:
		return &ReplayFinding{Reason: OwnClock, What: f.text(), Parting: f.Parting}
	}
	return f
}
