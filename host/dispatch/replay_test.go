package dispatch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
)

func (g *gate) replay(id host.CallID) Replayed {
	g.t.Helper()
	r, err := g.d.Replayer(g.set).Replay(context.Background(), session.Tenant, id)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

// wantReplayed replays a call and gives what was found.
func (g *gate) wantReplayed(id host.CallID, want ReplayVerdict, reason ReplayReason) ReplayFinding {
	g.t.Helper()
	r := g.replay(id)
	found := ReplayFinding{}
	if r.Finding != nil {
		found = *r.Finding
	}
	if r.Verdict != want || found.Reason != reason {
		g.t.Fatalf("%s is %s: %s: %v; want %s: %s", r.Tool, r.Verdict, found.Reason, found, want, reason)
	}
	return found
}

// TestWhatCallsDoReplaysToTheByte: reads and writes, with facts, state, reducers,
// blobs and files, those that the business refuses, and those that end badly.
func TestWhatCallsDoReplaysToTheByte(t *testing.T) {
	g, _ := newRoomGate(t)
	g.put("rate", "7")
	for _, tt := range []struct {
		tool, args string
		runs       int
	}{
		{"order", `{"item":"pen","count":2}`, 1}, {"order", `{"item":"pen","count":3}`, 1}, {"total", `{"item":"pen"}`, 1},
		{"order", `{"item":"<&\u2028>","count":1}`, 1}, {"order", `{"item":"sold out","count":1}`, 1}, {"total", `{"item":"ghost"}`, 1},
		{"set_goal", `{"text":"sell <more>"}`, 1}, {"emphasise", `{}`, 1},
		{"act", `{"add":1,"note":"<b>"}`, 1}, {"act_late", `{"add":2}`, 1}, {"act", `{"how":"clear"}`, 1}, {"act", `{"how":"nothing"}`, 1},
		{"act", `{"how":"refuse"}`, 1}, {"act", `{"how":"panic"}`, 1}, {"act", `{"how":"undeclared"}`, 1}, {"act", `{"add":4}`, 1},
		{"misbehave", `{"how":"panic"}`, 1}, {"misbehave", `{"how":"exit"}`, 1}, {"misbehave", `{"how":"big"}`, 1}, {"misbehave", `{"how":"allocate"}`, 1},
		{"misbehave", `{"how":"verdict"}`, 4}, {"misbehave", `{"how":"flaky"}`, 3}, {"misbehave", `{"how":"unavailable"}`, 4},
		{"lie", `{}`, 1}, {"sneak", `{}`, 1},
		{"write", `{"steps":[{"do":"file write","name":"a","data":"` + strings.Repeat("x", 20_000) + `"},{"do":"file read","name":"a"},{"do":"blob write","data":"x"}]}`, 1},
		{"read", `{"steps":[{"do":"file read","name":"b"},{"do":"progress","from":1,"size":3,"data":"one"}]}`, 1},
	} {
		t.Run(tt.tool+" "+tt.args[:min(len(tt.args), 40)], func(t *testing.T) {
			g.t = t
			o := g.do(tt.tool, tt.args)
			r := g.replay(o.Call)
			if r.Verdict != ReplaySame || len(r.Runs) != tt.runs {
				t.Fatalf("it ended with %v; %d runs replay as %s: %v", o.Problem, len(r.Runs), r.Verdict, r.Finding)
			}
			for _, run := range r.Runs {
				if run.Got.SHA256 != host.Digest(run.Output) || run.Got.Fuel != run.Recorded.Fuel || run.Got.Memory != run.Recorded.Memory || (run.Got.Reducer != nil) != (run.Recorded.Reducer != nil) {
					t.Errorf("run %d gave %+v, on record is %+v", run.Attempt, run.Got, run.Recorded)
				}
			}
		})
	}
}

// TestWhatAGateAskedForReplaysToo: a fact is a call with records of its own.
func TestWhatAGateAskedForReplaysToo(t *testing.T) {
	g := newGate(t)
	o := g.do("order", `{"item":"pen","count":2}`)
	g.wantReplayed(o.Call+"/now", ReplaySame, "")
}

// TestACallThatWasDeliveredAgainReplays: also where the host died in between.
func TestACallThatWasDeliveredAgainReplays(t *testing.T) {
	g := newGate(t)
	c := call("misbehave", `{"how":"unavailable"}`)
	for range 2 {
		wantProblem(t, g.d.Do(context.Background(), g.catalog, c), host.Failed, abi.Unavailable)
	}
	if r := g.replay(c.ID); r.Verdict != ReplaySame || len(r.Runs) != 8 {
		t.Errorf("%d runs are %s: %v", len(r.Runs), r.Verdict, r.Finding)
	}
	g.damage("DELETE FROM audit_record WHERE seq = (SELECT min(seq) FROM audit_record WHERE kind = 'outcome')")
	if r := g.replay(c.ID); r.Verdict != ReplaySame || len(r.Runs) != 7 {
		t.Errorf("without the end of the first delivery %d runs are %s: %v", len(r.Runs), r.Verdict, r.Finding)
	}
}

// TestAReplayHasNoWayOut: what a skill writes is written by its call, and never
// by a replay of it, nor by one whose recording was made to ask for more.
func TestAReplayHasNoWayOut(t *testing.T) {
	g, blobs := newRoomGate(t)
	writes := call("write", writesA)
	order, act := call("order", `{"item":"pen","count":2}`), call("act", `{"add":1}`)
	for _, c := range []host.Call{writes, order, act} {
		if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() {
			t.Fatal(o.Problem)
		}
	}
	was := g.everything(blobs)
	for _, c := range []host.Call{writes, order, act} {
		g.wantReplayed(c.ID, ReplaySame, "")
	}
	if now := g.everything(blobs); now != was {
		t.Errorf("after the replays there is\n%s\nbefore there was\n%s", now, was)
	}

	// The recording of the order loses its last host call: a kv_put.
	g.tamper(order.ID, func(r *grant.Recording, s *grant.Stored) {
		r.Calls = r.Calls[:len(r.Calls)-1]
		s.Count--
	})
	was = g.everything(blobs)
	found := g.wantReplayed(order.ID, ReplayParted, AtHostCall)
	if p := found.Parting; p.Got != abi.FuncKVPut || p.Wanted != "" || p.Call != 2 {
		t.Errorf("it parted with %+v", p)
	}
	if now := g.everything(blobs); now != was {
		t.Errorf("after the replay there is\n%s\nbefore there was\n%s", now, was)
	}
}

// everything gives all that calls can change, as text.
func (g *gate) everything(blobs string) string {
	g.t.Helper()
	ctx := context.Background()
	values, err := g.store.ListState(ctx, session, "", "", 0)
	if err != nil {
		g.t.Fatal(err)
	}
	page, err := g.store.View(session.Tenant, "test").Scan(ctx, abi.ScanQuery{})
	if err != nil {
		g.t.Fatal(err)
	}
	all, err := json.Marshal([]any{values, page.Entries, g.records(""), blobFiles(g.t.(*testing.T), blobs), g.file("a")})
	if err != nil {
		g.t.Fatal(err)
	}
	return string(all)
}

// tamper changes the recording of a call as somebody does who also corrects its
// digest.
func (g *gate) tamper(id host.CallID, edit func(*grant.Recording, *grant.Stored)) {
	g.t.Helper()
	record := g.records(id, host.RecordOutcome)[0]
	var detail map[string]json.RawMessage
	var stored grant.Stored
	must(g.t, json.Unmarshal(record.Detail, &detail))
	must(g.t, json.Unmarshal(detail["host_calls"], &stored))
	r, err := stored.Load(context.Background(), nil, session)
	must(g.t, err)
	edit(&r, &stored)
	stored.Inline, err = json.Marshal(r)
	must(g.t, err)
	stored.SHA256 = host.Digest(stored.Inline)
	detail["host_calls"], err = json.Marshal(stored)
	must(g.t, err)
	raw, err := json.Marshal(detail)
	must(g.t, err)
	g.damage(fmt.Sprintf("UPDATE audit_record SET detail = X'%x' WHERE seq = %d", raw, record.Seq))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTamperingIsToldAsWhatItIs: of an order of two pens and one more.
func TestTamperingIsToldAsWhatItIs(t *testing.T) {
	five, six := base64.StdEncoding.EncodeToString([]byte("5")), base64.StdEncoding.EncodeToString([]byte("6"))
	outcome := func(old, new string) string {
		return fmt.Sprintf("UPDATE audit_record SET detail = CAST(replace(CAST(detail AS TEXT), '%s', '%s') AS BLOB) WHERE kind = 'outcome'", old, new)
	}
	for _, tt := range []struct {
		name   string
		damage string
		edit   func(*grant.Recording, *grant.Stored)
		reason ReplayReason
		want   string // in its words
	}{
		{"a result of a host call", outcome(`"result":"`+five, `"result":"`+six), nil, OtherRecording, "was changed"},
		{"the same with its digest", "", func(r *grant.Recording, _ *grant.Stored) { r.Calls[0].Result = []byte("6") }, AtHostCall, "host call 2 of 2"},
		{"an argument of a host call", "", func(r *grant.Recording, _ *grant.Stored) { r.Calls[1].Args[1] = []byte("9") }, AtHostCall, "host call 2 of 2"},
		{"the function of a host call", "", func(r *grant.Recording, _ *grant.Stored) { r.Calls[0].Function = abi.FuncKVScan }, AtHostCall, "on record is sluice_kv_scan"},
		{"one host call more", "", func(r *grant.Recording, s *grant.Stored) { r.Calls, s.Count = append(r.Calls, r.Calls[1]), 3 }, AtHostCall, "ended after 2 of 3"},
		{"the number of host calls", outcome(`"count":2,"bytes"`, `"count":7,"bytes"`), nil, OtherRecording, "the record says 7"},
		{"an argument on record", `UPDATE audit_record SET detail = CAST(replace(CAST(detail AS TEXT), '"count":1', '"count":9') AS BLOB) WHERE kind = 'intent' AND tool = 'order'`, nil, OtherInput, "its arguments is"},
		{"an argument of the input", "", func(r *grant.Recording, _ *grant.Stored) {
			r.Input = json.RawMessage(strings.Replace(string(r.Input), `"count":1`, `"count":9`, 1))
		}, OtherInput, "its arguments is"},
		{"the locale of the input", "", func(r *grant.Recording, _ *grant.Stored) {
			r.Input = json.RawMessage(strings.Replace(string(r.Input), `"locale":"en"`, `"locale":"de"`, 1))
		}, OtherInput, "its sha256 is"},
		{"the fuel", outcome(`"fuel":`, `"fuel":1`), nil, OtherFuel, "of fuel, on record is 1"},
		{"the fuel of the whole call", outcome(`"usage":{"fuel":`, `"usage":{"fuel":1`), nil, OtherUsage, "together"},
		{"the data", outcome(`"data":{"item":"pen","total":6}`, `"data":{"item":"pen","total":8}`), nil, OtherAnswer, `"total":8}, it gave {"item":"pen","total":6}`},
		{"a change of state that was none", outcome(`"run":`, `"transition":{"patch":{"goal":1}},"run":`), nil, OtherAnswer, "patch of the state"},
		{"the digest of the output", outcome(`"sha256":"`, `"sha256":"f`), nil, OtherRecording, ""},
		{"how it ended", outcome(`"run":{`, `"run":{"code":6001,`), nil, OtherEnd, "on record is 6001"},
		{"the digest of the module", outcome(`"module":"`, `"module":"f`), nil, OtherModule, "test.guest@1.0.0 has other bytes"},
		{"no host calls at all", outcome(`"host_calls"`, `"no_calls"`), nil, OtherRecording, "has none"},
		{"no run at all", outcome(`"host_calls"`, `"run":null,"host_calls":null,"no_calls"`) + ";" + outcome(`"run":{`, `"no_run":{`), nil, OtherRecording, "has none"},
		{"no recording", outcome(`"inline":{`, `"in":{`), nil, OtherRecording, "not there"},
		{"another call's record", `UPDATE audit_record SET tool = 'order_once' WHERE kind = 'outcome'`, nil, OtherInput, "its tool is order"},
		{"another key", `UPDATE audit_record SET claim_key = 'k' WHERE kind = 'outcome'`, nil, OtherInput, "its key is"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			for _, count := range []int{2, 3} {
				if o := g.do("order", fmt.Sprintf(`{"item":"pen","count":%d}`, count)); !o.OK() {
					t.Fatal(o.Problem)
				}
			}
			o := g.do("order", `{"item":"pen","count":1}`)
			g.wantReplayed(o.Call, ReplaySame, "")
			if tt.edit != nil {
				g.tamper(o.Call, tt.edit)
			} else {
				g.damage(tt.damage)
			}
			found := g.wantReplayed(o.Call, ReplayParted, tt.reason)
			if !strings.Contains(found.String(), tt.want) {
				t.Errorf("it is told as %s", found)
			}
		})
	}
}

// TestAReducersReplayComparesWhatItSaw: and what the record tells of its values.
func TestAReducersReplayComparesWhatItSaw(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		reason         ReplayReason
	}{
		{"the state before", `"patch":{"rate":7}`, `"patch":{"rate":8}`, OtherState},
		{"the action before", `"action":{"add":1}`, `"action":{"add":5}`, OtherState},
		{"what it gave", `"from":1,"sha256":"`, `"from":1,"sha256":"f`, OtherAnswer},
		{"how it ended", `"reducer":{"module":`, `"reducer":{"code":6001,"module":`, OtherEnd},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			g.put("rate", "7")
			g.do("act", `{"add":1}`)
			o := g.do("act", `{"add":2}`)
			g.wantReplayed(o.Call, ReplaySame, "")
			g.damage(fmt.Sprintf("UPDATE audit_record SET detail = CAST(replace(CAST(detail AS TEXT), '%s', '%s') AS BLOB)", tt.old, tt.new))
			if r := g.replay(o.Call); r.Verdict == ReplaySame || r.Finding.Reason != tt.reason {
				t.Errorf("it is %s: %v", r.Verdict, r.Finding)
			}
		})
	}
}

