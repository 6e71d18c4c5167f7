package dispatch

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/files"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/sandbox"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/registry"
)

// newRoomGate is a gate with blobs and files, and the skill that uses them.
func newRoomGate(t testing.TB) (g *gate, blobs string) {
	t.Helper()
	ctx := context.Background()
	g = newGate(t)
	wasm := sandboxtest.Build(t, "sdk/testdata/room/module")
	sandboxtest.Load(t, wasm, abi.Limits{})
	skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
	if _, err := g.set.Load(ctx, &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		t.Fatal(err)
	}
	g.catalog, _ = g.set.Catalog(ctx, nil)
	blobs = filepath.Join(t.TempDir(), "blobs")
	var err error
	if g.d.Blobs, err = blob.Open(ctx, blobs, blob.Options{}); err != nil {
		t.Fatal(err)
	}
	if g.d.Files, err = files.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return g, blobs
}

func (g *gate) file(name string) string {
	g.t.Helper()
	data, err := g.d.Files.View(session).Read(context.Background(), name)
	if err != nil {
		return host.ProblemOf(err).Message
	}
	return string(data)
}

// hostCalls gives what the record of a call says of its host calls.
func (g *gate) hostCalls(id host.CallID) *grant.Stored {
	g.t.Helper()
	records := g.records(id, host.RecordOutcome)
	var detail struct {
		HostCalls *grant.Stored `json:"host_calls"`
	}
	if err := json.Unmarshal(records[len(records)-1].Detail, &detail); err != nil {
		g.t.Fatal(err)
	}
	return detail.HostCalls
}

const writesA = `{"steps":[{"do":"file write","name":"a","data":"new"},{"do":"blob write","data":"x"}]}`

func TestFilesAndBlobsAreKeptOnlyIfTheCallIsSettled(t *testing.T) {
	g, blobs := newRoomGate(t)
	if o := g.do("write", `{"steps":[{"do":"file write","name":"a","data":"old"}]}`); !o.OK() {
		t.Fatal(o.Problem)
	}
	g.failRecords(host.RecordOutcome)
	o := g.do("write", writesA)
	g.mend()
	if o.OK() || g.file("a") != "old" {
		t.Fatalf("the call ended with %v, and the file is %q", o.Problem, g.file("a"))
	}
	g.failRecords(host.RecordOutcome)
	o = g.do("write", `{"steps":[{"do":"file write","name":"a","data":"`+strings.Repeat("x", 20_000)+`"}]}`)
	g.mend()
	if left := blobFiles(t, blobs); o.OK() || len(left) != 0 || g.file("a") != "old" {
		t.Errorf("blobs of calls that were not settled: %q, the file is %.10q", left, g.file("a"))
	}
	if o := g.do("write", `{"steps":[{"do":"file write","name":"a","data":"new"},{"do":"nonsense"}]}`); o.OK() || g.file("a") != "old" {
		t.Errorf("a call that failed: %v, the file is %q", o.Problem, g.file("a"))
	}
	if o := g.do("write", writesA); !o.OK() || g.file("a") != "new" || len(blobFiles(t, blobs)) != 1 {
		t.Errorf("a call that succeeded: %v, the file is %q, blobs %q", o.Problem, g.file("a"), blobFiles(t, blobs))
	}
}

func blobFiles(t *testing.T, root string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, "*", "blob_*"))
	if err != nil {
		t.Fatal(err)
	}
	var blobs []string
	for _, name := range all {
		if !strings.HasSuffix(name, ".attrs") {
			blobs = append(blobs, name)
		}
	}
	return blobs
}

