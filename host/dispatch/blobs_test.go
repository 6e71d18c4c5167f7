package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/sandbox/sandboxtest"
	"github.com/sluicehq/sluice/host/window"
	"github.com/sluicehq/sluice/registry"
)

// newReaderGate is a flood gate with the skill that reads blobs.
func newReaderGate(t testing.TB) (g *gate, blobs string) {
	t.Helper()
	g, blobs = newFloodGate(t)
	wasm := sandboxtest.Build(t, "skills/blobs")
	sandboxtest.Load(t, wasm, abi.Limits{})
	skill := sandboxtest.Describe(t, sandboxtest.Shared(t), wasm)
	if _, err := g.set.Load(context.Background(), &registry.Release{Skill: skill, Module: wasm, SHA256: host.Digest(wasm)}); err != nil {
		t.Fatal(err)
	}
	g.catalog, _ = g.set.Catalog(context.Background(), nil)
	return g, blobs
}

// ask runs a tool, and holds its result to what a model sees whole.
func ask[T any](g *gate, tool, args string) (data T, o host.Outcome) {
	g.t.Helper()
	o = g.do(tool, args)
	if !o.OK() {
		g.t.Fatalf("%s %s ends with %v", tool, args, o.Problem)
	}
	if o.Blob != nil || window.Shortens(o) {
		g.t.Errorf("%s %s gives %d bytes, which are spilled again", tool, args, len(o.Data))
	}
	if err := json.Unmarshal(o.Data, &data); err != nil {
		g.t.Fatal(err)
	}
	return data, o
}

// What a model does with a result that it does not see whole: it takes an item,
// a range, finds a text and reads on around it, by the id that it was told.
func TestALaterCallReadsPartsOfSpilledData(t *testing.T) {
	g, blobs := newReaderGate(t)
	const n = 1 << 20
	id := g.do("list", much(n)).Blob.ID
	all := flood(n)
	value, _ := ask[struct {
		Value json.RawMessage
		Count int
	}](g, "read_blob_value", fmt.Sprintf(`{"id":%q,"path":"[10:12]"}`, id))
	const item = `{"sku":"1001","title":"青柠 <b>\"&\"</b>","price":89.90}`
	if string(value.Value) != "["+item+","+item+"]" || value.Count != strings.Count(all, item)+1 {
		t.Errorf("two items are %s of %d", value.Value, value.Count)
	}
	title, _ := ask[struct{ Value string }](g, "read_blob_value", fmt.Sprintf(`{"id":%q,"path":"[10000].title"}`, id))
	if title.Value != `青柠 <b>"&"</b>` {
		t.Errorf("the title is %q", title.Value)
	}
	found, _ := ask[struct {
		Matches []struct{ Offset int64 }
	}](g, "search_blob", fmt.Sprintf(`{"id":%q,"text":"\"xxx"}`, id))
	if len(found.Matches) != 1 || found.Matches[0].Offset != int64(strings.Index(all, `"xxx`)) {
		t.Fatalf("found are %v", found)
	}
	part, _ := ask[struct{ Text string }](g, "read_blob", fmt.Sprintf(`{"id":%q,"offset":%d}`, id, found.Matches[0].Offset-100))
	if !strings.HasPrefix(all[found.Matches[0].Offset-100:], part.Text) || len(part.Text) < 100 {
		t.Errorf("it reads %q", part.Text)
	}
	if left := blobFiles(t, blobs); len(left) != 1 {
		t.Errorf("reading has made blobs: %q", left)
	}
	c := call("read_blob", fmt.Sprintf(`{"id":%q}`, id))
	c.Session.User = "ada"
	wantProblem(t, g.d.Do(context.Background(), g.catalog, c), host.Failed, abi.NotFound)
}

// The largest blob is read to its end within the skill's limits.
func TestTheLargestBlobIsReadInPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 64 MiB three times")
	}
	g, _ := newReaderGate(t)
	size := abi.BlobBytes
	if underRace {
		size = 8 * abi.MiB // of many pieces still
	}
	all := flood(int(size))
	id, err := g.d.Blobs.Put(context.Background(), session, abi.BlobInfo{Type: spilledType}, []byte(all))
	if err != nil {
		t.Fatal(err)
	}
	items := strings.Count(all, `"sku"`)
	for _, tt := range []struct{ tool, args, has string }{
		{"read_blob_value", fmt.Sprintf(`{"id":%q}`, id), fmt.Sprintf(`"count":%d`, items+1)},
		{"read_blob_value", fmt.Sprintf(`{"id":%q,"path":"[%d].title"}`, id, items-1), "青柠"},
		{"search_blob", fmt.Sprintf(`{"id":%q,"text":"nowhere"}`, id), fmt.Sprintf(`"searched":%d`, len(all))},
		{"search_blob", fmt.Sprintf(`{"id":%q,"text":"NOWHERE","ignore_case":true}`, id), fmt.Sprintf(`"searched":%d`, len(all))},
		{"read_blob", fmt.Sprintf(`{"id":%q,"offset":%d}`, id, len(all)-50), `x\"]`},
	} {
		_, o := ask[map[string]any](g, tt.tool, tt.args)
		if !strings.Contains(string(o.Data), tt.has) || o.Usage.PeakMemory > 32*abi.MiB {
			t.Errorf("%s %s gives %.200s with %v of memory", tt.tool, tt.args, o.Data, o.Usage.PeakMemory)
		}
		t.Logf("%s %s: %s, %d units of fuel, %v of memory", tt.tool, tt.args, o.Usage.Elapsed, o.Usage.Fuel, o.Usage.PeakMemory)
	}
}