// TestWhatCannotBeTheSameIsSaid: a clock stops a run where it will, and a
// recording may have been cut.
func TestWhatCannotBeTheSameIsSaid(t *testing.T) {
	g := newGate(t, deadline(400*time.Millisecond)) // which all its replays take, too
	o := g.do("misbehave", `{"how":"loop"}`)
	wantProblem(t, o, host.Failed, abi.Deadline)
	g.wantReplayed(o.Call, ReplayPart, StoppedByClock)
	g.tamper(o.Call, func(r *grant.Recording, _ *grant.Stored) {
		if len(r.Calls) == 0 {
			t.Fatal("it was stopped before it called the host")
		}
		r.Calls[0].Args[0] = []byte("clean")
	})
	g.wantReplayed(o.Call, ReplayParted, AtHostCall)

	r, _ := newRoomGate(t)
	r.do("write", `{"steps":[{"do":"file write","name":"a","data":"`+strings.Repeat("x", 20_000)+`"},{"do":"file write","name":"b","data":"1"}]}`)
	cut := r.do("read", `{"steps":[{"do":"file read","name":"b"},{"do":"file read","name":"a"}]}`)
	r.wantReplayed(cut.Call, ReplayPart, RecordingCut)
	long := r.do("read", `{"steps":[{"do":"file read","name":"b"},{"do":"file read","name":"`+strings.Repeat("x", 9000)+`"}]}`)
	r.wantReplayed(long.Call, ReplayNothing, NotKept)
}

