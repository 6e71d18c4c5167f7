package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
	"github.com/sluicehq/sluice/registry"
)

// newFloodGate is a gate with blobs in a folder, and the skill that gives much.
func newFloodGate(t testing.TB) (g *gate, blobs string) {
	t.Helper()
	ctx := context.Background()
	g = newGate(t)
	wasm := sandboxtest.Build(t, "host/dispatch/testdata/flood")
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
	return g, blobs
}

func much(n int) string { return fmt.Sprintf(`{"bytes":%d}`, n) }

// flood is what the guest gives for a list of so many bytes.
func flood(n int) string {
	const item = `{"sku":"1001","title":"青柠 <b>\"&\"</b>","price":89.90}`
	items := strings.Repeat(item+",", (n-4)/(len(item)+1))
	return "[" + items + `"` + strings.Repeat("x", n-4-len(items)) + `"]`
}

// blobOf reads all of a blob as a session.
func (g *gate) blobOf(ref host.SessionRef, id string) (string, error) {
	r, err := g.d.Blobs.Open(context.Background(), ref, id)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// rowOf gives the outcome as the last record of a call has it.
func (g *gate) rowOf(id host.CallID) (o host.Outcome, size int) {
	g.t.Helper()
	records := g.records(id, host.RecordOutcome)
	detail := records[len(records)-1].Detail
	if err := json.Unmarshal(detail, &o); err != nil {
		g.t.Fatal(err)
	}
	return o, len(detail)
}

// A result that the model sees whole makes no blob; a longer one makes one,
// with every byte of it. Its rows hold it too, up to their bound.
func TestDataThatTheModelDoesNotSeeWholeGoesToABlob(t *testing.T) {
	for _, tool := range []string{"list", "fill"} {
		for _, tt := range []struct {
			name, args    string
			size          int
			blob, cut     bool
			largestRecord int
		}{
			{"short", much(1000), 1000, false, false, 4000},
			{"as long as is shown", much(window.ResultChars), window.ResultChars, false, false, 10_000},
			{"a little longer", much(6000), 6000, true, false, 20_000},
			{"one text", `{"bytes":100000,"kind":"text"}`, 100_000, true, true, 20_000},
			{"as long as a row", much(rowBytes), rowBytes, true, false, 2 * rowBytes},
			{"longer than a row", much(rowBytes + 1), rowBytes + 1, true, true, 20_000},
			{"the default limit", much(4<<20 - 100), 4<<20 - 100, true, true, 20_000},
		} {
			if underRace && tt.size > 1<<20 {
				continue
			}
			t.Run(tool+" "+tt.name, func(t *testing.T) {
				g, blobs := newFloodGate(t)
				o := g.do(tool, tt.args)
				if !o.OK() || len(o.Data) != tt.size || o.Cut {
					t.Fatalf("it ends with %v and %d bytes of data", o.Problem, len(o.Data))
				}
				row, size := g.rowOf(o.Call)
				if row.Cut != tt.cut || size > tt.largestRecord || !json.Valid(row.Data) {
					t.Errorf("its row has %d bytes, cut %v", size, row.Cut)
				}
				if left := blobFiles(t, blobs); (o.Blob != nil) != tt.blob || len(left) > 0 != tt.blob {
					t.Fatalf("it names %v, and there are %q", o.Blob, left)
				}
				if o.Blob == nil {
					return
				}
				want := host.BlobRef{ID: o.Blob.ID, Size: int64(tt.size), BlobInfo: abi.BlobInfo{Type: "application/json", Name: tool + ".json"}}
				if *o.Blob != want || row.Blob == nil || *row.Blob != want {
					t.Errorf("it names %+v and its row %+v, want %+v", o.Blob, row.Blob, want)
				}
				if info, err := g.d.Blobs.Stat(context.Background(), session, o.Blob.ID); err != nil || info.BlobInfo != want.BlobInfo || info.Size != want.Size {
					t.Errorf("the blob is %+v, %v", info, err)
				}
				if all, err := g.blobOf(session, o.Blob.ID); err != nil || all != string(o.Data) {
					t.Errorf("the blob differs from the data: %d bytes, %v", len(all), err)
				}
			})
		}
	}
}

// What the guest gave is in the blob byte for byte: the rows' JSON is not.
func TestSpilledDataIsTheGuestsToTheByte(t *testing.T) {
	g, _ := newFloodGate(t)
	const n = 1<<20 + 7
	o := g.do("fill", much(n))
	if !o.OK() || o.Blob == nil {
		t.Fatalf("it ends with %v, blob %v", o.Problem, o.Blob)
	}
	if all, err := g.blobOf(session, o.Blob.ID); err != nil || all != flood(n) {
		t.Errorf("the blob has %d bytes, %v", len(all), err)
	}
}

// The model reads valid JSON in the data's shape, and where all of it lies.
func TestTheModelIsToldWhereAllOfItLies(t *testing.T) {
	g, _ := newFloodGate(t)
	o := g.do("list", much(1<<20))
	text, where, _ := strings.Cut(window.ResultIn(o, o.Blob.ID), "\n")
	var shown []any
	if err := json.Unmarshal([]byte(text), &shown); err != nil || len(shown) < 10 || len(text) > window.ResultChars*3 {
		t.Errorf("%d items are shown in %d bytes: %v", len(shown), len(text), err)
	}
	if want := fmt.Sprintf("[all %d bytes of it are in blob %s;", 1<<20, o.Blob.ID); !strings.HasPrefix(where, want) {
		t.Errorf("the model is told %q", where)
	}
	row, _ := g.rowOf(o.Call)
	if again := window.ResultIn(row, row.Blob.ID); !window.Shortens(row) || !strings.HasSuffix(again, where) {
		t.Errorf("from the row it is told %.200q", again)
	}
}

func TestNobodyElseReadsSpilledData(t *testing.T) {
	g, _ := newFloodGate(t)
	o := g.do("list", much(10_000))
	for _, other := range []host.SessionRef{
		{Tenant: "other", User: session.User, Session: session.Session},
		{Tenant: session.Tenant, User: "ada", Session: session.Session},
		{Tenant: session.Tenant, User: session.User, Session: "s2"},
	} {
		if _, err := g.blobOf(other, o.Blob.ID); host.ProblemOf(err) == nil || host.ProblemOf(err).Code != abi.NotFound {
			t.Errorf("%v reads it: %v", other, err)
		}
	}
}

// The same write again has all of the data, from the blob; where that is gone,
// it still says that it was done, in short.
func TestAReplayedOutcomeHasItsDataFromTheBlob(t *testing.T) {
	g, blobs := newFloodGate(t)
	c := call("fill", much(1<<20))
	first := g.d.Do(context.Background(), g.catalog, c)
	again := c
	again.ID += "b"
	o := g.d.Do(context.Background(), g.catalog, again)
	if !o.OK() || !o.Replayed || o.Cut || !bytes.Equal(o.Data, first.Data) || o.Blob == nil || *o.Blob != *first.Blob {
		t.Fatalf("again it ends with %v, cut %v, %d bytes, blob %v", o.Problem, o.Cut, len(o.Data), o.Blob)
	}
	if left := blobFiles(t, blobs); len(left) != 1 {
		t.Errorf("there are %q", left)
	}
	if err := g.d.Blobs.PurgeSession(context.Background(), session); err != nil {
		t.Fatal(err)
	}
	again.ID += "c"
	if o := g.d.Do(context.Background(), g.catalog, again); !o.OK() || !o.Replayed || !o.Cut || !json.Valid(o.Data) || len(o.Data) > 5*window.ResultChars {
		t.Errorf("without the blob it ends with %v, cut %v, %d bytes", o.Problem, o.Cut, len(o.Data))
	}
}

func TestAnAttemptThatIsNotSettledLeavesNoBlob(t *testing.T) {
	for _, tool := range []string{"list", "fill"} {
		g, blobs := newFloodGate(t)
		g.failRecords(host.RecordOutcome)
		o := g.do(tool, much(100_000))
		g.mend()
		if left := blobFiles(t, blobs); o.OK() || o.Blob != nil || len(left) != 0 || o.Attempts != 4 {
			t.Errorf("%s: %d attempts end with %v, blob %v; there are %q", tool, o.Attempts, o.Problem, o.Blob, left)
		}
	}
}

func TestRetriesLeaveOneBlob(t *testing.T) {
	g, blobs := newFloodGate(t)
	g.failRecords(host.RecordOutcome)
	tries := 0
	g.onSleep = func() {
		if left := blobFiles(t, blobs); len(left) != 0 {
			t.Errorf("between attempts there are %q", left)
		}
		if tries++; tries == 2 {
			g.mend()
		}
	}
	o := g.do("fill", much(100_000))
	left := blobFiles(t, blobs)
	if !o.OK() || o.Attempts != 3 || len(left) != 1 || filepath.Base(left[0]) != o.Blob.ID {
		t.Errorf("%d attempts end with %v; there are %q, and it names %v", o.Attempts, o.Problem, left, o.Blob)
	}
}

// A caller that goes away after the data was written and before it is settled.
func TestACallThatIsStoppedLeavesNoBlob(t *testing.T) {
	g, blobs := newFloodGate(t)
	f := g.until(call("fill", much(100_000)), "spill")
	if left := blobFiles(t, blobs); len(left) != 1 {
		t.Fatalf("before it is settled there are %q", left)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	problem := f.take(ctx, step{"settle", (*flight).settle})
	f.conclude(ctx, problem)
	if left := blobFiles(t, blobs); problem == nil || len(left) != 0 || f.outcome.Blob != nil {
		t.Errorf("it ends with %v; there are %q", problem, left)
	}
}

// Where nobody knows whether the call was settled, its outcome may name the
// blob: it stays.
func TestAnUnknownEndKeepsTheBlob(t *testing.T) {
	g, blobs := newFloodGate(t)
	f := g.until(call("fill", much(100_000)), "settle")
	problem := abi.NewProblem(abi.OutcomeUnknown, "no answer")
	f.conclude(context.Background(), problem)
	if o := f.fail(context.Background(), "settle", problem); o.Status != host.Unknown || o.Blob != nil || len(blobFiles(t, blobs)) != 1 {
		t.Errorf("it ends as %+v; there are %q", o, blobFiles(t, blobs))
	}
}

// Another replica took the call over and finished it: its outcome counts, with
// its blob, and ours goes.
func TestTheBlobOfALostClaimGoes(t *testing.T) {
	g, blobs := newFloodGate(t)
	c := call("fill", much(100_000))
	f := g.until(c, "spill")
	later := openStore(t, g.path, state.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	replica := &gate{t: t, store: later, set: g.set, catalog: g.catalog, d: New(Config{Config: grant.Config{Store: later, Blobs: g.d.Blobs}, Sleep: g.d.Sleep, Jitter: g.d.Jitter})}
	other := c
	other.ID += "b"
	o := replica.d.Do(context.Background(), g.catalog, other)
	if !o.OK() {
		t.Fatal(o.Problem)
	}
	problem := f.settled(context.Background(), f.settle(context.Background()))
	f.conclude(context.Background(), problem)
	left := blobFiles(t, blobs)
	if problem != nil || len(left) != 1 || filepath.Base(left[0]) != o.Blob.ID || f.outcome.Blob.ID != o.Blob.ID || len(f.outcome.Data) != 100_000 {
		t.Errorf("it ends with %v and %d bytes in %v; there are %q, and the other's is %v", problem, len(f.outcome.Data), f.outcome.Blob, left, o.Blob)
	}
}

// A process that dies between the blob and the settlement leaves an orphan at
// most. The call runs again, and the session's purge takes both.
func TestADeadProcessLeavesAnOrphanAtMost(t *testing.T) {
	g, blobs := newFloodGate(t)
	c := call("fill", much(100_000))
	g.until(c, "spill") // and no further
	if g.stored("filled") != "" {
		t.Fatal("something was kept")
	}
	g.damage("UPDATE agent_claim SET lease_until = 0")
	o := g.d.Do(context.Background(), g.catalog, c)
	if left := blobFiles(t, blobs); !o.OK() || len(left) != 2 {
		t.Fatalf("the call ends with %v, and there are %q", o.Problem, left)
	}
	if err := g.d.Blobs.PurgeSession(context.Background(), session); err != nil {
		t.Fatal(err)
	}
	if left := blobFiles(t, blobs); len(left) != 0 {
		t.Errorf("after the purge there are %q", left)
	}
}

func TestAStoreOfBlobsThatFailsFailsTheCall(t *testing.T) {
	for _, tool := range []string{"list", "fill"} {
		g, blobs := newFloodGate(t)
		if err := os.RemoveAll(blobs); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(blobs, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		o := g.do(tool, much(100_000))
		wantProblem(t, o, host.Failed, abi.StoreFailure)
		if o.Attempts != 4 || o.Data != nil || o.Blob != nil || g.stored("filled") != "" {
			t.Errorf("%s: after %d attempts it has %d bytes, blob %v, stored %q", tool, o.Attempts, len(o.Data), o.Blob, g.stored("filled"))
		}
		if o := g.do(tool, much(1000)); !o.OK() {
			t.Errorf("%s: what is short fails with %v", tool, o.Problem)
		}
	}
}

// A failed attempt after one that spilled does not tell of its blob.
func TestAProblemHasNoBlob(t *testing.T) {
	g, blobs := newFloodGate(t)
	if o := g.do("fill", `{"bytes":100000,"kind":"fault"}`); o.OK() || o.Blob != nil || len(blobFiles(t, blobs)) != 0 {
		t.Errorf("it ends with %v and blob %v", o.Problem, o.Blob)
	}
}

// The gate asks for a long list and sees all of it; no blob is made of it. The
// recording of the call's own input is one.
func TestAFactIsNotSpilled(t *testing.T) {
	g, blobs := newFloodGate(t)
	for size, want := range map[int]host.Status{500_000: host.Done, 1000: host.Failed} {
		o := g.do("weigh", much(size))
		if o.Status != want || want == host.Failed && o.Problem.Code != abi.RedLine {
			t.Errorf("with a fact of %d bytes it ends with %v", size, o.Problem)
		}
		if row, _ := g.rowOf(o.Call + "/all"); row.Blob != nil || row.Cut || len(row.Data) < size {
			t.Errorf("the fact's row names %v and has %d bytes", row.Blob, len(row.Data))
		}
	}
	for _, name := range blobFiles(t, blobs) {
		if info, err := g.d.Blobs.Stat(context.Background(), session, filepath.Base(name)); err != nil || info.Type == spilledType {
			t.Errorf("there is a blob %+v, %v", info, err)
		}
	}
}

// Without a store for blobs the rows are the only place.
func TestWithoutBlobsTheRowsHoldAllUpToTheirBound(t *testing.T) {
	g, _ := newFloodGate(t)
	g.d.Blobs = nil
	c := call("fill", much(300_000))
	o := g.d.Do(context.Background(), g.catalog, c)
	row, _ := g.rowOf(o.Call)
	if !o.OK() || o.Blob != nil || row.Cut || len(row.Data) < 200_000 {
		t.Fatalf("it ends with %v, and its row has %d bytes of data", o.Problem, len(row.Data))
	}
	c.ID += "b"
	if again := g.d.Do(context.Background(), g.catalog, c); !again.Replayed || len(again.Data) < 200_000 {
		t.Errorf("again it has %d bytes", len(again.Data))
	}
}

// Where another call's outcome counts in the end, nothing of this one stays.
func TestAnAttemptThatLostItsClaimLeavesNoBlobBesideTheOutcomeThatCounts(t *testing.T) {
	g, blobs := newFloodGate(t)
	later := openStore(t, g.path, state.Options{Now: func() time.Time { return time.Now().Add(24 * time.Hour) }})
	c := call("fill", much(300_000))
	other := c
	other.ID += "b"
	replica := New(Config{Config: grant.Config{Store: later, Blobs: g.d.Blobs}, Sleep: g.d.Sleep, Jitter: g.d.Jitter})
	g.d.Trace = func(id host.CallID, step string) {
		if id == c.ID && step == "settle" {
			if o := replica.Do(context.Background(), g.catalog, other); !o.OK() {
				t.Errorf("the other call ended with %v", o.Problem)
			}
		}
	}
	o := g.d.Do(context.Background(), g.catalog, c)
	if !o.OK() || !o.Replayed || o.Blob == nil || len(o.Data) < 200_000 {
		t.Fatalf("it ended with %v, replayed %v, blob %v", o.Problem, o.Replayed, o.Blob)
	}
	if left := blobFiles(t, blobs); len(left) != 1 || filepath.Base(left[0]) != o.Blob.ID {
		t.Errorf("%v are left, want %s alone", left, o.Blob.ID)
	}
}