// A short call's host calls lie in its record; a long one's in a blob; a read's
// only as far as they fit.
func TestHostCallsAreRecordedWithTheOutcome(t *testing.T) {
	ctx := context.Background()
	g, blobs := newRoomGate(t)
	long := `{"steps":[{"do":"file write","name":"a","data":"` + strings.Repeat("x", 20_000) + `"},{"do":"file read","name":"a"}]}`
	short, written := call("write", `{"steps":[{"do":"file write","name":"b","data":"1"}]}`), call("write", long)
	read, failed := call("read", `{"steps":[{"do":"file read","name":"b"},{"do":"file read","name":"a"}]}`), call("read", `{"steps":[{"do":"file read","name":"c"}]}`)
	for _, c := range []host.Call{short, written, read, failed} {
		g.d.Do(ctx, g.catalog, c)
	}
	for _, tt := range []struct {
		name                   string
		call                   host.Call
		count                  int
		inline, isBlob, cut    bool
		function, resultPrefix string
	}{
		{"short", short, 1, true, false, false, abi.FuncFilesWrite, host.Digest([]byte("1"))},
		{"long", written, 2, false, true, false, abi.FuncFilesWrite, host.Digest([]byte(strings.Repeat("x", 20_000)))},
		{"read", read, 2, true, false, true, abi.FuncFilesRead, "1"},
		{"failed", failed, 1, true, false, false, abi.FuncFilesRead, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := g.hostCalls(tt.call.ID)
			if s == nil || s.Count != tt.count || (s.Inline != nil) != tt.inline || (s.Blob != "") != tt.isBlob || s.Cut != tt.cut {
				t.Fatalf("the record says %+v", s)
			}
			r, err := s.Load(ctx, g.d.Blobs, session)
			if err != nil || r.Calls[0].Function != tt.function || string(r.Calls[0].Result) != tt.resultPrefix || r.Cut != tt.cut {
				t.Fatalf("the recording is %+v, %v", r, err)
			}
			if !tt.cut {
				g.playBack(t, tt.call, r)
			}
		})
	}
	if n := len(blobFiles(t, blobs)); n != 3 {
		t.Errorf("there are %d blobs, want the long write's host calls, and what it and the read gave", n)
	}
	g.d.RecordReads = true
	again := call("read", read.Args)
	if o := g.d.Do(ctx, g.catalog, again); !o.OK() || g.hostCalls(again.ID).Blob == "" {
		t.Errorf("a read that is to be recorded: %v, %+v", o.Problem, g.hostCalls(again.ID))
	}
}

// playBack runs a recording and holds it to the call's outcome.
func (g *gate) playBack(t *testing.T, c host.Call, r grant.Recording) {
	t.Helper()
	entry, problem := g.catalog.Resolve(c.Tool)
	if problem != nil {
		t.Fatal(problem)
	}
	replay := grant.NewReplay(r)
	result := entry.Release.Module.Call(context.Background(), sandbox.Request{Export: abi.ExportInvoke, Input: r.Input, Functions: replay.Functions})
	var was struct{ Usage host.Usage }
	records := g.records(c.ID, host.RecordOutcome)
	if err := json.Unmarshal(records[len(records)-1].Detail, &was); err != nil {
		t.Fatal(err)
	}
	if replay.Differs() != nil || result.Usage.Fuel != was.Usage.Fuel || result.Usage.OutputBytes != was.Usage.OutputBytes {
		t.Errorf("played back it differs: %v; fuel %d and %d, output %d and %d", replay.Differs(), result.Usage.Fuel, was.Usage.Fuel, result.Usage.OutputBytes, was.Usage.OutputBytes)
	}
}

func TestAWriteWhoseHostCallsCannotBeKeptDoesNotSettle(t *testing.T) {
	g, blobs := newRoomGate(t)
	if err := os.RemoveAll(blobs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blobs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := g.do("write", `{"steps":[{"do":"file write","name":"a","data":"`+strings.Repeat("x", 20_000)+`"}]}`)
	wantProblem(t, o, host.Failed, abi.StoreFailure)
	if !strings.Contains(g.file("a"), "there is no file") {
		t.Errorf("the file is %.20q", g.file("a"))
	}
	if o := g.do("read", `{"steps":[{"do":"file list"}]}`); !o.OK() {
		t.Errorf("a read: %v", o.Problem)
	}
}

func TestProgressIsToldWhileTheCallRunsAndNotTooOften(t *testing.T) {
	g, _ := newRoomGate(t)
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	g.d.Now = func() time.Time { return now }
	var told []abi.ProgressReport
	step := time.Duration(0)
	c := call("read", `{"steps":[{"do":"progress","from":1,"size":3,"data":"one"},{"do":"progress","from":2,"size":3},{"do":"progress","from":3,"size":3}]}`)
	c.Progress = func(p abi.ProgressReport) { told, now = append(told, p), now.Add(step) }
	if o := g.d.Do(context.Background(), g.catalog, c); !o.OK() || len(told) != 1 || told[0] != (abi.ProgressReport{Done: 1, Total: 3, Say: "one"}) {
		t.Errorf("%v: in one moment the user is told %+v", o.Problem, told)
	}
	told, step = nil, progressEvery
	again := call("read", c.Args)
	again.Progress = c.Progress
	if o := g.d.Do(context.Background(), g.catalog, again); !o.OK() || len(told) != 3 {
		t.Errorf("%v: as time goes by the user is told %+v", o.Problem, told)
	}
}