// TestWhatAStoreFailedAtReplays: the guest was told, and is told again.
func TestWhatAStoreFailedAtReplays(t *testing.T) {
	g := newGate(t)
	g.do("order", `{"item":"pen","count":2}`)
	g.damage("ALTER TABLE kv RENAME TO kv_away")
	o := g.do("order_once", `{"item":"pen","count":2}`)
	g.damage("ALTER TABLE kv_away RENAME TO kv")
	wantProblem(t, o, host.Failed, abi.StoreFailure)
	if r := g.replay(o.Call); r.Verdict != ReplaySame || len(r.Runs) != o.Attempts {
		t.Errorf("%d runs of %d attempts are %s: %v", len(r.Runs), o.Attempts, r.Verdict, r.Finding)
	}
}

func TestACallWithoutARunHasNothingToReplay(t *testing.T) {
	g := newGate(t)
	g.wantReplayed(g.do("nonsense", `{}`).Call, ReplayNothing, NeverRan)
	g.wantReplayed(g.do("order", `{"item":"poison","count":1}`).Call, ReplayNothing, NeverRan)
	first := call("order", `{"item":"pen","count":2}`)
	g.d.Do(context.Background(), g.catalog, first)
	again := first
	again.ID = "call_again"
	if o := g.d.Do(context.Background(), g.catalog, again); !o.Replayed {
		t.Fatalf("the same write runs again: %+v", o)
	}
	if found := g.wantReplayed(again.ID, ReplayNothing, StoredAnswer); found.Wanted != string(first.ID) {
		t.Errorf("it is said to be that of %s", found.Wanted)
	}
	begun := call("order", `{"item":"pen","count":7}`)
	g.until(begun, "claim")
	g.wantReplayed(begun.ID, ReplayNothing, NotEnded)
	if _, err := g.d.Replayer(g.set).Replay(context.Background(), session.Tenant, "call_none"); host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("a call that there is not: %v", err)
	}
	if _, err := g.d.Replayer(g.set).Replay(context.Background(), "other", first.ID); host.ProblemOf(err).Code != abi.NotFound {
		t.Errorf("of another tenant: %v", err)
	}
}

