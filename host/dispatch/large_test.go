//go:build !race

package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// What is large takes the race detector many times as long as anything else,
// and the same is done with less in the tests that it watches.

// 64 MiB is the ceiling of an output, envelope and all.
func TestTheLargestOutputIsSpilled(t *testing.T) {
	if testing.Short() {
		t.Skip("needs half a gigabyte")
	}
	g, _ := newFloodGate(t)
	const n = 64<<20 - 100
	began := time.Now()
	args := fmt.Sprintf(`{"bytes":%d,"kind":"text"}`, n)
	o := g.do("fill", args)
	if !o.OK() || o.Blob == nil || o.Blob.Size != n {
		t.Fatalf("it ends with %v and blob %v", o.Problem, o.Blob)
	}
	t.Logf("%d bytes took %s, %s of it in the sandbox, %d of fuel, %v of memory", n, time.Since(began), o.Usage.Elapsed, o.Usage.Fuel, o.Usage.PeakMemory)
	r, err := g.d.Blobs.Open(context.Background(), session, o.Blob.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if all, err := io.ReadAll(r); err != nil || !bytes.Equal(all, o.Data) || len(all) != n {
		t.Errorf("the blob has %d bytes: %v", len(all), err)
	}
	if _, size := g.rowOf(o.Call); size > 20_000 {
		t.Errorf("its row has %d bytes", size)
	}
}

// Rows hold what is escaped, which takes more room than what the guest gave.
func TestWhatRowsCannotHoldIsRefusedWithoutBlobs(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		code       abi.Code
	}{
		{"plain and at the ceiling", strings.Repeat("x", 64<<20), 0},
		{"escaped and short enough", strings.Repeat("<", 10<<20), 0},
		{"escaped and too long", strings.Repeat("<", 11<<20), abi.OutputLimit},
	} {
		f := &flight{Dispatcher: New(Config{})}
		f.reply.Data = json.RawMessage(`"` + tt.data + `"`)
		problem := f.spill(context.Background())
		switch {
		case tt.code == 0 && problem != nil:
			t.Errorf("%s: %v", tt.name, problem)
		case tt.code != 0:
			wantCode(t, problem, tt.code)
		}
		if stored, err := json.Marshal(f.row()); err != nil || tt.code == 0 && len(stored) > state.MaxDocumentBytes {
			t.Errorf("%s: its row has %d bytes, %v", tt.name, len(stored), err)
		}
	}
}

// TestAnObjectionIsFoundBehindManyRecords: a call that was delivered again and
// again has more than fit on a page.
func TestAnObjectionIsFoundBehindManyRecords(t *testing.T) {
	g := newGate(t)
	id := g.on(1, "order", `{"item":"pen","count":2}`)
	long := json.RawMessage(`{"data":"` + strings.Repeat("x", 3<<20) + `"}`)
	for range 8 {
		must(t, g.store.Record(context.Background(), host.Record{Session: session, Call: id, Kind: host.RecordOutcome, Tool: "order", Detail: long}))
	}
	for i, want := range []bool{true, false} {
		if kept, err := g.object(id, "no"); err != nil || kept != want {
			t.Errorf("objection %d: %v, %v", i, kept, err)
		}
	}
}