func TestWhatIsGoneIsToldAsThat(t *testing.T) {
	ctx := context.Background()
	g, blobs := newRoomGate(t)
	o := g.do("write", `{"steps":[{"do":"file write","name":"a","data":"`+strings.Repeat("x", 20_000)+`"}]}`)
	g.wantReplayed(o.Call, ReplaySame, "")

	store := g.d.Blobs
	g.d.Blobs = nil
	g.wantReplayed(o.Call, ReplayLost, RecordingGone)
	g.d.Blobs = store
	for _, name := range blobFiles(t, blobs) {
		must(t, os.WriteFile(name, []byte("noise"), 0o600))
	}
	g.wantReplayed(o.Call, ReplayLost, RecordingGone)
	must(t, store.Delete(ctx, session, g.hostCalls(o.Call).Blob))
	g.wantReplayed(o.Call, ReplayLost, RecordingGone)

	order := g.do("order", `{"item":"pen","count":2}`)
	empty := release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { empty.Close(ctx) })
	r, err := g.d.Replayer(empty).Replay(ctx, session.Tenant, order.Call)
	if err != nil || r.Verdict != ReplayLost || r.Finding.Reason != ReleaseGone || !strings.Contains(r.Finding.String(), "test.guest@1.0.0 is not loaded") {
		t.Errorf("without its release it is %+v, %v", r, err)
	}
	g.damage("UPDATE audit_record SET detail = CAST('{' AS BLOB) WHERE kind = 'outcome'")
	g.wantReplayed(order.Call, ReplayLost, RecordUnreadable)
	g.damage("UPDATE audit_record SET detail = X'' WHERE kind = 'outcome'")
	g.wantReplayed(order.Call, ReplayLost, RecordErased)
}

// TestAnotherModuleUnderTheSameVersionIsNotRun: it is told by its bytes.
func TestAnotherModuleUnderTheSameVersionIsNotRun(t *testing.T) {
	g := newGate(t)
	o := g.do("order", `{"item":"pen","count":2}`)
	wasm := sandboxtest.Build(t, "sdk/testdata/room/module")
	m := sandboxtest.Manifest(t, sandboxtest.Shared(t), wasm)
	m.Name = "test.guest"
	skill, err := manifest.Compile(m)
	must(t, err)
	other := release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { other.Close(context.Background()) })
	skill.Version = "1.0.0"
	_, err = other.Load(context.Background(), &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)})
	must(t, err)
	r, err := g.d.Replayer(other).Replay(context.Background(), session.Tenant, o.Call)
	if err != nil || r.Verdict != ReplayParted || r.Finding.Reason != OtherModule || r.Runs[0].Got != nil {
		t.Errorf("it is %+v, %v", r, err)
	}
}

// TestOldRecordsReplayWithoutDigests: those that were kept before there were any.
func TestOldRecordsReplayWithoutDigests(t *testing.T) {
	g := newGate(t)
	o := g.do("order", `{"item":"pen","count":2}`)
	g.damage(`UPDATE audit_record SET detail = CAST(replace(CAST(detail AS TEXT), '"run":{', '"was":{') AS BLOB)`)
	g.wantReplayed(o.Call, ReplayPart, NoDigests)
	g.damage(`UPDATE audit_record SET detail = CAST(replace(CAST(detail AS TEXT), '"data":{"item":"pen","total":2}', '"data":{"item":"pen","total":3}') AS BLOB)`)
	g.wantReplayed(o.Call, ReplayParted, OtherAnswer)
}

// TestASkillWithItsOwnClockIsNotBlamed: what it sees of time is not recorded.
func TestASkillWithItsOwnClockIsNotBlamed(t *testing.T) {
	g := newGate(t)
	o := g.do("order", `{"item":"pen","count":2}`)
	g.tamper(o.Call, func(r *grant.Recording, _ *grant.Stored) { r.Calls[1].Args[1] = []byte("9") })
	g.wantReplayed(o.Call, ReplayParted, AtHostCall)
	other := newGate(t, func(m *abi.Manifest) { m.Capabilities.Clock = true })
	r, err := g.d.Replayer(other.set).Replay(context.Background(), session.Tenant, o.Call)
	if err != nil || r.Verdict != ReplayPart || r.Finding.Reason != OwnClock || !strings.Contains(r.Finding.String(), "host call 2") {
		t.Errorf("it is %s: %v, %v", r.Verdict, r.Finding, err)
	}
}

func TestAReplayEndsWithItsCaller(t *testing.T) {
	g := newGate(t)
	o := g.do("order", `{"item":"pen","count":2}`)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := g.d.Replayer(g.set).Replay(ctx, session.Tenant, o.Call); err == nil {
		t.Errorf("it ends with %+v", r)
	}
}

// TestAFailureOnTheWayLeavesNoHalfMadeState: what is asked for next is made from
// the beginning, and a release that could not be reached is asked for again.
func TestAFailureOnTheWayLeavesNoHalfMadeState(t *testing.T) {
	g := newGate(t)
	var last host.Record
	for range 3 {
		last = g.records(g.do("act", `{"add":1}`).Call, host.RecordOutcome)[0]
	}
	empty := release.NewSet(sandboxtest.Shared(t), nil)
	t.Cleanup(func() { empty.Close(context.Background()) })
	r := g.d.Replayer(empty)
	if _, err := r.before(context.Background(), session, last.Seq); err == nil {
		t.Fatal("without the release there is a state")
	}
	r.releases = g.set
	b, err := r.before(context.Background(), session, last.Seq)
	if err != nil || b.difference != nil || string(b.data("score.total")) != "2" {
		t.Fatalf("then it is %s, %v, %v", b.data("score.total"), b.difference, err)
	}
	for _, tt := range []struct {
		code  abi.Code
		again bool
	}{{abi.Unavailable, true}, {abi.Cancelled, true}, {abi.NotFound, false}, {abi.DigestMismatch, false}} {
		b.used[last.Release] = usedRelease{err: host.Fail("test", abi.NewProblem(tt.code, "not now"), nil)}
		if used := b.releaseOf(context.Background(), last.Release); (used.err == nil) != tt.again {
			t.Errorf("after %d it gives %v", tt.code, used.err)
		}
	}
}

// TestAHostThatFailsInARunKeepsItsHostCalls: they went out.
func TestAHostThatFailsInARunKeepsItsHostCalls(t *testing.T) {
	g := newGate(t)
	f := g.until(call("order", `{"item":"pen","count":2}`), "claim")
	f.outcome.Attempts++
	f.entry.Release = &release.Release{Skill: f.entry.Release.Skill} // whose module is not there to be called
	if problem := f.take(context.Background(), step{"run", (*flight).run}); problem == nil || problem.Code != abi.HostBug {
		t.Fatalf("it ended with %v", problem)
	}
	if f.failedCalls() == nil || f.lastRun() != nil {
		t.Errorf("of the attempt are on record %v and %v", f.failedCalls(), f.lastRun())
	}
}
